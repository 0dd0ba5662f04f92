package usage

import (
	"context"
	"database/sql"
	"time"

	"golang.org/x/sync/errgroup"
)

// Report says who calls which version, and what the current version would answer.
type Report struct {
	At        time.Time  `json:"at"`
	Since     time.Time  `json:"since"`     // the counts are complete since then
	Instances []Instance `json:"instances"` // running now
	Notes     []string   `json:"notes"`     // what the numbers do not include, and what is wrong
	Versions  []Version  `json:"versions"`
	Clients   []Client   `json:"clients"` // one page of those that match the query
	Matching  int        `json:"matching"`
	Page      int        `json:"page"`
	Pages     int        `json:"pages"`
}

// Version is the usage of one version. Hour, day and week count served calls.
type Version struct {
	Version  string           `json:"version"`
	Hour     Count            `json:"hour"`
	Day      Count            `json:"day"`
	Week     Count            `json:"week"`
	Unserved map[string]Count `json:"unserved"`           // of the week: brownout, retired, rehearsed, failed
	Days     []VersionDay     `json:"days"`               // the last 90, in order, today last
	Findings *Findings        `json:"findings,omitempty"` // of an old version
}

// VersionDay is one day of a version.
type VersionDay struct {
	Day     Day    `json:"day"`
	Served  uint64 `json:"served"`
	Refused uint64 `json:"refused"` // by a brownout, or because the version is retired
	Clients uint64 `json:"clients"` // that called, served or refused
}

// Report reads one page of the clients that match a query, and the numbers of every
// version.
func (r *Reader) Report(ctx context.Context, q Query) (Report, error) {
	s, err := r.readStats(ctx)
	if err != nil {
		return Report{}, err
	}
	return r.report(ctx, q, s)
}

func (r *Reader) report(ctx context.Context, q Query, s *stats) (Report, error) {
	now := r.now()
	report := Report{At: now.UTC(), Since: s.since.UTC(), Instances: s.instances, Notes: append([]string{}, s.notes...), Versions: []Version{}}
	var findings map[string]*Findings
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) { findings, err = r.findings(reading, now, s.since); return err })
	defer func() { _ = group.Wait() }() // an error that matters is returned below
	activities, err := r.activities(ctx)
	if err != nil {
		return Report{}, err
	}
	clients, err := r.clients(ctx, now, activities)
	if err != nil {
		return Report{}, err
	}
	days, err := r.days(ctx, now, activities)
	if err != nil {
		return Report{}, err
	}
	if err := group.Wait(); err != nil {
		return Report{}, err
	}
	for _, version := range r.versions {
		count := s.served(version)
		v := Version{Version: version, Hour: count[0], Day: count[1], Week: count[2], Unserved: map[string]Count{}, Days: days[version], Findings: findings[version]}
		for _, what := range []string{brownout, retired, rehearsed, failed} {
			v.Unserved[what] = s.counts[versionOutcome{version, what}][2]
		}
		report.Versions = append(report.Versions, v)
	}
	q.page(&report, clients)
	return report, nil
}

// days returns the days of every version.
func (r *Reader) days(ctx context.Context, now time.Time, activities map[versionClient]activity) (map[string][]VersionDay, error) {
	first := now.Unix() - now.Unix()%day - (reportDays-1)*day
	all := map[string][]VersionDay{}
	for _, version := range r.versions {
		for d := range int64(reportDays) {
			all[version] = append(all[version], VersionDay{Day: Day(first + d*day)})
		}
	}
	at := func(version string, when int64) *VersionDay {
		days, i := all[version], (when-first)/day
		if when < first || i >= int64(len(days)) {
			return &VersionDay{} // not shown
		}
		return &days[i]
	}
	for who, a := range activities {
		for _, d := range a.days {
			at(who.version, int64(d.Day)).Clients++
		}
	}
	type total struct {
		began            int64
		version, outcome string
		calls            uint64
	}
	totals, err := queryAll(ctx, r.db, func(rows *sql.Rows, t *total) error {
		return rows.Scan(&t.began, &t.version, &t.outcome, &t.calls)
	}, "select began, version, outcome, calls from usage_totals where began >= $1 and outcome in ('served', 'brownout', 'retired')", first)
	for _, t := range totals {
		if t.outcome == served {
			at(t.version, t.began).Served += t.calls
		} else {
			at(t.version, t.began).Refused += t.calls
		}
	}
	return all, err
}
