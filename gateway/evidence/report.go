package evidence

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/store"
)

// Report says who calls which version, and what the current version would answer.
type Report struct {
	At        time.Time  `json:"at"`
	Since     time.Time  `json:"since"`     // the counts are complete since then
	Instances []Instance `json:"instances"` // running now
	Notes     []string   `json:"notes"`     // what the numbers do not include, and what is wrong
	Versions  []Version  `json:"versions"`
	Clients   []Client   `json:"clients"`  // one page of those that match the query
	Matching  int        `json:"matching"` // how many there are: entries of a client on a version
	Distinct  int        `json:"distinct"` // how many clients these are
	Sum       Sum        `json:"sum"`      // of their calls
	Page      int        `json:"page"`
	Pages     int        `json:"pages"`
}

// Version is the usage of one version. Of the current one, clients are those that the
// operator knows or that an old version has seen.
type Version struct {
	Version string `json:"version"`
	Traffic
	Unnamed  uint64       `json:"unnamed"` // calls of 90 days that are evidence and have no client
	Days     []VersionDay `json:"days"`    // the last 90, in order, today last
	Groups   Groups       `json:"groups"`
	Findings *findings    `json:"findings,omitempty"` // of an old version
}

// Traffic is how much a version was used lately.
type Traffic struct {
	Hour     Count             `json:"hour"` // the last one, and the one before
	Day      Count             `json:"day"`
	Week     Count             `json:"week"`
	Unserved map[string]uint64 `json:"unserved"` // calls of the week: brownout, retired, rehearsed, failed
}

// Count is how many calls a version served, and how many clients it served or refused by
// a brownout.
type Count struct {
	Calls   uint64 `json:"calls"`
	Clients uint64 `json:"clients"`
}

// Groups are the clients that called within 90 days, by what is left to do. Moved,
// Refused, Different, Same and Uncompared add up to Clients.
type Groups struct {
	Clients    int `json:"clients"`
	Moved      int `json:"moved"`
	Refused    int `json:"refused"`
	Different  int `json:"different"`
	Same       int `json:"same"`
	Uncompared int `json:"uncompared"`
	Addresses  int `json:"addresses"` // of Clients: names made from a network; one that moves has several

	Marked  int    `json:"marked"`  // of Moved: because the operator says so
	Told    int    `json:"told"`    // known clients that have not moved and were told to
	Untold  int    `json:"untold"`  // and those that were not
	Proven  uint64 `json:"proven"`  // answered calls of these clients with a key, ever
	Claimed uint64 `json:"claimed"` // and without one
}

// Still is how many clients called within 90 days and have not moved.
func (g Groups) Still() int { return g.Clients - g.Moved }

// VersionDay is one day of a version.
type VersionDay struct {
	Day     Day    `json:"day"`
	Served  uint64 `json:"served"`
	Refused uint64 `json:"refused"` // by a brownout, or because the version is retired
	Clients uint64 `json:"clients"` // that called, served or refused
}

// Day is the start of a day (UTC) in Unix seconds.
type Day int64

func (d Day) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d Day) String() string { return d.Time().Format(time.DateOnly) }

// Time is the start of the day.
func (d Day) Time() time.Time { return time.Unix(int64(d), 0).UTC() }

// Report reads one page of the clients that match a query, and the numbers of every
// version.
func (r *Reader) Report(ctx context.Context, q Query) (report Report, err error) {
	err = r.exclusive(ctx, func(db *store.Session, at time.Time) error {
		report, err = r.report(db, q, at)
		return err
	})
	return report, err
}

func (r *Reader) report(db *store.Session, q Query, at time.Time) (Report, error) {
	read, found, err := r.find(db, q, at)
	if err != nil {
		return Report{}, err
	}
	stats := r.ReadStats(db, at) // read anew, so that an instance that has died is missed at once
	report := Report{
		At: r.options.Now().UTC(), Since: stats.Since, Instances: stats.Instances, Versions: read.versions,
		Notes: append(append([]string{}, r.writer.Notes()...), stats.Notes...),
	}
	report.Clients = r.load(db, q.page(found, &report), at)
	return report, db.Err
}

// summarise adds what the clients say about the versions.
func (r *Reader) summarise(read *reading) {
	for i := range read.versions {
		v := &read.versions[i]
		for _, c := range read.all {
			if c.Version == v.Version && c.Calls90 > 0 {
				v.Groups.add(c)
			}
		}
		if r.options.Current != "" && v.Version != r.options.Current {
			v.Findings = findingsOf(read.all, v.Version, r.options.Current, v.Groups.Uncompared)
		}
	}
}

// add counts a client in its groups. On the current version nobody has to move.
func (g *Groups) add(u *Client) {
	g.Clients++
	g.Proven += u.Proven
	g.Claimed += u.Calls90 - min(u.Calls90, u.Proven)
	g.Addresses += oneIf(u.Address)
	told := !u.Notified.IsZero()
	toTell := u.listed && !u.current && !u.HasMoved()
	g.Marked += oneIf(u.Moved.IsZero() && u.Marked != nil)
	g.Told += oneIf(toTell && told)
	g.Untold += oneIf(toTell && !told)
	switch finding := u.Finding(); {
	case u.HasMoved():
		g.Moved++
	case finding == "":
		g.Uncompared++
	case finding == event.SameMoney:
		g.Same++
	case finding == event.DifferentMoney:
		g.Different++
	default:
		g.Refused++
	}
}

// readVersions reads the traffic and the days of all versions.
func (r *Reader) readVersions(db *store.Session, at time.Time) []Version {
	first, today := store.FirstDay(at, store.ReportDays), at.Unix()/day
	traffic := r.ReadTraffic(db, at)
	totals := readTotals(db, first, today)
	all := make([]Version, len(r.options.Versions))
	for i, version := range r.options.Versions {
		v := &all[i]
		v.Version = version
		v.Traffic = traffic[version]
		for d := first; d <= today; d++ {
			v.Days = append(v.Days, VersionDay{Day: Day(d * day)})
		}
		for _, t := range totals {
			if t.version != version {
				continue
			}
			d := &v.Days[t.day-first]
			switch t.outcome {
			case store.Served:
				d.Served = uint64(t.calls)
			case store.Brownout, store.Retired:
				d.Refused += uint64(t.calls)
			}
			if t.isEvidence() {
				v.Unnamed += uint64(t.unnamed)
			}
		}
		var on int64
		var clients uint64
		db.Each(`select day, count(*) from quotegate_days
			where version = $1 and day >= $2 and day <= $3 and served + brownout + retired > 0 group by day`,
			[]any{version, first, today}, []any{&on, &clients}, func() { v.Days[on-first].Clients = clients })
	}
	return all
}

// ReadTraffic reads the traffic of all versions.
func (r *Reader) ReadTraffic(q *store.Session, at time.Time) map[string]Traffic {
	all := map[string]Traffic{}
	today, yesterday := at.Unix()/day, store.FirstDay(at, 1)
	before := at.Add(-time.Hour).Unix()
	totals := readTotals(q, store.FirstDay(at, 7), today)
	for _, version := range r.options.Versions {
		t := Traffic{Unserved: map[string]uint64{}}
		for _, total := range totals {
			switch {
			case total.version != version:
			case total.outcome != store.Served:
				t.Unserved[total.outcome] += uint64(total.calls)
			case total.day >= yesterday:
				t.Day.Calls += uint64(total.calls)
				t.Week.Calls += uint64(total.calls)
			default:
				t.Week.Calls += uint64(total.calls)
			}
		}
		q.Get(`select cast(coalesce(sum(calls), 0) as bigint) from quotegate_totals
			where version = $1 and outcome = 'served' and hour >= $2 and hour <= $3`,
			[]any{version, before / hour * hour, at.Unix()}, &t.Hour.Calls)
		q.Get(`select count(distinct client) from quotegate_days where version = $1 and day >= $4 and day <= $2
			and (day = $2 and hours & $3 <> 0 or day = $4 and hours & $5 <> 0)`,
			[]any{version, today, 1 << (at.Unix() % day / hour), before / day, 1 << (before % day / hour)},
			&t.Hour.Clients)
		q.Get(`select coalesce(sum(case when last >= $1 then 1 else 0 end), 0), count(*)
			from (select client, max(day) as last from quotegate_days
			where version = $2 and day >= $3 and day <= $4 and served + brownout > 0 group by client) as c`,
			[]any{yesterday, version, store.FirstDay(at, 7), today}, &t.Day.Clients, &t.Week.Clients)
		all[version] = t
	}
	return all
}

// csvChunk is of how many clients the days are read at a time.
const csvChunk = 10_000

// WriteCSV writes the clients that match a query, one a line, with a column for each
// day, version by version. An error before the first line leaves out untouched.
func (r *Reader) WriteCSV(ctx context.Context, q Query, out io.Writer) error {
	var found []*Client
	var at time.Time
	err := r.exclusive(ctx, func(db *store.Session, now time.Time) (err error) {
		at = now
		_, found, err = r.find(db, q, at)
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b *Client) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.id, b.id))
	})
	today := Day(at.Unix() / day * day)
	w := csv.NewWriter(out)
	if err := w.Write(csvHeader(today)); err != nil {
		return err
	}
	db := r.db.AskPages(ctx)
	for some := range slices.Chunk(found, csvChunk) {
		clients := r.load(db, some, at)
		if db.Err != nil {
			return db.Err
		}
		for i := range clients {
			if err := w.Write(clients[i].fields(today)); err != nil {
				return err
			}
		}
	}
	w.Flush()
	return w.Error()
}

func csvHeader(today Day) []string {
	header := []string{
		"version", "client", "known", "contact", "notes", "software", "firstSeen", "lastSeen",
		"calls7", "calls30", "calls90", "proven", "claimed", "position", "exempt", "last410", "lastRehearsal",
		"moved", "markedMoved", "notified", "finding", "reasons", "found",
	}
	for d := range Day(store.ReportDays + 1) {
		header = append(header, (today - (store.ReportDays-d)*day).String())
	}
	return header
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
		when(c.Moved), plain(c.Marked.Sentence()), in(time.DateOnly, c.Notified),
		string(c.Finding()), plain(strings.Join(reasons, "; ")), in(time.DateOnly, c.Found),
	}
	days := make([]string, store.ReportDays+1)
	for _, d := range c.Days {
		days[store.ReportDays-int64(today-d.Day)/day] = number(d.Calls)
	}
	return append(fields, days...)
}

// formula is where a spreadsheet could take text that a client sent for a formula:
// at the start, and after anything that it may take for the end of a cell.
var formula = regexp.MustCompile(`(^|[,;|\t\r\n"])(\s*)([=+\-@])`)

func plain(text string) string {
	if !strings.ContainsAny(text, ",;|\t\r\n\"") && !strings.ContainsAny(text[:min(1, len(text))], " =+-@") {
		return text // as nearly all are, without the work of a pattern
	}
	return formula.ReplaceAllString(text, "$1$2'$3")
}
