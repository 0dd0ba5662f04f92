package evidence

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
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

	all []*Client // of 90 days, known ones first
}

// Version is the usage of one version. Of the current one, clients are those that the
// operator knows or that an old version has seen.
type Version struct {
	Version string `json:"version"`
	Traffic
	Unserved map[string]uint64 `json:"unserved"` // calls of today and the 7 days before, by outcome
	Unnamed  uint64            `json:"unnamed"`  // calls of 90 days that are evidence and have no client
	Days     []VersionDay      `json:"days"`     // the last 90, in order, today last
	Groups   Groups            `json:"groups"`
	Findings *findings         `json:"findings,omitempty"` // of an old version

	// Counted are the clients that the gate of Query.Gates counts, with its rules and marks of today, in its
	// days up to each of Days; -1: not known. Without a gate it is empty.
	Counted []int `json:"-"`
}

// Traffic is how much a version was used lately.
type Traffic struct {
	Hour Count `json:"hour"` // this one so far, and the one before
	Day  Count `json:"day"`  // this hour so far, and the 24 before
	Week Count `json:"week"` // this hour so far, and the 168 before
}

// Count is how many calls a version served or refused by a brownout, and of how many
// clients.
type Count struct {
	Calls   uint64 `json:"calls"`
	Clients uint64 `json:"clients"`
}

// Groups are the clients that called within 90 days, by what is left to do. Moved,
// Refused, Different, Same and Uncompared add up to Clients.
type Groups struct {
	Clients    int `json:"clients"`
	Moved      int `json:"moved"`
	Both       int `json:"both"` // of those that have not moved: they call the current version, too
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

// readTimeout is for a whole reading, from a database that answers.
const readTimeout = 30 * time.Second

// exclusive runs one slow read at a time, at the database's time and with all counts
// written.
func (db *DB) exclusive(ctx context.Context, read func(context.Context, time.Time) error) error {
	db.slow.Lock()
	defer db.slow.Unlock()
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if db.recorder != nil {
		db.recorder.WriteSoon(limited)
	}
	at, err := db.now(limited)
	if err == nil {
		err = read(limited, at)
	}
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return errors.New("reading the counts took more than 30 seconds: retry when the machine is less busy")
	}
	return err
}

// Report reads one page of the clients that match a query, and the numbers of every
// version.
func (db *DB) Report(ctx context.Context, q Query) (report Report, err error) {
	err = db.exclusive(ctx, func(ctx context.Context, at time.Time) error {
		stats, err := db.readStats(ctx, db.page(), at)
		if err != nil {
			return err
		}
		report = Report{
			At: db.options.Now().UTC(), Since: stats.Since, Instances: stats.Instances, Notes: []string{},
		}
		if db.recorder != nil {
			report.Notes = db.recorder.Notes()
		}
		report.Notes = append(report.Notes, stats.Notes...)
		p, err := db.page().period(ctx, at, at.Unix()/day)
		if err != nil {
			return err
		}
		report.all, err = db.readClients(ctx, p)
		if err != nil {
			return err
		}
		report.Versions, err = db.readVersions(ctx, p, report.all, q.Gates)
		if err != nil {
			return err
		}
		report.Clients, err = db.load(ctx, q.page(q.of(report.all, at), &report), at)
		return err
	})
	return report, err
}

// NotMoved are the first clients of a version that have not moved.
func (r *Report) NotMoved(version string, most int) (first []*Client) {
	for _, c := range r.all {
		if c.Version == version && c.stays() && len(first) < most {
			first = append(first, c)
		}
	}
	return first
}

// add counts a client in its groups. On the current version nobody has to move.
func (g *Groups) add(u *Client) {
	g.Clients++
	g.Proven += u.Proven
	g.Claimed += u.Calls90 - min(u.Calls90, u.Proven)
	g.Addresses += oneIf(u.Address)
	g.Both += oneIf(u.Both && u.Marked == nil)
	g.Marked += oneIf(u.Moved.IsZero() && u.Marked != nil)
	toTell := u.listed && !u.current && !u.HasMoved()
	g.Told += oneIf(toTell && !u.Notified.IsZero())
	g.Untold += oneIf(toTell && u.Notified.IsZero())
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

// readVersions reads the days of all versions, and adds what is known of their clients.
func (db *DB) readVersions(
	ctx context.Context, p period, clients []*Client, gates *lifecycle.Plan,
) ([]Version, error) {
	traffic, err := db.readTraffic(ctx, db.page(), p.at)
	if err != nil {
		return nil, err
	}
	all := make([]Version, len(db.options.Versions))
	for i, version := range db.options.Versions {
		v := &all[i]
		v.Version = version
		v.Traffic = traffic[version]
		v.Unserved = map[string]uint64{}
		for d := p.first; d <= p.last; d++ {
			v.Days = append(v.Days, VersionDay{Day: Day(d * day)})
		}
		for _, t := range p.totals {
			if t.version == version {
				v.Days[t.day-p.first].add(t)
			}
			if t.version == version && t.outcome != usage.Served.String() && t.day >= p.last-7 {
				v.Unserved[t.outcome] += uint64(t.calls)
			}
		}
		v.Unnamed = uint64(sumUnnamed(p.totals, version))
		counted, err := db.page().clientsByDay(ctx, p, version)
		if err != nil {
			return nil, err
		}
		for _, c := range counted {
			v.Days[c.day-p.first].Clients = uint64(c.clients)
		}
		for _, c := range clients {
			if c.Version == version && c.Calls90 > 0 {
				v.Groups.add(c)
			}
		}
		if db.options.Current != "" && version != db.options.Current {
			v.Findings = findingsOf(clients, version, db.options.Current, v.Groups.Uncompared)
		}
		if gates == nil || gates.Versions[version] == nil || gates.Versions[version].Gate == nil {
			continue
		}
		v.Counted, err = db.readCounted(ctx, p, version, *gates.Versions[version].Gate, clients)
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (d *VersionDay) add(t dayTotal) {
	switch t.outcome {
	case usage.Served.String():
		d.Served = uint64(t.calls)
	case usage.Brownout.String(), usage.Retired.String():
		d.Refused += uint64(t.calls)
	}
}

// readTraffic reads the traffic of all versions. An hour belongs to a time if any of it does.
func (db *DB) readTraffic(ctx context.Context, c conn, at time.Time) (map[string]Traffic, error) {
	now := at.Unix()
	lastHour := (now - hour) / hour * hour
	lastDay := (now - day) / hour * hour
	lastWeek := (now - 7*day) / hour * hour
	all := map[string]Traffic{}
	for _, version := range db.options.Versions {
		found, err := query(ctx, c, func(rows *sql.Rows) (t Traffic, err error) {
			return t, rows.Scan(&t.Hour.Calls, &t.Day.Calls, &t.Week.Calls,
				&t.Hour.Clients, &t.Day.Clients, &t.Week.Clients)
		}, "traffic", version, now, lastHour, lastDay, lastWeek)
		if err != nil {
			return nil, err
		}
		all[version] = found[0]
	}
	return all, nil
}
