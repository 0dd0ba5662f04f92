package evidence

import (
	"context"
	"database/sql"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
)

// Own is what one known client did on each version, as it was last written. It looks up a
// bounded number of rows, however many clients there are.
func (db *DB) Own(
	ctx context.Context, client, plan string, versions []lifecycle.Standing,
) (mine usage.Own, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	mine = usage.Own{Client: client, Plan: plan, Versions: []usage.OwnVersion{}}
	at, err := db.now(ctx)
	if err != nil {
		return mine, err
	}
	f, err := db.page().facts(ctx)
	if err != nil {
		return mine, err
	}
	id := f.key.ID(string(caller.Known) + " " + client)
	there, err := value[int64](ctx, db.page(), "last served", db.options.Current, id)
	if err != nil {
		return mine, err
	}
	for _, standing := range versions {
		own, err := db.ownVersion(ctx, standing, id, there, at)
		if err != nil {
			return mine, err
		}
		mine.Versions = append(mine.Versions, own)
	}
	return mine, nil
}

func (db *DB) ownVersion(
	ctx context.Context, standing lifecycle.Standing, id, there int64, at time.Time,
) (own usage.OwnVersion, err error) {
	own = usage.OwnVersion{Standing: standing, Days: []usage.OwnDay{}, Findings: []usage.OwnFinding{}}
	days, err := query(ctx, db.page(), func(rows *sql.Rows) (d usage.OwnDay, err error) {
		var on int64
		err = rows.Scan(&on, &d.Served, &d.Refused, &d.Failed, &d.Last)
		d.Day = Day(on * day).String()
		d.Last = max(d.Last, on*day)
		return d, err
	}, "own days", own.Name, id, firstDay(at, reportDays))
	if err != nil || len(days) == 0 {
		return own, err
	}
	own.Days = days
	last := days[len(days)-1].Last
	own.LastSeen = unix(last)
	if own.Name != db.options.Current {
		var moved bool
		moved, own.Both = moveOf(last, there, at)
		if moved {
			own.Moved = unix(there)
		}
	}
	c := &Client{activity: &activity{id: id}}
	err = readFindings(ctx, db.page(), []*Client{c}, "findings of", own.Name, id)
	for _, f := range c.Findings {
		own.Compared = c.Found.Format(time.DateOnly)
		says := f.Sentence(own.Name, db.options.Current)
		own.Findings = append(own.Findings, usage.OwnFinding{Finding: f, Says: says})
	}
	return own, err
}
