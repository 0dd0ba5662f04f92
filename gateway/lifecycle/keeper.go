package lifecycle

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/jsonfile"
)

// Options is what a Keeper works with.
type Options struct {
	File     string                            // the plan; empty: every version is active
	Versions []string                          // every version served, in the order to show them
	Caller   func(*http.Request) caller.Caller // who sent a request
	Usage    Usage                             // what the gates look at

	// UsageSince is when Usage began to count. For a day after it a gate
	// holds, since nobody knows yet. The zero time means that Usage always
	// knows the whole day, as one that outlives the process does.
	UsageSince time.Time

	Now func() time.Time // time.Now if nil
	Log *slog.Logger     // slog.Default() if nil
}

const (
	pollEvery  = 5 * time.Second
	nagEvery   = time.Hour // how often a gate that holds says so
	nextEvents = 10
)

// Keeper keeps the plan in force. A plan that is bad, or gone, never replaces
// one that is good.
type Keeper struct {
	file       string
	versions   []string
	caller     func(*http.Request) caller.Caller
	usage      Usage
	usageSince time.Time
	now        func() time.Time
	log        *slog.Logger

	inForce atomic.Pointer[force]
	refused atomic.Pointer[Refusal]

	mu     sync.Mutex // over what follows: one look at the file at a time
	seen   string     // what the last look found: a digest, or an error's text
	stages map[string]Stage
	nagged map[string]time.Time
}

// force is a plan in force.
type force struct {
	plan   *Plan
	since  time.Time
	digest string
	lives  map[string]*life // one for every version served
}

// Refusal is why the file is not what is in force.
type Refusal struct {
	At     time.Time `json:"at"`
	Faults []string  `json:"faults"`
}

// New reads the plan. A bad one is an error that holds all its faults.
func New(o Options) (*Keeper, error) {
	k := &Keeper{
		file: o.File, versions: slices.Clone(o.Versions),
		caller: o.Caller, usage: o.Usage, usageSince: o.UsageSince,
		now: o.Now, log: o.Log,
		stages: map[string]Stage{}, nagged: map[string]time.Time{},
	}
	if k.caller == nil || k.usage == nil {
		return nil, errors.New("lifecycle: Caller and Usage are needed")
	}
	if k.now == nil {
		k.now = time.Now
	}
	if k.log == nil {
		k.log = slog.Default()
	}
	plan, digest := &Plan{Versions: map[string]*Schedule{}, served: k.versions}, ""
	if k.file != "" {
		var data []byte
		var err error
		if data, err = jsonfile.Read(k.file); err != nil {
			return nil, err
		}
		if plan, err = Parse(data, k.versions); err != nil {
			return nil, errors.Join(errors.New(k.file+":"), err)
		}
		digest = digestOf(data)
	}
	k.seen = digest
	k.install(plan, digest)
	k.watch()
	return k, nil
}

// Run looks at the file, the clock and the gates every few seconds until the
// context ends.
func (k *Keeper) Run(ctx context.Context) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			k.Poll()
		}
	}
}

// Poll is one look: a file that has changed is read, and what has changed with
// the time is logged.
func (k *Keeper) Poll() { k.look(false) }

// Reload is Poll on demand: it says in the log what it found, changed or not.
func (k *Keeper) Reload() { k.look(true) }

func (k *Keeper) look(demanded bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	defer k.watch()
	if k.file == "" {
		if demanded {
			k.log.Info("no lifecycle plan is configured: every version is active")
		}
		return
	}
	data, err := jsonfile.Read(k.file)
	found := digestOf(data)
	if err != nil {
		found = err.Error()
	}
	if found == k.seen && !demanded {
		return
	}
	k.seen = found
	var plan *Plan
	if err == nil && found != k.inForce.Load().digest {
		plan, err = Parse(data, k.versions)
	}
	switch {
	case err != nil:
		k.refusePlan(err)
	case plan == nil:
		k.refused.Store(nil)
		k.log.Info("lifecycle plan unchanged", "file", k.file)
	default:
		k.install(plan, found)
		k.refused.Store(nil)
		k.log.Info("lifecycle plan in force", "file", k.file, "planned", slices.Sorted(maps.Keys(plan.Versions)))
	}
}

func (k *Keeper) refusePlan(err error) {
	faults := strings.Split(err.Error(), "\n")
	k.refused.Store(&Refusal{At: k.now().UTC(), Faults: faults})
	why := "lifecycle plan refused"
	if errors.Is(err, fs.ErrNotExist) {
		why = "the lifecycle plan's file is gone"
	}
	k.log.Error(why+"; the one in force stays", "file", k.file, "faults", faults)
}

func (k *Keeper) install(plan *Plan, digest string) {
	lives := make(map[string]*life, len(k.versions))
	for _, version := range k.versions {
		lives[version] = newLife(version, plan.Versions[version])
	}
	k.inForce.Store(&force{plan: plan, since: k.now().UTC(), digest: digest, lives: lives})
}

// watch logs versions that have changed their stage, and again and again those
// whose gate holds.
func (k *Keeper) watch() {
	now := k.now()
	for _, version := range k.versions {
		l := k.inForce.Load().lives[version]
		stage := k.stage(l, now)
		switch was, watched := k.stages[version]; {
		case !watched && stage != Active:
			k.log.Info("version stage", "version", version, "stage", stage)
		case watched && stage != was:
			k.log.Warn("version stage changes", "version", version, "from", was, "to", stage)
		}
		k.stages[version] = stage
		last, nagged := k.nagged[version]
		if stage == Held && (!nagged || now.Sub(last) >= nagEvery || now.Before(last)) {
			k.nagged[version] = now
			k.log.Error("the sunset of a version does not take effect: its gate holds", "version", version,
				"sunset", l.schedule.Sunset, "why", l.reading(now, k.usage, k.usageSince).Why)
		}
	}
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return string(sum[:])
}
