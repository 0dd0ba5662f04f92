package limit

import (
	"context"
	"hash/maphash"
	"net/http"
	"time"

	"github.com/go-chi/httprate"
)

// doorLimit is how many requests of any kind a source has, beside its limit for quotes.
func doorLimit(perMinute int) int { return max(10*perMinute, 300) }

// Door limits what a source does in a minute, by httprate. It protects the process and its
// log, so an estimate is enough: httprate keeps one number a source and minute. Each
// instance counts by itself.
type Door struct {
	limit int
	rate  *httprate.RateLimiter
}

// NewDoor limits sources that have no limit of their own. sources bounds how many it counts.
func NewDoor(limit, sources int) *Door {
	return &Door{limit, httprate.NewRateLimiter(limit, window,
		httprate.WithLimitCounter(newWindowCounter(sources)),
		httprate.WithResponseHeaders(httprate.ResponseHeaders{}))} // none
}

// anyRequest stands for every request: httprate reads nothing of it but a limit of its own.
var anyRequest = new(http.Request)

// Take counts a request, or tells how long the source has to wait: until the minute that
// httprate counts has ended, and so much of the next has passed that its estimate has room
// for one more.
func (d *Door) Take(from Source, limit int) (wait time.Duration, over bool) {
	r := anyRequest
	if limit != d.limit {
		r = r.WithContext(httprate.WithRequestLimit(context.Background(), limit))
	}
	if !d.rate.OnLimit(nil, r, from.id.String()) { // it has no headers to write
		return 0, false
	}
	now := time.Now()
	return now.Truncate(window).Add(window).Sub(now) + window/time.Duration(limit), true
}

// windowCounter is httprate's counter, for a bounded number of sources a minute. Beyond that
// any of them is forgotten. Like httprate's own, it keeps a hash of each source, which takes
// a third of the memory. httprate calls it under a lock, and Get first.
type windowCounter struct {
	max               int
	seed              maphash.Seed // so that nobody can choose addresses that share a count
	start             time.Time    // of the current minute
	current, previous map[uint64]uint32
}

func newWindowCounter(sources int) *windowCounter {
	return &windowCounter{max: sources, seed: maphash.MakeSeed()}
}

func (c *windowCounter) Config(int, time.Duration) {}

func (c *windowCounter) Get(source string, start, before time.Time) (current, previous int, err error) {
	if !start.Equal(c.start) {
		c.previous = nil // after a pause, or if the clock was set
		if before.Equal(c.start) {
			c.previous = c.current
		}
		c.current = make(map[uint64]uint32)
		c.start = start
	}
	hash := maphash.String(c.seed, source)
	return int(c.current[hash]), int(c.previous[hash]), nil
}

func (c *windowCounter) Increment(source string, start time.Time) error {
	return c.IncrementBy(source, start, 1)
}

// IncrementBy counts for the minute of the last Get. A request that waited for the lock
// may have read the clock in the minute before.
func (c *windowCounter) IncrementBy(source string, _ time.Time, amount int) error {
	hash := maphash.String(c.seed, source)
	if _, known := c.current[hash]; !known && len(c.current) >= c.max {
		for other := range c.current {
			delete(c.current, other)
			break
		}
	}
	c.current[hash] += uint32(amount)
	return nil
}
