package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
)

// ownTimeout is for what a client asks about itself.
const ownTimeout = 5 * time.Second

// Own is what one known client did on each version within 90 days, as it was last
// written. It looks up a bounded number of rows, however many clients there are.
func (r *Reader) Own(ctx context.Context, client string) (all []lifecycle.Own, err error) {
	ctx, cancel := context.WithTimeout(ctx, ownTimeout)
	defer cancel()
	db := r.DB.AskPages(ctx)
	id := int64(0)
	name := string(caller.Known) + " " + client
	db.Each("select id from usage_names where name = $1", []any{name}, []any{&id}, func() {})
	if id == 0 {
		return nil, db.Err
	}
	today := db.Now(r.Now()).Unix() / day
	for _, version := range r.Versions {
		own := lifecycle.Own{Version: version, Days: []lifecycle.OwnDay{}, Findings: []lifecycle.OwnFinding{}}
		var last, found, moved int64
		db.Each(`select c.last_seen, c.found, coalesce(m.last_served, 0) from usage_clients as c
			left join usage_clients as m on m.client = c.client and m.version = $1 and m.version <> c.version
			where c.version = $2 and c.client = $3`,
			[]any{r.Current, version, id}, []any{&last, &found, &moved}, func() {})
		if last == 0 {
			continue
		}
		own.LastSeen = time.Unix(last, 0).UTC()
		if moved > last {
			own.Moved = time.Unix(moved, 0).UTC()
		}
		var on int64
		var d lifecycle.OwnDay
		db.Each(store.EachDay+` select u.day, u.served, u.brownout + u.retired, u.failed
			from days cross join usage_days as u
			where u.day = days.day and u.version = $3 and u.client = $4
			and u.served + u.brownout + u.retired + u.failed > 0 order by u.day`,
			[]any{today - store.ReportDays + 1, today, version, id},
			[]any{&on, &d.Served, &d.Refused, &d.Failed}, func() {
				d.Day = Day(on * day).String()
				own.Days = append(own.Days, d)
			})
		if found > 0 {
			own.Compared = Day(found * day).String()
			own.Findings = r.ownFindings(db, version, id, found)
		}
		all = append(all, own)
	}
	return all, db.Err
}

func (r *Reader) ownFindings(db *store.Session, version string, id, found int64) []lifecycle.OwnFinding {
	var all []FindingCount
	var f FindingCount
	db.Each(`select finding, code, param, calls from usage_findings
		where version = $1 and client = $2 and day = $3`, []any{version, id, found},
		[]any{&f.Outcome, &f.Code, &f.Param, &f.Calls}, func() { all = append(all, f) })
	slices.SortFunc(all, worstFirst)
	told := []lifecycle.OwnFinding{}
	for _, f := range all {
		told = append(told, lifecycle.OwnFinding{
			Outcome: string(f.Outcome), Code: string(f.Code), Param: f.Param, Calls: f.Calls,
			Says: f.Sentence(version, r.Current),
		})
	}
	return told
}

// worstFirst orders findings: the worst first, and then the most frequent.
func worstFirst(a, b FindingCount) int {
	return cmp.Or(
		cmp.Compare(store.Gravity(b.Outcome), store.Gravity(a.Outcome)), cmp.Compare(b.Calls, a.Calls),
		cmp.Compare(a.Code, b.Code), cmp.Compare(a.Param, b.Param))
}
