package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/humanize"
)

// Finding is the worst of a client's findings: refused, different, same, or empty.
func (c *Client) Finding() event.Outcome {
	if len(c.Findings) == 0 {
		return ""
	}
	return c.Findings[0].Outcome
}

// findings says what the current version would answer to the calls that an old
// version served. It adds up the findings of the clients that have not moved: of each
// those of the last day on which any of its calls were compared.
type findings struct {
	Successor string    `json:"successor"`
	Summary   string    `json:"summary"`
	Since     time.Time `json:"since,omitzero"` // the earliest of these days
	Until     time.Time `json:"until,omitzero"` // the latest
	Same      uint64    `json:"same"`           // calls
	Different uint64    `json:"different"`
	Refused   uint64    `json:"refused"`
	Reasons   []reason  `json:"reasons"` // for different and refused calls, the most frequent first
}

// reason is why the current version does not give calls the same amounts.
type reason struct {
	event.Finding
	Clients uint64 `json:"clients"`
}

const summaryReasons = 3 // that a summary names

// findingsOf adds up the findings of the clients of a version that have not moved.
func findingsOf(all []*Client, version, successor string, uncompared int) *findings {
	found := &findings{Successor: successor, Reasons: []reason{}}
	for _, c := range all {
		if c.Version == version && c.stays() && len(c.Findings) > 0 {
			if found.Since.IsZero() || c.Found.Before(found.Since) {
				found.Since = c.Found
			}
			if c.Found.After(found.Until) {
				found.Until = c.Found
			}
			for _, f := range c.Findings {
				found.add(f)
			}
		}
	}
	slices.SortFunc(found.Reasons, func(a, b reason) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), event.Worse(a.Finding, b.Finding))
	})
	found.Summary = found.summary(version, uncompared)
	return found
}

// add counts a finding of a client. The same amounts need no reason.
func (f *findings) add(one event.Finding) {
	switch one.Outcome {
	case event.SameMoney:
		f.Same += one.Calls
		return
	case event.DifferentMoney:
		f.Different += one.Calls
	default: // refused; a finding that only another release knows counts as the worst, too
		f.Refused += one.Calls
	}
	i := slices.IndexFunc(f.Reasons, func(r reason) bool {
		return r.Outcome == one.Outcome && r.Code == one.Code && r.Param == one.Param
	})
	if i < 0 {
		f.Reasons = append(f.Reasons, reason{one, 1})
		return
	}
	f.Reasons[i].Calls += one.Calls
	f.Reasons[i].Clients++
}

// summary is one sentence for an operator.
func (f *findings) summary(version string, uncompared int) string {
	caveat := ""
	if uncompared > 0 {
		caveat = " (" + humanize.Count(uncompared, "client", "clients") + " without a compared call)"
	}
	whole := f.Same + f.Different + f.Refused
	if whole == 0 {
		return fmt.Sprintf("no %s call was compared with %s%s", version, f.Successor, caveat)
	}
	text := fmt.Sprintf("%s of %s calls get the same amounts from %s, in a new format",
		humanize.Proportion(f.Same, whole), version, f.Successor)
	for _, r := range f.Reasons[:min(summaryReasons, len(f.Reasons))] {
		text += fmt.Sprintf("; %s, %s", r.Short(), humanize.Count(r.Clients, "client", "clients"))
	}
	if more := len(f.Reasons) - summaryReasons; more > 0 {
		text += "; " + humanize.Count(more, "other reason", "other reasons")
	}
	return text + caveat
}
