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
	k, plan, err := newKeeper(Options{File: file, Versions: versions, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}, counts)
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
	k.gates = gates{counts, o.Log, gateLimit, map[gateKey]*reading{}, map[decision]time.Time{}, map[decision]time.Time{}}
	k.watch = jsonfile.Watch[planInForce]{Path: o.File, Size: jsonfile.MaxSize, What: "lifecycle plan", Parse: k.parse, Use: k.use, Log: o.Log, Now: o.Now}
	if o.File == "" {
		return k, planInForce{plan: &Plan{Versions: map[string]*Schedule{}, served: o.Versions}, loadedAt: o.Now().UTC()}, nil
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
		s, was := v.schedule, before.versions[i].stage(now)
		will := s.Stage(now, v.gate == nil || !v.gate.Holds)
		at := "versions." + v.name
		if v.gate != nil && v.gate.Confirmed && !s.ended(now) {
			faults.Add(at+".gate.released", confirmedEarly)
		}
		switch {
		case will == was || s != nil && s.Immediate:
		case will == Retired:
			faults.Add(at, `this would retire the version at once: its sunset, %s, has passed; correct the date, or add "immediate": true if it is meant`, words.Stamp(s.Sunset))
		case will == BrowningOut:
			window, _ := s.NextBrownout(now)
			faults.Add(at, `this would refuse clients at once: the window from %s to %s is under way; correct the date, or add "immediate": true if it is meant`, words.Stamp(window.From), words.Stamp(window.To))
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
			if name := e.Client(); name != "" && !slices.Contains(unknown, name) && (k.options.Known == nil || !k.options.Known(name)) {
				unknown = append(unknown, name)
			}
		}
	}
	slices.Sort(unknown)
	if len(unknown) > 0 && !slices.Equal(unknown, k.unknown) {
		k.options.Log.Warn("the plan exempts clients that CLIENTS_FILE does not have", "file", k.options.File, "clients", unknown)
	}
	k.unknown = unknown
}

// logStage logs a stage that has changed and, from time to time, that a gate holds
// and what an operator should do.
func (k *Keeper) logStage(v *version, now time.Time) {
	stage := v.stage(now)
	switch was, logged := k.stages[v.name]; {
	case !logged && (stage == Retired || stage == BrowningOut):
		k.options.Log.Warn("version stage: clients are refused from the start", "version", v.name, "stage", stage)
	case !logged && stage != Active:
		k.options.Log.Info("version stage", "version", v.name, "stage", stage)
	case logged && stage != was:
		k.options.Log.Warn("version stage changes", "version", v.name, "from", was, "to", stage)
	}
	k.stages[v.name] = stage
	if stage == Held && k.due(v.name+" is held", holdsEvery, now) {
		k.options.Log.Error("the sunset of a version does not take effect: its gate holds", "version", v.name,
			"sunset", v.schedule.Sunset, "why", cmp.Or(v.gate.Why, "its counts are being read"))
	}
	if warning := v.warning(now); warning != "" && k.due(v.name+" "+strconv.FormatBool(stage == Retired), remindEvery, now) {
		k.options.Log.Warn("lifecycle plan: "+warning, "version", v.name)
	}
}

// due reports whether it is time to say something again.
func (k *Keeper) due(what string, every time.Duration, now time.Time) bool {
	if last := k.said[what]; now.Sub(last) < every && !now.Before(last) {
		return false
	}
	k.said[what] = now
	return true
}

// Counts is what a gate looks at. Instances that share it agree.
type Counts interface {
	// Evidence adds up the use of a version within the last days.
	Evidence(version string, days int) Evidence
	// Released returns when the gate of a version let a sunset pass, and the zero
	// time if it has not.
	Released(version string, sunset time.Time) (time.Time, error)
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
type Evidence struct {
	Clients int    `json:"clients"` // distinct, in all these days
	Calls   int    `json:"calls"`   // on the busiest day
	Missing string `json:"-"`       // why more clients or calls are possible; empty if the numbers are complete

	Waiting      []string `json:"waiting,omitempty"`      // clients of the last 90 days that have not moved and did not call within these days, at most 10
	WaitingCount int      `json:"waitingCount,omitempty"` // how many there are
}

// GateReading compares a gate with the evidence.
type GateReading struct {
	Gate
	Evidence
	Holds    bool      `json:"holds"`             // a sunset would not take effect now
	Why      string    `json:"why,omitempty"`     // why it holds
	Released time.Time `json:"released,omitzero"` // when it let the sunset pass, which is final; the sunset, if only the plan says so
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

// gates reads the gates of plans. It remembers every release that it has seen,
// whatever the counts say later.
type gates struct {
	counts   Counts
	log      *slog.Logger
	limit    time.Duration
	readings map[gateKey]*reading
	released map[decision]time.Time
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
	found, wanted := map[string]*GateReading{}, map[gateKey]*reading{}
	for name, s := range p.Versions {
		if s.Gate == nil {
			continue
		}
		key := gateKey{decision{name, s.Sunset}, *s.Gate}
		if _, known := g.released[key.decision]; known || key.gate.Confirmed && s.ended(now) { // the counts cannot change it
			found[name] = g.remember(key, GateReading{Gate: key.gate}, now)
			continue
		}
		r := g.readings[key]
		if r == nil {
			r = &reading{last: GateReading{Gate: key.gate, Holds: true, Why: "the counts have not been read yet"}}
			g.readings[key] = r
		}
		if r.running == nil {
			running, void := make(chan GateReading, 1), g.void[key.decision]
			go guard.Do(g.log, "reading a gate", func() {
				defer close(running)
				running <- readGate(key, g.counts, usage, void, now)
			})
			r.running = running
		}
		wanted[key] = r
	}
	for key, r := range wanted {
		select {
		case got, ok := <-r.running:
			if r.running = nil; ok {
				r.last = got
			}
		case <-ctx.Done():
		}
		found[key.version] = g.remember(key, r.last, now)
	}
	return found
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
	at, known := g.released[key.decision]
	if !known {
		at = r.Released
	}
	ended := !now.Before(key.sunset)
	switch {
	case !at.IsZero() && (!ended || at.After(now.Add(clockSkew))):
		if g.void[key.decision].IsZero() {
			g.log.Error("a release of a gate lies in the future, and does not count: a clock was wrong", "version", key.version, "released", at, "now", now.UTC())
		}
		g.void[key.decision], r.Released = at, time.Time{}
		delete(g.released, key.decision)
	case !at.IsZero():
		g.released[key.decision], r.Released = at, at
	case ended && key.gate.Confirmed:
		r.Released = key.sunset
	}
	if !r.Released.IsZero() {
		r.Holds, r.Why = false, ""
	}
	return &r
}

// readGate reads a gate, and lets the sunset pass if it has come and nothing speaks
// against it. A release that cannot be recorded would not be final, so the gate
// holds.
func readGate(key gateKey, counts Counts, usage Usage, void, now time.Time) (r GateReading) {
	r.Gate = key.gate
	hold := func(why string, args ...any) { r.Holds, r.Why = true, fmt.Sprintf(why, args...) }
	released, err := counts.Released(key.version, key.sunset)
	if err != nil {
		hold("it cannot be read whether the gate has let the sunset pass: %v", err)
		return r
	}
	if !released.IsZero() && !released.Equal(void) {
		r.Released = released
		return r
	}
	r.Evidence = counts.Evidence(key.version, key.gate.Days)
	days := words.Count(r.Days, "day", "days")
	switch {
	case r.Clients > r.MaxClients || r.Calls > r.MaxCallsPerDay:
		hold("%s called within %s, with %s on the busiest day; the gate lets the sunset pass at %d clients and %d calls or fewer",
			words.Count(r.Clients, "client", "clients"), days, words.Count(r.Calls, "call", "calls"), r.MaxClients, r.MaxCallsPerDay)
	case r.Missing != "":
		hold("the evidence of %s is incomplete: %s", days, r.Missing)
	case usage != nil && !now.Before(key.sunset):
		if err := usage.Release(key.version, key.sunset); err != nil {
			hold("the release of the gate cannot be recorded: %v", err)
		} else {
			r.Released = now.UTC().Truncate(time.Second)
		}
	}
	return r
}

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
		return `the gate has let the sunset pass: write "released": true into it, so that a restart without the database does not bring the version back`
	case r.Released.IsZero() && !r.Holds && r.WaitingCount > 0:
		names := strings.Join(r.Waiting, ", ")
		if more := r.WaitingCount - len(r.Waiting); more > 0 {
			names += fmt.Sprintf(" and %s more", words.Number(more))
		}
		return fmt.Sprintf("the gate would let the sunset pass, but %s of the last 90 days did not call within its %s and did not move: %s; a gate with more days waits for them",
			words.Count(r.WaitingCount, "client", "clients"), words.Count(r.Days, "day", "days"), names)
	}
	return ""
}
