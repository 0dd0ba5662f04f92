// Package lifecycle takes versions away gradually. A plan, which an operator
// writes, says when each version is deprecated, when it is switched off for a
// while for some clients, and when it is retired; where a version stands
// follows from the plan and the clock alone, so that every instance agrees
// without talking. Only a gate, which holds a sunset while a version is still
// in use, looks at what was seen.
//
// Nothing here touches a body or the core: an answer gains headers, or is
// refused before any work is done for it.
package lifecycle

import (
	"slices"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
)

// Plan is what an operator has decided. It is never changed once parsed.
type Plan struct {
	Versions map[string]*Schedule `json:"versions"` // a version that is absent is active

	served []string // every version there is, in the order to show them
}

// Schedule is the course of one version. All times are whole seconds in UTC.
type Schedule struct {
	Deprecated time.Time        `json:"deprecated"`
	Sunset     time.Time        `json:"sunset,omitzero"` // zero: not decided
	Successor  string           `json:"successor"`       // a path on this host
	Docs       string           `json:"docs"`            // the migration page
	Brownouts  []Brownout       `json:"brownouts"`       // in order, apart, before the sunset
	Exempt     []caller.Pattern `json:"exempt"`          // spared every brownout, not the sunset
	Gate       *Gate            `json:"gate"`            // nil: the date decides alone
}

// Brownout is a window, [From, To), in which a share of clients is refused.
type Brownout struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Share float64   `json:"share"` // in (0, 1], to three decimals
}

// Gate holds a sunset back while more than this was seen within a day.
type Gate struct {
	MaxClients     int `json:"maxClients"`
	MaxCallsPerDay int `json:"maxCallsPerDay"`
}

// Exceeded says whether a version is too much in use to be retired.
func (g *Gate) Exceeded(clients, calls int) bool {
	return g != nil && (clients > g.MaxClients || calls > g.MaxCallsPerDay)
}

// Stage is where a version stands.
type Stage string

const (
	Active      Stage = "active"
	Deprecated  Stage = "deprecated"
	BrowningOut Stage = "brownout"
	Held        Stage = "held" // past its sunset and still served, because its gate holds
	Retired     Stage = "retired"
)

// Stage gives the stage at a time. Whether the gate holds matters only past the
// sunset. A nil schedule is that of a version without a plan.
func (s *Schedule) Stage(at time.Time, gateHolds bool) Stage {
	switch {
	case s == nil || at.Before(s.Deprecated):
		return Active
	case !s.Sunset.IsZero() && !at.Before(s.Sunset):
		if s.Gate != nil && gateHolds {
			return Held
		}
		return Retired
	}
	if b, ok := s.NextBrownout(at); ok && !at.Before(b.From) {
		return BrowningOut
	}
	return Deprecated
}

// NextBrownout gives the first window that has not ended: the open one, else
// the one to come. A nil schedule has none.
func (s *Schedule) NextBrownout(at time.Time) (b Brownout, ok bool) {
	if s != nil {
		for _, b := range s.Brownouts {
			if at.Before(b.To) {
				return b, true
			}
		}
	}
	return Brownout{}, false
}

// Hits says whether a brownout of a version refuses the caller.
//
// Every version has one fixed order of clients, the same on every instance and
// in every window, and a share takes them from its beginning. So a client is
// wholly in or wholly out of a window, and a larger share, of the same window
// or of a later one, keeps those it had and adds others.
func (s *Schedule) Hits(version string, share float64, c caller.Caller) bool {
	if slices.ContainsFunc(s.Exempt, func(p caller.Pattern) bool { return p.Matches(c) }) {
		return false
	}
	return c.Identity().Position(version) < share
}
