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
	"github.com/quotegate/quotegate/gateway/store"
)

// Query chooses the clients of a report. Its zero value is the first page of all.
type Query struct {
	Version  string
	Old      string        // yes: any version but the current one; all: any
	Finding  event.Outcome // the worst one; none: nothing was compared
	Moved    string        // yes, no
	Told     string        // yes, no: the operator has told the client to move
	Software string
	Client   string // the exact name
	Search   string // a part of the name, in any case
	Kind     string // client, integrator, origin, agent
	Known    string // yes, no
	Window   string // the begin of a window of the plan, for clients that it refuses; see Choose
	Gate     string // counted: by the gate of the version; see Choose
	Sort     string // a key of orders; known clients first if empty
	Page     int    // from 1
	Per      int    // clients a page

	hits func(lifecycle.Subject) bool
	gate *lifecycle.Gate
}

const (
	defaultPer = 100
	maxPer     = 1000
	maxPage    = 1_000_000
	maxSearch  = 100

	allVersions = "all"
	noFinding   = "none"
)

// orders are the ways to sort clients.
var orders = map[string]func(a, b *Client) int{
	"": func(a, b *Client) int {
		return cmp.Or(cmp.Compare(oneIf(b.Known), oneIf(a.Known)), cmp.Compare(b.Calls90, a.Calls90), byName(a, b))
	},
	"calls":    func(a, b *Client) int { return cmp.Or(cmp.Compare(b.Calls90, a.Calls90), byName(a, b)) },
	"calls30":  func(a, b *Client) int { return cmp.Or(cmp.Compare(b.Calls30, a.Calls30), byName(a, b)) },
	"calls7":   func(a, b *Client) int { return cmp.Or(cmp.Compare(b.Calls7, a.Calls7), byName(a, b)) },
	"first":    func(a, b *Client) int { return cmp.Or(a.FirstSeen.Compare(b.FirstSeen), byName(a, b)) },
	"last":     func(a, b *Client) int { return cmp.Or(cmp.Compare(b.last, a.last), byName(a, b)) },
	"name":     byName,
	"position": func(a, b *Client) int { return cmp.Or(cmp.Compare(a.Position, b.Position), byName(a, b)) },
}

func byName(a, b *Client) int {
	return cmp.Or(strings.Compare(a.Client, b.Client), cmp.Compare(a.place, b.place))
}

// texts are the parameters of a URL that are text, and what each may be; any text if
// nothing is listed.
func (q *Query) texts(versions []string) []parameter {
	findings := []string{string(event.Refused), string(event.DifferentMoney), string(event.SameMoney), noFinding}
	return []parameter{
		{"version", &q.Version, versions},
		{"old", &q.Old, []string{"yes", allVersions}},
		{"finding", (*string)(&q.Finding), findings},
		{"moved", &q.Moved, []string{"yes", "no"}},
		{"told", &q.Told, []string{"yes", "no"}},
		{"software", &q.Software, nil},
		{"client", &q.Client, nil},
		{"search", &q.Search, nil},
		{"kind", &q.Kind, []string{"client", "integrator", "origin", "agent"}},
		{"known", &q.Known, []string{"yes", "no"}},
		{"window", &q.Window, nil},
		{"gate", &q.Gate, []string{"counted"}},
		{"sort", &q.Sort, slices.Sorted(maps.Keys(orders))[1:]},
	}
}

type parameter struct {
	name  string
	value *string
	of    []string
}

// ParseQuery reads a query from the parameters of a URL. The error says what is
// wrong and what would be right.
func ParseQuery(values url.Values, versions []string) (q Query, err error) {
	texts := q.texts(versions)
	var known []string
	for _, p := range texts {
		known = append(known, p.name)
	}
	known = append(known, "page", "per")
	for name, given := range values {
		if !slices.Contains(known, name) {
			return q, fmt.Errorf("%.40q is not a parameter; there are %s", name, strings.Join(known, ", "))
		}
		if len(given) > 1 {
			return q, fmt.Errorf("%s is given %d times; give it once", name, len(given))
		}
	}
	for _, p := range texts {
		*p.value = values.Get(p.name)
		if err == nil && *p.value != "" && p.of != nil && !slices.Contains(p.of, *p.value) {
			err = fmt.Errorf("%s %.40q is none of %s", p.name, *p.value, strings.Join(p.of, ", "))
		}
	}
	if err == nil && !store.Storable(q.Search, maxSearch) {
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
	q.Page, q.Per = number("page", maxPage), number("per", maxPer)
	return q, err
}

// Values are the parameters that ParseQuery reads back.
func (q Query) Values() url.Values {
	values := url.Values{}
	for _, p := range q.texts(nil) {
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

// Choose looks up the window and the gate of a query in a plan. It must be called before a
// query with either is used.
func (q *Query) Choose(plan *lifecycle.Plan) error {
	schedule := &lifecycle.Schedule{}
	if plan != nil && plan.Versions[q.Version] != nil {
		schedule = plan.Versions[q.Version]
	}
	if q.Gate != "" && schedule.Gate == nil {
		return errors.New("gate: give a version whose plan has a gate")
	}
	q.gate = schedule.Gate
	if q.Window == "" {
		return nil
	}
	for _, b := range schedule.Brownouts {
		if b.From.Format(time.RFC3339) == q.Window {
			q.hits = func(who lifecycle.Subject) bool { return schedule.Hits(b, who) }
			return nil
		}
	}
	return fmt.Errorf("window %.40q is not the begin of a window of the version; "+
		"give the version, and a time as the plan has it", q.Window)
}

// find reads the clients, and chooses those that a query asks for.
func (r *Reader) find(db *store.Session, q Query, at time.Time) (read *reading, found []*Client, err error) {
	read, err = r.read(db, at)
	if err != nil {
		return nil, nil, err
	}
	counts := func(*Client) bool { return true }
	if q.Gate != "" && q.gate != nil {
		first := store.FirstDay(at, q.gate.Days)
		decide := r.decider(*q.gate, first, &lifecycle.Evidence{})
		counts = func(c *Client) bool { return c.lastUsed >= first && decide(c).counts }
	}
	for _, c := range read.all {
		if q.matches(c) && counts(c) {
			found = append(found, c)
		}
	}
	return read, found, nil
}

func (q *Query) matches(c *Client) bool {
	switch {
	case c.Calls90 == 0 && q.Client == "": // of one client, errors are shown too
	case q.Version != "" && q.Version != c.Version:
	case q.Old == "yes" && c.current:
	case q.Finding != "" && q.Finding != cmp.Or(c.Finding(), noFinding):
	case q.Moved != "" && q.Moved != yesOrNo(c.HasMoved()):
	case q.Told != "" && q.Told != yesOrNo(!c.Notified.IsZero()):
	case q.Software != "" && q.Software != c.Software:
	case q.Client != "" && q.Client != c.Client:
	case q.Search != "" && !strings.Contains(strings.ToLower(c.Client), strings.ToLower(q.Search)):
	case q.Kind != "" && q.Kind != c.kind:
	case q.Known != "" && q.Known != yesOrNo(c.Known):
	case q.hits != nil && (c.onlyErrors || !q.hits(c.Subject())): // whoever only gets errors loses nothing
	default:
		return true
	}
	return false
}

func yesOrNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// page chooses the clients of one page, and adds up all that match.
func (q *Query) page(found []*Client, report *Report) []*Client {
	distinct := map[int64]struct{}{}
	for _, u := range found {
		distinct[u.id] = struct{}{}
		report.Sum.Calls7 += u.Calls7
		report.Sum.Calls30 += u.Calls30
		report.Sum.Calls90 += u.Calls90
	}
	if q.Sort != "" {
		slices.SortFunc(found, orders[q.Sort])
	}
	per := cmp.Or(q.Per, defaultPer)
	report.Matching = len(found)
	report.Distinct = len(distinct)
	report.Pages = max(1, (len(found)+per-1)/per)
	report.Page = min(max(1, q.Page), report.Pages)
	from := (report.Page - 1) * per
	return found[from:min(len(found), from+per)]
}
