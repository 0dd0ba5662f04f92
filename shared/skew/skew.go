// Package skew compares this machine's clock with others: that of a database that instances
// share, and the newest blocks of the chains. It says what an operator should know. Whether an
// endpoint is believed does not depend on it.
package skew

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/humanize"
)

// Tolerance is how far two clocks that agree may be from one another. The newest block of a
// healthy chain is no older than that.
const Tolerance = time.Minute

const (
	maxBehind = 15 * time.Second // blocks are not from the future, but for a few seconds
	lifetime  = 30 * time.Minute // of a reading: self-checks read every chain each ten minutes
)

// Options of a Clock.
type Options struct {
	Now func() time.Time // time.Now if nil
	// Elapsed is the time between two times of Now by a clock that does not jump; if nil, the
	// monotonic clock that is part of them.
	Elapsed func(from, to time.Time) time.Duration
}

// Clock is this machine's. It is safe for concurrent use.
type Clock struct {
	options Options

	mu       sync.Mutex
	database reading
	heads    map[endpoint]reading
}

type endpoint struct {
	network chain.ID
	place   int
}

// reading is what another clock said at a time of ours.
type reading struct{ own, other time.Time }

// ahead is how far our clock was ahead of the other one.
func (r reading) ahead() time.Duration { return r.own.Round(0).Sub(r.other.Round(0)) }

func New(o Options) *Clock {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Elapsed == nil {
		o.Elapsed = func(from, to time.Time) time.Duration { return to.Sub(from) }
	}
	return &Clock{options: o, heads: map[endpoint]reading{}}
}

// Elapsed is the time between two times of this clock, however it has jumped in between.
func (c *Clock) Elapsed(from, to time.Time) time.Duration { return c.options.Elapsed(from, to) }

// Jumped is by how much the clock has jumped ahead between two of its times.
func (c *Clock) Jumped(from, to time.Time) time.Duration {
	return to.Round(0).Sub(from.Round(0)) - c.Elapsed(from, to)
}

// ReadDatabase records what a database with a clock of its own has just said.
func (c *Clock) ReadDatabase(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.database = reading{c.options.Now(), at}
}

// ReadHead records the time of the newest block that an endpoint has just returned.
func (c *Clock) ReadHead(network chain.ID, place int, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heads[endpoint{network, place}] = reading{c.options.Now(), at}
}

// Offset is how far this machine's clock is ahead of another one; negative if it is behind.
type Offset struct {
	Ahead time.Duration
	Known bool
}

// wrong reports whether two clocks disagree.
func (o Offset) wrong() bool { return o.Known && (o.Ahead > Tolerance || o.Ahead < -maxBehind) }

// Skew is what other clocks say about ours.
type Skew struct {
	Database Offset
	Chains   Offset // the median; known if most chains agree, and at least two
	Agree    int    // chains that agree, about a minute
	Of       int    // chains of which a newest block is known
}

// Skew is what others said lately. What was read before our clock jumped says nothing.
func (c *Clock) Skew() (s Skew) {
	now := c.options.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds(c.database, now) {
		s.Database = Offset{c.database.ahead(), true}
	}
	chains := map[chain.ID]time.Duration{} // by its newest head: an endpoint may have stalled
	for e, r := range c.heads {
		if !c.holds(r, now) {
			continue
		}
		if before, found := chains[e.network]; !found || r.ahead() < before {
			chains[e.network] = r.ahead()
		}
	}
	s.readChains(chains)
	return s
}

// holds reports whether a reading still says something.
func (c *Clock) holds(r reading, now time.Time) bool {
	return !r.own.IsZero() && c.Elapsed(r.own, now) <= lifetime && c.Jumped(r.own, now).Abs() < maxBehind
}

func (s *Skew) readChains(ahead map[chain.ID]time.Duration) {
	var all []time.Duration
	for _, d := range ahead {
		all = append(all, d)
	}
	s.Of = len(all)
	if s.Of < 2 {
		return
	}
	slices.Sort(all)
	median := all[(s.Of-1)/2]
	for _, d := range all {
		if (d - median).Abs() <= Tolerance {
			s.Agree++
		}
	}
	s.Chains = Offset{median, s.Agree >= 2 && 2*s.Agree > s.Of}
}

// Right reports whether the chains confirm our clock.
func (s Skew) Right() bool { return s.Chains.Known && !s.Chains.wrong() }

// own is by how much our clock is wrong: the chains say so, and the database if it has a clock.
func (s Skew) own() (ahead time.Duration, wrong bool) {
	agree := !s.Database.Known || s.Database.wrong() && (s.Database.Ahead-s.Chains.Ahead).Abs() <= Tolerance
	return s.Chains.Ahead, s.Chains.wrong() && agree
}

// Excuse goes on after what is wrong with a block if our clock is why it seems too old, or from
// the future. It is empty if the block would be wrong by a right clock, too.
func (s Skew) Excuse(age, maxAge time.Duration) string {
	ahead, wrong := s.own()
	tooOld := ahead > 0 && age-ahead <= maxAge
	tooNew := ahead < 0 && age < 0 && age-ahead >= -maxAge
	if !wrong || !tooOld && !tooNew {
		return ""
	}
	verb := "seems"
	if s.Database.Known {
		verb = "is"
	}
	where := "ahead"
	if tooNew {
		where = "behind"
	}
	off := humanize.Span(ahead.Abs())
	return fmt.Sprintf(", but this machine's clock %s %s %s: synchronise it by NTP", verb, off, where)
}

// Note says what is wrong with which clock; it is empty if they agree.
func (s Skew) Note() string {
	chains := fmt.Sprintf("the newest blocks of %d of %d chains", s.Agree, s.Of)
	_, wrong := s.own()
	switch {
	case wrong && s.Database.Known:
		return fmt.Sprintf("this machine's clock is %s the database's, and of %s: synchronise it by NTP",
			Ahead(s.Database.Ahead), chains)
	case wrong:
		return fmt.Sprintf("this machine's clock seems %s %s: synchronise it by NTP", Ahead(s.Chains.Ahead), chains)
	case s.Database.wrong() && s.Right():
		return fmt.Sprintf("the database's clock is %s this machine's, which agrees with %s: synchronise it by NTP",
			Ahead(-s.Database.Ahead), chains)
	case s.Database.wrong():
		return fmt.Sprintf("this machine's clock is %s the database's: synchronise both by NTP",
			Ahead(s.Database.Ahead))
	case s.Chains.wrong():
		return fmt.Sprintf("this machine's clock and the database's are %s %s: synchronise both by NTP, "+
			"or replace the endpoints", Ahead(s.Chains.Ahead), chains)
	}
	return ""
}

// Ahead says how far a clock is from another: "5 minutes ahead of".
func Ahead(d time.Duration) string {
	if d < 0 {
		return humanize.Span(-d) + " behind"
	}
	return humanize.Span(d) + " ahead of"
}
