package evidence

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"
)

// activity is what a client did on a version within some days. Times and days are 0 if there
// are none.
type activity struct {
	id int64

	calls7, calls30, calls90 int64
	proven, claimed          int64
	failed                   int64 // the most of a day

	last                   int64 // that was served, or refused by a brownout or the sunset
	lastServed             int64 // of a day on which it was served
	last410, lastRehearsal int64

	lastUsed   int64 // the last day with a call that was served, or refused by a brownout
	lastProven int64 // the last day with a key
	lastDay    int64 // with calls or errors

	position float64 // on the last day
	exempt   int64   // on the last day: 1 or 0
}

// with is the activity together with that of other days, which are usually later.
func (a activity) with(b activity) activity {
	if b.lastDay >= a.lastDay {
		a.lastDay, a.position, a.exempt = b.lastDay, b.position, b.exempt
	}
	a.calls7 += b.calls7
	a.calls30 += b.calls30
	a.calls90 += b.calls90
	a.proven += b.proven
	a.claimed += b.claimed
	a.failed = max(a.failed, b.failed)
	a.last = max(a.last, b.last)
	a.lastServed = max(a.lastServed, b.lastServed)
	a.lastUsed = max(a.lastUsed, b.lastUsed)
	a.lastProven = max(a.lastProven, b.lastProven)
	a.last410 = max(a.last410, b.last410)
	a.lastRehearsal = max(a.lastRehearsal, b.lastRehearsal)
	return a
}

// period is the days that a question is about. What the database says of them as a whole is
// read before anything else.
type period struct {
	at          time.Time
	first, last int64
	oldest      int64      // the first day that there is
	totals      []dayTotal // of all versions
}

// period begins 90 days before a time.
func (c conn) period(ctx context.Context, at time.Time, last int64) (p period, err error) {
	p = period{at: at, first: firstDay(at, reportDays), last: last}
	p.oldest, err = value[int64](ctx, c, "oldest day")
	if err != nil {
		return p, err
	}
	p.totals, err = readTotals(ctx, c, p.first, last)
	return p, err
}

// over is the last day of which an answer is kept. Calls of the day after it may still be
// waiting in the memory of an instance.
func (p period) over() int64 { return firstDay(p.at, 2) }

// kept is the answer to a query about the days that were over.
type kept struct {
	first, oldest int64 // the first day that was asked for, and the first that there was
	totals        map[dayTotal]bool
	rows          any
}

// overDays answers a query about a version, for the days that are over and for the others. Of the
// former the answer is kept while the day is the same and so are their totals: every
// transaction that adds to a day adds to them.
func overDays[T any](
	ctx context.Context, c conn, p period, scan func(*sql.Rows) (T, error), name, version string, args ...any,
) (over, others []T, err error) {
	now := kept{first: p.first, oldest: p.oldest, totals: map[dayTotal]bool{}}
	for _, t := range p.totals {
		if t.version == version && t.day <= p.over() {
			now.totals[t] = true
		}
	}
	ask := func(first, last int64) ([]T, error) {
		return query(ctx, c, scan, name, append([]any{version, first, last}, args...)...)
	}
	before, _ := c.db.kept.Load(name + " " + version)
	k, ok := before.(kept)
	if ok && k.first == now.first && k.oldest == now.oldest && maps.Equal(k.totals, now.totals) {
		over = k.rows.([]T)
	} else {
		over, err = ask(p.first, p.over())
		if err != nil {
			return nil, nil, err
		}
		now.rows = over
		c.db.kept.Store(name+" "+version, now)
	}
	others, err = ask(p.over()+1, p.last)
	return over, others, err
}

func scanActivity(rows *sql.Rows) (a activity, err error) {
	return a, rows.Scan(&a.id, &a.calls7, &a.calls30, &a.calls90, &a.failed, &a.proven, &a.claimed, &a.last,
		&a.lastServed, &a.lastUsed, &a.lastProven, &a.last410, &a.lastRehearsal, &a.lastDay, &a.position, &a.exempt)
}

// activities are those of all clients of a version, by their numbers.
func (c conn) activities(ctx context.Context, p period, version string) (map[int64]*activity, error) {
	over, others, err := overDays(ctx, c, p, scanActivity, "activities", version, firstDay(p.at, 7), firstDay(p.at, 30))
	if err != nil {
		return nil, err
	}
	all := make(map[int64]*activity, len(over)+len(others))
	mine := slices.Clone(over) // which are kept as they are
	for i := range mine {
		all[mine[i].id] = &mine[i]
	}
	for i := range others {
		a := &others[i]
		if before := all[a.id]; before != nil {
			*a = before.with(*a)
		}
		all[a.id] = a
	}
	return all, nil
}

// dayClients is how many clients called on a day.
type dayClients struct{ day, clients int64 }

func (c conn) clientsByDay(ctx context.Context, p period, version string) ([]dayClients, error) {
	over, others, err := overDays(ctx, c, p, func(rows *sql.Rows) (d dayClients, err error) {
		return d, rows.Scan(&d.day, &d.clients)
	}, "clients by day", version)
	return slices.Concat(over, others), err
}
