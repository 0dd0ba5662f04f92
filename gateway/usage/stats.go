package usage

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/words"
)

// windows are the times over which calls are added up.
var windows = [3]struct {
	name string
	span time.Duration
}{{"hour", time.Hour}, {"day", 24 * time.Hour}, {"week", 7 * 24 * time.Hour}}

// windowStart is the start of the first hour of a window that ends now.
func windowStart(now time.Time, span time.Duration) int64 {
	return now.Add(-span).Truncate(time.Hour).Unix()
}

type Count struct {
	Calls   uint64 `json:"calls"`
	Clients uint64 `json:"clients"`
}

// stats are numbers that are needed too often to query the database each time.
type stats struct {
	since     time.Time
	instances []Instance
	notes     []string
	counts    map[versionOutcome][len(windows)]Count
}

type versionOutcome struct{ version, outcome string }

func (s *stats) served(version string) [len(windows)]Count {
	return s.counts[versionOutcome{version, served}]
}

// plans is how many different plans the running instances follow.
func (s *stats) plans() int {
	plans := map[string]bool{}
	for _, i := range s.instances {
		plans[i.Plan] = true
	}
	return len(plans)
}

// readStats reads the stats from the database. A client counts in a window if its
// last call is in it.
func (r *Reader) readStats(ctx context.Context) (*stats, error) {
	now := r.now()
	hour, day, week := windowStart(now, windows[0].span), windowStart(now, windows[1].span), windowStart(now, windows[2].span)
	type counted struct {
		versionOutcome
		in [len(windows)]Count
	}
	counts, err := queryAll(ctx, r.db, func(rows *sql.Rows, c *counted) error {
		hour, day, week := &c.in[0], &c.in[1], &c.in[2]
		return rows.Scan(&c.version, &c.outcome, &hour.Calls, &day.Calls, &week.Calls, &hour.Clients, &day.Clients, &week.Clients)
	}, `select version, outcome,
			cast(sum(case when at >= $1 then calls else 0 end) as bigint), cast(sum(case when at >= $2 then calls else 0 end) as bigint), cast(sum(calls) as bigint),
			sum(case when at >= $1 then clients else 0 end), sum(case when at >= $2 then clients else 0 end), sum(clients)
		from (
			select version, outcome, began as at, calls, 0 as clients from usage_totals where began >= $3 and began <= $4
			union all select version, outcome, last_seen as at, 0, 1 from usage_clients where last_seen >= $3 and first_seen <= $4
		) as uses group by version, outcome`, hour, day, week, now.Unix())
	if err != nil {
		return nil, err
	}
	s := &stats{counts: map[versionOutcome][len(windows)]Count{}}
	for _, c := range counts {
		s.counts[c.versionOutcome] = c.in
	}
	var began, gapEnd int64
	var keys, crowded int
	err = r.db.QueryRowContext(ctx, `select cast(value as bigint),
		(select coalesce(max(ended), 0) from usage_gaps),
		(select count(*) from usage_clients where client = $1 and last_seen >= $2),
		(select count(*) from usage_keys where used >= $3)
		from usage_meta where name = 'since'`, clientID(otherClients), day, week).Scan(&began, &gapEnd, &crowded, &keys)
	if err != nil {
		return nil, err
	}
	s.since = time.Unix(max(began, gapEnd), 0)
	if s.instances, err = r.instances(ctx); err != nil {
		return nil, err
	}
	if crowded > 0 {
		s.notes = append(s.notes, fmt.Sprintf("calls of the last day count under %q, because there were more clients than are counted apart", otherClients))
	}
	if keys > 1 {
		s.notes = append(s.notes, fmt.Sprintf("names of the last week are hashed under %d keys, so that clients known by their address may count twice: give all instances the same USAGE_KEY, or none", keys))
	}
	s.notes = append(s.notes, s.disagreements(now)...)
	gaps, err := r.gaps(ctx, day)
	s.notes = append(s.notes, gaps...)
	return s, err
}

// disagreements says which instances follow different plans or have other clocks.
func (s *stats) disagreements(now time.Time) (notes []string) {
	if s.plans() > 1 {
		var follows []string
		for _, i := range s.instances {
			plan := "no plan"
			if i.Plan != "" {
				plan = i.Plan
			}
			follows = append(follows, i.Name+" follows "+plan)
		}
		notes = append(notes, "instances follow different plans, so that a client is refused by one and served by another: "+strings.Join(follows, ", "))
	}
	for _, i := range s.instances {
		if ahead := i.Written.Sub(now); ahead > unheardFor {
			notes = append(notes, fmt.Sprintf("the clock of %s is ahead of this one by %s: stages change at different times", i.Name, ahead.Round(time.Second)))
		}
	}
	return notes
}

// gaps describes the gaps that end after a time, the latest first.
func (r *Reader) gaps(ctx context.Context, after int64) ([]string, error) {
	const most = 3
	notes, err := queryAll(ctx, r.db, func(rows *sql.Rows, note *string) error {
		var began, ended, calls int64
		var reason string
		if err := rows.Scan(&began, &ended, &calls, &reason); err != nil {
			return err
		}
		missing := "calls"
		if calls > 0 {
			missing = words.Count(calls, "call", "calls")
		}
		*note = fmt.Sprintf("%s between %s and %s are missing: %s", missing, stamp(began), stamp(ended), reason)
		return nil
	}, "select began, ended, calls, reason from usage_gaps where ended >= $1 order by ended desc, began desc", after)
	if len(notes) > most {
		notes = append(notes[:most], fmt.Sprintf("calls are missing in %s before", words.Count(int64(len(notes)-most), "gap", "gaps")))
	}
	return notes, err
}

func stamp(unix int64) string { return words.Stamp(time.Unix(unix, 0)) }
