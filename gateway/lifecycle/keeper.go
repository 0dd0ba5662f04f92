package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/jsonfile"
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
	pollEvery = 5 * time.Second
	warnEvery = time.Hour // how often the log says that a gate holds
)

// Keeper reads the plan from its file and applies it to requests. While the file
// is missing or its plan is bad, the last good plan stays in force.
type Keeper struct {
	options Options
	inForce atomic.Pointer[planInForce]

	mu       sync.Mutex           // guards the fields below: one poll at a time
	lastRead string               // the file's text at the last poll, or the error
	stages   map[string]Stage     // as last logged
	warned   map[string]time.Time // when the log last said that a gate holds
	unknown  []string             // exempt clients that are not known, as last logged
}

// planInForce is a plan and a recent reading of its gates. Every poll replaces
// it.
type planInForce struct {
	plan     *Plan
	text     string // the text of its file
	loadedAt time.Time
	refused  *Refusal   // why the file's newer plan is refused, nil if the file is unchanged
	versions []*version // every version served
}

// Refusal is why the file's plan is not in force.
type Refusal struct {
	At     time.Time `json:"at"`
	Faults []string  `json:"faults"`
}

// New reads the plan. If it is bad, the error lists all its faults.
func New(o Options) (*Keeper, error) {
	if o.Usage == nil {
		return nil, errors.New("lifecycle: Usage is needed")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	k := &Keeper{options: o, stages: map[string]Stage{}, warned: map[string]time.Time{}}
	plan := &Plan{Versions: map[string]*Schedule{}, served: o.Versions}
	if o.File != "" {
		var err error
		if plan, k.lastRead, err = read(o.File, o.Versions); err != nil {
			return nil, err
		}
	}
	k.enforce(planInForce{plan: plan, text: k.lastRead, loadedAt: o.Now().UTC()})
	return k, nil
}

// read reads a plan from a file, and returns the file's text too.
func read(path string, versions []string) (*Plan, string, error) {
	data, err := jsonfile.Read(path)
	if err != nil {
		return nil, "", err
	}
	plan, err := Parse(data, versions)
	if err != nil {
		return nil, "", fmt.Errorf("%s:\n%w", path, err)
	}
	return plan, string(data), nil
}

// Run polls every few seconds until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	guard.Every(ctx, pollEvery, k.options.Log, "polling the plan", k.Poll)
}

// Poll reads the file if it has changed, reads the gates, and logs the versions
// whose stage has changed.
func (k *Keeper) Poll() { k.poll(false) }

// Reload is Poll on demand: it logs the result even if nothing has changed.
func (k *Keeper) Reload() { k.poll(true) }

func (k *Keeper) poll(onDemand bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := *k.inForce.Load()
	if k.options.File != "" {
		k.readFile(&next, onDemand)
	} else if onDemand {
		k.options.Log.Info("no lifecycle plan is configured: every version is active")
	}
	k.enforce(next)
}

// readFile changes next if the file has changed.
func (k *Keeper) readFile(next *planInForce, onDemand bool) {
	file, log := k.options.File, k.options.Log
	data, err := jsonfile.Read(file)
	found := string(data)
	if err != nil {
		found = err.Error()
	}
	if found == k.lastRead && !onDemand {
		return
	}
	k.lastRead = found
	if err == nil && found == next.text {
		next.refused = nil
		log.Info("lifecycle plan unchanged", "file", file)
		return
	}
	var plan *Plan
	if err == nil {
		plan, err = Parse(data, k.options.Versions)
	}
	if err == nil {
		err = k.abrupt(next.plan, plan)
	}
	if err != nil {
		next.refused = k.refusal(err)
		return
	}
	log.Info("lifecycle plan in force", "file", file, "planned", slices.Sorted(maps.Keys(plan.Versions)),
		"from", hashOf(next.text), "to", hashOf(found), "changed", differences(next.plan, plan, k.options.Versions))
	*next = planInForce{plan: plan, text: found, loadedAt: k.options.Now().UTC()}
}

// refusal logs why the file's plan is refused.
func (k *Keeper) refusal(err error) *Refusal {
	faults := strings.Split(err.Error(), "\n")
	why := "lifecycle plan refused"
	if errors.Is(err, fs.ErrNotExist) {
		why = "the lifecycle plan's file is gone"
	}
	k.options.Log.Error(why+"; the one in force stays", "file", k.options.File, "faults", faults)
	return &Refusal{At: k.options.Now().UTC(), Faults: faults}
}

// enforce puts a plan in force and reads its gates.
func (k *Keeper) enforce(c planInForce) {
	now := k.options.Now()
	c.versions = nil
	for _, name := range k.options.Versions {
		v := k.version(name, c.plan)
		if v.gate != nil {
			v.gate.release(name, v.schedule, k.options.Usage, now)
		}
		c.versions = append(c.versions, v)
	}
	k.inForce.Store(&c)
	k.options.Usage.Follow(hashOf(c.text), slices.Sorted(maps.Keys(c.plan.Versions)))
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

// version is a version under a plan, with its gate read now.
func (k *Keeper) version(name string, p *Plan) *version {
	v := newVersion(name, p.Versions[name])
	if v.schedule != nil && v.schedule.Gate != nil {
		v.gate = readGate(name, v.schedule, k.options.Usage)
	}
	return v
}

// logStage logs a stage that has changed and, once an hour, a gate that holds.
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
	last, warned := k.warned[v.name]
	if stage == Held && (!warned || now.Sub(last) >= warnEvery || now.Before(last)) {
		k.warned[v.name] = now
		k.options.Log.Error("the sunset of a version does not take effect: its gate holds", "version", v.name,
			"sunset", v.schedule.Sunset, "why", v.gate.Why)
	}
}
