package evidence

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
)

const reportDays = 90 // that a report looks back

// firstDay is the first of so many days. Wherever the counts of some days are asked for,
// these are the whole days before today, and today so far.
func firstDay(at time.Time, days int) int64 { return at.Unix()/day - int64(days) }

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
	Proven    uint64          `json:"proven"`                 // calls with a key, errors too
	Claimed   uint64          `json:"claimed"`                // those without one
	Days      []DayCount      `json:"days"`                   // days with calls, in order
	Findings  []event.Finding `json:"findings"`               // of the last day with one, the worst first
	Found     time.Time       `json:"found,omitzero"`         // that day
	Position  float64         `json:"position"`               // below its share a brownout refuses it
	Exempt    bool            `json:"exempt"`                 // the plan spared it in brownouts when it last called
	Last410   time.Time       `json:"last410,omitzero"`       // the last time it was refused
	Rehearsed time.Time       `json:"lastRehearsal,omitzero"` // the last time it rehearsed a later stage
	Moved     time.Time       `json:"moved,omitzero"`         // when the current version last served it; see moveOf
	Both      bool            `json:"both,omitempty"`         // it calls this version and the current one

	*activity
	place      int    // of its version among the versions
	current    bool   // it is a client of the current version
	kind       string // of its name
	listed     bool   // in CLIENTS_FILE
	onlyErrors bool   // it was never served, because of errors of its own
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

// stays reports whether it called within 90 days and has not moved.
func (c *Client) stays() bool { return c.Calls90 > 0 && !c.HasMoved() }

// hitBy reports whether a window of a plan refuses it. Whoever only gets errors loses nothing.
func (c *Client) hitBy(s *lifecycle.Schedule, b lifecycle.Brownout) bool {
	return !c.onlyErrors && s.Hits(b, c.Subject())
}

// readClients reads all clients, without their days: known ones first, then those with the
// most calls.
func (db *DB) readClients(ctx context.Context, p period) (all []*Client, err error) {
	for _, version := range db.options.Versions {
		clients, err := db.page().clients(ctx, p, version)
		if err != nil {
			return nil, err
		}
		all = append(all, clients...)
		if version == db.options.Current {
			continue
		}
		if err := readFindings(ctx, db.page(), clients, "findings", version); err != nil {
			return nil, err
		}
	}
	findMoved(all, p.at)
	sortClients(all, "")
	return all, nil
}

// clients are those of a version, without their days and findings.
func (c conn) clients(ctx context.Context, p period, version string) ([]*Client, error) {
	byID, err := c.activities(ctx, p, version)
	if err != nil {
		return nil, err
	}
	place := slices.Index(c.db.options.Versions, version)
	current := version == c.db.options.Current
	all, err := query(ctx, c, func(rows *sql.Rows) (*Client, error) {
		var id, first int64
		var name, kind, software string
		err := rows.Scan(&id, &name, &kind, &software, &first)
		a := byID[id]
		if err != nil || a == nil {
			return nil, err
		}
		one := &Client{
			Version: version, Client: name, Software: software, activity: a, place: place, current: current, kind: kind,
			Known: kind == string(caller.Known), Address: kind == string(caller.Agent),
			FirstSeen: unix(first), LastSeen: unix(cmp.Or(a.last, a.lastDay*day)),
			Sum:    Sum{uint64(a.calls7), uint64(a.calls30), uint64(a.calls90)},
			Proven: uint64(a.proven), Claimed: uint64(max(0, a.claimed)),
			Position: a.position, Exempt: a.exempt == 1,
			Last410: unix(a.last410), Rehearsed: unix(a.lastRehearsal), onlyErrors: a.lastServed == 0 && a.failed > 0,
		}
		c.db.addContact(one)
		return one, nil
	}, "names")
	return slices.DeleteFunc(all, func(c *Client) bool { return c == nil }), err
}

// addContact adds what the operator has written down about a client. A call with its key
// since it was marked as moved says otherwise.
func (db *DB) addContact(c *Client) {
	var written caller.Client
	written, c.listed = db.options.Known(c.Client)
	c.Contact = Contact{Contact: written.Contact, Notes: written.Notes, Notified: written.Notified.Time()}
	if !c.current && written.Moved.Holds(unix(c.lastProven*day)) {
		c.Marked = written.Moved
	}
}

// readFindings adds to some clients their findings of the last day with one.
func readFindings(ctx context.Context, c conn, clients []*Client, name string, args ...any) error {
	type found struct {
		client, day int64
		event.Finding
	}
	all, err := query(ctx, c, func(rows *sql.Rows) (f found, err error) {
		return f, rows.Scan(&f.client, &f.day, &f.Outcome, &f.Code, &f.Param, &f.Calls)
	}, name, args...)
	byID := map[int64]*Client{}
	for _, c := range clients {
		byID[c.id] = c
	}
	for _, f := range all {
		c := byID[f.client]
		on := unix(f.day * day)
		if c == nil || on.Before(c.Found) {
			continue
		}
		if on.After(c.Found) {
			c.Found = on
			c.Findings = nil
		}
		c.Findings = append(c.Findings, f.Finding)
	}
	for _, c := range clients {
		slices.SortFunc(c.Findings, event.Worse)
	}
	return err
}

// quiet is how long a client must not have called a version to have moved.
const quiet = 7 * day

// moveOf says whether a client has moved from a version or calls both that and the current
// one, by its last call here and the last time the current version served it. Lists,
// letters, reports and forecasts ask it; a gate does not, since anybody can call both.
func moveOf(last, served int64, at time.Time) (moved, both bool) {
	since := at.Unix() - quiet
	moved = served > last && last <= since
	return moved, !moved && last > since && served > since
}

// findMoved finds out who has moved to the current version.
func findMoved(all []*Client, at time.Time) {
	there := map[int64]*Client{}
	for _, c := range all {
		if c.current {
			there[c.id] = c
		}
	}
	for _, c := range all {
		now := there[c.id]
		if now == nil || c.current {
			continue
		}
		var moved bool
		moved, c.Both = moveOf(c.last, now.lastServed, at)
		if moved {
			c.Moved = unix(now.lastServed)
		}
	}
}

// load is what a report says about some clients, with their days, in the given order.
func (db *DB) load(ctx context.Context, some []*Client, at time.Time) ([]Client, error) {
	type calls struct{ client, day, calls int64 }
	all := make([]Client, len(some))
	byID := map[string]map[int64]*Client{}
	ids := map[string][]int64{}
	for _, version := range db.options.Versions {
		byID[version] = map[int64]*Client{}
	}
	for i, c := range some {
		all[i] = *c
		all[i].Days = []DayCount{}
		all[i].Findings = append([]event.Finding{}, c.Findings...)
		byID[c.Version][c.id] = &all[i]
		ids[c.Version] = append(ids[c.Version], c.id)
	}
	for version, some := range ids {
		days, err := query(ctx, db.page(), func(rows *sql.Rows) (d calls, err error) {
			return d, rows.Scan(&d.client, &d.day, &d.calls)
		}, "days", version, firstDay(at, reportDays), at.Unix()/day, db.page().list(some))
		if err != nil {
			return nil, err
		}
		for _, d := range days {
			c := byID[version][d.client]
			c.Days = append(c.Days, DayCount{Day(d.day * day), uint64(d.calls)})
		}
	}
	return all, nil
}
