package usage

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/words"
)

// FindingCount is a finding and how many calls have it.
type FindingCount struct {
	Outcome event.Outcome `json:"outcome"`
	Code    fault.Code    `json:"code,omitempty"`
	Param   string        `json:"param,omitempty"`
	Calls   uint64        `json:"calls"`
}

func (f *FindingCount) is(found event.Finding) bool {
	return f.Outcome == found.Outcome && f.Code == found.Code && f.Param == found.Param
}

// gravity orders findings: the last is the worst.
var gravity = []event.Outcome{"", event.SameMoney, event.DifferentMoney, event.Refused}

// sortFindings puts the worst first, and then the most frequent.
func sortFindings(all []FindingCount) {
	slices.SortFunc(all, func(a, b FindingCount) int {
		return cmp.Or(cmp.Compare(slices.Index(gravity, b.Outcome), slices.Index(gravity, a.Outcome)), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Param, b.Param))
	})
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
	case f.Outcome == event.SameMoney:
		return phrases{"new shape only", "gets the same money", "get the same money",
			fmt.Sprintf("would get the same transaction and the same money from %s, in its new shape", successor), ""}
	case f.Outcome == event.DifferentMoney && f.Param != "":
		return phrases{"different money: sends " + f.Param,
			fmt.Sprintf("gets different money because %s ignores its %s", version, f.Param), fmt.Sprintf("get different money because %s ignores their %s", version, f.Param),
			fmt.Sprintf("would get different money from %s, because %s ignores %s and %[1]s does not", successor, version, f.Param),
			fmt.Sprintf("Leave %s out if you do not want what it asks for: %s ignores it, and %s does not, so that the amount differs", f.Param, version, successor)}
	case f.Outcome == event.DifferentMoney:
		return phrases{"different money", "gets different money", "get different money", "would get different money from " + successor,
			"Compare the amounts: some of your calls get another quote from " + successor}
	case f.Code == fault.MissingParameter && f.Param != "":
		return phrases{"refused: omits " + f.Param, "omits " + f.Param, "omit " + f.Param,
			fmt.Sprintf("would be refused by %s, because %s is missing", successor, f.Param),
			fmt.Sprintf("Always send %s: %s answers without it, and %s refuses", f.Param, version, successor)}
	case f.Param != "":
		return phrases{fmt.Sprintf("refused: %s, %s", f.Param, f.Code),
			fmt.Sprintf("sends a value of %s that %s refuses (%s)", f.Param, successor, f.Code), fmt.Sprintf("send a value of %s that %s refuses (%s)", f.Param, successor, f.Code),
			fmt.Sprintf("would be refused by %s, because of the value of %s (%s)", successor, f.Param, f.Code),
			fmt.Sprintf("Correct the value of %s: %s refuses what you send, with the code %s", f.Param, successor, f.Code)}
	}
	return phrases{strings.TrimSpace("refused: " + string(f.Code)), "gets " + string(f.Code), "get " + string(f.Code),
		fmt.Sprintf("would be refused by %s (%s)", successor, f.Code), fmt.Sprintf("Correct what %s refuses with the code %s", successor, f.Code)}
}

// Short is the finding in a few words, for a table.
func (f FindingCount) Short() string { return f.phrases("", "").short }

// Sentence says what the finding means for the calls of one client.
func (f FindingCount) Sentence(version, successor string) string {
	return words.Count(f.Calls, "call", "calls") + " " + f.phrases(version, successor).would + "."
}

// Steps are what the findings of a client ask of it, each once, with the day of the
// calls that showed it.
func (c *Client) Steps(successor string) (steps []string) {
	for _, f := range c.Findings {
		if step := f.phrases(c.Version, successor).step; step != "" {
			steps = append(steps, fmt.Sprintf("%s (%s on %s).", step, words.Count(f.Calls, "call", "calls"), words.Date(c.Found)))
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
	Reasons   []Reason  `json:"reasons"` // for different and refused calls, the most frequent first
}

// Reason is why the current version does not give calls the same money.
type Reason struct {
	FindingCount
	Clients uint64 `json:"clients"`

	topClients []string // those with the most calls
}

// How many reasons, and clients per reason, a summary names.
const (
	summaryReasons = 3
	summaryClients = 5
)

// countingFindings are the findings that count: the latest of clients that have not
// moved.
const countingFindings = `usage_findings as f join usage_clients as c on c.version = f.version and c.client = f.client and c.found = f.day and c.calls90 > 0
	left join usage_clients as m on m.version = $1 and m.client = c.client and c.version <> $1 where coalesce(m.last_served, 0) <= c.last_seen`

// addFindings reads the findings of every version but the current one.
func (r *Reader) addFindings(ctx context.Context, all []Version) error {
	for i := range all {
		if r.current != "" && all[i].Version != r.current {
			all[i].Findings = &Findings{Successor: r.current, Reasons: []Reason{}}
		}
	}
	err := r.db.query(ctx, func(rows *sql.Rows) error {
		var version string
		var reason Reason
		var first, last int64
		err := rows.Scan(&version, &reason.Outcome, &reason.Code, &reason.Param, &reason.Calls, &reason.Clients, &first, &last)
		if v, _ := dayOf(all, version, 0); v.Findings != nil {
			v.Findings.add(reason, Day(first*day).Time(), Day(last*day).Time())
		}
		return err
	}, `select f.version, f.finding, f.code, f.param, cast(sum(f.calls) as bigint), count(*), min(f.day), max(f.day) from `+countingFindings+`
		group by f.version, f.finding, f.code, f.param order by 5 desc, f.finding, f.code, f.param`, r.current)
	for i := range all {
		f := all[i].Findings
		if f == nil || err != nil {
			continue
		}
		for j := range f.Reasons[:min(summaryReasons, len(f.Reasons))] {
			err = cmp.Or(err, r.nameClients(ctx, all[i].Version, &f.Reasons[j]))
		}
		f.Summary = f.summary(all[i].Version, all[i].Groups.Uncompared)
	}
	return err
}

// nameClients reads the clients with the most calls that have a reason.
func (r *Reader) nameClients(ctx context.Context, version string, reason *Reason) error {
	return r.db.query(ctx, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		reason.topClients = append(reason.topClients, name)
		return err
	}, `select n.name from (select f.client, f.calls from `+countingFindings+` and f.version = $2 and f.finding = $3 and f.code = $4 and f.param = $5
		order by f.calls desc, f.client limit $6) as top join usage_names as n on n.id = top.client order by top.calls desc, n.name`,
		r.current, version, string(reason.Outcome), string(reason.Code), reason.Param, summaryClients)
}

// add adds up calls by outcome, and keeps the reasons that stop a client.
func (f *Findings) add(reason Reason, first, last time.Time) {
	if f.Since.IsZero() || first.Before(f.Since) {
		f.Since = first
	}
	if last.After(f.Until) {
		f.Until = last
	}
	switch reason.Outcome {
	case event.SameMoney:
		f.Same += reason.Calls
		return
	case event.DifferentMoney:
		f.Different += reason.Calls
	default:
		f.Refused += reason.Calls
	}
	f.Reasons = append(f.Reasons, reason)
}

// summary is one sentence for an operator.
func (f *Findings) summary(version string, uncompared int) string {
	caveat := ""
	if uncompared > 0 {
		caveat = " (of " + words.Count(uncompared, "client no call was compared", "clients no call was compared") + ")"
	}
	whole := f.Same + f.Different + f.Refused
	if whole == 0 {
		return fmt.Sprintf("no %s call was compared with %s%s", version, f.Successor, caveat)
	}
	parts := []string{fmt.Sprintf("%s of %s calls get the same money from %s in a new shape", words.Proportion(f.Same, whole), version, f.Successor)}
	for i, reason := range f.Reasons {
		if i == summaryReasons {
			parts = append(parts, "besides "+words.Count(len(f.Reasons)-i, "other reason", "other reasons"))
			break
		}
		parts = append(parts, reason.sentence(version, f.Successor))
	}
	return strings.Join(parts, "; ") + caveat
}

// sentence says which clients a reason concerns, and how.
func (r *Reason) sentence(version, successor string) string {
	p := r.phrases(version, successor)
	names := strings.Join(r.topClients, ", ")
	if more := int(r.Clients) - len(r.topClients); more > 0 {
		names += fmt.Sprintf(", and %d more", more)
	}
	return words.Count(r.Clients, "client "+p.one, "clients "+p.many) + ": " + names
}
