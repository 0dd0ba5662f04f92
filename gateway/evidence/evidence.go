package evidence

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/words"
)

// A reader is what the gates of a plan look at.
var _ lifecycle.Counts = (*Reader)(nil)

const (
	askTimeout  = 5 * time.Second // for a question of a gate
	maxWaiting  = 10              // clients that are named as waiting
	waitingFor  = 5 * time.Minute // how long those are remembered
	maxGaps     = 3               // that are described one by one
	missedWrite = 4               // so many writes missed, and an instance is not heard of
)

// Evidence adds up the calls of the last days that were served or that a brownout
// refused. Days are whole clock hours counted back from now, by the database's
// clock, so that the span begins up to an hour earlier than asked. Evidence is
// incomplete while counts cannot be written.
func (r *Reader) Evidence(version string, gate lifecycle.Gate) lifecycle.Evidence {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	q := r.DB.Ask(ctx)
	q.Err = r.Writer.Away()
	at := q.Now(r.Now())
	from := windowStart(at, time.Duration(gate.Days)*24*time.Hour)
	e := r.counted(q, version, gate, at, from)
	e.Waiting, e.WaitingCount = r.waiting(q, version, at, from)
	missing := r.missing(q, at, from)
	if gate.CountsStrangers() { // else they are among the calls of strangers
		missing = append(missing, unnamed(q, version, from, "")...)
	}
	e.Missing = strings.Join(missing, "; ")
	if q.Err != nil {
		e.Missing = "the counts cannot be read: " + q.Err.Error()
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
func (r *Reader) waiting(q *store.Session, version string, at time.Time, since int64) ([]string, int) {
	key := fmt.Sprint(version, " ", (at.Unix()-since)/day)
	r.mu.Lock()
	kept, ok := r.waits[key]
	r.mu.Unlock()
	if ok && at.Sub(kept.at).Abs() < waitingFor {
		return kept.names, kept.count
	}
	kept = waitingClients{at: at}
	var name string
	q.Each(`select n.name, count(*) over () from usage_clients as c join usage_names as n on n.id = c.client
		left join usage_clients as m on m.client = c.client and m.version = $1 and m.version <> c.version
		where c.version = $2 and c.last_call < $3 and c.last_call >= $4 and coalesce(m.last_served, 0) <= c.last_call
		order by c.kind <> 1, c.calls90 desc, c.client limit $5`,
		[]any{r.Current, version, since, at.Unix() - store.ReportDays*day, maxWaiting},
		[]any{&name, &kept.count}, func() { kept.names = append(kept.names, name) })
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.Err == nil {
		r.waits[key] = kept
	}
	return kept.names, kept.count
}

// missing says what the counts since a time leave out. It is empty if they are
// complete.
func (r *Reader) missing(q *store.Session, at time.Time, from int64) []string {
	reasons := r.uncovered(q, from, at.Unix())
	var instance, host string
	var written int64
	q.Each(`select instance, host, written from usage_instances
		where stopped = 0 and instance <> $1 and written < $2 - $3 * every order by written`,
		[]any{r.Writer.Instance, at.Unix(), missedWrite}, []any{&instance, &host, &written}, func() {
			name := InstanceName(instance, host)
			reasons = append(reasons, fmt.Sprintf("%s has not been heard of since %s", name, stamp(written)))
		})
	return append(reasons, gaps(q, from)...)
}

// unnamed notes how many calls of a version, which are evidence, count under no client
// of their own; of all versions if none is named.
func unnamed(t *store.Session, version string, from int64, prefix string) []string {
	var n int64
	t.Get(`select cast(coalesce(sum(unnamed), 0) as bigint) from usage_totals
		where ($1 = '' or version = $1) and outcome in ('served', 'brownout') and began >= $2`,
		[]any{version, from}, &n)
	if n == 0 {
		return nil
	}
	return []string{prefix + words.Count(n, "call has no client of its own", "calls have no client of their own") +
		", because there were more clients than are counted apart"}
}

// uncovered says in which hours nothing was recorded: the service was not up, or its
// counts were not written, or a backup was restored.
func (r *Reader) uncovered(q *store.Session, from, to int64) (reasons []string) {
	var since, began int64
	q.Get("select cast(value as bigint) from usage_meta where name = 'since'", nil, &since)
	expected := from - from%hour + hour // the span begins up to an hour earlier than asked
	if since > expected {
		reasons = append(reasons, "calls are counted only since "+stamp(since))
		expected = since - since%hour
	}
	holes := 0
	hole := func(until int64) {
		if until <= expected {
			return
		}
		holes++
		if holes <= maxGaps {
			began, ended := time.Unix(expected, 0), time.Unix(until, 0)
			reasons = append(reasons, fmt.Sprintf("no counts from %s to %s", words.Moment(began), words.Moment(ended)))
		}
	}
	q.Each("select began from usage_hours where began >= $1 and began < $2 order by began",
		[]any{expected, to}, []any{&began}, func() {
			hole(began)
			expected = began + hour
		})
	hole(to - to%hour)
	if holes > maxGaps {
		more := words.Count(holes-maxGaps, "span", "spans")
		reasons = append(reasons, fmt.Sprintf("no counts in %s after that", more))
	}
	return reasons
}

// Released returns when the gate of a version let a sunset pass.
func (r *Reader) Released(version string, sunset time.Time) (time.Time, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	q := r.DB.Ask(ctx)
	var at int64
	var released time.Time
	q.Each("select released from usage_releases where version = $1 and sunset = $2",
		[]any{version, sunset.Unix()}, []any{&at}, func() { released = time.Unix(at, 0).UTC() })
	return released, q.Err
}

// Release records that the gate of a version lets a sunset pass. It refuses if a
// clock may be wrong: ours is not the database's, or that of another instance is not.
func (r *Reader) Release(version string, sunset time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	q := r.DB.Ask(ctx)
	at := q.Now(r.Now())
	instances := r.instances(q, at)
	if q.Err != nil {
		return q.Err
	}
	if ahead := r.Now().Sub(at); ahead.Abs() > store.MaxSkew {
		return fmt.Errorf("this machine's clock is %s the database's", store.AheadOrBehind(ahead))
	}
	if at.Before(sunset) {
		return fmt.Errorf("by the database's clock the sunset comes in %s", words.Span(sunset.Sub(at)))
	}
	heard := false
	for _, i := range instances {
		if i.ahead.Abs() > store.MaxSkew {
			return fmt.Errorf("the clock of %s is %s the database's", i.Name, store.AheadOrBehind(i.ahead))
		}
		heard = heard || i.instance == r.Writer.Instance
	}
	if !heard { // a file has no clock: what was written last is its time
		return errors.New("the clock has gone on since the last counts were written, and may be wrong")
	}
	q.Exec(`insert into usage_releases (version, sunset, released) values ($1, $2, $3)
		on conflict (version, sunset) do nothing`, version, sunset.Unix(), at.Unix())
	return q.Err
}

// Instance is a running service that writes to the database.
type Instance struct {
	Name    string    `json:"name"`
	Plan    string    `json:"plan"` // the hash of the plan it follows; empty without one
	Written time.Time `json:"written"`
	Silent  bool      `json:"silent,omitempty"` // it has missed several writes

	instance string
	starting bool          // it has not read its plan yet
	ahead    time.Duration // its clock, of the database's
}

// instances are those that were heard of lately. One that has not read its plan yet
// is left out.
func (r *Reader) instances(q *store.Session, at time.Time) []Instance {
	all := []Instance{}
	var i Instance
	var host string
	var written, ahead int64
	q.Each(`select instance, host, plan, written, ahead, written < $1 - $4 * every from usage_instances
		where stopped = 0 and written >= $1 - 12 * every and (plan <> $2 or instance = $3) order by host, instance`,
		[]any{at.Unix(), store.NotYet, r.Writer.Instance, missedWrite},
		[]any{&i.instance, &host, &i.Plan, &written, &ahead, &i.Silent}, func() {
			i.Name = InstanceName(i.instance, host)
			i.Written = time.Unix(written, 0).UTC()
			i.ahead = time.Duration(ahead) * time.Second
			i.starting = i.Plan == store.NotYet
			if i.starting {
				i.Plan = ""
			}
			all = append(all, i)
		})
	return all
}

// InstanceName is how an operator knows an instance: by its host and, since a host
// may run several, the beginning of its number.
func InstanceName(instance, host string) string {
	const enough = 6
	if host == "" {
		return "instance " + instance[:min(enough, len(instance))]
	}
	return fmt.Sprintf("instance %s (%s)", host, instance[:min(enough, len(instance))])
}
