package cctp

import (
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
)

const (
	fresh = 5 * time.Minute // younger than this, a rate is live
	keep  = 24 * time.Hour  // younger than this, the last good rate counts alone
)

// Origin is where a rate is from.
type Origin string

const (
	Live     Origin = "live"      // the fee service, less than five minutes ago
	LastGood Origin = "last good" // the fee service, earlier
	BuiltIn  Origin = "built-in"  // the table
)

// State is what a source serves.
type State struct {
	Source chain.ID
	Rate   Rate
	Origin Origin
	Age    time.Duration // since the service gave the rate; 0 if it did not
	// Err is why the last look-up gave no rate, in words fit for a public
	// page. It is nil if it did, and where there was none.
	Err error
}

// source is one source chain.
type source struct {
	chain   chain.ID
	domain  uint32
	builtIn Rate

	tried  chan struct{}          // closed after the first look-up
	known  atomic.Pointer[result] // replaced by each look-up, never changed
	logged Origin                 // what the log last said; used by the look-ups alone
}

// result is what the look-ups of a source have come to.
type result struct {
	good   Rate
	goodAt time.Time // zero: never
	err    error     // of the last look-up
}

func newSource(id chain.ID, domain uint32, builtIn Rate) *source {
	s := &source{chain: id, domain: domain, builtIn: builtIn, tried: make(chan struct{}), logged: Live}
	s.known.Store(&result{})
	return s
}

// learn takes what a look-up gave: a rate, or else an error.
func (s *source) learn(rate Rate, err error, now time.Time) {
	next := result{good: rate, goodAt: now}
	if err != nil {
		next = *s.known.Load()
		next.err = err
	}
	s.known.Store(&next)
}

// state chooses the rate that protects the user most.
func (s *source) state(now time.Time) State {
	known := s.known.Load()
	state := State{Source: s.chain, Rate: s.builtIn, Origin: BuiltIn, Err: known.err}
	age := now.Sub(known.goodAt)
	if known.goodAt.IsZero() || age >= keep && s.builtIn.nano > known.good.nano {
		return state
	}
	state.Rate, state.Origin, state.Age = known.good, LastGood, age
	if age < fresh {
		state.Origin = Live
	}
	return state
}
