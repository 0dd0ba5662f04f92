package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/humanize"
)

// Verdict says whether a version can be retired, and when. Pages, JSON, report and
// commands have it from here.
type Verdict struct {
	Says      string    `json:"says"`               // "v2 cannot be retired yet: 12 clients in 7 days (limit 5)"
	Blocked   bool      `json:"blocked"`            // the sunset would not take effect now
	Late      bool      `json:"late,omitempty"`     // nor on its date, as far as can be told
	Earliest  time.Time `json:"earliest,omitzero"`  // when the version can go; zero: not known, gone, or no sunset
	QuietFrom time.Time `json:"quietFrom,omitzero"` // a day: from then on use must be within the limits; zero: it is
	When      string    `json:"when,omitempty"`     // the two dates as a sentence
}

// Verdict judges a version by its schedule and a reading of its gate, which is nil if it
// has none. A nil schedule has no verdict.
func (s *Schedule) Verdict(version string, gate *GateReading, now time.Time) *Verdict {
	switch {
	case s == nil:
		return nil
	case s.Stage(now, gate == nil || !gate.Released.IsZero()) == Retired:
		return &Verdict{Says: version + " is retired"}
	case s.Sunset.IsZero():
		return &Verdict{Says: version + " has no sunset date"}
	case s.Gate == nil:
		says := fmt.Sprintf("%s will be retired on %s, whoever still calls it", version, humanize.Date(s.Sunset))
		return &Verdict{Says: says, Earliest: s.Sunset, When: "Its plan has no gate."}
	case gate.Unknown || gate.Evidence == nil:
		says := fmt.Sprintf("It is not known whether %s can be retired: %s", version, gate.Why)
		return &Verdict{Says: says, Blocked: true, Late: true, When: "The earliest date is not known."}
	}
	v := &Verdict{Blocked: gate.Holds}
	switch {
	case gate.Holds && gate.Missing != "" && !gate.Exceeds(*gate.Evidence): // gate.Why would list every gap
		v.Says = fmt.Sprintf("%s cannot be retired yet: the counts of %s are incomplete", version,
			humanize.Count(gate.Days, "day", "days"))
	case gate.Holds:
		v.Says = fmt.Sprintf("%s cannot be retired yet: %s", version, gate.Why)
	default:
		var within []string
		for _, c := range gate.compare(*gate.Evidence) {
			within = append(within, c.text)
		}
		reasons := strings.Join(within, ", ")
		v.Says = fmt.Sprintf("%s can be retired on %s: %s", version, humanize.Date(s.Sunset), reasons)
	}
	v.foresee(s, gate, now)
	v.Late = v.Blocked && (v.Earliest.IsZero() || v.Earliest.After(s.Sunset) || s.ended(now))
	return v
}

// foresee says when a gate can let the sunset pass at the earliest: on the sunset, or when
// those that call too much today are no longer within its days.
func (v *Verdict) foresee(s *Schedule, gate *GateReading, now time.Time) {
	exceeds := gate.Exceeds(*gate.Evidence)
	switch {
	case exceeds && gate.Evidence.Earliest.IsZero():
		v.When = "The earliest date is not known: it depends on the calls to other versions."
		return
	case !exceeds && gate.Holds && s.ended(now):
		v.When = "The earliest date is not known: the counts must be complete first."
		return
	}
	v.Earliest = s.Sunset
	if gate.Evidence.Earliest.After(s.Sunset) {
		v.Earliest = gate.Evidence.Earliest
	}
	quiet := v.Earliest.Truncate(day).Add(-time.Duration(gate.Days) * day) // the first day that the gate then counts
	date := humanize.Date(v.Earliest)
	late := ""
	if v.Earliest.After(s.Sunset) {
		late = ", after the sunset on " + humanize.Date(s.Sunset)
	}
	switch {
	case quiet.After(now):
		v.QuietFrom = quiet
		v.When = fmt.Sprintf("Earliest %s%s, if clients are quiet from %s.", date, late, humanize.Date(quiet))
	case exceeds:
		v.QuietFrom = now.UTC().Truncate(day)
		v.When = fmt.Sprintf("Earliest %s%s, if clients are quiet from now on.", date, late)
	default:
		v.When = fmt.Sprintf("Earliest %s.", date)
	}
}

// Summary is the verdict and its dates. It is empty without a verdict.
func (v *Verdict) Summary() string {
	if v == nil {
		return ""
	}
	return strings.TrimSpace(v.Says + ". " + v.When)
}
