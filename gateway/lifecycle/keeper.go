package lifecycle

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/words"
)

// Options of a Keeper.
type Options struct {
	File     string            // the plan; empty: every version is active
	Versions []string          // every version served, in the order to show them
	Usage    Usage             // for the gates
	Known    func(string) bool // whether a client with this name is known; nil: none is
	Now      func() time.Time  // time.Now if nil
	Log      *slog.Logger      // slog.Default() if nil
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
	if o.Usage == nil {
		return nil, errors.New("lifecycle: Usage is needed")
	}
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
	if o.Log == nil {
		o.Log = slog.Default()
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

// Run polls every few seconds until the context ends.
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

// planned are the versions that have a line in the plan.
func (p *Plan) planned() []string { return slices.Sorted(maps.Keys(p.Versions)) }

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
	last, said := k.said[what]
	if said && now.Sub(last) < every && !now.Before(last) {
		return false
	}
	k.said[what] = now
	return true
}
