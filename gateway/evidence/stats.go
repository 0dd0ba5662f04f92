package evidence

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/words"
)

// Windows are the times over which calls are added up.
var Windows = [3]struct {
	Name string
	span time.Duration
}{{"hour", time.Hour}, {"day", 24 * time.Hour}, {"week", 7 * 24 * time.Hour}}

// windowStart is the start of the first hour of a window that ends at a time.
func windowStart(at time.Time, span time.Duration) int64 {
	return at.Add(-span).Truncate(time.Hour).Unix()
}

// Count is how many calls a version served in a window, and how many clients it
// served or refused by a brownout.
type Count struct {
	Calls   uint64 `json:"calls"`
	Clients uint64 `json:"clients"`
}

// Stats are numbers that are needed too often to query the database each time.
type Stats struct {
	Since     time.Time // the counts are complete since then
	Instances []Instance
	Notes     []string                       // what the numbers do not include
	Counts    map[string][len(Windows)]Count // by version
	Unserved  map[string]map[string]uint64   // calls of a week, by version and outcome
	Bytes     int64                          // of the database
	Plans     int                            // different ones that the instances follow
}

// ReadStats reads the stats from the database, or takes the counts from the last
// ones. A client counts in a window if its last call is in it.
func (r *Reader) ReadStats(q *store.Session, at time.Time, last *Stats) (*Stats, error) {
	s := &Stats{Counts: map[string][len(Windows)]Count{}, Unserved: map[string]map[string]uint64{}}
	if last != nil {
		s.Counts, s.Unserved = last.Counts, last.Unserved
	} else {
		r.readCounts(q, at, s)
	}
	var began, gapEnd, newest int64
	q.Get(`select cast(value as bigint), (select coalesce(max(ended), 0) from usage_gaps),
		(select coalesce(max(began), 0) from usage_hours)
		from usage_meta where name = 'since'`, nil, &began, &gapEnd, &newest)
	day := windowStart(at, Windows[1].span)
	s.Since = time.Unix(max(began, gapEnd), 0)
	s.Bytes = q.Size()
	s.Instances = r.instances(q, at)
	s.Notes = unnamed(q, "", day, "of the last day, ")
	if ahead := time.Unix(newest, 0).Sub(at); ahead > store.MaxSkew {
		s.Notes = append(s.Notes, fmt.Sprintf("counts were recorded at %s, which is %s from now: a clock was wrong",
			stamp(newest), words.Span(ahead)))
	}
	if s.Bytes > r.DB.Most/10*8 {
		s.Notes = append(s.Notes, fmt.Sprintf("the database takes %s MB; from %s MB on counts are given up",
			words.Number(s.Bytes>>20), words.Number(r.DB.Most>>20)))
	}
	r.compare(s)
	s.Notes = append(s.Notes, gaps(q, day)...)
	return s, q.Err
}

func (r *Reader) readCounts(q *store.Session, at time.Time, s *Stats) {
	hour := windowStart(at, Windows[0].span)
	day := windowStart(at, Windows[1].span)
	week := windowStart(at, Windows[2].span)
	var version, what string
	var calls [len(Windows)]uint64
	q.Each(`select version, outcome, cast(sum(case when began >= $1 then calls else 0 end) as bigint),
		cast(sum(case when began >= $2 then calls else 0 end) as bigint), cast(sum(calls) as bigint)
		from usage_totals where began >= $3 and began <= $4 group by version, outcome`,
		[]any{hour, day, week, at.Unix()}, []any{&version, &what, &calls[0], &calls[1], &calls[2]}, func() {
			if s.Unserved[version] == nil {
				s.Unserved[version] = map[string]uint64{}
			}
			if what == store.Served {
				s.Counts[version] = [len(Windows)]Count{{Calls: calls[0]}, {Calls: calls[1]}, {Calls: calls[2]}}
			} else {
				s.Unserved[version][what] = calls[2]
			}
		})
	for _, version := range r.Versions {
		counts := s.Counts[version]
		q.Get(`select coalesce(sum(case when last_call >= $1 then 1 else 0 end), 0),
			coalesce(sum(case when last_call >= $2 then 1 else 0 end), 0), count(*)
			from usage_clients where version = $3 and last_call >= $4 and last_call <= $5`,
			[]any{hour, day, version, week, at.Unix()},
			&counts[0].Clients, &counts[1].Clients, &counts[2].Clients)
		s.Counts[version] = counts
	}
}

// compare notes which instances follow different plans, have other clocks, or write to
// a file that is for one process.
func (r *Reader) compare(s *Stats) {
	var follows []string
	plans := map[string]bool{}
	others := 0
	for _, i := range s.Instances {
		if !i.starting {
			plans[i.Plan] = true
			follows = append(follows, i.Name+" follows "+cmp.Or(i.Plan, "no plan"))
		}
		if i.ahead.Abs() > store.MaxSkew {
			s.Notes = append(s.Notes, fmt.Sprintf("the clock of %s is %s the database's: "+
				"there, stages change at another time", i.Name, store.AheadOrBehind(i.ahead)))
		}
		if i.instance != r.Writer.Instance && !r.Writer.Started.IsZero() && i.Written.After(r.Writer.Started) {
			others++
		}
	}
	s.Plans = len(plans)
	if s.Plans > 1 {
		s.Notes = append(s.Notes, "instances follow different plans, so that a client is refused by one "+
			"and served by another: "+strings.Join(follows, ", "))
	}
	if others > 0 && !r.DB.Shared {
		s.Notes = append(s.Notes, "another process writes to the same SQLite file: "+
			"give each its own, or use PostgreSQL")
	}
}

// gaps describes the gaps that end after a time, the latest first.
func gaps(t *store.Session, after int64) (notes []string) {
	var began, ended int64
	var reason string
	t.Each("select began, ended, reason from usage_gaps where ended >= $1 order by ended desc, began desc",
		[]any{after}, []any{&began, &ended, &reason}, func() {
			notes = append(notes, fmt.Sprintf("calls between %s and %s are missing: %s",
				stamp(began), stamp(ended), reason))
		})
	if len(notes) > maxGaps {
		more := words.Count(len(notes)-maxGaps, "gap", "gaps")
		notes = append(notes[:maxGaps], fmt.Sprintf("calls are missing in %s before", more))
	}
	return notes
}

func stamp(unix int64) string { return words.Stamp(time.Unix(unix, 0)) }
