package usage

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
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
func (r *Reader) Evidence(version string, days int) lifecycle.Evidence {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	found, err := r.evidence(ctx, version, days)
	if err != nil {
		found.Missing = "the counts cannot be read: " + err.Error()
	}
	return found
}

func (r *Reader) evidence(ctx context.Context, version string, days int) (e lifecycle.Evidence, err error) {
	if err := r.away(); err != nil {
		return e, err
	}
	at, err := r.db.now(ctx, r.now())
	if err != nil {
		return e, err
	}
	from := windowStart(at, time.Duration(days)*24*time.Hour)
	err = r.db.QueryRowContext(ctx, `select
		(select count(*) from usage_clients where version = $1 and last_call >= $2),
		(select coalesce(max(calls), 0) from (
			select sum(calls) as calls from usage_totals
			where version = $1 and outcome in ('served', 'brownout') and began >= $2
			group by case when (began - $2) / 86400 < $3 then (began - $2) / 86400 else $3 - 1 end
		) as days)`, version, from, days).Scan(&e.Clients, &e.Calls)
	if err != nil {
		return e, err
	}
	if e.Waiting, e.WaitingCount, err = r.waiting(ctx, version, at, from); err != nil {
		return e, err
	}
	e.Missing, err = r.missing(ctx, version, at, from)
	return e, err
}

type waitingClients struct {
	at    time.Time
	names []string
	count int
}

// waiting finds the clients of the last 90 days that have not moved and did not call
// since a time. It takes long with many clients, so the answer is remembered.
func (r *Reader) waiting(ctx context.Context, version string, at time.Time, since int64) ([]string, int, error) {
	key := fmt.Sprint(version, " ", (at.Unix()-since)/day)
	r.mu.Lock()
	kept, ok := r.waits[key]
	r.mu.Unlock()
	if ok && at.Sub(kept.at).Abs() < waitingFor {
		return kept.names, kept.count, nil
	}
	kept = waitingClients{at: at}
	var name string
	err := each(ctx, r.db, `select n.name, count(*) over () from usage_clients as c join usage_names as n on n.id = c.client
		left join usage_clients as m on m.client = c.client and m.version = $1 and m.version <> c.version
		where c.version = $2 and c.last_call < $3 and c.last_call >= $4 and coalesce(m.last_served, 0) <= c.last_call
		order by c.kind <> 1, c.calls90 desc, c.client limit $5`, []any{r.current, version, since, at.Unix() - reportDays*day, maxWaiting}, []any{&name, &kept.count},
		func() { kept.names = append(kept.names, name) })
	if err != nil {
		return nil, 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits[key] = kept
	return kept.names, kept.count, nil
}

// missing says what the counts of a version since a time leave out; of all versions
// if none is named. It is empty if they are complete.
func (r *Reader) missing(ctx context.Context, version string, at time.Time, from int64) (string, error) {
	reasons, err := r.uncovered(ctx, from, at.Unix())
	if err != nil {
		return "", err
	}
	var instance, host string
	var written int64
	err = each(ctx, r.db, "select instance, host, written from usage_instances where stopped = 0 and instance <> $1 and written < $2 - $3 * every order by written",
		[]any{r.instance, at.Unix(), missedWrite}, []any{&instance, &host, &written}, func() {
			reasons = append(reasons, fmt.Sprintf("%s has not been heard of since %s", instanceName(instance, host), stamp(written)))
		})
	if err != nil {
		return "", err
	}
	if err := r.unnamed(ctx, version, from, "", &reasons); err != nil {
		return "", err
	}
	gaps, err := r.gaps(ctx, from)
	return strings.Join(append(reasons, gaps...), "; "), err
}

// unnamed notes how many calls of a version, which are evidence, count under no client
// of their own.
func (r *Reader) unnamed(ctx context.Context, version string, from int64, prefix string, notes *[]string) error {
	var n int64
	err := r.db.QueryRowContext(ctx, `select cast(coalesce(sum(unnamed), 0) as bigint) from usage_totals
		where ($1 = '' or version = $1) and outcome in ('served', 'brownout') and began >= $2`, version, from).Scan(&n)
	if n > 0 {
		*notes = append(*notes, prefix+words.Count(n, "call has no client of its own", "calls have no client of their own")+", because there were more clients than are counted apart")
	}
	return err
}

// uncovered says in which hours nothing was recorded: the service was not up, or its
// counts were not written, or a backup was restored.
func (r *Reader) uncovered(ctx context.Context, from, to int64) (reasons []string, err error) {
	var since int64
	if err := r.db.QueryRowContext(ctx, "select cast(value as bigint) from usage_meta where name = 'since'").Scan(&since); err != nil {
		return nil, err
	}
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
	var began int64
	err = each(ctx, r.db, "select began from usage_hours where began >= $1 and began < $2 order by began", []any{expected, to}, []any{&began}, func() {
		hole(began)
		expected = began + hour
	})
	hole(to - to%hour)
	if holes > maxGaps {
		reasons = append(reasons, fmt.Sprintf("no counts in %s after that", words.Count(holes-maxGaps, "span", "spans")))
	}
	return reasons, err
}

// Released returns when the gate of a version let a sunset pass.
func (r *Reader) Released(version string, sunset time.Time) (time.Time, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	var at int64
	err := r.db.QueryRowContext(ctx, "select released from usage_releases where version = $1 and sunset = $2", version, sunset.Unix()).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(at, 0).UTC(), nil
}

// Release records that the gate of a version lets a sunset pass. It refuses if a
// clock may be wrong: ours is not the database's, or that of another instance is not.
func (r *Recorder) Release(version string, sunset time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	at, err := r.db.now(ctx, r.now())
	if err != nil {
		return err
	}
	if ahead := r.now().Sub(at); ahead.Abs() > maxSkew {
		return fmt.Errorf("this machine's clock is %s the database's", aheadOrBehind(ahead))
	}
	if at.Before(sunset) {
		return fmt.Errorf("by the database's clock the sunset comes in %s", words.Span(sunset.Sub(at)))
	}
	instances, err := r.instances(ctx, at)
	if err != nil {
		return err
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
	_, err = r.db.ExecContext(ctx, "insert into usage_releases (version, sunset, released) values ($1, $2, $3) on conflict (version, sunset) do nothing",
		version, sunset.Unix(), at.Unix())
	return err
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
func (r *Reader) instances(ctx context.Context, at time.Time) (all []Instance, err error) {
	all = []Instance{}
	var i Instance
	var host string
	var written, ahead int64
	err = each(ctx, r.db, `select instance, host, plan, written, ahead from usage_instances
		where stopped = 0 and written >= $1 - 12 * every and (plan <> $2 or instance = $3) order by host, instance`,
		[]any{at.Unix(), notYet, r.instance}, []any{&i.instance, &host, &i.Plan, &written, &ahead}, func() {
			i.Name, i.Written, i.ahead = instanceName(i.instance, host), time.Unix(written, 0).UTC(), time.Duration(ahead)*time.Second
			if i.starting = i.Plan == notYet; i.starting {
				i.Plan = ""
			}
			all = append(all, i)
		})
	return all, err
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
func (r *Reader) readStats(ctx context.Context, at time.Time, last *stats) (*stats, error) {
	s := &stats{counts: map[string][len(windows)]Count{}, unserved: map[string]map[string]uint64{}}
	if last != nil {
		s.counts, s.unserved = last.counts, last.unserved
	} else if err := r.readCounts(ctx, at, s); err != nil {
		return nil, err
	}
	var began, gapEnd, newest int64
	err := r.db.QueryRowContext(ctx, `select cast(value as bigint), (select coalesce(max(ended), 0) from usage_gaps), (select coalesce(max(began), 0) from usage_hours)
		from usage_meta where name = 'since'`).Scan(&began, &gapEnd, &newest)
	if err != nil {
		return nil, err
	}
	s.since = time.Unix(max(began, gapEnd), 0)
	if s.bytes, err = r.db.size(ctx); err != nil {
		return nil, err
	}
	if s.instances, err = r.instances(ctx, at); err != nil {
		return nil, err
	}
	day := windowStart(at, windows[1].span)
	if err := r.unnamed(ctx, "", day, "of the last day, ", &s.notes); err != nil {
		return nil, err
	}
	if ahead := time.Unix(newest, 0).Sub(at); ahead > maxSkew {
		s.notes = append(s.notes, fmt.Sprintf("counts were recorded at %s, which is %s from now: a clock was wrong", stamp(newest), words.Span(ahead)))
	}
	if s.bytes > r.db.most/10*8 {
		s.notes = append(s.notes, fmt.Sprintf("the database takes %s MB; from %s MB on counts are given up", words.Number(s.bytes>>20), words.Number(r.db.most>>20)))
	}
	r.compare(s)
	gaps, err := r.gaps(ctx, day)
	s.notes = append(s.notes, gaps...)
	return s, err
}

func (r *Reader) readCounts(ctx context.Context, at time.Time, s *stats) error {
	hour, day, week := windowStart(at, windows[0].span), windowStart(at, windows[1].span), windowStart(at, windows[2].span)
	var version, what string
	var calls [len(windows)]uint64
	err := each(ctx, r.db, `select version, outcome, cast(sum(case when began >= $1 then calls else 0 end) as bigint),
		cast(sum(case when began >= $2 then calls else 0 end) as bigint), cast(sum(calls) as bigint)
		from usage_totals where began >= $3 and began <= $4 group by version, outcome`, []any{hour, day, week, at.Unix()}, []any{&version, &what, &calls[0], &calls[1], &calls[2]}, func() {
		if what == outcomeNames[served] {
			counts := s.counts[version]
			for i := range counts {
				counts[i].Calls = calls[i]
			}
			s.counts[version] = counts
			return
		}
		if s.unserved[version] == nil {
			s.unserved[version] = map[string]uint64{}
		}
		s.unserved[version][what] = calls[2]
	})
	for _, version := range r.versions {
		if err != nil {
			return err
		}
		counts := s.counts[version]
		err = r.db.QueryRowContext(ctx, `select coalesce(sum(case when last_call >= $1 then 1 else 0 end), 0), coalesce(sum(case when last_call >= $2 then 1 else 0 end), 0), count(*)
			from usage_clients where version = $3 and last_call >= $4 and last_call <= $5`, hour, day, version, week, at.Unix()).
			Scan(&counts[0].Clients, &counts[1].Clients, &counts[2].Clients)
		s.counts[version] = counts
	}
	return err
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
func (r *Reader) gaps(ctx context.Context, after int64) (notes []string, err error) {
	var began, ended int64
	var reason string
	err = each(ctx, r.db, "select began, ended, reason from usage_gaps where ended >= $1 order by ended desc, began desc", []any{after}, []any{&began, &ended, &reason}, func() {
		notes = append(notes, fmt.Sprintf("calls between %s and %s are missing: %s", stamp(began), stamp(ended), reason))
	})
	if len(notes) > maxGaps {
		notes = append(notes[:maxGaps], fmt.Sprintf("calls are missing in %s before", words.Count(len(notes)-maxGaps, "gap", "gaps")))
	}
	return notes, err
}

func stamp(unix int64) string { return words.Stamp(time.Unix(unix, 0)) }
