package lifecycle

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/safego"
)

// Usage knows how much a version is used, and remembers what was decided. Instances that
// share it agree. Each question has a time limit of its own.
type Usage interface {
	// Evidence is the use of a version within the days of a gate. Once the sunset has come,
	// it is complete only if every instance that is alive has written since.
	Evidence(version string, gate Gate, sunset time.Time) (Evidence, error)
	// Released returns when the gate of a Schedule.Entry let a sunset pass; zero: not yet.
	Released(version string, sunset time.Time, entry string) (time.Time, error)
	// Release records that the gate lets a sunset pass, or says why it must not.
	Release(version string, sunset time.Time, entry string) error
	// Accepted returns what was last accepted of the plan, by version. Empty: nothing is kept yet.
	Accepted() (map[string]Accepted, error)
	// Accept keeps what has come into force of a version, instead of what was kept of it.
	Accept(version string, a Accepted) error
}

// Gap is a time in which an instance may have answered calls that are not counted. It is over.
type Gap struct {
	Instance string    `json:"instance"` // its name and ID, as in every note
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Reason   string    `json:"reason"`
}

// Evidence is the use of a version within some days: calls that were served, and calls that
// a brownout refused, without which a long brownout would empty the gate. Clients that do
// not count by the rule of the gate are unverified. One marked as moved does not count, nor
// do its calls, until a proven call; a call that merely claims its name is unverified.
type Evidence struct {
	Clients int `json:"clients"` // distinct ones that count, in all these days
	Calls   int `json:"calls"`   // theirs, on the busiest day

	Missing []string `json:"missing,omitempty"` // what the numbers leave out; each holds the gate
	Gaps    []Gap    `json:"gaps,omitempty"`    // within the days, too; Gate.Tolerates bounds their sum

	Names           int `json:"names"`           // that called, whether they count or not
	Proven          int `json:"proven"`          // of the names, those with at least one call with a key
	UnverifiedNames int `json:"unverified"`      // of the names, all that do not count as clients
	UnverifiedCalls int `json:"unverifiedCalls"` // on their busiest day
	Marked          int `json:"marked"`          // names that do not count: the operator says that they have moved
	Errors          int `json:"errors"`          // names that do not count: only errors, and then a brownout's

	Earliest time.Time `json:"earliest,omitzero"` // when these numbers let the sunset pass if nobody calls any more

	// Clients of the last 90 days that neither moved nor called within these days: the first ten, and how many.
	Waiting      []string `json:"waiting,omitempty"`
	WaitingCount int      `json:"waitingCount,omitempty"`
}

// GateReading compares a gate with the evidence.
type GateReading struct {
	Gate
	*Evidence        // nil while it is not known
	Holds     bool   `json:"holds"`             // a sunset would not take effect now
	Unknown   bool   `json:"unknown,omitempty"` // the counts, or whether it let the sunset pass, cannot be read
	Why       string `json:"why,omitempty"`     // why it holds
	// When it let the sunset pass, which is final; the sunset, if only the plan says so.
	Released time.Time `json:"released,omitzero"`
}

const (
	clockSkew = time.Minute // that two clocks may differ

	// The pause between readings is this many times the duration of the last one, so that
	// a large database is not read all the time, but never longer than maxGatePause.
	gatePause    = 10
	maxGatePause = time.Minute
)

// decision is what a gate decides once and for all: about an entry of a plan.
type decision struct{ version, entry string }

// known is what is known of a decision.
type known struct {
	reading GateReading // the last one
	void    time.Time   // a release that a wrong clock made, and that never counts
}

// gates reads the gates of plans. A release that it has seen is final, whatever the counts
// say later, and keeps the evidence of that time.
type gates struct {
	usage     Usage
	now       func() time.Time
	log       *slog.Logger
	began     time.Time     // the last round of readings
	pause     time.Duration // until the next
	decisions map[decision]*known
}

func newGates(usage Usage, now func() time.Time, log *slog.Logger) *gates {
	return &gates{usage: usage, now: now, log: log, decisions: map[decision]*known{}}
}

// ReadGates reads the gates of a plan at a time, by version. No sunset passes because of it.
func ReadGates(p *Plan, usage Usage, at time.Time) map[string]*GateReading {
	g := newGates(usage, func() time.Time { return at }, slog.New(slog.DiscardHandler))
	g.read(p, false)
	all := map[string]*GateReading{}
	for _, v := range g.versions(p) {
		all[v.name] = v.gate
	}
	return all
}

// about is what is known of the gate of a version, at first that it holds.
func (g *gates) about(version string, s *Schedule) *known {
	d := decision{version, s.Entry()}
	if g.decisions[d] == nil {
		g.decisions[d] = &known{reading: GateReading{Holds: true, Unknown: true, Why: "no counts have been read yet"}}
	}
	return g.decisions[d]
}

// versions are all that are served, under a plan and with the last readings of its gates.
func (g *gates) versions(p *Plan) (all []*served) {
	for _, name := range p.served {
		v := &served{name: name, schedule: p.Versions[name], carried: slices.Contains(p.carried, name)}
		if s := v.schedule; s != nil && s.Gate != nil {
			r := g.about(name, s).reading
			if s.confirmed(g.now()) && r.Released.IsZero() {
				r = GateReading{Evidence: r.Evidence, Released: s.Sunset}
			}
			r.Gate = *s.Gate
			v.gate = &r
		}
		all = append(all, v)
	}
	return all
}

// due reports whether the gates should be read again.
func (g *gates) due() bool {
	since := g.now().Sub(g.began)
	return since < 0 || since >= g.pause // negative if the clock was set back
}

// read reads the gates of a plan that are not decided, side by side. If release is true, a
// gate that does not hold lets a sunset that has come pass. It waits for the counts, so no
// request may wait for it.
func (g *gates) read(p *Plan, release bool) {
	now := g.now()
	var reading safego.Group
	for name, s := range p.Versions {
		if s.Gate == nil {
			continue
		}
		of := g.about(name, s)
		if !s.passed(of.reading.Released, now) && !s.confirmed(now) {
			reading.Go(g.log, "reading a gate", func() { g.readGate(of, name, s, release, now) })
		}
	}
	reading.Wait()
	g.began = now
	g.pause = min(gatePause*g.now().Sub(now), maxGatePause)
}

// confirmed reports whether the operator has confirmed that the sunset has passed.
func (s *Schedule) confirmed(now time.Time) bool { return s.Gate.Confirmed && s.ended(now) }

// passed reports whether a gate was released, after its sunset: a clock that jumped ahead
// and back has made any other release.
func (s *Schedule) passed(released, now time.Time) bool {
	return !released.IsZero() && s.ended(now) && !released.After(now.Add(clockSkew))
}

// readGate reads a gate. If that fails, or panics, the gate holds.
func (g *gates) readGate(of *known, version string, s *Schedule, release bool, now time.Time) {
	var r GateReading
	err := safego.Try(g.log, "reading a gate", func() (err error) {
		r, err = g.decide(of, version, s, release, now)
		return err
	})
	if err != nil {
		r = GateReading{Holds: true, Unknown: true, Why: "the counts cannot be read: " + err.Error()}
	}
	of.reading = r
}

// decide reads the counts, and releases a sunset that has come unless the gate holds. A
// release that cannot be recorded would not be final, so the gate holds.
func (g *gates) decide(
	of *known, version string, s *Schedule, release bool, now time.Time,
) (r GateReading, err error) {
	released, err := g.usage.Released(version, s.Sunset, s.Entry())
	if err != nil {
		return r, err
	}
	if !released.IsZero() && !s.passed(released, now) && !released.Equal(of.void) {
		of.void = released
		g.log.Error("a gate was released at a time in the future, which is ignored: a clock was wrong",
			"version", version, "released", released, "now", now.UTC())
	}
	if !released.IsZero() && !released.Equal(of.void) { // another instance let it pass, by the same counts
		return GateReading{Evidence: of.reading.Evidence, Released: released}, nil
	}
	evidence, err := g.usage.Evidence(version, *s.Gate, s.Sunset)
	if err != nil {
		return r, err
	}
	r = s.Gate.Read(evidence)
	if r.Holds || !release || !s.ended(now) {
		return r, nil
	}
	if err := g.usage.Release(version, s.Sunset, s.Entry()); err != nil {
		r.Why = "the release of the gate cannot be recorded: " + err.Error()
		r.Holds = true
		return r, nil
	}
	r.Released = now.UTC().Truncate(time.Second)
	return r, nil
}

// Read compares a gate with the evidence. Why lists everything that holds it.
func (g *Gate) Read(e Evidence) GateReading {
	lacking := e.Missing
	if lost, tooMuch := g.Lost(e); tooMuch {
		lacking = append(slices.Clone(lacking), lost)
	}
	var why []string
	if g.Exceeds(e) {
		why = append(why, strings.Join(g.limits(e, true), ", "))
	}
	if len(lacking) > 0 {
		days := humanize.Count(g.Days, "day", "days")
		why = append(why, "the evidence of "+days+" is incomplete: "+strings.Join(lacking, "; "))
	}
	return GateReading{Gate: *g, Evidence: &e, Holds: len(why) > 0, Why: strings.Join(why, "; ")}
}

// Exceeds reports whether the use of a version is more than the gate lets pass.
func (g *Gate) Exceeds(e Evidence) bool {
	return e.Clients > g.MaxClients || e.Calls > g.MaxCallsPerDay
}

// limits are those that the use of a version exceeds, or does not: "12 clients in 7 days (limit 5)".
func (g *Gate) limits(e Evidence, exceeded bool) (texts []string) {
	add := func(n, most int, what string) {
		if exceeded == (n > most) {
			texts = append(texts, what+" (limit "+humanize.Number(most)+")")
		}
	}
	who := ""
	if g.OnlyProven() {
		who = "proven "
	}
	clients := humanize.Count(e.Clients, who+"client", who+"clients")
	add(e.Clients, g.MaxClients, clients+" in "+humanize.Count(g.Days, "day", "days"))
	add(e.Calls, g.MaxCallsPerDay, humanize.Count(e.Calls, "call", "calls")+" on the busiest day")
	return texts
}

// maxGaps are named one by one.
const maxGaps = 3

// Lost says how much of the counts is missing, and where: it names the first gaps, and says how
// many more there are. It is empty if nothing is missing. Too much is more than the gate tolerates.
func (g *Gate) Lost(e Evidence) (says string, tooMuch bool) {
	var sum time.Duration
	var names []string
	for i, gap := range e.Gaps {
		sum += gap.To.Sub(gap.From)
		if i < maxGaps {
			names = append(names, gap.String())
		}
	}
	if sum == 0 {
		return "", false
	}
	if rest := len(e.Gaps) - maxGaps; rest > 0 {
		names = append(names, humanize.Count(rest, "more gap", "more gaps"))
	}
	most := g.Tolerates()
	return fmt.Sprintf("%s of counts missing (limit %s): %s",
		humanize.Duration(sum), humanize.Duration(most), strings.Join(names, ", ")), sum > most
}

func (g Gap) String() string {
	text := g.Instance + " from " + humanize.DateTime(g.From) + " to " + humanize.DateTime(g.To)
	if g.Reason != "" {
		text += " (" + g.Reason + ")"
	}
	return strings.TrimSpace(text) // a gap of all instances names none
}

// Verdict says whether a version can be retired, and when. Pages, JSON, report and
// commands have it from here.
type Verdict struct {
	Says      string    `json:"says"`               // "v2 cannot be retired yet: 12 clients in 7 days (limit 5)"
	Blocked   bool      `json:"blocked"`            // the sunset would not take effect now
	Late      bool      `json:"late,omitempty"`     // nor on its date, as far as can be told
	Earliest  time.Time `json:"earliest,omitzero"`  // when the version can go; zero: not known, gone, or no sunset
	QuietFrom time.Time `json:"quietFrom,omitzero"` // a day: from then on use must be within the limits; zero: it is
	When      string    `json:"when,omitempty"`     // the two dates as a sentence

	Whether, Why string `json:"-"` // the parts of Says; Why may be empty
}

func newVerdict(whether, why string) *Verdict {
	v := &Verdict{Says: whether, Whether: whether, Why: why}
	if why != "" {
		v.Says += ": " + why
	}
	return v
}

// unknownVerdict blocks, since a version cannot go while nobody knows whether it may.
func unknownVerdict(whether, why string) *Verdict {
	v := newVerdict("It is not known whether "+whether, why)
	v.Blocked = true
	v.Late = true
	v.When = "The earliest date is not known."
	return v
}

// Verdict judges a version by its schedule and a reading of its gate, which is nil if it
// has none. A nil schedule has no verdict.
func (s *Schedule) Verdict(version string, gate *GateReading, now time.Time) *Verdict {
	switch {
	case s == nil:
		return nil
	case s.Stage(now, gate == nil || !gate.Released.IsZero()) == Retired:
		return newVerdict(version+" is retired", "")
	case s.Sunset.IsZero():
		return newVerdict(version+" has no sunset date", "")
	case s.Gate == nil:
		v := newVerdict(version+" will be retired on "+humanize.Date(s.Sunset)+", whoever still calls it", "")
		v.Earliest = s.Sunset
		v.When = "Its plan has no gate."
		return v
	case gate.Unknown || gate.Evidence == nil:
		return unknownVerdict(version+" can be retired", gate.Why)
	}
	v := newVerdict(version+" cannot be retired yet", gate.Why)
	if !gate.Holds {
		reasons := gate.limits(*gate.Evidence, false)
		if lost, _ := gate.Lost(*gate.Evidence); lost != "" {
			reasons = append(reasons, lost)
		}
		v = newVerdict(version+" can be retired on "+humanize.Date(s.Sunset), strings.Join(reasons, ", "))
	}
	v.Blocked = gate.Holds
	v.foresee(s, gate, now)
	v.Late = v.Blocked && (v.Earliest.IsZero() || v.Earliest.After(s.Sunset) || s.ended(now))
	return v
}

// foresee says when a gate can let the sunset pass at the earliest: on the sunset, or when
// those that call too much today are no longer within its days.
func (v *Verdict) foresee(s *Schedule, gate *GateReading, now time.Time) {
	exceeds := gate.Exceeds(*gate.Evidence)
	switch {
	case exceeds && gate.Evidence.Earliest.IsZero():
		v.When = "The earliest date is not known."
		return
	case !exceeds && gate.Holds && s.ended(now):
		v.When = "The earliest date is not known: the counts must be complete first."
		return
	}
	v.Earliest = s.Sunset
	late := ""
	if gate.Evidence.Earliest.After(s.Sunset) {
		v.Earliest = gate.Evidence.Earliest
		late = ", after the sunset on " + humanize.Date(s.Sunset)
	}
	quiet := v.Earliest.Truncate(day).Add(-time.Duration(gate.Days) * day) // the first day that the gate then counts
	provided := ""
	switch {
	case quiet.After(now):
		v.QuietFrom = quiet
		provided = ", if clients are quiet from " + humanize.Date(quiet)
	case exceeds:
		v.QuietFrom = now.UTC().Truncate(day)
		provided = ", if clients are quiet from now on"
	}
	v.When = "Earliest " + humanize.Date(v.Earliest) + late + provided + "."
}

// Summary is the verdict and its dates. It is empty without a verdict.
func (v *Verdict) Summary() string {
	if v == nil {
		return ""
	}
	return strings.TrimSpace(v.Says + ". " + v.When)
}
