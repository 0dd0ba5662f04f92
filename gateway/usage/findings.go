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

// Findings says what the current version would answer to the calls that an old
// version served within the last two days.
type Findings struct {
	Successor  string    `json:"successor"`
	Summary    string    `json:"summary"`
	Since      time.Time `json:"since"`
	Same       uint64    `json:"same"`
	Different  uint64    `json:"different"`
	Refused    uint64    `json:"refused"`
	Uncompared uint64    `json:"uncompared"` // served, but not compared
	Reasons    []Reason  `json:"reasons"`    // for different and refused calls, the most frequent first
}

// Reason is why the current version does not give calls the same money.
type Reason struct {
	FindingCount
	Clients uint64 `json:"clients"`

	topClients []string // clients, as many as a sentence can hold
}

// How many reasons, and clients per reason, a summary names.
const (
	summaryReasons = 3
	summaryClients = 5
)

// findingsWindow is how far back findings are read. It is short, so that a client
// that was fixed soon disappears.
const findingsWindow = 48 * time.Hour

// findings reads the findings of every version but the current one. Counts are
// complete since a time.
func (r *Reader) findings(ctx context.Context, now, complete time.Time) (map[string]*Findings, error) {
	all := map[string]*Findings{}
	since := time.Unix(max(windowStart(now, findingsWindow), complete.Unix()), 0).UTC()
	for _, version := range r.versions {
		if r.current != "" && version != r.current {
			all[version] = &Findings{Successor: r.current, Since: since, Reasons: []Reason{}}
		}
	}
	type found struct {
		version, client string
		Reason
	}
	rows, err := queryAll(ctx, r.db, func(rows *sql.Rows, f *found) error {
		return rows.Scan(&f.version, &f.client, &f.Outcome, &f.Code, &f.Param, &f.Calls, &f.Clients)
	}, `select version, name, finding, code, param, cast(total as bigint), clients from (
			select version, client, finding, code, param, sum(calls) as calls,
				sum(sum(calls)) over (partition by version, finding, code, param) as total,
				count(*) over (partition by version, finding, code, param) as clients,
				row_number() over (partition by version, finding, code, param order by sum(calls) desc, client) as place
			from usage_calls where outcome = 'served' and began >= $1 and began <= $2
			group by version, client, finding, code, param
		) as reasons join usage_names on id = client where place <= $3 order by calls desc, finding, code, param, name`,
		windowStart(now, findingsWindow), now.Unix(), summaryClients)
	for _, row := range rows {
		if f := all[row.version]; f != nil {
			f.add(row.Reason, row.client)
		}
	}
	for version, f := range all {
		f.addUp()
		f.Summary = f.summary(version)
	}
	return all, err
}

// add adds a reason, or one more client to it.
func (f *Findings) add(reason Reason, client string) {
	i := slices.IndexFunc(f.Reasons, func(r Reason) bool { return r.FindingCount == reason.FindingCount })
	if i < 0 {
		i = len(f.Reasons)
		f.Reasons = append(f.Reasons, reason)
	}
	f.Reasons[i].topClients = append(f.Reasons[i].topClients, client)
}

// addUp counts calls by outcome, and keeps only the reasons that stop a client.
func (f *Findings) addUp() {
	for _, r := range f.Reasons {
		switch r.Outcome {
		case event.SameMoney:
			f.Same += r.Calls
		case event.DifferentMoney:
			f.Different += r.Calls
		case event.Refused:
			f.Refused += r.Calls
		default:
			f.Uncompared += r.Calls
		}
	}
	f.Reasons = slices.DeleteFunc(f.Reasons, func(r Reason) bool { return r.Outcome != event.DifferentMoney && r.Outcome != event.Refused })
	slices.SortFunc(f.Reasons, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Param, b.Param))
	})
}

// summary is one sentence for an operator.
func (f *Findings) summary(version string) string {
	caveat := ""
	if f.Uncompared > 0 {
		caveat = " (" + words.Count(f.Uncompared, "call was not compared", "calls were not compared") + ")"
	}
	whole := f.Same + f.Different + f.Refused
	if whole == 0 {
		return fmt.Sprintf("no %s call of the last two days was compared with %s%s", version, f.Successor, caveat)
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
	either := func(one, many string) string {
		if r.Clients == 1 {
			return one
		}
		return many
	}
	var what string
	switch {
	case r.Outcome == event.DifferentMoney && r.Param != "":
		what = fmt.Sprintf("%s different money because %s ignores %s %s", either("gets", "get"), version, either("its", "their"), r.Param)
	case r.Outcome == event.DifferentMoney:
		what = either("gets", "get") + " different money"
	case r.Code == fault.MissingParameter && r.Param != "":
		what = either("omits ", "omit ") + r.Param
	case r.Param != "":
		what = fmt.Sprintf("%s a value of %s that %s refuses (%s)", either("sends", "send"), r.Param, successor, r.Code)
	default:
		what = either("gets ", "get ") + string(r.Code)
	}
	who := words.Count(r.Clients, "client", "clients")
	if slices.Contains(r.topClients, otherClients) {
		who = "at least " + who
	}
	names := strings.Join(r.topClients, ", ")
	if more := int(r.Clients) - len(r.topClients); more > 0 {
		names += fmt.Sprintf(", and %d more", more)
	}
	return who + " " + what + ": " + names
}
