package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/humanize"
)

// gravities orders findings: the last is the worst.
var gravities = []event.Outcome{"", event.SameMoney, event.DifferentMoney, event.Refused}

// gravity is the place of a finding: the greatest for the worst. One that only another
// release knows is shown first.
func gravity(finding event.Outcome) int {
	i := slices.Index(gravities, finding)
	if i < 0 {
		return len(gravities)
	}
	return i
}

// worstFirst orders findings: the worst first, and then the most frequent.
func worstFirst(a, b FindingCount) int {
	return cmp.Or(
		cmp.Compare(gravity(b.Outcome), gravity(a.Outcome)), cmp.Compare(b.Calls, a.Calls),
		cmp.Compare(a.Code, b.Code), cmp.Compare(a.Param, b.Param))
}

// FindingCount is a finding and how many calls have it.
type FindingCount struct {
	Outcome event.Outcome `json:"outcome"`
	Code    fault.Code    `json:"code,omitempty"`
	Param   string        `json:"param,omitempty"`
	Calls   uint64        `json:"calls"`
}

// Finding is the worst of a client's findings: refused, different, same, or empty.
func (c *Client) Finding() event.Outcome {
	if len(c.Findings) == 0 {
		return ""
	}
	return c.Findings[0].Outcome
}

// Short is the finding in a few words, for a table.
func (f FindingCount) Short() string {
	short, _ := f.describe("", "")
	return short
}

// Sentence says what the finding means for the calls of one client.
func (f FindingCount) Sentence(version, successor string) string {
	_, would := f.describe(version, successor)
	return humanize.Count(f.Calls, "call", "calls") + " " + would + "."
}

// describe says in a few words and in a clause what calls would get from the successor.
func (f FindingCount) describe(version, successor string) (short, would string) {
	refused := "would be refused by " + successor
	switch {
	case f.Outcome == event.SameMoney:
		return "same amounts, new format",
			fmt.Sprintf("would get the same transaction and the same amounts from %s, in a new format", successor)
	case f.Outcome == event.DifferentMoney && f.Param != "":
		return "different amount: sends " + f.Param,
			fmt.Sprintf("would get a different amount from %s, because %s ignores %s and %[1]s does not",
				successor, version, f.Param)
	case f.Outcome == event.DifferentMoney:
		return "different amount", "would get a different amount from " + successor
	case f.Outcome != event.Refused:
		return fmt.Sprintf("unknown: %q", f.Outcome),
			fmt.Sprintf("have a finding of another release (%q), which this one does not know", f.Outcome)
	case f.Code == fault.MissingParameter && f.Param != "":
		return "refused: omits " + f.Param, fmt.Sprintf("%s, because %s is missing", refused, f.Param)
	case f.Param != "":
		return fmt.Sprintf("refused: %s, %s", f.Param, f.Code),
			fmt.Sprintf("%s, because of the value of %s (%s)", refused, f.Param, f.Code)
	}
	return strings.TrimSpace("refused: " + string(f.Code)), fmt.Sprintf("%s (%s)", refused, f.Code)
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
	FindingCount
	Clients uint64 `json:"clients"`

	names []string // of the first few clients
}

// How many reasons, and clients per reason, a summary names.
const (
	summaryReasons = 3
	summaryClients = 5
)

// findingsOf adds up the findings of the clients of a version that have not moved.
func findingsOf(all []*Client, version, successor string, uncompared int) *findings {
	found := &findings{Successor: successor, Reasons: []reason{}}
	for _, u := range all {
		if u.Version != version || u.Calls90 == 0 || u.HasMoved() {
			continue
		}
		for _, f := range u.Findings {
			found.add(u, f)
		}
	}
	slices.SortFunc(found.Reasons, func(a, b reason) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), worstFirst(a.FindingCount, b.FindingCount))
	})
	found.Summary = found.summary(version, uncompared)
	return found
}

// add counts a finding of a client. The same amounts need no reason.
func (f *findings) add(u *Client, one FindingCount) {
	if f.Since.IsZero() || u.Found.Before(f.Since) {
		f.Since = u.Found
	}
	if u.Found.After(f.Until) {
		f.Until = u.Found
	}
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
		i = len(f.Reasons)
		f.Reasons = append(f.Reasons, reason{FindingCount: one})
		f.Reasons[i].Calls = 0
	}
	reason := &f.Reasons[i]
	reason.Calls += one.Calls
	reason.Clients++
	if len(reason.names) < summaryClients {
		reason.names = append(reason.names, u.Client)
	}
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
	for i, reason := range f.Reasons {
		if i == summaryReasons {
			text += "; " + humanize.Count(len(f.Reasons)-i, "other reason", "other reasons")
			break
		}
		names := strings.Join(reason.names, ", ")
		if more := int(reason.Clients) - len(reason.names); more > 0 {
			names += fmt.Sprintf(", and %d more", more)
		}
		text += fmt.Sprintf("; %s, %s (%s)", reason.Short(), humanize.Count(reason.Clients, "client", "clients"), names)
	}
	return text + caveat
}
