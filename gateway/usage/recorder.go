// Package usage records who calls an old version: the calls of every client by day
// and outcome, and what the current version would answer to those that were served.
// Of the current version it keeps totals, and the calls of clients that the operator
// knows or that an old version has seen within 90 days, so that it can tell who has
// moved. It keeps them in SQL: SQLite in memory or in a file, or a PostgreSQL
// database that all instances share.
//
// What it promises:
//   - Counting a call takes less than a microsecond, waits for nothing, and
//     allocates nothing for a client that has called since the last write. A
//     stranger's call to the current version adds to one counter.
//   - Memory is bounded, whatever clients send and however many there are: 32,768
//     clients between two writes are counted apart, in less than 24 MiB, and those
//     that the operator knows beside them. Calls of further clients count in the
//     totals, as calls without a name.
//   - Nobody can push real clients out: a client that the operator knows always has a
//     place, half of the room is for clients seen on an earlier day, an eighth for
//     clients that only get errors. A network adds at most 20 names a day and has at
//     most 64 places.
//   - No address is kept. A client without integrator ID and Origin is identified
//     by its software and the hash of its address prefix, made with a secret key.
//   - Counts are written every five seconds, or less often, so that writing takes at
//     most 1.5 % of the time: at most two minutes apart, which is what a killed process
//     loses. Each batch is written once, even if the answer to a commit is lost. While
//     the database is unavailable counts wait. It never keeps the service from
//     starting and never slows a request. Counts that are lost are recorded as a gap.
//   - A database takes at most 1 GiB, in memory 128 MiB. Above that, clients that only
//     got errors are given up first, then new ones if they are most, then old days.
//   - Evidence for a gate is complete only if every hour was recorded and every call
//     has a name; otherwise it says what is missing. What a gate has decided is kept.
//   - What a page reads never delays the writer or a gate, and takes a bounded memory.
package usage

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/words"
)

const (
	writeInterval = 5 * time.Second  // between writes
	maxInterval   = 2 * time.Minute  // between writes that take long
	writeShare    = 66               // a write that took a second is followed by a pause of so many
	writeTimeout  = 30 * time.Second // for one write
	startTimeout  = 12 * time.Second // for the database when the service starts
)

// Options of a Recorder or a Reader.
type Options struct {
	Versions []string         // every version that is counted, in the order to show them
	Current  string           // the version that findings compare with
	Now      func() time.Time // time.Now if nil
	Log      *slog.Logger     // slog.Default() if nil

	// Known returns what the operator wrote down about a client. If nil, nothing.
	Known func(name string) (caller.Client, bool)

	database func() time.Time // the clock of PostgreSQL, in tests
}

// Recorder counts calls. It is safe for concurrent use.
type Recorder struct {
	*Reader
	log     *slog.Logger
	buffer  *buffer
	old     atomic.Uint64 // a bit for each version that is not the current one, or is in the plan
	hashKey atomic.Pointer[hashKey]
	stats   atomic.Pointer[stats]
	plan    atomic.Pointer[string] // the hash of the plan that this instance follows
	offset  atomic.Int64           // what to add to our time for the database's, in seconds
	every   atomic.Int64           // nanoseconds between writes, as announced
	host    string
	timeout time.Duration // of one write

	writing  chan struct{} // full while writing; guards the fields below
	prepared bool
	batch    batch              // the last one begun
	hours    map[int64]struct{} // in which this service was up, not yet written
	ids      map[uint64]int64   // numbers of clients, by the hash of a name
	deleted  string             // how often names were deleted when ids was begun
	recalled time.Time          // when the clients of other instances were last read
	changed  bool               // counts were written since stats were last read
	measured time.Time          // when they were last read whole
	rolled   int64              // the day to which counts are rolled on

	stop context.CancelFunc
	done chan struct{}
	once sync.Once
}

// notYet is what a plan is until an instance follows one.
const notYet = "?"

// New opens the database and starts to write. It fails if the configuration is
// wrong or the file is not a usable database. If the database is unavailable, New
// logs that and connects later.
func New(ctx context.Context, cfg Config, o Options) (*Recorder, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if len(o.Versions) > maxVersions {
		return nil, fmt.Errorf("usage: more than %d versions", maxVersions)
	}
	db, err := open(cfg)
	if err != nil {
		return nil, err
	}
	db.clock = o.database
	r := &Recorder{
		Reader: newReader(db, o), log: cmp.Or(o.Log, slog.Default()), buffer: newBuffer(shardEntries), timeout: writeTimeout,
		writing: make(chan struct{}, 1), hours: map[int64]struct{}{}, ids: map[uint64]int64{}, done: make(chan struct{}),
	}
	r.every.Store(int64(writeInterval))
	r.instance, r.started, r.flush = rand.Text(), r.now(), r.flushSoon
	r.Follow(notYet, nil)
	r.host, _ = os.Hostname() // without one, the instance has no name
	k := keyFrom(rand.Text())
	r.hashKey.Store(&k)
	r.stats.Store(&stats{since: r.started})
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	first := make(chan error, 1)
	go r.run(running, first)
	select {
	case err = <-first:
	case <-time.After(startTimeout):
		if r.hashKey.Load() == &k { // else it is only far away: names are final, and counts will be written
			r.failing.CompareAndSwap(nil, &outage{r.started, errors.New("it has not answered yet")})
			r.log.Error("usage: the database does not answer; counts wait in memory")
		}
	}
	if damaged(err) {
		stop()
		<-r.done
		_ = db.Close() // the first error matters
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	return r, nil
}

// Observe counts an answered request, if the response was a quote or an error.
func (r *Recorder) Observe(e *event.Event) {
	version := slices.Index(r.versions, e.Version)
	if version < 0 {
		return
	}
	old := r.old.Load()&(1<<version) != 0
	what, counted := outcomeOf(e, old)
	if !counted {
		return
	}
	r.buffer.observe(uint8(version), old, max(e.Time.Unix()+r.offset.Load(), 1), what, e, r.hashKey.Load())
}

// Follow is told which plan is in force, and which versions have a line in it: from
// then on they are old ones. It tells the other instances.
func (r *Recorder) Follow(hash string, planned []string) {
	old := uint64(0)
	for i, version := range r.versions {
		if version != r.current || slices.Contains(planned, version) {
			old |= 1 << i
		}
	}
	r.old.Store(old)
	r.plan.Store(&hash)
}

// Name is the name of a client in the report and the log. It holds no address,
// only a hash.
func (r *Recorder) Name(id caller.Identity) string { return r.hashKey.Load().name(id) }

// Since is the time since which the counts are complete: when counting began, or
// the end of the last gap. Until the database has been read, it is the start of
// the process.
func (r *Recorder) Since() time.Time { return r.stats.Load().since.UTC() }

// Total is how often a version was called within a window.
type Total struct {
	Version string
	Window  string // hour, day, week
	Count
}

// Totals returns every version in every window, as of the last write.
func (r *Recorder) Totals() []Total {
	var all []Total
	for _, version := range r.versions {
		for i, count := range r.stats.Load().counts[version] {
			all = append(all, Total{version, windows[i].name, count})
		}
	}
	return all
}

// Notes says what the numbers do not include. It is empty if nothing is missing.
func (r *Recorder) Notes() []string {
	notes := []string{}
	if f := r.failing.Load(); f != nil {
		notes = append(notes, fmt.Sprintf("counts are not written since %s, and wait in memory: %v", words.Stamp(f.since), f.err))
	}
	return append(notes, r.stats.Load().notes...)
}

// Plans is how many different plans the running instances that share the database
// follow, as of the last write.
func (r *Recorder) Plans() int { return max(1, r.stats.Load().plans) }

// Size is how many bytes the database takes, as of the last write, and the number
// from which on counts are given up.
func (r *Recorder) Size() (bytes, most int64) { return r.stats.Load().bytes, r.db.most }

// flushTimeout is how long a page waits for the counts since the last write.
const flushTimeout = 2 * time.Second

// flushSoon writes the waiting counts, so that a page shows them. If that takes long,
// the page shows what was written before. It is an error if nothing can be written.
func (r *Recorder) flushSoon(ctx context.Context) error {
	done := make(chan error, 1)
	go guard.Do(r.log, "writing the counts for a page", func() { done <- r.writeInTime(context.WithoutCancel(ctx)) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(flushTimeout):
	}
	if err := r.away(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	q, n := r.db.askPages(limited), 0
	q.get("select count(*) from usage_meta", nil, &n) // can it be read?
	return q.err
}

// run writes until the context ends. The pause grows with what a write costs, at
// most to twice the one that was announced to other instances, and becomes shorter
// as slowly.
func (r *Recorder) run(ctx context.Context, first chan<- error) {
	defer close(r.done)
	pause := time.Duration(0)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = writeInterval
		guard.Do(r.log, "writing the counts", func() {
			began, unprepared := time.Now(), !r.ready()
			err := r.writeInTime(ctx)
			select {
			case first <- err:
			default: // only the first is waited for
			}
			if err == nil && !unprepared { // the first has more to do
				last := time.Duration(r.every.Load())
				pause = min(max(writeInterval, writeShare*time.Since(began), last/2), maxInterval, 2*last)
				r.every.Store(int64(pause))
			}
		})
	}
}

// Close writes the remaining counts, unless ctx ends first. Calls observed later
// are lost.
func (r *Recorder) Close(ctx context.Context) {
	r.once.Do(func() {
		r.stop()
		<-r.done
		err := r.write(ctx)
		if err == nil {
			_, err = r.db.ExecContext(ctx, "update usage_instances set stopped = written where instance = $1", r.instance)
		}
		if err != nil {
			r.log.Error("usage: the last counts are not written, and are lost", "error", err)
		}
		_ = r.db.Close() // everything is written
	})
}

// Reasons of gaps, as reports show them.
const (
	killed = "an instance ended without writing its last counts"
	noRoom = "the database had reached its greatest size, and counts were given up"
)

// batch is what one transaction writes. It is kept until the database confirms
// it. Its number prevents that it is written twice.
type batch struct {
	number  int64
	waiting bool
	rows    []*row
	totals  map[total]totalCalls
}

// maxIDs bounds how many numbers are remembered.
const maxIDs = 1 << 15

// writeInTime is a write with a time limit, but for the first, which may have to
// change the schema.
func (r *Recorder) writeInTime(ctx context.Context) error {
	if r.ready() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.timeout)
		defer cancel()
	}
	return r.write(ctx)
}

func (r *Recorder) ready() bool {
	r.writing <- struct{}{}
	defer func() { <-r.writing }()
	return r.prepared
}

// write brings the database and the stats up to date. It logs the start and the
// end of an outage.
func (r *Recorder) write(ctx context.Context) error {
	select {
	case r.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.writing }()
	if r.prepared { // so that the database's clock is known
		r.markHour(r.now().Add(time.Duration(r.offset.Load()) * time.Second))
	}
	err := r.writeAll(ctx)
	if full(err) {
		err = errors.Join(err, r.db.transact(ctx, r.db, r.makeRoom)) // for the next attempt
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
		r.log.Info("usage: the database takes counts again", "since", words.Stamp(failing.since))
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
	at, err := r.compareClocks(ctx)
	if err != nil {
		return err
	}
	r.markHour(at)
	for _, step := range []func(context.Context, time.Time) error{r.flushWaiting, r.flushNew, r.recordDeadInstances, r.roll, r.recall, r.measure} {
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
	q := r.db.ask(ctx)
	at := q.now(r.now())
	offset := at.Sub(r.now())
	if offset.Abs() <= maxSkew {
		offset = 0
	}
	if q.err == nil {
		r.offset.Store(int64(offset / time.Second))
	}
	return at, q.err
}

// flushWaiting writes the batch that the database has not confirmed.
func (r *Recorder) flushWaiting(ctx context.Context, at time.Time) error {
	if !r.batch.waiting {
		return nil
	}
	if err := r.db.transact(ctx, r.db, func(tx *session) { r.insertBatch(tx, at) }); err != nil {
		return err
	}
	if len(r.ids) > maxIDs {
		clear(r.ids)
	}
	for _, e := range r.batch.rows {
		r.ids[e.hash] = e.id
	}
	if len(r.batch.rows)+len(r.batch.totals) > 0 {
		r.changed = true
		r.forget()
	}
	r.batch.waiting, r.batch.rows, r.batch.totals = false, nil, nil
	clear(r.hours)
	return nil
}

// flushNew writes what was counted since, in several batches if it is much.
func (r *Recorder) flushNew(ctx context.Context, at time.Time) error {
	for next := 0; next < shards; {
		r.batch = batch{number: r.batch.number + 1, waiting: true, totals: map[total]totalCalls{}}
		next = r.buffer.take(at.Unix(), next, &r.batch)
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
		last, r.measured = nil, at
	}
	s, err := r.readStats(r.db.ask(ctx), at, last)
	if err != nil {
		return err
	}
	r.stats.Store(s)
	r.changed = false
	if s.bytes > r.db.most {
		return r.db.transact(ctx, r.db, r.makeRoom)
	}
	return nil
}

// prepare gets the database ready: the schema, the key that all instances share,
// and the clients that were seen before.
func (r *Recorder) prepare(ctx context.Context) error {
	if err := r.db.migrate(ctx, r.log); err != nil {
		return err
	}
	at, err := r.compareClocks(ctx)
	if err != nil {
		return err
	}
	var secret string
	err = r.db.transact(ctx, r.db, func(tx *session) {
		tx.write("usage_meta", []string{"name text key", "value text"}, [][]any{ // in one order: other instances may start at the same time
			{"since", strconv.FormatInt(at.Unix(), 10)}, {"rolled", strconv.FormatInt(at.Unix()/day, 10)}, {"deleted", "0"}, {"secret", rand.Text()},
		})
		tx.get("select value from usage_meta where name = 'secret'", nil, &secret)
	})
	if err != nil {
		return err
	}
	k := keyFrom(secret)
	if was := r.hashKey.Swap(&k); *was != k && r.failing.Load() != nil {
		r.log.Warn("usage: calls before the database first answered have names of their own, where a name is made from an address")
	}
	return r.recall(ctx, at)
}

// recall reads which clients were seen before, on any instance, and how many each
// network has added today. Other instances may see more of them later.
func (r *Recorder) recall(ctx context.Context, at time.Time) error {
	if !r.recalled.IsZero() && (!r.db.shared || at.Sub(r.recalled).Abs() <= time.Minute) {
		return nil
	}
	now := at.Unix()
	since := now - reportDays*day
	if !r.recalled.IsZero() {
		since = r.recalled.Unix() - 2*int64(maxInterval/time.Second)
	}
	var name string
	var first, network int64
	q := r.db.ask(ctx)
	q.each(`select name, first_seen from usage_names where id in
		(select client from usage_clients where version <> $1 and last_seen >= $2) order by first_seen limit $3`, []any{r.current, since, shards * seenPerShard}, []any{&name, &first}, func() {
		hash := r.buffer.hash(name)
		s := r.buffer.shard(hash)
		s.Lock()
		defer s.Unlock()
		s.remember(hash, first/day)
	})
	var added int
	q.each("select network, count(*) from usage_names where first_seen >= $1 and network <> 0 group by network having count(*) > 1",
		[]any{now - now%day}, []any{&network, &added}, func() { r.buffer.networks.set(network, now/day, added) })
	if q.err == nil {
		r.recalled = at
	}
	return q.err
}

// insertBatch writes the waiting batch. The rows are sorted, so that instances that
// write at once do not deadlock; around midnight they may, and one of them tries again.
func (r *Recorder) insertBatch(tx *session, at time.Time) {
	if tx.exec(`insert into usage_instances (instance, host, plan, written, stopped, batch, every, ahead) values ($1, $2, $3, $4, 0, $5, $6, $7)
		on conflict (instance) do update set written = excluded.written, stopped = 0, batch = excluded.batch, plan = excluded.plan,
		every = excluded.every, ahead = excluded.ahead where usage_instances.batch < excluded.batch`,
		r.instance, r.host, *r.plan.Load(), at.Unix(), r.batch.number, r.every.Load()/int64(time.Second), int64(r.now().Sub(at)/time.Second)) == 0 {
		return // the batch was committed before, but the answer was lost
	}
	tx.exec("delete from usage_gaps where instance = $1 and reason = $2", r.instance, killed) // it has not ended
	var hours, totals [][]any
	for _, began := range slices.Sorted(maps.Keys(r.hours)) {
		hours = append(hours, []any{began})
	}
	tx.write("usage_hours", []string{"began bigint key"}, hours)
	var deleted string
	rolled := tx.rolled(&deleted)
	if deleted != r.deleted {
		clear(r.ids)
		r.deleted = deleted
	}
	r.insertNames(tx)
	rows := r.batch.rows
	slices.SortFunc(rows, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.version, b.version), cmp.Compare(a.id, b.id))
	})
	for len(rows) > 0 { // a client has one row of a day
		n := 1
		for n < min(r.db.chunk, len(rows)) && rows[n].day == rows[0].day {
			n++
		}
		r.insertDay(tx, rows[:n], rolled)
		rows = rows[n:]
	}
	for _, k := range slices.SortedFunc(maps.Keys(r.batch.totals), func(a, b total) int {
		return cmp.Or(cmp.Compare(a.began, b.began), cmp.Compare(a.version, b.version), cmp.Compare(a.outcome, b.outcome))
	}) {
		calls := r.batch.totals[k]
		totals = append(totals, []any{k.began, r.versions[k.version], outcomeNames[k.outcome], calls.all, calls.unnamed})
	}
	tx.write("usage_totals", []string{"began bigint key", "version text key", "outcome text key", "calls bigint +", "unnamed bigint +"}, totals)
}

// rolled is the day up to which counts of several days are rolled on. It stays until
// the transaction ends.
func (t *session) rolled(deleted *string) (rolled int64) {
	lock := ""
	if t.db.shared {
		lock = " for share"
	}
	t.get("select value from usage_meta where name = 'deleted'", nil, deleted)
	t.get("select cast(value as bigint) from usage_meta where name = 'rolled'"+lock, nil, &rolled)
	return rolled
}

// insertNames gives every row its client's number. Names that are in the database
// are not written again, unless their software has changed.
func (r *Recorder) insertNames(tx *session) {
	var fresh []*row
	for _, e := range r.batch.rows {
		if e.id = r.ids[e.hash]; e.id == 0 || e.newSoftware {
			fresh = append(fresh, e)
		}
	}
	slices.SortFunc(fresh, func(a, b *row) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.last, b.last)) })
	for some := range slices.Chunk(fresh, r.db.chunk) {
		names, numbers := [][]any{}, map[string]int64{}
		for i, e := range some {
			if i+1 == len(some) || some[i+1].name != e.name { // of several days or versions, the last
				names = append(names, []any{e.name, e.software, e.network, int64(e.first)})
			}
		}
		tx.write("usage_names", []string{"name text key", "software text case when new.software = '' then old.software else new.software end", "network bigint", "first_seen bigint"}, names)
		var id int64
		var name string
		tx.each("select id, name from usage_names where name in (select value ->> 0 from json_each($1))", []any{asJSON(names)}, []any{&id, &name}, func() { numbers[name] = id })
		for _, e := range some {
			e.id = numbers[e.name]
		}
	}
}

// spans are the days over which the calls of a client are added up.
var spans = [3]int64{7, 30, reportDays}

// What is written about a client, of a day and of all days. dayColumns end with the
// outcomes, in their order.
var (
	dayColumns = []string{"day bigint key", "version text key", "client bigint key", "hours bigint |",
		"served bigint +", "brownout bigint +", "retired bigint +", "rehearsed bigint +", "failed bigint +"}
	clientColumns = []string{"version text key", "client bigint key", "first_seen bigint least", "last_seen bigint greatest", "last_call bigint greatest",
		"last_served bigint greatest", "last_410 bigint greatest", "last_rehearsal bigint greatest", "position float8 new.position",
		"exempt bigint case when new.last_seen >= old.last_seen then new.exempt else old.exempt end", "proven bigint +", "claimed bigint +", "kind bigint",
		"found bigint greatest", "worst bigint case when new.found > old.found then new.worst when new.found = old.found then greatest(old.worst, new.worst) else old.worst end",
		"calls7 bigint +", "calls30 bigint +", "calls90 bigint +"}
	findingColumns = []string{"version text key", "client bigint key", "finding text key", "code text key", "param text key", "day bigint greatest",
		"calls bigint case when new.day > old.day then new.calls when new.day = old.day then old.calls + new.calls else old.calls end"}
)

// insertDay writes rows of one day.
func (r *Recorder) insertDay(tx *session, rows []*row, rolled int64) {
	var days, clients, findings [][]any
	today := int64(rows[0].day)
	for _, e := range rows {
		version := r.versions[e.version]
		of, all := []any{today, version, e.id, int64(e.hours)}, int64(0)
		for _, calls := range e.calls {
			of, all = append(of, int64(calls)), all+int64(calls)
		}
		days = append(days, of)
		worst := 0
		for _, f := range e.found {
			worst = max(worst, slices.Index(gravity, f.Outcome))
			findings = append(findings, []any{version, e.id, string(f.Outcome), string(f.Code), f.Param, today, int64(f.Calls)})
		}
		of = []any{version, e.id, int64(e.first), int64(e.last), int64(max(e.lastOf[served], e.lastOf[brownout])), int64(e.lastOf[served]),
			int64(max(e.lastOf[brownout], e.lastOf[retired])), int64(e.lastOf[rehearsed]), e.position, boolInt(e.exempt), int64(e.proven), all - int64(e.proven),
			kindOf(e.name), today * boolInt(len(e.found) > 0), int64(worst)}
		for _, span := range spans {
			of = append(of, int64(e.calls[served]+e.calls[brownout]+e.calls[retired])*boolInt(today > rolled-span))
		}
		clients = append(clients, of)
	}
	tx.write("usage_days", dayColumns, days)
	tx.write("usage_clients", clientColumns, clients)
	tx.write("usage_findings", findingColumns, findings)
	if today < rolled {
		tx.countClients(today, today)
	}
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// countClients counts the clients of days that are over.
func (t *session) countClients(from, to int64) {
	t.exec(`insert into usage_version_days (day, version, clients)
		select day, version, count(*) from usage_days where day >= $1 and day <= $2 and served + brownout + retired > 0 group by day, version
		on conflict (day, version) do update set clients = excluded.clients`, from, to)
}

func (t *session) gap(instance string, began, ended int64, reason string) {
	t.exec("insert into usage_gaps (instance, began, ended, reason) values ($1, $2, $3, $4)", instance, began, ended, reason)
}

// recordDeadInstances records a gap for every instance that has missed a dozen
// writes and has not stopped properly. The first instance to notice records it.
func (r *Recorder) recordDeadInstances(ctx context.Context, at time.Time) error {
	var instance string
	var written int64
	dead := map[string]int64{} // when each has last written
	q := r.db.ask(ctx)
	q.each("select instance, written from usage_instances where stopped = 0 and instance <> $1 and written < $2 - 12 * every",
		[]any{r.instance, at.Unix()}, []any{&instance, &written}, func() { dead[instance] = written })
	if q.err != nil || len(dead) == 0 {
		return q.err
	}
	return r.db.transact(ctx, r.db, func(tx *session) {
		for _, instance := range slices.Sorted(maps.Keys(dead)) { // in order, so that instances cannot deadlock
			if tx.exec("update usage_instances set stopped = $1 where instance = $2 and stopped = 0 and written = $3", at.Unix(), instance, dead[instance]) == 1 {
				tx.gap(instance, dead[instance], at.Unix(), killed)
			}
		}
	})
}

// roll brings the counts of several days to a new day, once a day, and deletes what
// is too old. With several instances, the first one does it. If a clock was ahead
// for a while, the days that have left come back.
func (r *Recorder) roll(ctx context.Context, at time.Time) error {
	today := at.Unix() / day
	if r.rolled == today {
		return nil
	}
	err := r.db.transact(ctx, r.db, func(tx *session) { r.rollTo(tx, today) })
	if err == nil {
		r.rolled = today
	}
	return err
}

func (r *Recorder) rollTo(tx *session, today int64) {
	var rolled int64
	tx.get("select cast(value as bigint) from usage_meta where name = 'rolled'", nil, &rolled)
	if tx.err != nil || rolled == today ||
		tx.exec("update usage_meta set value = $1 where name = 'rolled' and value = $2", strconv.FormatInt(today, 10), strconv.FormatInt(rolled, 10)) == 0 {
		return
	}
	for _, span := range spans {
		sign, from, to := "-", rolled-span, today-span
		if from > to {
			sign, from, to = "+", to, from
		}
		tx.addUp(span, sign, from+1, to)
	}
	tx.countClients(rolled, today-1)
	if today < rolled {
		return
	}
	clear(r.ids)
	// Only as if a day had passed: a clock that is ahead deletes no more than that.
	oldest := min(today, rolled+1) - keepDays
	tx.exec("delete from usage_days where day < $1", oldest)
	tx.exec("delete from usage_findings where day < $1", oldest)
	tx.exec("delete from usage_findings where day < (select found from usage_clients as c where c.version = usage_findings.version and c.client = usage_findings.client)")
	oldest = (oldest + keepDays - keepTotals) * day
	tx.deleteClients("last_seen < $1", oldest)
	for _, table := range []string{"usage_totals where began", "usage_hours where began", "usage_gaps where ended", "usage_instances where stopped <> 0 and written"} {
		tx.exec("delete from "+table+" < $1", oldest)
	}
	tx.exec("delete from usage_version_days where day < $1", oldest/day)
}

// addUp adds the calls of some days to what clients have called within a span, or
// takes them away.
func (t *session) addUp(span int64, sign string, from, to int64) {
	column := fmt.Sprintf("calls%d", span)
	t.exec(`update usage_clients set `+column+` = `+column+` `+sign+` d.calls
		from (select version, client, cast(sum(served + brownout + retired) as bigint) as calls from usage_days where day >= $1 and day <= $2 group by version, client) as d
		where usage_clients.version = d.version and usage_clients.client = d.client`, from, to)
}

// deleteClients deletes what is known about some clients of some versions, and then
// the names of which nothing is known.
func (t *session) deleteClients(which string, args ...any) {
	for _, table := range []string{"usage_days", "usage_findings"} {
		t.exec("delete from "+table+" where (version, client) in (select version, client from usage_clients where "+which+")", args...)
	}
	if t.exec("delete from usage_clients where "+which, args...) > 0 {
		t.exec("delete from usage_names where id not in (select client from usage_clients)")
		t.exec("update usage_meta set value = cast(cast(value as bigint) + 1 as text) where name = 'deleted'")
	}
}

// makeRoom gives up counts in a database that has reached its greatest size. First
// go clients that only got errors and rehearsals; then those first seen today, if
// they are most of all, since they may be invented; then the older half of the days.
func (r *Recorder) makeRoom(tx *session) {
	now := r.now().Unix() + r.offset.Load()
	today := now - now%day
	const stranger = "client in (select id from usage_names where name not like 'client %') and "
	const useless = stranger + "last_call = 0 and last_410 = 0"
	const invented = stranger + "client in (select id from usage_names where first_seen >= $1)"
	var all, errorsOnly, fresh, oldest int64
	tx.get("select count(*), coalesce(sum(case when "+useless+" then 1 else 0 end), 0), coalesce(sum(case when "+invented+" then 1 else 0 end), 0) from usage_clients",
		[]any{today}, &all, &errorsOnly, &fresh)
	tx.get("select coalesce(min(day), 0) from usage_days", nil, &oldest)
	switch {
	case errorsOnly > all/8:
		tx.deleteClients(useless)
	case fresh > all/2:
		tx.deleteClients(invented, today)
		tx.gap(r.instance, today, now, noRoom)
	default:
		before := min((oldest+now/day)/2+1, now/day)
		for _, span := range spans {
			tx.addUp(span, "-", now/day-span+1, before-1)
		}
		tx.exec("delete from usage_days where day < $1", before)
		tx.deleteClients("last_seen < $1", before*day)
		tx.gap(r.instance, oldest*day, before*day, noRoom)
	}
	r.log.Error("usage: the database has reached its greatest size, and counts are given up", "bytes", r.db.most)
	clear(r.ids)
}
