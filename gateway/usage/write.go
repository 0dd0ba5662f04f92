package usage

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/words"
)

// Reasons of gaps, as reports show them.
const (
	killed = "an instance ended without writing its last counts"
	noRoom = "the database had reached its greatest size, and counts were given up"
)

// batch is what one transaction writes: rows of one day. It is kept until the database
// confirms it. Its number prevents that it is written twice.
type batch struct {
	number int64
	rows   []*row
	totals map[total]totalCalls
	until  int64 // with this batch, every call before this time is written; 0 if more follow
}

// byDay splits what was taken into batches of one day each. Instances write the rows
// of a client in the same order only within a day, so two days in one transaction
// could wait for one another.
func (b batch) byDay() []batch {
	days := map[uint32][]*row{}
	for _, e := range b.rows {
		days[e.day] = append(days[e.day], e)
	}
	if len(days) == 0 {
		return []batch{b}
	}
	var all []batch
	for _, day := range slices.Sorted(maps.Keys(days)) {
		all = append(all, batch{rows: days[day]})
	}
	all[0].totals = b.totals
	all[len(all)-1].until = b.until
	return all
}

// maxIDs bounds how many numbers are remembered.
const maxIDs = 1 << 15

// writeInTime is a write with a time limit, but for the first, which may have to
// change the schema.
func (r *Recorder) writeInTime(ctx context.Context) error {
	if r.prepared.Load() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.timeout.Load()))
		defer cancel()
	}
	return r.Flush(ctx)
}

// Flush writes what was counted, and brings the stats up to date. It logs the start and the
// end of an outage.
func (r *Recorder) Flush(ctx context.Context) error {
	select {
	case r.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.writing }()
	if r.prepared.Load() { // so that the database's clock is known
		r.markHour(r.Now().Add(time.Duration(r.offset.Load()) * time.Second))
	}
	err := r.writeAll(ctx)
	if store.Full(err) {
		err = r.relieve(ctx, err)
	}
	if errors.Is(ctx.Err(), context.Canceled) { // cancelled here, not an outage
		return err
	}
	if err != nil {
		r.DB.Reconnect()
	}
	r.noteOutage(err)
	return err
}

// noteOutage remembers whether the database takes counts, and logs a change.
func (r *Recorder) noteOutage(err error) {
	was := r.failing.Load()
	switch {
	case hopeless(err) && r.batches == 0 && was == nil: // New returns the error
		r.failing.Store(&outage{r.Now(), err})
	case err != nil && was == nil:
		r.failing.Store(&outage{r.Now(), err})
		r.Log.Error("usage: the database takes no counts; they wait in memory", "error", err)
	case err != nil:
		r.failing.Store(&outage{was.since, err})
		if store.HasUnknownSchema(err) && !store.HasUnknownSchema(was.err) {
			r.Log.Error("usage: the database has come back with a schema that this release does not know; "+
				"the service is not ready", "error", err)
		}
	case was != nil:
		r.failing.Store(nil)
		r.Log.Info("usage: the database takes counts again", "since", words.Stamp(was.since))
	}
}

// relieve is called when SQLite found no room. It gives up counts, for the next
// attempt, if the database is about as large as it may be. Otherwise the disk is full,
// of other things: counts wait, and none are given up.
func (r *Recorder) relieve(ctx context.Context, err error) error {
	q := r.DB.Ask(ctx)
	nearLimit := q.NearLimit()
	if q.Err != nil || !nearLimit {
		return fmt.Errorf("%w: %w", store.ErrDiskFull, err)
	}
	return errors.Join(err, r.makeRoom(ctx, r.DB.Nearly()))
}

func (r *Recorder) writeAll(ctx context.Context) error {
	if r.prepared.Load() {
		same, err := r.DB.Unchanged(ctx)
		if err != nil {
			return err
		}
		r.prepared.Store(same)
	}
	if !r.prepared.Load() {
		if err := r.prepare(ctx); err != nil {
			return err
		}
		r.prepared.Store(true)
	}
	at, err := r.compareClocks(ctx)
	if err != nil {
		return err
	}
	r.markHour(at)
	for _, step := range []func(context.Context, time.Time) error{
		r.flushWaiting, r.flushNew, r.recordDeadInstances, r.roll, r.recall, r.measure,
	} {
		if err := step(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// markHour notes that the service is up. It counts once it is written.
func (r *Recorder) markHour(at time.Time) { r.hours[at.Unix()/hour*hour] = struct{}{} }

// compareClocks returns the database's time. If our clock is far from it, calls are
// counted by the database's.
func (r *Recorder) compareClocks(ctx context.Context) (time.Time, error) {
	q := r.DB.Ask(ctx)
	at := q.Now(r.Now())
	offset := at.Sub(r.Now())
	if offset.Abs() <= store.MaxSkew {
		offset = 0
	}
	if q.Err == nil {
		r.offset.Store(int64(offset / time.Second))
	}
	return at, q.Err
}

// flushWaiting writes the batches that the database has not confirmed.
func (r *Recorder) flushWaiting(ctx context.Context, at time.Time) error {
	for len(r.waiting) > 0 {
		b := r.waiting[0]
		if err := r.DB.Transact(ctx, func(tx *store.Session) { r.insertBatch(tx, b, at) }); err != nil {
			return err
		}
		r.confirm(b)
		r.waiting = r.waiting[1:]
	}
	r.waiting = nil
	return nil
}

// confirm is called when a batch was written.
func (r *Recorder) confirm(b batch) {
	if len(r.ids) > maxIDs {
		clear(r.ids)
	}
	for _, e := range b.rows {
		r.ids[e.hash] = e.id
	}
	if len(b.rows)+len(b.totals) > 0 {
		r.changed = true
		r.writes.Add(1)
	}
	clear(r.hours)
	r.written.Store(true)
}

// flushNew writes what was counted since, in several batches if it is much.
func (r *Recorder) flushNew(ctx context.Context, at time.Time) error {
	for next := 0; next < shards; {
		taken := batch{totals: map[total]totalCalls{}}
		next = r.buffer.take(at.Unix(), next, &taken)
		if next == shards {
			taken.until = at.Unix()
		}
		for _, b := range taken.byDay() {
			r.batches++
			b.number = r.batches
			r.waiting = append(r.waiting, b)
		}
		if err := r.flushWaiting(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// measure reads the stats. Those that take long are read only if something was
// written, or after a while. It makes room in a database that is too large.
func (r *Recorder) measure(ctx context.Context, at time.Time) error {
	last := r.stats.Load()
	if r.changed || at.Sub(r.measured).Abs() >= time.Minute {
		last = nil
		r.measured = at
	}
	s, err := r.ReadStats(r.DB.Ask(ctx), at, last)
	if err != nil {
		return err
	}
	r.stats.Store(s)
	r.changed = false
	if s.Bytes > r.DB.Most {
		return r.makeRoom(ctx, r.DB.Most)
	}
	return nil
}

// prepare gets the database ready: the schema, the key that all instances share,
// and the clients that were seen before.
func (r *Recorder) prepare(ctx context.Context) error {
	if err := r.DB.Migrate(ctx, r.Log); err != nil {
		return err
	}
	clear(r.ids) // which may be those of another database
	r.recalled = time.Time{}
	at, err := r.compareClocks(ctx)
	if err != nil {
		return err
	}
	var secret string
	err = r.DB.Transact(ctx, func(tx *store.Session) {
		store.Facts.Write(tx, []store.FactRow{ // in one order: other instances may start at the same time
			{Name: "since", Value: strconv.FormatInt(at.Unix(), 10)},
			{Name: "rolled", Value: strconv.FormatInt(at.Unix()/day, 10)},
			{Name: "deleted", Value: "0"},
			{Name: "secret", Value: rand.Text()},
		})
		tx.Get("select value from usage_meta where name = 'secret'", nil, &secret)
	})
	if err != nil {
		return err
	}
	k := keyFrom(secret)
	was := r.hashKey.Swap(&k)
	if *was != k && r.failing.Load() != nil {
		r.Log.Warn("usage: calls before the database first answered have names of their own, " +
			"where a name is made from an address")
	}
	return r.recall(ctx, at)
}

// recall reads which clients were seen before, on any instance, and how many each
// network has added today. Other instances may see more of them later.
func (r *Recorder) recall(ctx context.Context, at time.Time) error {
	if !r.recalled.IsZero() && (!r.DB.Shared || at.Sub(r.recalled).Abs() <= time.Minute) {
		return nil
	}
	now := at.Unix()
	since := now - store.ReportDays*day
	if !r.recalled.IsZero() {
		since = r.recalled.Unix() - 2*int64(store.MaxInterval/time.Second)
	}
	var name, software string
	var first, network int64
	q := r.DB.Ask(ctx)
	q.Each(`select name, software, network, first_seen from usage_names where id in
		(select client from usage_clients where version <> $1 and last_seen >= $2) order by first_seen limit $3`,
		[]any{r.Current, since, shards * seenPerShard},
		[]any{&name, &software, &network, &first}, func() {
			r.buffer.remember(name, first/day)
			if network != 0 && !store.IsAgent(name) {
				r.buffer.remember(agentName(software, network), first/day)
			}
		})
	var added int
	q.Each(`select network, count(*) from usage_names
		where first_seen >= $1 and network <> 0 group by network having count(*) > 1`,
		[]any{now - now%day}, []any{&network, &added}, func() { r.buffer.networks.set(network, now/day, added) })
	if q.Err == nil {
		r.recalled = at
	}
	return q.Err
}

// insertBatch writes a batch. The rows are sorted, so that instances that write at
// once do not deadlock.
func (r *Recorder) insertBatch(tx *store.Session, b batch, at time.Time) {
	if !r.announce(tx, b, at) {
		return // the batch was committed before, but the answer was lost
	}
	deleteGaps(tx, r.Writer.Instance) // it has not ended
	store.Hours.Write(tx, r.upIn())
	rolled, deleted := rolledTo(tx)
	if deleted != r.deleted {
		clear(r.ids)
		r.deleted = deleted
	}
	r.insertNames(tx, b.rows)
	slices.SortFunc(b.rows, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.version, b.version), cmp.Compare(a.id, b.id))
	})
	for rows := range slices.Chunk(b.rows, r.DB.Chunk) {
		r.insertDay(tx, rows, rolled)
	}
	store.Totals.Write(tx, r.totalRows(b.totals))
}

// announce writes what this instance says of itself with a batch. It returns false if
// the batch was written before.
func (r *Recorder) announce(tx *store.Session, b batch, at time.Time) bool {
	started := at.Add(r.Writer.Started.Sub(r.Now())) // by the database's clock
	ahead := r.Now().Sub(at)
	return tx.Exec(`insert into usage_instances
		(instance, host, plan, written, stopped, batch, every, ahead, started, complete)
		values ($1, $2, $3, $4, 0, $5, $6, $7, $8, $9)
		on conflict (instance) do update set written = excluded.written, stopped = 0, batch = excluded.batch,
		plan = excluded.plan, every = excluded.every, ahead = excluded.ahead,
		complete = greatest(usage_instances.complete, excluded.complete)
		where usage_instances.batch < excluded.batch`,
		r.Writer.Instance, r.host, *r.plan.Load(), at.Unix(), b.number, r.every.Load()/int64(time.Second),
		int64(ahead/time.Second), started.Unix(), b.until) > 0
}

// upIn are the hours in which this service was up, in their order.
func (r *Recorder) upIn() (rows []store.HourRow) {
	for _, began := range slices.Sorted(maps.Keys(r.hours)) {
		rows = append(rows, store.HourRow{Began: began})
	}
	return rows
}

func (r *Recorder) totalRows(totals map[total]totalCalls) (rows []store.TotalRow) {
	for _, k := range slices.SortedFunc(maps.Keys(totals), func(a, b total) int {
		return cmp.Or(
			cmp.Compare(a.began, b.began), cmp.Compare(a.version, b.version), cmp.Compare(a.outcome, b.outcome))
	}) {
		calls := totals[k]
		rows = append(rows, store.TotalRow{
			Began: k.began, Version: r.Versions[k.version], Outcome: outcomeNames[k.outcome],
			Calls: calls.all, Unnamed: calls.unnamed,
		})
	}
	return rows
}

// rolledTo is the day up to which counts of several days are rolled on, which stays until
// the transaction ends, and how often names were deleted.
func rolledTo(tx *store.Session) (rolled int64, deleted string) {
	lock := ""
	if tx.Shared() {
		lock = " for share"
	}
	tx.Get("select value from usage_meta where name = 'deleted'", nil, &deleted)
	tx.Get("select cast(value as bigint) from usage_meta where name = 'rolled'"+lock, nil, &rolled)
	return rolled, deleted
}

// insertNames gives every row its client's number. Names that are in the database
// are not written again, unless their software has changed.
func (r *Recorder) insertNames(tx *store.Session, rows []*row) {
	var fresh []*row
	for _, e := range rows {
		e.id = r.ids[e.hash]
		if e.id == 0 || e.newSoftware {
			fresh = append(fresh, e)
		}
	}
	slices.SortFunc(fresh, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.last, b.last))
	})
	for some := range slices.Chunk(fresh, r.DB.Chunk) {
		var names []string
		var written []store.NameRow
		for i, e := range some {
			if i+1 < len(some) && some[i+1].name == e.name { // of several days or versions, the last
				continue
			}
			names = append(names, e.name)
			written = append(written, store.NameRow{
				Name: e.name, Software: e.software, Network: e.network, FirstSeen: int64(e.first),
				Trace: r.hashKey.Load().trace(e.network, e.software),
			})
		}
		store.Names.Write(tx, written)
		numbers := tx.Numbers(names)
		for _, e := range some {
			e.id = numbers[e.name]
		}
	}
}

// insertDay writes rows of one day.
func (r *Recorder) insertDay(tx *store.Session, rows []*row, rolled int64) {
	today := int64(rows[0].day)
	days := make([]store.DayRow, len(rows))
	clients := make([]store.ClientRow, len(rows))
	var findings []store.FindingRow
	for i, e := range rows {
		version := r.Versions[e.version]
		days[i] = e.ofDay(version)
		clients[i] = e.ofClient(version, rolled)
		findings = append(findings, e.ofFindings(version)...)
	}
	store.Days.Write(tx, days)
	store.Clients.Write(tx, clients)
	store.Findings.Write(tx, findings)
	if today < rolled {
		countClients(tx, today, today)
	}
}

func (e *row) ofDay(version string) store.DayRow {
	return store.DayRow{
		Day: int64(e.day), Version: version, Client: e.id, Hours: int64(e.hours),
		Served:    int64(e.calls[served]),
		Brownout:  int64(e.calls[brownout]),
		Retired:   int64(e.calls[retired]),
		Rehearsed: int64(e.calls[rehearsed]),
		Failed:    int64(e.calls[failed]),
	}
}

// ofClient is what a row adds to what is known of its client, where counts of several
// days are rolled on to a day.
func (e *row) ofClient(version string, rolled int64) store.ClientRow {
	today := int64(e.day)
	all := int64(0)
	for _, calls := range e.calls {
		all += int64(calls)
	}
	answered := int64(e.calls[served] + e.calls[brownout] + e.calls[retired])
	within := func(days int64) int64 { return answered * oneIf(today > rolled-days) }
	client := store.ClientRow{
		Version:       version,
		Client:        e.id,
		FirstSeen:     int64(e.first),
		LastSeen:      int64(e.last),
		LastCall:      int64(max(e.lastOf[served], e.lastOf[brownout])),
		LastServed:    int64(e.lastOf[served]),
		Last410:       int64(max(e.lastOf[brownout], e.lastOf[retired])),
		LastRehearsal: int64(e.lastOf[rehearsed]),
		LastFailed:    int64(e.lastOf[failed]),
		Position:      e.position,
		Exempt:        oneIf(e.exempt),
		Proven:        int64(e.proven),
		Claimed:       all - int64(e.proven),
		Kind:          store.KindOf(e.name),
		Found:         today * oneIf(len(e.found) > 0),
		Calls7:        within(7),
		Calls30:       within(30),
		Calls90:       within(store.ReportDays),
	}
	for _, f := range e.found {
		client.Worst = max(client.Worst, int64(store.Gravity(f.Outcome)))
	}
	return client
}

func (e *row) ofFindings(version string) (rows []store.FindingRow) {
	for _, f := range e.found {
		rows = append(rows, store.FindingRow{
			Version: version, Client: e.id, Finding: string(f.Outcome), Code: string(f.Code), Param: f.Param,
			Day: int64(e.day), Calls: int64(f.calls),
		})
	}
	return rows
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// countClients counts the clients of days that are over.
func countClients(tx *store.Session, from, to int64) {
	tx.Exec(`insert into usage_version_days (day, version, clients)
		select day, version, count(*) from usage_days
		where day >= $1 and day <= $2 and served + brownout + retired > 0 group by day, version
		on conflict (day, version) do update set clients = excluded.clients`, from, to)
}

// deleteGaps deletes those of an instance that was taken for dead.
func deleteGaps(tx *store.Session, instance string) {
	tx.Exec("delete from usage_gaps where instance = $1 and reason = $2", instance, killed)
}

func gap(tx *store.Session, instance string, began, ended int64, reason string) {
	tx.Exec("insert into usage_gaps (instance, began, ended, reason) values ($1, $2, $3, $4)",
		instance, began, ended, reason)
}

// recordDeadInstances records a gap for every instance that has missed a dozen
// writes and has not stopped properly. The first instance to notice records it.
func (r *Recorder) recordDeadInstances(ctx context.Context, at time.Time) error {
	type silence struct{ written, complete int64 }
	var instance string
	var last silence
	dead := map[string]silence{}
	q := r.DB.Ask(ctx)
	q.Each(`select instance, written, case when complete > 0 then complete else written end from usage_instances
		where stopped = 0 and instance <> $1 and written < $2 - 12 * every`,
		[]any{r.Writer.Instance, at.Unix()}, []any{&instance, &last.written, &last.complete},
		func() { dead[instance] = last })
	if q.Err != nil || len(dead) == 0 {
		return q.Err
	}
	return r.DB.Transact(ctx, func(tx *store.Session) {
		for _, instance := range slices.Sorted(maps.Keys(dead)) { // in order, so that instances cannot deadlock
			changed := tx.Exec(`update usage_instances set stopped = $1
				where instance = $2 and stopped = 0 and written = $3`, at.Unix(), instance, dead[instance].written)
			if changed == 1 {
				gap(tx, instance, dead[instance].complete, at.Unix(), killed)
			}
		}
	})
}
