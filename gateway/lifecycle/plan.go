// Package lifecycle retires versions gradually, following the operator's plan: when a
// version is deprecated, when brownouts refuse some clients, and when it is retired. The
// stage follows from the plan and the clock alone, so instances agree without talking to
// each other. The exception is a gate, which delays a sunset while the version is still
// in use, and then lets it pass for good. No request waits for the counts.
package lifecycle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/jsonfile"
)

// Plan is what an operator has decided. It is never changed once parsed.
type Plan struct {
	Versions map[string]*Schedule `json:"versions"` // a version that is absent is active

	served []string // all versions, in the order to show them
}

func (p *Plan) planned() []string { return slices.Sorted(maps.Keys(p.Versions)) }

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
	MaxClients     int              `json:"maxClients"`
	MaxCallsPerDay int              `json:"maxCallsPerDay"`
	Days           int              `json:"days"`                // 1 to 90
	Instances      int              `json:"instances,omitempty"` // that write their counts, always; 0: not said
	Count          string           `json:"count,omitempty"`     // CountProven, or empty: every client counts
	Unverified     UnverifiedLimits `json:"strangers,omitzero"`  // zero: they count like any client
	Confirmed      bool             `json:"released,omitempty"`  // the operator confirmed this sunset
}

// CountProven has a gate count only clients that prove who they are with a key.
const CountProven = "proven"

// UnverifiedLimits, "strangers" in a plan, bounds the clients that are neither known to the
// operator nor registered as integrators, and has the gate count only the others.
type UnverifiedLimits struct {
	MaxCallsPerDay int     `json:"maxCallsPerDay"`
	MaxShare       float64 `json:"maxShare"` // of the calls to all versions within the days
}

// CountsUnverified reports whether the gate counts every client alike.
func (g *Gate) CountsUnverified() bool { return g.Unverified == UnverifiedLimits{} && g.Count == "" }

type Stage string

const (
	Active      Stage = "active"
	Deprecated  Stage = "deprecated"
	BrowningOut Stage = "brownout"
	Held        Stage = "held" // past its sunset and still served, because its gate is not released
	Retired     Stage = "retired"
)

// Stage returns the stage at a time. released matters only after a sunset with a gate. A
// version without a plan has a nil schedule.
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

func (s *Schedule) ended(at time.Time) bool { return !s.Sunset.IsZero() && !at.Before(s.Sunset) }

// Gated reports whether a gate may still hold the sunset back.
func (s *Schedule) Gated() bool { return s.Gate != nil && !s.Gate.Confirmed }

// Entry is a short hash of the sunset and the gate, which must not be nil. A release
// counts for that entry alone; other changes of the plan undo nothing.
func (s *Schedule) Entry() string {
	gate := *s.Gate
	gate.Days = cmp.Or(gate.Days, defaultGateDays)
	gate.Confirmed = false
	text, _ := json.Marshal(gate) // of numbers and strings: it cannot fail
	return Hash(fmt.Appendf(nil, "%s %s", s.Sunset.UTC().Format(time.RFC3339), text))
}

// NextBrownout returns the current or else the next window. A nil schedule has none.
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

// Subject is a client as a window sees it: one that calls now, or one that was recorded.
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

// Hits reports whether a window refuses a client. Every version has one fixed order of
// clients, and a share takes them from its start: a client is refused for a whole window
// or not at all, and a larger share refuses the same clients, and more.
func (s *Schedule) Hits(b Brownout, who Subject) bool {
	if s.Exempts(who) {
		return false
	}
	if who.name == "" {
		who.position = who.caller.Identity().Position(who.version)
	}
	return who.position < b.Share
}

// Exempts reports whether the schedule spares a client in brownouts. Where the name of a
// recorded client does not tell, its last call does. A nil schedule spares nobody.
func (s *Schedule) Exempts(who Subject) bool {
	return s != nil && slices.ContainsFunc(s.Exempt, func(p caller.Pattern) bool {
		return who.name == "" && p.Matches(who.caller) || who.name != "" && p.MatchesRecorded(who.name, who.exempt)
	})
}

const (
	defaultGateDays = 7
	maxGateDays     = 90
	maxInstances    = 1000
	maxLimit        = 1e15 // of clients and calls: more than there can be
)

func Read(path string, versions []string) (*Plan, error) {
	return jsonfile.Load(path, jsonfile.MaxSize, func(data []byte) (*Plan, error) { return Parse(data, versions) })
}

// Parse reads a plan for the versions that are served. The error lists all
// faults, one per line.
func Parse(data []byte, versions []string) (*Plan, error) {
	plan := &Plan{served: slices.Clone(versions)}
	p := parser{jsonfile.Decode(data, plan), versions}
	if plan.Versions == nil {
		p.Add("versions", `missing; write {"versions": {}} to leave every version active`)
	}
	for _, name := range plan.planned() {
		at := "versions." + name
		if !slices.Contains(versions, name) {
			p.Add(at, "unknown version; this gateway serves %s", strings.Join(versions, ", "))
		}
		s := plan.Versions[name]
		if s == nil {
			p.Add(at, "empty; leave the version out if it is active")
			continue
		}
		p.check(at, name, s)
		p.successor(at, s, plan)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	return plan, nil
}

// With is the plan with another schedule of a version; the plan itself is not changed. The
// error says why the result is not a valid plan.
func (p *Plan) With(version string, s *Schedule) (*Plan, error) {
	changed := Plan{Versions: maps.Clone(p.Versions)}
	changed.Versions[version] = s
	text, err := json.Marshal(changed)
	if err != nil {
		return nil, err
	}
	return Parse(text, p.served)
}

type parser struct {
	*jsonfile.Problems
	served []string
}

// check reports what is wrong with a schedule, and completes it.
func (p parser) check(at, name string, s *Schedule) {
	p.time(at+".deprecated", &s.Deprecated)
	p.links(at, name, s)
	switch {
	case !s.Sunset.IsZero():
		p.time(at+".sunset", &s.Sunset)
		if s.Sunset.Before(s.Deprecated) {
			p.Add(at+".sunset", "%s is before the version is deprecated, %s",
				humanize.Timestamp(s.Sunset), humanize.Timestamp(s.Deprecated))
		}
	case len(s.Brownouts) > 0 || s.Gate != nil:
		p.Add(at+".sunset", "missing; brownouts and a gate need one")
	}
	s.Brownouts = append([]Brownout{}, s.Brownouts...) // never null in JSON
	s.Exempt = append([]caller.Pattern{}, s.Exempt...)
	for i := range s.Brownouts {
		p.brownout(at+".brownouts", s, i)
	}
	slices.SortFunc(s.Brownouts, func(a, b Brownout) int { return a.From.Compare(b.From) })
	for i, pattern := range s.Exempt {
		if pattern == (caller.Pattern{}) {
			p.Add(fmt.Sprintf("%s.exempt[%d]", at, i), "missing")
		}
	}
	if s.Gate != nil {
		p.gate(at+".gate", s.Gate)
	}
}

func (p parser) gate(at string, g *Gate) {
	g.Days = cmp.Or(g.Days, defaultGateDays)
	p.number(at+".maxClients", g.MaxClients, 0, maxLimit)
	p.number(at+".maxCallsPerDay", g.MaxCallsPerDay, 0, maxLimit)
	p.number(at+".days", g.Days, 1, maxGateDays)
	p.number(at+".instances", g.Instances, 0, maxInstances)
	if g.Count != "" && g.Count != CountProven {
		p.Add(at+".count", "%.40q is not %q; leave it out to count every client", g.Count, CountProven)
	}
	if g.Unverified == (UnverifiedLimits{}) {
		return
	}
	if g.Count != "" {
		p.Add(at+".strangers",
			`has no meaning beside "count", which lets no unverified client hold the sunset; remove one`)
	}
	// Both are needed: a bound of 0 would let any unverified client hold the sunset for ever.
	p.number(at+".strangers.maxCallsPerDay", g.Unverified.MaxCallsPerDay, 1, maxLimit)
	p.share(at+".strangers.maxShare", g.Unverified.MaxShare)
}

func (p parser) number(at string, n, least, most int) {
	if n < least || n > most {
		p.Add(at, "%d is not a whole number from %d to %d", n, least, most)
	}
}

func (p parser) share(at string, share float64) {
	if !(share > 0 && share <= 1) {
		p.Add(at, "%v is not a number above 0 and at most 1", share)
	}
}

// time checks a time that is needed, and writes it in UTC. A faulty one becomes zero.
func (p parser) time(at string, t *time.Time) {
	*t = t.UTC()
	switch {
	case t.IsZero():
		p.Add(at, "missing")
	case t.Nanosecond() != 0:
		p.Add(at, "%s has a fraction of a second, which the headers cannot carry", t.Format(time.RFC3339Nano))
	case t.Year() < 1970 || t.Year() > 9999:
		p.Add(at, "%s is outside the years 1970 to 9999", humanize.Timestamp(*t))
	default:
		return
	}
	*t = time.Time{}
}

// brownout checks a window by itself, and against the dates and the windows before it.
func (p parser) brownout(list string, s *Schedule, i int) {
	b := &s.Brownouts[i]
	at := fmt.Sprintf("%s[%d]", list, i)
	p.time(at+".from", &b.From)
	p.time(at+".to", &b.To)
	p.share(at+".share", b.Share)
	if math.Round(b.Share*1000)/1000 != b.Share {
		p.Add(at+".share", "%v has more than three decimals, which the header cannot carry", b.Share)
	}
	overlapped := slices.IndexFunc(s.Brownouts[:i], func(a Brownout) bool {
		return a.From.Before(a.To) && a.From.Before(b.To) && b.From.Before(a.To)
	})
	switch {
	case b.From.IsZero() || b.To.IsZero():
	case !b.From.Before(b.To):
		p.Add(at, "ends at %s, which is not after it begins, %s", humanize.Timestamp(b.To), humanize.Timestamp(b.From))
	case b.From.Before(s.Deprecated):
		p.Add(at+".from", "%s is before the version is deprecated, %s",
			humanize.Timestamp(b.From), humanize.Timestamp(s.Deprecated))
	case !s.Sunset.IsZero() && b.To.After(s.Sunset):
		p.Add(at+".to", "%s is after the sunset, %s", humanize.Timestamp(b.To), humanize.Timestamp(s.Sunset))
	case overlapped >= 0:
		p.Add(at, "overlaps brownouts[%d]", overlapped)
	}
}

// versionOf is the first segment of a path that is the name of a version.
func (p parser) versionOf(path string) string {
	for segment := range strings.SplitSeq(path, "/") {
		if slices.Contains(p.served, segment) {
			return segment
		}
	}
	return ""
}

// What is allowed between the angle brackets of a Link header.
var (
	plainPath = regexp.MustCompile(`^/[a-zA-Z0-9/._~-]*$`)
	plainURL  = regexp.MustCompile(`^(?i:https)://[a-zA-Z0-9:/?#\[\]@!$&'()*+,;=._~%-]+$`)
)

const maxLink = 1024

// links checks the address of a version's migration page, and the path that its clients
// are sent to.
func (p parser) links(at, name string, s *Schedule) {
	u, err := url.Parse(s.Docs)
	if err != nil || u.Hostname() == "" || u.User != nil || len(s.Docs) > maxLink || !plainURL.MatchString(s.Docs) {
		p.Add(at+".docs", "%.80q is not an https address, like https://example.org/migrate", s.Docs)
	}
	to := s.Successor
	switch {
	case len(to) > maxLink || path.Clean(to) != to || !plainPath.MatchString(to):
		p.Add(at+".successor", "%.80q is not a plain path on this host, like /v3/swap/quote", to)
	case p.versionOf(to) == "":
		p.Add(at+".successor", "%q leads to no version this gateway serves, which are %s", to,
			strings.Join(p.served, ", "))
	case p.versionOf(to) == name:
		p.Add(at+".successor", "%q belongs to %s itself", to, name)
	}
}

// successor checks that no client is sent to a version that is retired by then.
func (p parser) successor(at string, s *Schedule, plan *Plan) {
	name := p.versionOf(s.Successor)
	next := plan.Versions[name]
	if next == nil || next == s || next.Sunset.IsZero() {
		return
	}
	if s.Sunset.IsZero() || !next.Sunset.After(s.Sunset) {
		p.Add(at+".successor", "%s has its own sunset, %s, which is not later", name, humanize.Timestamp(next.Sunset))
	}
}
