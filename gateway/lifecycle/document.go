package lifecycle

import (
	"fmt"
	"slices"
	"time"

	"github.com/quotegate/quotegate/shared/words"
)

// Document is the public description of every version.
type Document struct {
	Plan     string  `json:"plan,omitempty"` // the hash of the plan in force
	Versions []Entry `json:"versions"`
}

// Entry is one version. Fields that its plan does not set are left out.
type Entry struct {
	Name       string     `json:"name"`
	State      Stage      `json:"state"`
	Deprecated time.Time  `json:"deprecated,omitzero"` // may be in the future
	Sunset     time.Time  `json:"sunset,omitzero"`
	Brownouts  []Brownout `json:"brownouts"` // past ones too
	Successor  string     `json:"successor,omitempty"`
	Contract   string     `json:"contract"`
	Migration  string     `json:"migration,omitempty"`
	Gate       *GateState `json:"gate"` // null: the date decides alone
}

// GateState says whether a gate is holding back a sunset that has come.
type GateState struct {
	Holds bool `json:"holds"`
}

// Document describes every version as it stands now.
func (k *Keeper) Document() Document {
	now := k.options.Now()
	inForce := k.inForce.Load()
	doc := Document{Plan: hashOf(inForce.text), Versions: []Entry{}}
	for _, v := range inForce.versions {
		e := Entry{Name: v.name, State: v.stage(now), Brownouts: []Brownout{}, Contract: "/" + v.name + "/openapi.yaml"}
		if s := v.schedule; s != nil {
			e.Deprecated, e.Sunset, e.Brownouts = s.Deprecated, s.Sunset, s.Brownouts
			e.Successor, e.Migration = s.Successor, s.Docs
		}
		if v.gate != nil {
			e.Gate = &GateState{Holds: e.State == Held}
		}
		doc.Versions = append(doc.Versions, e)
	}
	return doc
}

// Snapshot is the description for an operator.
type Snapshot struct {
	File     string    `json:"file"`
	Hash     string    `json:"hash,omitempty"` // of the plan in force
	LoadedAt time.Time `json:"loadedAt"`
	Plan     *Plan     `json:"plan"`
	Versions []Status  `json:"versions"`
	Next     []Change  `json:"next"`              // the first few, in order
	Refused  *Refusal  `json:"refused,omitempty"` // why the file's plan is not in force; nil if it is
}

// Status is one version. A gate is read in every stage. Before the sunset it
// tells what would happen if the sunset were now.
type Status struct {
	Version string       `json:"version"`
	Stage   Stage        `json:"stage"`
	Gate    *GateReading `json:"gate,omitempty"`
}

// Change is a moment at which a version changes its stage.
type Change struct {
	At      time.Time `json:"at"`
	Version string    `json:"version"`
	What    string    `json:"what"`
}

// nextChanges is how many future changes a Snapshot lists.
const nextChanges = 10

// Snapshot describes the plan in force and the current stages.
func (k *Keeper) Snapshot() Snapshot {
	now := k.options.Now()
	c := k.inForce.Load()
	s := Snapshot{File: k.options.File, Hash: hashOf(c.text), LoadedAt: c.loadedAt, Plan: c.plan, Next: []Change{}, Refused: c.refused}
	for _, v := range c.versions {
		s.Versions = append(s.Versions, Status{Version: v.name, Stage: v.stage(now), Gate: v.gate})
		s.Next = append(s.Next, v.changes()...)
	}
	s.Next = slices.DeleteFunc(s.Next, func(c Change) bool { return !c.At.After(now) })
	slices.SortStableFunc(s.Next, func(a, b Change) int { return a.At.Compare(b.At) })
	s.Next = s.Next[:min(len(s.Next), nextChanges)]
	return s
}

// changes lists all changes of a version, past ones too, in order.
func (v *version) changes() []Change {
	s := v.schedule
	if s == nil {
		return nil
	}
	changes := []Change{{s.Deprecated, v.name, "deprecated"}}
	for _, b := range s.Brownouts {
		changes = append(changes,
			Change{b.From, v.name, "brownout begins: " + words.Percent(b.Share) + " of clients get 410 for " + words.Length(b.To.Sub(b.From))},
			Change{b.To, v.name, "brownout ends"})
	}
	if !s.Sunset.IsZero() {
		what := "sunset: every client gets 410 from here on"
		if s.Gate != nil {
			what += ", unless there were " + s.Gate.limits()
		}
		changes = append(changes, Change{s.Sunset, v.name, what})
	}
	return changes
}

func (g *Gate) limits() string {
	return fmt.Sprintf("more than %d clients within %s, or more than %d calls on one of them", g.MaxClients, words.Count(g.Days, "day", "days"), g.MaxCallsPerDay)
}
