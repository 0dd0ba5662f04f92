package evidence

import (
	"context"
	"slices"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
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
	Version  string            `json:"version"`
	Hour     Count             `json:"hour"`
	Day      Count             `json:"day"`
	Week     Count             `json:"week"`
	Unserved map[string]uint64 `json:"unserved"` // calls of the week: brownout, retired, rehearsed, failed
	Unnamed  uint64            `json:"unnamed"`  // calls of 90 days that are evidence and have no client
	Days     []VersionDay      `json:"days"`     // the last 90, in order, today last
	Groups   Groups            `json:"groups"`
	Findings *Findings         `json:"findings,omitempty"` // of an old version
}

// Groups are the clients that called within 90 days, by what is left to do. Moved,
// Refused, Different, Same, Uncompared and Unknown add up to Clients.
type Groups struct {
	Clients    int `json:"clients"`
	Moved      int `json:"moved"`
	Refused    int `json:"refused"`
	Different  int `json:"different"`
	Same       int `json:"same"`
	Uncompared int `json:"uncompared"`
	Unknown    int `json:"unknown,omitempty"` // with a finding that only another release knows
	Addresses  int `json:"addresses"`         // of Clients: names made from a network; one that moves has several

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
	err = r.inTurn(ctx, func(db *store.Session, at time.Time) error {
		report, err = r.report(db, q, at)
		return err
	})
	return report, err
}

func (r *Reader) report(db *store.Session, q Query, at time.Time) (Report, error) {
	read, err := r.read(db, at)
	if err != nil {
		return Report{}, err
	}
	stats := r.ReadStats(db, at, read.stats) // an instance that has died is missed at once
	report := Report{
		At: r.Now().UTC(), Since: stats.Since, Instances: stats.Instances, Versions: read.versions,
		Notes: append(append([]string{}, r.Writer.Notes()...), stats.Notes...),
	}
	r.countedBy(db, &q, at)
	report.Clients = r.load(db, read.page(&q, r, &report), at)
	return report, db.Err
}

// summarise completes the numbers of the versions.
func (r *Reader) summarise(read *reading) {
	for i := range read.versions {
		v := &read.versions[i]
		count := read.stats.Counts[v.Version]
		v.Hour, v.Day, v.Week = count[0], count[1], count[2]
		v.Unserved = read.stats.Unserved[v.Version]
		if v.Unserved == nil {
			v.Unserved = map[string]uint64{}
		}
		for _, u := range read.all {
			if u.version == i && u.sum.Calls90 > 0 {
				v.Groups.add(u, v.Version == r.Current)
			}
		}
		if r.Current != "" && v.Version != r.Current {
			v.Findings = findingsOf(read.all, i, v.Version, r.Current, v.Groups.Uncompared)
		}
	}
}

// add counts a client in its groups. On the current version nobody has to move.
func (g *Groups) add(u *usage, current bool) {
	g.Clients++
	g.Proven += uint64(u.proven)
	g.Claimed += u.sum.Calls90 - min(u.sum.Calls90, uint64(u.proven))
	if u.kind == string(caller.Agent) {
		g.Addresses++
	}
	switch {
	case current:
	case u.moved == 0 && u.marked():
		g.Marked++
	case u.moved != 0 || u.written == nil:
	case u.written.Notified != 0:
		g.Told++
	default:
		g.Untold++
	}
	switch finding := u.worst(); {
	case u.hasMoved() && !current:
		g.Moved++
	case finding == "":
		g.Uncompared++
	case finding == event.SameMoney:
		g.Same++
	case finding == event.DifferentMoney:
		g.Different++
	case finding == event.Refused:
		g.Refused++
	default:
		g.Unknown++
	}
}

// readCurves reads the days of all versions.
func (r *Reader) readCurves(db *store.Session, at time.Time) []Version {
	first := store.FirstDay(at, store.ReportDays)
	all := make([]Version, len(r.Versions))
	for i, version := range r.Versions {
		all[i].Version = version
		for d := range int64(store.ReportDays + 1) {
			all[i].Days = append(all[i].Days, VersionDay{Day: Day((first + d) * day)})
		}
	}
	// A day or a version that is not shown is thrown away.
	of := func(version string, on int64) (*Version, *VersionDay) {
		i := slices.Index(r.Versions, version)
		if i < 0 || on < first || on > first+store.ReportDays {
			return &Version{}, &VersionDay{}
		}
		return &all[i], &all[i].Days[on-first]
	}
	var on int64
	var version, what string
	var calls, unnamed, clients uint64
	db.Each(`select hour / 86400 as day, version, outcome, cast(sum(calls) as bigint), cast(sum(unnamed) as bigint)
		from quotegate_totals where hour >= $1 group by day, version, outcome`, []any{first * day},
		[]any{&on, &version, &what, &calls, &unnamed}, func() {
			v, d := of(version, on)
			switch what {
			case store.Served:
				d.Served += calls
				v.Unnamed += unnamed
			case store.Brownout:
				d.Refused += calls
				v.Unnamed += unnamed
			case store.Retired:
				d.Refused += calls
			}
		})
	for _, version := range r.Versions {
		db.Each(`select day, count(*) from quotegate_days
			where version = $1 and day >= $2 and served + brownout + retired > 0 group by day`,
			[]any{version, first}, []any{&on, &clients}, func() {
				_, d := of(version, on)
				d.Clients = clients
			})
	}
	return all
}
