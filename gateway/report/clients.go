package report

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/words"
)

// Client is what one client did on one version within 90 days. Calls are those that
// were served, or refused by a brownout or because the version is retired.
type Client struct {
	Version   string    `json:"version"`
	Client    string    `json:"client"`            // as Name gives it
	Known     bool      `json:"known"`             // to the operator, by CLIENTS_FILE
	Address   bool      `json:"address,omitempty"` // its name is made from a network: one that moves has several
	Contact             // of a known client
	Software  string    `json:"software,omitempty"` // the product of its last User-Agent
	FirstSeen time.Time `json:"firstSeen"`
	LastSeen  time.Time `json:"lastSeen"`
	Sum
	Proven    uint64         `json:"proven"`                 // answered calls with a key, ever
	Claimed   uint64         `json:"claimed"`                // those without one
	Days      []DayCount     `json:"days"`                   // days with calls, in order
	Findings  []FindingCount `json:"findings"`               // of the last day with one, the worst first
	Found     time.Time      `json:"found,omitzero"`         // that day
	Position  float64        `json:"position"`               // below its share a brownout refuses it; -1: unknown
	Exempt    bool           `json:"exempt"`                 // the plan spared it in brownouts when it last called
	Last410   time.Time      `json:"last410,omitzero"`       // the last time it was refused
	Rehearsed time.Time      `json:"lastRehearsal,omitzero"` // the last time it rehearsed a later stage

	// Moved is when the current version last served it, if that was since its last call
	// here. MovedAs is another name of the same software in the same network, for which
	// that is so: it has probably moved.
	Moved   time.Time `json:"moved,omitzero"`
	MovedAs string    `json:"movedAs,omitempty"`
}

// HasMoved reports whether the client has moved: its calls show it, or the operator
// says so.
func (c *Client) HasMoved() bool { return !c.Moved.IsZero() || c.Marked != nil }

// DayCount is how many calls there were on a day.
type DayCount struct {
	Day   Day    `json:"day"`
	Calls uint64 `json:"calls"`
}

// Name is the client's name without the kind of its identity, if it is known.
func (c *Client) Name() string { return strings.TrimPrefix(c.Client, "client ") }

// Subject is the client as a window sees it.
func (c *Client) Subject() lifecycle.Subject {
	return lifecycle.Recorded(c.Client, c.Position, c.Exempt)
}

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
	if err == nil && !store.Printable(q.Search, maxSearch) {
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

// clientKey is one client on one version.
type clientKey struct {
	version string
	client  int64
}

// page is a report with one page of the matching clients, and nothing else.
func (r *Reader) page(ctx context.Context, q Query, at time.Time) (Report, error) {
	key := q.Values().Encode()
	r.mu.Lock()
	kept, ok := r.pages[key]
	r.mu.Unlock()
	if ok && q.hits == nil {
		return kept, nil
	}
	err := r.readPage(ctx, q, at, &kept)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && len(r.pages) < maxPages && q.hits == nil {
		r.pages[key] = kept
	}
	return kept, err
}

// maxPages is how many pages are kept until counts are written.
const maxPages = 16

func (r *Reader) readPage(ctx context.Context, q Query, at time.Time, report *Report) error {
	per, page := cmp.Or(q.Per, defaultPer), max(1, q.Page)
	db := r.DB.AskPages(ctx)
	r.prepare(db, &q)
	keys := r.find(db, q, per, page, report)
	if db.Err != nil {
		return db.Err
	}
	report.Pages = max(1, (report.Matching+per-1)/per)
	report.Page = min(page, report.Pages)
	if report.Page < page {
		q.Page = report.Page
		return r.readPage(ctx, q, at, report)
	}
	report.Clients = r.load(db, keys, at)
	return db.Err
}

// find returns the clients on a page, and counts those that match. Which clients a
// window hits is not for the database to say, so that all of them are looked at.
func (r *Reader) find(db *store.Session, q Query, per, page int, report *Report) (keys []clientKey) {
	report.Matching = 0
	report.Distinct = 0
	report.Sum = Sum{}
	from, where, args := q.sql(r.Current)
	order := " order by " + orders[q.Sort] + ", c.client, c.version"
	var k clientKey
	if q.hits == nil {
		db.Get("select count(*), count(distinct c.client), "+sums+" from "+from+" where "+where, args,
			&report.Matching, &report.Distinct, &report.Sum.Calls7, &report.Sum.Calls30, &report.Sum.Calls90)
		limit := fmt.Sprintf(" limit %d offset %d", per, (page-1)*per)
		db.Each("select c.version, c.client from "+from+" where "+where+order+limit, args,
			[]any{&k.version, &k.client}, func() { keys = append(keys, k) })
		return keys
	}
	distinct := map[int64]struct{}{}
	var name string
	var position float64
	var exempt bool
	var sum Sum
	db.Each("select c.version, c.client, n.name, c.position, c.exempt = 1, c.calls7, c.calls30, c.calls90"+
		" from "+from+" where "+where+order, args,
		[]any{&k.version, &k.client, &name, &position, &exempt, &sum.Calls7, &sum.Calls30, &sum.Calls90}, func() {
			if !q.hits(lifecycle.Recorded(name, position, exempt)) {
				return
			}
			if report.Matching >= (page-1)*per && len(keys) < per {
				keys = append(keys, k)
			}
			report.Matching++
			distinct[k.client] = struct{}{}
			report.Distinct = len(distinct)
			report.Sum.Calls7 += sum.Calls7
			report.Sum.Calls30 += sum.Calls30
			report.Sum.Calls90 += sum.Calls90
		})
	return keys
}

// sums adds up the calls of clients.
const sums = "cast(coalesce(sum(c.calls7), 0) as bigint), cast(coalesce(sum(c.calls30), 0) as bigint), " +
	"cast(coalesce(sum(c.calls90), 0) as bigint)"

// load reads what a report says about some clients, in the given order.
func (r *Reader) load(db *store.Session, keys []clientKey, at time.Time) []Client {
	clients := make([]Client, len(keys))
	place := make(map[clientKey]*Client, len(keys))
	lists := map[string][]int64{}
	for i, k := range keys {
		place[k] = &clients[i]
		lists[k.version] = append(lists[k.version], k.client)
	}
	for version, ids := range lists {
		r.loadClients(db, version, ids, place)
		loadFindings(db, version, ids, place)
		loadDays(db, version, ids, at, place)
	}
	for i := range clients {
		slices.SortFunc(clients[i].Findings, worstFirst)
	}
	return clients
}

// loadClients reads the rows of some clients of a version.
func (r *Reader) loadClients(db *store.Session, version string, ids []int64, place map[clientKey]*Client) {
	var id, first, last, last410, rehearsed, found, moved, kind int64
	var row Client
	db.Each(`select c.client, n.name, n.software, c.first_seen, c.last_seen, c.last_410, c.last_rehearsal,
		c.position, c.exempt = 1, c.proven, c.claimed, c.kind, c.calls7, c.calls30, c.calls90, c.found,
		coalesce(m.last_served, 0), case when n.trace = 0 then '' else coalesce((`+movedAs(r.Current)+`), '') end
		from usage_clients as c join usage_names as n on n.id = c.client
		left join usage_clients as m on m.client = c.client and m.version = $1 and `+among("m.client", ids)+`
		where c.version = $2 and `+among("c.client", ids)+" and "+among("n.id", ids), []any{r.Current, version},
		[]any{&id, &row.Client, &row.Software, &first, &last, &last410, &rehearsed,
			&row.Position, &row.Exempt, &row.Proven, &row.Claimed, &kind,
			&row.Calls7, &row.Calls30, &row.Calls90, &found, &moved, &row.MovedAs}, func() {
			to := place[clientKey{version, id}]
			if to == nil {
				return
			}
			c := row
			c.Version = version
			c.Days = make([]DayCount, 0, store.ReportDays)
			c.Findings = []FindingCount{}
			c.FirstSeen = unix(first)
			c.LastSeen = unix(last)
			c.Last410 = unix(last410)
			c.Rehearsed = unix(rehearsed)
			c.Found = unix(found * day)
			c.Known = kind == store.KnownKind
			c.Address = kind == store.AddressKind
			if moved > last && version != r.Current {
				c.Moved = unix(moved)
			}
			r.addContact(&c)
			if c.HasMoved() || version == r.Current {
				c.MovedAs = ""
			}
			*to = c
		})
}

// addContact adds what the operator has written down about a client.
func (r *Reader) addContact(c *Client) {
	written, known := r.WrittenDown(c.Client)
	if !known {
		return
	}
	c.Contact = Contact{Contact: written.Contact, Notes: written.Notes, Notified: written.Notified.Time()}
	if written.Moved.Holds(c.LastSeen) && c.Version != r.Current {
		c.Marked = written.Moved
	}
}

// unix is a time, or none.
func unix(t int64) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.Unix(t, 0).UTC()
}

// loadFindings reads the latest findings of some clients.
func loadFindings(db *store.Session, version string, ids []int64, place map[clientKey]*Client) {
	var id int64
	var f FindingCount
	db.Each(`select f.client, f.finding, f.code, f.param, f.calls from usage_findings as f
		join usage_clients as c on c.version = f.version and c.client = f.client and c.found = f.day
		where f.version = $1 and `+among("f.client", ids)+" and "+among("c.client", ids), []any{version},
		[]any{&id, &f.Outcome, &f.Code, &f.Param, &f.Calls}, func() {
			if c := place[clientKey{version, id}]; c != nil {
				c.Findings = append(c.Findings, f)
			}
		})
}

// among is a condition that some clients meet: that they are in a list or, if that has
// few others, in a range, which is quicker to look up. It is given for every table of a
// query: PostgreSQL does not see that it follows for the tables that are joined, and would
// read all of them.
func among(column string, ids []int64) string {
	first, last := slices.Min(ids), slices.Max(ids)
	if last-first < 4*int64(len(ids)) {
		return fmt.Sprintf("%s >= %d and %s <= %d", column, first, column, last)
	}
	return column + " in (" + store.List(ids) + ")"
}

// loadDays reads the days of some clients. The table is in the order of days and then
// of clients, so that of each day these clients are looked up. The clients of a day come
// as one text, in no order, a number for each, of which the calls are the last 40 bits: a
// row for each, two numbers, or putting them in order would take several times as long.
func loadDays(t *store.Session, version string, ids []int64, at time.Time, place map[clientKey]*Client) {
	today, first := at.Unix()/day, slices.Min(ids)
	clients := make(map[int64]*Client, len(ids)) // found more quickly than by version and number
	for _, id := range ids {
		clients[id-first] = place[clientKey{version, id}]
	}
	var on int64
	var text string
	number := fmt.Sprintf("(u.client - %d) * %d + u.served + u.brownout + u.retired", first, int64(1)<<callBits)
	t.Each(store.EachDay+` select day, coalesce((select string_agg(cast(`+number+` as text), ' ') from usage_days as u
		where u.day = days.day and u.version = $3 and `+among("u.client", ids)+`), '') from days order by day`,
		[]any{today - store.ReportDays + 1, today, version}, []any{&on, &text}, func() {
			for text != "" {
				var n int64
				n, text = store.NextNumber(text)
				calls := uint64(n & (1<<callBits - 1))
				if c := clients[n>>callBits]; c != nil && calls > 0 {
					c.Days = append(c.Days, DayCount{Day(on * day), calls})
				}
			}
		})
}

const callBits = 40

// Traffic is the calls of clients that have something in common.
type Traffic struct {
	Name    string `json:"name"` // of the software or the integrator; empty if they have none
	Clients int    `json:"clients"`
	Sum
}

const maxTraffic = 100

// Traffic adds up the clients that match a query by their "software", or "client" by
// client over all its versions. Those with the most calls of 30 days come first, at
// most 100.
func (r *Reader) Traffic(ctx context.Context, q Query, by string) ([]Traffic, error) {
	column := map[string]string{"software": "n.software", "client": "n.name"}[by]
	if column == "" {
		return nil, fmt.Errorf("%.40q is neither software nor client", by)
	}
	if err := r.Writer.Flush(ctx); err != nil {
		return nil, err
	}
	all := []Traffic{}
	q.Sort = "name" // which joins the names
	db := r.DB.AskPages(ctx)
	r.prepare(db, &q)
	from, where, args := q.sql(r.Current)
	var t Traffic
	query := fmt.Sprintf("select %s, count(*), %s from %s where %s "+
		"group by %[1]s order by 4 desc, 2 desc, 1 limit %[5]d", column, sums, from, where, maxTraffic)
	db.Each(query, args, []any{&t.Name, &t.Clients, &t.Calls7, &t.Calls30, &t.Calls90}, func() { all = append(all, t) })
	return all, db.Err
}

// WriteCSV writes the clients that match a query, one a line, with a column for each
// day. They come in the order in which they were first seen, version by version, and
// few at a time are in memory. An error before the first line leaves out untouched.
func (r *Reader) WriteCSV(ctx context.Context, q Query, out io.Writer) error {
	const chunk = 1000
	at, err := r.UpToDate(ctx)
	if err != nil {
		return err
	}
	w := csv.NewWriter(out)
	header := []string{
		"version", "client", "known", "contact", "notes", "software", "firstSeen", "lastSeen",
		"calls7", "calls30", "calls90", "proven", "claimed", "position", "exempt", "last410", "lastRehearsal",
		"moved", "movedAs", "markedMoved", "notified", "finding", "reasons", "found",
	}
	today := Day(at.Unix() / day * day)
	for d := range Day(store.ReportDays) {
		header = append(header, (today - (store.ReportDays-1-d)*day).String())
	}
	if err := w.Write(header); err != nil {
		return err
	}
	db, column := r.DB.AskPages(ctx), "''"
	r.prepare(db, &q)
	from, where, args := q.sql(r.Current)
	if q.hits != nil {
		column = "n.name"
	}
	var name string
	var position float64
	var exempt bool
	written := 0
	for _, version := range r.Versions {
		for last := int64(0); ; {
			var keys []clientKey
			read := 0
			next := fmt.Sprintf("select c.client, %s, c.position, c.exempt = 1 from %s where %s "+
				"and c.version = $%d and c.client > $%d order by c.client limit %d",
				column, from, where, len(args)+1, len(args)+2, chunk)
			db.Each(next, append(slices.Clone(args), version, last),
				[]any{&last, &name, &position, &exempt}, func() {
					read++
					if q.hits == nil || q.hits(lifecycle.Recorded(name, position, exempt)) {
						keys = append(keys, clientKey{version, last})
					}
				})
			clients := r.load(db, keys, at)
			if db.Err != nil {
				return fmt.Errorf("after %s: %w", words.Count(written, "client", "clients"), db.Err)
			}
			written += len(clients)
			for i := range clients {
				if err := w.Write(clients[i].fields(today)); err != nil {
					return err
				}
			}
			if read < chunk {
				break
			}
		}
	}
	w.Flush()
	return w.Error()
}

func (c *Client) fields(today Day) []string {
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	in := func(layout string, t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(layout)
	}
	when := func(t time.Time) string { return in(time.RFC3339, t) }
	var reasons []string
	for _, f := range c.Findings {
		reason := fmt.Sprintf("%s %s %s", f.Outcome, f.Code, f.Param)
		reasons = append(reasons, strings.Join(strings.Fields(reason), " "))
	}
	fields := []string{
		c.Version, plain(c.Client), strconv.FormatBool(c.Known), plain(c.Contact.Contact), plain(c.Notes),
		plain(c.Software), when(c.FirstSeen), when(c.LastSeen),
		number(c.Calls7), number(c.Calls30), number(c.Calls90), number(c.Proven), number(c.Claimed),
		strconv.FormatFloat(c.Position, 'f', 6, 64), strconv.FormatBool(c.Exempt), when(c.Last410), when(c.Rehearsed),
		when(c.Moved), plain(c.MovedAs), plain(c.Marked.Sentence()), in(time.DateOnly, c.Notified),
		string(c.Finding()), plain(strings.Join(reasons, "; ")), in(time.DateOnly, c.Found),
	}
	days := make([]string, store.ReportDays)
	for _, d := range c.Days {
		if i := int64(store.ReportDays-1) - int64(today-d.Day)/day; i >= 0 && i < store.ReportDays {
			days[i] = number(d.Calls)
		}
	}
	return append(fields, days...)
}

// formula is where a spreadsheet could take text that a client sent for a formula:
// at the begin, and after anything that it may take for the end of a cell.
var formula = regexp.MustCompile(`(^|[,;|\t\r\n"])(\s*)([=+\-@])`)

func plain(text string) string {
	if !strings.ContainsAny(text, ",;|\t\r\n\"") && !strings.ContainsAny(text[:min(1, len(text))], " =+-@") {
		return text // as nearly all are, without the work of a pattern
	}
	return formula.ReplaceAllString(text, "$1$2'$3")
}
