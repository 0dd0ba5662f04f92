package usage

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/shared/fault"
)

// Report says who calls which version, and what the current version would answer.
type Report struct {
	At        time.Time `json:"at"`
	Since     time.Time `json:"since"`     // the counts are complete since then
	Instances int       `json:"instances"` // running now, including this one
	Notes     []string  `json:"notes"`     // what the numbers do not include
	Versions  []Version `json:"versions"`
}

// Version is the usage of one version. Hour, day and week count served calls.
type Version struct {
	Version  string           `json:"version"`
	Hour     Count            `json:"hour"`
	Day      Count            `json:"day"`
	Week     Count            `json:"week"`
	Unserved map[string]Count `json:"unserved"`           // of the week: refused, rehearsed, failed
	Clients  []Client         `json:"clients"`            // with the most calls of the week, in order
	Findings *Findings        `json:"findings,omitempty"` // of an old version
}

// Client is one of the clients with the most calls.
type Client struct {
	Client    string         `json:"client"` // as Name gives it
	FirstSeen time.Time      `json:"firstSeen"`
	LastSeen  time.Time      `json:"lastSeen"`
	Day       uint64         `json:"day"` // calls
	Week      uint64         `json:"week"`
	Share     float64        `json:"share"`    // of the version's calls of the week, to four decimals
	Findings  []FindingCount `json:"findings"` // of the last two days, the most frequent first
}

// FindingCount is a finding and how many calls have it.
type FindingCount struct {
	Outcome gateway.Outcome `json:"outcome"`
	Code    fault.Code      `json:"code,omitempty"`
	Param   string          `json:"param,omitempty"`
	Calls   uint64          `json:"calls"`
}

const (
	maxTopClients = 50 // clients of a version that a report names
	// findingsWindow is how far back findings are read. It is short, so that a
	// client that was fixed soon disappears.
	findingsWindow = 48 * time.Hour
)

// Report writes the waiting counts and reads the report from the database.
func (r *Recorder) Report(ctx context.Context) (Report, error) {
	if err := r.write(ctx); err != nil {
		return Report{}, err
	}
	now := r.now()
	f := r.stats.Load()
	report := Report{At: now.UTC(), Since: r.Since(), Instances: max(1, f.instances), Notes: r.Notes(), Versions: []Version{}}
	clients, err := r.topClients(ctx, now)
	if err != nil {
		return Report{}, err
	}
	findings, err := r.findings(ctx, now, clients)
	if err != nil {
		return Report{}, err
	}
	for _, version := range r.versions {
		count := f.served(version)
		v := Version{Version: version, Hour: count[0], Day: count[1], Week: count[2], Unserved: map[string]Count{}, Clients: []Client{}, Findings: findings[version]}
		for _, what := range []string{refused, rehearsed, failed} {
			v.Unserved[what] = f.counts[versionOutcome{version, what}][2]
		}
		for _, c := range clients {
			if c.version == version {
				c.Share = share(c.Week, v.Week.Calls)
				v.Clients = append(v.Clients, c.Client)
			}
		}
		report.Versions = append(report.Versions, v)
	}
	return report, nil
}

// share is at most 1, even if another instance writes between the two queries.
func share(part, whole uint64) float64 {
	if part >= whole {
		return 1
	}
	return math.Round(float64(part)/float64(whole)*10_000) / 10_000
}

type versionClient struct {
	version string
	Client
}

// topClients returns the clients with the most served calls in a week, of each
// version.
func (r *Recorder) topClients(ctx context.Context, now time.Time) ([]versionClient, error) {
	return queryAll(ctx, r.db, func(rows *sql.Rows, c *versionClient) error {
		var first, last int64
		err := rows.Scan(&c.version, &c.Client.Client, &c.Day, &c.Week, &first, &last)
		c.FirstSeen, c.LastSeen, c.Findings = time.Unix(first, 0).UTC(), time.Unix(last, 0).UTC(), []FindingCount{}
		return err
	}, `select h.version, h.client, cast(day as bigint), cast(week as bigint), first_seen, last_seen from (
			select version, client, sum(calls) as week, sum(case when began >= $1 then calls else 0 end) as day,
				row_number() over (partition by version order by sum(calls) desc, client) as place
			from usage_calls where outcome = 'served' and began >= $2 and began <= $3 group by version, client
		) as h join usage_clients as c on c.version = h.version and c.client = h.client and c.outcome = 'served'
		where place <= $4 order by h.version, place`,
		windowStart(now, windows[1].span), windowStart(now, windows[2].span), now.Unix(), maxTopClients)
}
