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
	s := l.seats.Get().(*seat)
	refused := s.refuse(ctx, clientOf(from))
	used, wait := s.verdict.used, int((s.verdict.wait+time.Second-1)/time.Second)
	l.seats.Put(s)
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

// seat is an httprate limiter that serves one request at a time. httprate holds
// a lock around its counter, so that with a limiter to itself no request waits
// for the round trip of another; and as its own counter it knows the client,
// which httprate's interface does not tell.
//
// httprate estimates a rolling window from two fixed ones. Get decides and
// books at once, answers the true count as the current window and an empty
// previous one, which makes the estimate exact and leaves nothing to increment.
type seat struct {
	budgets *Limiter
	limiter *httprate.RateLimiter
	ctx     context.Context
	client  client
	verdict verdict
}

func newSeat(l *Limiter) *seat {
	s := &seat{budgets: l}
	s.limiter = httprate.NewRateLimiter(l.perMinute, window,
		httprate.WithLimitCounter(s),
		httprate.WithResponseHeaders(httprate.ResponseHeaders{})) // none: it formats them anew for every request
	return s
}

// refuse asks httprate. It needs no request but for what its own middleware
// left in one, and no response but for headers.
func (s *seat) refuse(ctx context.Context, c client) bool {
	s.ctx, s.client = ctx, c
	refused := s.limiter.OnLimit(nil, &blank, "")
	s.ctx = nil
	return refused
}

var blank http.Request

// Get implements httprate.LimitCounter.
func (s *seat) Get(string, time.Time, time.Time) (current, previous int, err error) {
	s.verdict = s.budgets.decide(s.ctx, s.client)
	return min(s.verdict.used, s.budgets.perMinute), 0, nil
}

// Config implements httprate.LimitCounter.
func (s *seat) Config(int, time.Duration) {}

// Increment implements httprate.LimitCounter.
func (s *seat) Increment(string, time.Time) error { return nil }

// IncrementBy implements httprate.LimitCounter.
func (s *seat) IncrementBy(string, time.Time, int) error { return nil }
