package lifecycle

import (
	"fmt"
	"time"
)

// Usage knows how much a version is used. It must count only calls that were
// served. If it counted refused calls too, retries after a sunset would make the
// gate hold and bring the version back.
type Usage interface {
	// LastDay returns how many clients made how many calls within the last day.
	LastDay(version string) (clients, calls int)
	// Since is when the counting began. A gate holds until a day after that,
	// because it needs the counts of a whole day. The zero time means that the
	// counts always cover the whole day.
	Since() time.Time
}

const day = 24 * time.Hour

// GateReading compares a gate with the usage of the last day.
type GateReading struct {
	Gate
	Clients int    `json:"clients"`
	Calls   int    `json:"calls"`
	Holds   bool   `json:"holds"`         // a sunset would not take effect now
	Why     string `json:"why,omitempty"` // why it holds
}

func (g *Gate) read(version string, usage Usage, now time.Time) *GateReading {
	r := &GateReading{Gate: *g}
	r.Clients, r.Calls = usage.LastDay(version)
	since := usage.Since()
	switch {
	case g.Exceeded(r.Clients, r.Calls):
		r.Why = fmt.Sprintf("%d clients made %d calls in the last day; the gate lets the sunset pass at %d clients and %d calls or fewer",
			r.Clients, r.Calls, g.MaxClients, g.MaxCallsPerDay)
	case now.Sub(since) < day:
		r.Why = fmt.Sprintf("calls are counted only since %s, and the gate asks for a whole day", stamp(since.UTC()))
	}
	r.Holds = r.Why != ""
	return r
}
