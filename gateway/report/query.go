package report

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
)

// Query chooses the clients of a report. Its zero value is the first page of all.
type Query struct {
	Version  string
	Old      string        // yes: any version but the current one; all: any
	Finding  event.Outcome // the worst one; none: nothing was compared
	Moved    string        // yes, no; probably: no, but the same software in the same network has
	Told     string        // yes, no: the operator has told the client to move
	Software string
	Client   string // the exact name
	Search   string // a part of the name, in any case
	Kind     string // client, integrator, origin, agent, network
	Known    string // yes, no
	Window   string // the begin of a window of the plan, for clients that it refuses; see Choose
	Sort     string // a key of orders; known clients first if empty
	Page     int    // from 1
	Per      int    // clients a page

	hits func(lifecycle.Subject) bool
	told *written // of clients that the operator has told, and of those that have moved; see Reader.prepare
}

const (
	defaultPer = 100
	maxPer     = 1000
	maxPage    = 1_000_000
	maxSearch  = 100

	allVersions = "all"
	noFinding   = "none"

	probablyMoved = "probably"
)

var kinds = []string{"client", "integrator", "origin", "agent", "network"}

// orders are the ways to sort clients.
var orders = map[string]string{
	"":         "c.kind <> 1, c.calls90 desc",
	"calls":    "c.calls90 desc",
	"calls30":  "c.calls30 desc",
	"calls7":   "c.calls7 desc",
	"first":    "c.first_seen",
	"last":     "c.last_seen desc",
	"name":     "n.name",
	"position": "c.position",
}

// texts are the parameters of a URL that are text, and what each may be; any text if
// nothing is listed.
func (q *Query) texts(versions []string) []parameter {
	findings := []string{string(event.Refused), string(event.DifferentMoney), string(event.SameMoney), noFinding}
	return []parameter{
		{"version", &q.Version, versions},
		{"old", &q.Old, []string{"yes", allVersions}},
		{"finding", (*string)(&q.Finding), findings},
		{"moved", &q.Moved, []string{"yes", "no", probablyMoved}},
		{"told", &q.Told, []string{"yes", "no"}},
		{"software", &q.Software, nil},
		{"client", &q.Client, nil},
		{"search", &q.Search, nil},
		{"kind", &q.Kind, kinds},
		{"known", &q.Known, []string{"yes", "no"}},
		{"window", &q.Window, nil},
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

// Choose has a query with a window find the clients that the window refuses. It must
// be called before such a query is used.
func (q *Query) Choose(plan *lifecycle.Plan) error {
	if q.Window == "" {
		return nil
	}
	if plan != nil && plan.Versions[q.Version] != nil {
		schedule := plan.Versions[q.Version]
		for _, b := range schedule.Brownouts {
			if b.From.Format(time.RFC3339) == q.Window {
				q.hits = func(who lifecycle.Subject) bool { return schedule.Hits(b, who) }
				return nil
			}
		}
	}
	return fmt.Errorf("window %.40q is not the begin of a window of the version; "+
		"give the version, and a time as the plan has it", q.Window)
}

// sql is what a query asks of the database: the tables, and the condition with its
// arguments.
func (q Query) sql(current string) (from, where string, args []any) {
	from, where = "usage_clients as c", "c.calls90 > 0"
	if q.Client != "" {
		where = "c.last_seen > 0" // any call
	}
	if q.named() {
		from += " join usage_names as n on n.id = c.client"
	}
	if q.hits != nil { // as a prediction does: who only gets errors loses nothing in a window
		where += " and (c.last_served > 0 or c.last_failed = 0)"
	}
	if q.Moved != "" {
		from += " left join usage_clients as m on m.client = c.client and m.version <> c.version" +
			" and m.version = " + quotedSQL(current)
	}
	moved := "case when coalesce(m.last_served, 0) > c.last_seen or " + q.told.isMoved() +
		" then 'yes' else 'no' end = "
	movedOrNot := q.Moved
	if q.Moved == probablyMoved {
		movedOrNot = "no"
		where += " and n.trace <> 0 and exists (" + movedAs(current) + ")"
	}
	old := q.Old
	if old == allVersions {
		old = ""
	}
	for _, c := range []struct {
		given, condition string
		arg              any
	}{
		{q.Version, "c.version = ", q.Version},
		{old, "c.version <> ", current},
		{string(q.Finding), "c.worst = ", max(0, store.Gravity(q.Finding))},
		{q.Known, "case when c.kind = 1 then 'yes' else 'no' end = ", q.Known},
		{q.Software, "n.software = ", q.Software},
		{q.Client, "n.name = ", q.Client},
		{q.Kind, "n.name like ", q.Kind + " %"},
		{q.Moved, moved, movedOrNot},
		{q.Told, "case when " + q.told.isTold() + " then 'yes' else 'no' end = ", q.Told},
	} {
		if c.given != "" {
			args = append(args, c.arg)
			where += " and " + c.condition + "$" + strconv.Itoa(len(args))
		}
	}
	if q.Search != "" {
		args = append(args, "%"+likeEscaper.Replace(strings.ToLower(q.Search))+"%")
		where += " and lower(n.name) like $" + strconv.Itoa(len(args)) + ` escape '\'`
	}
	return from, where, args
}

// likeEscaper makes a text stand for itself in a pattern.
var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// named reports whether the query needs the names of clients.
func (q Query) named() bool {
	byName := q.Client != "" || q.Search != "" || q.Kind != "" || q.Sort == "name"
	return byName || q.Software != "" || q.hits != nil || q.Moved == probablyMoved
}

func quotedSQL(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// movedAs finds other names with the trace of n that the current version has served
// since the last call of c, the latest first.
func movedAs(current string) string {
	return "select o.name from usage_names as o join usage_clients as t on t.client = o.id" +
		" and t.version = " + quotedSQL(current) +
		" where o.trace = n.trace and o.id <> n.id and c.version <> t.version and t.last_served > c.last_seen" +
		" order by t.last_served desc, o.id limit 1"
}

// written is what the operator has written down about the clients of a version.
type written struct {
	told, moved []string // as "version:number"
}

// isTold and isMoved are conditions that are met by such clients.
func (w *written) isTold() string {
	if w == nil {
		return nobody
	}
	return oneOf(w.told)
}

func (w *written) isMoved() string {
	if w == nil {
		return nobody
	}
	return oneOf(w.moved)
}

const nobody = "1 = 0"

func oneOf(clients []string) string {
	if len(clients) == 0 {
		return nobody
	}
	return "c.version || ':' || cast(c.client as text) in ('" + strings.Join(clients, "', '") + "')"
}

// prepare has a query know what the operator has written down, if it needs that. Names
// made from a network are left out: too many of them may be of one client.
func (r *Reader) prepare(db *store.Session, q *Query) {
	if q.Moved == "" && q.Told == "" || r.Known == nil {
		return
	}
	q.told = &written{}
	r.eachWritten(db, func(w writtenClient) {
		place := fmt.Sprintf("%s:%d", strings.ReplaceAll(w.version, "'", "''"), w.client)
		if w.Notified != 0 {
			q.told.told = append(q.told.told, place)
		}
		if w.version != r.Current && w.Moved.Holds(w.lastSeen) {
			q.told.moved = append(q.told.moved, place)
		}
	})
}

// writtenClient is a client of 90 days about which the operator has written something
// down.
type writtenClient struct {
	clientKey
	caller.Client
	lastSeen time.Time
	worst    int // the place of its findings, -1 if it has moved
}

// eachWritten finds these clients.
func (r *Reader) eachWritten(db *store.Session, do func(writtenClient)) {
	var w writtenClient
	var name string
	var last int64
	db.Each(`select c.version, c.client, n.name, c.last_seen,
		case when coalesce(m.last_served, 0) > c.last_seen then -1 else c.worst end
		from usage_clients as c join usage_names as n on n.id = c.client
		left join usage_clients as m on m.version = $1 and m.client = c.client and c.version <> $1
		where c.calls90 > 0 and c.kind <> 2`, []any{r.Current},
		[]any{&w.version, &w.client, &name, &last, &w.worst}, func() {
			written, known := r.WrittenDown(name)
			if !known {
				return
			}
			w.Client = written
			w.lastSeen = time.Unix(last, 0)
			do(w)
		})
}
