package usage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/words"
)

// reportDays is how many days a report covers, today included.
const reportDays = 90

// reportTimeout is for a whole report, from a database that answers.
const reportTimeout = 30 * time.Second

// Reader reads what recorders have written. One report is read at a time, and shared
// with all who ask for the same meanwhile.
type Reader struct {
	db       *store
	versions []string // in the order to show them
	current  string   // the version that findings compare with
	now      func() time.Time
	known    func(name string) (caller.Client, bool)
	instance string    // that reads, if it is also one that writes
	started  time.Time // when it was started

	flush   func(context.Context) error // has counts written before a page reads them
	failing atomic.Pointer[outage]      // nil while the database answers
	flights singleflight.Group
	turn    chan struct{} // full while a report is read

	mu      sync.Mutex
	waits   map[string]waitingClients
	summary []Version         // of the last report; nil if counts were written since
	pages   map[string]Report // that were read since then, by query
	read    time.Time         // when
}

// outage is a time in which the database accepts no counts.
type outage struct {
	since time.Time
	err   error
}

// away is an error while the database accepts no counts.
func (r *Reader) away() error {
	if f := r.failing.Load(); f != nil {
		return fmt.Errorf("the database is away since %s: %w", words.Stamp(f.since), f.err)
	}
	return nil
}

// summaryFor is how long counts of other instances may be left out of a report.
const summaryFor = 10 * time.Second

// Contact is what an operator has written down about a known client.
type Contact struct {
	Contact string `json:"contact,omitempty"`
	Notes   string `json:"notes,omitempty"`
}

func newReader(db *store, o Options) *Reader {
	r := &Reader{db: db, versions: slices.Clone(o.Versions), current: o.Current, now: o.Now, known: o.Known,
		flush: func(context.Context) error { return nil }, turn: make(chan struct{}, 1), pages: map[string]Report{}, waits: map[string]waitingClients{}}
	if r.now == nil {
		r.now = time.Now
	}
	return r
}

// ErrNothingRecorded is what Open returns if there is no database to read.
var ErrNothingRecorded = errors.New("USAGE_DB is not set, so nothing is recorded beyond the life of a process; name the database that the service writes")

// Open opens the database of a service for reading. The service may be running.
func Open(ctx context.Context, cfg Config, o Options) (*Reader, error) {
	if cfg.DB == "" {
		return nil, ErrNothingRecorded
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	db, err := openForReading(cfg)
	if err != nil {
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	db.clock = o.database
	files, err := schema.ReadDir("schema")
	number := 0 // of the last migration
	if err == nil {
		err = db.QueryRowContext(ctx, "select coalesce(max(number), 0) from usage_migrations").Scan(&number)
	}
	if err == nil && number >= len(files) {
		return newReader(db, o), nil
	}
	_ = db.Close() // nothing is written
	if db.shared && err != nil && !missingTable(err) {
		return nil, fmt.Errorf("USAGE_DB: %w", explain(err))
	}
	return nil, errors.New("USAGE_DB: no service of this release has written to the database yet")
}

func (r *Reader) Close() { _ = r.db.Close() } // nothing is written

// forget is called when counts were written.
func (r *Reader) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary, r.pages = nil, map[string]Report{}
}

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

// Sum is how many calls clients made that were served, or refused by a brownout or
// because the version is retired.
type Sum struct {
	Calls7  uint64 `json:"calls7"` // of the last 7 days, today included
	Calls30 uint64 `json:"calls30"`
	Calls90 uint64 `json:"calls90"`
}

// Version is the usage of one version. Of the current one, clients are those that the
// operator knows or that an old version has seen.
type Version struct {
	Version  string            `json:"version"`
	Hour     Count             `json:"hour"`
	Day      Count             `json:"day"`
	Week     Count             `json:"week"`
	Unserved map[string]uint64 `json:"unserved"` // calls of the week: brownout, retired, rehearsed, failed
	Unnamed  uint64            `json:"unnamed"`  // calls of 90 days, served or refused by a brownout, that have no client of their own
	Days     []VersionDay      `json:"days"`     // the last 90, in order, today last
	Groups   Groups            `json:"groups"`
	Findings *Findings         `json:"findings,omitempty"` // of an old version
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
	Addresses  int `json:"addresses"` // of Clients: names made from software and a network, of which a client that moves has several
}

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
// version, in its turn and once for all who ask for the same. A recorder writes the
// waiting counts first, also for the other questions of pages.
func (r *Reader) Report(ctx context.Context, q Query) (Report, error) {
	result := r.flights.DoChan(q.Values().Encode(), func() (any, error) {
		var report Report
		err := r.inTurn(context.WithoutCancel(ctx), func(ctx context.Context, at time.Time) (err error) {
			report, err = r.report(ctx, q, at)
			return err
		})
		return report, err
	})
	select {
	case got := <-result:
		return got.Val.(Report), got.Err
	case <-ctx.Done():
		return Report{}, ctx.Err()
	}
}

// inTurn has something be read that takes long, at the database's time.
func (r *Reader) inTurn(ctx context.Context, read func(context.Context, time.Time) error) error {
	limited, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-limited.Done():
		return cmp.Or(ctx.Err(), errors.New("too many reports are being read"))
	}
	at, err := r.upToDate(limited)
	if err != nil {
		return err
	}
	return read(limited, at)
}

// upToDate has the waiting counts be written, and returns the database's time.
func (r *Reader) upToDate(ctx context.Context) (time.Time, error) {
	if err := r.flush(ctx); err != nil {
		return time.Time{}, err
	}
	db := r.db.ask(ctx)
	at := db.now(r.now())
	return at, db.err
}

func (r *Reader) report(ctx context.Context, q Query, at time.Time) (Report, error) {
	s, err := r.readStats(r.db.ask(ctx), at, nil)
	if err != nil {
		return Report{}, err
	}
	summary, err := r.summarise(ctx, at)
	if err != nil {
		return Report{}, err
	}
	report, err := r.page(ctx, q, at)
	report.At, report.Since, report.Instances, report.Notes, report.Versions = r.now().UTC(), s.since.UTC(), s.instances, append([]string{}, s.notes...), []Version{}
	for _, v := range summary {
		count := s.counts[v.Version]
		v.Hour, v.Day, v.Week, v.Unserved = count[0], count[1], count[2], s.unserved[v.Version]
		if v.Unserved == nil {
			v.Unserved = map[string]uint64{}
		}
		report.Versions = append(report.Versions, v)
	}
	return report, err
}

// summarise reads what a report says about every version, unless it is known from
// the last one.
func (r *Reader) summarise(ctx context.Context, at time.Time) ([]Version, error) {
	r.mu.Lock()
	kept := r.summary
	if r.read.Unix()/day != at.Unix()/day || at.Sub(r.read).Abs() > summaryFor {
		kept, r.pages = nil, map[string]Report{}
	}
	r.mu.Unlock()
	if kept != nil {
		return kept, nil
	}
	all := make([]Version, len(r.versions))
	from := at.Unix()/day - reportDays + 1
	for i, version := range r.versions {
		all[i].Version = version
		for d := range int64(reportDays) {
			all[i].Days = append(all[i].Days, VersionDay{Day: Day((from + d) * day)})
		}
	}
	db := r.db.askPages(ctx)
	addDays(db, from, all)
	r.addGroups(db, all)
	r.addFindings(db, all)
	if db.err != nil {
		return nil, db.err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary, r.read = all, at
	return all, nil
}

// dayOf is the day of a version in a report. One that is not shown is thrown away.
func dayOf(all []Version, version string, day int64) (*Version, *VersionDay) {
	i := slices.IndexFunc(all, func(v Version) bool { return v.Version == version })
	if i < 0 || day < 0 || day >= reportDays {
		return &Version{}, &VersionDay{}
	}
	return &all[i], &all[i].Days[day]
}

// addDays reads the curves. Clients of today are counted, those of days that are over
// were counted before.
func addDays(db *session, from int64, all []Version) {
	var at int64
	var version, what string
	var calls, unnamed, clients uint64
	db.each(`select began / 86400 as day, version, outcome, cast(sum(calls) as bigint), cast(sum(unnamed) as bigint)
		from usage_totals where began >= $1 group by day, version, outcome`, []any{from * day}, []any{&at, &version, &what, &calls, &unnamed}, func() {
		v, d := dayOf(all, version, at-from)
		switch what {
		case outcomeNames[served]:
			d.Served += calls
			v.Unnamed += unnamed
		case outcomeNames[brownout]:
			d.Refused += calls
			v.Unnamed += unnamed
		case outcomeNames[retired]:
			d.Refused += calls
		}
	})
	db.each(`select day, version, clients from usage_version_days where day >= $1
		union all select day, version, count(*) from usage_days where day >= $2 and served + brownout + retired > 0 group by day, version`,
		[]any{from, from + reportDays - 1}, []any{&at, &version, &clients}, func() {
			_, d := dayOf(all, version, at-from)
			d.Clients = clients
		})
}

func (r *Reader) addGroups(db *session, all []Version) {
	var version string
	var grave, clients, addresses int
	db.each(`select c.version, case when coalesce(m.last_served, 0) > c.last_seen then -1 else c.worst end as grave, count(*), sum(case when c.kind = 2 then 1 else 0 end)
		from usage_clients as c left join usage_clients as m on m.version = $1 and m.client = c.client and c.version <> $1
		where c.calls90 > 0 group by c.version, grave`, []any{r.current}, []any{&version, &grave, &clients, &addresses}, func() {
		v, _ := dayOf(all, version, 0)
		g := &v.Groups
		g.Clients += clients
		g.Addresses += addresses
		*[]*int{&g.Moved, &g.Uncompared, &g.Same, &g.Different, &g.Refused}[grave+1] += clients // by gravity
	})
}

// FindingCount is a finding and how many calls have it.
type FindingCount struct {
	Outcome event.Outcome `json:"outcome"`
	Code    fault.Code    `json:"code,omitempty"`
	Param   string        `json:"param,omitempty"`
	Calls   uint64        `json:"calls"`
}

// gravity orders findings: the last is the worst.
var gravity = []event.Outcome{"", event.SameMoney, event.DifferentMoney, event.Refused}

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
func (r *Reader) addFindings(db *session, all []Version) {
	for i := range all {
		if r.current != "" && all[i].Version != r.current {
			all[i].Findings = &Findings{Successor: r.current, Reasons: []Reason{}}
		}
	}
	var version string
	var reason Reason
	var first, last int64
	db.each(`select f.version, f.finding, f.code, f.param, cast(sum(f.calls) as bigint), count(*), min(f.day), max(f.day) from `+countingFindings+`
		group by f.version, f.finding, f.code, f.param order by 5 desc, f.finding, f.code, f.param`, []any{r.current},
		[]any{&version, &reason.Outcome, &reason.Code, &reason.Param, &reason.Calls, &reason.Clients, &first, &last}, func() {
			if v, _ := dayOf(all, version, 0); v.Findings != nil {
				v.Findings.add(reason, Day(first*day).Time(), Day(last*day).Time())
			}
		})
	for i := range all {
		f := all[i].Findings
		if f == nil {
			continue
		}
		for j := range f.Reasons[:min(summaryReasons, len(f.Reasons))] {
			r.nameClients(db, all[i].Version, &f.Reasons[j])
		}
		f.Summary = f.summary(all[i].Version, all[i].Groups.Uncompared)
	}
}

// nameClients reads the clients with the most calls that have a reason.
func (r *Reader) nameClients(db *session, version string, reason *Reason) {
	var name string
	db.each(`select n.name from (select f.client, f.calls from `+countingFindings+` and f.version = $2 and f.finding = $3 and f.code = $4 and f.param = $5
		order by f.calls desc, f.client limit $6) as top join usage_names as n on n.id = top.client order by top.calls desc, n.name`,
		[]any{r.current, version, string(reason.Outcome), string(reason.Code), reason.Param, summaryClients}, []any{&name},
		func() { reason.topClients = append(reason.topClients, name) })
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
