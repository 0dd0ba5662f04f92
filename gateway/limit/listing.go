package limit

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/go-chi/httprate"

	"github.com/quotegate/quotegate/shared/fault"
)

const (
	// listingFactor is how many times larger the budget for listings is. They are small,
	// cached and tagged, and a client that checks every quote asks for one each time.
	listingFactor = 10

	maxListingClients = 16_384 // that are counted at a time; about 2 MB
)

// listings is the coarse limit of listings, by httprate: it keeps one number a client
// and minute, and estimates the rolling minute from two of them. Each instance counts
// by itself.
type listings struct {
	rate    *httprate.RateLimiter
	counter *windowCounter
	limit   int           // of a client without one of its own
	request *http.Request // all that httprate is told of one, for such a client
}

func newListings(perMinute int) *listings {
	limit := perMinute * listingFactor
	counter := &windowCounter{current: map[string]int{}, previous: map[string]int{}}
	rate := httprate.NewRateLimiter(limit, window,
		httprate.WithLimitCounter(counter),
		// Its Reset is a time of day, and its Retry-After always a minute.
		httprate.WithResponseHeaders(httprate.ResponseHeaders{Limit: headerLimit, Remaining: headerRemaining}))
	return &listings{rate: rate, counter: counter, limit: limit, request: new(http.Request)}
}

// AdmitListing counts a request for a listing, against a budget beside that of Admit and
// ten times as large. It sets the same headers. RateLimit-Reset is when the next
// request surely passes if it is refused, and the end of the counted minute otherwise.
//
// httprate reads a client's own limit from the context of the request, and nothing else
// of the request. So it gets one that has only that.
func (l *Limiter) AdmitListing(w http.ResponseWriter, from Client) *fault.Error {
	if !l.counts(from) {
		return nil
	}
	key := from.key.String()
	limit := l.limitOf(from) * listingFactor
	request := l.listings.request
	if limit != l.listings.limit {
		request = request.WithContext(httprate.WithRequestLimit(context.Background(), limit))
	}
	over := l.listings.rate.OnLimit(w, request, key)
	current, previous, elapsed := l.listings.counter.look(key, time.Now())
	wait := window - elapsed
	if over {
		wait = listingWait(current, previous, limit, elapsed)
	}
	seconds := int((wait + time.Second - 1) / time.Second)
	w.Header()[headerReset] = []string{strconv.Itoa(seconds)}
	if !over {
		l.allowed.Add(1)
		return nil
	}
	w.Header()[headerRemaining] = l.numbers[0]
	l.refused.Add(1)
	return refusal(from.key, limit, "for listings ", seconds)
}

// listingWait is how long a refused client waits until httprate lets its next request
// pass. So long after the start of this minute, httprate counts the requests of this
// minute, and those of the one before in the proportion in which it still overlaps the
// last 60 seconds, rounded.
func listingWait(current, previous, limit int, elapsed time.Duration) time.Duration {
	below := float64(limit) - 0.5 // the estimate that leaves room for one
	if current == 0 && previous == 0 {
		return time.Millisecond // the minute has changed since
	}
	if float64(current) < below {
		// previous * (window-elapsed-wait)/window + current < below
		share := (below - float64(current)) / float64(previous)
		return max(window-elapsed-time.Duration(math.Floor(share*float64(window))), 0) + time.Millisecond
	}
	// This minute is then the previous one: current * (window-more)/window < below
	more := time.Duration(math.Ceil((1 - below/float64(current)) * float64(window)))
	return window - elapsed + more + time.Millisecond
}

// windowCounter is httprate's counter for this minute and the one before, for a bounded
// number of clients. Those beyond it are not counted, as in the exact budgets.
type windowCounter struct {
	mu                sync.Mutex
	start             time.Time // of the minute of current
	current, previous map[string]int
}

func (c *windowCounter) Config(int, time.Duration) {}

func (c *windowCounter) Increment(key string, start time.Time) error {
	return c.IncrementBy(key, start, 1)
}

func (c *windowCounter) IncrementBy(key string, start time.Time, amount int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(start)
	if _, known := c.current[key]; known || len(c.current) < maxListingClients {
		c.current[key] += amount
	}
	return nil
}

func (c *windowCounter) Get(key string, start, _ time.Time) (current, previous int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(start)
	return c.current[key], c.previous[key], nil
}

// look is what is counted for a client, and how much of the minute has passed.
func (c *windowCounter) look(key string, now time.Time) (current, previous int, elapsed time.Duration) {
	start := now.UTC().Truncate(window)
	current, previous, _ = c.Get(key, start, start.Add(-window))
	return current, previous, now.Sub(start)
}

// turn begins a new minute. New maps are made, so that a flood takes no memory for long.
func (c *windowCounter) turn(start time.Time) {
	switch start.Sub(c.start) {
	case 0, -window: // or of a request that read the clock just before the others
		return
	case window:
		c.previous = c.current
	default:
		c.previous = map[string]int{}
	}
	c.current = map[string]int{}
	c.start = start
}
