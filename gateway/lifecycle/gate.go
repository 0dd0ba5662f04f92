package lifecycle

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/safego"
)

// Counts is what a gate looks at. Instances that share it agree. Each question has a time
// limit of its own.
type Counts interface {
	// Evidence is the use of a version within the days of a gate. Once the sunset has come,
	// it is complete only if every instance that is alive has written since.
	Evidence(version string, gate Gate, sunset time.Time) (Evidence, error)
	// Released returns when the gate of a Schedule.Entry let a sunset pass; zero: not yet.
	Released(version string, sunset time.Time, entry string) (time.Time, error)
}

// Usage knows how much a version is used, and remembers what was decided by it.
type Usage interface {
	Counts
	// Release records that the gate lets a sunset pass, or says why it must not.
	Release(version string, sunset time.Time, entry string) error
}

// Evidence is the use of a version within some days: calls that were served, and calls that
// a brownout refused, without which a long brownout would empty the gate. Clients that do
// not count by the rule of the gate are unverified. One marked as moved does not count, nor
// do its calls, until a proven call; a call that merely claims its name is unverified.
type Evidence struct {
	Clients int    `json:"clients"` // distinct ones that count, in all these days
	Calls   int    `json:"calls"`   // theirs, on the busiest day
	Missing string `json:"-"`       // why more clients or calls are possible; empty if the numbers are complete

	Names           int     `json:"names"`         // that called, whether they count or not
	Known           int     `json:"known"`         // of the names, known to the operator, with a key or without
	Proven          int     `json:"proven"`        // of the names, those with at least one call with a key
	Registered      int     `json:"registered"`    // of the names, integrators that a registry has
	UnverifiedNames int     `json:"strangerNames"` // of the names, all that do not count as clients
	UnverifiedCalls int     `json:"strangerCalls"` // on their busiest day
	UnverifiedShare float64 `json:"strangerShare"` // of the calls to all versions within these days
	Marked          int     `json:"marked"`        // names that do not count: the operator says that they have moved
	Errors          int     `json:"errors"`        // names that do not count: only errors, and then a brownout's
	Unasked         int     `json:"unasked"`       // of Registered: no registry could be asked

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

	unknownSince time.Time
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

// gates reads the gates of plans. A release that it has seen is final, whatever the counts
// say later, and keeps the evidence of that time.
type gates struct {
	counts   Counts
	now      func() time.Time
	log      *slog.Logger
	readings map[decision]GateReading
	void     map[decision]time.Time // releases that a wrong clock made
	began    time.Time              // the last round of readings
	pause    time.Duration          // until the next
}

func newGates(counts Counts, now func() time.Time, log *slog.Logger) gates {
	return gates{
		counts: counts, now: now, log: log, readings: map[decision]GateReading{}, void: map[decision]time.Time{},
	}
}

// ReadGates reads the gates of a plan at a time, by version. No sunset passes because of it.
func ReadGates(p *Plan, counts Counts, at time.Time) map[string]*GateReading {
	g := newGates(counts, func() time.Time { return at }, slog.New(slog.DiscardHandler))
	return g.read(p, nil, true)
}

// read reads the gates of a plan that are not decided, unless that was done a moment ago
// and need not be done afresh. With a usage, a gate that does not hold lets a sunset that
// has come pass. It waits for the counts, so no request may wait for it.
func (g *gates) read(p *Plan, usage Usage, afresh bool) map[string]*GateReading {
	now := g.now()
	since := now.Sub(g.began) // negative if the clock was set back
	due := afresh || since < 0 || since >= g.pause
	found := map[string]*GateReading{}
	for name, s := range p.Versions {
		if s.Gate == nil {
			continue
		}
		about := decision{name, s.Entry()}
		r, read := g.readings[about]
		switch {
		case s.passed(r.Released, now):
		case s.Gate.Confirmed && s.ended(now):
			r = GateReading{Evidence: r.Evidence, Released: s.Sunset}
		case due || !read: // due, too, if a clock that was ahead made a release
			r = g.readGate(about, s, usage, r, now)
			g.readings[about] = r
		}
		r.Gate = *s.Gate
		found[name] = &r
	}
	if due {
		g.began = now
		g.pause = min(gatePause*g.now().Sub(now), maxGatePause)
	}
	return found
}

// passed reports whether a gate was released, after its sunset: a clock that jumped ahead
// and back has made any other release.
func (s *Schedule) passed(released, now time.Time) bool {
	return !released.IsZero() && s.ended(now) && !released.After(now.Add(clockSkew))
}

// readGate reads a gate. If that fails, or panics, the gate holds.
func (g *gates) readGate(about decision, s *Schedule, usage Usage, last GateReading, now time.Time) (r GateReading) {
	err := safego.Try(g.log, "reading a gate", func() (err error) {
		r, err = g.decide(about, s, usage, last.Evidence, now)
		return err
	})
	if err != nil {
		return GateReading{
			Holds: true, Unknown: true, unknownSince: cmp.Or(last.unknownSince, now),
			Why: "the counts cannot be read: " + err.Error(),
		}
	}
	return r
}

// decide reads the counts, and releases a sunset that has come unless the gate holds. A
// release that cannot be recorded would not be final, so the gate holds.
func (g *gates) decide(
	about decision, s *Schedule, usage Usage, last *Evidence, now time.Time,
) (r GateReading, err error) {
	released, err := g.counts.Released(about.version, s.Sunset, about.entry)
	if err != nil {
		return r, err
	}
	if !released.IsZero() && !released.Equal(g.void[about]) {
		if s.passed(released, now) { // another instance let it pass, by the same counts
			return GateReading{Evidence: last, Released: released}, nil
		}
		g.log.Error("a gate was released at a time in the future, which is ignored: a clock was wrong",
			"version", about.version, "released", released, "now", now.UTC())
		g.void[about] = released
	}
	evidence, err := g.counts.Evidence(about.version, *s.Gate, s.Sunset)
	if err != nil {
		return r, err
	}
	r = s.Gate.Read(evidence)
	if r.Holds || usage == nil || !s.ended(now) {
		return r, nil
	}
	if err := usage.Release(about.version, s.Sunset, about.entry); err != nil {
		r.Why = "the release of the gate cannot be recorded: " + err.Error()
		r.Holds = true
		return r, nil
	}
	r.Released = now.UTC().Truncate(time.Second)
	return r, nil
}

// Read compares a gate with the evidence.
func (g *Gate) Read(e Evidence) GateReading {
	r := GateReading{Gate: *g, Evidence: &e}
	_, over := g.compare(e)
	switch {
	case len(over) > 0:
		r.Why = strings.Join(over, ", ")
	case e.Missing != "":
		r.Why = fmt.Sprintf("the evidence of %s is incomplete: %s", humanize.Count(g.Days, "day", "days"), e.Missing)
	}
	r.Holds = r.Why != ""
	return r
}

// Exceeds reports whether the use of a version is more than the gate lets pass.
func (g *Gate) Exceeds(e Evidence) bool {
	_, over := g.compare(e)
	return len(over) > 0
}

// compare compares the use of a version with every limit of the gate:
// "12 clients in 7 days (limit 5)".
func (g *Gate) compare(e Evidence) (within, over []string) {
	add := func(exceeds bool, number, limit string) {
		text := number + " (limit " + limit + ")"
		if exceeds {
			over = append(over, text)
		} else {
			within = append(within, text)
		}
	}
	who := ""
	switch {
	case g.Count == CountProven:
		who = "proven "
	case !g.CountsUnverified():
		who = "known or registered "
	}
	clients := humanize.Count(e.Clients, who+"client", who+"clients") + " in " + humanize.Count(g.Days, "day", "days")
	add(e.Clients > g.MaxClients, clients, humanize.Number(g.MaxClients))
	calls := humanize.Count(e.Calls, "call", "calls") + " on the busiest day"
	add(e.Calls > g.MaxCallsPerDay, calls, humanize.Number(g.MaxCallsPerDay))
	if limits := g.Unverified; limits != (UnverifiedLimits{}) {
		calls = humanize.Count(e.UnverifiedCalls, "unverified call", "unverified calls") + " on the busiest day"
		add(e.UnverifiedCalls > limits.MaxCallsPerDay, calls, humanize.Number(limits.MaxCallsPerDay))
		share := humanize.Percent(e.UnverifiedShare) + " of all calls from unverified clients"
		add(e.UnverifiedShare > limits.MaxShare, share, humanize.Percent(limits.MaxShare))
	}
	return within, over
}

// risk is what a gate that is not released cannot know, as its plan is written.
func (v *served) risk() string {
	if v.gate == nil || !v.gate.Released.IsZero() {
		return ""
	}
	return v.gate.risk()
}

func (g *Gate) risk() string {
	if g.Instances > 0 || g.Confirmed {
		return ""
	}
	return `the gate does not say how many instances there are, so one that cannot write its counts is not missed; ` +
		`add "instances" to the gate`
}

// warning is what an operator should do about a gate, going by the counts.
func (v *served) warning(now time.Time) string {
	r := v.gate
	switch {
	case r == nil:
	case r.Confirmed && !v.schedule.ended(now):
		return `"released" in the gate: ` + confirmedEarly
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

// Verdict says whether a version can be retired, and when. Pages, JSON, report and
// commands have it from here.
type Verdict struct {
	Says      string    `json:"says"`               // "v2 cannot be retired yet: 12 clients in 7 days (limit 5)"
	Blocked   bool      `json:"blocked"`            // the sunset would not take effect now
	Late      bool      `json:"late,omitempty"`     // nor on its date, as far as can be told
	Earliest  time.Time `json:"earliest,omitzero"`  // when the version can go; zero: not known, gone, or no sunset
	QuietFrom time.Time `json:"quietFrom,omitzero"` // a day: from then on use must be within the limits; zero: it is
	When      string    `json:"when,omitempty"`     // the two dates as a sentence
}

// Verdict judges a version by its schedule and a reading of its gate, which is nil if it
// has none. A nil schedule has no verdict.
func (s *Schedule) Verdict(version string, gate *GateReading, now time.Time) *Verdict {
	switch {
	case s == nil:
		return nil
	case s.Stage(now, gate == nil || !gate.Released.IsZero()) == Retired:
		return &Verdict{Says: version + " is retired"}
	case s.Sunset.IsZero():
		return &Verdict{Says: version + " has no sunset date"}
	case s.Gate == nil:
		says := fmt.Sprintf("%s will be retired on %s, whoever still calls it", version, humanize.Date(s.Sunset))
		return &Verdict{Says: says, Earliest: s.Sunset, When: "Its plan has no gate."}
	case gate.Unknown || gate.Evidence == nil:
		says := fmt.Sprintf("It is not known whether %s can be retired: %s", version, gate.Why)
		return &Verdict{Says: says, Blocked: true, Late: true, When: "The earliest date is not known."}
	}
	v := &Verdict{Blocked: gate.Holds}
	within, over := gate.compare(*gate.Evidence)
	exceeds := len(over) > 0
	switch {
	case gate.Holds && gate.Missing != "" && !exceeds: // gate.Why would list every gap
		v.Says = fmt.Sprintf("%s cannot be retired yet: the counts of %s are incomplete", version,
			humanize.Count(gate.Days, "day", "days"))
	case gate.Holds:
		v.Says = fmt.Sprintf("%s cannot be retired yet: %s", version, gate.Why)
	default:
		reasons := strings.Join(within, ", ")
		v.Says = fmt.Sprintf("%s can be retired on %s: %s", version, humanize.Date(s.Sunset), reasons)
	}
	v.foresee(s, gate, exceeds, now)
	v.Late = v.Blocked && (v.Earliest.IsZero() || v.Earliest.After(s.Sunset) || s.ended(now))
	return v
}

// foresee says when a gate can let the sunset pass at the earliest: on the sunset, or when
// those that call too much today are no longer within its days.
func (v *Verdict) foresee(s *Schedule, gate *GateReading, exceeds bool, now time.Time) {
	switch {
	case exceeds && gate.Evidence.Earliest.IsZero():
		v.When = "The earliest date is not known: it depends on the calls to other versions."
		return
	case !exceeds && gate.Holds && s.ended(now):
		v.When = "The earliest date is not known: the counts must be complete first."
		return
	}
	v.Earliest = s.Sunset
	if gate.Evidence.Earliest.After(s.Sunset) {
		v.Earliest = gate.Evidence.Earliest
	}
	quiet := v.Earliest.Truncate(day).Add(-time.Duration(gate.Days) * day) // the first day that the gate then counts
	date := humanize.Date(v.Earliest)
	late := ""
	if v.Earliest.After(s.Sunset) {
		late = ", after the sunset on " + humanize.Date(s.Sunset)
	}
	switch {
	case quiet.After(now):
		v.QuietFrom = quiet
		v.When = fmt.Sprintf("Earliest %s%s, if clients are quiet from %s.", date, late, humanize.Date(quiet))
	case exceeds:
		v.QuietFrom = now.UTC().Truncate(day)
		v.When = fmt.Sprintf("Earliest %s%s, if clients are quiet from now on.", date, late)
	default:
		v.When = fmt.Sprintf("Earliest %s.", date)
	}
}

// Summary is the verdict and its dates. It is empty without a verdict.
func (v *Verdict) Summary() string {
	if v == nil {
		return ""
	}
	return strings.TrimSpace(v.Says + ". " + v.When)
}
