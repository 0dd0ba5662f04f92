package lifecycle

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/safego"
)

type Options struct {
	File     string            // the plan; empty: every version is active
	Versions []string          // every version served, in the order to show them
	Usage    Usage             // for the gates
	Known    func(string) bool // whether a client with this name is known; nil: none is
	Now      func() time.Time  // time.Now if nil
	Log      *slog.Logger

	// Follow, if not nil, is told the hash of each plan that comes into force, and its versions.
	Follow func(hash string, planned []string)
}

const (
	holdsEvery      = time.Hour       // how often the log says that a gate holds
	remindEvery     = 24 * time.Hour  // and what an operator should do
	holdsLimit      = 5 * time.Minute // after a sunset, from which on it is an error that its gate holds
	unreadableLimit = time.Minute     // from which on it is an error that a gate cannot be read
)

// Keeper reads the plan from its file and applies it to requests. While the file
// is missing or its plan is bad, the last good plan stays in force.
type Keeper struct {
	options Options
	inForce atomic.Pointer[planInForce]

	mu     sync.Mutex // guards the fields below: one poll at a time
	watch  jsonfile.Watch[planInForce]
	gates  gates
	stages map[string]Stage     // as last logged
	logged map[string]time.Time // when the log last said something
}

// planInForce is a plan and a recent reading of its gates. Every poll replaces it.
type planInForce struct {
	plan     *Plan
	hash     string // of the text of its file; empty without a file
	loadedAt time.Time
	versions []*served // every version served
}

// New reads the plan. If it is bad, the error lists all its faults.
func New(o Options) (*Keeper, error) { return start(o, o.Usage) }

// Inspect describes a plan as a Keeper would, without putting it in force: no gate
// lets a sunset pass because of it. Without a file every version is active.
func Inspect(file string, versions []string, counts Counts, now time.Time) (Snapshot, error) {
	k, err := start(Options{
		File: file, Versions: versions, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
	}, counts)
	if err != nil {
		return Snapshot{}, fmt.Errorf("LIFECYCLE_FILE: %w", err)
	}
	return k.Snapshot(), nil
}

func start(o Options, counts Counts) (k *Keeper, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	k = &Keeper{options: o, stages: map[string]Stage{}, logged: map[string]time.Time{}}
	k.gates = newGates(counts, o.Now, o.Log)
	k.watch = jsonfile.Watch[planInForce]{
		Path: o.File, Size: jsonfile.MaxSize, What: "lifecycle plan",
		Parse: k.parse, Use: k.use, Log: o.Log, Now: o.Now,
	}
	first := planInForce{plan: &Plan{Versions: map[string]*Schedule{}, served: o.Versions}, loadedAt: o.Now().UTC()}
	if o.File != "" {
		first, err = k.watch.Start()
	}
	if err == nil {
		k.enforce(first, true)
	}
	return k, err
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
	safego.Every(ctx, jsonfile.PollEvery, k.options.Log, "polling the plan", k.Poll)
}

// Poll reads the file if it has changed, reads the gates, and logs the versions
// whose stage has changed.
func (k *Keeper) Poll() { k.poll(false) }

// Reload is Poll on demand: it logs the result even if nothing has changed.
func (k *Keeper) Reload() { k.poll(true) }

func (k *Keeper) poll(onDemand bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.inForce.Load()
	k.watch.Poll(onDemand)
	if k.inForce.Load() == before {
		k.enforce(*before, onDemand)
	}
}

// use puts a changed plan in force, unless it is abrupt.
func (k *Keeper) use(next planInForce) error {
	before := k.inForce.Load()
	if err := k.abrupt(before, next.plan); err != nil {
		return err
	}
	k.options.Log.Info("lifecycle plan in force", "file", k.options.File, "planned", next.plan.planned(),
		"from", before.hash, "to", next.hash, "changed", differences(before.plan, next.plan, k.options.Versions))
	k.enforce(next, true)
	return nil
}

const ifMeant = `correct the date, or add "immediate": true if it is meant`

const confirmedEarly = "the sunset has not come, so that there is nothing to confirm; take this out"

// abrupt returns why a changed plan is refused while the service runs: it would
// refuse clients of a version the moment it is read, which is more often a wrong
// year than a decision. "immediate" allows it.
func (k *Keeper) abrupt(before *planInForce, after *Plan) error {
	now := k.options.Now()
	var faults jsonfile.Problems
	for i, v := range versionsOf(after, k.gates.read(after, nil, true)) {
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
				humanize.Timestamp(s.Sunset))
		case will == BrowningOut:
			window, _ := s.NextBrownout(now)
			faults.Add(at, "this would refuse clients at once: the window from %s to %s is under way; "+ifMeant,
				humanize.Timestamp(window.From), humanize.Timestamp(window.To))
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
		return humanize.Timestamp(s.Sunset)
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

// enforce puts a plan in force, with the latest readings of its gates.
func (k *Keeper) enforce(c planInForce, afresh bool) {
	now := k.options.Now()
	if k.options.Follow != nil { // first: a gate releases only if all instances follow its plan
		k.options.Follow(c.hash, c.plan.planned())
	}
	c.versions = versionsOf(c.plan, k.gates.read(c.plan, k.options.Usage, afresh))
	k.inForce.Store(&c)
	for _, v := range c.versions {
		k.log(v, now)
	}
	k.logUnknown(c.plan)
}

// logUnknown warns of exempt clients whose names are not known, and so exempt nobody.
func (k *Keeper) logUnknown(p *Plan) {
	var unknown []string
	for _, s := range p.Versions {
		for _, e := range s.Exempt {
			name := e.Client()
			if name != "" && (k.options.Known == nil || !k.options.Known(name)) {
				unknown = append(unknown, name)
			}
		}
	}
	if len(unknown) == 0 {
		return
	}
	slices.Sort(unknown)
	k.sayEvery(remindEvery, strings.Join(unknown, "\n"), slog.LevelWarn,
		"the plan exempts clients that CLIENTS_FILE does not have", "file", k.options.File,
		"clients", slices.Compact(unknown))
}

// log logs a stage that has changed and, from time to time, that a gate cannot be read or
// holds a sunset back, and what an operator should do. A gate is not an error at once: a
// database may be away for seconds, and instances write within some of a sunset.
func (k *Keeper) log(v *served, now time.Time) {
	stage := v.stage(now)
	if was := cmp.Or(k.stages[v.name], Active); stage != was {
		k.options.Log.Warn("version stage", "version", v.name, "from", was, "to", stage)
	}
	k.stages[v.name] = stage
	switch {
	case v.gate == nil:
		return
	case v.gate.Unknown && now.Sub(v.gate.unknownSince) >= unreadableLimit:
		k.sayEvery(holdsEvery, v.name+" unreadable", slog.LevelError, "the gate of a version cannot be read",
			"version", v.name, "why", v.gate.Why)
	case !v.gate.Unknown && stage == Held && now.Sub(v.schedule.Sunset) >= holdsLimit:
		k.sayEvery(holdsEvery, v.name+" holds", slog.LevelError,
			"the sunset of a version does not take effect: its gate holds",
			"version", v.name, "sunset", v.schedule.Sunset, "why", v.gate.Why)
	}
	for about, text := range map[string]string{"risk": v.risk(), string(stage): v.warning(now)} {
		if text != "" {
			k.sayEvery(remindEvery, v.name+about, slog.LevelWarn, "lifecycle plan: "+text, "version", v.name)
		}
	}
}

// sayEvery logs something, unless it was logged within the pause.
func (k *Keeper) sayEvery(pause time.Duration, about string, level slog.Level, what string, args ...any) {
	now := k.options.Now()
	if last := k.logged[about]; now.Sub(last) < pause && !now.Before(last) {
		return
	}
	k.logged[about] = now
	k.options.Log.Log(context.Background(), level, what, args...)
}
