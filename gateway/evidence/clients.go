package evidence

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/safego"
)

// Client is what one client did on one version within 90 days. Calls are those that
// were served, or refused by a brownout or because the version is retired.
type Client struct {
	Version   string    `json:"version"`
	Client    string    `json:"client"`            // as Name gives it
	Known     bool      `json:"known"`             // to the operator, by CLIENTS_FILE
	Address   bool      `json:"address,omitempty"` // its name is made from a network: one that moves has several
	Contact             // of a known client
	Software  string    `json:"software,omitempty"` // the product of its last User-Agent
	FirstSeen time.Time `json:"firstSeen"`
	LastSeen  time.Time `json:"lastSeen"` // the last call; the day of it, if it only got errors
	Sum
	Proven    uint64         `json:"proven"`                 // calls with a key, errors too
	Claimed   uint64         `json:"claimed"`                // those without one
	Days      []DayCount     `json:"days"`                   // days with calls, in order
	Findings  []FindingCount `json:"findings"`               // of the last day with one, the worst first
	Found     time.Time      `json:"found,omitzero"`         // that day
	Position  float64        `json:"position"`               // below its share a brownout refuses it
	Exempt    bool           `json:"exempt"`                 // the plan spared it in brownouts when it last called
	Last410   time.Time      `json:"last410,omitzero"`       // the last time it was refused
	Rehearsed time.Time      `json:"lastRehearsal,omitzero"` // the last time it rehearsed a later stage
	Moved     time.Time      `json:"moved,omitzero"`         // when the current version last served it, since then
}

// Contact is what an operator has written down about a known client.
type Contact struct {
	Contact  string       `json:"contact,omitempty"`
	Notes    string       `json:"notes,omitempty"`
	Notified time.Time    `json:"notified,omitzero"`     // when it was told to move
	Marked   *caller.Mark `json:"markedMoved,omitempty"` // that it has moved; nil if a call with its key says otherwise
}

// Sum is how many calls clients made that were served, or refused by a brownout or
// because the version is retired.
type Sum struct {
	Calls7  uint64 `json:"calls7"` // of 7 days
	Calls30 uint64 `json:"calls30"`
	Calls90 uint64 `json:"calls90"`
}

// DayCount is how many calls there were on a day.
type DayCount struct {
	Day   Day    `json:"day"`
	Calls uint64 `json:"calls"`
}

// HasMoved reports whether the client has moved: its calls show it, or the operator
// says so.
func (c *Client) HasMoved() bool { return !c.Moved.IsZero() || c.Marked != nil }

// Name is the client's name without the kind of its identity, if it is known.
func (c *Client) Name() string { return strings.TrimPrefix(c.Client, "client ") }

// Subject is the client as a window sees it.
func (c *Client) Subject() lifecycle.Subject {
	return lifecycle.Recorded(c.Client, c.Position, c.Exempt)
}

// usage is a client of a version, without its days, and what is not shown of it.
type usage struct {
	Client
	id         int64
	place      int    // of its version among the versions
	current    bool   // it is a client of the current version
	kind       string // of its name
	listed     bool   // in CLIENTS_FILE
	last       int64  // the last call; 0: it only got errors
	lastServed int64  // 0: never
	lastDay    int64  // with calls or errors
	lastProven int64  // the last day with a key; 0: none
	onlyErrors bool   // it was never served, because of errors of its own
	failing    bool   // it called the current version since its last call here, and only got errors
}

// reading is what pages show, as it was read once.
type reading struct {
	at       time.Time
	stats    *Stats
	versions []Version // with their curves
	all      []*usage  // the clients of 90 days: known ones first, then those with the most calls
	changes  int64     // of the reader, at the time
	slow     bool      // it is used until its time is over, even if counts were written since
	until    time.Time
}

const (
	keepReading = 5 * time.Second        // how long a reading is used, if this instance has written nothing since
	slowReading = 300 * time.Millisecond // one that took longer is used for ten times as long in any case
)

// read reads all clients of 90 days, and the numbers of all versions, unless that was
// done just now.
func (r *Reader) read(db *store.Session, at time.Time) (*reading, error) {
	if kept := r.kept.Load(); kept != nil && kept.at.Unix()/day == at.Unix()/day && r.fresh(kept) {
		return kept, nil
	}
	began := time.Now()
	read := &reading{at: at, changes: r.changes.Load()}
	read.stats = r.ReadStats(db, at, nil)
	read.versions = r.readCurves(db, at)
	for place := range r.Versions {
		r.readClients(db, place, at, read)
	}
	if db.Err != nil {
		return nil, db.Err
	}
	read.findMoved()
	slices.SortFunc(read.all, orders[""])
	r.summarise(read)
	took := time.Since(began)
	read.slow = took > r.Slow
	keep := max(keepReading, 10*took)
	read.until = time.Now().Add(keep)
	r.kept.Store(read)
	// A reading of many clients is large: it is not kept longer than it is used.
	safego.After(keep, r.Log, "forgetting a reading", func() { r.kept.CompareAndSwap(read, nil) })
	return read, nil
}

func (r *Reader) fresh(kept *reading) bool {
	return time.Now().Before(kept.until) && (kept.slow || kept.changes == r.changes.Load())
}

// readClients reads the clients of a version.
func (r *Reader) readClients(db *store.Session, place int, at time.Time, into *reading) {
	version := r.Versions[place]
	byID := map[int64]*usage{}
	var u usage
	var first, served, failed, exempt int64
	// The plus, which PostgreSQL is not given, keeps SQLite from looking up every row by its day.
	db.Each(`select u.client, c.name, c.kind, c.software, c.first_seen, u.calls7, u.calls30, u.calls90,
		u.served, u.failed, u.proven, u.last, u.last_served, u.last_proven, u.day, d.position, d.exempt
		from (select client, max(day) as day, max(last) as last,
			max(case when served > 0 then last else 0 end) as last_served,
			max(case when proven > 0 then day else 0 end) as last_proven,
			cast(sum(served) as bigint) as served, cast(sum(failed) as bigint) as failed,
			cast(sum(proven) as bigint) as proven,
			cast(sum(case when day >= $1 then served + brownout + retired else 0 end) as bigint) as calls7,
			cast(sum(case when day >= $2 then served + brownout + retired else 0 end) as bigint) as calls30,
			cast(sum(served + brownout + retired) as bigint) as calls90
			from quotegate_days where version = $3 and +day >= $4 and +day <= $5 group by client) as u
		join quotegate_clients as c on c.id = u.client
		join quotegate_days as d on d.version = $3 and d.client = u.client and d.day = u.day`,
		[]any{store.FirstDay(at, 7), store.FirstDay(at, 30), version,
			store.FirstDay(at, store.ReportDays), at.Unix() / day},
		[]any{&u.id, &u.Client.Client, &u.kind, &u.Software, &first, &u.Calls7, &u.Calls30, &u.Calls90,
			&served, &failed, &u.Proven, &u.last, &u.lastServed, &u.lastProven, &u.lastDay, &u.Position, &exempt},
		func() {
			one := u
			one.Version = version
			one.place = place
			one.current = version == r.Current
			one.Known = u.kind == string(caller.Known)
			one.Address = u.kind == string(caller.Agent)
			one.FirstSeen = unix(first)
			one.LastSeen = unix(cmp.Or(u.last, u.lastDay*day))
			one.Exempt = exempt == 1
			one.onlyErrors = served == 0 && failed > 0
			r.addContact(&one)
			into.all = append(into.all, &one)
			byID[u.id] = &one
		})
	if version != r.Current {
		readFindings(db, version, byID)
	}
}

// addContact adds what the operator has written down about a client. A call with its key
// since it was marked as moved says otherwise.
func (r *Reader) addContact(u *usage) {
	var written caller.Client
	written, u.listed = r.Known(u.Client.Client)
	u.Contact = Contact{Contact: written.Contact, Notes: written.Notes, Notified: written.Notified.Time()}
	if !u.current && written.Moved.Holds(unix(u.lastProven*day)) {
		u.Marked = written.Moved
	}
}

// readFindings reads the findings of each client on the last day with one.
func readFindings(db *store.Session, version string, byID map[int64]*usage) {
	var id, on int64
	var f FindingCount
	db.Each("select client, day, finding, code, param, calls from quotegate_findings where version = $1",
		[]any{version}, []any{&id, &on, &f.Outcome, &f.Code, &f.Param, &f.Calls}, func() {
			u := byID[id]
			found := unix(on * day)
			if u == nil || found.Before(u.Found) {
				return
			}
			if found.After(u.Found) {
				u.Found = found
				u.Findings = nil
			}
			u.Findings = append(u.Findings, f)
		})
	for _, u := range byID {
		slices.SortFunc(u.Findings, worstFirst)
	}
}

// findMoved finds out who has moved to the current version.
func (c *reading) findMoved() {
	there := map[int64]*usage{}
	for _, u := range c.all {
		if u.current {
			there[u.id] = u
		}
	}
	for _, u := range c.all {
		now := there[u.id]
		if now == nil || u.current {
			continue
		}
		if now.lastServed > u.last {
			u.Moved = unix(now.lastServed)
		}
		u.failing = u.Moved.IsZero() && now.onlyErrors && now.lastDay >= u.last/day
	}
}

// load is what a report says about some clients, with their days, in the given order.
func (r *Reader) load(db *store.Session, some []*usage, at time.Time) []Client {
	all := make([]Client, len(some))
	for _, version := range r.Versions {
		byID := map[int64]*Client{}
		var ids []int64
		for i, u := range some {
			if u.Version == version {
				all[i] = u.Client
				all[i].Days = []DayCount{}
				all[i].Findings = append([]FindingCount{}, u.Findings...)
				byID[u.id] = &all[i]
				ids = append(ids, u.id)
			}
		}
		var id, on, last410, lastRehearsal int64
		var calls, errors uint64
		db.EachAmong(`select client, day, served + brownout + retired, rehearsed + failed, last_410, last_rehearsal
			from quotegate_days where version = $1 and day >= $2 and day <= $3 and client in IDS order by client, day`,
			ids, []any{version, store.FirstDay(at, store.ReportDays), at.Unix() / day},
			[]any{&id, &on, &calls, &errors, &last410, &lastRehearsal}, func() {
				c := byID[id]
				c.Claimed += calls + errors
				if last410 > 0 {
					c.Last410 = unix(last410)
				}
				if lastRehearsal > 0 {
					c.Rehearsed = unix(lastRehearsal)
				}
				if calls > 0 {
					c.Days = append(c.Days, DayCount{Day(on * day), calls})
				}
			})
	}
	for i := range all {
		all[i].Claimed -= min(all[i].Claimed, all[i].Proven)
	}
	return all
}

// lookupTimeout is for what finds a few rows by their key.
const lookupTimeout = 5 * time.Second

// Own is what one known client did on each version within 90 days, as it was last
// written. It looks up a bounded number of rows, however many clients there are.
func (r *Reader) Own(ctx context.Context, client string) (all []lifecycle.Own, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
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
