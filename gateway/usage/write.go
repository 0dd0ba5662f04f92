package usage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/humanize"
)

// Names that unverified clients may add in a day.
const (
	newPerNetwork = 20
	newPerDay     = 50_000
)

// batch is what one transaction writes. It is kept until the database confirms it. Its
// number prevents that it is written twice, and shows whether the database still has the
// batch before it.
type batch struct {
	*counts
	number int64
	began  time.Time // when the one before was taken, by the database's clock
	until  time.Time // when it was taken
	jumped time.Duration
}

// moment is one time, by our clock and by the database's.
type moment struct{ own, database time.Time }

// Flush writes what was counted, and brings the stats up to date. It logs the start and
// the end of an outage.
func (r *Recorder) Flush(ctx context.Context) error {
	err := r.write(ctx)
	if !errors.Is(ctx.Err(), context.Canceled) { // which is no outage
		r.note(err)
	}
	return err
}

// write takes all steps of a write, one writer at a time.
func (r *Recorder) write(ctx context.Context) error {
	select {
	case r.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.writing }()
	limited, cancel := context.WithTimeout(ctx, r.options.WriteTimeout)
	defer cancel()
	r.db.Refresh(r.outage.Load() != nil)
	for _, step := range []func(context.Context) error{r.writePending, r.collect, r.writePending, r.clean, r.measure} {
		err := step(limited)
		if store.Full(err) {
			return r.relieve(limited, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writePending writes the batch that the database has not confirmed, if there is one.
func (r *Recorder) writePending(ctx context.Context) error {
	b := r.pending
	if b == nil {
		return nil
	}
	if err := r.db.Transact(ctx, func(tx *store.Session) { r.insert(tx, b) }); err != nil {
		return err
	}
	r.pending = nil
	if b.number == 1 && r.outage.Load() != nil {
		r.options.Log.Warn("usage: calls before the database first answered have names of their own, " +
			"where a name is made from an address")
	}
	if len(b.totals) > 0 {
		r.reader.Changed()
		r.measured = time.Time{}
	}
	return nil
}

// collect makes a batch of what was counted. If our clock is far from the database's, calls
// are counted by the database's from then on.
func (r *Recorder) collect(ctx context.Context) error {
	q := r.db.Ask(ctx)
	now := moment{own: r.options.Now()}
	now.database = q.Now(now.own)
	if q.Err != nil {
		return q.Err
	}
	offset := now.database.Sub(now.own)
	if offset.Abs() <= store.MaxSkew {
		offset = 0
	}
	r.offset.Store(int64(offset / time.Second))
	elapsed := now.own.Sub(r.last.own) // which does not jump
	if r.batches == 0 {
		r.last.database = now.database.Add(-elapsed)
	}
	r.batches++
	b := &batch{number: r.batches, began: r.last.database, until: now.database}
	b.jumped = now.database.Round(0).Sub(r.last.database.Round(0)) - elapsed
	r.last = now
	r.mu.Lock()
	b.counts = r.counts
	r.counts = newCounts(len(b.clients) / 2)
	r.mu.Unlock()
	r.pending = b
	return nil
}

// insert writes a batch. Every instance locks clients in the order of their numbers, and
// a client before its days and findings, so that instances do not deadlock.
func (r *Recorder) insert(tx *store.Session, b *batch) {
	facts := tx.Prepare(b.until, r.options.Log)
	tx.LockCounting()
	if tx.Err != nil {
		return
	}
	r.key.Store(&facts.Key) // another one if the database was replaced
	if !r.announce(tx, b, facts.Since) {
		return
	}
	if b.jumped.Abs() > store.MaxSkew {
		r.options.Log.Error("usage: the clock has jumped, so that some calls have a wrong time",
			"by", humanize.Span(b.jumped.Abs()))
		// If it was ahead, and is right again, what it has recorded as a gap ends now.
		tx.Exec("update quotegate_gaps set ended = $1 where instance = $2 and began <= $1 and ended > $1",
			b.until.Unix(), r.instance)
		r.gap(tx, min(b.began.Unix(), b.until.Unix()), b.until.Unix(), "the clock jumped")
	}
	rows, unnamed := admit(tx, b, facts.Key)
	for some := range slices.Chunk(rows, rowsAtOnce) {
		insertClients(tx, some)
		r.insertDays(tx, some)
		r.insertFindings(tx, some)
	}
	r.insertTotals(tx, b.totals, unnamed)
}

// announce records the number of this batch for the instance. It returns false if the batch
// was written before, and the answer was lost. If the database does not have the batch
// before this one, it was set back, and what it has lost is recorded as a gap.
func (r *Recorder) announce(tx *store.Session, b *batch, since time.Time) bool {
	const next = `update quotegate_instances set batch = $1, written = $2, plan = $3, stopped = 0,
		started = least(started, $2) where instance = $4 and batch = $1 - 1`
	if tx.Exec(next, b.number, b.until.Unix(), *r.plan.Load(), r.instance) == 1 {
		return true
	}
	var last, written, newest int64
	tx.Each("select batch, written from quotegate_instances where instance = $1",
		[]any{r.instance}, []any{&last, &written}, func() {})
	tx.Get("select coalesce(max(written), 0) from quotegate_instances", nil, &newest)
	if tx.Err != nil || last == b.number {
		return false
	}
	if b.number > 1 {
		began := min(cmp.Or(written, newest, since.Unix()), b.until.Unix())
		r.options.Log.Error("usage: the database was restored to an earlier state or replaced; counts are missing",
			"from", humanize.Timestamp(time.Unix(began, 0)), "to", humanize.Timestamp(b.until))
		r.gap(tx, began, b.until.Unix(), "the database was restored to an earlier state")
	}
	tx.Exec(`insert into quotegate_instances (instance, host, plan, batch, started, written, stopped)
		values ($1, $2, $3, $4, $5, $6, 0)
		on conflict (instance) do update set plan = excluded.plan, batch = excluded.batch,
		written = excluded.written, stopped = 0`,
		r.instance, r.host, *r.plan.Load(), b.number, b.began.Unix(), b.until.Unix())
	return true
}

func (r *Recorder) gap(tx *store.Session, began, ended int64, reason string) {
	tx.Exec("insert into quotegate_gaps (instance, began, ended, reason) values ($1, $2, $3, $4)",
		r.instance, began, ended, reason)
}

// admit chooses the rows that are written under their names, by client. The rest are calls
// without a name: those of unverified clients that have no name in the database yet, if
// too many were added today. Of the current version, unverified clients that no old
// version has seen are left out.
func admit(tx *store.Session, b *batch, key store.Key) (rows, unnamed []*calls) {
	all := make([]*calls, 0, len(b.clients))
	ids := make([]int64, 0, len(b.clients))
	for _, c := range b.clients {
		c.id = key.ID(c.name)
		all = append(all, c)
		ids = append(ids, c.id)
	}
	slices.SortFunc(all, func(a, b *calls) int {
		return cmp.Or(cmp.Compare(a.id, b.id), strings.Compare(b.software, a.software), cmp.Compare(a.first, b.first))
	})
	named := map[int64]bool{}
	var id int64
	tx.EachAmong("select id from quotegate_clients where id in IDS", ids, nil, []any{&id}, func() { named[id] = true })
	var add func(network int64) bool
	for _, r := range all {
		if named[r.id] || !r.known && !r.old {
			continue
		}
		if !r.known && add == nil {
			add = newNames(tx, b.until.Unix()/day*day)
		}
		named[r.id] = r.known || add(r.network)
	}
	for _, r := range all {
		switch {
		case named[r.id]:
			rows = append(rows, r)
		case r.old:
			unnamed = append(unnamed, r)
		}
	}
	return rows, unnamed
}

// newNames reads how many names unverified clients have added today. It returns a function
// that reports whether one may add another, and counts it. Clients without an address are
// not of one network.
func newNames(tx *store.Session, today int64) (add func(network int64) bool) {
	all := 0
	networks := map[int64]int{}
	var network int64
	tx.Each("select network from quotegate_clients where first_seen >= $1 and kind <> 'client'",
		[]any{today}, []any{&network}, func() {
			all++
			networks[network]++
		})
	return func(network int64) bool {
		if all >= newPerDay || network != 0 && networks[network] >= newPerNetwork {
			return false
		}
		all++
		networks[network]++
		return true
	}
}

// rowsAtOnce are prepared at a time, so that a large batch takes little memory.
const rowsAtOnce = 1000

// insertClients writes names, each once: of several days and versions, one with software.
func insertClients(tx *store.Session, rows []*calls) {
	var values [][]any
	for i, r := range rows {
		if i > 0 && rows[i-1].id == r.id {
			continue
		}
		kind, _, _ := strings.Cut(r.name, " ")
		values = append(values, []any{r.id, r.name, kind, r.software, r.network, r.first})
	}
	tx.Insert(`insert into quotegate_clients as c (id, name, kind, software, network, first_seen) ROWS
		on conflict (id) do update set software = excluded.software
		where excluded.software <> '' and excluded.software <> c.software`, values)
}

func (r *Recorder) insertDays(tx *store.Session, rows []*calls) {
	values := make([][]any, len(rows))
	for i, c := range rows {
		exempt := int64(0)
		if c.exempt {
			exempt = 1
		}
		values[i] = []any{
			r.options.Versions[c.version], c.id, c.day, c.by[served], c.by[brownout], c.by[retired], c.by[rehearsed],
			c.by[failed], c.hours, c.last, c.last410, c.lastRehearse, c.proven, c.position, exempt,
		}
	}
	tx.Insert(`insert into quotegate_days as d (version, client, day, served, brownout, retired, rehearsed, failed,
		hours, last, last_410, last_rehearsal, proven, position, exempt) ROWS
		on conflict (version, client, day) do update set
		served = d.served + excluded.served, brownout = d.brownout + excluded.brownout,
		retired = d.retired + excluded.retired, rehearsed = d.rehearsed + excluded.rehearsed,
		failed = d.failed + excluded.failed, proven = d.proven + excluded.proven, hours = d.hours | excluded.hours,
		last = greatest(d.last, excluded.last), last_410 = greatest(d.last_410, excluded.last_410),
		last_rehearsal = greatest(d.last_rehearsal, excluded.last_rehearsal),
		position = excluded.position, exempt = excluded.exempt`, values)
}

// insertFindings writes findings day by day: a statement may change a row only once.
func (r *Recorder) insertFindings(tx *store.Session, rows []*calls) {
	days := map[int64][][]any{}
	for _, c := range rows {
		for _, f := range c.findings {
			days[c.day] = append(days[c.day], []any{
				r.options.Versions[c.version], c.id, c.day, string(f.Outcome), string(f.Code), f.Param, f.calls,
			})
		}
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		tx.Insert(`insert into quotegate_findings as f (version, client, day, finding, code, param, calls) ROWS
			on conflict (version, client, finding, code, param) do update set day = greatest(f.day, excluded.day),
			calls = case when excluded.day > f.day then excluded.calls
				when excluded.day = f.day then f.calls + excluded.calls else f.calls end`, days[day])
	}
}

func (r *Recorder) insertTotals(tx *store.Session, totals map[versionHour]total, unnamed []*calls) {
	all := maps.Clone(totals)
	for _, c := range unnamed {
		for o, n := range c.by {
			in := versionHour{c.seen - c.seen%hour, c.version, outcome(o)}
			if sum := all[in]; n > 0 {
				sum.unnamed += n
				all[in] = sum
			}
		}
	}
	var rows [][]any
	for in, sum := range all {
		version := r.options.Versions[in.version]
		rows = append(rows, []any{in.hour, version, outcomeNames[in.outcome], sum.calls, sum.unnamed})
	}
	tx.Insert(`insert into quotegate_totals as t (hour, version, outcome, calls, unnamed) ROWS
		on conflict (hour, version, outcome) do update set
		calls = t.calls + excluded.calls, unnamed = t.unnamed + excluded.unnamed`, rows)
}

// measureEvery is how often the traffic is read while nobody calls.
const measureEvery = time.Minute

// measure reads the stats, and makes room in a database that is too large.
func (r *Recorder) measure(ctx context.Context) error {
	at := r.last.database
	q := r.db.Ask(ctx)
	s := r.reader.ReadStats(q, at)
	s.Traffic = r.stats.Load().Traffic
	whole := at.Sub(r.measured).Abs() >= measureEvery
	if whole {
		s.Traffic = r.reader.ReadTraffic(q, at)
	}
	if q.Err != nil {
		return q.Err
	}
	r.stats.Store(s)
	if whole {
		r.measured = at
	}
	if s.Bytes > r.db.Most && at.Sub(r.relieved).Abs() > relievePause {
		return r.giveUp(ctx, at)
	}
	return nil
}

// relievePause is how long PostgreSQL may take to know how many rows were deleted.
const relievePause = time.Minute

// relieve is called when SQLite found no room. It gives up counts, for the next
// attempt, if the database is about as large as it may be. Otherwise the disk is full,
// of other things: counts wait, and none are given up.
func (r *Recorder) relieve(ctx context.Context, err error) error {
	q := r.db.Ask(ctx)
	size := q.Size()
	if q.Err != nil || size < r.db.Most/10*9 {
		return fmt.Errorf("%w: %w", store.ErrDiskFull, err)
	}
	return errors.Join(err, r.giveUp(ctx, q.Now(r.options.Now())))
}

// giveUp deletes the oldest day, and records that as a gap.
func (r *Recorder) giveUp(ctx context.Context, at time.Time) error {
	q := r.db.Ask(ctx)
	oldest := oldestDay(q)
	if q.Err != nil || oldest < 0 {
		return q.Err
	}
	r.relieved = at
	r.options.Log.Error("usage: the database reached its maximum size; the counts of its oldest day are deleted",
		"bytes", r.db.Most, "day", humanize.Date(time.Unix(oldest*day, 0)))
	return r.db.Transact(ctx, func(tx *store.Session) {
		deleteDays(tx, oldest+1)
		r.gap(tx, oldest*day, min((oldest+1)*day, at.Unix()),
			"the database reached its maximum size, and counts were deleted")
	})
}

// ofVersions are all of which there may be counts, also those of other releases. With it,
// days are found by their indexes.
const ofVersions = "version in (select distinct version from quotegate_totals)"

// oldestDay is the oldest of which there are counts, or -1.
func oldestDay(q *store.Session) (oldest int64) {
	q.Get(`select coalesce(min(first), -1) from
		(select (select min(day) from quotegate_days where version = v.version) as first
		from (select distinct version from quotegate_totals) as v) as f`, nil, &oldest)
	return oldest
}

// cleanEvery is how often old counts are deleted.
const cleanEvery = time.Hour

// clean deletes what is too old to be looked at. It deletes at most one day an hour, so
// that it never takes long, and a clock that is ahead for a while does little harm.
func (r *Recorder) clean(ctx context.Context) error {
	at := r.last.database
	if at.Sub(r.cleaned).Abs() < cleanEvery {
		return nil
	}
	q := r.db.Ask(ctx)
	oldest := oldestDay(q)
	before := min(store.FirstDay(at, store.KeepDays), oldest+1)
	if before > oldest && q.Err == nil {
		q.Err = r.db.Transact(ctx, func(tx *store.Session) { deleteDays(tx, before) })
	}
	old := (before + store.KeepDays - store.KeepTotals) * day
	q.Exec("delete from quotegate_totals where hour < $1", old)
	q.Exec("delete from quotegate_gaps where ended < $1", old)
	q.Exec("delete from quotegate_instances where written < $1", old)
	if q.Err == nil {
		r.cleaned = at
	}
	return q.Err
}

// deleteDays deletes the days before one, and the names that have no later day.
func deleteDays(tx *store.Session, before int64) {
	tx.LockAlone()
	tx.Exec(`delete from quotegate_clients where id in
		(select client from quotegate_days where day < $1 and `+ofVersions+`) and not exists
		(select 1 from quotegate_days where client = id and day >= $1 and `+ofVersions+`)`, before)
	tx.Exec("delete from quotegate_findings where day < $1", before)
	tx.Exec("delete from quotegate_days where day < $1 and "+ofVersions, before)
}
