package usage

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

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// Client is what one client did on one version within 90 days. Calls are those that
// were served, or refused by a brownout or because the version is retired.
type Client struct {
	Version   string    `json:"version"`
	Client    string    `json:"client"`            // as Name gives it
	Known     bool      `json:"known"`             // to the operator, by CLIENTS_FILE
	Address   bool      `json:"address,omitempty"` // the name is made from software and a network: a client that moves has several
	Contact             // of a known client
	Software  string    `json:"software,omitempty"` // the product of its last User-Agent
	FirstSeen time.Time `json:"firstSeen"`
	LastSeen  time.Time `json:"lastSeen"`
	Sum
	Proven    uint64         `json:"proven"`                 // answered calls with a key, ever: nobody else can make them
	Claimed   uint64         `json:"claimed"`                // those without one
	Days      []DayCount     `json:"days"`                   // days with calls, in order
	Findings  []FindingCount `json:"findings"`               // of the last day on which any call was compared, the worst first
	Found     time.Time      `json:"found,omitzero"`         // that day
	Position  float64        `json:"position"`               // a brownout refuses it if this is less than the share; -1: unknown
	Exempt    bool           `json:"exempt"`                 // the plan spared it in brownouts when it last called
	Last410   time.Time      `json:"last410,omitzero"`       // the last time it was refused
	Rehearsed time.Time      `json:"lastRehearsal,omitzero"` // the last time it rehearsed a later stage
	Moved     time.Time      `json:"moved,omitzero"`         // since its last call here it was served by the current version, last at this time
}

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
	Old      string        // yes: any version but the current one
	Finding  event.Outcome // the worst one; none: nothing was compared
	Moved    string        // yes, no
	Software string
	Client   string // the exact name
	Kind     string // client, integrator, origin, agent, network
	Known    string // yes, no
	Window   string // the begin of a window of the plan, for clients that it refuses; see Choose
	Sort     string // a key of orders; known clients first if empty
	Page     int    // from 1
	Per      int    // clients a page

	hits func(lifecycle.Subject) bool
}

const (
	defaultPer = 100
	maxPer     = 1000
	maxPage    = 1_000_000
	noFinding  = "none"
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
	return []parameter{
		{"version", &q.Version, versions}, {"old", &q.Old, []string{"yes"}},
		{"finding", (*string)(&q.Finding), []string{string(event.Refused), string(event.DifferentMoney), string(event.SameMoney), noFinding}},
		{"moved", &q.Moved, []string{"yes", "no"}}, {"software", &q.Software, nil}, {"client", &q.Client, nil}, {"kind", &q.Kind, kinds},
		{"known", &q.Known, []string{"yes", "no"}}, {"window", &q.Window, nil}, {"sort", &q.Sort, slices.Sorted(maps.Keys(orders))[1:]},
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
	return fmt.Errorf("window %.40q is not the begin of a window of the version; give the version, and a time as the plan has it", q.Window)
}

// sql is what a query asks of the database: the tables, and the condition with its
// arguments.
func (q Query) sql(current string) (from, where string, args []any) {
	from, where = "usage_clients as c", "c.calls90 > 0"
	if q.Client != "" {
		where = "c.last_seen > 0" // any call
	}
	if q.Software != "" || q.Client != "" || q.Kind != "" || q.Sort == "name" || q.hits != nil {
		from += " join usage_names as n on n.id = c.client"
	}
	if q.Moved != "" {
		from += " left join usage_clients as m on m.client = c.client and m.version <> c.version and m.version = '" + strings.ReplaceAll(current, "'", "''") + "'"
	}
	for _, c := range []struct {
		given, condition string
		arg              any
	}{
		{q.Version, "c.version = ", q.Version},
		{q.Old, "c.version <> ", current},
		{string(q.Finding), "c.worst = ", max(0, slices.Index(gravity, q.Finding))},
		{q.Known, "case when c.kind = 1 then 'yes' else 'no' end = ", q.Known},
		{q.Software, "n.software = ", q.Software},
		{q.Client, "n.name = ", q.Client},
		{q.Kind, "n.name like ", q.Kind + " %"},
		{q.Moved, "case when coalesce(m.last_served, 0) > c.last_seen then 'yes' else 'no' end = ", q.Moved},
	} {
		if c.given != "" {
			args = append(args, c.arg)
			where += " and " + c.condition + "$" + strconv.Itoa(len(args))
		}
	}
	return from, where, args
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
	db := r.db.askPages(ctx)
	keys := r.find(db, q, per, page, report)
	if db.err != nil {
		return db.err
	}
	report.Pages = max(1, (report.Matching+per-1)/per)
	if report.Page = min(page, report.Pages); report.Page < page {
		q.Page = report.Page
		return r.readPage(ctx, q, at, report)
	}
	report.Clients = r.load(db, keys, at)
	return db.err
}

// find returns the clients on a page, and counts those that match. Which clients a
// window hits is not for the database to say, so that all of them are looked at.
func (r *Reader) find(db *session, q Query, per, page int, report *Report) (keys []clientKey) {
	report.Matching, report.Distinct, report.Sum = 0, 0, Sum{}
	from, where, args := q.sql(r.current)
	order := " order by " + orders[q.Sort] + ", c.client, c.version"
	var k clientKey
	if q.hits == nil {
		db.get("select count(*), count(distinct c.client), "+sums+" from "+from+" where "+where, args,
			&report.Matching, &report.Distinct, &report.Sum.Calls7, &report.Sum.Calls30, &report.Sum.Calls90)
		db.each(fmt.Sprintf("select c.version, c.client from %s where %s%s limit %d offset %d", from, where, order, per, (page-1)*per), args,
			[]any{&k.version, &k.client}, func() { keys = append(keys, k) })
		return keys
	}
	distinct := map[int64]struct{}{}
	var name string
	var position float64
	var exempt bool
	var sum Sum
	db.each("select c.version, c.client, n.name, c.position, c.exempt = 1, c.calls7, c.calls30, c.calls90 from "+from+" where "+where+order, args,
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
			report.Sum = Sum{report.Sum.Calls7 + sum.Calls7, report.Sum.Calls30 + sum.Calls30, report.Sum.Calls90 + sum.Calls90}
		})
	return keys
}

// sums adds up the calls of clients.
const sums = "cast(coalesce(sum(c.calls7), 0) as bigint), cast(coalesce(sum(c.calls30), 0) as bigint), cast(coalesce(sum(c.calls90), 0) as bigint)"

// load reads what a report says about some clients, in the given order.
func (r *Reader) load(db *session, keys []clientKey, at time.Time) []Client {
	clients := make([]Client, len(keys))
	place := make(map[clientKey]*Client, len(keys))
	lists := map[string][]int64{}
	for i, k := range keys {
		place[k] = &clients[i]
		lists[k.version] = append(lists[k.version], k.client)
	}
	unix := func(t int64) time.Time {
		if t == 0 {
			return time.Time{}
		}
		return time.Unix(t, 0).UTC()
	}
	for version, ids := range lists {
		these := list(ids)
		var id, first, last, last410, rehearsed, found, moved, kind int64
		var row Client
		db.each(`select c.client, n.name, n.software, c.first_seen, c.last_seen, c.last_410, c.last_rehearsal, c.position, c.exempt = 1, c.proven, c.claimed, c.kind,
			c.calls7, c.calls30, c.calls90, c.found, coalesce(m.last_served, 0)
			from usage_clients as c join usage_names as n on n.id = c.client left join usage_clients as m on m.client = c.client and m.version = $1
			where c.version = $2 and c.client in (`+these+")", []any{r.current, version},
			[]any{&id, &row.Client, &row.Software, &first, &last, &last410, &rehearsed, &row.Position, &row.Exempt, &row.Proven, &row.Claimed, &kind,
				&row.Calls7, &row.Calls30, &row.Calls90, &found, &moved}, func() {
				c := row
				c.Version, c.Days, c.Findings = version, []DayCount{}, []FindingCount{}
				c.FirstSeen, c.LastSeen, c.Last410, c.Rehearsed, c.Found = unix(first), unix(last), unix(last410), unix(rehearsed), unix(found*day)
				c.Known, c.Address = kind == knownKind, kind == addressKind
				if moved > last && version != r.current {
					c.Moved = unix(moved)
				}
				if c.Known && r.known != nil {
					written, _ := r.known(c.Name())
					c.Contact = Contact{written.Contact, written.Notes}
				}
				*place[clientKey{version, id}] = c
			})
		var f FindingCount
		db.each(`select f.client, f.finding, f.code, f.param, f.calls from usage_findings as f join usage_clients as c on c.version = f.version and c.client = f.client and c.found = f.day
			where f.version = $1 and f.client in (`+these+")", []any{version}, []any{&id, &f.Outcome, &f.Code, &f.Param, &f.Calls}, func() {
			c := place[clientKey{version, id}]
			c.Findings = append(c.Findings, f)
		})
		db.loadDays(version, ids, at, place)
	}
	for i := range clients {
		slices.SortFunc(clients[i].Findings, func(a, b FindingCount) int { // the worst first, and then the most frequent
			return cmp.Or(cmp.Compare(slices.Index(gravity, b.Outcome), slices.Index(gravity, a.Outcome)), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Param, b.Param))
		})
		slices.SortFunc(clients[i].Days, func(a, b DayCount) int { return cmp.Compare(a.Day, b.Day) })
	}
	return clients
}

// list writes numbers for a query.
func list(ids []int64) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return strings.Join(texts, ", ")
}

// loadDays reads the days of some clients. The table is in the order of days and then
// of clients, so that each client of each day is looked up, or a range of clients if
// that has few others. The days of a client come as one text: a row for each would
// take several times as long.
func (t *session) loadDays(version string, ids []int64, at time.Time, place map[clientKey]*Client) {
	today := at.Unix() / day
	which := "u.client in (" + list(ids) + ")"
	if first, last := slices.Min(ids), slices.Max(ids); last-first < 4*int64(len(ids)) {
		which = fmt.Sprintf("u.client >= %d and u.client <= %d", first, last)
	}
	var id int64
	var text string
	t.each(`with recursive days(day) as (select cast($1 as bigint) union all select day + 1 from days where day < $2)
		select u.client, string_agg(cast(u.day as text) || ':' || cast(u.served + u.brownout + u.retired as text), ' ') from days cross join usage_days as u
		where u.day = days.day and u.version = $3 and `+which+` and u.served + u.brownout + u.retired > 0 group by u.client`,
		[]any{today - reportDays + 1, today, version}, []any{&id, &text}, func() {
			c := place[clientKey{version, id}]
			for one := range strings.SplitSeq(text, " ") {
				on, calls, _ := strings.Cut(one, ":")
				at, _ := strconv.ParseInt(on, 10, 64)
				n, _ := strconv.ParseUint(calls, 10, 64)
				if c != nil {
					c.Days = append(c.Days, DayCount{Day(at * day), n})
				}
			}
		})
}

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
	if err := r.flush(ctx); err != nil {
		return nil, err
	}
	all := []Traffic{}
	q.Sort = "name" // which joins the names
	from, where, args := q.sql(r.current)
	var t Traffic
	db := r.db.askPages(ctx)
	db.each(fmt.Sprintf("select %s, count(*), %s from %s where %s group by %[1]s order by 4 desc, 2 desc, 1 limit %[5]d", column, sums, from, where, maxTraffic),
		args, []any{&t.Name, &t.Clients, &t.Calls7, &t.Calls30, &t.Calls90}, func() { all = append(all, t) })
	return all, db.err
}

// WriteCSV writes the clients that match a query, one a line, with a column for each
// day. They come in the order in which they were first seen, version by version, and
// few at a time are in memory. An error before the first line leaves out untouched.
func (r *Reader) WriteCSV(ctx context.Context, q Query, out io.Writer) error {
	const chunk = 200
	at, err := r.upToDate(ctx)
	if err != nil {
		return err
	}
	w := csv.NewWriter(out)
	header := []string{"version", "client", "known", "contact", "notes", "software", "firstSeen", "lastSeen", "calls7", "calls30", "calls90", "proven", "claimed",
		"position", "exempt", "last410", "lastRehearsal", "moved", "finding", "reasons", "found"}
	today := Day(at.Unix() / day * day)
	for d := range Day(reportDays) {
		header = append(header, (today - (reportDays-1-d)*day).String())
	}
	if err := w.Write(header); err != nil {
		return err
	}
	from, where, args := q.sql(r.current)
	db, column := r.db.askPages(ctx), "''"
	if q.hits != nil {
		column = "n.name"
	}
	var name string
	var position float64
	var exempt bool
	for _, version := range r.versions {
		for last := int64(0); ; {
			var keys []clientKey
			read := 0
			db.each(fmt.Sprintf("select c.client, %s, c.position, c.exempt = 1 from %s where %s and c.version = $%d and c.client > $%d order by c.client limit %d",
				column, from, where, len(args)+1, len(args)+2, chunk), append(slices.Clone(args), version, last), []any{&last, &name, &position, &exempt}, func() {
				if read++; q.hits == nil || q.hits(lifecycle.Recorded(name, position, exempt)) {
					keys = append(keys, clientKey{version, last})
				}
			})
			clients := r.load(db, keys, at)
			if db.err != nil {
				return db.err
			}
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
		reasons = append(reasons, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", f.Outcome, f.Code, f.Param)), " "))
	}
	fields := []string{c.Version, plain(c.Client), strconv.FormatBool(c.Known), plain(c.Contact.Contact), plain(c.Notes), plain(c.Software),
		when(c.FirstSeen), when(c.LastSeen), number(c.Calls7), number(c.Calls30), number(c.Calls90), number(c.Proven), number(c.Claimed),
		strconv.FormatFloat(c.Position, 'f', 6, 64), strconv.FormatBool(c.Exempt), when(c.Last410), when(c.Rehearsed), when(c.Moved),
		string(c.Finding()), plain(strings.Join(reasons, "; ")), in(time.DateOnly, c.Found)}
	days := make([]string, reportDays)
	for _, d := range c.Days {
		if i := int64(reportDays-1) - int64(today-d.Day)/day; i >= 0 && i < reportDays {
			days[i] = number(d.Calls)
		}
	}
	return append(fields, days...)
}

// formula is where a spreadsheet could take text that a client sent for a formula:
// at the begin, and after anything that it may take for the end of a cell.
var formula = regexp.MustCompile(`(^|[,;|\t\r\n"])(\s*)([=+\-@])`)

func plain(text string) string { return formula.ReplaceAllString(text, "$1$2'$3") }
