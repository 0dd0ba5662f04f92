package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
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
	today := at.Unix() / day
	first := slices.Min(ids)
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
