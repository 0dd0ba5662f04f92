package usage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// The recorder is what the gates of a plan look at.
var _ lifecycle.Usage = (*Recorder)(nil)

const (
	askTimeout = 5 * time.Second  // for a question of a gate
	unheardFor = 20 * time.Second // four writes that an instance has missed
)

// Evidence adds up the calls of the last days that were served or that a brownout
// refused. Days are whole clock hours counted back from now, so that the span
// begins up to an hour earlier than asked.
func (r *Reader) Evidence(version string, days int) lifecycle.Evidence {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	found, err := r.evidence(ctx, version, days)
	if err != nil {
		found.Missing = "the counts cannot be read: " + err.Error()
	}
	return found
}

// Evidence is incomplete while counts cannot be written.
func (r *Recorder) Evidence(version string, days int) lifecycle.Evidence {
	if f := r.failing.Load(); f != nil {
		return lifecycle.Evidence{Missing: fmt.Sprintf("the counts cannot be read: the database is away since %s: %v", stamp(f.since.Unix()), f.err)}
	}
	return r.Reader.Evidence(version, days)
}

func (r *Reader) evidence(ctx context.Context, version string, days int) (e lifecycle.Evidence, err error) {
	now := r.now()
	from := windowStart(now, time.Duration(days)*24*time.Hour)
	err = r.db.QueryRowContext(ctx, `select
		(select count(distinct client) from usage_clients where version = $1 and outcome in ('served', 'brownout') and last_seen >= $2),
		(select coalesce(max(calls), 0) from (
			select sum(calls) as calls from usage_totals
			where version = $1 and outcome in ('served', 'brownout') and began >= $2
			group by case when (began - $2) / 86400 < $3 then (began - $2) / 86400 else $3 - 1 end
		) as days)`, version, from, days).Scan(&e.Clients, &e.Calls)
	if err != nil {
		return e, err
	}
	e.Missing, err = r.missing(ctx, now, from)
	return e, err
}

// missing says what the counts since a time leave out. It is empty if they are
// complete.
func (r *Reader) missing(ctx context.Context, now time.Time, from int64) (string, error) {
	since, err := r.counting(ctx)
	if err != nil {
		return "", err
	}
	var reasons []string
	if since > from+hour { // the span begins up to an hour earlier than asked
		reasons = append(reasons, fmt.Sprintf("calls are counted only since %s", stamp(since)))
	}
	unheard, err := queryAll(ctx, r.db, func(rows *sql.Rows, reason *string) error {
		var instance, host string
		var written int64
		if err := rows.Scan(&instance, &host, &written); err != nil {
			return err
		}
		*reason = fmt.Sprintf("%s has not been heard of since %s", instanceName(instance, host), stamp(written))
		return nil
	}, "select instance, host, written from usage_instances where stopped = 0 and instance <> $1 and written < $2 order by written", r.instance, now.Add(-unheardFor).Unix())
	if err != nil {
		return "", err
	}
	gaps, err := r.gaps(ctx, from)
	return strings.Join(append(append(reasons, unheard...), gaps...), "; "), err
}

// counting is when counting began.
func (r *Reader) counting(ctx context.Context) (began int64, err error) {
	err = r.db.QueryRowContext(ctx, "select cast(value as bigint) from usage_meta where name = 'since'").Scan(&began)
	return began, err
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

// Release records that the gate of a version lets a sunset pass.
func (r *Recorder) Release(version string, sunset time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	_, err := r.db.ExecContext(ctx, "insert into usage_releases (version, sunset, released) values ($1, $2, $3) on conflict (version, sunset) do nothing",
		version, sunset.Unix(), r.now().Unix())
	return err
}

// Follow tells the other instances which plan this one follows.
func (r *Recorder) Follow(plan string, _ []string) { r.plan.Store(&plan) }

// instanceName is how an operator knows an instance: by its host and, since a host
// may run several, the beginning of its number.
func instanceName(instance, host string) string {
	const enough = 6
	if host == "" {
		return "instance " + instance[:min(enough, len(instance))]
	}
	return fmt.Sprintf("instance %s (%s)", host, instance[:min(enough, len(instance))])
}
