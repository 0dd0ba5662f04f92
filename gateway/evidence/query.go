package evidence

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
)

// Query chooses the clients of a report. Its zero value is the first page of all.
type Query struct {
	Version  string
	Old      string // yes: any version but the current one; all: any
	Finding  string // the worst one; none: nothing was compared
	Moved    string // yes, no, or both: it calls this version and the current one
	Notified string // yes or no: the operator has told the client to move
	Known    string // yes or no
	Software string
	Client   string // the exact name
	Search   string // a part of the name, in any case
	Kind     string // client, integrator, origin, agent
	Window   string // the begin of a window of the plan, for clients that it refuses
	Gate     string // counted: by the gate of the version
	Sort     string // a key of orders; known clients first if empty
	Page     int    // from 1
	Per      int    // clients a page

	// Gates are those of a plan, of which Version.Counted is wanted; nil: of none.
	Gates *lifecycle.Plan

	schedule *lifecycle.Schedule // of the version; needed for a window and a gate
	window   lifecycle.Brownout
}

// Values of Query.Moved.
const (
	Moved    = "yes"
	NotMoved = "no" // those that call both versions, too
	CallBoth = "both"
)

const (
	defaultPer = 100
	maxPer     = 1000
	maxPage    = 1_000_000
	maxSearch  = 100

	noFinding = "none"
)

// orders are the ways to sort clients.
var orders = map[string]func(a, b *Client) int{
	"": func(a, b *Client) int {
		return cmp.Or(cmp.Compare(oneIf(b.Known), oneIf(a.Known)), cmp.Compare(b.Calls90, a.Calls90))
	},
	"calls":    func(a, b *Client) int { return cmp.Compare(b.Calls90, a.Calls90) },
	"calls30":  func(a, b *Client) int { return cmp.Compare(b.Calls30, a.Calls30) },
	"calls7":   func(a, b *Client) int { return cmp.Compare(b.Calls7, a.Calls7) },
	"first":    func(a, b *Client) int { return a.FirstSeen.Compare(b.FirstSeen) },
	"last":     func(a, b *Client) int { return cmp.Compare(b.last, a.last) },
	"name":     func(a, b *Client) int { return 0 },
	"position": func(a, b *Client) int { return cmp.Compare(a.Position, b.Position) },
}

// sortClients sorts in an order and, where that leaves it open, by name and version.
func sortClients(all []*Client, order string) {
	slices.SortFunc(all, func(a, b *Client) int {
		return cmp.Or(orders[order](a, b), strings.Compare(a.Client, b.Client), cmp.Compare(a.place, b.place))
	})
}

// parameter is one of a URL that is text.
type parameter struct {
	name  string
	value *string
	of    []string // what it may be; empty: any text
}

func (q *Query) parameters(versions []string) []parameter {
	yesOrNo := []string{"yes", "no"}
	findings := []string{string(event.Refused), string(event.DifferentMoney), string(event.SameMoney), noFinding}
	return []parameter{
		{"version", &q.Version, versions},
		{"old", &q.Old, []string{"yes", "all"}},
		{"finding", &q.Finding, findings},
		{"moved", &q.Moved, []string{Moved, NotMoved, CallBoth}},
		{"told", &q.Notified, yesOrNo},
		{"known", &q.Known, yesOrNo},
		{"software", &q.Software, nil},
		{"client", &q.Client, nil},
		{"search", &q.Search, nil},
		{"kind", &q.Kind, []string{"client", "integrator", "origin", "agent"}},
		{"window", &q.Window, nil},
		{"gate", &q.Gate, []string{"counted"}},
		{"sort", &q.Sort, slices.Sorted(maps.Keys(orders))[1:]},
	}
}

// ParseQuery reads a query from the parameters of a URL. A window and a gate are looked up in a
// plan, which may be nil. The error says what is wrong and what would be right.
func ParseQuery(values url.Values, versions []string, plan *lifecycle.Plan) (q Query, err error) {
	known := []string{"page", "per"}
	for _, p := range q.parameters(versions) {
		known = append(known, p.name)
		*p.value = values.Get(p.name)
		if err == nil && *p.value != "" && len(p.of) > 0 && !slices.Contains(p.of, *p.value) {
			err = fmt.Errorf("%s %.40q is none of %s", p.name, *p.value, strings.Join(p.of, ", "))
		}
	}
	for name, given := range values {
		if !slices.Contains(known, name) {
			return q, fmt.Errorf("%.40q is not a parameter; there are %s", name, strings.Join(known, ", "))
		}
		if len(given) > 1 {
			return q, fmt.Errorf("%s is given %d times; give it once", name, len(given))
		}
	}
	if err == nil && !usage.Storable(q.Search, maxSearch) {
		err = fmt.Errorf("search %.40q is not at most %d bytes of printable text", q.Search, maxSearch)
	}
	q.Software = strings.ToLower(q.Software)
	number := func(name string, most int) (n int) {
		if text := values.Get(name); text != "" && err == nil {
			if n, err = strconv.Atoi(text); err != nil || n < 1 || n > most {
				err = fmt.Errorf("%s %.40q is not a number from 1 to %d", name, text, most)
			}
		}
		return n
	}
	q.Page = number("page", maxPage)
	q.Per = number("per", maxPer)
	if err == nil {
		err = q.choose(plan)
	}
	return q, err
}

// choose looks up the window and the gate in a plan.
func (q *Query) choose(plan *lifecycle.Plan) error {
	q.schedule = &lifecycle.Schedule{}
	if plan != nil && plan.Versions[q.Version] != nil {
		q.schedule = plan.Versions[q.Version]
	}
	if q.Gate != "" && q.schedule.Gate == nil {
		return errors.New("gate: give a version whose plan has a gate")
	}
	i := slices.IndexFunc(q.schedule.Brownouts, func(b lifecycle.Brownout) bool {
		return b.From.Format(time.RFC3339) == q.Window
	})
	switch {
	case i >= 0:
		q.window = q.schedule.Brownouts[i]
	case q.Window != "":
		return fmt.Errorf("window %.40q is not the begin of a window of the version; "+
			"give the version, and a time as the plan has it", q.Window)
	}
	return nil
}

// Values are the parameters that ParseQuery reads back.
func (q Query) Values() url.Values {
	values := url.Values{}
	for _, p := range q.parameters(nil) {
		if *p.value != "" {
			values.Set(p.name, *p.value)
		}
	}
	if q.Page > 1 {
		values.Set("page", strconv.Itoa(q.Page))
	}
	if q.Per > 0 {
		values.Set("per", strconv.Itoa(q.Per))
	}
	return values
}

// of are the clients that a query asks for, in its order.
func (q *Query) of(all []*Client, at time.Time) (found []*Client) {
	for _, c := range all {
		if q.matches(c, at) {
			found = append(found, c)
		}
	}
	if q.Sort != "" {
		sortClients(found, q.Sort)
	}
	return found
}

func (q *Query) matches(c *Client, at time.Time) bool {
	switch {
	case c.Calls90 == 0 && q.Client == "": // of one client, errors are shown too
	case q.Version != "" && q.Version != c.Version:
	case q.Old == "yes" && c.current:
	case q.Finding != "" && q.Finding != cmp.Or(string(c.Finding()), noFinding):
	case q.Moved == CallBoth && (!c.Both || c.HasMoved()):
	case q.Moved != CallBoth && differs(q.Moved, c.HasMoved()):
	case differs(q.Notified, !c.Notified.IsZero()):
	case differs(q.Known, c.Known):
	case q.Software != "" && q.Software != c.Software:
	case q.Client != "" && q.Client != c.Client:
	case q.Search != "" && !strings.Contains(strings.ToLower(c.Client), strings.ToLower(q.Search)):
	case q.Kind != "" && q.Kind != c.kind:
	case q.Window != "" && !c.hitBy(q.schedule, q.window):
	case q.Gate != "" && !c.countedBy(*q.schedule.Gate, at):
	default:
		return true
	}
	return false
}

// differs reports whether a query wants yes or no, and it is the other.
func differs(want string, is bool) bool { return want == "yes" && !is || want == "no" && is }

// page chooses the clients of one page, and adds up all that match.
func (q *Query) page(found []*Client, report *Report) []*Client {
	distinct := map[int64]struct{}{}
	for _, c := range found {
		distinct[c.id] = struct{}{}
		report.Sum.Calls7 += c.Calls7
		report.Sum.Calls30 += c.Calls30
		report.Sum.Calls90 += c.Calls90
	}
	per := cmp.Or(q.Per, defaultPer)
	report.Matching = len(found)
	report.Distinct = len(distinct)
	report.Pages = max(1, (len(found)+per-1)/per)
	report.Page = min(max(1, q.Page), report.Pages)
	from := (report.Page - 1) * per
	return found[from:min(len(found), from+per)]
}
