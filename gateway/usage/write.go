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
	select {
	case r.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.writing }()
	limited, cancel := context.WithTimeout(ctx, r.options.WriteTimeout)
	defer cancel()
	r.DB.Refresh(r.outage.Load() != nil)
	err := r.writeAll(limited)
	if store.Full(err) {
		err = r.relieve(limited, err)
	}
	if errors.Is(ctx.Err(), context.Canceled) { // cancelled here, not an outage
		return err
	}
	if atStart := r.batches == 0 && r.outage.Load() == nil; hopeless(err) && atStart {
		return err // New returns it
	}
	r.note(err)
	return err
}

func (r *Recorder) writeAll(ctx context.Context) error {
	if !r.prepared {
		if err := r.prepare(ctx); err != nil {
			return err
		}
	}
	waited, err := r.writePending(ctx)
	if err == nil {
		err = r.collect(ctx)
	}
	if err != nil {
		return err
	}
	fresh, err := r.writePending(ctx)
	if err == nil {
		err = r.clean(ctx, r.last.database)
	}
	if err != nil {
		return err
	}
	return r.measure(ctx, r.last.database, waited || fresh)
}

// writePending writes the batch that the database has not confirmed, if there is one, and
// reports whether it had calls.
func (r *Recorder) writePending(ctx context.Context) (changed bool, err error) {
	b := r.pending
	if b == nil {
		return false, nil
	}
	err = r.DB.Transact(ctx, func(tx *store.Session) { r.insert(tx, b) })
	if store.MissingTable(err) { // the database is another one
		r.prepared = false
	}
	if err != nil {
		return false, err
	}
	r.pending = nil
	if !b.empty() {
		r.Changed()
	}
	return !b.empty(), nil
}

// prepare makes the tables if there are none, and reads the key that all instances share.
func (r *Recorder) prepare(ctx context.Context) error {
	facts, err := r.DB.Prepare(ctx, r.Now(), r.Log)
	if err != nil {
		return err
	}
	r.key.Store(&facts.Key)
	r.prepared = true
	if r.outage.Load() != nil {
		r.Log.Warn("usage: calls before the database first answered have names of their own, " +
			"where a name is made from an address")
	}
	return nil
}

// collect makes a batch of what was counted. If our clock is far from the database's, calls
// are counted by the database's from then on.
func (r *Recorder) collect(ctx context.Context) error {
	q := r.DB.Ask(ctx)
	now := moment{own: r.Now()}
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

// insert writes a batch. Rows are sorted, so that instances that write at once do not
// deadlock.
func (r *Recorder) insert(tx *store.Session, b *batch) {
	tx.LockCounting()
	facts := tx.Facts()
	if tx.Err != nil || !r.announce(tx, b, facts.Since) {
		return
	}
	r.key.Store(&facts.Key) // another one if the database was replaced
	if b.jumped.Abs() > store.MaxSkew {
		r.Log.Error("usage: the clock has jumped, so that some calls have a wrong time",
			"by", humanize.Span(b.jumped.Abs()))
		// If it was ahead, and is right again, what it has recorded as a gap ends now.
		tx.Exec("update quotegate_gaps set ended = $1 where instance = $2 and began <= $1 and ended > $1",
			b.until.Unix(), r.Writer.Instance)
		r.gap(tx, min(b.began.Unix(), b.until.Unix()), b.until.Unix(), "the clock jumped")
	}
	rows, unnamed := admit(tx, b, facts.Key)
	insertClients(tx, rows)
	for some := range slices.Chunk(rows, rowsAtOnce) {
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
	if tx.Exec(next, b.number, b.until.Unix(), *r.plan.Load(), r.Writer.Instance) == 1 {
		return true
	}
	var last, written, newest int64
	tx.Each("select batch, written from quotegate_instances where instance = $1",
		[]any{r.Writer.Instance}, []any{&last, &written}, func() {})
	tx.Get("select coalesce(max(written), 0) from quotegate_instances", nil, &newest)
	if tx.Err != nil || last == b.number {
		return false
	}
	if b.number > 1 {
		began := min(cmp.Or(written, newest, since.Unix()), b.until.Unix())
		r.Log.Error("usage: the database was restored to an earlier state or replaced; counts are missing",
			"from", humanize.Timestamp(time.Unix(began, 0)), "to", humanize.Timestamp(b.until))
		r.gap(tx, began, b.until.Unix(), "the database was restored to an earlier state")
	}
	tx.Exec(`insert into quotegate_instances (instance, host, plan, batch, started, written, stopped)
		values ($1, $2, $3, $4, $5, $6, 0)
		on conflict (instance) do update set plan = excluded.plan, batch = excluded.batch,
		written = excluded.written, stopped = 0`,
		r.Writer.Instance, r.host, *r.plan.Load(), b.number, b.began.Unix(), b.until.Unix())
	return true
}

func (r *Recorder) gap(tx *store.Session, began, ended int64, reason string) {
	tx.Exec("insert into quotegate_gaps (instance, began, ended, reason) values ($1, $2, $3, $4)",
		r.Writer.Instance, began, ended, reason)
}

// row is the calls of a client on a day, as they are written.
type row struct {
	clientDay
	*calls
	id int64
}

// admit chooses the rows that are written under their names, in the order in which all
// instances write them. The rest are calls without a name: those of unverified clients
// that have no name in the database yet, if too many were added today. Of the current
// version, unverified clients that no old version has seen are left out.
func admit(tx *store.Session, b *batch, key store.Key) (rows []row, unnamed []row) {
	all := make([]row, 0, len(b.clients))
	ids := make([]int64, 0, len(b.clients))
	for k, c := range b.clients {
		id := key.ID(k.name)
		all = append(all, row{k, c, id})
		ids = append(ids, id)
	}
	slices.SortFunc(all, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.version, b.version), cmp.Compare(a.id, b.id), cmp.Compare(a.day, b.day),
			strings.Compare(a.name, b.name))
	})
	named := map[int64]bool{}
	var id int64
	tx.EachAmong("select id from quotegate_clients where id in IDS", ids, nil, []any{&id}, func() { named[id] = true })
	var room *capacity
	for _, r := range all {
		if named[r.id] || !r.known && !r.old {
			continue
		}
		if !r.known && room == nil {
			room = readCapacity(tx, b.until.Unix()/day*day)
		}
		named[r.id] = r.known || room.reserve(r.network)
	}
	for i, r := range all {
		twice := i > 0 && all[i-1].id == r.id && all[i-1].version == r.version && all[i-1].day == r.day
		switch {
		case named[r.id] && !twice: // twice: two names with one hash
			rows = append(rows, r)
		case r.old:
			unnamed = append(unnamed, r)
		}
	}
	return rows, unnamed
}

// capacity is how many names were added today.
type capacity struct {
	all      int
	networks map[int64]int
}

func readCapacity(tx *store.Session, today int64) *capacity {
	r := &capacity{networks: map[int64]int{}}
	var network int64
	var added int
	tx.Each(`select network, count(*) from quotegate_clients
		where first_seen >= $1 and kind <> 'client' group by network`,
		[]any{today}, []any{&network, &added}, func() {
			r.networks[network] = added
			r.all += added
		})
	return r
}

// reserve reports whether an unverified client may add a name, and counts it. Clients
// without an address are not of one network.
func (r *capacity) reserve(network int64) bool {
	if r.all >= newPerDay || network != 0 && r.networks[network] >= newPerNetwork {
		return false
	}
	r.all++
	r.networks[network]++
	return true
}

// rowsAtOnce are prepared at a time, so that a large batch takes little memory.
const rowsAtOnce = 1000

// insertClients writes names, each once: of several days and versions, one with software.
func insertClients(tx *store.Session, rows []row) {
	clients := slices.Clone(rows)
	slices.SortFunc(clients, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.id, b.id), strings.Compare(b.software, a.software), cmp.Compare(a.first, b.first))
	})
	clients = slices.CompactFunc(clients, func(a, b row) bool { return a.id == b.id })
	for some := range slices.Chunk(clients, rowsAtOnce) {
		values := make([][]any, len(some))
		for i, r := range some {
			kind, _, _ := strings.Cut(r.name, " ")
			values[i] = []any{r.id, r.name, kind, r.software, r.network, r.first}
		}
		tx.Insert(`insert into quotegate_clients as c (id, name, kind, software, network, first_seen) ROWS
			on conflict (id) do update set software = excluded.software
			where excluded.software <> '' and excluded.software <> c.software`, values)
	}
}

func (r *Recorder) insertDays(tx *store.Session, rows []row) {
	values := make([][]any, len(rows))
	for i, c := range rows {
		exempt := int64(0)
		if c.exempt {
			exempt = 1
		}
		values[i] = []any{
			r.Versions[c.version], c.id, c.day, c.by[served], c.by[brownout], c.by[retired], c.by[rehearsed],
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
func (r *Recorder) insertFindings(tx *store.Session, rows []row) {
	days := map[int64][][]any{}
	for _, c := range rows {
		slices.SortFunc(c.findings, compareFindings)
		for _, f := range c.findings {
			days[c.day] = append(days[c.day], []any{
				r.Versions[c.version], c.id, c.day, string(f.Outcome), string(f.Code), f.Param, f.calls,
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

// compareFindings orders findings as all instances write them.
func compareFindings(a, b finding) int {
	return cmp.Or(cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Code, b.Code), strings.Compare(a.Param, b.Param))
}

func (r *Recorder) insertTotals(tx *store.Session, totals map[versionHour]total, unnamed []row) {
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
	for _, in := range slices.SortedFunc(maps.Keys(all), func(a, b versionHour) int {
		return cmp.Or(cmp.Compare(a.hour, b.hour), cmp.Compare(a.version, b.version), cmp.Compare(a.outcome, b.outcome))
	}) {
		sum := all[in]
		rows = append(rows, []any{in.hour, r.Versions[in.version], outcomeNames[in.outcome], sum.calls, sum.unnamed})
	}
	tx.Insert(`insert into quotegate_totals as t (hour, version, outcome, calls, unnamed) ROWS
		on conflict (hour, version, outcome) do update set
		calls = t.calls + excluded.calls, unnamed = t.unnamed + excluded.unnamed`, rows)
}

// measureEvery is how often stats are read whole while nobody calls.
const measureEvery = time.Minute

// measure reads the stats, and makes room in a database that is too large.
func (r *Recorder) measure(ctx context.Context, at time.Time, changed bool) error {
	last := r.stats.Load()
	if changed || at.Sub(r.measured).Abs() >= measureEvery {
		last = nil
	}
	q := r.DB.Ask(ctx)
	s := r.ReadStats(q, at, last)
	if q.Err != nil {
		return q.Err
	}
	r.stats.Store(s)
	if last == nil {
		r.measured = at
	}
	if s.Bytes > r.DB.Most && at.Sub(r.relieved).Abs() > relievePause {
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
	q := r.DB.Ask(ctx)
	size := q.Size()
	if q.Err != nil || size < r.DB.Most/10*9 {
		return fmt.Errorf("%w: %w", store.ErrDiskFull, err)
	}
	return errors.Join(err, r.giveUp(ctx, q.Now(r.Now())))
}

// giveUp deletes the oldest day, and records that as a gap.
func (r *Recorder) giveUp(ctx context.Context, at time.Time) error {
	q := r.DB.Ask(ctx)
	oldest := oldestDay(q)
	if q.Err != nil || oldest < 0 {
		return q.Err
	}
	r.relieved = at
	r.Log.Error("usage: the database reached its maximum size; the counts of its oldest day are deleted",
		"bytes", r.DB.Most, "day", humanize.Date(time.Unix(oldest*day, 0)))
	r.gap(q, oldest*day, min((oldest+1)*day, at.Unix()),
		"the database reached its maximum size, and counts were deleted")
	err := q.Err
	for more := true; more && err == nil; {
		more, err = r.deleteDays(ctx, oldest+1)
	}
	return err
}

// versions are all of which there may be counts. Other releases may have other versions.
func versions(q *store.Session) (all []string) {
	var version string
	q.Each("select distinct version from quotegate_totals", nil, []any{&version}, func() {
		all = append(all, version)
	})
	return all
}

// oldestDay is the oldest of which there are counts, or -1.
func oldestDay(q *store.Session) (oldest int64) {
	oldest = -1
	for _, version := range versions(q) {
		var first int64
		q.Get("select coalesce(min(day), -1) from quotegate_days where version = $1", []any{version}, &first)
		if first >= 0 && (oldest < 0 || first < oldest) {
			oldest = first
		}
	}
	return oldest
}

// cleanEvery is how often old counts are deleted.
const cleanEvery = time.Hour

// clean deletes what is too old to be looked at, some clients at a time. It deletes at
// most one day an hour, so that a clock that is ahead for a while does little harm.
func (r *Recorder) clean(ctx context.Context, at time.Time) error {
	if at.Sub(r.cleaned).Abs() < cleanEvery {
		return nil
	}
	q := r.DB.Ask(ctx)
	oldest := oldestDay(q)
	before := min(store.FirstDay(at, store.KeepDays), oldest+1)
	if q.Err != nil || oldest < 0 {
		return q.Err
	}
	more, err := r.deleteDays(ctx, before)
	if more || err != nil {
		return err
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

// deleteAtOnce is of how many clients old days are deleted in one transaction.
const deleteAtOnce = 2000

// deleteDays deletes the days before one, of some clients of each version, and the names
// that have no day left. It reports whether there may be more.
func (r *Recorder) deleteDays(ctx context.Context, before int64) (more bool, err error) {
	q := r.DB.Ask(ctx)
	all := versions(q)
	if q.Err != nil {
		return false, q.Err
	}
	for _, version := range all {
		err := r.DB.Transact(ctx, func(tx *store.Session) {
			tx.LockDeleting()
			var ids []int64
			var id int64
			tx.Each(`select distinct client from quotegate_days where version = $1 and day < $2 limit $3`,
				[]any{version, before, deleteAtOnce}, []any{&id}, func() { ids = append(ids, id) })
			more = more || len(ids) == deleteAtOnce
			tx.ExecAmong("delete from quotegate_days where version = $1 and day < $2 and client in IDS",
				ids, version, before)
			tx.ExecAmong("delete from quotegate_findings where version = $1 and day < $2 and client in IDS",
				ids, version, before)
			left := map[int64]bool{}
			for _, version := range all {
				tx.EachAmong("select distinct client from quotegate_days where version = $1 and client in IDS",
					ids, []any{version}, []any{&id}, func() { left[id] = true })
			}
			ids = slices.DeleteFunc(ids, func(id int64) bool { return left[id] })
			tx.ExecAmong("delete from quotegate_clients where id in IDS", ids)
		})
		if err != nil {
			return false, err
		}
	}
	return more, nil
}
