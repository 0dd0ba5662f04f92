package usage

import (
	"cmp"
	"context"
	_ "embed" // the text of a simulation
	"fmt"
	"io"
	"math/big"
	"math/bits"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/words"
)

// Simulation says whom a plan refuses: what its past windows did, and what the
// others would do, going by the calls of the last four weeks.
type Simulation struct {
	At      time.Time      `json:"at"`
	Notes   []string       `json:"notes"` // what the prediction leaves out
	Windows []Hit          `json:"windows"`
	Sunset  map[string]Hit `json:"sunset"` // by version
}

// Hit is whom a window or a sunset refuses. For one to come, the clients are those
// that called in the same hours of the same weekdays; the calls are the average of
// the weeks that were recorded, rounded up. For a window that is over, they are what
// it refused.
type Hit struct {
	Version string      `json:"version"`
	From    time.Time   `json:"from"`
	To      time.Time   `json:"to,omitzero"` // a sunset has no end
	Share   float64     `json:"share"`
	Past    bool        `json:"past,omitempty"` // the window is over
	Clients *int        `json:"clients"`        // null: not known, because nothing of these hours was recorded
	Calls   *uint64     `json:"calls"`          // in the window; of a sunset, in a day
	Weeks   int         `json:"weeks"`          // of which these hours were recorded
	AtMost  int         `json:"atMost"`         // clients of the last 28 days that are in the share
	Names   []HitClient `json:"names"`          // known clients first, then those with the most calls; at most 1,000
	Known   int         `json:"known"`          // how many of the clients are known
	Moved   int         `json:"moved"`          // how many of them have moved since their last call
	Failing int         `json:"failing"`        // how many have come to the current version since, and only got errors
	Address int         `json:"addresses"`      // how many are names made from an address
}

// HitClient is a client that a window refuses.
type HitClient struct {
	Client  string `json:"client"`
	Moved   bool   `json:"moved,omitempty"`   // since its last call here the current version has served it
	Failing bool   `json:"failing,omitempty"` // it has come to the current version since, and only got errors
}

const (
	simulatedWeeks = 4
	week           = 7 * day
	maxNames       = 1000
)

// Simulate predicts the effect of a plan from the calls of the last four weeks that
// were served or refused by a brownout. A client's place in the order of a share is
// recorded, so it is known which ones a share takes.
func (r *Reader) Simulate(ctx context.Context, plan *lifecycle.Plan) (Simulation, error) {
	s := Simulation{At: r.now().UTC(), Notes: []string{}, Windows: []Hit{}, Sunset: map[string]Hit{}}
	err := r.inTurn(ctx, func(ctx context.Context, at time.Time) error {
		now := at.Unix()
		from := now - now%hour - simulatedWeeks*week
		db := r.db.askPages(ctx)
		if missing := r.missing(db, "", at, from); missing != "" {
			s.Notes = append(s.Notes, "the counts of four weeks are incomplete: "+missing)
		}
		recorded := map[int64]bool{} // hours of which there are counts
		var began int64
		db.each("select began from usage_hours where began >= $1", []any{now - 2*simulatedWeeks*week}, []any{&began}, func() { recorded[began] = true })
		for _, version := range r.versions {
			if schedule := plan.Versions[version]; schedule != nil && db.err == nil {
				p := prediction{session: db, version: version, schedule: schedule, recorded: recorded, from: from, to: now}
				p.readMembers(r.current)
				p.add(&s)
			}
		}
		return db.err
	})
	return s, err
}

// add adds what is predicted to a simulation.
func (p *prediction) add(s *Simulation) {
	for i := range p.schedule.Brownouts {
		s.Windows = append(s.Windows, p.window(i))
	}
	s.Notes = append(s.Notes, p.notes()...)
	if !p.schedule.Sunset.IsZero() {
		s.Sunset[p.version] = p.sunset()
	}
}

// member is a client of a version.
type member struct {
	hits           big.Int // a bit for each window that refuses it
	kind           int64
	calls30        float64
	recent         bool // it called within four weeks
	moved, failing bool
	nowhere        bool // its place in the order is not known
}

func (m member) hit(window int) bool { return m.hits.Bit(window) != 0 }

// prediction is what is needed to predict the windows of one version.
type prediction struct {
	*session
	version  string
	schedule *lifecycle.Schedule
	recorded map[int64]bool
	from, to int64 // four weeks
	members  map[int64]member
}

// readMembers reads the clients of 90 days.
func (p *prediction) readMembers(current string) {
	p.members = map[int64]member{}
	var id, exempt, lastCall, movedTo, seenThere int64
	var name string
	var position float64
	var m member
	p.each(`select c.client, n.name, c.position, c.exempt, c.kind, c.calls30, c.last_call, coalesce(m.last_served, 0), coalesce(m.last_seen, 0)
		from usage_clients as c join usage_names as n on n.id = c.client left join usage_clients as m on m.client = c.client and m.version = $1 and m.version <> c.version
		where c.version = $2 and c.last_call >= $3`, []any{current, p.version, p.to - reportDays*day},
		[]any{&id, &name, &position, &exempt, &m.kind, &m.calls30, &lastCall, &movedTo, &seenThere}, func() {
			m.hits = big.Int{}
			who := lifecycle.Recorded(name, position, exempt == 1)
			for i, b := range p.schedule.Brownouts {
				if p.schedule.Hits(b, who) {
					m.hits.SetBit(&m.hits, i, 1)
				}
			}
			m.recent, m.moved, m.nowhere = lastCall >= p.from, movedTo > lastCall, position == unknownPosition
			m.failing = !m.moved && seenThere > lastCall
			p.members[id] = m
		})
}

// notes says what cannot be told exactly.
func (p *prediction) notes() (notes []string) {
	nowhere, addresses := 0, 0
	for _, m := range p.members {
		if m.nowhere {
			nowhere++
		}
		if m.kind == addressKind {
			addresses++
		}
	}
	if nowhere > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s, such as clients counted together, have no known place in the order, and count as refused by every window", p.version, words.Count(nowhere, "name", "names")))
	}
	if addresses > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s of %s are made from software and a network: software that moves between networks counts once for each, so there may be fewer clients",
			p.version, words.Number(addresses), words.Count(len(p.members), "name", "names")))
	}
	if slices.ContainsFunc(p.schedule.Exempt, caller.Pattern.IsNetwork) {
		notes = append(notes, p.version+": addresses are not kept, so exempt networks spare the clients that the plan in force spared when they last called")
	}
	return notes
}

// window tells what a window did, or predicts it. A prediction looks at the same
// hours of the same weekdays, up to four weeks back, as far as all of these hours
// were recorded.
func (p *prediction) window(i int) Hit {
	b := p.schedule.Brownouts[i]
	hit := Hit{Version: p.version, From: b.From, To: b.To, Share: b.Share, Names: []HitClient{}, Past: b.To.Unix() <= p.to}
	for _, m := range p.members {
		hit.AtMost += int(boolInt(m.recent && m.hit(i)))
	}
	from, to := b.From.Unix(), b.To.Unix()
	calls := map[int64]float64{}
	if hit.Past {
		if hit.Weeks = 1; !p.covered(from, to) {
			return hit
		}
		p.uses("brownout", from, to, calls, func(int64) bool { return true })
		return p.fill(hit, calls, 1)
	}
	back := (to - p.to + week - 1) / week // the last time that is over by now
	for w := back; w < back+simulatedWeeks; w++ {
		if from-w*week < p.from-week || !p.covered(from-w*week, to-w*week) {
			continue
		}
		hit.Weeks++
		p.uses("served + brownout", from-w*week, to-w*week, calls, func(id int64) bool { return p.members[id].hit(i) })
	}
	if hit.Weeks == 0 {
		return hit
	}
	return p.fill(hit, calls, float64(hit.Weeks))
}

// covered reports whether every hour between two times was recorded.
func (p *prediction) covered(from, to int64) bool {
	for began := from - from%hour; began < to; began += hour {
		if !p.recorded[began] {
			return false
		}
	}
	return true
}

// sunset predicts the end of a version, which spares nobody: the clients of four
// weeks, with their calls of 30 days.
func (p *prediction) sunset() Hit {
	hit := Hit{Version: p.version, From: p.schedule.Sunset, Share: 1, Names: []HitClient{}}
	hours := 0.0
	for began := p.to - p.to%hour; began > p.to-30*day; began -= hour {
		hours += float64(boolInt(p.recorded[began]))
	}
	calls := map[int64]float64{}
	for id, m := range p.members {
		if m.recent {
			calls[id] = m.calls30
		}
	}
	if hit.AtMost = len(calls); hours == 0 {
		return hit
	}
	return p.fill(hit, calls, max(1, hours/24))
}

// uses adds up the calls between two times. Those of a day are taken to be spread
// evenly over the hours in which there were any.
func (p *prediction) uses(what string, from, to int64, calls map[int64]float64, of func(client int64) bool) {
	mask := int64(1<<24 - 1)
	if from/day == (to-1)/day {
		mask = 1<<((to-1)%day/hour+1) - 1<<(from%day/hour)
	}
	var on, client, hours, n int64
	p.each("select day, client, hours, "+what+" from usage_days where day >= $1 and day <= $2 and version = $3 and "+what+" > 0 and hours & $4 <> 0",
		[]any{from / day, (to - 1) / day, p.version, mask}, []any{&on, &client, &hours, &n}, func() {
			if part := within(on*day, uint32(hours), from, to); part > 0 && of(client) {
				calls[client] += part * float64(n)
			}
		})
}

// within is the part of a day's calls that were made between two times.
func within(start int64, hours uint32, from, to int64) (part float64) {
	for h := range int64(24) {
		if hours&(1<<h) == 0 {
			continue
		}
		begin := start + h*hour
		if overlap := min(to, begin+hour) - max(from, begin); overlap > 0 {
			part += float64(overlap) / hour
		}
	}
	return part / float64(max(1, bits.OnesCount32(hours)))
}

// fill adds up calls, as an average over so many weeks or days, and names clients.
func (p *prediction) fill(hit Hit, calls map[int64]float64, times float64) Hit {
	ids := make([]int64, 0, len(calls))
	sum := 0.0
	for id, n := range calls {
		ids = append(ids, id)
		sum += n
		m := p.members[id]
		hit.Known += int(boolInt(m.kind == knownKind))
		hit.Address += int(boolInt(m.kind == addressKind))
		hit.Moved += int(boolInt(m.moved))
		hit.Failing += int(boolInt(m.failing))
	}
	clients, average := len(ids), uint64(sum/times+0.999)
	hit.Clients, hit.Calls = &clients, &average
	slices.SortFunc(ids, func(a, b int64) int {
		return cmp.Or(cmp.Compare(boolInt(p.members[b].kind == knownKind), boolInt(p.members[a].kind == knownKind)), cmp.Compare(calls[b], calls[a]), cmp.Compare(a, b))
	})
	ids = ids[:min(maxNames, len(ids))]
	if len(ids) == 0 {
		return hit
	}
	hit.Names = make([]HitClient, len(ids))
	var id int64
	var name string
	p.each("select id, name from usage_names where id in ("+list(ids)+")", nil, []any{&id, &name}, func() {
		hit.Names[slices.Index(ids, id)] = HitClient{name, p.members[id].moved, p.members[id].failing}
	})
	return hit
}

//go:embed simulation.txt
var simulationText string

var printed = template.Must(template.New("").Funcs(template.FuncMap{
	"stamp": words.Stamp, "share": words.Percent,
	"short": func(client string) string { return strings.TrimPrefix(client, "client ") },
	"more": func(h Hit) int { // clients that are not printed
		if h.Clients == nil {
			return 0
		}
		return *h.Clients - min(10, len(h.Names))
	},
}).Parse(simulationText))

// Print writes a simulation as text.
func (s *Simulation) Print(w io.Writer) error { return printed.Execute(w, s) }

// Sentence says whom the window or sunset refuses.
func (h Hit) Sentence() string {
	atMost := "at most " + words.Count(h.AtMost, "client of the last 28 days is", "clients of the last 28 days are") + " in the share"
	switch {
	case h.Clients == nil && h.Past:
		return "not known whom it refused: nothing of these hours was recorded; " + atMost
	case h.Clients == nil:
		return "not known whom it would refuse: nothing of such hours was recorded; " + atMost
	case h.Past && *h.Clients == 0:
		return "refused nobody"
	case h.Past:
		return fmt.Sprintf("refused %s, %d of them known, and %s; since then %d came to the current version, %d only got errors there, and %d did not come",
			words.Count(*h.Clients, "client", "clients"), h.Known, words.Count(*h.Calls, "call", "calls"), h.Moved, h.Failing, *h.Clients-h.Moved-h.Failing)
	case *h.Clients == 0:
		return "would refuse nobody who called at that time; " + atMost
	}
	calls := "about " + words.Count(*h.Calls, "call", "calls")
	if h.To.IsZero() {
		calls += " a day"
	}
	text := fmt.Sprintf("would refuse %s, %d of them known, and %s", words.Count(*h.Clients, "client", "clients"), h.Known, calls)
	if h.Moved > 0 {
		text += fmt.Sprintf("; %d of them %s moved since", h.Moved, map[bool]string{true: "has", false: "have"}[h.Moved == 1])
	}
	return text + "; " + atMost
}
