package usage

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
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

// sort puts the days in order, each once.
func (a *activity) sort() {
	slices.SortFunc(a.days, func(x, y DayCount) int { return cmp.Compare(x.Day, y.Day) })
	days := a.days[:0]
	for _, d := range a.days {
		if last := len(days) - 1; last >= 0 && days[last].Day == d.Day {
			days[last].Calls += d.Calls
		} else {
			days = append(days, d)
		}
	}
	a.days = days
}

func (a *activity) find(at int64, found FindingCount) {
	if at < a.found {
		return
	}
	if at > a.found {
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
		// Most of the table is read, which is quicker without an index: the + keeps
		// it from being used.
		if err := r.scan(ctx, "+began >= $1 and +began < $2", today-(reportDays-1)*day, today, kept.clients); err != nil {
			return nil, err
		}
		for who, a := range kept.clients {
			a.sort()
			kept.clients[who] = a
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
	return all, r.scan(ctx, "began >= $1 and began < $2", today, now.Unix()+1, all)
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

// scan adds the calls of some days to the clients' activities, in any order.
func (r *Reader) scan(ctx context.Context, span string, from, to int64, into map[versionClient]activity) error {
	// Few columns, because each costs time: the texts are few and are read as one.
	rows, err := r.db.QueryContext(ctx, `select began, client, calls, version || ' ' || finding || ' ' || code || ' ' || param from usage_calls
		where `+span+` and outcome in ('served', 'brownout', 'retired')`, from, to)
	if err != nil {
		return err
	}
	defer rows.Close()
	type subject struct {
		version string
		FindingCount
	}
	subjects := map[string]subject{}
	for rows.Next() {
		var began, client int64
		var calls uint64
		var text sql.RawBytes
		if err := rows.Scan(&began, &client, &calls, &text); err != nil {
			return err
		}
		about, known := subjects[string(text)]
		if !known {
			parts := strings.SplitN(string(text), " ", 4) // only the last may have spaces
			about = subject{parts[0], FindingCount{Outcome: event.Outcome(parts[1]), Code: fault.Code(parts[2]), Param: parts[3]}}
			subjects[string(text)] = about
		}
		who := versionClient{about.version, client}
		a := into[who]
		a.add(Day(began-began%day), calls)
		if about.Outcome != "" {
			about.Calls = calls
			a.find(began-began%day, about.FindingCount)
		}
		into[who] = a
	}
	return rows.Err()
}
