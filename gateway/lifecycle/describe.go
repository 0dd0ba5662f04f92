package lifecycle

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/buildinfo"
	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/version"
)

// Document is the public description of every version.
type Document struct {
	Release  string         `json:"release"`        // of the service
	Plan     string         `json:"plan,omitempty"` // the hash of the plan in force
	Versions []documentLine `json:"versions"`
}

// documentLine is one version. Fields that its plan does not set are left out.
type documentLine struct {
	Name       string     `json:"name"`
	State      Stage      `json:"state"`
	Deprecated time.Time  `json:"deprecated,omitzero"` // may be in the future
	Sunset     time.Time  `json:"sunset,omitzero"`
	Brownouts  []Brownout `json:"brownouts"` // past ones too
	Successor  string     `json:"successor,omitempty"`
	Contract   string     `json:"contract"`
	Migration  string     `json:"migration,omitempty"`
	Gate       *gateState `json:"gate"` // null: the date decides alone
}

type gateState struct {
	Holds bool `json:"holds"` // a sunset would not take effect now
}

func (k *Keeper) Document() Document {
	now := k.options.Now()
	inForce := k.inForce.Load()
	doc := Document{Release: buildinfo.Release, Plan: inForce.hash, Versions: []documentLine{}}
	for _, v := range inForce.versions {
		s := cmp.Or(v.schedule, &Schedule{Brownouts: []Brownout{}})
		e := documentLine{
			Name: v.name, State: v.stage(now), Deprecated: s.Deprecated, Sunset: s.Sunset, Brownouts: s.Brownouts,
			Successor: s.Successor, Contract: version.ContractPath(v.name), Migration: s.Docs,
		}
		if v.gate != nil {
			e.Gate = &gateState{v.gate.Holds}
		}
		doc.Versions = append(doc.Versions, e)
	}
	return doc
}

// Standing is an old version as one caller sees it.
type Standing struct {
	Name      string        `json:"name"`
	State     Stage         `json:"state"`
	Sunset    time.Time     `json:"sunset,omitzero"`
	Successor string        `json:"successor,omitempty"`
	Migration string        `json:"migration,omitempty"`
	Exempt    bool          `json:"exempt"` // no window refuses this caller; the sunset does
	Window    *callerWindow `json:"window"` // the open or next one; null: none is planned
}

// callerWindow is a window, and whether it refuses this caller.
type callerWindow struct {
	Brownout
	Refused bool `json:"refused"`
}

// Standings describes the old versions to a caller, those that are in the plan and all but the
// first, with the hash of the plan in force.
func (k *Keeper) Standings(c caller.Caller) (plan string, all []Standing) {
	now := k.options.Now()
	inForce := k.inForce.Load()
	all = []Standing{}
	for i, v := range inForce.versions {
		if i == 0 && v.schedule == nil {
			continue
		}
		s := cmp.Or(v.schedule, &Schedule{})
		who := Calling(v.name, c)
		one := Standing{
			Name: v.name, State: v.stage(now), Sunset: s.Sunset, Successor: s.Successor, Migration: s.Docs,
			Exempt: s.Exempts(who),
		}
		if b, planned := s.NextBrownout(now); planned {
			one.Window = &callerWindow{b, s.Hits(b, who)}
		}
		all = append(all, one)
	}
	return inForce.hash, all
}

// Snapshot is the description for an operator.
type Snapshot struct {
	File     string            `json:"file"`
	Hash     string            `json:"hash,omitempty"` // of the plan in force
	LoadedAt time.Time         `json:"loadedAt"`
	Plan     *Plan             `json:"plan"`
	Versions []Status          `json:"versions"`
	Next     []Change          `json:"next"`              // in order
	Refused  *jsonfile.Refusal `json:"refused,omitempty"` // why the file's plan is not in force; nil if it is
}

// Status is one version. A gate is read in every stage. Before the sunset it
// tells what would happen if the sunset were now.
type Status struct {
	Version string       `json:"version"`
	Stage   Stage        `json:"stage"`
	Gate    *GateReading `json:"gate,omitempty"`
	Verdict *Verdict     `json:"verdict,omitempty"` // nil: not in the plan
	Warning string       `json:"warning,omitempty"` // what to do about the gate or the plan
	Risk    string       `json:"risk,omitempty"`    // what the gate cannot know, as the plan is written
}

// Snapshot describes the plan in force and the current stages.
func (k *Keeper) Snapshot() Snapshot {
	now := k.options.Now()
	c := k.inForce.Load()
	s := Snapshot{
		File: k.options.File, Hash: c.hash, LoadedAt: c.loadedAt, Plan: c.plan,
		Next: []Change{}, Refused: k.watch.Refused(),
	}
	for _, v := range c.versions {
		s.Versions = append(s.Versions, Status{
			Version: v.name, Stage: v.stage(now), Gate: v.gate, Verdict: v.verdict(now),
			Warning: cmp.Or(v.warning(now), v.schedule.exemptsEveryone()), Risk: v.gate.risk(),
		})
		s.Next = append(s.Next, v.schedule.Changes(v.name)...)
	}
	s.Next = slices.DeleteFunc(s.Next, func(c Change) bool { return !c.At.After(now) })
	slices.SortStableFunc(s.Next, func(a, b Change) int { return a.At.Compare(b.At) })
	return s
}

// Problems says what this instance does not know of the plan, and of which versions it does
// not know whether they are retired.
func (k *Keeper) Problems() (sentences []string) {
	now := k.options.Now()
	c := k.inForce.Load()
	if c.unknown && now.Sub(k.began) >= unreadableLimit {
		sentences = append(sentences, "The plan that was last accepted cannot be read from USAGE_DB; until then this "+
			"instance refuses nobody because of its plan, though other instances may")
	}
	for _, v := range c.versions {
		if v.gate != nil && v.gate.Unknown && v.stage(now) == Held {
			sentences = append(sentences, fmt.Sprintf("Version %s: its sunset has come, and this instance cannot read "+
				"whether its gate has let it pass; it serves the version, which other instances may refuse", v.name))
		}
	}
	return sentences
}

// Change is a moment at which a version changes its stage.
type Change struct {
	At      time.Time `json:"at"`
	Version string    `json:"version"`
	What    string    `json:"what"`
}

// Changes lists all changes of a version, past ones too, in order.
func (s *Schedule) Changes(version string) []Change {
	all := []Change{}
	if s == nil {
		return all
	}
	add := func(at time.Time, what string) { all = append(all, Change{at, version, what}) }
	add(s.Deprecated, "deprecated")
	for _, b := range s.Brownouts {
		length := humanize.Duration(b.To.Sub(b.From))
		add(b.From, "brownout begins: "+humanize.Percent(b.Share)+" of clients get 410 for "+length)
		add(b.To, "brownout ends")
	}
	if s.Sunset.IsZero() {
		return all
	}
	what := "sunset: every client gets 410 from here on"
	if s.Gated() {
		what += ", unless its gate holds"
	}
	add(s.Sunset, what)
	return all
}

// Outlook is what a plan means for one version at a time. It goes by the plan alone,
// as if a gate let its sunset pass.
type Outlook struct {
	Version  string   `json:"version"`
	Stage    Stage    `json:"stage"`
	Changes  []Change `json:"changes"`  // past ones too
	Warnings []string `json:"warnings"` // of what is valid, but may be a mistake

	Plan    *Schedule   `json:"-"` // nil without one
	Window  Brownout    `json:"-"` // the open or next one
	Headers http.Header `json:"-"` // of every answer
}

func (p *Plan) Outlook(at time.Time) (all []Outlook) {
	for _, name := range p.served {
		s := p.Versions[name]
		o := Outlook{
			Version: name, Stage: s.Stage(at, true), Plan: s, Changes: s.Changes(name), Warnings: s.warnings(at),
			Headers: http.Header{},
		}
		o.Window, _ = s.NextBrownout(at)
		s.announce(o.Headers, at)
		all = append(all, o)
	}
	return all
}

const (
	shortNotice = 90 * day // between announcing a version's end and the end
	soon        = 7 * day
	day         = 24 * time.Hour

	earlyRelease = `"released" in the gate: ` + confirmedEarly
)

// Warnings are about what is written in the plan, whatever the time.
func (p *Plan) Warnings() (all []string) {
	for _, name := range p.planned() {
		if text := p.Versions[name].exemptsEveryone(); text != "" {
			all = append(all, name+": "+text)
		}
	}
	return all
}

// exemptsEveryone says whose addresses are all exempt, and what follows from it.
func (s *Schedule) exemptsEveryone() string {
	if s == nil {
		return ""
	}
	family := caller.Everyone(s.Exempt)
	if family == "" {
		return ""
	}
	return `"exempt" has all of ` + family + `, so that no brownout refuses a client that calls over it; ` +
		"list only the networks of single clients"
}

// warnings returns what is valid in a plan, but may be a mistake.
func (s *Schedule) warnings(at time.Time) []string {
	warnings := []string{}
	if s == nil {
		return warnings
	}
	warn := func(text string, args ...any) { warnings = append(warnings, fmt.Sprintf(text, args...)) }
	if text := s.exemptsEveryone(); text != "" {
		warnings = append(warnings, text)
	}
	if s.Sunset.IsZero() {
		warn("no sunset is set: clients are told to move, but not by when")
		return warnings
	}
	left := s.Sunset.Sub(at)
	switch {
	case left <= 0 && s.Gated():
		warn("the sunset has passed: the version is retired as soon as its gate lets it")
	case left <= 0:
		warn("the sunset has passed: a gateway that starts with this plan retires the version at once")
	case left < soon:
		warn("the sunset is only %s away", humanize.Span(left))
	}
	if notice := s.Sunset.Sub(s.Deprecated); notice < shortNotice {
		warn("clients have %s between the announcement and the sunset; give them at least %s",
			humanize.Span(notice), humanize.Span(shortNotice))
	}
	if s.Gate != nil {
		gate := GateReading{Gate: *s.Gate}
		warnings = append(warnings, gate.ignored(), gate.risk())
		if gate.Confirmed && left > 0 {
			warnings = append(warnings, earlyRelease)
		}
	}
	most := 0.0
	for _, b := range s.Brownouts {
		most = max(most, b.Share)
	}
	switch {
	case most == 0:
		warn("no brownout comes before the sunset: clients that read no headers get no warning")
	case most < 1:
		warn("no brownout reaches more than %s of clients: for the others the sunset is the first 410",
			humanize.Percent(most))
	}
	return slices.DeleteFunc(warnings, func(text string) bool { return text == "" })
}

// risk is what a gate that is not released cannot know, as its plan is written.
func (r *GateReading) risk() string {
	if r == nil || r.Instances > 0 || r.Confirmed || !r.Released.IsZero() {
		return ""
	}
	return `the gate does not say how many instances there are, so one that cannot write its counts is not missed; ` +
		`add "instances" to the gate`
}

// ignored says what in a gate has no effect.
func (r *GateReading) ignored() string {
	if r == nil || r.Strangers == (Strangers{}) {
		return ""
	}
	return `"strangers" in the gate is ignored: every client counts, or with "count": "proven" those with a key`
}

// warning is what an operator should do about the line of a version, going by the counts.
func (v *served) warning(now time.Time) string {
	r := v.gate
	switch {
	case v.carried && v.stage(now) == Retired:
		return "the plan has no line for " + v.name + " any more, which stays retired: " +
			`put the line back, or write {"active": true} as its line to serve the version again`
	case r == nil:
	case r.Confirmed && !v.schedule.ended(now):
		return earlyRelease
	case !r.Released.IsZero() && !r.Confirmed:
		return `the gate has let the sunset pass: write "released": true into it, ` +
			"so that a restart without the database does not bring the version back"
	case r.Released.IsZero() && !r.Holds && r.WaitingCount > 0:
		clients := humanize.Count(r.WaitingCount, "client", "clients")
		days := humanize.Count(r.Days, "day", "days")
		return fmt.Sprintf("%s of the last 90 days did not call within the gate's %s and did not move, "+
			"for example %s; a gate with more days waits for them", clients, days, strings.Join(r.Waiting, ", "))
	}
	return ""
}
