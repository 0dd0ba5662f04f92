package evidence

import (
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
	id := db.Facts().Key.ID(string(caller.Known) + " " + client)
	at := db.Now(r.Now())
	var moved int64
	db.Get(`select coalesce(max(last), 0) from quotegate_days where version = $1 and client = $2 and served > 0`,
		[]any{r.Current, id}, &moved)
	for _, version := range r.Versions {
		own, called := r.ownVersion(db, version, id, at)
		if !called {
			continue
		}
		if version != r.Current && moved > own.LastSeen.Unix() {
			own.Moved = unix(moved)
		}
		all = append(all, own)
	}
	return all, db.Err
}

func (r *Reader) ownVersion(
	db *store.Session, version string, id int64, at time.Time,
) (own lifecycle.Own, called bool) {
	first := store.FirstDay(at, store.ReportDays)
	own = lifecycle.Own{Version: version, Days: []lifecycle.OwnDay{}, Findings: []lifecycle.OwnFinding{}}
	var on, last int64
	var d lifecycle.OwnDay
	db.Each(`select day, served, brownout + retired, failed, last from quotegate_days
		where version = $1 and client = $2 and day >= $3 and served + brownout + retired + failed > 0 order by day`,
		[]any{version, id, first}, []any{&on, &d.Served, &d.Refused, &d.Failed, &last}, func() {
			d.Day = Day(on * day).String()
			own.Days = append(own.Days, d)
			own.LastSeen = unix(max(last, on*day))
		})
	var found []FindingCount
	var f FindingCount
	db.Each(`select day, finding, code, param, calls from quotegate_findings where version = $1 and client = $2
		and day = (select max(day) from quotegate_findings where version = $1 and client = $2)`,
		[]any{version, id}, []any{&on, &f.Outcome, &f.Code, &f.Param, &f.Calls}, func() {
			own.Compared = Day(on * day).String()
			found = append(found, f)
		})
	slices.SortFunc(found, worstFirst)
	for _, f := range found {
		own.Findings = append(own.Findings, lifecycle.OwnFinding{
			Outcome: string(f.Outcome), Code: string(f.Code), Param: f.Param, Calls: f.Calls,
			Says: f.Sentence(version, r.Current),
		})
	}
	return own, len(own.Days) > 0
}
