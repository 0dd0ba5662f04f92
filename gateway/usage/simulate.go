package usage

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/words"
)

// Simulation says whom a plan would have refused, going by the calls of the last
// four weeks.
type Simulation struct {
	At      time.Time      `json:"at"`
	Notes   []string       `json:"notes"` // what the prediction leaves out
	Windows []Hit          `json:"windows"`
	Sunset  map[string]Hit `json:"sunset"` // by version

	order []string // of the versions
}

// Hit is whom a window or a sunset would refuse. The clients are those that called
// in the same hours of the same weekdays; the calls are the average of the weeks
// that were recorded, rounded up.
type Hit struct {
	Version string    `json:"version"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to,omitzero"` // a sunset has no end
	Share   float64   `json:"share"`
	Clients int       `json:"clients"`
	Calls   uint64    `json:"calls"` // in the window; of a sunset, in a day
	Names   []string  `json:"names"` // known clients first, then those with the most calls; at most 1,000
	Known   int       `json:"known"` // how many of the clients are known
}

const (
	simulatedWeeks = 4
	week           = 7 * day
	maxNames       = 1000
)

// use is what one client called in one hour or, where hours are folded, on one day.
type use struct {
	client int64
	began  int64
	hours  uint32 // of that day, with a bit for each
	calls  uint64
}

// member is a client of a version.
type member struct {
	name     string
	position float64
	exempt   bool
}

// Simulate predicts the effect of a plan from the calls of the last four weeks that
// were served or refused by a brownout. A client's place in the order of a share is
// recorded, so it is known which ones a share takes.
func (r *Reader) Simulate(ctx context.Context, plan *lifecycle.Plan) (Simulation, error) {
	now := r.now()
	s := Simulation{At: now.UTC(), Notes: []string{}, Windows: []Hit{}, Sunset: map[string]Hit{}, order: r.versions}
	from := now.Truncate(time.Hour).Unix() - simulatedWeeks*week
	missing, err := r.missing(ctx, now, from)
	if err != nil {
		return s, err
	}
	if missing != "" {
		s.Notes = append(s.Notes, "the counts of four weeks are incomplete: "+missing)
	}
	began, err := r.counting(ctx)
	if err != nil {
		return s, err
	}
	for _, version := range r.versions {
		schedule := plan.Versions[version]
		if schedule == nil {
			continue
		}
		members, err := r.members(ctx, version)
		if err != nil {
			return s, err
		}
		uses, err := r.uses(ctx, version, from)
		if err != nil {
			return s, err
		}
		p := prediction{members, uses, max(from, began), now.Unix(), schedule}
		s.Notes = append(s.Notes, p.notes(version)...)
		for _, b := range schedule.Brownouts {
			hit := p.window(b)
			hit.Version = version
			s.Windows = append(s.Windows, hit)
		}
		if !schedule.Sunset.IsZero() {
			hit := p.sunset()
			hit.Version = version
			s.Sunset[version] = hit
		}
	}
	return s, nil
}

func (r *Reader) members(ctx context.Context, version string) (map[int64]member, error) {
	type row struct {
		id int64
		member
	}
	rows, err := queryAll(ctx, r.db, func(rows *sql.Rows, m *row) error {
		var exempt int64
		err := rows.Scan(&m.id, &m.name, &m.position, &exempt)
		m.exempt = exempt == 1
		return err
	}, `select client, name, position, exempt from usage_clients join usage_names on id = client
		where version = $1 and outcome in ('served', 'brownout') order by last_seen`, version)
	members := map[int64]member{}
	for _, row := range rows { // the last call decides
		members[row.id] = row.member
	}
	return members, err
}

func (r *Reader) uses(ctx context.Context, version string, from int64) ([]use, error) {
	return queryAll(ctx, r.db, func(rows *sql.Rows, u *use) error {
		return rows.Scan(&u.client, &u.began, &u.hours, &u.calls)
	}, `select client, began, hours, calls from usage_calls
		where version = $1 and began >= $2 and outcome in ('served', 'brownout')`, version, from-from%day)
}

// prediction is what is needed to predict the windows of one version.
type prediction struct {
	members  map[int64]member
	uses     []use
	from, to int64 // the time that was recorded, four weeks at most
	schedule *lifecycle.Schedule
}

// notes says which exemptions cannot be applied exactly.
func (p *prediction) notes(version string) (notes []string) {
	unknown := 0
	for _, m := range p.members {
		if m.position == unknownPosition {
			unknown++
		}
	}
	if unknown > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s, such as clients counted together, have no known place in the order, and count as refused by every window", version, words.Count(unknown, "name", "names")))
	}
	if slices.ContainsFunc(p.schedule.Exempt, caller.Pattern.IsNetwork) {
		notes = append(notes, version+": addresses are not kept, so exempt networks spare the clients that the plan in force spared when they last called")
	}
	return notes
}

// window predicts a brownout. It looks at the same hours of the same weekdays, up to
// four weeks back.
func (p *prediction) window(b lifecycle.Brownout) Hit {
	hit := Hit{From: b.From, To: b.To, Share: b.Share}
	from, to := b.From.Unix(), b.To.Unix()
	// The last occurrence that is over by now, and those before it.
	back := (to - p.to + week - 1) / week
	if back < 0 {
		back = 0 // a past window is itself recorded
	}
	weeks := 0
	calls := map[int64]float64{}
	for w := back; w < back+simulatedWeeks; w++ {
		begin, end := from-w*week, to-w*week
		if end <= p.from {
			break
		}
		weeks++
		for _, u := range p.uses {
			if part := u.within(begin, end); part > 0 && p.hits(u.client, b) {
				calls[u.client] += part
			}
		}
	}
	p.fill(&hit, calls, float64(weeks))
	return hit
}

// sunset predicts the end of a version, which spares nobody.
func (p *prediction) sunset() Hit {
	hit := Hit{From: p.schedule.Sunset, Share: 1}
	calls := map[int64]float64{}
	for _, u := range p.uses {
		calls[u.client] += float64(u.calls)
	}
	p.fill(&hit, calls, max(1, float64(p.to-p.from)/day))
	return hit
}

// hits reports whether a window refuses a client.
func (p *prediction) hits(client int64, b lifecycle.Brownout) bool {
	m := p.members[client]
	return p.schedule.Hits(b, lifecycle.Recorded(m.name, m.position, m.exempt))
}

// within is how many of the calls were made between two times. Calls are taken to
// be spread evenly over the hours in which there were any.
func (u *use) within(from, to int64) (calls float64) {
	start := u.began - u.began%day
	for h := range int64(24) {
		if u.hours&(1<<h) == 0 {
			continue
		}
		begin := start + h*hour
		if overlap := min(to, begin+hour) - max(from, begin); overlap > 0 {
			calls += float64(u.calls) / float64(bits.OnesCount32(u.hours)) * float64(overlap) / hour
		}
	}
	return calls
}

// fill adds up calls, as an average over so many weeks or days.
func (p *prediction) fill(hit *Hit, calls map[int64]float64, times float64) {
	type client struct {
		name  string
		calls float64
	}
	clients := make([]client, 0, len(calls))
	sum := 0.0
	for id, n := range calls {
		clients = append(clients, client{p.members[id].name, n})
		sum += n
	}
	slices.SortFunc(clients, func(a, b client) int {
		return cmp.Or(cmp.Compare(order(known(a.name)), order(known(b.name))), cmp.Compare(b.calls, a.calls), cmp.Compare(a.name, b.name))
	})
	hit.Clients, hit.Names = len(clients), []string{}
	if times > 0 {
		hit.Calls = uint64(sum/times + 0.999)
	}
	for i, c := range clients {
		if known(c.name) {
			hit.Known++
		}
		if i < maxNames {
			hit.Names = append(hit.Names, c.name)
		}
	}
}

// order puts true before false.
func order(first bool) int {
	if first {
		return 0
	}
	return 1
}
