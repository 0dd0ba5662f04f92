package usage

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"
)

// aliveFor is how long after its last write an instance counts as running.
const aliveFor = time.Minute

// Reasons of gaps, as reports show them.
const (
	killed     = "an instance ended without writing its last counts"
	noRoom     = "the database was away until there was no room left for waiting counts"
	memoryFull = "the memory for counts was full, and some were given up; set USAGE_DB to keep them"
)

// batch is what one transaction writes. It is kept until the database confirms
// it. Its number prevents that it is written twice.
type batch struct {
	number  int64
	waiting bool
	rows    []row
	lost    tally
}

// write brings the database and the stats up to date. It logs the start and the
// end of an outage.
func (r *Recorder) write(ctx context.Context) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	err := r.writeAll(ctx)
	if r.db.memory && full(err) {
		err = errors.Join(err, r.db.transact(ctx, r.makeRoom)) // for the next attempt
	}
	failing := r.failing.Load()
	switch {
	case errors.Is(ctx.Err(), context.Canceled): // cancelled here, not an outage
	case damaged(err) && !r.prepared: // New returns the error
	case err != nil && failing == nil:
		r.failing.Store(&outage{r.now(), err})
		r.log.Error("usage: the database takes no counts; they wait in memory", "error", err)
	case err == nil && failing != nil:
		r.failing.Store(nil)
		r.log.Info("usage: the database takes counts again", "since", failing.since.UTC().Format(time.RFC3339))
	}
	return err
}

func (r *Recorder) writeAll(ctx context.Context) error {
	if !r.prepared {
		if err := r.prepare(ctx); err != nil {
			return err
		}
		r.prepared = true
	}
	for late := true; late; {
		if late = r.batch.waiting; !late {
			r.batch = batch{number: r.batch.number + 1, waiting: true}
			r.batch.rows, r.batch.lost = r.buffer.take(r.now().Unix())
		}
		if err := r.db.transact(ctx, r.insertBatch); err != nil {
			return err
		}
		today := r.now().Unix() / day * day
		r.forgetPast(slices.ContainsFunc(r.batch.rows, func(row row) bool { return row.began < today }))
		r.batch.waiting, r.batch.rows, r.keys = false, nil, nil
	}
	if err := r.recordDeadInstances(ctx, aliveFor); err != nil {
		return err
	}
	if r.db.shared {
		if err := r.recallNetworks(ctx); err != nil {
			return err
		}
	}
	s, err := r.readStats(ctx)
	if err != nil {
		return err
	}
	r.stats.Store(s)
	return r.fold(ctx)
}

// prepare gets the database ready: the schema, the key that all instances share,
// and the gaps that earlier runs have left.
func (r *Recorder) prepare(ctx context.Context) error {
	if err := r.db.migrate(ctx); err != nil {
		return err
	}
	secret := r.secret
	err := r.db.transact(ctx, func(tx *transaction) {
		const add = "insert into usage_meta (name, value) values ($1, $2) on conflict (name) do nothing"
		tx.exec(add, "since", strconv.FormatInt(r.started.Unix(), 10))
		tx.exec(add, "folded", "")
		if secret == "" {
			tx.exec(add, "secret", rand.Text())
			tx.get(&secret, "select value from usage_meta where name = 'secret'")
		}
	})
	if err != nil {
		return err
	}
	k := keyFrom(secret)
	if ours := *r.hashKey.Load(); ours != k && r.failing.Load() != nil {
		r.keys = append(r.keys, ours) // calls during the outage have names hashed with it
	}
	r.hashKey.Store(&k)
	if err := r.recallClients(ctx); err != nil {
		return err
	}
	if r.db.shared {
		return r.recordDeadInstances(ctx, aliveFor)
	}
	return r.recordDeadInstances(ctx, 0) // a file is used by one process at a time
}

// insertBatch writes the waiting batch. The rows are sorted, so that instances
// that write at the same time cannot deadlock.
func (r *Recorder) insertBatch(tx *transaction) {
	now := r.now().Unix()
	if tx.exec(`insert into usage_instances (instance, written, stopped, batch, plan, host) values ($1, $2, 0, $3, $4, $5)
		on conflict (instance) do update set written = excluded.written, stopped = 0, batch = excluded.batch, plan = excluded.plan
		where usage_instances.batch < excluded.batch`, r.instance, now, r.batch.number, *r.plan.Load(), r.host) == 0 {
		return // the batch was committed before, but the answer was lost
	}
	var names, calls, totals, clients, keys [][]any
	for _, row := range merge(r.batch.rows, func(e *entry) { *e = entry{client: e.client} }) {
		names = append(names, []any{clientID(row.client), row.client, row.software, row.network, row.first})
	}
	for _, row := range merge(r.batch.rows, func(*entry) {}) {
		calls = append(calls, []any{row.began, row.version, clientID(row.client), row.outcome,
			string(row.finding.Outcome), string(row.finding.Code), row.finding.Param, int64(1) << (row.began % day / hour), row.calls})
	}
	for _, row := range merge(r.batch.rows, func(e *entry) { *e = entry{began: e.began, version: e.version, outcome: e.outcome} }) {
		totals = append(totals, []any{row.began, row.version, row.outcome, row.calls})
	}
	for _, row := range merge(r.batch.rows, func(e *entry) { *e = entry{version: e.version, client: e.client, outcome: e.outcome} }) {
		exempt := 0
		if row.exempt {
			exempt = 1
		}
		clients = append(clients, []any{row.version, clientID(row.client), row.outcome, row.first, row.last, row.position, exempt})
	}
	for _, k := range append(r.keys, *r.hashKey.Load()) {
		keys = append(keys, []any{k.fingerprint(), now})
	}
	tx.insert("usage_names (id, name, software, network, first_seen)", names,
		`on conflict (id) do update set software = excluded.software
		where usage_names.software <> excluded.software and excluded.software <> ''`)
	tx.insert("usage_calls (began, version, client, outcome, finding, code, param, hours, calls)", calls,
		`on conflict (began, version, client, outcome, finding, code, param) do update set
		calls = usage_calls.calls + excluded.calls, hours = usage_calls.hours | excluded.hours`)
	tx.insert("usage_totals (began, version, outcome, calls)", totals,
		"on conflict (began, version, outcome) do update set calls = usage_totals.calls + excluded.calls")
	tx.insert("usage_clients (version, client, outcome, first_seen, last_seen, position, exempt)", clients,
		`on conflict (version, client, outcome) do update set
		first_seen = case when excluded.first_seen < usage_clients.first_seen then excluded.first_seen else usage_clients.first_seen end,
		last_seen = case when excluded.last_seen > usage_clients.last_seen then excluded.last_seen else usage_clients.last_seen end,
		position = excluded.position, exempt = excluded.exempt`)
	tx.insert("usage_keys (fingerprint, used)", keys, "on conflict (fingerprint) do update set used = excluded.used")
	if r.failing.Load() != nil { // other instances may have recorded this one as dead
		tx.exec("delete from usage_gaps where instance = $1 and reason = $2", r.instance, killed)
	}
	if r.batch.lost.calls > 0 {
		tx.gap(r.instance, r.batch.lost, noRoom)
	}
}

// merge adds up rows that are equal after keep has cleared a part of the entry. What
// is known about the client is that of its last call. The result is sorted.
func merge(rows []row, keep func(*entry)) []row {
	sums := map[entry]row{}
	for _, row := range rows {
		keep(&row.entry)
		if sum, ok := sums[row.entry]; ok {
			newer, older := row.about, sum.about
			if row.last < sum.last {
				newer, older = older, newer
			}
			row.about, row.software = newer, cmp.Or(newer.software, older.software)
			row.tally = tally{row.calls + sum.calls, min(row.first, sum.first), max(row.last, sum.last)}
		}
		sums[row.entry] = row
	}
	merged := slices.AppendSeq(make([]row, 0, len(sums)), maps.Values(sums))
	slices.SortFunc(merged, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.began, b.began), cmp.Compare(a.version, b.version), cmp.Compare(a.client, b.client),
			cmp.Compare(a.outcome, b.outcome), cmp.Compare(a.finding.Outcome, b.finding.Outcome),
			cmp.Compare(a.finding.Code, b.finding.Code), cmp.Compare(a.finding.Param, b.finding.Param))
	})
	return merged
}

func (t *transaction) gap(instance string, lost tally, reason string) {
	t.exec("insert into usage_gaps (instance, began, ended, calls, reason) values ($1, $2, $3, $4, $5)",
		instance, lost.first, lost.last, lost.calls, reason)
}

// recordDeadInstances records a gap for every instance that has not written for
// that long and has not stopped properly. The first instance to notice records it.
func (r *Recorder) recordDeadInstances(ctx context.Context, silence time.Duration) error {
	type run struct {
		instance string
		written  int64
	}
	now := r.now()
	dead, err := queryAll(ctx, r.db, func(rows *sql.Rows, d *run) error { return rows.Scan(&d.instance, &d.written) },
		"select instance, written from usage_instances where stopped = 0 and instance <> $1 and written <= $2", r.instance, now.Add(-silence).Unix())
	if err != nil || len(dead) == 0 {
		return err
	}
	return r.db.transact(ctx, func(tx *transaction) {
		for _, d := range dead {
			if tx.exec("update usage_instances set stopped = $1 where instance = $2 and stopped = 0 and written = $3", now.Unix(), d.instance, d.written) == 1 {
				tx.gap(d.instance, tally{first: d.written, last: now.Unix()}, killed)
			}
		}
	})
}

// fold merges old hours into days and deletes what is too old, once a day. With
// several instances, the first one does it.
func (r *Recorder) fold(ctx context.Context) error {
	now := r.now().UTC()
	today := now.Format(time.DateOnly)
	if r.folded == today {
		return nil
	}
	err := r.db.transact(ctx, func(tx *transaction) {
		if tx.exec("update usage_meta set value = $1 where name = 'folded' and value < $1", today) == 0 {
			return
		}
		before := now.Add(-twoWeeks).Truncate(24 * time.Hour).Unix()
		tx.exec(`insert into usage_calls (began, version, client, outcome, finding, code, param, hours, calls)
			select began - began % 86400 as day, version, client, outcome, finding, code, param, sum(hours), sum(calls)
			from usage_calls where began < $1 and began % 86400 <> 0
			group by day, version, client, outcome, finding, code, param
			on conflict (began, version, client, outcome, finding, code, param) do update set
			calls = usage_calls.calls + excluded.calls, hours = usage_calls.hours | excluded.hours`, before)
		tx.exec("delete from usage_calls where began < $1 and began % 86400 <> 0", before)
		tx.exec("delete from usage_instances where stopped <> 0 and written < $1", before)
		tx.deleteBefore(now.Add(-r.db.keep).Unix())
	})
	if err == nil {
		r.folded = today
	}
	return err
}

func (t *transaction) deleteBefore(before int64) {
	t.exec("delete from usage_calls where began < $1", before)
	t.exec("delete from usage_totals where began < $1", before)
	t.exec("delete from usage_clients where last_seen < $1", before)
	t.exec("delete from usage_names where first_seen < $1 and id not in (select client from usage_clients)", before)
	t.exec("delete from usage_keys where used < $1", before)
	t.exec("delete from usage_gaps where ended < $1", before)
}

// makeRoom makes room in a database in memory. It gives up the clients first seen
// today, if they are many, since they may be a flood of invented ones. Otherwise it
// gives up the older half of the counts.
func (r *Recorder) makeRoom(tx *transaction) {
	now := r.now().Unix()
	today := now - now%day
	var all, fresh int64
	const invented = "from usage_names where first_seen >= $1 and name not like 'client %' and name <> $2"
	tx.get(&all, "select count(*) from usage_names")
	tx.get(&fresh, "select count(*) "+invented, today, otherClients)
	if fresh > all/2 {
		tx.exec("delete from usage_calls where client in (select id "+invented+")", today, otherClients)
		tx.exec("delete from usage_clients where client in (select id "+invented+")", today, otherClients)
		tx.exec("delete "+invented, today, otherClients)
		tx.gap(r.instance, tally{first: today, last: now}, memoryFull)
		return
	}
	var oldest int64
	tx.get(&oldest, "select coalesce(min(began), 0) from usage_calls")
	before := min((oldest+now)/2/hour*hour+hour, now)
	tx.deleteBefore(before)
	tx.gap(r.instance, tally{first: oldest, last: before}, memoryFull)
}
