package usage

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/quotegate/quotegate/gateway/store"
)

// spans are the days over which the calls of a client are added up.
var spans = [3]int64{7, 30, store.ReportDays}

// roll brings the counts of several days to a new day, once a day, and deletes what
// is too old. With several instances, the first one does it. If a clock was ahead
// for a while, the days that have left come back.
func (r *Recorder) roll(ctx context.Context, at time.Time) error {
	today := at.Unix() / day
	if r.rolled == today {
		return nil
	}
	err := r.DB.Transact(ctx, func(tx *store.Session) { r.rollTo(tx, today) })
	if err == nil {
		r.rolled = today
	}
	return err
}

func (r *Recorder) rollTo(tx *store.Session, today int64) {
	var rolled int64
	tx.Get("select cast(value as bigint) from usage_meta where name = 'rolled'", nil, &rolled)
	if tx.Err != nil || rolled == today {
		return
	}
	first := tx.Exec("update usage_meta set value = $1 where name = 'rolled' and value = $2",
		strconv.FormatInt(today, 10), strconv.FormatInt(rolled, 10))
	if first == 0 { // another instance does it
		return
	}
	for _, span := range spans {
		from, to := rolled-span, today-span
		if from <= to {
			addUp(tx, span, "-", from+1, to)
		} else { // a clock was ahead
			addUp(tx, span, "+", to+1, from)
		}
	}
	countClients(tx, rolled, today-1)
	if today < rolled {
		return
	}
	clear(r.ids)
	// Only as if a day had passed: a clock that is ahead deletes no more than that.
	oldest := min(today, rolled+1) - store.KeepDays
	tx.Exec("delete from usage_days where day < $1", oldest)
	tx.Exec("delete from usage_findings where day < $1", oldest)
	tx.Exec(`delete from usage_findings where day < (select found from usage_clients as c
		where c.version = usage_findings.version and c.client = usage_findings.client)`)
	oldest = (oldest + store.KeepDays - store.KeepTotals) * day
	deleteClients(tx, "last_seen < $1", oldest)
	for _, table := range []string{
		"usage_totals where began", "usage_hours where began", "usage_gaps where ended",
		"usage_instances where stopped <> 0 and written",
	} {
		tx.Exec("delete from "+table+" < $1", oldest)
	}
	tx.Exec("delete from usage_version_days where day < $1", oldest/day)
}

// addUp adds the calls of some days to what clients have called within a span, or
// takes them away.
func addUp(tx *store.Session, span int64, sign string, from, to int64) {
	column := fmt.Sprintf("calls%d", span)
	tx.Exec(`update usage_clients set `+column+` = `+column+` `+sign+` d.calls
		from (select version, client, cast(sum(served + brownout + retired) as bigint) as calls
		from usage_days where day >= $1 and day <= $2 group by version, client) as d
		where usage_clients.version = d.version and usage_clients.client = d.client`, from, to)
}

// deleteClients deletes what is known about some clients of some versions, and then
// the names of which nothing is known.
func deleteClients(tx *store.Session, which string, args ...any) {
	for _, table := range []string{"usage_days", "usage_findings"} {
		tx.Exec("delete from "+table+" where (version, client) in "+
			"(select version, client from usage_clients where "+which+")", args...)
	}
	if tx.Exec("delete from usage_clients where "+which, args...) > 0 {
		tx.Exec("delete from usage_names where id not in (select client from usage_clients)")
		tx.Exec("update usage_meta set value = cast(cast(value as bigint) + 1 as text) where name = 'deleted'")
	}
}

// makeRoom gives up counts if the database takes so many bytes. Of several instances
// that find it too large at the same time, one does so.
func (r *Recorder) makeRoom(ctx context.Context, bytes int64) error {
	now := r.Now().Unix() + r.offset.Load()
	given := false
	err := r.DB.Transact(ctx, func(tx *store.Session) {
		given = mayGiveUp(tx, now, bytes)
		if given {
			r.giveUp(tx, now)
		}
	})
	if err == nil && given {
		r.Log.Error("usage: the database has reached its greatest size, and counts are given up", "bytes", r.DB.Most)
	}
	clear(r.ids)
	return err
}

// roomPause is how long PostgreSQL may take to know how many rows were deleted.
const roomPause = time.Minute

// mayGiveUp measures the database again, now that no other instance can write. It
// returns false if another one has made room meanwhile.
func mayGiveUp(tx *store.Session, now, bytes int64) bool {
	var last int64
	if tx.Shared() {
		tx.Exec("select from usage_meta where name = 'rolled' for update") // which every writer shares
		tx.Get("select coalesce(max(cast(value as bigint)), 0) from usage_meta where name = 'room'", nil, &last)
		if tx.Err != nil || now >= last && now-last < int64(roomPause/time.Second) {
			return false
		}
	}
	size := tx.Size()
	return tx.Err == nil && size >= bytes
}

// giveUp deletes counts. First go clients that only got errors and rehearsals; then
// those first seen today, if they are most of all, since they may be invented; then
// the older half of the days.
func (r *Recorder) giveUp(tx *store.Session, now int64) {
	store.NewFacts.Write(tx, []store.FactRow{{Name: "room", Value: strconv.FormatInt(now, 10)}})
	today := now - now%day
	const stranger = "client in (select id from usage_names where name not like 'client %') and "
	const useless = stranger + "last_call = 0 and last_410 = 0"
	const invented = stranger + "client in (select id from usage_names where first_seen >= $1)"
	var all, errorsOnly, fresh, oldest int64
	tx.Get("select count(*), coalesce(sum(case when "+useless+" then 1 else 0 end), 0), "+
		"coalesce(sum(case when "+invented+" then 1 else 0 end), 0) from usage_clients",
		[]any{today}, &all, &errorsOnly, &fresh)
	tx.Get("select coalesce(min(day), 0) from usage_days", nil, &oldest)
	switch {
	case errorsOnly > all/8:
		deleteClients(tx, useless)
	case fresh > all/2:
		deleteClients(tx, invented, today)
		gap(tx, r.Writer.Instance, today, now, noRoom)
	default:
		before := min((oldest+now/day)/2+1, now/day)
		for _, span := range spans {
			addUp(tx, span, "-", now/day-span+1, before-1)
		}
		tx.Exec("delete from usage_days where day < $1", before)
		deleteClients(tx, "last_seen < $1", before*day)
		gap(tx, r.Writer.Instance, oldest*day, before*day, noRoom)
	}
}
