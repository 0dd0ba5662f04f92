package evidence

import (
	"fmt"
	"time"

	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/humanize"
)

// Windows are the times over which calls are added up: the last hour and the one before,
// one day, and 7 days.
var Windows = [3]string{"hour", "day", "week"}

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
	Unserved  map[string]map[string]uint64   // calls of 7 days, by version and outcome
	Bytes     int64                          // of the database
	Plans     int                            // different ones that the instances follow
}

// ReadStats reads the stats from the database. If there are last ones, it takes their
// counts, which take long to read.
func (r *Reader) ReadStats(q *store.Session, at time.Time, last *Stats) *Stats {
	s := &Stats{Counts: map[string][len(Windows)]Count{}, Unserved: map[string]map[string]uint64{}}
	if last != nil {
		s.Counts = last.Counts
		s.Unserved = last.Unserved
	} else {
		r.countCalls(q, at, s)
		r.countClients(q, at, s)
	}
	var gapEnd int64
	q.Get("select coalesce(max(ended), 0) from quotegate_gaps where ended <= $1", []any{at.Unix()}, &gapEnd)
	s.Since = unix(max(q.Facts().Since.Unix(), gapEnd))
	s.Bytes = q.Size()
	yesterday := store.FirstDay(at, 1)
	runs := readRuns(q, yesterday*day)
	for _, i := range runs {
		if i.silent(at) && i.written > s.Since.Unix() && i.written <= at.Unix() {
			s.Since = unix(i.written)
		}
	}
	s.Instances = instances(runs, at)
	s.Notes = unnamed(q, "", yesterday, "since yesterday, ")
	if s.Bytes > r.DB.Most/10*8 {
		s.Notes = append(s.Notes, fmt.Sprintf("the database has %s MB; at %s MB the oldest counts are deleted",
			humanize.Number(s.Bytes>>20), humanize.Number(r.DB.Most>>20)))
	}
	var differ string
	s.Plans, differ = plans(runs, at)
	if differ != "" {
		s.Notes = append(s.Notes, differ+"; clients get different answers, and gates hold")
	}
	s.Notes = append(s.Notes, r.strange(runs, at)...)
	s.Notes = append(s.Notes, gaps(q, yesterday*day)...)
	return s
}

// countCalls adds up the calls of the windows.
func (r *Reader) countCalls(q *store.Session, at time.Time, s *Stats) {
	lastHour := (at.Unix()/hour - 1) * hour
	var version, what string
	var calls [len(Windows)]uint64
	q.Each(`select version, outcome, cast(sum(case when hour >= $1 then calls else 0 end) as bigint),
		cast(sum(case when hour >= $2 then calls else 0 end) as bigint), cast(sum(calls) as bigint)
		from quotegate_totals where hour >= $3 and hour <= $4 group by version, outcome`,
		[]any{lastHour, store.FirstDay(at, 1) * day, store.FirstDay(at, 7) * day, at.Unix()},
		[]any{&version, &what, &calls[0], &calls[1], &calls[2]}, func() {
			if what == store.Served {
				s.Counts[version] = [len(Windows)]Count{{Calls: calls[0]}, {Calls: calls[1]}, {Calls: calls[2]}}
				return
			}
			if s.Unserved[version] == nil {
				s.Unserved[version] = map[string]uint64{}
			}
			s.Unserved[version][what] = calls[2]
		})
}

// countClients counts the clients of the windows.
func (r *Reader) countClients(q *store.Session, at time.Time, s *Stats) {
	today := at.Unix() / day
	before := at.Add(-time.Hour).Unix()
	for _, version := range r.Versions {
		counts := s.Counts[version]
		q.Get(`select count(distinct client) from quotegate_days where version = $1
			and (day = $2 and hours & $3 <> 0 or day = $4 and hours & $5 <> 0)`,
			[]any{version, today, 1 << (at.Unix() % day / hour), before / day, 1 << (before % day / hour)},
			&counts[0].Clients)
		q.Get(`select coalesce(sum(case when last >= $1 then 1 else 0 end), 0), count(*)
			from (select client, max(day) as last from quotegate_days
			where version = $2 and day >= $3 and day <= $4 and served + brownout > 0 group by client) as c`,
			[]any{store.FirstDay(at, 1), version, store.FirstDay(at, 7), today},
			&counts[1].Clients, &counts[2].Clients)
		s.Counts[version] = counts
	}
}

// strange notes instances that are silent, counts from the future, and a file that several
// processes write to.
func (r *Reader) strange(runs []run, at time.Time) (notes []string) {
	others := 0
	for _, i := range runs {
		if i.silent(at) {
			notes = append(notes, i.silence())
		}
		if ahead := time.Unix(i.written, 0).Sub(at); ahead > store.MaxSkew {
			notes = append(notes, fmt.Sprintf("counts were recorded at %s, which is %s from now: a clock was wrong",
				moment(i.written), humanize.Span(ahead)))
		}
		if i.instance != r.Writer.Instance && i.alive(at) {
			others++
		}
	}
	if others > 0 && !r.DB.Shared && r.Writer.Instance != "" {
		notes = append(notes, "another process writes to the same SQLite file, or one was killed within the last "+
			"minutes: give each process its own file, or use PostgreSQL")
	}
	return notes
}

// unnamed notes how many calls of a version, which are evidence, count under no client
// of their own since a day; of all versions if none is named.
func unnamed(t *store.Session, version string, since int64, prefix string) []string {
	var n int64
	t.Get(`select cast(coalesce(sum(unnamed), 0) as bigint) from quotegate_totals
		where ($1 = '' or version = $1) and outcome in ('served', 'brownout') and hour >= $2`,
		[]any{version, since * day}, &n)
	if n == 0 {
		return nil
	}
	calls := humanize.Count(n, "call is not attributed to a client", "calls are not attributed to a client")
	return []string{prefix + calls +
		": the daily limit of new names, or the limit of clients between two writes, was reached"}
}
