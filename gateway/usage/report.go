package usage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
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
	contacts func(name string) (Contact, bool)
	instance string    // that reads, if it is also one that writes
	started  time.Time // when it was started

	flights singleflight.Group
	turn    chan struct{} // full while a report is read

	mu      sync.Mutex
	waits   map[waitingKey]waitingClients
	summary []Version         // of the last report; nil if counts were written since
	pages   map[string]Report // that were read since then, by query
	read    time.Time         // when
}

// summaryFor is how long counts of other instances may be left out of a report.
const summaryFor = 10 * time.Second

// Contact is what an operator has written down about a known client.
type Contact struct {
	Contact string `json:"contact,omitempty"`
	Notes   string `json:"notes,omitempty"`
}

func newReader(db *store, o Options) *Reader {
	r := &Reader{db: db, versions: slices.Clone(o.Versions), current: o.Current, now: o.Now, contacts: o.Contacts,
		turn: make(chan struct{}, 1), pages: map[string]Report{}, waits: map[waitingKey]waitingClients{}}
	if r.now == nil {
		r.now = time.Now
	}
	if r.contacts == nil {
		r.contacts = func(string) (Contact, bool) { return Contact{}, false }
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

// Close closes the database.
func (r *Reader) Close() { _ = r.db.Close() } // nothing is written

// answers is an error if the database cannot be read.
func (r *Reader) answers(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var n int
	return r.db.pages.QueryRowContext(limited, "select count(*) from usage_meta").Scan(&n)
}

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

// MarshalText writes the date.
func (d Day) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d Day) String() string { return d.Time().Format(time.DateOnly) }

// Time is the start of the day.
func (d Day) Time() time.Time { return time.Unix(int64(d), 0).UTC() }

// Report reads one page of the clients that match a query, and the numbers of every
// version.
func (r *Reader) Report(ctx context.Context, q Query) (Report, error) {
	return r.share(ctx, q, func(ctx context.Context) (Report, error) { return r.report(ctx, q) })
}

// share reads a report in its turn, once for all who ask for the same.
func (r *Reader) share(ctx context.Context, q Query, read func(context.Context) (Report, error)) (Report, error) {
	result := r.flights.DoChan(q.Values().Encode(), func() (any, error) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
		defer cancel()
		select {
		case r.turn <- struct{}{}:
			defer func() { <-r.turn }()
		case <-limited.Done():
			return Report{}, errors.New("too many reports are being read")
		}
		return read(limited)
	})
	select {
	case got := <-result:
		return got.Val.(Report), got.Err
	case <-ctx.Done():
		return Report{}, ctx.Err()
	}
}

func (r *Reader) report(ctx context.Context, q Query) (Report, error) {
	at, err := r.db.now(ctx, r.now())
	if err != nil {
		return Report{}, err
	}
	s, err := r.readStats(ctx, at, nil)
	if err != nil {
		return Report{}, err
	}
	report := Report{At: r.now().UTC(), Since: s.since.UTC(), Instances: s.instances, Notes: append([]string{}, s.notes...), Versions: []Version{}}
	summary, err := r.summarise(ctx, at)
	if err != nil {
		return Report{}, err
	}
	for _, v := range summary {
		count := s.counts[v.Version]
		v.Hour, v.Day, v.Week, v.Unserved = count[0], count[1], count[2], s.unserved[v.Version]
		if v.Unserved == nil {
			v.Unserved = map[string]uint64{}
		}
		report.Versions = append(report.Versions, v)
	}
	return report, r.page(ctx, q, at, &report)
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
	if err := errors.Join(r.addDays(ctx, from, all), r.addGroups(ctx, all), r.addFindings(ctx, all)); err != nil {
		return nil, err
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
func (r *Reader) addDays(ctx context.Context, from int64, all []Version) error {
	err := r.db.query(ctx, func(rows *sql.Rows) error {
		var at int64
		var version, what string
		var calls, unnamed uint64
		err := rows.Scan(&at, &version, &what, &calls, &unnamed)
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
		return err
	}, `select began / 86400 as day, version, outcome, cast(sum(calls) as bigint), cast(sum(unnamed) as bigint)
		from usage_totals where began >= $1 group by day, version, outcome`, from*day)
	if err != nil {
		return err
	}
	return r.db.query(ctx, func(rows *sql.Rows) error {
		var at int64
		var version string
		var clients uint64
		err := rows.Scan(&at, &version, &clients)
		_, d := dayOf(all, version, at-from)
		d.Clients = clients
		return err
	}, `select day, version, clients from usage_version_days where day >= $1
		union all select day, version, count(*) from usage_days where day >= $2 and served + brownout + retired > 0 group by day, version`, from, from+reportDays-1)
}

func (r *Reader) addGroups(ctx context.Context, all []Version) error {
	return r.db.query(ctx, func(rows *sql.Rows) error {
		var version string
		var grave, clients, addresses int
		err := rows.Scan(&version, &grave, &clients, &addresses)
		v, _ := dayOf(all, version, 0)
		g := &v.Groups
		g.Clients += clients
		g.Addresses += addresses
		switch {
		case grave < 0:
			g.Moved += clients
		case gravity[grave] == "":
			g.Uncompared += clients
		default:
			*map[string]*int{"refused": &g.Refused, "different": &g.Different, "same": &g.Same}[string(gravity[grave])] += clients
		}
		return err
	}, `select c.version, case when coalesce(m.last_served, 0) > c.last_seen then -1 else c.worst end as grave, count(*), sum(case when c.kind = 2 then 1 else 0 end)
		from usage_clients as c left join usage_clients as m on m.version = $1 and m.client = c.client and c.version <> $1
		where c.calls90 > 0 group by c.version, grave`, r.current)
}
