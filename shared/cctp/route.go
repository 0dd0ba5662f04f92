package cctp

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
)

// Origin is where a rate is from.
type Origin string

const (
	Live     Origin = "live"      // the fee service, less than five minutes ago
	LastGood Origin = "last good" // the fee service, earlier
	BuiltIn  Origin = "built-in"  // the table
)

// State is what a route serves.
type State struct {
	Source chain.ID
	Rate   Rate
	Origin Origin
	Age    time.Duration // since the service gave the rate; 0 if it did not
	// Err is why the last look-up gave no rate, in words fit for a public
	// page. It is nil if it did, and where there was none.
	Err    error
	ErrAge time.Duration // since that look-up
}

// route is one source chain.
type route struct {
	source  chain.ID
	domain  uint32
	builtIn Rate

	answer atomic.Pointer[answer] // what callers get without a lock
	asked  atomic.Bool            // since the last look-up; written under the lock

	// Guarded by Fees.mu.
	good     Rate
	goodAt   time.Time // zero: never
	err      error     // of the last look-up
	errAt    time.Time
	failures int           // look-ups failed in a row
	due      time.Time     // the next look-up is not before this
	busy     bool          // one is under way
	waiting  chan struct{} // closed when it is done or put off; nil while nobody waits
	since    time.Time     // when the first of those who wait came
	told     Origin        // what the log last said
}

// answer is a rate and how long it is given out.
type answer struct {
	rate  Rate
	until time.Time
}

func bySource(a, b *route) int { return cmp.Compare(a.source, b.source) }

// best is the rate that protects the user most, of those known.
func (r *route) best(now time.Time) (Rate, Origin) {
	age := now.Sub(r.goodAt)
	switch {
	case r.goodAt.IsZero():
		return r.builtIn, BuiltIn
	case age < fresh:
		return r.good, Live
	case age >= keep && r.builtIn.nano > r.good.nano:
		return r.builtIn, BuiltIn
	}
	return r.good, LastGood
}

// settle makes the best rate the answer, and gives the new state if the log
// should hear of it.
func (r *route) settle(now time.Time) (Rate, *State) {
	rate, origin := r.best(now)
	until := now.Add(fresh)
	if origin == Live {
		until = r.goodAt.Add(fresh)
	}
	r.answer.Store(&answer{rate, until})
	if origin == r.told || origin != Live && r.err == nil {
		return rate, nil
	}
	r.told = origin
	state := r.state(now)
	return rate, &state
}

// release lets go of those who wait for a look-up.
func (r *route) release() {
	if r.waiting != nil {
		close(r.waiting)
		r.waiting = nil
	}
}

func (r *route) state(now time.Time) State {
	rate, origin := r.best(now)
	s := State{Source: r.source, Rate: rate, Origin: origin, Err: r.err}
	if origin != BuiltIn {
		s.Age = now.Sub(r.goodAt)
	}
	if r.err != nil {
		s.ErrAge = now.Sub(r.errAt)
	}
	return s
}
