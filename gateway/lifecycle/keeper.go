package lifecycle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/safego"
)

type Options struct {
	File     string            // the plan; empty: there is none
	Versions []string          // every version served, in the order to show them
	Deleted  []string          // versions that are no longer in the code
	Usage    Usage             // nil: the file alone counts, and nobody polls
	Known    func(string) bool // whether a client with this name is known; nil: none is
	ReadOnly bool              // nothing is decided or kept: a plan is only described as it would be in force
	Now      func() time.Time
	Log      *slog.Logger

	// Follow, if not nil, is told the hash of each plan that comes into force, and its versions.
	Follow func(hash string, planned []string)
}

const (
	holdsEvery      = time.Hour       // how often the log says that a gate holds
	remindEvery     = 24 * time.Hour  // and what an operator should do
	holdsLimit      = 5 * time.Minute // after a sunset, from which on it is an error that its gate holds
	unreadableLimit = time.Minute     // from which on it is an error that what is kept cannot be read
)

// Keeper reads the plan from its file and applies it to requests. While the file
// is missing or its plan is bad, the last good plan stays in force.
//
// What has come into force is kept in the database, so that a start is a change like any
// other. Until that is known, the plan refuses nobody.
type Keeper struct {
	options Options
	began   time.Time
	inForce atomic.Pointer[planInForce]

	mu     sync.Mutex // guards the fields below: one poll at a time
	watch  jsonfile.Watch[planInForce]
	gates  *gates
	kept   map[string]Accepted  // as last read, by version
	stages map[string]Stage     // as last logged, or known at the start
	logged map[string]time.Time // when the log last said something
}

// planInForce is a plan and a recent reading of its gates. Every poll replaces it.
type planInForce struct {
	plan     *Plan
	hash     string // of the text of its file; empty without a file
	loadedAt time.Time
	unknown  bool      // it is not known what is kept, so that the plan refuses nobody
	kept     bool      // it is what is kept, not from the file
	first    bool      // the first after that: its file may be older than what is kept
	versions []*served // every version served
}

// New reads the plan from its file. If it is bad, the error lists all its faults. No
// database is asked before the first Poll.
func New(o Options) (*Keeper, error) {
	k := &Keeper{options: o, began: o.Now(), stages: map[string]Stage{}, logged: map[string]time.Time{}}
	k.gates = newGates(o.Usage, o.Now, o.Log)
	k.watch = jsonfile.Watch[planInForce]{
		Path: o.File, Size: jsonfile.MaxSize, What: "lifecycle plan",
		Parse: k.parse, Use: k.use, Log: o.Log, Now: o.Now,
	}
	none := &Plan{Versions: map[string]*Schedule{}, served: o.Versions}
	first := planInForce{plan: none, loadedAt: o.Now().UTC()}
	if o.File != "" {
		var err error
		if first, err = k.watch.Start(); err != nil {
			return nil, err
		}
	}
	first.unknown = o.Usage != nil
	k.publish(first)
	return k, nil
}

func (k *Keeper) parse(data []byte) (planInForce, error) {
	plan, err := Parse(data, k.options.Versions, k.options.Deleted)
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

// Poll reads what is kept of the plan until that is known, the file if it has changed, and
// the gates. It keeps what has come into force, and logs the versions whose stage has changed.
func (k *Keeper) Poll() { k.poll(false) }

// Reload is Poll on demand: it logs the result even if nothing has changed.
func (k *Keeper) Reload() { k.poll(true) }

// Refresh reads the gates again, if they are due, so that a page shows figures of one time. It
// does not wait for a poll that is under way.
func (k *Keeper) Refresh() {
	if !k.mu.TryLock() {
		return
	}
	defer k.mu.Unlock()
	if k.gates.due() {
		k.enforce(*k.inForce.Load(), true)
	}
}

func (k *Keeper) poll(onDemand bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.inForce.Load().unknown {
		k.learn()
	}
	before := k.inForce.Load()
	k.watch.Poll(onDemand)
	if k.inForce.Load() == before {
		k.enforce(*before, onDemand || k.gates.due())
	}
	k.keep()
}

// use puts a changed plan in force, unless it is abrupt. Until it is known what the plan
// was before, it refuses nobody, and is judged later.
func (k *Keeper) use(next planInForce) error {
	before := k.inForce.Load()
	next.unknown = before.unknown
	if before.unknown {
		k.enforce(next, true)
		return nil
	}
	now := k.options.Now()
	next.first = before.kept
	next.plan = next.plan.keeping(before.versions, now)
	changed := changes(before.plan, next.plan)
	if len(changed) > 0 {
		k.gates.read(next.plan, false)
		if err := abrupt(k.gates.versions(before.plan), k.gates.versions(next.plan), changed, now); err != nil {
			return err
		}
	}
	if k.options.File != "" || len(changed) > 0 {
		k.options.Log.Info("lifecycle plan in force", "file", k.options.File, "planned", next.plan.planned(),
			"from", before.hash, "to", next.hash, "changed", changed)
	}
	k.enforce(next, true)
	return nil
}

// enforce puts a plan in force, with new readings of its gates or the last ones.
func (k *Keeper) enforce(c planInForce, read bool) {
	if k.options.Follow != nil { // first: a gate releases only if all instances follow its plan
		k.options.Follow(c.hash, c.plan.planned())
	}
	if read {
		k.gates.read(c.plan, !k.options.ReadOnly && !c.unknown)
	}
	k.publish(c)
	if c.unknown {
		return
	}
	now := k.options.Now()
	for _, v := range k.inForce.Load().versions {
		k.log(v, now)
	}
}

// publish has requests see a plan and the last readings of its gates.
func (k *Keeper) publish(c planInForce) {
	c.versions = k.gates.versions(c.plan)
	for _, v := range c.versions {
		v.unknown = c.unknown
	}
	k.inForce.Store(&c)
}

// log logs a stage that has changed, also since the last start. From time to time it logs that a
// gate holds a sunset back, and what an operator should do. A gate that holds is not an error at
// once: instances write within some seconds of a sunset, and a database may be away for some.
func (k *Keeper) log(v *served, now time.Time) {
	stage := v.stage(now)
	if was, known := k.stages[v.name]; known && stage != was {
		k.options.Log.Warn("version stage", "version", v.name, "from", was, "to", stage)
	}
	k.stages[v.name] = stage
	if stage == Held && now.Sub(v.schedule.Sunset) >= holdsLimit {
		k.sayEvery(holdsEvery, v.name+" holds", slog.LevelError,
			"the sunset of a version does not take effect: its gate holds",
			"version", v.name, "sunset", v.schedule.Sunset, "why", v.gate.Why)
	}
	for i, text := range []string{v.gate.risk(), v.gate.ignored(), v.warning(now), v.schedule.exemptsEveryone()} {
		if text != "" {
			about := fmt.Sprint(v.name, i, stage, v.carried) // not the text: its numbers change
			k.sayEvery(remindEvery, about, slog.LevelWarn, "lifecycle plan: "+text, "version", v.name)
		}
	}
	if unknown := k.unknownExempt(v.schedule); unknown != nil {
		k.sayEvery(remindEvery, v.name+strings.Join(unknown, "\n"), slog.LevelWarn,
			"the plan exempts clients that CLIENTS_FILE does not have", "version", v.name, "clients", unknown)
	}
}

// know records the stages in force as known, unless others are: they are not logged.
func (k *Keeper) know(which func(name string) bool) {
	now := k.options.Now()
	for _, v := range k.inForce.Load().versions {
		if _, known := k.stages[v.name]; !known && which(v.name) {
			k.stages[v.name] = v.stage(now)
		}
	}
}

// unknownExempt are the exempt clients whose names are not known, which exempt nobody.
func (k *Keeper) unknownExempt(s *Schedule) (names []string) {
	if s == nil {
		return nil
	}
	for _, e := range s.Exempt {
		if name := e.Client(); name != "" && (k.options.Known == nil || !k.options.Known(name)) {
			names = append(names, name)
		}
	}
	return names
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
