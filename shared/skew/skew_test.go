package skew

import (
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/clock"
)

var noon = time.Date(2027, 3, 10, 12, 0, 0, 0, time.UTC)

// What is said of the clocks, by how far ours is ahead of the others, and of the last chain's newest
// block, which is too old after four minutes.
func TestNote(t *testing.T) {
	const (
		ten   = 10 * time.Minute
		close = 10*time.Minute + 20*time.Second
		none  = 1000 * time.Hour
	)
	for name, test := range map[string]struct {
		database time.Duration
		chains   []time.Duration
		note     string
		excuse   string
	}{
		"nothing is known":         {none, nil, "", ""},
		"all agree":                {0, []time.Duration{2 * time.Second, 12 * time.Second}, "", ""},
		"a single chain":           {none, []time.Duration{ten}, "", ""},
		"one of three is late":     {0, []time.Duration{2 * time.Second, 0, ten}, "", ""},
		"two of five are late":     {0, []time.Duration{0, 0, 0, ten, ten}, "", ""},
		"two are late differently": {none, []time.Duration{0, ten, time.Hour}, "", ""},
		"all chains": {none, []time.Duration{ten, close, ten},
			"this machine's clock seems 10 minutes ahead of the newest blocks of 3 of 3 chains: synchronise it by NTP",
			", but this machine's clock seems 10 minutes ahead: synchronise it by NTP"},
		"most chains, and the database": {close, []time.Duration{time.Hour, ten, close, ten, ten},
			"this machine's clock is 10 minutes ahead of the database's, and of the newest blocks of 4 of 5 chains: synchronise it by NTP",
			", but this machine's clock is 10 minutes ahead: synchronise it by NTP"},
		"one chain is later still": {ten, []time.Duration{ten, ten, time.Hour},
			"this machine's clock is 10 minutes ahead of the database's, and of the newest blocks of 2 of 3 chains: synchronise it by NTP", ""},
		"blocks of the future": {-ten, []time.Duration{-ten, -ten},
			"this machine's clock is 10 minutes behind the database's, and of the newest blocks of 2 of 2 chains: synchronise it by NTP",
			", but this machine's clock is 10 minutes behind: synchronise it by NTP"},
		"a few seconds of the future": {0, []time.Duration{-14 * time.Second, -14 * time.Second}, "", ""},
		"more seconds": {none, []time.Duration{-16 * time.Second, -16 * time.Second},
			"this machine's clock seems 16 seconds behind the newest blocks of 2 of 2 chains: synchronise it by NTP",
			", but this machine's clock seems 16 seconds behind: synchronise it by NTP"},
		"the database alone": {-ten, []time.Duration{0},
			"this machine's clock is 10 minutes behind the database's: synchronise both by NTP", ""},
		"the chains confirm ours": {-ten, []time.Duration{0, 0},
			"the database's clock is 10 minutes ahead of this machine's, which agrees with the newest blocks of 2 of 2 chains: synchronise it by NTP", ""},
		"the database agrees with ours": {0, []time.Duration{ten, ten},
			"this machine's clock and the database's are 10 minutes ahead of the newest blocks of 2 of 2 chains: synchronise both by NTP, or replace the endpoints", ""},
	} {
		c := New(Options{Now: clock.At(noon).Now})
		if test.database != none {
			c.ReadDatabase(noon.Add(-test.database))
		}
		age := time.Duration(0)
		for i, ahead := range test.chains {
			age = ahead
			c.ReadHead(chain.ID(i+1), 1, noon.Add(-time.Hour-ahead)) // of an endpoint that has stalled
			c.ReadHead(chain.ID(i+1), 2, noon.Add(-ahead))
		}
		s := c.Skew()
		if got := s.Note(); got != test.note {
			t.Errorf("%s: got the note %q, want %q", name, got, test.note)
		}
		if got := s.Excuse(age, 4*time.Minute); got != test.excuse {
			t.Errorf("%s: got the excuse %q, want %q", name, got, test.excuse)
		}
	}
}

// What was read before the clock jumped, or long ago, says nothing.
func TestReadingsEnd(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*clock.Clock)
		known  bool
	}{
		"at once":     {func(*clock.Clock) {}, true},
		"in a while":  {func(c *clock.Clock) { c.Advance(29 * time.Minute) }, true},
		"too late":    {func(c *clock.Clock) { c.Advance(31 * time.Minute) }, false},
		"after a day": {func(c *clock.Clock) { c.Jump(24 * time.Hour) }, false},
		"set back":    {func(c *clock.Clock) { c.Jump(-time.Minute) }, false},
		"hardly set":  {func(c *clock.Clock) { c.Jump(time.Second) }, true},
	} {
		own := clock.At(noon)
		c := New(Options{Now: own.Now, Elapsed: own.Elapsed})
		c.ReadDatabase(noon)
		c.ReadHead(1, 1, noon)
		c.ReadHead(10, 1, noon)
		test.change(own)
		if s := c.Skew(); s.Database.Known != test.known || s.Chains.Known != test.known || s.Right() != test.known {
			t.Errorf("%s: got %+v", name, s)
		}
	}
}

// The system's clock has not jumped.
func TestSystem(t *testing.T) {
	c := New(Options{})
	c.ReadDatabase(time.Now().Add(-time.Hour))
	if s := c.Skew(); !strings.HasPrefix(s.Note(), "this machine's clock is 60 minutes ahead") {
		t.Errorf("got %+v", s)
	}
}
