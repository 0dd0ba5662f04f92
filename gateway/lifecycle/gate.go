package lifecycle

import (
	"fmt"
	"time"

	"github.com/quotegate/quotegate/shared/words"
)

// Usage knows how much a version is used, and remembers what was decided by it.
// Instances that share it agree.
type Usage interface {
	// Evidence adds up the use of a version within the last days.
	Evidence(version string, days int) Evidence
	// Released returns when the gate of a version let a sunset pass, and the zero
	// time if it has not.
	Released(version string, sunset time.Time) (time.Time, error)
	// Release records that the gate of a version lets a sunset pass. It refuses if
	// the clocks that decide about it are apart.
	Release(version string, sunset time.Time) error
	// Follow is told the hash of the plan whenever one comes into force, and which
	// versions have a line in it.
	Follow(hash string, planned []string)
}

// Evidence is the use of a version within some days: of calls that were served and
// of calls that a brownout refused. Without the latter, a long brownout would look
// like a version that nobody needs.
type Evidence struct {
	Clients int    // distinct, in all these days
	Calls   int    // on the busiest day
	Missing string // why more clients or calls are possible; empty if the numbers are complete

	// Waiting are clients of the last 90 days that have not moved and did not call
	// within these days: at most ten names, and how many there are.
	Waiting      []string
	WaitingCount int
}

const (
	defaultGateDays = 7
	maxGateDays     = 90
)

// GateReading compares a gate with the evidence.
type GateReading struct {
	Gate
	Clients  int       `json:"clients"`
	Calls    int       `json:"calls"`
	Holds    bool      `json:"holds"`             // a sunset would not take effect now
	Why      string    `json:"why,omitempty"`     // why it holds
	Released time.Time `json:"released,omitzero"` // when it let the sunset pass, which is final
}

// readGate reads the gate of a version and changes nothing.
func readGate(version string, s *Schedule, usage Usage) *GateReading {
	r := &GateReading{Gate: *s.Gate}
	var err error
	if r.Released, err = usage.Released(version, s.Sunset); err != nil {
		r.hold("it cannot be read whether the gate has let the sunset pass: %v", err)
		return r
	}
	if !r.Released.IsZero() {
		return r
	}
	found := usage.Evidence(version, s.Gate.Days)
	r.Clients, r.Calls = found.Clients, found.Calls
	switch {
	case s.Gate.Exceeded(r.Clients, r.Calls):
		r.hold("%s called within %s, with %s on the busiest day; the gate lets the sunset pass at %d clients and %d calls or fewer",
			words.Count(r.Clients, "client", "clients"), words.Count(s.Gate.Days, "day", "days"), words.Count(r.Calls, "call", "calls"), s.Gate.MaxClients, s.Gate.MaxCallsPerDay)
	case found.Missing != "":
		r.hold("the evidence of %s is incomplete: %s", words.Count(s.Gate.Days, "day", "days"), found.Missing)
	}
	return r
}

// release lets a sunset that has come pass, unless the gate holds. That is final
// for this sunset, whatever is counted afterwards: neither a restart nor retries
// bring the version back.
func (r *GateReading) release(version string, s *Schedule, usage Usage, now time.Time) {
	if r.Holds || !r.Released.IsZero() || now.Before(s.Sunset) {
		return
	}
	if err := usage.Release(version, s.Sunset); err != nil {
		r.hold("the release of the gate cannot be recorded: %v", err)
		return
	}
	r.Released = now.UTC().Truncate(time.Second)
}

func (r *GateReading) hold(why string, args ...any) {
	r.Holds, r.Why = true, fmt.Sprintf(why, args...)
}
