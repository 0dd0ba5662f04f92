package limit

import (
	"context"
	"hash/maphash"
	"net/http"
	"sync"
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

// windowCounter is httprate's counter, of this minute and the one before, for a bounded
// number of sources. Beyond that any of them is forgotten. Like httprate's own, it keeps
// a hash of each source, which takes a third of the memory.
type windowCounter struct {
	max  int
	seed maphash.Seed // so that nobody can choose addresses that share a count

	mu     sync.Mutex
	start  time.Time // of this minute
	counts map[uint64]count
}

type count struct{ current, previous uint32 }

func newWindowCounter(sources int) *windowCounter {
	return &windowCounter{max: sources, seed: maphash.MakeSeed(), counts: make(map[uint64]count)}
}

func (c *windowCounter) Config(int, time.Duration) {}

func (c *windowCounter) Increment(source string, start time.Time) error {
	return c.IncrementBy(source, start, 1)
}

func (c *windowCounter) IncrementBy(source string, start time.Time, amount int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(start)
	hash := maphash.String(c.seed, source)
	n, known := c.counts[hash]
	if !known && len(c.counts) >= c.max {
		for other := range c.counts {
			delete(c.counts, other)
			break
		}
	}
	n.current += uint32(amount)
	c.counts[hash] = n
	return nil
}

func (c *windowCounter) Get(source string, start, _ time.Time) (current, previous int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(start)
	n := c.counts[maphash.String(c.seed, source)]
	return int(n.current), int(n.previous), nil
}

// turn begins a new minute.
func (c *windowCounter) turn(start time.Time) {
	switch start.Sub(c.start) {
	case 0, -window: // or of a request that read the clock just before the others
		return
	case window:
		for hash, n := range c.counts {
			if n.current == 0 {
				delete(c.counts, hash)
			} else {
				c.counts[hash] = count{previous: n.current}
			}
		}
	default: // a pause, or the clock was set
		clear(c.counts)
	}
	c.start = start
}
