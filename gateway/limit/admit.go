package limit

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/go-chi/httprate"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/words"
)

// The headers in canonical form, so that requests need not convert them.
var (
	headerLimit     = http.CanonicalHeaderKey("RateLimit-Limit")
	headerRemaining = http.CanonicalHeaderKey("RateLimit-Remaining")
	headerReset     = http.CanonicalHeaderKey("RateLimit-Reset")
)

// longestWait is the longest wait in seconds: the minute, and the timeout for
// Redis, rounded up.
const longestWait = 61

// Admit counts a request against the budget of a client. A polled request, one
// that clients repeat until something has happened, may use half of the budget. It
// sets RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset, the seconds until
// the oldest counted request leaves the minute; for a polled request they describe
// the half. If the request is refused, it returns the reason and the time after
// which the next request passes. It does not end early with its context, as a
// client that hangs up has still asked.
func (l *Limiter) Admit(_ context.Context, h http.Header, from Client, polled bool) *fault.Error {
	if l.memory == nil {
		return nil
	}
	if !from.valid {
		l.passWithoutAddress()
		return nil
	}
	q := question{from.key, cmp.Or(from.perMinute, l.perMinute), polled}
	c := l.counters.Get().(*budgetCounter)
	refused := c.refuses(q)
	used, wait := c.decision.used, int((c.decision.wait+time.Second-1)/time.Second)
	l.counters.Put(c)
	if !refused {
		used++
	}
	h[headerLimit] = l.numbers[q.most()]
	h[headerRemaining] = l.numbers[max(q.most()-used, 0)]
	h[headerReset] = l.numbers[min(wait, longestWait)]
	if refused {
		return q.fault(wait)
	}
	return nil
}

func (l *Limiter) passWithoutAddress() {
	l.uncounted.Add(1)
	l.warnedNoAddress.Do(func() {
		l.log.Warn("rate limit: a peer without an IP address cannot be counted, its requests pass")
	})
}

func (q question) fault(wait int) *fault.Error {
	sentence := "The limit is %s a minute from one address; the next one passes in %s"
	switch onKey := q.client.isAPIKey(); {
	case onKey && q.polled:
		sentence = "The limit is %s a minute for this path with this key; the next one passes in %s"
	case onKey:
		sentence = "The limit is %s a minute with this key; the next one passes in %s"
	case q.polled:
		sentence = "The limit is %s a minute for this path from one address; the next one passes in %s"
	}
	e := fault.New(fault.RateLimited, sentence, words.Count(q.most(), "request", "requests"), words.Count(wait, "second", "seconds"))
	e.RetryAfter = time.Duration(wait) * time.Second
	return e
}

// budgetCounter is an httprate limiter together with its counter. It serves one
// request at a time, for two reasons: httprate locks its counter, and no request
// should wait for Redis to answer another; and httprate does not tell its counter
// which client it asks about.
//
// httprate estimates a rolling window from two fixed ones, with one limit for
// all. Get decides and counts in one step. It returns as the current window what
// makes httprate decide the same, and 0 as the previous one. Increment then has
// nothing to do.
type budgetCounter struct {
	limiter  *Limiter
	rate     *httprate.RateLimiter
	question question
	decision decision
}

func newBudgetCounter(l *Limiter) *budgetCounter {
	c := &budgetCounter{limiter: l}
	c.rate = httprate.NewRateLimiter(l.perMinute, window,
		httprate.WithLimitCounter(c),
		httprate.WithResponseHeaders(httprate.ResponseHeaders{})) // none: it formats them anew for every request
	return c
}

// refuses asks httprate. It needs no real request: httprate reads only what its
// own middleware puts there. Of the response it writes only headers.
func (c *budgetCounter) refuses(q question) bool {
	c.question = q
	return c.rate.OnLimit(nil, &noRequest, "")
}

var noRequest http.Request

// Get implements httprate.LimitCounter.
func (c *budgetCounter) Get(string, time.Time, time.Time) (current, previous int, err error) {
	c.decision = c.limiter.decide(c.question)
	if !c.decision.allowed {
		return c.limiter.perMinute, 0, nil
	}
	return min(c.decision.used, c.limiter.perMinute-1), 0, nil
}

// Config implements httprate.LimitCounter.
func (c *budgetCounter) Config(int, time.Duration) {}

// Increment implements httprate.LimitCounter.
func (c *budgetCounter) Increment(string, time.Time) error { return nil }

// IncrementBy implements httprate.LimitCounter.
func (c *budgetCounter) IncrementBy(string, time.Time, int) error { return nil }
