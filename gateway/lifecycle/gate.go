package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/words"
)

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
	Clients int    // distinct, in all these days
	Calls   int    // on the busiest day
	Missing string // why more clients or calls are possible; empty if the numbers are complete

	Waiting      []string // clients of the last 90 days that have not moved and did not call within these days, at most 10
	WaitingCount int      // how many there are
}

// GateReading compares a gate with the evidence.
type GateReading struct {
	Gate
	Clients      int       `json:"clients"`
	Calls        int       `json:"calls"`
	Holds        bool      `json:"holds"`             // a sunset would not take effect now
	Why          string    `json:"why,omitempty"`     // why it holds
	Released     time.Time `json:"released,omitzero"` // when it let the sunset pass, which is final; the sunset, if only the plan says so
	Waiting      []string  `json:"waiting,omitempty"` // as in Evidence
	WaitingCount int       `json:"waitingCount,omitempty"`
}

const (
	gateLimit    = 2 * time.Second // that a poll waits for the gates
	inspectLimit = time.Minute     // and a command
	clockSkew    = time.Minute     // that two clocks may differ
)

// gateKey is a gate and the decision it is about.
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
	wanted := map[string]gateKey{}
	for name, s := range p.Versions {
		if s.Gate == nil {
			continue
		}
		key := gateKey{decision{name, s.Sunset}, *s.Gate}
		wanted[name] = key
		r := g.readings[key]
		if r == nil {
			r = &reading{last: GateReading{Gate: key.gate, Holds: true, Why: "the counts have not been read yet"}}
			g.readings[key] = r
		}
		if r.running == nil {
			g.start(r, key, usage, now)
		}
	}
	found := map[string]*GateReading{}
	for name, key := range wanted {
		r := g.readings[key]
		select {
		case got, ok := <-r.running:
			if r.running = nil; ok {
				r.last = got
			}
		case <-ctx.Done():
		}
		found[name] = g.remember(key, r.last, now)
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

// start reads a gate in the background, unless what was decided is known.
func (g *gates) start(r *reading, key gateKey, usage Usage, now time.Time) {
	running := make(chan GateReading, 1)
	r.running = running
	if _, known := g.released[key.decision]; known || key.gate.Confirmed && !now.Before(key.sunset) {
		running <- GateReading{Gate: key.gate}
		return
	}
	void := g.void[key.decision]
	go guard.Do(g.log, "reading a gate", func() {
		defer close(running)
		running <- readGate(key, g.counts, usage, void, now)
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
	found := counts.Evidence(key.version, key.gate.Days)
	r.Clients, r.Calls, r.Waiting, r.WaitingCount = found.Clients, found.Calls, found.Waiting, found.WaitingCount
	days := words.Count(r.Days, "day", "days")
	switch {
	case r.Clients > r.MaxClients || r.Calls > r.MaxCallsPerDay:
		hold("%s called within %s, with %s on the busiest day; the gate lets the sunset pass at %d clients and %d calls or fewer",
			words.Count(r.Clients, "client", "clients"), days, words.Count(r.Calls, "call", "calls"), r.MaxClients, r.MaxCallsPerDay)
	case found.Missing != "":
		hold("the evidence of %s is incomplete: %s", days, found.Missing)
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
