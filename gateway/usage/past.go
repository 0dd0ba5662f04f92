package usage

import (
	"context"
	"database/sql"
	"maps"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/shared/fault"
)

// reportDays is how many days a report covers, today included.
const reportDays = 90

// versionClient is one client on one version.
type versionClient struct {
	version string
	client  int64
}

// activity is what a client did on a version, day by day. Calls are those that
// were served, or refused by a brownout or because the version is retired.
type activity struct {
	days     []DayCount     // in order, without days that had none
	findings []FindingCount // of the last day with any
	found    int64          // that day
}

// DayCount is how many calls there were on a day.
type DayCount struct {
	Day   Day    `json:"day"`
	Calls uint64 `json:"calls"`
}

// Day is the start of a day (UTC) in Unix seconds.
type Day int64

// MarshalText writes the date.
func (d Day) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d Day) String() string { return time.Unix(int64(d), 0).UTC().Format(time.DateOnly) }

func (a *activity) add(at Day, calls uint64) {
	if last := len(a.days) - 1; last >= 0 && a.days[last].Day == at {
		a.days[last].Calls += calls
		return
	}
	a.days = append(a.days, DayCount{at, calls})
}

func (a *activity) find(at int64, found FindingCount) {
	if a.found != at {
		a.found, a.findings = at, nil
	}
	for i := range a.findings {
		f := &a.findings[i]
		if f.Outcome == found.Outcome && f.Code == found.Code && f.Param == found.Param {
			f.Calls += found.Calls
			return
		}
	}
	a.findings = append(a.findings, found)
}

// past is the activity of days that are over. It takes long to read and does not
// change, except by counts that are written late.
type past struct {
	until   int64 // the start of the day on which it was read
	read    time.Time
	clients map[versionClient]activity
}

// pastFor is how long past days are kept in memory. Counts of a past day that other
// instances write later, after an outage, show up then.
const pastFor = 10 * time.Minute

// activities reads what every client did in the days of a report.
func (r *Reader) activities(ctx context.Context) (map[versionClient]activity, error) {
	now := r.now()
	today := now.Unix() - now.Unix()%day
	r.mu.Lock()
	kept := r.past
	r.mu.Unlock()
	if kept == nil || kept.until != today || now.Sub(kept.read) > pastFor {
		kept = &past{today, now, map[versionClient]activity{}}
		if err := r.scan(ctx, today-(reportDays-1)*day, today, kept.clients); err != nil {
			return nil, err
		}
		r.mu.Lock()
		r.past = kept
		r.mu.Unlock()
	}
	all := maps.Clone(kept.clients)
	for who, a := range all {
		a.days = a.days[:len(a.days):len(a.days)] // so that today's calls do not touch what is kept
		all[who] = a
	}
	return all, r.scan(ctx, today, now.Unix()+1, all)
}

// forgetPast is called when counts of a past day are written, and from time to
// time.
func (r *Reader) forgetPast(all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if all || r.past != nil && r.now().Sub(r.past.read) > pastFor {
		r.past = nil
	}
}

// scan adds the calls of some days to the clients' activities.
func (r *Reader) scan(ctx context.Context, from, to int64, into map[versionClient]activity) error {
	rows, err := r.db.QueryContext(ctx, `select began, version, client, finding, code, param, calls from usage_calls
		where began >= $1 and began < $2 and outcome in ('served', 'brownout', 'retired') order by began`, from, to)
	if err != nil {
		return err
	}
	defer rows.Close()
	texts := map[string]string{} // each text once
	intern := func(b []byte) string {
		text, ok := texts[string(b)]
		if !ok {
			text = string(b)
			texts[text] = text
		}
		return text
	}
	for rows.Next() {
		var began, client int64
		var calls uint64
		var version, finding, code, param sql.RawBytes
		if err := rows.Scan(&began, &version, &client, &finding, &code, &param, &calls); err != nil {
			return err
		}
		who := versionClient{intern(version), client}
		a := into[who]
		a.add(Day(began-began%day), calls)
		if len(finding) > 0 {
			a.find(began-began%day, FindingCount{gateway.Outcome(intern(finding)), fault.Code(intern(code)), intern(param), calls})
		}
		into[who] = a
	}
	return rows.Err()
}
