package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/safego"
)

// Counts is what a gate looks at. Instances that share it agree.
type Counts interface {
	// Evidence is the use of a version within the last days of a gate, by what the gate
	// counts. Once the sunset has come, every instance that is alive must have written
	// since, or the evidence says what is missing.
	Evidence(version string, gate Gate, sunset time.Time) (Evidence, error)
	// Released returns when the gate of a version let a sunset pass, and the zero time
	// if it has not. The entry is that of the schedule (Schedule.Entry).
	Released(version string, sunset time.Time, entry string) (time.Time, error)
}

// Usage knows how much a version is used, and remembers what was decided by it.
type Usage interface {
	Counts
	// Release records that the gate of a version lets a sunset pass, or says why it
	// must not.
	Release(version string, sunset time.Time, entry string) error
	// Follow records the hash of the plan in force and which versions are in it.
	Follow(hash string, planned []string)
}

// Evidence is the use of a version within some days: of calls that were served and
// of calls that a brownout refused. Without the latter, a long brownout would look
// like a version that nobody needs.
//
// Which clients count, the gate says: all of them, the known and registered ones if it
// has bounds for unverified clients, or the proven ones with CountProven. All others are
// unverified. A client marked as moved counts neither as a client nor by its calls, until
// a proven call; a call that merely claims its name counts as unverified.
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

	// Clients of the last 90 days that have not moved and did not call within these
	// days, at most 10, and how many there are.
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
	// Released is when it let the sunset pass, which is final; the sunset, if only the
	// plan says so.
	Released time.Time `json:"released,omitzero"`
}

func unknown(why string) GateReading { return GateReading{Holds: true, Unknown: true, Why: why} }

var unread = unknown("the counts have not been read yet")

const (
	gateLimit    = 2 * time.Second // that a poll waits for the gates
	inspectLimit = time.Minute     // and a command
	clockSkew    = time.Minute     // that two clocks may differ

	// The pause between readings is this many times the duration of the last one, so that
	// a large database is not read all the time, but never longer than maxGatePause.
	gatePause    = 10
	maxGatePause = time.Minute
)

// decision is what a gate decides once and for all: about an entry of a plan.
type decision struct{ version, entry string }

// gates reads the gates of plans. It remembers every release that it has seen, whatever
// the counts say later, with the evidence of that time: nothing is counted afterwards.
type gates struct {
	counts   Counts
	now      func() time.Time
	log      *slog.Logger
	limit    time.Duration
	readings map[decision]*reading
	released map[decision]GateReading
	void     map[decision]time.Time // releases that a wrong clock made
}

// reading is the last reading of a gate, and the one under way.
type reading struct {
	last    GateReading
	began   time.Time // the one under way or, if none is, the last
	running bool

	done chan struct{} // closed when the fields below are set
	next GateReading
	took time.Duration
}

// rests reports whether it is too early for another reading.
func (r *reading) rests(now time.Time) bool {
	since := now.Sub(r.began) // negative if the clock was set back
	return since >= 0 && since < min(gatePause*r.took, maxGatePause)
}

// wait takes the reading under way as the last one, if it ends in time.
func (r *reading) wait(ctx context.Context) {
	select {
	case <-r.done:
		r.last = r.next
		r.running = false
	case <-ctx.Done():
	}
}

// read reads the gates of a plan, all at once, afresh if it must not be what was read a
// while ago. It waits for them only a short while: a gate whose reading takes longer has
// the reading it had before. With a usage, a gate that does not hold lets a sunset that
// has come pass.
func (g *gates) read(p *Plan, usage Usage, afresh bool) map[string]*GateReading {
	ctx, cancel := context.WithTimeout(context.Background(), g.limit)
	defer cancel()
	now := g.now()
	found := map[string]*GateReading{}
	wanted := map[decision]*reading{}
	for name, s := range p.Versions {
		if s.Gate == nil {
			continue
		}
		about := decision{name, s.Entry()}
		_, released := g.released[about]
		if released || s.Gate.Confirmed && s.ended(now) { // the counts cannot change it
			found[name] = g.remember(about, s, GateReading{}, now)
			continue
		}
		r := g.readings[about]
		if r == nil {
			r = &reading{last: unread, next: unread}
			g.readings[about] = r
		}
		if !r.running && (afresh || !r.rests(now)) {
			g.begin(r, about, s, usage, now)
		}
		wanted[about] = r
	}
	for about, r := range wanted {
		r.wait(ctx)
		found[about.version] = g.remember(about, p.Versions[about.version], r.last, now)
	}
	return found
}

// begin starts to read a gate.
func (g *gates) begin(r *reading, about decision, s *Schedule, usage Usage, now time.Time) {
	last := r.last.Evidence
	void := g.void[about]
	done := make(chan struct{})
	r.began = now
	r.running = true
	r.done = done
	safego.Go(g.log, "reading a gate", func() {
		defer close(done)
		r.next = g.readGate(about, s, usage, last, void, now)
		r.took = g.now().Sub(now)
	})
}

// forget drops the readings of gates that are in no plan any more.
func (g *gates) forget(p *Plan) {
	maps.DeleteFunc(g.readings, func(about decision, _ *reading) bool {
		s := p.Versions[about.version]
		return s == nil || s.Gate == nil || s.Entry() != about.entry
	})
}

// remember completes a reading with what is known to be decided. A release is one
// only after its sunset: a clock that jumped ahead and back has made any other.
func (g *gates) remember(about decision, s *Schedule, r GateReading, now time.Time) *GateReading {
	was, known := g.released[about]
	if !known {
		was = r
	}
	switch at := was.Released; {
	case !at.IsZero() && (!s.ended(now) || at.After(now.Add(clockSkew))):
		if g.void[about].IsZero() {
			g.log.Error("a gate was released at a time in the future, which is ignored: a clock was wrong",
				"version", about.version, "released", at, "now", now.UTC())
		}
		g.void[about] = at
		delete(g.released, about)
		r = unread
	case !at.IsZero():
		g.released[about] = was
		r = was
	case s.Gate.Confirmed && s.ended(now):
		r = GateReading{Evidence: r.Evidence, Released: s.Sunset}
	}
	r.Gate = *s.Gate
	return &r
}

// readGate reads a gate, and releases a sunset that has come unless the gate holds. A
// release that cannot be recorded would not be final, so the gate holds.
func (g *gates) readGate(
	about decision, s *Schedule, usage Usage, last *Evidence, void, now time.Time,
) GateReading {
	released, err := g.counts.Released(about.version, s.Sunset, about.entry)
	if err != nil {
		return unknown("the counts cannot be read: " + err.Error())
	}
	if !released.IsZero() && !released.Equal(void) {
		return GateReading{Evidence: last, Released: released} // another instance let it pass, by the same counts
	}
	evidence, err := g.counts.Evidence(about.version, *s.Gate, s.Sunset)
	if err != nil {
		return unknown("the counts cannot be read: " + err.Error())
	}
	r := s.Gate.Read(evidence)
	if !r.Holds && usage != nil && s.ended(now) {
		if err := usage.Release(about.version, s.Sunset, about.entry); err != nil {
			r.Why = "the release of the gate cannot be recorded: " + err.Error()
			r.Holds = true
		} else {
			r.Released = now.UTC().Truncate(time.Second)
		}
	}
	return r
}

// Read compares a gate with the evidence.
func (g *Gate) Read(e Evidence) GateReading {
	r := GateReading{Gate: *g, Evidence: &e}
	switch {
	case r.Exceeds(e):
		r.Why = strings.Join(r.over(e), ", ")
	case r.Missing != "":
		r.Why = fmt.Sprintf("the evidence of %s is incomplete: %s", humanize.Count(r.Days, "day", "days"), r.Missing)
	}
	r.Holds = r.Why != ""
	return r
}

// Exceeds reports whether the use of a version is more than the gate lets pass.
func (g *Gate) Exceeds(e Evidence) bool { return len(g.over(e)) > 0 }

// over says which limits the use of a version exceeds: "12 clients in 7 days (limit 5)".
func (g *Gate) over(e Evidence) (all []string) {
	for _, c := range g.compare(e) {
		if c.over {
			all = append(all, c.text)
		}
	}
	return all
}

// comparison is a number beside its limit.
type comparison struct {
	text string
	over bool
}

// compare compares the use of a version with every limit of the gate.
func (g *Gate) compare(e Evidence) []comparison {
	who := ""
	switch {
	case g.Count == CountProven:
		who = "proven "
	case !g.CountsUnverified():
		who = "known or registered "
	}
	clients := humanize.Count(e.Clients, who+"client", who+"clients") + " in " + humanize.Count(g.Days, "day", "days")
	if e.Unasked > 0 && !g.CountsUnverified() {
		clients += fmt.Sprintf(", %s with no registry to ask,", humanize.Number(e.Unasked))
	}
	calls := humanize.Count(e.Calls, "call", "calls") + " on the busiest day"
	all := []comparison{
		{fmt.Sprintf("%s (limit %s)", clients, humanize.Number(g.MaxClients)), e.Clients > g.MaxClients},
		{fmt.Sprintf("%s (limit %s)", calls, humanize.Number(g.MaxCallsPerDay)), e.Calls > g.MaxCallsPerDay},
	}
	if g.Unverified == (UnverifiedLimits{}) {
		return all
	}
	limits := g.Unverified
	calls = humanize.Count(e.UnverifiedCalls, "unverified call", "unverified calls") + " on the busiest day"
	share := humanize.Percent(e.UnverifiedShare) + " of all calls from unverified clients"
	byCalls := fmt.Sprintf("%s (limit %s)", calls, humanize.Number(limits.MaxCallsPerDay))
	byShare := fmt.Sprintf("%s (limit %s)", share, humanize.Percent(limits.MaxShare))
	return append(all,
		comparison{byCalls, e.UnverifiedCalls > limits.MaxCallsPerDay},
		comparison{byShare, e.UnverifiedShare > limits.MaxShare},
	)
}

// risk is that of a gate which has not let its sunset pass.
func (v *version) risk() string {
	if v.gate == nil || !v.gate.Released.IsZero() {
		return ""
	}
	return v.gate.risk()
}

// risk is what a gate cannot know, as its plan is written. It is empty if nothing is
// open.
func (g *Gate) risk() string {
	if g == nil || g.Instances > 0 || g.Confirmed {
		return ""
	}
	return `the gate does not say how many instances there are, so one that cannot write its counts is not missed; ` +
		`add "instances" to the gate`
}

// warning is what an operator should do about a gate, going by the counts. It is
// empty if nothing is to be done.
func (v *version) warning(now time.Time) string {
	r := v.gate
	switch {
	case r == nil:
	case r.Confirmed && !v.schedule.ended(now):
		return `"released" in the gate: ` + confirmedEarly
	case !r.Released.IsZero() && !r.Confirmed:
		return `the gate has let the sunset pass: write "released": true into it, ` +
			"so that a restart without the database does not bring the version back"
	case r.Released.IsZero() && !r.Holds && r.WaitingCount > 0:
		names := strings.Join(r.Waiting, ", ")
		if more := r.WaitingCount - len(r.Waiting); more > 0 {
			names += fmt.Sprintf(" and %s more", humanize.Number(more))
		}
		return fmt.Sprintf("%s of the last 90 days did not call within the gate's %s and did not move: %s; "+
			"a gate with more days waits for them",
			humanize.Count(r.WaitingCount, "client", "clients"), humanize.Count(r.Days, "day", "days"), names)
	}
	return ""
}
