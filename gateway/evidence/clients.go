package evidence

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
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

func (s *Sum) add(other Sum) {
	s.Calls7 += other.Calls7
	s.Calls30 += other.Calls30
	s.Calls90 += other.Calls90
}

// HasMoved reports whether the client has moved: its calls show it, or the operator
// says so.
func (c *Client) HasMoved() bool { return !c.Moved.IsZero() || c.Marked != nil }

// DayCount is how many calls there were on a day.
type DayCount struct {
	Day   Day    `json:"day"`
	Calls uint64 `json:"calls"`
}

// Name is the client's name without the kind of its identity, if it is known.
func (c *Client) Name() string { return strings.TrimPrefix(c.Client, "client ") }

// Subject is the client as a window sees it.
func (c *Client) Subject() lifecycle.Subject {
	return lifecycle.Recorded(c.Client, c.Position, c.Exempt)
}

// usage is what is known of a client of a version. There may be many.
type usage struct {
	id                   int64
	version              int // its place among the versions
	name, kind, software string
	first                int64
	last, lastServed     int64 // 0: none
	lastDay, lastProven  int64 // days; 0: none
	sum                  Sum
	served, proven       int64 // calls
	failed               bool
	position             float64
	exempt               bool
	foundDay             int64          // the day on which there last were findings
	findings             []FindingCount // of that day, the worst first

	written *caller.Client // what the operator has written down; nil: nothing
	moved   int64          // when the current version last served it, since its last call; 0: it has not
	failing bool           // it has come to the current version, not before its last call, and only got errors
}

// errs reports whether a client only gets errors.
func (u *usage) errs() bool { return u.served == 0 && u.failed }

// marked reports whether the operator has marked it as moved, and no call with its key
// since that day says otherwise.
func (u *usage) marked() bool {
	return u.written != nil && u.written.Moved.Holds(unix(u.lastProven*day))
}

func (u *usage) hasMoved() bool { return u.moved != 0 || u.marked() }

func (u *usage) known() bool { return u.kind == string(caller.Known) }

// worst is the worst finding; empty if nothing was compared.
func (u *usage) worst() event.Outcome {
	if len(u.findings) == 0 {
		return ""
	}
	return u.findings[0].Outcome
}

func (u *usage) subject() lifecycle.Subject { return lifecycle.Recorded(u.name, u.position, u.exempt) }

// reading is what pages show, as it was read once.
type reading struct {
	at       time.Time
	stats    *Stats
	versions []Version // with their curves
	all      []*usage  // the clients of 90 days: known ones first, then those with the most calls
	changes  int64     // of the reader, at the time
	ended    time.Time
	took     time.Duration
}

const (
	keepReading = 5 * time.Second        // how long a reading is used, if this instance has written nothing since
	slowReading = 300 * time.Millisecond // one that took longer is used for ten times as long in any case
)

// read reads all clients of 90 days, and the numbers of all versions, unless that was
// done just now.
func (r *Reader) read(db *store.Session, at time.Time) (*reading, error) {
	r.mu.Lock()
	kept := r.kept
	r.mu.Unlock()
	if kept != nil && kept.at.Unix()/day == at.Unix()/day && r.fresh(kept) {
		return kept, nil
	}
	began := time.Now()
	read := &reading{at: at, changes: r.changes.Load()}
	read.stats = r.ReadStats(db, at, nil)
	read.versions = r.readCurves(db, at)
	for version := range r.Versions {
		r.readVersion(db, version, at, read)
	}
	if db.Err != nil {
		return nil, db.Err
	}
	r.complete(read.all)
	slices.SortFunc(read.all, orders[""])
	r.summarise(read)
	read.ended = time.Now()
	read.took = read.ended.Sub(began)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = read
	safego.After(max(keepReading, 10*read.took), r.Log, "forgetting a reading", func() { r.forget(read) })
	return read, nil
}

func (r *Reader) fresh(kept *reading) bool {
	age := time.Since(kept.ended)
	return kept.changes == r.changes.Load() && age < keepReading || kept.took > r.Slow && age < 10*kept.took
}

// forget gives the memory of a reading back.
func (r *Reader) forget(old *reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == old {
		r.kept = nil
	}
}

// readVersion reads the clients of a version. What few of them have is read apart, which
// takes less time.
func (r *Reader) readVersion(db *store.Session, version int, at time.Time, into *reading) {
	name, from := r.Versions[version], len(into.all)
	place := map[int64]*usage{}
	var u usage
	var exempt int64
	// The plus, which PostgreSQL is not given, keeps SQLite from looking up every row by its day.
	db.Each(`select u.client, c.name, c.kind, c.software, c.first_seen, u.calls7, u.calls30, u.calls90,
		u.served, u.last, u.day, d.position, d.exempt
		from (select client, max(day) as day, max(last) as last, cast(sum(served) as bigint) as served,
			cast(sum(case when day >= $1 then served + brownout + retired else 0 end) as bigint) as calls7,
			cast(sum(case when day >= $2 then served + brownout + retired else 0 end) as bigint) as calls30,
			cast(sum(served + brownout + retired) as bigint) as calls90
			from quotegate_days where version = $3 and +day >= $4 and +day <= $5 group by client) as u
		join quotegate_clients as c on c.id = u.client
		join quotegate_days as d on d.version = $3 and d.client = u.client and d.day = u.day`,
		[]any{store.FirstDay(at, 7), store.FirstDay(at, 30), name,
			store.FirstDay(at, store.ReportDays), at.Unix() / day},
		[]any{&u.id, &u.name, &u.kind, &u.software, &u.first, &u.sum.Calls7, &u.sum.Calls30, &u.sum.Calls90,
			&u.served, &u.last, &u.lastDay, &u.position, &exempt}, func() {
			one := u
			one.version = version
			one.exempt = exempt == 1
			into.all = append(into.all, &one)
			place[u.id] = &one
		})
	all := into.all[from:]
	readFailed(db, name, all, place)
	readProven(db, name, place)
	if name == r.Current {
		readServed(db, name, all, place)
		return
	}
	readFindings(db, name, place)
	for _, u := range all {
		u.findings = slices.DeleteFunc(u.findings, func(f FindingCount) bool { return f.day < u.foundDay })
		slices.SortFunc(u.findings, worstFirst)
		for i := range u.findings {
			u.findings[i].day = 0 // it is the same for all
		}
	}
}

// readFailed finds those that were never served because of errors of their own.
func readFailed(db *store.Session, version string, all []*usage, place map[int64]*usage) {
	var unserved []int64
	for _, u := range all {
		if u.served == 0 {
			unserved = append(unserved, u.id)
		}
	}
	var id int64
	db.EachAmong("select distinct client from quotegate_days where version = $1 and failed > 0 and client in IDS",
		unserved, []any{version}, []any{&id}, func() { place[id].failed = true })
}

// readProven reads the calls with a key, which only known clients have.
func readProven(db *store.Session, version string, place map[int64]*usage) {
	var id, proven, last int64
	db.Each(`select client, cast(sum(proven) as bigint), max(day) from quotegate_days
		where version = $1 and client in (select id from quotegate_clients where kind = 'client') and proven > 0
		group by client`, []any{version}, []any{&id, &proven, &last}, func() {
		if u := place[id]; u != nil {
			u.proven = proven
			u.lastProven = last
		}
	})
}

// readServed reads when clients were last served. Only the current version is asked.
func readServed(db *store.Session, version string, all []*usage, place map[int64]*usage) {
	ids := make([]int64, len(all))
	for i, u := range all {
		ids[i] = u.id
	}
	var id, last int64
	db.EachAmong(`select client, max(last) from quotegate_days where version = $1 and served > 0 and client in IDS
		group by client`, ids, []any{version}, []any{&id, &last}, func() { place[id].lastServed = last })
}

// readFindings reads the findings of each client.
func readFindings(db *store.Session, version string, place map[int64]*usage) {
	var id int64
	var f FindingCount
	db.Each("select client, day, finding, code, param, calls from quotegate_findings where version = $1",
		[]any{version}, []any{&id, &f.day, &f.Outcome, &f.Code, &f.Param, &f.Calls}, func() {
			if u := place[id]; u != nil {
				u.foundDay = max(u.foundDay, f.day)
				u.findings = append(u.findings, f)
			}
		})
}

// complete adds what the operator has written down, and who has moved.
func (r *Reader) complete(all []*usage) {
	current := slices.Index(r.Versions, r.Current)
	there := map[int64]*usage{}
	for _, u := range all {
		if written, known := r.writtenDown(u.name); known {
			u.written = &written
		}
		if u.version == current {
			there[u.id] = u
		}
	}
	for _, u := range all {
		now := there[u.id]
		if now == nil || u.version == current {
			continue
		}
		if now.lastServed > u.last {
			u.moved = now.lastServed
		}
		u.failing = u.moved == 0 && now.errs() && now.lastDay >= u.last/day
	}
}

// load is what a report says about some clients, in the given order.
func (r *Reader) load(db *store.Session, some []*usage, at time.Time) []Client {
	all := make([]Client, len(some))
	for version, name := range r.Versions {
		place := map[int64]*Client{}
		var ids []int64
		for i, u := range some {
			if u.version == version {
				all[i] = r.client(u)
				place[u.id] = &all[i]
				ids = append(ids, u.id)
			}
		}
		var id, on, last410, lastRehearsal int64
		var calls, errors uint64
		db.EachAmong(`select client, day, served + brownout + retired, rehearsed + failed, last_410, last_rehearsal
			from quotegate_days where version = $1 and day >= $2 and day <= $3 and client in IDS order by client, day`,
			ids, []any{name, store.FirstDay(at, store.ReportDays), at.Unix() / day},
			[]any{&id, &on, &calls, &errors, &last410, &lastRehearsal}, func() {
				c := place[id]
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

// client is what is known of a client, but for what its days say.
func (r *Reader) client(u *usage) Client {
	c := Client{
		Version: r.Versions[u.version], Client: u.name, Known: u.known(), Address: u.kind == string(caller.Agent),
		Software: u.software, FirstSeen: unix(u.first), LastSeen: unix(u.last), Sum: u.sum, Proven: uint64(u.proven),
		Days: []DayCount{}, Findings: append([]FindingCount{}, u.findings...), Found: unix(u.foundDay * day),
		Position: u.position, Exempt: u.exempt, Moved: unix(u.moved),
	}
	if u.last == 0 {
		c.LastSeen = unix(u.lastDay * day)
	}
	if w := u.written; w != nil {
		c.Contact = Contact{Contact: w.Contact, Notes: w.Notes, Notified: w.Notified.Time()}
		if u.marked() && c.Version != r.Current {
			c.Marked = w.Moved
		}
	}
	return c
}

// Traffic is the calls of clients that have something in common.
type Traffic struct {
	Name    string `json:"name"` // of the software or the integrator; empty if they have none
	Clients int    `json:"clients"`
	Sum
}

const maxTraffic = 100

// Traffic adds up the clients that match a query by their "software", or "client" by
// client over all its versions. Those with the most calls of 30 days come first, at
// most 100.
func (r *Reader) Traffic(ctx context.Context, q Query, by string) (all []Traffic, err error) {
	err = r.inTurn(ctx, func(db *store.Session, at time.Time) error {
		read, err := r.read(db, at)
		if err != nil {
			return err
		}
		r.countedBy(db, &q, at)
		groups := map[string]*Traffic{}
		for u := range read.matching(&q, r) {
			name := u.software
			if by == "client" {
				name = u.name
			}
			if groups[name] == nil {
				groups[name] = &Traffic{Name: name}
			}
			groups[name].Clients++
			groups[name].add(u.sum)
		}
		all = ranked(groups)
		return db.Err
	})
	return all, err
}
