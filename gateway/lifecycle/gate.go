package lifecycle

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Usage knows how much a version is used. It counts the calls that were
// served: were refused ones counted, the retries after a sunset would bring
// the version back.
type Usage interface {
	// LastDay gives how many clients made how many calls within the last day.
	LastDay(version string) (clients, calls int)
}

const (
	day = 24 * time.Hour
	// gateEvery is how long a reading of a gate stands, so that a retired
	// version costs no counting.
	gateEvery = 10 * time.Second
)

// GateReading is what a gate makes of the last day.
type GateReading struct {
	Gate
	Clients int    `json:"clients"`
	Calls   int    `json:"calls"`
	Holds   bool   `json:"holds"`         // a sunset would not take effect now
	Why     string `json:"why,omitempty"` // it holds, in words

	at time.Time
}

// gateWatch keeps the latest reading of one gate.
type gateWatch struct {
	mu     sync.Mutex // held by who counts
	latest atomic.Pointer[GateReading]
}

// reading gives the latest reading of a version's gate, and renews it when it
// is old. Only one caller counts at a time; the others make do with the old.
func (l *life) reading(now time.Time, usage Usage, since time.Time) GateReading {
	w := &l.gate
	latest := w.latest.Load()
	if latest.fresh(now) {
		return *latest
	}
	if latest == nil {
		w.mu.Lock()
	} else if !w.mu.TryLock() {
		return *latest
	}
	defer w.mu.Unlock()
	if latest = w.latest.Load(); latest.fresh(now) {
		return *latest
	}
	clients, calls := usage.LastDay(l.version)
	r := l.schedule.Gate.judge(clients, calls, now.Sub(since) >= day, since)
	r.at = now
	w.latest.Store(&r)
	return r
}

func (r *GateReading) fresh(now time.Time) bool {
	return r != nil && !now.Before(r.at) && now.Sub(r.at) < gateEvery
}

// judge reads the gate. Counts that do not cover a whole day prove nothing.
func (g *Gate) judge(clients, calls int, wholeDay bool, since time.Time) GateReading {
	r := GateReading{Gate: *g, Clients: clients, Calls: calls}
	switch {
	case g.Exceeded(clients, calls):
		r.Holds = true
		r.Why = fmt.Sprintf("%d clients made %d calls in the last day; the gate lets the sunset pass at %d clients and %d calls or fewer",
			clients, calls, g.MaxClients, g.MaxCallsPerDay)
	case !wholeDay:
		r.Holds = true
		r.Why = fmt.Sprintf("calls are counted only since %s, and the gate asks for a whole day", stamp(since.UTC()))
	}
	return r
}
