package evidence

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/humanize"
)

const (
	hour = 3600 // seconds
	day  = 24 * hour
)

// Names that unverified clients may add in a day. An integrator that a registry knows is
// named in any case: the bound is for what anybody can invent.
const (
	newPerNetwork = 20
	newPerDay     = 50_000
)

// setBack is the reason of a gap that no gate tolerates.
const setBack = "the database was restored to an earlier state"

// Write writes a batch in one transaction, unless that was done before. If the database
// does not have the batch before it, it was set back: what it has lost is recorded as a gap.
func (db *DB) Write(ctx context.Context, b *usage.Batch) (key usage.Key, err error) {
	f, err := db.prepare(ctx, b.Until)
	if err == nil {
		err = db.write(ctx, b, f.key)
	}
	if damaged(err) {
		err = usage.Unusable{Why: err}
	}
	if len(b.Totals) > 0 {
		db.measured = time.Time{}
	}
	return f.key, err
}

// errReplaced is a database that somebody replaced within the moment of a write.
var errReplaced = errors.New("the database was replaced; the next write tries again")

// write writes a batch under a key. Every instance locks clients in the order of their
// numbers, and a client before its days and findings, so that instances do not deadlock.
func (db *DB) write(ctx context.Context, b *usage.Batch, key usage.Key) error {
	rows, unnamed, err := db.admit(ctx, b, key)
	if err != nil {
		return err
	}
	return db.transact(ctx, func(tx conn) error {
		if err := tx.lock(ctx, "lock counting"); err != nil {
			return err
		}
		f, err := tx.facts(ctx)
		switch {
		case err != nil:
			return err
		case f.key != key:
			return errReplaced
		}
		isNew, err := tx.announce(ctx, b, f.since)
		if err != nil || !isNew {
			return err
		}
		for some := range slices.Chunk(rows, rowsAtOnce) {
			if err := tx.putClients(ctx, some); err != nil {
				return err
			}
		}
		return tx.put(ctx, "put total", totalsOf(b.Totals, unnamed))
	})
}

// announce records the number of this batch for the instance. It returns false if the batch
// was written before, and the answer was lost.
func (c conn) announce(ctx context.Context, b *usage.Batch, since time.Time) (isNew bool, err error) {
	until := b.Until.Unix()
	changed, err := c.exec(ctx, "next batch", b.Number, until, b.Plan, b.Instance)
	if err != nil {
		return false, err
	}
	if changed == 0 {
		isNew, err = c.rejoin(ctx, b, since)
		if err != nil || !isNew {
			return false, err
		}
	}
	if b.Jumped.Abs() <= usage.MaxSkew {
		return true, nil
	}
	c.db.options.Log.Error("usage: the clock has jumped, so that some calls have a wrong time",
		"by", humanize.Span(b.Jumped.Abs()))
	// If it was ahead, and is right again, what it has recorded as a gap ends now.
	if _, err := c.exec(ctx, "end gaps", until, b.Instance); err != nil {
		return false, err
	}
	return true, c.gap(ctx, b.Instance, min(b.Began.Unix(), until), until, "the clock jumped")
}

// rejoin enters an instance of which the database does not have the batch before this one:
// it has just started, or the database was set back. It returns false if the database has
// this batch.
func (c conn) rejoin(ctx context.Context, b *usage.Batch, since time.Time) (isNew bool, err error) {
	type batch struct{ number, written int64 } // of this instance; if it has none, the last write of any
	found, err := query(ctx, c, func(rows *sql.Rows) (b batch, err error) {
		return b, rows.Scan(&b.number, &b.written)
	}, "last batch", b.Instance)
	if err != nil || found[0].number == b.Number {
		return false, err
	}
	until := b.Until.Unix()
	if b.Number > 1 {
		began := min(cmp.Or(found[0].written, since.Unix()), until)
		c.db.options.Log.Error("usage: the database was restored to an earlier state or replaced; counts are missing",
			"instance", b.Instance, "from", moment(began), "to", moment(until))
		if err := c.gap(ctx, b.Instance, began, until, setBack); err != nil {
			return false, err
		}
	}
	_, err = c.exec(ctx, "put instance", b.Instance, b.Host, b.Plan, b.Number, b.Began.Unix(), until)
	return true, err
}

func (c conn) gap(ctx context.Context, instance string, began, ended int64, reason string) error {
	_, err := c.exec(ctx, "put gap", instance, began, ended, reason)
	return err
}

// row is what is written of a client under its name.
type row struct {
	*usage.Calls
	id int64
}

// admit chooses the rows that are written under their names, by client. The rest are calls
// without a name: those of unverified clients that have no name in the database yet, if
// too many were added today. Of the current version, unverified clients that no old
// version has seen are left out. It asks registries, so no transaction waits for it.
func (db *DB) admit(
	ctx context.Context, b *usage.Batch, key usage.Key,
) (rows []row, unnamed []*usage.Calls, err error) {
	if len(b.Clients) == 0 {
		return nil, nil, nil
	}
	all := make([]row, 0, len(b.Clients))
	ids := make([]int64, 0, len(b.Clients))
	for _, c := range b.Clients {
		one := row{c, key.ID(c.Client)}
		all = append(all, one)
		ids = append(ids, one.id)
	}
	slices.SortFunc(all, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.id, b.id), strings.Compare(b.Software, a.Software), cmp.Compare(a.First, b.First))
	})
	existing, err := query(ctx, db.read(), only[int64], "among", db.read().list(ids))
	if err != nil {
		return nil, nil, err
	}
	names, err := db.newNames(ctx, b.Until.Unix()/day*day)
	if err != nil {
		return nil, nil, err
	}
	named := map[int64]bool{}
	for _, id := range existing {
		named[id] = true
	}
	for _, r := range all {
		if !named[r.id] && (r.Known || r.Old) {
			named[r.id] = r.Known || names.add(r.Network) || db.isRegistered(ctx, r.Client)
		}
	}
	for _, r := range all {
		switch {
		case named[r.id]:
			rows = append(rows, r)
		case r.Old:
			unnamed = append(unnamed, r.Calls)
		}
	}
	return rows, unnamed, nil
}

// names are those that unverified clients have added today.
type names struct {
	all       int64
	byNetwork map[int64]int64
}

func (db *DB) newNames(ctx context.Context, today int64) (n names, err error) {
	type network struct{ hash, names int64 }
	found, err := query(ctx, db.read(), func(rows *sql.Rows) (n network, err error) {
		return n, rows.Scan(&n.hash, &n.names)
	}, "new names", today)
	n.byNetwork = map[int64]int64{}
	for _, one := range found {
		n.all += one.names
		n.byNetwork[one.hash] = one.names
	}
	return n, err
}

// add adds a name, or reports that there are too many. Clients without an address are not
// of one network.
func (n *names) add(network int64) bool {
	if n.all >= newPerDay || network != 0 && n.byNetwork[network] >= newPerNetwork {
		return false
	}
	n.all++
	n.byNetwork[network]++
	return true
}

// isRegistered reports whether a name is that of an integrator that a registry knows. The
// gateway has looked it up for its last quote, so that this seldom asks a node.
func (db *DB) isRegistered(ctx context.Context, name string) bool {
	id, is := strings.CutPrefix(name, string(caller.Integrator)+" ")
	if !is || db.options.Registered == nil {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	registered, err := db.options.Registered(limited, id)
	return err == nil && registered
}

// askLimit is for one question to a registry.
const askLimit = time.Second

// rowsAtOnce are prepared at a time, so that a large batch takes little memory.
const rowsAtOnce = 1000

// putClients writes names, each once, of several days and versions one with software, and
// then their days and findings.
func (c conn) putClients(ctx context.Context, rows []row) error {
	var clients, days [][]any
	findings := map[int64][][]any{} // by day: a statement may change a row only once
	for i, r := range rows {
		if i == 0 || rows[i-1].id != r.id {
			kind, _, _ := strings.Cut(r.Client, " ")
			clients = append(clients, []any{r.id, r.Client, kind, r.Software, r.Network, r.First})
		}
		days = append(days, []any{
			r.Version, r.id, r.Day, r.By[usage.Served], r.By[usage.Brownout], r.By[usage.Retired],
			r.By[usage.Rehearsed], r.By[usage.Failed], r.Hours, r.Last, r.Last410, r.LastRehearsal, r.Proven,
			r.Position, int64(oneIf(r.Exempt)),
		})
		for f, calls := range r.Findings {
			one := []any{r.Version, r.id, r.Day, string(f.Outcome), string(f.Code), f.Param, calls}
			findings[r.Day] = append(findings[r.Day], one)
		}
	}
	if err := c.put(ctx, "put client", clients); err != nil {
		return err
	}
	if err := c.put(ctx, "put day", days); err != nil {
		return err
	}
	for _, day := range slices.Sorted(maps.Keys(findings)) {
		if err := c.put(ctx, "put finding", findings[day]); err != nil {
			return err
		}
	}
	return nil
}

// totalsOf are the rows of all totals, with the calls of those that have no name.
func totalsOf(totals map[usage.Hour]usage.Total, unnamed []*usage.Calls) (rows [][]any) {
	all := maps.Clone(totals)
	for _, c := range unnamed {
		for o, calls := range c.By {
			in := usage.Hour{Version: c.Version, Begin: c.Seen - c.Seen%hour, Outcome: usage.Outcome(o)}
			if sum := all[in]; calls > 0 {
				sum.Unnamed += calls
				all[in] = sum
			}
		}
	}
	for in, sum := range all {
		rows = append(rows, []any{in.Begin, in.Version, in.Outcome.String(), sum.Calls, sum.Unnamed})
	}
	return rows
}

// Stop notes that an instance ended with all its counts written.
func (db *DB) Stop(ctx context.Context, instance string) error {
	_, err := db.read().exec(ctx, "stop", instance, 0)
	return err
}

const (
	keepDays   = reportDays + 2 // of which the counts of clients are kept
	keepTotals = 400            // days of which totals are kept

	cleanEvery   = time.Hour   // how often old counts are deleted
	measureEvery = time.Minute // how often the traffic is read while nobody calls this instance
	relievePause = time.Minute // how long PostgreSQL may take to know how many rows were deleted
)

// Tend deletes what is too old, brings the stats up to date, and makes room in a database
// that is too large.
func (db *DB) Tend(ctx context.Context, at time.Time) error {
	if at.Sub(db.cleaned).Abs() >= cleanEvery {
		if err := db.clean(ctx, at); err != nil {
			return err
		}
		db.cleaned = at
	}
	s, err := db.readStats(ctx, db.read(), at)
	if err != nil {
		return err
	}
	s.Traffic = db.Stats().Traffic
	if at.Sub(db.measured).Abs() >= measureEvery {
		s.Traffic, err = db.readTraffic(ctx, db.read(), at)
		if err != nil {
			return err
		}
		db.measured = at
	}
	db.stats.Store(s)
	if s.Bytes > db.most && at.Sub(db.relieved).Abs() > relievePause {
		db.relieved = at
		return db.giveUp(ctx, at)
	}
	return nil
}

// clean deletes what is too old to be looked at. It deletes at most one day an hour, so
// that it never takes long, and a clock that is ahead for a while does little harm.
func (db *DB) clean(ctx context.Context, at time.Time) error {
	oldest, err := value[int64](ctx, db.read(), "oldest day")
	if err != nil {
		return err
	}
	before := min(firstDay(at, keepDays), oldest+1)
	if before > oldest {
		err = db.transact(ctx, func(tx conn) error { return tx.deleteDays(ctx, before) })
	}
	for _, what := range []string{"delete totals", "delete gaps", "delete instances"} {
		if err == nil {
			_, err = db.read().exec(ctx, what, (before+keepDays-keepTotals)*day)
		}
	}
	return err
}

// deleteDays deletes the days before one, and the names that have no later day.
func (c conn) deleteDays(ctx context.Context, before int64) error {
	err := c.lock(ctx, "lock alone")
	for _, what := range []string{"delete names", "delete findings", "delete days"} {
		if err == nil {
			_, err = c.exec(ctx, what, before)
		}
	}
	return err
}

// giveUp deletes the oldest day, and records that as a gap.
func (db *DB) giveUp(ctx context.Context, at time.Time) error {
	oldest, err := value[int64](ctx, db.read(), "oldest day")
	if err != nil || oldest < 0 {
		return err
	}
	db.options.Log.Error("usage: the database reached its maximum size; the counts of its oldest day are deleted",
		"bytes", db.most, "day", humanize.Date(unix(oldest*day)))
	return db.transact(ctx, func(tx conn) error {
		if err := tx.deleteDays(ctx, oldest+1); err != nil {
			return err
		}
		return tx.gap(ctx, db.recorder.Instance(), oldest*day, min((oldest+1)*day, at.Unix()),
			"the database reached its maximum size, and counts were deleted")
	})
}
