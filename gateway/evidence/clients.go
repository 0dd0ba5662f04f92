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

	id         int64
	place      int    // of its version among the versions
	current    bool   // it is a client of the current version
	kind       string // of its name
	listed     bool   // in CLIENTS_FILE
	last       int64  // the last call; 0: it only got errors
	lastServed int64  // 0: never
	lastDay    int64  // with calls or errors
	lastUsed   int64  // the last day with a call that was served, or refused by a brownout; 0: none
	lastProven int64  // the last day with a key; 0: none
	onlyErrors bool   // it was never served, because of errors of its own
	failing    bool   // it called the current version since its last call here, and only got errors
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

// reading is what pages show, as it was read once.
type reading struct {
	day      int64
	versions []Version
	all      []*Client // of 90 days, without their days: known ones first, then those with the most calls
	slow     bool      // it is used until its time is over, even if counts were written since
}

const (
	keepReading = 5 * time.Second        // how long a reading is used, if this instance has written nothing since
	slowReading = 300 * time.Millisecond // one that took longer is used for ten times as long in any case
)

// Changed is called when counts were written.
func (r *Reader) Changed() {
	if cached := r.cached.Load(); cached != nil && !cached.slow {
		r.cached.CompareAndSwap(cached, nil)
	}
}

// read reads all clients of 90 days, and the numbers of all versions, unless that was
// done just now.
func (r *Reader) read(db *store.Session, at time.Time) (*reading, error) {
	today := at.Unix() / day
	if cached := r.cached.Load(); cached != nil && cached.day == today {
		return cached, nil
	}
	began := time.Now()
	read := &reading{day: today}
	read.versions = r.readVersions(db, at)
	for _, version := range r.options.Versions {
		byID := map[int64]*Client{}
		r.eachClient(db, version, at, today, func(c *Client) {
			one := *c
			read.all = append(read.all, &one)
			byID[c.id] = &one
		})
		if version != r.options.Current {
			readFindings(db, byID, "version = $1", version)
		}
	}
	if db.Err != nil {
		return nil, db.Err
	}
	read.findMoved()
	slices.SortFunc(read.all, orders[""])
	r.summarise(read)
	took := time.Since(began)
	read.slow = took > r.options.Slow
	r.cached.Store(read)
	// A reading of many clients is large: it is not kept longer than it is used.
	safego.After(max(keepReading, 10*took), r.options.Log, "forgetting a reading", func() {
		r.cached.CompareAndSwap(read, nil)
	})
	return read, nil
}

// eachClient calls a function with each client of a version from 90 days ago up to a day,
// without its days and findings. The function must copy what it keeps.
func (r *Reader) eachClient(db *store.Session, version string, at time.Time, until int64, do func(*Client)) {
	var c Client
	var first, failed, exempt int64
	// The plus, which PostgreSQL is not given, keeps SQLite from looking up every row by its day, and the
	// left join from reading all days once more.
	db.Each(`select u.client, c.name, c.kind, c.software, c.first_seen, u.calls7, u.calls30, u.calls90, u.failed,
		u.proven, u.last, u.last_served, u.last_used, u.last_proven, u.day, d.position, d.exempt
		from (select client, max(day) as day, max(last) as last, max(failed) as failed,
			coalesce(max(last) filter (where served > 0), 0) as last_served,
			coalesce(max(day) filter (where served + brownout > 0), 0) as last_used,
			coalesce(max(day) filter (where proven > 0), 0) as last_proven,
			cast(coalesce(sum(proven) filter (where proven > 0), 0) as bigint) as proven,
			cast(coalesce(sum(served + brownout + retired) filter (where day >= $1), 0) as bigint) as calls7,
			cast(coalesce(sum(served + brownout + retired) filter (where day >= $2), 0) as bigint) as calls30,
			cast(sum(served + brownout + retired) as bigint) as calls90
			from quotegate_days where version = $3 and +day >= $4 and +day <= $5 group by client) as u
		join quotegate_clients as c on c.id = u.client
		left join quotegate_days as d on d.version = $3 and d.client = u.client and d.day = u.day`,
		[]any{store.FirstDay(at, 7), store.FirstDay(at, 30), version, store.FirstDay(at, store.ReportDays), until},
		[]any{&c.id, &c.Client, &c.kind, &c.Software, &first, &c.Calls7, &c.Calls30, &c.Calls90, &failed,
			&c.Proven, &c.last, &c.lastServed, &c.lastUsed, &c.lastProven, &c.lastDay, &c.Position, &exempt},
		func() {
			c.Version = version
			c.place = slices.Index(r.options.Versions, version)
			c.current = version == r.options.Current
			c.Known = c.kind == string(caller.Known)
			c.Address = c.kind == string(caller.Agent)
			c.FirstSeen = unix(first)
			c.LastSeen = unix(cmp.Or(c.last, c.lastDay*day))
			c.Exempt = exempt == 1
			c.onlyErrors = c.lastServed == 0 && failed > 0
			r.addContact(&c)
			do(&c)
		})
}

// addContact adds what the operator has written down about a client. A call with its key
// since it was marked as moved says otherwise.
func (r *Reader) addContact(c *Client) {
	var written caller.Client
	written, c.listed = r.options.Known(c.Client)
	c.Contact = Contact{Contact: written.Contact, Notes: written.Notes, Notified: written.Notified.Time()}
	if !c.current && written.Moved.Holds(unix(c.lastProven*day)) {
		c.Marked = written.Moved
	}
}

// readFindings reads the findings of each client on the last day with one.
func readFindings(db *store.Session, byID map[int64]*Client, where string, args ...any) {
	var id, on int64
	var f FindingCount
	db.Each("select client, day, finding, code, param, calls from quotegate_findings where "+where,
		args, []any{&id, &on, &f.Outcome, &f.Code, &f.Param, &f.Calls}, func() {
			c := byID[id]
			found := unix(on * day)
			if c == nil || found.Before(c.Found) {
				return
			}
			if found.After(c.Found) {
				c.Found = found
				c.Findings = nil
			}
			c.Findings = append(c.Findings, f)
		})
	for _, c := range byID {
		slices.SortFunc(c.Findings, worstFirst)
	}
}

// findMoved finds out who has moved to the current version.
func (r *reading) findMoved() {
	there := map[int64]*Client{}
	for _, c := range r.all {
		if c.current {
			there[c.id] = c
		}
	}
	for _, c := range r.all {
		now := there[c.id]
		if now == nil || c.current {
			continue
		}
		if now.lastServed > c.last {
			c.Moved = unix(now.lastServed)
		}
		c.failing = c.Moved.IsZero() && now.onlyErrors && now.lastDay >= c.last/day
	}
}

// load is what a report says about some clients, with their days, in the given order.
func (r *Reader) load(db *store.Session, some []*Client, at time.Time) []Client {
	all := make([]Client, len(some))
	for _, version := range r.options.Versions {
		byID := map[int64]*Client{}
		var ids []int64
		for i, c := range some {
			if c.Version == version {
				all[i] = *c
				all[i].Days = []DayCount{}
				all[i].Findings = append([]FindingCount{}, c.Findings...)
				byID[c.id] = &all[i]
				ids = append(ids, c.id)
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
	db := r.db.AskPages(ctx)
	id := db.Facts().Key.ID(string(caller.Known) + " " + client)
	at := db.Now(r.options.Now())
	var moved int64
	db.Get(`select coalesce(max(last), 0) from quotegate_days where version = $1 and client = $2 and served > 0`,
		[]any{r.options.Current, id}, &moved)
	for _, version := range r.options.Versions {
		own, called := r.ownVersion(db, version, id, at)
		if !called {
			continue
		}
		if version != r.options.Current && moved > own.LastSeen.Unix() {
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
	var c Client
	readFindings(db, map[int64]*Client{id: &c}, "version = $1 and client = $2", version, id)
	for _, f := range c.Findings {
		own.Compared = c.Found.Format(time.DateOnly)
		own.Findings = append(own.Findings, lifecycle.OwnFinding{
			Outcome: string(f.Outcome), Code: string(f.Code), Param: f.Param, Calls: f.Calls,
			Says: f.Sentence(version, r.options.Current),
		})
	}
	return own, len(own.Days) > 0
}
