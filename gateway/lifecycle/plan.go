// Package lifecycle retires versions gradually. An operator writes a plan. It
// says when each version is deprecated, when it is switched off for a while for
// some clients, and when it is retired. The stage of a version follows from the
// plan and the clock alone, so that all instances agree without talking. The
// exception is a gate, which delays a sunset while a version is still in use. Once
// a gate has let a sunset pass, that is final: only another sunset undoes it.
//
// This package never changes a response body or a quote: it adds headers to a
// response, or refuses a request before any work is done for it. No request waits
// for the counts.
package lifecycle

import (
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
)

// Plan is what an operator has decided. It is never changed once parsed.
type Plan struct {
	Versions map[string]*Schedule `json:"versions"` // a version that is absent is active

	served []string // all versions, in the order to show them
}

// Schedule is the plan for one version. All times are whole seconds in UTC.
type Schedule struct {
	Deprecated time.Time        `json:"deprecated"`
	Sunset     time.Time        `json:"sunset,omitzero"`     // zero: not decided
	Successor  string           `json:"successor"`           // a path on this host
	Docs       string           `json:"docs"`                // the migration page
	Brownouts  []Brownout       `json:"brownouts"`           // in order, without overlaps, before the sunset
	Exempt     []caller.Pattern `json:"exempt"`              // not refused in brownouts, but after the sunset
	Gate       *Gate            `json:"gate"`                // nil: only the date decides
	Immediate  bool             `json:"immediate,omitempty"` // may refuse clients the moment a running service reads it
}

// Brownout is a window, [From, To), in which a share of clients is refused.
type Brownout struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Share float64   `json:"share"` // in (0, 1], to three decimals
}

// Gate delays a sunset while a version had more clients within the last days, or
// more calls on one of them, than this.
type Gate struct {
	MaxClients     int  `json:"maxClients"`
	MaxCallsPerDay int  `json:"maxCallsPerDay"`
	Days           int  `json:"days"`               // 1 to 90
	Confirmed      bool `json:"released,omitempty"` // the operator has written down that it let this sunset pass
}

// Stage of a version.
type Stage string

const (
	Active      Stage = "active"
	Deprecated  Stage = "deprecated"
	BrowningOut Stage = "brownout"
	Held        Stage = "held" // past its sunset and still served, because its gate is not released
	Retired     Stage = "retired"
)

// Stage returns the stage at a time. released matters only after a sunset with a
// gate. A version without a plan has a nil schedule.
func (s *Schedule) Stage(at time.Time, released bool) Stage {
	switch {
	case s == nil || at.Before(s.Deprecated):
		return Active
	case s.ended(at) && s.Gate != nil && !released:
		return Held
	case s.ended(at):
		return Retired
	}
	if b, ok := s.NextBrownout(at); ok && !at.Before(b.From) {
		return BrowningOut
	}
	return Deprecated
}

// ended reports whether the sunset has come.
func (s *Schedule) ended(at time.Time) bool { return !s.Sunset.IsZero() && !at.Before(s.Sunset) }

// gated reports whether a gate may still hold the sunset back.
func (s *Schedule) gated() bool { return s.Gate != nil && !s.Gate.Confirmed }

// NextBrownout returns the first window that has not ended: the current one, or
// else the next. A nil schedule has none.
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

// Subject is a client as a window sees it: one that calls now, or one that was
// recorded.
type Subject struct {
	version string
	caller  caller.Caller

	name     string // of a recorded client; empty for one that calls now
	position float64
	exempt   bool
}

// Calling is a client that calls a version now.
func Calling(version string, c caller.Caller) Subject { return Subject{version: version, caller: c} }

// Recorded is a client that has called a version: its name, its place in the order
// of the version, and whether the plan in force spared it at its last call.
func Recorded(name string, position float64, exempt bool) Subject {
	return Subject{name: name, position: position, exempt: exempt}
}

// Hits reports whether a window refuses a client.
//
// Every version has one fixed order of clients, the same on every instance and
// in every window. A share takes clients from the start of that order. So a
// client is refused for a whole window or not at all, and a larger share refuses
// the same clients as a smaller one, and more.
func (s *Schedule) Hits(b Brownout, who Subject) bool {
	if s.Exempts(who) {
		return false
	}
	if who.name == "" {
		who.position = who.caller.Identity().Position(who.version)
	}
	return who.position < b.Share
}

// Exempts reports whether the schedule spares a client in brownouts. Where the name
// of a recorded client does not tell, it is what was so at its last call. A nil
// schedule spares nobody.
func (s *Schedule) Exempts(who Subject) bool {
	if s == nil {
		return false
	}
	for _, p := range s.Exempt {
		if who.name == "" && p.Matches(who.caller) || who.name != "" && p.MatchesRecorded(who.name, who.exempt) {
			return true
		}
	}
	return false
}
