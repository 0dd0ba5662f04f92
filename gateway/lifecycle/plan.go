// Package lifecycle retires versions gradually, following the operator's plan: when a
// version is deprecated, when brownouts refuse some clients, and when it is retired. The
// stage follows from the plan and the clock alone, so instances agree without talking to
// each other. The exception is a gate, which delays a sunset while the version is still
// in use. Once a gate has let a sunset pass, that is final.
//
// It only adds headers or refuses a request before any work is done. It never changes a
// body, and no request waits for the counts.
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

// UnverifiedLimits, "strangers" in a plan, bounds the clients that nobody vouches for:
// those that the operator does not know, that have no key, and that no registry has as an
// integrator. With it, only the others count as clients of the gate, and only their calls.
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

func (s *Schedule) ended(at time.Time) bool { return !s.Sunset.IsZero() && !at.Before(s.Sunset) }

// Gated reports whether a gate may still hold the sunset back.
func (s *Schedule) Gated() bool { return s.Gate != nil && !s.Gate.Confirmed }

// Entry is a short hash of the sunset and the gate, which must not be nil. A release
// counts for that entry alone: another sunset or gate asks again, while other changes of
// the plan undo nothing. Whether the plan confirms the release makes no difference.
func (s *Schedule) Entry() string {
	gate := *s.Gate
	gate.Days = cmp.Or(gate.Days, defaultGateDays)
	gate.Confirmed = false
	text, _ := json.Marshal(gate) // of numbers and strings: it cannot fail
	return Hash(fmt.Appendf(nil, "%s %s", s.Sunset.UTC().Format(time.RFC3339), text))
}

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
	return s != nil && slices.ContainsFunc(s.Exempt, func(p caller.Pattern) bool {
		return who.name == "" && p.Matches(who.caller) || who.name != "" && p.MatchesRecorded(who.name, who.exempt)
	})
}

const (
	defaultGateDays = 7
	maxGateDays     = 90
	maxInstances    = 1000
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
		if s := plan.Versions[name]; s == nil {
			p.Add(at, "empty; leave the version out if it is active")
		} else {
			p.check(at, name, s)
		}
	}
	p.successors(plan)
	if err := p.Err(); err != nil {
		return nil, err
	}
	return plan, nil
}

type parser struct {
	*jsonfile.Problems
	served []string
}

// check reports what is wrong with a schedule, and completes it.
func (p parser) check(at, name string, s *Schedule) {
	p.time(at+".deprecated", &s.Deprecated)
	p.checkLinks(at, name, s)
	if !s.Sunset.IsZero() {
		p.time(at+".sunset", &s.Sunset)
		if s.Sunset.Before(s.Deprecated) {
			p.Add(at+".sunset", "%s is before the version is deprecated, %s",
				humanize.Timestamp(s.Sunset), humanize.Timestamp(s.Deprecated))
		}
	} else if !p.Has(at + ".sunset") {
		if len(s.Brownouts) > 0 {
			p.Add(at+".brownouts", "they prepare clients for a sunset, and there is none; give one")
		}
		if s.Gate != nil {
			p.Add(at+".gate", "there is no sunset for it to hold; give one")
		}
	}
	s.Brownouts = append([]Brownout{}, s.Brownouts...) // never null in JSON
	s.Exempt = append([]caller.Pattern{}, s.Exempt...)
	for i := range s.Brownouts {
		p.brownout(fmt.Sprintf("%s.brownouts[%d]", at, i), s, &s.Brownouts[i])
	}
	p.overlaps(at, s.Brownouts)
	slices.SortFunc(s.Brownouts, func(a, b Brownout) int { return a.From.Compare(b.From) })
	for i, pattern := range s.Exempt {
		here := fmt.Sprintf("%s.exempt[%d]", at, i)
		switch {
		case pattern == caller.Pattern{}:
			p.Add(here, "missing")
		case slices.Contains(s.Exempt[:i], pattern):
			p.Add(here, "repeats an earlier entry, %s", pattern)
		}
	}
	if s.Gate != nil {
		p.gate(at+".gate", s.Gate)
	}
}

func (p parser) gate(at string, g *Gate) {
	g.Days = cmp.Or(g.Days, defaultGateDays)
	if g.MaxClients < 0 {
		p.Add(at+".maxClients", "%d is not a whole number of 0 or more", g.MaxClients)
	}
	if g.MaxCallsPerDay < 0 {
		p.Add(at+".maxCallsPerDay", "%d is not a whole number of 0 or more", g.MaxCallsPerDay)
	}
	if g.Days < 1 || g.Days > maxGateDays {
		p.Add(at+".days", "%d is not a number of days from 1 to %d", g.Days, maxGateDays)
	}
	if g.Instances < 0 || g.Instances > maxInstances {
		p.Add(at+".instances", "%d is not a number of instances from 1 to %d", g.Instances, maxInstances)
	}
	if g.Count != "" && g.Count != CountProven {
		p.Add(at+".count", "%.40q is not %q; leave it out to count every client", g.Count, CountProven)
	}
	if g.Count != "" && g.Unverified != (UnverifiedLimits{}) {
		p.Add(at+".strangers",
			`has no meaning beside "count", which lets no unverified client hold the sunset; remove one`)
	}
	p.unverified(at+".strangers", g.Unverified)
}

// unverified checks the bounds of a gate, of which both are needed: one of 0 would let
// any unverified client hold the sunset for ever.
func (p parser) unverified(at string, s UnverifiedLimits) {
	if s == (UnverifiedLimits{}) {
		return
	}
	if s.MaxCallsPerDay < 1 {
		p.Add(at+".maxCallsPerDay", "%d is not a whole number of 1 or more", s.MaxCallsPerDay)
	}
	if !(s.MaxShare > 0 && s.MaxShare <= 1) {
		p.Add(at+".maxShare", "%v is not a number above 0 and at most 1", s.MaxShare)
	}
}

// time checks a time that is needed, and writes it in UTC. A faulty one becomes
// zero.
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

func (p parser) brownout(at string, s *Schedule, b *Brownout) {
	p.time(at+".from", &b.From)
	p.time(at+".to", &b.To)
	switch {
	case !(b.Share > 0 && b.Share <= 1):
		p.Add(at+".share", "%v is not a number above 0 and at most 1", b.Share)
	case math.Round(b.Share*1000)/1000 != b.Share:
		p.Add(at+".share", "%v has more than three decimals, which the header cannot carry", b.Share)
	}
	switch {
	case b.From.IsZero() || b.To.IsZero():
	case !b.From.Before(b.To):
		p.Add(at, "ends at %s, which is not after it begins, %s", humanize.Timestamp(b.To), humanize.Timestamp(b.From))
	case !s.Deprecated.IsZero() && b.From.Before(s.Deprecated):
		p.Add(at+".from", "%s is before the version is deprecated, %s",
			humanize.Timestamp(b.From), humanize.Timestamp(s.Deprecated))
	case !s.Sunset.IsZero() && b.To.After(s.Sunset):
		p.Add(at+".to", "%s is after the sunset, %s", humanize.Timestamp(b.To), humanize.Timestamp(s.Sunset))
	}
}

// overlaps reports each window that overlaps an earlier one of the list. It skips
// windows with faulty times.
func (p parser) overlaps(at string, brownouts []Brownout) {
	right := func(b Brownout) bool { return !b.From.IsZero() && b.From.Before(b.To) }
	for i, b := range brownouts {
		overlaps := func(a Brownout) bool { return right(a) && a.From.Before(b.To) && b.From.Before(a.To) }
		other := slices.IndexFunc(brownouts[:i], overlaps)
		if right(b) && other >= 0 {
			p.Add(fmt.Sprintf("%s.brownouts[%d]", at, i), "overlaps brownouts[%d]", other)
		}
	}
}

// successors checks that no client is sent to a version that is retired by then,
// nor in a circle.
func (p parser) successors(plan *Plan) {
	next := func(s *Schedule) *Schedule {
		if s == nil || s.Successor == "" { // already reported
			return nil
		}
		return plan.Versions[p.versionOf(s.Successor)]
	}
	for _, name := range plan.planned() {
		s := plan.Versions[name]
		at := "versions." + name + ".successor"
		after := next(s)
		last := after
		for range plan.Versions {
			if last != s {
				last = next(last)
			}
		}
		switch {
		case after == nil:
		case !after.Sunset.IsZero() && (s.Sunset.IsZero() || !after.Sunset.After(s.Sunset)):
			p.Add(at, "%s has its own sunset, %s, which is not after that of %s",
				p.versionOf(s.Successor), humanize.Timestamp(after.Sunset), name)
		case last == s:
			p.Add(at, "leads back to %s in the end", name)
		}
	}
}

// versionOf is the version that a path belongs to: the first segment that is
// the name of a version.
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

// checkLinks checks the path that a version sends its clients to, and the address of
// its migration page. A faulty path becomes empty.
func (p parser) checkLinks(at, name string, s *Schedule) {
	u, err := url.Parse(s.Docs)
	address := err == nil && u.Hostname() != "" && u.User == nil && plainURL.MatchString(s.Docs)
	switch {
	case s.Docs == "":
		p.Add(at+".docs", "missing")
	case !address || len(s.Docs) > maxLink:
		p.Add(at+".docs", "%.80q is not an https address, like https://example.org/migrate", s.Docs)
	}
	at += ".successor"
	text := s.Successor
	switch {
	case text == "":
		p.Add(at, "missing")
	case len(text) > maxLink || path.Clean(text) != text || !plainPath.MatchString(text):
		p.Add(at, "%.80q is not a plain path on this host, like /v3/swap/quote", text)
	case slices.Contains(strings.Split(text, "/"), name):
		p.Add(at, "%q belongs to %s itself", text, name)
	case p.versionOf(text) == "":
		p.Add(at, "%q leads to no version this gateway serves, which are %s", text, strings.Join(p.served, ", "))
	default:
		return
	}
	s.Successor = ""
}
