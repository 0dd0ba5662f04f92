package lifecycle

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/buildinfo"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/version"
)

const (
	brownoutHeader    = "API-Brownout"
	rehearseHeader    = "API-Rehearse"
	canonicalRehearse = "Api-Rehearse" // as net/http stores it
)

// ResponseHeaders lists the headers that Admit may set, for CORS.
func ResponseHeaders() []string {
	return []string{"Deprecation", "Sunset", "Link", brownoutHeader, rehearseHeader}
}

// Admit sets the lifecycle headers of the response. If the request is refused,
// it returns the reason. It must be called before anything is written.
func (k *Keeper) Admit(h http.Header, r *http.Request, name string, c caller.Caller) *fault.Error {
	versions := k.inForce.Load().versions
	i := slices.IndexFunc(versions, func(v *served) bool { return v.name == name })
	if i < 0 {
		return nil
	}
	v := versions[i]
	now := k.options.Now()
	v.announce(h, now)
	stage := v.stage(now)
	var refusal *fault.Error
	switch {
	case Rehearsing(r):
		refusal = v.rehearse(h, r, now)
	case stage == Retired:
		refusal = v.retired()
	case stage == BrowningOut:
		b, _ := v.schedule.NextBrownout(now)
		if v.schedule.Hits(b, Calling(name, c)) {
			refusal = v.brownout(now, b.To)
		}
	}
	if refusal != nil {
		// A cache may keep a 410 and return it to clients outside the share,
		// after the window, or of another version at the same path.
		h.Set("Cache-Control", "no-store")
	}
	return refusal
}

// Exempts reports whether the plan spares a caller in the brownouts of a version.
func (k *Keeper) Exempts(name string, c caller.Caller) bool {
	return k.inForce.Load().plan.Versions[name].Exempts(Calling(name, c))
}

// Rehearsing reports whether a request asks for a rehearsal. A rehearsal is
// refused in every stage, and does not count as use of the version.
func Rehearsing(r *http.Request) bool { return len(r.Header[canonicalRehearse]) > 0 }

// rehearsalLength is that of a rehearsed brownout if the plan has no window left.
const rehearsalLength = 15 * time.Minute

// rehearse returns the refusal that a client would get in a later stage, exempt or not. The
// response repeats the header, so that nobody takes it for a real refusal.
func (v *served) rehearse(h http.Header, r *http.Request, now time.Time) *fault.Error {
	values := r.Header[canonicalRehearse]
	stage := Stage(strings.ToLower(strings.TrimSpace(values[0])))
	if len(values) > 1 || (stage != Retired && stage != BrowningOut) {
		return fault.New(fault.InvalidParameter, "The header %s must be given once, as %s or %s",
			rehearseHeader, Retired, BrowningOut)
	}
	h.Set(rehearseHeader, string(stage))
	if stage == Retired {
		return v.retired()
	}
	b, planned := v.schedule.NextBrownout(now)
	if !planned {
		b.To = now.Add(rehearsalLength).UTC().Truncate(time.Second)
	}
	return v.brownout(now, b.To)
}

// served is a version that is served, and its part of the plan.
type served struct {
	name     string
	schedule *Schedule    // nil: no plan, so active
	headers  http.Header  // of every response; shared, so never changed
	gate     *GateReading // nil without a gate
}

// versionsOf are all versions that are served, under a plan and with readings of its gates.
func versionsOf(p *Plan, readings map[string]*GateReading) (all []*served) {
	for _, name := range p.served {
		v := &served{name, p.Versions[name], http.Header{}, readings[name]}
		all = append(all, v)
		s := v.schedule
		if s == nil {
			continue
		}
		v.headers.Set("Deprecation", fmt.Sprintf("@%d", s.Deprecated.Unix()))
		sunset := ""
		if !s.Sunset.IsZero() {
			v.headers.Set("Sunset", s.Sunset.Format(http.TimeFormat))
			sunset = `<` + s.Docs + `>; rel="sunset", `
		}
		v.headers.Set("Link", `<`+s.Docs+`>; rel="deprecation", `+sunset+`<`+s.Successor+`>; rel="successor-version"`)
	}
	return all
}

// stage is the current stage, with the gate taken into account. A gate is released
// only when it is read, so a sunset takes effect some seconds late.
func (v *served) stage(now time.Time) Stage {
	return v.schedule.Stage(now, v.gate == nil || !v.gate.Released.IsZero())
}

// announce sets the headers that say what is planned, even before the version is
// deprecated. Dates and the share have the format of RFC 9651.
func (v *served) announce(h http.Header, now time.Time) {
	maps.Copy(h, v.headers)
	if b, ok := v.schedule.NextBrownout(now); ok {
		share := strconv.FormatFloat(b.Share, 'f', -1, 64)
		if !strings.Contains(share, ".") {
			share += ".0"
		}
		h.Set(brownoutHeader, fmt.Sprintf("from=@%d, to=@%d, share=%s", b.From.Unix(), b.To.Unix(), share))
	}
}

// retired is the answer once the version is gone.
func (v *served) retired() *fault.Error {
	what := "was retired"
	if s := v.schedule; s != nil && !s.Sunset.IsZero() {
		what += " on " + humanize.Timestamp(s.Sunset)
	}
	return v.refusal(fault.VersionRetired, what)
}

// brownout is the answer to the clients in the share of a window.
func (v *served) brownout(now, until time.Time) *fault.Error {
	what := "is temporarily unavailable until " + humanize.Timestamp(until)
	if s := v.schedule; s != nil && s.Sunset.After(now) {
		what += ", and permanently on " + humanize.Timestamp(s.Sunset)
	}
	e := v.refusal(fault.VersionBrownout, what)
	e.Until = until
	return e
}

// refusal says what happened to the version and, if the plan knows, where to go instead.
func (v *served) refusal(code fault.Code, what string) *fault.Error {
	e := fault.New(code, "Version %s %s", v.name, what)
	if s := v.schedule; s != nil {
		e.Message += "; use " + s.Successor + " instead, as " + s.Docs + " explains"
		e.Successor = s.Successor
	}
	return e
}

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

// gateState says whether a gate holds: a sunset would not take effect now.
type gateState struct {
	Holds bool `json:"holds"`
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
	Warning string       `json:"warning,omitempty"` // what to do about the gate
	Risk    string       `json:"risk,omitempty"`    // what the gate cannot know, as the plan is written
}

// Change is a moment at which a version changes its stage.
type Change struct {
	At      time.Time `json:"at"`
	Version string    `json:"version"`
	What    string    `json:"what"`
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
			Version: v.name, Stage: v.stage(now), Gate: v.gate, Verdict: v.schedule.Verdict(v.name, v.gate, now),
			Warning: v.warning(now), Risk: v.risk(),
		})
		s.Next = append(s.Next, v.schedule.Changes(v.name)...)
	}
	s.Next = slices.DeleteFunc(s.Next, func(c Change) bool { return !c.At.After(now) })
	slices.SortStableFunc(s.Next, func(a, b Change) int { return a.At.Compare(b.At) })
	return s
}

// Problems says of which versions this instance does not know whether they are retired.
func (k *Keeper) Problems() (sentences []string) {
	now := k.options.Now()
	for _, v := range k.inForce.Load().versions {
		if v.gate != nil && v.gate.Unknown && v.stage(now) == Held {
			sentences = append(sentences, fmt.Sprintf("Version %s: its sunset has come, and this instance cannot read "+
				"whether its gate has let it pass; it serves the version, which other instances may refuse", v.name))
		}
	}
	return sentences
}

// Changes lists all changes of a version, past ones too, in order.
func (s *Schedule) Changes(version string) (all []Change) {
	if s == nil {
		return nil
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
	for _, v := range versionsOf(p, nil) {
		o := Outlook{
			Version: v.name, Stage: v.stage(at), Plan: v.schedule, Warnings: []string{}, Headers: http.Header{},
			Changes: append([]Change{}, v.schedule.Changes(v.name)...), // never null in JSON
		}
		o.Window, _ = v.schedule.NextBrownout(at)
		if v.schedule != nil {
			o.Warnings = append(o.Warnings, v.schedule.warnings(at)...)
			v.announce(o.Headers, at)
		}
		all = append(all, o)
	}
	return all
}

const (
	shortNotice = 90 * day // between announcing a version's end and the end
	soon        = 7 * day
	day         = 24 * time.Hour
)

// warnings returns what is valid in a plan, but may be a mistake.
func (s *Schedule) warnings(at time.Time) (warnings []string) {
	warn := func(text string, args ...any) { warnings = append(warnings, fmt.Sprintf(text, args...)) }
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
	gate := cmp.Or(s.Gate, &Gate{Instances: 1})
	if gate.Confirmed && left > 0 {
		warn(`"released" in the gate: ` + confirmedEarly)
	}
	if risk := gate.risk(); risk != "" {
		warn("%s", risk)
	}
	looksAt := time.Duration(gate.Days) * day // before the sunset
	most := 0.0
	covered := time.Duration(0)
	for _, b := range s.Brownouts {
		most = max(most, b.Share)
		covered += max(0, min(b.To.Sub(b.From), b.To.Sub(s.Sunset.Add(-looksAt))))
	}
	switch {
	case most == 0:
		warn("no brownout comes before the sunset: clients that read no headers get no warning")
	case most < 1:
		warn("no brownout reaches more than %s of clients: for the others the sunset is the first 410",
			humanize.Percent(most))
	}
	if covered*2 > looksAt {
		warn("brownouts take up %s of the %s that the gate looks at: "+
			"a client that gives up during them looks like one that has moved",
			humanize.Span(covered), humanize.Span(looksAt))
	}
	return warnings
}
