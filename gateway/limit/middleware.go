package limit

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-chi/httprate"

	"github.com/quotegate/quotegate/shared/fault"
)

// In their canonical form, which spares a conversion per request.
var (
	headerLimit     = http.CanonicalHeaderKey("RateLimit-Limit")
	headerRemaining = http.CanonicalHeaderKey("RateLimit-Remaining")
	headerReset     = http.CanonicalHeaderKey("RateLimit-Reset")
)

// Middleware counts each request against its client's budget and sets
// RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset, the seconds until
// the oldest counted request leaves the minute. A refused request also gets a
// Retry-After, after which the next one passes, and goes to deny with a
// *fault.Error that repeats it; deny writes the answer.
func (l *Limiter) Middleware(deny func(http.ResponseWriter, *http.Request, error)) func(http.Handler) http.Handler {
	if l.memory == nil {
		return func(next http.Handler) http.Handler { return next }
	}
	return func(next http.Handler) http.Handler {
		limited := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ip := middleware.GetClientIPAddr(r.Context())
			if !ip.IsValid() {
				l.passNameless(r)
				next.ServeHTTP(w, r)
				return
			}
			if refused, wait := l.onLimit(w, r, clientOf(ip)); refused {
				deny(w, r, l.fault(wait))
				return
			}
			next.ServeHTTP(w, r)
		})
		addressed := l.ClientIP(limited)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if middleware.GetClientIPAddr(r.Context()).IsValid() {
				limited.ServeHTTP(w, r)
			} else {
				addressed.ServeHTTP(w, r)
			}
		})
	}
}

func (l *Limiter) passNameless(r *http.Request) {
	l.uncounted.Add(1)
	l.nameless.Do(func() {
		l.log.Warn("rate limit: a peer without an IP address cannot be counted, its requests pass", "peer", r.RemoteAddr)
	})
}

// onLimit reports whether the request is refused, and the seconds to wait.
func (l *Limiter) onLimit(w http.ResponseWriter, r *http.Request, c client) (refused bool, wait int) {
	s := l.seats.Get().(*seat)
	s.ctx, s.client = r.Context(), c
	refused = s.limiter.OnLimit(w, r, "")
	wait = int((s.verdict.wait + time.Second - 1) / time.Second)
	s.ctx = nil
	l.seats.Put(s)
	w.Header().Set(headerReset, strconv.Itoa(wait))
	if refused {
		w.Header().Set("Retry-After", strconv.Itoa(wait))
	}
	return refused, wait
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
// for the round trip of another; and as its own counter it knows the request,
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
		httprate.WithResponseHeaders(httprate.ResponseHeaders{Limit: headerLimit, Remaining: headerRemaining}))
	return s
}

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
