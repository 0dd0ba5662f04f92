package limit

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/go-chi/httprate"

	"github.com/quotegate/quotegate/shared/fault"
)

// The headers, in their canonical form, which spares a conversion per request.
var (
	headerLimit     = http.CanonicalHeaderKey("RateLimit-Limit")
	headerRemaining = http.CanonicalHeaderKey("RateLimit-Remaining")
	headerReset     = http.CanonicalHeaderKey("RateLimit-Reset")
)

// longestWait is the most seconds anybody waits: the minute, and the time Redis
// is given, rounded up.
const longestWait = 61

// Admit counts a request against the budget of the client at an address. It
// sets RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset, the seconds
// until the oldest counted request leaves the minute, and says why the request
// is refused, if it is, with the time after which the next one passes.
func (l *Limiter) Admit(ctx context.Context, h http.Header, from netip.Addr) *fault.Error {
	if l.memory == nil {
		return nil
	}
	if !from.IsValid() {
		l.passNameless()
		return nil
	}
	c := l.counters.Get().(*counter)
	refused := c.refuses(ctx, clientOf(from))
	used, wait := c.verdict.used, int((c.verdict.wait+time.Second-1)/time.Second)
	l.counters.Put(c)
	if !refused {
		used++
	}
	h[headerLimit] = l.numbers[l.perMinute]
	h[headerRemaining] = l.numbers[max(l.perMinute-used, 0)]
	h[headerReset] = l.numbers[min(wait, longestWait)]
	if refused {
		return l.fault(wait)
	}
	return nil
}

func (l *Limiter) passNameless() {
	l.uncounted.Add(1)
	l.nameless.Do(func() {
		l.log.Warn("rate limit: a peer without an IP address cannot be counted, its requests pass")
	})
}

func (l *Limiter) fault(wait int) *fault.Error {
	e := fault.New(fault.RateLimited, "The limit is %s a minute from one address; the next one passes in %s",
		count(l.perMinute, "request"), count(wait, "second"))
	e.RetryAfter = time.Duration(wait) * time.Second
	return e
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// counter is an httprate limiter, and the counter it asks, for one request at a
// time. httprate locks its counter: with a limiter to itself, no request waits
// for another's answer from Redis. And httprate does not tell its counter which
// client it asks about, so the counter must know.
//
// httprate estimates a rolling window from two fixed ones. Get decides and
// counts at once. It answers the true count as the current window and 0 as the
// previous one, which makes the estimate exact and leaves nothing to increment.
type counter struct {
	limiter *Limiter
	rate    *httprate.RateLimiter
	ctx     context.Context
	client  client
	verdict verdict
}

func newCounter(l *Limiter) *counter {
	c := &counter{limiter: l}
	c.rate = httprate.NewRateLimiter(l.perMinute, window,
		httprate.WithLimitCounter(c),
		httprate.WithResponseHeaders(httprate.ResponseHeaders{})) // none: it formats them anew for every request
	return c
}

// refuses asks httprate, which reads nothing of a request but what its own
// middleware leaves there, and writes nothing to a response but headers.
func (c *counter) refuses(ctx context.Context, who client) bool {
	c.ctx, c.client = ctx, who
	refused := c.rate.OnLimit(nil, &noRequest, "")
	c.ctx = nil
	return refused
}

var noRequest http.Request

// Get implements httprate.LimitCounter.
func (c *counter) Get(string, time.Time, time.Time) (current, previous int, err error) {
	c.verdict = c.limiter.decide(c.ctx, c.client)
	return min(c.verdict.used, c.limiter.perMinute), 0, nil
}

// Config implements httprate.LimitCounter.
func (c *counter) Config(int, time.Duration) {}

// Increment implements httprate.LimitCounter.
func (c *counter) Increment(string, time.Time) error { return nil }

// IncrementBy implements httprate.LimitCounter.
func (c *counter) IncrementBy(string, time.Time, int) error { return nil }
