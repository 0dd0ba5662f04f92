package lifecycle

import (
	"slices"
	"time"
)

// Document is what clients may know about every version, in one place.
type Document struct {
	Versions []Entry `json:"versions"`
}

// Entry is one version. What its plan does not say is left out.
type Entry struct {
	Name       string     `json:"name"`
	State      Stage      `json:"state"`
	Deprecated time.Time  `json:"deprecated,omitzero"` // may lie ahead
	Sunset     time.Time  `json:"sunset,omitzero"`
	Brownouts  []Brownout `json:"brownouts"` // past ones too
	Successor  string     `json:"successor,omitempty"`
	Contract   string     `json:"contract"`
	Migration  string     `json:"migration,omitempty"`
	Gate       *GateState `json:"gate"` // null: the date decides alone
}

// GateState says whether a sunset that has come is being held.
type GateState struct {
	Holds bool `json:"holds"`
}

// Document describes every version as it stands now.
func (k *Keeper) Document() Document {
	now := k.now()
	lives := k.inForce.Load().lives
	doc := Document{Versions: make([]Entry, 0, len(k.versions))}
	for _, version := range k.versions {
		l := lives[version]
		e := Entry{Name: version, State: k.stage(l, now), Brownouts: []Brownout{}, Contract: "/" + version + "/openapi.yaml"}
		if s := l.schedule; s != nil {
			e.Deprecated, e.Sunset, e.Brownouts = s.Deprecated, s.Sunset, s.Brownouts
			e.Successor, e.Migration = s.Successor, s.Docs
			if s.Gate != nil {
				e.Gate = &GateState{Holds: e.State == Held}
			}
		}
		doc.Versions = append(doc.Versions, e)
	}
	return doc
}

// Snapshot is what an operator may know.
type Snapshot struct {
	File     string    `json:"file"`
	LoadedAt time.Time `json:"loadedAt"`
	Plan     *Plan     `json:"plan"`
	Versions []Status  `json:"versions"`
	Next     []Event   `json:"next"`              // the first few, in order
	Refused  *Refusal  `json:"refused,omitempty"` // the file is not what is in force
}

// Status is one version. A gate is read in every stage: before the sunset it
// says what would happen were the sunset now.
type Status struct {
	Version string       `json:"version"`
	Stage   Stage        `json:"stage"`
	Gate    *GateReading `json:"gate,omitempty"`
}

// Snapshot describes the plan in force and where it has led.
func (k *Keeper) Snapshot() Snapshot {
	now := k.now()
	f := k.inForce.Load()
	s := Snapshot{File: k.file, LoadedAt: f.since, Plan: f.plan, Refused: k.refused.Load()}
	for _, version := range k.versions {
		l := f.lives[version]
		status := Status{Version: version, Stage: k.stage(l, now)}
		if l.schedule != nil && l.schedule.Gate != nil {
			reading := l.reading(now, k.usage, k.usageSince)
			status.Gate = &reading
		}
		s.Versions = append(s.Versions, status)
	}
	s.Next = f.plan.eventsAfter(now)
	if len(s.Next) > nextEvents {
		s.Next = s.Next[:nextEvents]
	}
	return s
}

// Event is a moment at which a version changes its stage.
type Event struct {
	At      time.Time `json:"at"`
	Version string    `json:"version"`
	What    string    `json:"what"`
}

// eventsAfter lists what is to come, in order.
func (p *Plan) eventsAfter(at time.Time) []Event {
	events := []Event{}
	for _, version := range p.served {
		for _, e := range p.Versions[version].events(version) {
			if e.At.After(at) {
				events = append(events, e)
			}
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
	return events
}

// events lists the whole course of a version, in order.
func (s *Schedule) events(version string) []Event {
	if s == nil {
		return nil
	}
	events := []Event{{s.Deprecated, version, "deprecated"}}
	for _, b := range s.Brownouts {
		events = append(events,
			Event{b.From, version, "brownout begins: " + percent(b.Share) + " of clients get 410 for " + span(b.To.Sub(b.From))},
			Event{b.To, version, "brownout ends"})
	}
	if !s.Sunset.IsZero() {
		what := "sunset: every client gets 410 from here on"
		if g := s.Gate; g != nil {
			what += ", " + g.unless()
		}
		events = append(events, Event{s.Sunset, version, what})
	}
	return events
}
