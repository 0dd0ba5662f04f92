package usage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/words"
)

// The recorder is what the gates of a plan look at.
var _ lifecycle.Usage = (*Recorder)(nil)

const (
	askTimeout  = 5 * time.Second // for a question of a gate
	maxSkew     = time.Minute     // between two clocks that agree
	maxWaiting  = 10              // clients that are named as waiting
	waitingFor  = 5 * time.Minute // how long those are remembered
	maxGaps     = 3               // that are described one by one
	missedWrite = 4               // so many writes missed, and an instance is not heard of
)

// Evidence adds up the calls of the last days that were served or that a brownout
// refused. Days are whole clock hours counted back from now, by the database's
// clock, so that the span begins up to an hour earlier than asked. Evidence is
// incomplete while counts cannot be written.
func (r *Reader) Evidence(version string, days int) (e lifecycle.Evidence) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	q := r.db.ask(ctx)
	q.err = r.away()
	at := q.now(r.now())
	from := windowStart(at, time.Duration(days)*24*time.Hour)
	q.get(`select
		(select count(*) from usage_clients where version = $1 and last_call >= $2),
		(select coalesce(max(calls), 0) from (
			select sum(calls) as calls from usage_totals
			where version = $1 and outcome in ('served', 'brownout') and began >= $2
			group by case when (began - $2) / 86400 < $3 then (began - $2) / 86400 else $3 - 1 end
		) as days)`, []any{version, from, days}, &e.Clients, &e.Calls)
	e.Waiting, e.WaitingCount = r.waiting(q, version, at, from)
	if e.Missing = r.missing(q, version, at, from); q.err != nil {
		e.Missing = "the counts cannot be read: " + q.err.Error()
	}
	return e
}

type waitingClients struct {
	at    time.Time
	names []string
	count int
}

// waiting finds the clients of the last 90 days that have not moved and did not call
// since a time. It takes long with many clients, so the answer is remembered.
func (r *Reader) waiting(q *session, version string, at time.Time, since int64) ([]string, int) {
	key := fmt.Sprint(version, " ", (at.Unix()-since)/day)
	r.mu.Lock()
	kept, ok := r.waits[key]
	r.mu.Unlock()
	if ok && at.Sub(kept.at).Abs() < waitingFor {
		return kept.names, kept.count
	}
	kept = waitingClients{at: at}
	var name string
	q.each(`select n.name, count(*) over () from usage_clients as c join usage_names as n on n.id = c.client
		left join usage_clients as m on m.client = c.client and m.version = $1 and m.version <> c.version
		where c.version = $2 and c.last_call < $3 and c.last_call >= $4 and coalesce(m.last_served, 0) <= c.last_call
		order by c.kind <> 1, c.calls90 desc, c.client limit $5`, []any{r.current, version, since, at.Unix() - reportDays*day, maxWaiting}, []any{&name, &kept.count},
		func() { kept.names = append(kept.names, name) })
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.err == nil {
		r.waits[key] = kept
	}
	return kept.names, kept.count
}

// missing says what the counts of a version since a time leave out; of all versions
// if none is named. It is empty if they are complete.
func (r *Reader) missing(q *session, version string, at time.Time, from int64) string {
	reasons := r.uncovered(q, from, at.Unix())
	var instance, host string
	var written int64
	q.each("select instance, host, written from usage_instances where stopped = 0 and instance <> $1 and written < $2 - $3 * every order by written",
		[]any{r.instance, at.Unix(), missedWrite}, []any{&instance, &host, &written}, func() {
			reasons = append(reasons, fmt.Sprintf("%s has not been heard of since %s", instanceName(instance, host), stamp(written)))
		})
	return strings.Join(slices.Concat(reasons, q.unnamed(version, from, ""), q.gaps(from)), "; ")
}

// unnamed notes how many calls of a version, which are evidence, count under no client
// of their own.
func (t *session) unnamed(version string, from int64, prefix string) []string {
	var n int64
	t.get(`select cast(coalesce(sum(unnamed), 0) as bigint) from usage_totals
		where ($1 = '' or version = $1) and outcome in ('served', 'brownout') and began >= $2`, []any{version, from}, &n)
	if n == 0 {
		return nil
	}
	return []string{prefix + words.Count(n, "call has no client of its own", "calls have no client of their own") + ", because there were more clients than are counted apart"}
}

// uncovered says in which hours nothing was recorded: the service was not up, or its
// counts were not written, or a backup was restored.
func (r *Reader) uncovered(q *session, from, to int64) (reasons []string) {
	var since, began int64
	q.get("select cast(value as bigint) from usage_meta where name = 'since'", nil, &since)
	expected := from - from%hour + hour // the span begins up to an hour earlier than asked
	if since > expected {
		reasons, expected = append(reasons, "calls are counted only since "+stamp(since)), since-since%hour
	}
	holes := 0
	hole := func(until int64) {
		if until <= expected {
			return
		}
		if holes++; holes <= maxGaps {
			reasons = append(reasons, fmt.Sprintf("no counts from %s to %s", words.Moment(time.Unix(expected, 0)), words.Moment(time.Unix(until, 0))))
		}
	}
	q.each("select began from usage_hours where began >= $1 and began < $2 order by began", []any{expected, to}, []any{&began}, func() {
		hole(began)
		expected = began + hour
	})
	hole(to - to%hour)
	if holes > maxGaps {
		reasons = append(reasons, fmt.Sprintf("no counts in %s after that", words.Count(holes-maxGaps, "span", "spans")))
	}
	return reasons
}

// Released returns when the gate of a version let a sunset pass.
func (r *Reader) Released(version string, sunset time.Time) (time.Time, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	q := r.db.ask(ctx)
	var at int64
	var released time.Time
	q.each("select released from usage_releases where version = $1 and sunset = $2", []any{version, sunset.Unix()}, []any{&at}, func() { released = time.Unix(at, 0).UTC() })
	return released, q.err
}

// Release records that the gate of a version lets a sunset pass. It refuses if a
// clock may be wrong: ours is not the database's, or that of another instance is not.
func (r *Recorder) Release(version string, sunset time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	q := r.db.ask(ctx)
	at := q.now(r.now())
	instances := r.instances(q, at)
	if q.err != nil {
		return q.err
	}
	if ahead := r.now().Sub(at); ahead.Abs() > maxSkew {
		return fmt.Errorf("this machine's clock is %s the database's", aheadOrBehind(ahead))
	}
	if at.Before(sunset) {
		return fmt.Errorf("by the database's clock the sunset comes in %s", words.Span(sunset.Sub(at)))
	}
	heard := false
	for _, i := range instances {
		if i.ahead.Abs() > maxSkew {
			return fmt.Errorf("the clock of %s is %s the database's", i.Name, aheadOrBehind(i.ahead))
		}
		heard = heard || i.instance == r.instance
	}
	if !heard { // a file has no clock: what was written last is its time
		return errors.New("the clock has gone on since the last counts were written, and may be wrong")
	}
	q.exec("insert into usage_releases (version, sunset, released) values ($1, $2, $3) on conflict (version, sunset) do nothing", version, sunset.Unix(), at.Unix())
	return q.err
}

// Instance is a running service that writes to the database.
type Instance struct {
	Name    string    `json:"name"`
	Plan    string    `json:"plan"` // the hash of the plan it follows; empty without one
	Written time.Time `json:"written"`

	instance string
	starting bool          // it has not read its plan yet
	ahead    time.Duration // its clock, of the database's
}

// instances are those that were heard of lately. One that has not read its plan yet
// is left out.
func (r *Reader) instances(q *session, at time.Time) []Instance {
	all := []Instance{}
	var i Instance
	var host string
	var written, ahead int64
	q.each(`select instance, host, plan, written, ahead from usage_instances
		where stopped = 0 and written >= $1 - 12 * every and (plan <> $2 or instance = $3) order by host, instance`,
		[]any{at.Unix(), notYet, r.instance}, []any{&i.instance, &host, &i.Plan, &written, &ahead}, func() {
			i.Name, i.Written, i.ahead = instanceName(i.instance, host), time.Unix(written, 0).UTC(), time.Duration(ahead)*time.Second
			if i.starting = i.Plan == notYet; i.starting {
				i.Plan = ""
			}
			all = append(all, i)
		})
	return all
}

// instanceName is how an operator knows an instance: by its host and, since a host
// may run several, the beginning of its number.
func instanceName(instance, host string) string {
	const enough = 6
	if host == "" {
		return "instance " + instance[:min(enough, len(instance))]
	}
	return fmt.Sprintf("instance %s (%s)", host, instance[:min(enough, len(instance))])
}

// windows are the times over which calls are added up.
var windows = [3]struct {
	name string
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

// stats are numbers that are needed too often to query the database each time.
type stats struct {
	since     time.Time
	instances []Instance
	notes     []string
	counts    map[string][len(windows)]Count // by version
	unserved  map[string]map[string]uint64   // calls of a week, by version and outcome
	bytes     int64
	plans     int // different ones that the instances follow
}

// readStats reads the stats from the database, or takes the counts from the last
// ones. A client counts in a window if its last call is in it.
func (r *Reader) readStats(q *session, at time.Time, last *stats) (*stats, error) {
	s := &stats{counts: map[string][len(windows)]Count{}, unserved: map[string]map[string]uint64{}}
	if last != nil {
		s.counts, s.unserved = last.counts, last.unserved
	} else {
		r.readCounts(q, at, s)
	}
	var began, gapEnd, newest int64
	q.get(`select cast(value as bigint), (select coalesce(max(ended), 0) from usage_gaps), (select coalesce(max(began), 0) from usage_hours)
		from usage_meta where name = 'since'`, nil, &began, &gapEnd, &newest)
	day := windowStart(at, windows[1].span)
	s.since, s.bytes, s.instances = time.Unix(max(began, gapEnd), 0), q.size(), r.instances(q, at)
	s.notes = q.unnamed("", day, "of the last day, ")
	if ahead := time.Unix(newest, 0).Sub(at); ahead > maxSkew {
		s.notes = append(s.notes, fmt.Sprintf("counts were recorded at %s, which is %s from now: a clock was wrong", stamp(newest), words.Span(ahead)))
	}
	if s.bytes > r.db.most/10*8 {
		s.notes = append(s.notes, fmt.Sprintf("the database takes %s MB; from %s MB on counts are given up", words.Number(s.bytes>>20), words.Number(r.db.most>>20)))
	}
	r.compare(s)
	s.notes = append(s.notes, q.gaps(day)...)
	return s, q.err
}

func (r *Reader) readCounts(q *session, at time.Time, s *stats) {
	hour, day, week := windowStart(at, windows[0].span), windowStart(at, windows[1].span), windowStart(at, windows[2].span)
	var version, what string
	var calls [len(windows)]uint64
	q.each(`select version, outcome, cast(sum(case when began >= $1 then calls else 0 end) as bigint),
		cast(sum(case when began >= $2 then calls else 0 end) as bigint), cast(sum(calls) as bigint)
		from usage_totals where began >= $3 and began <= $4 group by version, outcome`, []any{hour, day, week, at.Unix()}, []any{&version, &what, &calls[0], &calls[1], &calls[2]}, func() {
		if s.unserved[version] == nil {
			s.unserved[version] = map[string]uint64{}
		}
		if what == outcomeNames[served] {
			s.counts[version] = [len(windows)]Count{{Calls: calls[0]}, {Calls: calls[1]}, {Calls: calls[2]}}
		} else {
			s.unserved[version][what] = calls[2]
		}
	})
	for _, version := range r.versions {
		counts := s.counts[version]
		q.get(`select coalesce(sum(case when last_call >= $1 then 1 else 0 end), 0), coalesce(sum(case when last_call >= $2 then 1 else 0 end), 0), count(*)
			from usage_clients where version = $3 and last_call >= $4 and last_call <= $5`, []any{hour, day, version, week, at.Unix()},
			&counts[0].Clients, &counts[1].Clients, &counts[2].Clients)
		s.counts[version] = counts
	}
}

// compare notes which instances follow different plans, have other clocks, or write to
// a file that is for one process.
func (r *Reader) compare(s *stats) {
	var follows []string
	plans, others := map[string]bool{}, 0
	for _, i := range s.instances {
		if !i.starting {
			plans[i.Plan] = true
			follows = append(follows, i.Name+" follows "+cmp.Or(i.Plan, "no plan"))
		}
		if i.ahead.Abs() > maxSkew {
			s.notes = append(s.notes, fmt.Sprintf("the clock of %s is %s the database's: there, stages change at another time", i.Name, aheadOrBehind(i.ahead)))
		}
		if i.instance != r.instance && !r.started.IsZero() && i.Written.After(r.started) {
			others++
		}
	}
	if s.plans = len(plans); s.plans > 1 {
		s.notes = append(s.notes, "instances follow different plans, so that a client is refused by one and served by another: "+strings.Join(follows, ", "))
	}
	if others > 0 && !r.db.shared {
		s.notes = append(s.notes, "another process writes to the same SQLite file: give each its own, or use PostgreSQL")
	}
}

// gaps describes the gaps that end after a time, the latest first.
func (t *session) gaps(after int64) (notes []string) {
	var began, ended int64
	var reason string
	t.each("select began, ended, reason from usage_gaps where ended >= $1 order by ended desc, began desc", []any{after}, []any{&began, &ended, &reason}, func() {
		notes = append(notes, fmt.Sprintf("calls between %s and %s are missing: %s", stamp(began), stamp(ended), reason))
	})
	if len(notes) > maxGaps {
		notes = append(notes[:maxGaps], fmt.Sprintf("calls are missing in %s before", words.Count(len(notes)-maxGaps, "gap", "gaps")))
	}
	return notes
}

func stamp(unix int64) string { return words.Stamp(time.Unix(unix, 0)) }
