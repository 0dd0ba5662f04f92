package cctp

import (
	"errors"
	"slices"
	"time"
)

const (
	perMinute    = 6 // sixteen routes in use need four
	firstBackoff = 30 * time.Second
)

// budget is when the last requests were made, the earliest first.
type budget [perMinute]time.Time

// free is when one more request may be made.
func (b *budget) free() time.Time { return b[0].Add(time.Minute) }

func (b *budget) spend(now time.Time) {
	copy(b[:], b[1:])
	b[perMinute-1] = now
}

// run makes the look-ups, one after the other.
func (f *Fees) run() {
	for {
		r, sleep := f.next()
		if r == nil {
			var alarm <-chan time.Time
			if sleep > 0 {
				alarm = time.After(sleep)
			}
			select {
			case <-f.ctx.Done():
				return
			case <-f.wake:
			case <-alarm:
			}
			continue
		}
		rate, err := f.client.rate(f.ctx, r.domain)
		if f.ctx.Err() != nil {
			return
		}
		f.conclude(r, rate, err)
	}
}

// next takes the route to look up now. If there is none it says how long to
// sleep, 0 meaning until woken, and nobody waits meanwhile.
func (f *Fees) next() (r *route, sleep time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, candidate := range f.routes {
		if candidate.asked.Load() && (r == nil || candidate.due.Before(r.due)) {
			r = candidate
		}
	}
	if r == nil {
		return nil, 0
	}
	now := time.Now()
	if at := f.earliest(r); at.After(now) {
		for _, r := range f.routes {
			r.release()
		}
		return nil, at.Sub(now)
	}
	f.budget.spend(now)
	r.busy = true
	return r, 0
}

// earliest is when a look-up of the route may start.
func (f *Fees) earliest(r *route) time.Time {
	return slices.MaxFunc([]time.Time{r.due, f.hold, f.budget.free()}, time.Time.Compare)
}

// conclude takes the result of a look-up to the route and to those who wait.
func (f *Fees) conclude(r *route, rate Rate, err error) {
	f.mu.Lock()
	now := time.Now()
	r.busy = false
	r.asked.Store(false)
	r.err = err
	if err == nil {
		r.good, r.goodAt, r.failures = rate, now, 0
		r.due = now.Add(refresh)
	} else {
		r.errAt = now
		r.failures++
		r.due = now.Add(backoff(r.failures))
		var refused *failure
		if errors.As(err, &refused) && refused.hold > 0 {
			f.hold, f.held = now.Add(refused.hold), err
		}
	}
	_, change := r.settle(now)
	r.release()
	f.mu.Unlock()
	f.report(change)
}

// backoff is the pause after so many failures in a row. It stays below the
// life of an answer, so that callers are never held up by an outage.
func backoff(failures int) time.Duration {
	return min(firstBackoff<<min(failures-1, 8), refresh)
}
