package limit

import (
	"context"
	"hash/maphash"
	"net/http"
	"time"

	"github.com/go-chi/httprate"
)

// requestsPerMinute is how many requests of any kind a source has, besides its limit for quotes.
func requestsPerMinute(quotes int) int { return max(10*quotes, 300) }

// requestLimit limits all requests of a source, by httprate. It protects the process and its
// log, so an estimate is enough: httprate keeps one number a source and minute. Each
// instance counts by itself.
type requestLimit struct {
	perMinute int
	rate      *httprate.RateLimiter
}

// newRequestLimit limits sources that have no limit of their own. sources bounds how many it
// counts.
func newRequestLimit(perMinute, sources int) *requestLimit {
	return &requestLimit{perMinute, httprate.NewRateLimiter(perMinute, window,
		httprate.WithLimitCounter(newWindowCounter(sources)),
		httprate.WithResponseHeaders(httprate.ResponseHeaders{}))} // none
}

// anyRequest stands for every request: httprate reads nothing of it but a limit of its own.
var anyRequest = new(http.Request)

// exceeded counts a request, or returns how long the source has to wait: until the minute
// that httprate counts has ended, and so much of the next has passed that its estimate has
// room for one more.
func (l *requestLimit) exceeded(from id, perMinute int) (wait time.Duration, exceeded bool) {
	r := anyRequest
	if perMinute != l.perMinute {
		r = r.WithContext(httprate.WithRequestLimit(context.Background(), perMinute))
	}
	if !l.rate.OnLimit(nil, r, from.binary()) { // it has no headers to write
		return 0, false
	}
	now := time.Now()
	return now.Truncate(window).Add(window).Sub(now) + window/time.Duration(perMinute), true
}

// windowCounter is httprate's counter, for a bounded number of sources a minute. Beyond that
// any of them is forgotten. Like httprate's own, it keeps a hash of each source, which takes
// a third of the memory. httprate calls it under a lock, and Get first.
type windowCounter struct {
	max               int
	seed              maphash.Seed // so that no one can choose addresses that share a count
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
