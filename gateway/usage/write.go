package usage

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/quotegate/quotegate/shared/words"
)

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
	rows    []entry
	totals  map[total]totalCalls
}

// clientID is the number of a client, and the hash of its software as written.
type clientID struct {
	id       int64
	software uint64
}

// maxIDs bounds how many numbers are remembered.
const maxIDs = 1 << 17

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
	if err := r.flushWaiting(ctx, at); err != nil {
		return err
	}
	if err := r.flushNew(ctx, at); err != nil {
		return err
	}
	if err := r.recordDeadInstances(ctx, at); err != nil {
		return err
	}
	if today := at.Unix() / day; r.rolled != today {
		if err := r.db.transact(ctx, r.db, func(tx *transaction) { r.roll(tx, today) }); err != nil {
			return err
		}
		r.rolled = today
	}
	if r.db.shared && at.Sub(r.recalled).Abs() > time.Minute {
		if err := r.recall(ctx, at); err != nil {
			return err
		}
	}
	return r.measure(ctx, at)
}

// markHour notes that the service is up. It counts once it is written.
func (r *Recorder) markHour(at time.Time) { r.hours[at.Unix()/hour*hour] = struct{}{} }

// compareClocks returns the database's time. If our clock is far from it, calls are
// counted by the database's.
func (r *Recorder) compareClocks(ctx context.Context) (time.Time, error) {
	at, err := r.db.now(ctx, r.now())
	offset := at.Sub(r.now())
	if offset.Abs() <= maxSkew {
		offset = 0
	}
	if err == nil {
		r.offset.Store(int64(offset / time.Second))
	}
	return at, err
}

// flushWaiting writes the batch that the database has not confirmed.
func (r *Recorder) flushWaiting(ctx context.Context, at time.Time) error {
	if !r.batch.waiting {
		return nil
	}
	ids := map[uint64]clientID{}
	if err := r.db.transact(ctx, r.db, func(tx *transaction) { r.insertBatch(tx, at, ids) }); err != nil {
		return err
	}
	maps.Copy(r.ids, ids)
	if len(r.ids) > maxIDs {
		clear(r.ids)
	}
	if len(r.batch.rows)+len(r.batch.totals) > 0 {
		r.changed = true
		r.reader.forget()
	}
	r.batch.waiting, r.batch.rows, r.batch.totals = false, nil, nil
	clear(r.hours)
	return nil
}

// flushNew writes what was counted since.
func (r *Recorder) flushNew(ctx context.Context, at time.Time) error {
	r.batch = batch{number: r.batch.number + 1, waiting: true, rows: r.buffer.take(at.Unix()), totals: r.totals.take()}
	return r.flushWaiting(ctx, at)
}

// measure reads the stats. Those that take long are read only if something was
// written, or after a while. It makes room in a database that is too large.
func (r *Recorder) measure(ctx context.Context, at time.Time) error {
	last := r.stats.Load()
	if r.changed || at.Sub(r.measured).Abs() >= time.Minute {
		last, r.measured = nil, at
	}
	s, err := r.reader.readStats(ctx, at, last)
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
	err = r.db.transact(ctx, r.db, func(tx *transaction) {
		for name, value := range map[string]string{
			"since": strconv.FormatInt(at.Unix(), 10), "rolled": strconv.FormatInt(at.Unix()/day, 10), "deleted": "0", "secret": rand.Text(),
		} {
			tx.exec("insert into usage_meta (name, value) values ($1, $2) on conflict (name) do nothing", name, value)
		}
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
// network has added today.
func (r *Recorder) recall(ctx context.Context, at time.Time) error {
	now := at.Unix()
	since := now - reportDays*day
	if !r.recalled.IsZero() {
		since = r.recalled.Unix() - 2*int64(maxInterval/time.Second)
	}
	err := rowsOf(ctx, r.db.DB, `select name, first_seen from usage_names where id in
		(select client from usage_clients where version <> $1 and last_seen >= $2) order by first_seen limit $3`, func(rows *sql.Rows) error {
		var name string
		var first int64
		err := rows.Scan(&name, &first)
		r.buffer.seen.add(r.buffer.hash(name), first/day)
		return err
	}, r.reader.current, since, seenMost)
	if err != nil {
		return err
	}
	r.recalled = at
	return rowsOf(ctx, r.db.DB, "select network, count(*) from usage_names where first_seen >= $1 and network <> 0 group by network having count(*) > 1", func(rows *sql.Rows) error {
		var network int64
		var added int
		err := rows.Scan(&network, &added)
		r.buffer.set(network, now/day, added)
		return err
	}, now-now%day)
}

// insertBatch writes the waiting batch. The rows are sorted, so that instances
// that write at the same time cannot deadlock.
func (r *Recorder) insertBatch(tx *transaction, at time.Time, ids map[uint64]clientID) {
	if tx.exec(`insert into usage_instances (instance, host, plan, written, stopped, batch, every, ahead) values ($1, $2, $3, $4, 0, $5, $6, $7)
		on conflict (instance) do update set written = excluded.written, stopped = 0, batch = excluded.batch, plan = excluded.plan,
		every = excluded.every, ahead = excluded.ahead where usage_instances.batch < excluded.batch`,
		r.reader.instance, r.host, *r.plan.Load(), at.Unix(), r.batch.number, r.every.Load()/int64(time.Second), int64(r.now().Sub(at)/time.Second)) == 0 {
		return // the batch was committed before, but the answer was lost
	}
	tx.exec("delete from usage_gaps where instance = $1 and reason = $2", r.reader.instance, killed) // it has not ended
	hours := slices.Sorted(maps.Keys(r.hours))
	tx.write("usage_hours", []string{"began bigint"}, len(hours), func(i int, v []any) { v[0] = hours[i] }, "on conflict (began) do nothing")
	var deleted string
	rolled := tx.rolled(&deleted)
	if deleted != r.deleted {
		clear(r.ids)
		r.deleted = deleted
	}
	r.insertNames(tx, ids)
	rows := r.batch.rows
	slices.SortFunc(rows, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.version, b.version), cmp.Compare(a.id, b.id))
	})
	for len(rows) > 0 { // a client has one row of a day
		n := 1
		for n < len(rows) && rows[n].day == rows[0].day {
			n++
		}
		r.insertDay(tx, rows[:n], rolled)
		rows = rows[n:]
	}
	keys := slices.SortedFunc(maps.Keys(r.batch.totals), func(a, b total) int {
		return cmp.Or(cmp.Compare(a.began, b.began), cmp.Compare(a.version, b.version), cmp.Compare(a.outcome, b.outcome))
	})
	tx.write("usage_totals", []string{"began bigint", "version text", "outcome text", "calls bigint", "unnamed bigint"}, len(keys), func(i int, v []any) {
		k := keys[i]
		c := r.batch.totals[k]
		v[0], v[1], v[2], v[3], v[4] = k.began, r.reader.versions[k.version], outcomeNames[k.outcome], c.all, c.unnamed
	}, `on conflict (began, version, outcome) do update set calls = usage_totals.calls + excluded.calls, unnamed = usage_totals.unnamed + excluded.unnamed`)
}

// rolled is the day up to which counts of several days are rolled on. It stays until
// the transaction ends.
func (t *transaction) rolled(deleted *string) (rolled int64) {
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
func (r *Recorder) insertNames(tx *transaction, ids map[uint64]clientID) {
	fresh := map[string]*entry{}
	for i := range r.batch.rows {
		e := &r.batch.rows[i]
		software := r.buffer.hash(e.software)
		if id, ok := r.ids[e.hash]; ok && (id.software == software || e.software == "") {
			e.id = id.id
		} else if was := fresh[e.name]; was == nil || was.last < e.last {
			fresh[e.name] = e
		}
	}
	names := slices.Sorted(maps.Keys(fresh))
	numbers := make(map[string]int64, len(names))
	const conflict = ` on conflict (name) do update set software = case when excluded.software = '' then usage_names.software else excluded.software end returning id, name`
	const into = "insert into usage_names (name, software, network, first_seen) "
	if tx.db.shared {
		for chunk := range slices.Chunk(names, 5000) {
			var software []string
			var network, first []int64
			for _, name := range chunk {
				e := fresh[name]
				software, network, first = append(software, e.software), append(network, e.network), append(first, e.first)
			}
			tx.numbers(numbers, into+"select * from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])"+conflict, chunk, software, network, first)
		}
	} else if len(names) > 0 && tx.err == nil {
		var statement *sql.Stmt
		if statement, tx.err = tx.tx.PrepareContext(tx.ctx, into+"values (?, ?, ?, ?)"+conflict); tx.err != nil {
			return
		}
		defer statement.Close()
		for _, name := range names {
			e := fresh[name]
			var id int64
			if tx.err = statement.QueryRowContext(tx.ctx, name, e.software, e.network, e.first).Scan(&id, &name); tx.err != nil {
				return
			}
			numbers[name] = id
		}
	}
	for i := range r.batch.rows {
		if e := &r.batch.rows[i]; fresh[e.name] != nil {
			e.id = numbers[e.name]
			ids[e.hash] = clientID{e.id, r.buffer.hash(fresh[e.name].software)}
		}
	}
}

func (t *transaction) numbers(into map[string]int64, query string, args ...any) {
	if t.err != nil {
		return
	}
	rows, err := t.tx.QueryContext(t.ctx, query, args...)
	if t.err = err; err != nil {
		return
	}
	defer rows.Close()
	for rows.Next() && t.err == nil {
		var id int64
		var name string
		t.err = rows.Scan(&id, &name)
		into[name] = id
	}
	t.err = cmp.Or(t.err, rows.Err())
}

// spans are the days over which the calls of a client are added up.
var spans = [3]int64{7, 30, reportDays}

// insertDay writes rows of one day.
func (r *Recorder) insertDay(tx *transaction, rows []entry, rolled int64) {
	versions := r.reader.versions
	tx.write("usage_days", []string{"day bigint", "version text", "client bigint", "served bigint", "brownout bigint", "retired bigint", "rehearsed bigint", "failed bigint", "hours bigint"},
		len(rows), func(i int, v []any) {
			e := &rows[i]
			v[0], v[1], v[2], v[8] = e.day, versions[e.version], e.id, e.hours
			for o, calls := range e.calls {
				v[3+o] = calls
			}
		}, `on conflict (day, version, client) do update set served = usage_days.served + excluded.served, brownout = usage_days.brownout + excluded.brownout,
		retired = usage_days.retired + excluded.retired, rehearsed = usage_days.rehearsed + excluded.rehearsed,
		failed = usage_days.failed + excluded.failed, hours = usage_days.hours | excluded.hours`)
	tx.write("usage_clients", []string{"version text", "client bigint", "first_seen bigint", "last_seen bigint", "last_call bigint", "last_served bigint", "last_410 bigint",
		"last_rehearsal bigint", "position double", "exempt bigint", "proven bigint", "claimed bigint", "kind bigint", "calls7 bigint", "calls30 bigint", "calls90 bigint", "found bigint", "worst bigint"},
		len(rows), func(i int, v []any) {
			e := &rows[i]
			copy(v, []any{versions[e.version], e.id, e.first, e.last, max(e.lastOf[served], e.lastOf[brownout]), e.lastOf[served], max(e.lastOf[brownout], e.lastOf[retired]),
				e.lastOf[rehearsed], e.position, boolInt(e.exempt), e.proven, e.claimed, kindOf(e.name)})
			calls := e.calls[served] + e.calls[brownout] + e.calls[retired]
			for s, span := range spans {
				v[13+s] = int64(0)
				if e.day > rolled-span {
					v[13+s] = calls
				}
			}
			v[16], v[17] = int64(0), worst(e.findings)
			if len(e.findings) > 0 {
				v[16] = e.day
			}
		}, `on conflict (version, client) do update set
		first_seen = least(usage_clients.first_seen, excluded.first_seen), last_call = greatest(usage_clients.last_call, excluded.last_call),
		last_served = greatest(usage_clients.last_served, excluded.last_served), last_410 = greatest(usage_clients.last_410, excluded.last_410),
		last_rehearsal = greatest(usage_clients.last_rehearsal, excluded.last_rehearsal), position = excluded.position,
		exempt = case when excluded.last_seen >= usage_clients.last_seen then excluded.exempt else usage_clients.exempt end,
		last_seen = greatest(usage_clients.last_seen, excluded.last_seen),
		proven = usage_clients.proven + excluded.proven, claimed = usage_clients.claimed + excluded.claimed,
		calls7 = usage_clients.calls7 + excluded.calls7, calls30 = usage_clients.calls30 + excluded.calls30, calls90 = usage_clients.calls90 + excluded.calls90,
		worst = case when excluded.found > usage_clients.found then excluded.worst when excluded.found = usage_clients.found then greatest(usage_clients.worst, excluded.worst) else usage_clients.worst end,
		found = greatest(usage_clients.found, excluded.found)`)
	type finding struct {
		of *entry
		FindingCount
	}
	var findings []finding
	for i := range rows {
		for _, f := range rows[i].findings {
			findings = append(findings, finding{&rows[i], f})
		}
	}
	slices.SortStableFunc(findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.of.version, b.of.version), cmp.Compare(a.of.id, b.of.id), cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Param, b.Param))
	})
	tx.write("usage_findings", []string{"version text", "client bigint", "finding text", "code text", "param text", "day bigint", "calls bigint"}, len(findings), func(i int, v []any) {
		f := &findings[i]
		v[0], v[1], v[2], v[3], v[4], v[5], v[6] = versions[f.of.version], f.of.id, string(f.Outcome), string(f.Code), f.Param, f.of.day, int64(f.Calls)
	}, `on conflict (version, client, finding, code, param) do update set
		calls = case when excluded.day > usage_findings.day then excluded.calls when excluded.day = usage_findings.day then usage_findings.calls + excluded.calls else usage_findings.calls end,
		day = greatest(usage_findings.day, excluded.day)`)
	if rows[0].day < rolled {
		tx.countClients(rows[0].day, rows[0].day)
	}
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// countClients counts the clients of days that are over.
func (t *transaction) countClients(from, to int64) {
	t.exec(`insert into usage_version_days (day, version, clients)
		select day, version, count(*) from usage_days where day >= $1 and day <= $2 and served + brownout + retired > 0 group by day, version
		on conflict (day, version) do update set clients = excluded.clients`, from, to)
}

func (t *transaction) gap(instance string, began, ended int64, reason string) {
	t.exec("insert into usage_gaps (instance, began, ended, reason) values ($1, $2, $3, $4)", instance, began, ended, reason)
}

// recordDeadInstances records a gap for every instance that has missed a dozen
// writes and has not stopped properly. The first instance to notice records it.
func (r *Recorder) recordDeadInstances(ctx context.Context, at time.Time) error {
	type run struct {
		instance string
		written  int64
	}
	var dead []run
	err := rowsOf(ctx, r.db.DB, "select instance, written from usage_instances where stopped = 0 and instance <> $1 and written < $2 - 12 * every", func(rows *sql.Rows) error {
		var d run
		err := rows.Scan(&d.instance, &d.written)
		dead = append(dead, d)
		return err
	}, r.reader.instance, at.Unix())
	if err != nil || len(dead) == 0 {
		return err
	}
	return r.db.transact(ctx, r.db, func(tx *transaction) {
		for _, d := range dead {
			if tx.exec("update usage_instances set stopped = $1 where instance = $2 and stopped = 0 and written = $3", at.Unix(), d.instance, d.written) == 1 {
				tx.gap(d.instance, d.written, at.Unix(), killed)
			}
		}
	})
}

// roll brings the counts of several days to a new day, once a day, and deletes what
// is too old. With several instances, the first one does it. If a clock was ahead
// for a while, the days that have left come back.
func (r *Recorder) roll(tx *transaction, today int64) {
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
func (t *transaction) addUp(span int64, sign string, from, to int64) {
	column := fmt.Sprintf("calls%d", span)
	t.exec(`update usage_clients set `+column+` = `+column+` `+sign+` d.calls
		from (select version, client, cast(sum(served + brownout + retired) as bigint) as calls from usage_days where day >= $1 and day <= $2 group by version, client) as d
		where usage_clients.version = d.version and usage_clients.client = d.client`, from, to)
}

// deleteClients deletes what is known about some clients of some versions, and then
// the names of which nothing is known.
func (t *transaction) deleteClients(which string, args ...any) {
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
func (r *Recorder) makeRoom(tx *transaction) {
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
		tx.gap(r.reader.instance, today, now, noRoom)
	default:
		before := min((oldest+now/day)/2+1, now/day)
		for _, span := range spans {
			tx.addUp(span, "-", now/day-span+1, before-1)
		}
		tx.exec("delete from usage_days where day < $1", before)
		tx.deleteClients("last_seen < $1", before*day)
		tx.gap(r.reader.instance, oldest*day, before*day, noRoom)
	}
	r.log.Error("usage: the database has reached its greatest size, and counts are given up", "bytes", r.db.most)
	clear(r.ids)
}

// worst is the gravest of some findings, as a number that grows with it.
func worst(findings []FindingCount) (worst int64) {
	for _, f := range findings {
		worst = max(worst, int64(slices.Index(gravity, f.Outcome)))
	}
	return worst
}
