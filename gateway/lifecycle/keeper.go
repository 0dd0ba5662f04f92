package lifecycle

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/words"
)

type Options struct {
	File     string            // the plan; empty: every version is active
	Versions []string          // every version served, in the order to show them
	Usage    Usage             // for the gates
	Known    func(string) bool // whether a client with this name is known; nil: none is
	Now      func() time.Time  // time.Now if nil
	Log      *slog.Logger
}

const (
	holdsEvery  = time.Hour      // how often the log says that a gate holds
	remindEvery = 24 * time.Hour // and what an operator should do
)

// Keeper reads the plan from its file and applies it to requests. While the file
// is missing or its plan is bad, the last good plan stays in force.
type Keeper struct {
	options Options
	inForce atomic.Pointer[planInForce]

	mu      sync.Mutex // guards the fields below: one poll at a time
	current planInForce
	watch   jsonfile.Watch[planInForce]
	gates   gates
	stages  map[string]Stage     // as last logged
	said    map[string]time.Time // when the log last said something
	unknown []string             // exempt clients that are not known, as last logged
}

// planInForce is a plan and a recent reading of its gates. Every poll replaces
// it.
type planInForce struct {
	plan     *Plan
	hash     string // of the text of its file; empty without a file
	loadedAt time.Time
	versions []*version // every version served
}

// New reads the plan. If it is bad, the error lists all its faults.
func New(o Options) (*Keeper, error) {
	k, first, err := newKeeper(o, o.Usage)
	if err == nil {
		k.enforce(first)
	}
	return k, err
}

// Inspect describes a plan as a Keeper would, without putting it in force: no gate
// lets a sunset pass because of it. Without a file every version is active.
func Inspect(file string, versions []string, counts Counts, now time.Time) (Snapshot, error) {
	k, plan, err := newKeeper(Options{
		File: file, Versions: versions, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
	}, counts)
	if err != nil {
		return Snapshot{}, fmt.Errorf("LIFECYCLE_FILE: %w", err)
	}
	k.gates.limit = inspectLimit
	plan.versions = versionsOf(plan.plan, k.gates.read(plan.plan, nil, now))
	k.inForce.Store(&plan)
	return k.Snapshot(), nil
}

func newKeeper(o Options, counts Counts) (k *Keeper, first planInForce, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	k = &Keeper{options: o, stages: map[string]Stage{}, said: map[string]time.Time{}}
	k.gates = gates{
		counts: counts, log: o.Log, limit: gateLimit,
		readings: map[gateKey]*reading{}, released: map[decision]release{}, void: map[decision]time.Time{},
	}
	k.watch = jsonfile.Watch[planInForce]{
		Path: o.File, Size: jsonfile.MaxSize, What: "lifecycle plan",
		Parse: k.parse, Use: k.use, Log: o.Log, Now: o.Now,
	}
	if o.File == "" {
		none := &Plan{Versions: map[string]*Schedule{}, served: o.Versions}
		return k, planInForce{plan: none, loadedAt: o.Now().UTC()}, nil
	}
	first, err = k.watch.Start()
	return k, first, err
}

func (k *Keeper) parse(data []byte) (planInForce, error) {
	plan, err := Parse(data, k.options.Versions)
	return planInForce{plan: plan, hash: Hash(data), loadedAt: k.options.Now().UTC()}, err
}

// Hash names a plan by the text of its file, so that instances can be seen to
// follow the same one.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

func (k *Keeper) Run(ctx context.Context) {
	guard.Every(ctx, jsonfile.PollEvery, k.options.Log, "polling the plan", k.Poll)
}

// Poll reads the file if it has changed, reads the gates, and logs the versions
// whose stage has changed.
func (k *Keeper) Poll() { k.poll(false) }

// Reload is Poll on demand: it logs the result even if nothing has changed.
func (k *Keeper) Reload() { k.poll(true) }

func (k *Keeper) poll(onDemand bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watch.Poll(onDemand)
	k.enforce(k.current)
}

// use takes a changed plan, unless it is abrupt.
func (k *Keeper) use(next planInForce) error {
	before := k.inForce.Load()
	if err := k.abrupt(before, next.plan); err != nil {
		return err
	}
	k.options.Log.Info("lifecycle plan in force", "file", k.options.File, "planned", next.plan.planned(),
		"from", before.hash, "to", next.hash, "changed", differences(before.plan, next.plan, k.options.Versions))
	k.current = next
	return nil
}

// abrupt returns why a changed plan is refused while the service runs: it would
// refuse clients of a version the moment it is read, which is more often a wrong
// year than a decision. A version that says "immediate" is taken at its word.
func (k *Keeper) abrupt(before *planInForce, after *Plan) error {
	now := k.options.Now()
	var faults jsonfile.Problems
	for i, v := range versionsOf(after, k.gates.read(after, nil, now)) {
		s := v.schedule
		was := before.versions[i].stage(now)
		will := s.Stage(now, v.gate == nil || !v.gate.Holds)
		at := "versions." + v.name
		if v.gate != nil && v.gate.Confirmed && !s.ended(now) {
			faults.Add(at+".gate.released", confirmedEarly)
		}
		switch {
		case will == was || s != nil && s.Immediate:
		case will == Retired:
			faults.Add(at, "this would retire the version at once: its sunset, %s, has passed; "+ifMeant,
				words.Stamp(s.Sunset))
		case will == BrowningOut:
			window, _ := s.NextBrownout(now)
			faults.Add(at, "this would refuse clients at once: the window from %s to %s is under way; "+ifMeant,
				words.Stamp(window.From), words.Stamp(window.To))
		}
	}
	return faults.Err()
}

// differences names the versions whose line changes from one plan to another, and
// what becomes of their sunset.
func differences(before, after *Plan, versions []string) (changed []string) {
	sunset := func(s *Schedule) string {
		if s == nil || s.Sunset.IsZero() {
			return "none"
		}
		return words.Stamp(s.Sunset)
	}
	for _, name := range versions {
		was, is := before.Versions[name], after.Versions[name]
		if from, to := sunset(was), sunset(is); from != to {
			changed = append(changed, name+": sunset "+from+" becomes "+to)
		} else if !reflect.DeepEqual(was, is) {
			changed = append(changed, name)
		}
	}
	return changed
}

// enforce puts a plan in force with its gates as they are now.
func (k *Keeper) enforce(c planInForce) {
	now := k.options.Now()
	c.versions = versionsOf(c.plan, k.gates.read(c.plan, k.options.Usage, now))
	k.gates.forget(c.plan)
	k.current = c
	k.inForce.Store(&c)
	k.options.Usage.Follow(c.hash, c.plan.planned())
	for _, v := range c.versions {
		k.logStage(v, now)
	}
	k.logUnknown(c.plan)
}

// logUnknown warns of exempt clients whose names are not known, and so exempt
// nobody, each time these change.
func (k *Keeper) logUnknown(p *Plan) {
	var unknown []string
	for _, s := range p.Versions {
		for _, e := range s.Exempt {
			name := e.Client()
			known := name == "" || k.options.Known != nil && k.options.Known(name)
			if !known && !slices.Contains(unknown, name) {
				unknown = append(unknown, name)
			}
		}
	}
	slices.Sort(unknown)
	if len(unknown) > 0 && !slices.Equal(unknown, k.unknown) {
		k.options.Log.Warn("the plan exempts clients that CLIENTS_FILE does not have",
			"file", k.options.File, "clients", unknown)
	}
	k.unknown = unknown
}

// logStage logs a stage that has changed and, from time to time, that a gate holds
// and what an operator should do.
func (k *Keeper) logStage(v *version, now time.Time) {
	stage := v.stage(now)
	was, logged := k.stages[v.name]
	switch {
	case !logged && (stage == Retired || stage == BrowningOut):
		k.options.Log.Warn("version stage: clients are refused from the start", "version", v.name, "stage", stage)
	case !logged && stage != Active:
		k.options.Log.Info("version stage", "version", v.name, "stage", stage)
	case logged && stage != was:
		k.options.Log.Warn("version stage changes", "version", v.name, "from", was, "to", stage)
	}
	k.stages[v.name] = stage
	if stage == Held {
		k.sayEvery(holdsEvery, v.name+" is held", now, func() {
			k.options.Log.Error("the sunset of a version does not take effect: its gate holds", "version", v.name,
				"sunset", v.schedule.Sunset, "why", cmp.Or(v.gate.Why, "its counts are being read"))
		})
	}
	if v.gate != nil && v.gate.Unknown {
		k.sayEvery(holdsEvery, v.name+" is unknown", now, func() {
			k.options.Log.Error("the gate of a version cannot be read", "version", v.name, "why", v.gate.Why)
		})
	}
	if risk := v.risk(); risk != "" {
		k.sayEvery(remindEvery, v.name+" risks", now, func() {
			k.options.Log.Warn("lifecycle plan: "+risk, "version", v.name)
		})
	}
	about := v.name + " " + strconv.FormatBool(stage == Retired)
	if warning := v.warning(now); warning != "" {
		k.sayEvery(remindEvery, about, now, func() {
			k.options.Log.Warn("lifecycle plan: "+warning, "version", v.name)
		})
	}
}

// sayEvery says something, unless it was said within the time between two reminders.
func (k *Keeper) sayEvery(pause time.Duration, about string, now time.Time, say func()) {
	if last := k.said[about]; now.Sub(last) < pause && !now.Before(last) {
		return
	}
	k.said[about] = now
	say()
}

// Counts is what a gate looks at. Instances that share it agree.
type Counts interface {
	// Evidence adds up the use of a version within the last days of a gate, by what
	// the gate counts.
	Evidence(version string, gate Gate) Evidence
	// Released returns when the gate of a version let a sunset pass, and the zero
	// time if it has not.
	Released(version string, sunset time.Time) (time.Time, error)
	// Unheard says which instances the counts of the last days leave out: those that
	// have not stopped and have not written since the sunset and, if the gate says how
	// many there are, the hours in which fewer wrote. It is empty if none are.
	Unheard(days, instances int, sunset time.Time) (string, error)
}

// Usage knows how much a version is used, and remembers what was decided by it.
type Usage interface {
	Counts
	// Release records that the gate of a version lets a sunset pass, or says why it
	// must not.
	Release(version string, sunset time.Time) error
	// Follow is told the hash of the plan in force and which versions are in it.
	Follow(hash string, planned []string)
}

// Evidence is the use of a version within some days: of calls that were served and
// of calls that a brownout refused. Without the latter, a long brownout would look
// like a version that nobody needs.
//
// Every name is either one that somebody vouches for, as Strangers says, or a
// stranger's.
type Evidence struct {
	Clients int    `json:"clients"` // distinct, in all these days, as far as they count
	Calls   int    `json:"calls"`   // theirs, on the busiest day
	Missing string `json:"-"`       // why more clients or calls are possible; empty if the numbers are complete

	Names         int     `json:"names"`         // that called, whether they count or not
	Probably      int     `json:"probably"`      // how many clients they are if software that roams is one
	Known         int     `json:"known"`         // of the names, known to the operator, with a key or without
	Registered    int     `json:"registered"`    // of the names, integrators that a registry has
	StrangerNames int     `json:"strangerNames"` // of the names, all others
	StrangerCalls int     `json:"strangerCalls"` // on their busiest day
	StrangerShare float64 `json:"strangerShare"` // of the calls to all versions within these days
	Marked        int     `json:"marked"`        // names that do not count: the operator says that they have moved
	Errors        int     `json:"errors"`        // names that do not count: they only got errors, and then a brownout's
	Unasked       int     `json:"unasked"`       // of Registered: no registry could be asked

	Read     time.Time `json:"-"`                 // when, if it was not just now
	Earliest time.Time `json:"earliest,omitzero"` // when these numbers let the sunset pass if nobody calls any more

	// Clients of the last 90 days that have not moved and did not call within these
	// days, at most 10, and how many there are.
	Waiting      []string `json:"waiting,omitempty"`
	WaitingCount int      `json:"waitingCount,omitempty"`
}

// GateReading compares a gate with the evidence.
type GateReading struct {
	Gate
	Evidence
	Holds   bool   `json:"holds"`             // a sunset would not take effect now
	Unknown bool   `json:"unknown,omitempty"` // it cannot be read whether it has let the sunset pass
	Why     string `json:"why,omitempty"`     // why it holds
	// Released is when it let the sunset pass, which is final; the sunset, if only the
	// plan says so.
	Released time.Time `json:"released,omitzero"`

	heard time.Time // since when it is known that every instance has written after the sunset
}

const (
	gateLimit    = 2 * time.Second // that a poll waits for the gates
	inspectLimit = time.Minute     // and a command
	clockSkew    = time.Minute     // that two clocks may differ
)

type gateKey struct {
	decision
	gate Gate
}

// decision is what a gate decides once and for all.
type decision struct {
	version string
	sunset  time.Time
}

// release is when a gate let a sunset pass, and the evidence that it had then. Nothing is
// counted for it afterwards: a process that starts later has no numbers.
type release struct {
	at       time.Time
	evidence Evidence
}

// gates reads the gates of plans. It remembers every release that it has seen,
// whatever the counts say later.
type gates struct {
	counts   Counts
	log      *slog.Logger
	limit    time.Duration
	readings map[gateKey]*reading
	released map[decision]release
	void     map[decision]time.Time // releases that a wrong clock made
}

// reading is the last reading of a gate, and the one under way.
type reading struct {
	last    GateReading
	running chan GateReading // nil if none is
}

// read reads the gates of a plan, all at once. It waits for them only a short while:
// a gate whose reading takes longer has the reading it had before. With a usage, a
// gate that does not hold lets a sunset that has come pass.
func (g *gates) read(p *Plan, usage Usage, now time.Time) map[string]*GateReading {
	ctx, cancel := context.WithTimeout(context.Background(), g.limit)
	defer cancel()
	found := map[string]*GateReading{}
	wanted := map[gateKey]*reading{}
	for name, s := range p.Versions {
		if s.Gate == nil {
			continue
		}
		key := gateKey{decision{name, s.Sunset}, *s.Gate}
		_, released := g.released[key.decision]
		if released || key.gate.Confirmed && s.ended(now) { // the counts cannot change it
			found[name] = g.remember(key, GateReading{Gate: key.gate}, now)
			continue
		}
		wanted[key] = g.begin(key, usage, now)
	}
	for key, r := range wanted {
		select {
		case got, ok := <-r.running:
			r.running = nil
			if ok {
				r.last = got
			}
		case <-ctx.Done():
		}
		found[key.version] = g.remember(key, r.last, now)
	}
	return found
}

// begin starts to read a gate, unless a reading is under way.
func (g *gates) begin(key gateKey, usage Usage, now time.Time) *reading {
	r := g.readings[key]
	if r == nil {
		unread := GateReading{Gate: key.gate, Holds: true, Unknown: true, Why: "the counts have not been read yet"}
		r = &reading{last: unread}
		g.readings[key] = r
	}
	if r.running == nil {
		running := make(chan GateReading, 1)
		void := g.void[key.decision]
		last := r.last
		guard.Go(g.log, "reading a gate", func() {
			defer close(running)
			running <- readGate(key, g.counts, usage, void, last, now)
		})
		r.running = running
	}
	return r
}

// forget drops the readings of gates that are in no plan any more.
func (g *gates) forget(p *Plan) {
	maps.DeleteFunc(g.readings, func(key gateKey, r *reading) bool {
		s := p.Versions[key.version]
		return r.running == nil && (s == nil || s.Gate == nil || *s.Gate != key.gate || s.Sunset != key.sunset)
	})
}

// remember completes a reading with what is known to be decided. A release is one
// only after its sunset: a clock that jumped ahead and back has made any other.
func (g *gates) remember(key gateKey, r GateReading, now time.Time) *GateReading {
	was, known := g.released[key.decision]
	if !known {
		was = release{r.Released, r.Evidence}
	}
	at := was.at
	ended := !now.Before(key.sunset)
	switch {
	case !at.IsZero() && (!ended || at.After(now.Add(clockSkew))):
		if g.void[key.decision].IsZero() {
			g.log.Error("a release of a gate lies in the future, and does not count: a clock was wrong",
				"version", key.version, "released", at, "now", now.UTC())
		}
		g.void[key.decision] = at
		r.Released = time.Time{}
		delete(g.released, key.decision)
	case !at.IsZero():
		g.released[key.decision] = was
		r.Released = at
		r.Evidence = was.evidence
	case ended && key.gate.Confirmed:
		r.Released = key.sunset
	}
	if !r.Released.IsZero() {
		r.Holds = false
		r.Unknown = false
		r.Why = ""
	}
	return &r
}

// readGate reads a gate, and lets the sunset pass if it has come and nothing speaks
// against it. A release that cannot be recorded would not be final, so the gate
// holds.
func readGate(
	key gateKey, counts Counts, usage Usage, void time.Time, last GateReading, now time.Time,
) (r GateReading) {
	r.Gate = key.gate
	hold := func(why string, args ...any) {
		r.Holds = true
		r.Why = fmt.Sprintf(why, args...)
	}
	released, err := counts.Released(key.version, key.sunset)
	if err != nil {
		hold("it cannot be read whether the gate has let the sunset pass: %v", err)
		r.Unknown = true
		return r
	}
	if !released.IsZero() && !released.Equal(void) {
		r.Released = released
		r.Evidence = last.Evidence // another instance let it pass, by the same counts
		return r
	}
	heard := last.heard
	unheard := readUnheard(key, counts) // first: the evidence is to include what they have written
	if unheard != "" || now.Before(key.sunset) {
		heard = time.Time{}
	} else if heard.IsZero() {
		heard = now
	}
	r.heard = heard
	r.Evidence = counts.Evidence(key.version, key.gate)
	if r.Missing == "" {
		r.Missing = unheard
	}
	switch {
	case r.Exceeds(r.Evidence):
		hold("%s", r.exceeded())
	case r.Missing != "":
		hold("the evidence of %s is incomplete: %s", words.Count(r.Days, "day", "days"), r.Missing)
	case !r.Read.IsZero() && r.Read.Before(heard):
		hold("the counts were last read at %s, before all instances had written since the sunset, "+
			"and are read again within a minute", words.Stamp(r.Read))
	case usage != nil && !now.Before(key.sunset):
		if err := usage.Release(key.version, key.sunset); err != nil {
			hold("the release of the gate cannot be recorded: %v", err)
		} else {
			r.Released = now.UTC().Truncate(time.Second)
		}
	}
	return r
}

// Exceeds reports whether the use of a version is more than the gate lets pass.
func (g *Gate) Exceeds(e Evidence) bool {
	if e.Clients > g.MaxClients || e.Calls > g.MaxCallsPerDay {
		return true
	}
	if g.CountsStrangers() {
		return false
	}
	return e.StrangerCalls > g.Strangers.MaxCallsPerDay || e.StrangerShare > g.Strangers.MaxShare
}

// exceeded says how much the version is used, and what the gate lets pass.
func (r *GateReading) exceeded() string {
	days, calls := words.Count(r.Days, "day", "days"), words.Count(r.Calls, "call", "calls")
	if r.CountsStrangers() {
		return fmt.Sprintf("%s called within %s, with %s on the busiest day; "+
			"the gate lets the sunset pass at %d clients and %d calls or fewer",
			words.Count(r.Clients, "client", "clients"), days, calls, r.MaxClients, r.MaxCallsPerDay)
	}
	unasked := ""
	if r.Unasked > 0 {
		unasked = " (no registry could be asked about " +
			words.Count(r.Unasked, "integrator, which counts", "integrators, which count") + ")"
	}
	return fmt.Sprintf("%s%s called within %s, with %s on the busiest day, "+
		"and strangers made %s on theirs, %s of all calls; "+
		"the gate lets the sunset pass at %d clients and %d calls, and %s of strangers and %s, or fewer",
		words.Count(r.Clients, "known or registered client", "known or registered clients"), unasked, days, calls,
		words.Count(r.StrangerCalls, "call", "calls"), words.Percent(r.StrangerShare),
		r.MaxClients, r.MaxCallsPerDay,
		words.Count(r.Strangers.MaxCallsPerDay, "call", "calls"), words.Percent(r.Strangers.MaxShare))
}

// readUnheard says which instances the evidence of a gate leaves out.
func readUnheard(key gateKey, counts Counts) string {
	unheard, err := counts.Unheard(key.gate.Days, key.gate.Instances, key.sunset)
	if err != nil {
		return fmt.Sprintf("it cannot be read which instances have written: %v", err)
	}
	return unheard
}

const ifMeant = `correct the date, or add "immediate": true if it is meant`

const confirmedEarly = "the sunset has not come, so that there is nothing to confirm; take this out"

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
			names += fmt.Sprintf(" and %s more", words.Number(more))
		}
		return fmt.Sprintf("the gate would let the sunset pass, but %s of the last 90 days did not call "+
			"within its %s and did not move: %s; a gate with more days waits for them",
			words.Count(r.WaitingCount, "client", "clients"), words.Count(r.Days, "day", "days"), names)
	}
	return ""
}
