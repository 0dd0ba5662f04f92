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

// gravity is the place of a finding: the greatest for the worst, -1 for one that only
// another release knows.
func gravity(finding event.Outcome) int { return slices.Index(gravities, finding) }

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

	day int64
}

// Finding is the worst of a client's findings: refused, different, same, or empty.
func (c *Client) Finding() event.Outcome {
	if len(c.Findings) == 0 {
		return ""
	}
	return c.Findings[0].Outcome
}

// phrases say what a finding means, in the words of each reader.
type phrases struct {
	short     string // in a table
	one, many string // what a client does, and what clients do
	would     string // what calls would get
	step      string // what the client has to do; empty if nothing
}

func (f FindingCount) phrases(version, successor string) phrases {
	switch {
	case gravity(f.Outcome) < 0:
		unknown := fmt.Sprintf("a finding of another release, %q", f.Outcome)
		return phrases{
			short: fmt.Sprintf("unknown: %q", f.Outcome),
			one:   "has " + unknown,
			many:  "have " + unknown,
			would: "have " + unknown + ", which this one does not know",
		}
	case f.Outcome == event.SameMoney:
		return phrases{
			short: "same amounts, new format",
			one:   "gets the same amounts",
			many:  "get the same amounts",
			would: fmt.Sprintf("would get the same transaction and the same amounts from %s, in a new format",
				successor),
		}
	case f.Outcome == event.DifferentMoney && f.Param != "":
		return phrases{
			short: "different amount: sends " + f.Param,
			one:   fmt.Sprintf("gets a different amount because %s ignores its %s", version, f.Param),
			many:  fmt.Sprintf("get a different amount because %s ignores their %s", version, f.Param),
			would: fmt.Sprintf("would get a different amount from %s, because %s ignores %s and %[1]s does not",
				successor, version, f.Param),
			step: fmt.Sprintf("Leave %s out if you do not want what it asks for: %s ignores it, and %s does not, "+
				"so that the amount differs", f.Param, version, successor),
		}
	case f.Outcome == event.DifferentMoney:
		return phrases{
			short: "different amount",
			one:   "gets a different amount",
			many:  "get a different amount",
			would: "would get a different amount from " + successor,
			step:  "Compare the amounts: some of your calls get another quote from " + successor,
		}
	case f.Code == fault.MissingParameter && f.Param != "":
		return phrases{
			short: "refused: omits " + f.Param,
			one:   "omits " + f.Param,
			many:  "omit " + f.Param,
			would: fmt.Sprintf("would be refused by %s, because %s is missing", successor, f.Param),
			step:  fmt.Sprintf("Always send %s: %s answers without it, and %s refuses", f.Param, version, successor),
		}
	case f.Param != "":
		return phrases{
			short: fmt.Sprintf("refused: %s, %s", f.Param, f.Code),
			one:   fmt.Sprintf("sends a value of %s that %s refuses (%s)", f.Param, successor, f.Code),
			many:  fmt.Sprintf("send a value of %s that %s refuses (%s)", f.Param, successor, f.Code),
			would: fmt.Sprintf("would be refused by %s, because of the value of %s (%s)", successor, f.Param, f.Code),
			step: fmt.Sprintf("Correct the value of %s: %s refuses what you send, with the code %s",
				f.Param, successor, f.Code),
		}
	}
	return phrases{
		short: strings.TrimSpace("refused: " + string(f.Code)),
		one:   "gets " + string(f.Code),
		many:  "get " + string(f.Code),
		would: fmt.Sprintf("would be refused by %s (%s)", successor, f.Code),
		step:  fmt.Sprintf("Correct what %s refuses with the code %s", successor, f.Code),
	}
}

// Short is the finding in a few words, for a table.
func (f FindingCount) Short() string { return f.phrases("", "").short }

// Sentence says what the finding means for the calls of one client.
func (f FindingCount) Sentence(version, successor string) string {
	return humanize.Count(f.Calls, "call", "calls") + " " + f.phrases(version, successor).would + "."
}

// Steps are what the findings of a client ask of it, each once, with the day of the
// calls that showed it.
func (c *Client) Steps(successor string) (steps []string) {
	for _, f := range c.Findings {
		if step := f.phrases(c.Version, successor).step; step != "" {
			calls := humanize.Count(f.Calls, "call", "calls")
			steps = append(steps, fmt.Sprintf("%s (%s on %s).", step, calls, humanize.Date(c.Found)))
		}
	}
	return steps
}

// Findings says what the current version would answer to the calls that an old
// version served. It adds up the findings of the clients that have not moved: of each
// those of the last day on which any of its calls were compared.
type Findings struct {
	Successor string    `json:"successor"`
	Summary   string    `json:"summary"`
	Since     time.Time `json:"since,omitzero"` // the earliest of these days
	Until     time.Time `json:"until,omitzero"` // the latest
	Same      uint64    `json:"same"`           // calls
	Different uint64    `json:"different"`
	Refused   uint64    `json:"refused"`
	Unknown   uint64    `json:"unknown,omitempty"` // that only another release knows
	Reasons   []Reason  `json:"reasons"`           // for different and refused calls, the most frequent first
}

// Reason is why the current version does not give calls the same amounts.
type Reason struct {
	FindingCount
	Clients uint64 `json:"clients"`

	top []clientCalls // those with the most calls
}

// How many reasons, and clients per reason, a summary names.
const (
	summaryReasons = 3
	summaryClients = 5
)

// findingsOf adds up the findings of the clients of a version that have not moved.
func findingsOf(all []*usage, version int, name, successor string, uncompared int) *Findings {
	found := &Findings{Successor: successor, Reasons: []Reason{}}
	reasons := map[event.Finding]*Reason{}
	for _, u := range all {
		if u.version != version || u.sum.Calls90 == 0 || u.hasMoved() {
			continue
		}
		for _, f := range u.findings {
			is := event.Finding{Outcome: f.Outcome, Code: f.Code, Param: f.Param}
			if reasons[is] == nil {
				reasons[is] = &Reason{FindingCount: FindingCount{Outcome: f.Outcome, Code: f.Code, Param: f.Param}}
			}
			reasons[is].add(u.name, f.Calls)
			found.cover(unix(u.foundDay * day))
		}
	}
	for _, reason := range reasons {
		found.add(*reason)
	}
	slices.SortFunc(found.Reasons, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Outcome, b.Outcome),
			cmp.Compare(a.Code, b.Code), strings.Compare(a.Param, b.Param))
	})
	found.Summary = found.summary(name, uncompared)
	return found
}

// add counts a client that has the reason.
func (r *Reason) add(client string, calls uint64) {
	r.Clients++
	r.Calls += calls
	r.top = append(r.top, clientCalls{client, calls})
	slices.SortFunc(r.top, func(a, b clientCalls) int {
		return cmp.Or(cmp.Compare(b.calls, a.calls), strings.Compare(a.client, b.client))
	})
	r.top = r.top[:min(summaryClients, len(r.top))]
}

type clientCalls struct {
	client string
	calls  uint64
}

// cover takes a day into the time of the findings.
func (f *Findings) cover(on time.Time) {
	if f.Since.IsZero() || on.Before(f.Since) {
		f.Since = on
	}
	if on.After(f.Until) {
		f.Until = on
	}
}

// add adds up calls by outcome, and keeps the reasons that stop a client.
func (f *Findings) add(reason Reason) {
	switch reason.Outcome {
	case event.SameMoney:
		f.Same += reason.Calls
		return
	case event.DifferentMoney:
		f.Different += reason.Calls
	case event.Refused:
		f.Refused += reason.Calls
	default:
		f.Unknown += reason.Calls
	}
	f.Reasons = append(f.Reasons, reason)
}

// summary is one sentence for an operator.
func (f *Findings) summary(version string, uncompared int) string {
	caveat := ""
	if uncompared > 0 {
		clients := humanize.Count(uncompared, "client", "clients")
		caveat = " (" + clients + " without a compared call)"
	}
	whole := f.Same + f.Different + f.Refused + f.Unknown
	if whole == 0 {
		return fmt.Sprintf("no %s call was compared with %s%s", version, f.Successor, caveat)
	}
	parts := []string{fmt.Sprintf("%s of %s calls get the same amounts from %s, in a new format",
		humanize.Proportion(f.Same, whole), version, f.Successor)}
	for i, reason := range f.Reasons {
		if i == summaryReasons {
			parts = append(parts, "besides "+humanize.Count(len(f.Reasons)-i, "other reason", "other reasons"))
			break
		}
		parts = append(parts, reason.sentence(version, f.Successor))
	}
	return strings.Join(parts, "; ") + caveat
}

// sentence says which clients a reason concerns, and how.
func (r *Reason) sentence(version, successor string) string {
	p := r.phrases(version, successor)
	var top []string
	for _, c := range r.top {
		top = append(top, c.client)
	}
	names := strings.Join(top, ", ")
	if more := int(r.Clients) - len(top); more > 0 {
		names += fmt.Sprintf(", and %d more", more)
	}
	return humanize.Count(r.Clients, "client "+p.one, "clients "+p.many) + ": " + names
}
