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
	"reflect"
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

	served  []string // all versions, in the order to show them
	active  []string // versions whose line says no more than that: it brings a retired one back
	carried []string // versions without a line of their own, which keep that by which they were retired
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
	Immediate  bool             `json:"immediate,omitempty"` // may refuse clients the moment it comes into force
	Active     bool             `json:"active,omitempty"`    // only in a file, and alone there: there is no schedule
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
	MaxClients     int       `json:"maxClients"`
	MaxCallsPerDay int       `json:"maxCallsPerDay"`
	Days           int       `json:"days"`                // 1 to 90
	Instances      int       `json:"instances,omitempty"` // that write their counts, always; 0: not said
	MaxGap         string    `json:"maxGap,omitempty"`    // a length of time, see Tolerates; empty: defaultMaxGap
	Count          string    `json:"count,omitempty"`     // CountProven, or empty: every client counts
	Strangers      Strangers `json:"strangers,omitzero"`
	Confirmed      bool      `json:"released,omitempty"` // the operator confirmed this sunset
}

// CountProven has a gate count only clients that prove who they are with a key.
const CountProven = "proven"

const countAll = "all" // as a plan may write the default

// Strangers is what release 1.0.0 knew as "strangers". It has no effect; but a release was
// recorded for the entry that it is part of.
type Strangers struct {
	MaxCallsPerDay int     `json:"maxCallsPerDay"`
	MaxShare       float64 `json:"maxShare"`
}

// Tolerates is how much of the counts may be missing within the days of the gate, in all.
func (g *Gate) Tolerates() time.Duration {
	if g.MaxGap == "" {
		return defaultMaxGap
	}
	most, _ := time.ParseDuration(g.MaxGap) // checked when it was parsed
	return most
}

// OnlyProven reports whether only clients that prove who they are count.
func (g *Gate) OnlyProven() bool { return g.Count == CountProven }

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
// counts for that entry alone; other changes of the plan undo nothing. Defaults of keys
// that 1.0.0 did not have are left out, so that an upgrade undoes nothing either.
func (s *Schedule) Entry() string {
	gate := *s.Gate
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
	position func() float64 // in the order of the version
	matches  func(caller.Pattern) bool
}

// Calling is a client that calls a version now.
func Calling(version string, c caller.Caller) Subject {
	return Subject{
		position: func() float64 { return c.Identity().Position(version) },
		matches:  func(p caller.Pattern) bool { return p.Matches(c) },
	}
}

// Recorded is a client that has called a version: its name, its place in the order of the
// version, and whether the plan in force spared it at its last call, which decides where its
// name does not tell.
func Recorded(name string, position float64, exempt bool) Subject {
	return Subject{
		position: func() float64 { return position },
		matches:  func(p caller.Pattern) bool { return p.MatchesRecorded(name, exempt) },
	}
}

// Hits reports whether a window refuses a client. Every version has one fixed order of
// clients, and a share takes them from its start: a client is refused for a whole window
// or not at all, and a larger share refuses the same clients, and more.
func (s *Schedule) Hits(b Brownout, who Subject) bool {
	return !s.Exempts(who) && who.position() < b.Share
}

// Exempts reports whether the schedule spares a client in brownouts. A nil schedule spares
// nobody.
func (s *Schedule) Exempts(who Subject) bool {
	return s != nil && slices.ContainsFunc(s.Exempt, who.matches)
}

const (
	defaultGateDays = 7
	defaultMaxGap   = 15 * time.Minute
	maxGateDays     = 90
	maxInstances    = 1000
	maxLimit        = 1e15 // of clients and calls: more than there can be
)

// Parse reads a plan for the versions that are served. It ignores those that were deleted
// from the code: one plan serves the releases before and after that. The error lists all
// faults, one per line.
func Parse(data []byte, versions, deleted []string) (*Plan, error) {
	plan := &Plan{served: slices.Clone(versions)}
	p := parser{jsonfile.Decode(data, plan), plan}
	if plan.Versions == nil {
		p.Add("versions", `missing; write {"versions": {}} to leave every version active`)
	}
	maps.DeleteFunc(plan.Versions, func(name string, _ *Schedule) bool { return slices.Contains(deleted, name) })
	for _, name := range plan.planned() {
		at := "versions." + name
		if !slices.Contains(versions, name) {
			p.Add(at, "unknown version; this gateway serves %s", strings.Join(versions, ", "))
		}
		switch s := plan.Versions[name]; {
		case s == nil:
			p.Add(at, `empty; write {"active": true} if the version is active`)
		case s.Active && !reflect.DeepEqual(*s, Schedule{Active: true}):
			p.Add(at, `"active" is not the only key; remove it, `+
				`or write only {"active": true} to bring the version back`)
		case s.Active:
			plan.active = append(plan.active, name)
			delete(plan.Versions, name)
		default:
			p.check(at, name, s)
		}
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	return plan, nil
}

// keeping is the plan in which a version that is retired, or may be, under the plan that was
// in force, keeps that line if it has no line any more. Only another line brings it back.
func (p *Plan) keeping(before []*served, now time.Time) *Plan {
	next := *p
	next.Versions = maps.Clone(p.Versions)
	for _, v := range before {
		hasLine := p.Versions[v.name] != nil || slices.Contains(p.active, v.name)
		mayBeRetired := v.stage(now) == Retired || v.stage(now) == Held && v.gate.Unknown
		if !hasLine && mayBeRetired {
			next.Versions[v.name] = v.schedule
			next.carried = append(next.carried, v.name)
		}
	}
	return &next
}

type parser struct {
	*jsonfile.Problems
	plan *Plan
}

// check reports what is wrong with a schedule, and completes it.
func (p parser) check(at, name string, s *Schedule) {
	p.time(at+".deprecated", &s.Deprecated)
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
	if s.Gate != nil {
		p.gate(at+".gate", s.Gate)
	}
	p.docs(at+".docs", s.Docs)
	p.successor(at+".successor", name, s)
}

func (p parser) gate(at string, g *Gate) {
	g.Days = cmp.Or(g.Days, defaultGateDays)
	p.number(at+".maxClients", g.MaxClients, 0, maxLimit)
	p.number(at+".maxCallsPerDay", g.MaxCallsPerDay, 0, maxLimit)
	p.number(at+".days", g.Days, 1, maxGateDays)
	p.number(at+".instances", g.Instances, 0, maxInstances)
	p.maxGap(at+".maxGap", g)
	switch g.Count {
	case countAll:
		g.Count = ""
	case "", CountProven:
	default:
		p.Add(at+".count", "%.40q is neither %q, which counts every client, nor %q", g.Count, countAll, CountProven)
	}
}

// maxGap writes a length of time in one form, the default as none.
func (p parser) maxGap(at string, g *Gate) {
	if g.MaxGap == "" {
		return
	}
	most, err := time.ParseDuration(g.MaxGap)
	switch {
	case err != nil || most < 0:
		p.Add(at, `%.40q is not a length of time like "15m" or "1h30m"; "0s" tolerates no gap`, g.MaxGap)
	case most == defaultMaxGap:
		g.MaxGap = ""
	default:
		g.MaxGap = humanize.Duration(most)
	}
}

func (p parser) number(at string, n, least, most int) {
	if n < least || n > most {
		p.Add(at, "%d is not a whole number from %d to %d", n, least, most)
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
	switch {
	case !(b.Share > 0 && b.Share <= 1):
		p.Add(at+".share", "%v is not a number above 0 and at most 1", b.Share)
	case math.Round(b.Share*1000)/1000 != b.Share:
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

// What is allowed between the angle brackets of a Link header.
var (
	plainPath = regexp.MustCompile(`^/[a-zA-Z0-9/._~-]*$`)
	plainURL  = regexp.MustCompile(`^(?i:https)://[a-zA-Z0-9:/?#\[\]@!$&'()*+,;=._~%-]+$`)
)

const maxLink = 1024

// docs checks the address of a version's migration page.
func (p parser) docs(at, docs string) {
	u, err := url.Parse(docs)
	if err != nil || u.Hostname() == "" || u.User != nil || len(docs) > maxLink || !plainURL.MatchString(docs) {
		p.Add(at, "%.80q is not an https address, like https://example.org/migrate", docs)
	}
}

// successor checks the path that the clients of a version are sent to. Its first segment that
// names a version must name another one, and that one must not end earlier.
func (p parser) successor(at, name string, s *Schedule) {
	to := s.Successor
	segments := strings.Split(to, "/")
	isServed := func(segment string) bool { return slices.Contains(p.plan.served, segment) }
	i := slices.IndexFunc(segments, isServed)
	if len(to) > maxLink || path.Clean(to) != to || !plainPath.MatchString(to) {
		p.Add(at, "%.80q is not a plain path on this host, like /v3/swap/quote", to)
		return
	}
	if i < 0 {
		p.Add(at, "%q leads to no version this gateway serves, which are %s", to, strings.Join(p.plan.served, ", "))
		return
	}
	next := p.plan.Versions[segments[i]]
	switch {
	case segments[i] == name:
		p.Add(at, "%q belongs to %s itself", to, name)
	case next == nil || next.Sunset.IsZero():
	case s.Sunset.IsZero() || !next.Sunset.After(s.Sunset):
		p.Add(at, "%s has its own sunset, %s, which is not later", segments[i], humanize.Timestamp(next.Sunset))
	}
}
