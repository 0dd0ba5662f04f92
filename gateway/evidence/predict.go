package evidence

import (
	"cmp"
	"context"
	_ "embed" // the text of a simulation
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/humanize"
)

// Simulation says whom a plan refuses: what its past windows did, and what the
// others would do, going by the calls of the last four weeks.
type Simulation struct {
	At      time.Time      `json:"at"`
	Notes   []string       `json:"notes"` // what the prediction leaves out
	Windows []Hit          `json:"windows"`
	Sunset  map[string]Hit `json:"sunset"` // by version

	Verdicts map[string]*lifecycle.Verdict `json:"verdicts"` // by version: whether and when the plan can retire it
}

// Hit is whom a window or a sunset refuses. For one to come, the clients are those in
// its share that called within 90 days and have not moved, as the list of clients has
// them; the calls are those of the same hours of the same weekdays, the average of the
// weeks that were recorded, rounded up. For a window that is over, both are what it
// refused.
type Hit struct {
	Version string      `json:"version"`
	From    time.Time   `json:"from"`
	To      time.Time   `json:"to,omitzero"` // a sunset has no end
	Share   float64     `json:"share"`
	Past    bool        `json:"past,omitempty"` // the window is over
	Gone    bool        `json:"gone,omitempty"` // of a sunset: it has come, and no gate holds it
	Clients *int        `json:"clients"`        // null: nothing of the hours of a past window was recorded
	Calls   *uint64     `json:"calls"`          // in the window; of a sunset, in a day; null: not recorded
	Weeks   int         `json:"weeks"`          // of which these hours were recorded
	Names   []hitClient `json:"names"`          // at most 1,000: known clients, most calls, only errors, in this order
	Known   int         `json:"known"`          // how many of the clients are known
	Moved   int         `json:"moved"`          // how many of those that a past window refused have moved since
	Failing int         `json:"failing"`        // how many have come to the current version since, and only got errors
	Address int         `json:"addresses"`      // how many are names made from an address
	Quiet   int         `json:"quiet"`          // how many were not seen at such hours, so that they may not notice
	Errors  int         `json:"errors"`         // besides Clients: those in the share that only get errors here
}

// hitClient is a client that a window refuses.
type hitClient struct {
	Client  string `json:"client"`
	Moved   bool   `json:"moved,omitempty"`   // since its last call here the current version has served it
	Failing bool   `json:"failing,omitempty"` // it has come to the current version since, and only got errors
	Errors  bool   `json:"errors,omitempty"`  // it only gets errors from this version too, and is not counted
	Quiet   bool   `json:"quiet,omitempty"`   // it was not seen at such hours
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
	s := Simulation{At: r.options.Now().UTC(), Notes: []string{}, Windows: []Hit{}, Sunset: map[string]Hit{}}
	s.Verdicts = map[string]*lifecycle.Verdict{}
	err := r.exclusive(ctx, func(db *store.Session, at time.Time) error {
		first := store.FirstDay(at, simulatedWeeks*7)
		runs := readRuns(db, first*day-week) // a window that is under way looks back a week more
		if missing := missing(db, runs, at, first*day, 0, time.Time{}); len(missing) > 0 {
			s.Notes = append(s.Notes, "the counts of four weeks are incomplete: "+strings.Join(missing, "; "))
		}
		s.Notes = append(s.Notes, unnamed(readTotals(db, first, forever), "", "")...)
		read, err := r.read(db, at)
		if err != nil {
			return err
		}
		gates := lifecycle.ReadGates(plan, r, at)
		for _, version := range r.options.Versions {
			schedule := plan.Versions[version]
			if schedule == nil {
				continue
			}
			ofOthers := func(c *Client) bool { return c.Version != version }
			p := prediction{
				db: db, version: version, schedule: schedule, now: at.Unix(), counted: counted(runs, 1),
				clients: slices.DeleteFunc(slices.Clone(read.all), ofOthers),
			}
			for _, b := range schedule.Brownouts {
				s.Windows = append(s.Windows, p.window(b))
			}
			if slices.ContainsFunc(schedule.Exempt, caller.Pattern.IsNetwork) {
				s.Notes = append(s.Notes, version+": addresses are not kept, so exempt networks spare the clients "+
					"that the plan in force spared when they last called")
			}
			s.Verdicts[version] = schedule.Verdict(version, gates[version], at)
			if !schedule.Sunset.IsZero() {
				s.Sunset[version] = p.sunset(gates[version])
			}
		}
		return db.Err
	})
	return s, err
}

// prediction is what is needed to predict the windows of one version.
type prediction struct {
	db       *store.Session
	version  string
	schedule *lifecycle.Schedule
	counted  []span    // when calls were counted
	clients  []*Client // of the version, also those that only get errors
	now      int64
}

// stays reports whether a client would be refused if a window takes it: it called within
// 90 days and has not moved or, if it only gets errors, called within four weeks.
func (p *prediction) stays(u *Client) bool {
	if u.onlyErrors {
		return u.lastDay >= p.now/day-simulatedWeeks*7
	}
	return u.Calls90 > 0 && !u.HasMoved()
}

// window tells what a window did or, if it is not over, predicts it.
func (p *prediction) window(b lifecycle.Brownout) Hit {
	from, to := b.From.Unix(), b.To.Unix()
	hit := Hit{
		Version: p.version, From: b.From, To: b.To, Share: b.Share, Names: []hitClient{}, Past: to <= p.now,
	}
	if !hit.Past {
		spans := p.sameHours(from, to)
		hit.Weeks = len(spans)
		calls := p.calls(spans, "served + brownout")
		return p.fill(hit, calls, func(u *Client) bool { return p.stays(u) && p.schedule.Hits(b, u.Subject()) })
	}
	if !p.covers(span{from, to}) {
		return hit // not known whom it refused
	}
	hit.Weeks = 1
	calls := p.calls([]span{{from, to}}, "brownout")
	return p.fill(hit, calls, func(u *Client) bool { return calls[u.id] > 0 })
}

// minutes is the longest gap that counts as none: an instance writes well within it.
const minutes = 5 * 60

// covers reports whether all calls of a span were counted.
func (p *prediction) covers(s span) bool { return len(s.holes(p.counted, minutes)) == 0 }

// sameHours are the same hours of the same weekdays, up to four weeks back, as far as
// they are over and calls were counted.
func (p *prediction) sameHours(from, to int64) (spans []span) {
	back := (to - p.now + week - 1) / week
	for w := back; w < back+simulatedWeeks; w++ {
		s := span{from - w*week, to - w*week}
		if s.from >= p.now-(simulatedWeeks+1)*week && p.covers(s) {
			spans = append(spans, s)
		}
	}
	return spans
}

// calls adds up the calls of clients in some spans. Those of a day are taken to be
// spread evenly over the hours in which there were any.
func (p *prediction) calls(spans []span, what string) map[int64]float64 {
	all := map[int64]float64{}
	var id, hours int64
	var calls float64
	for _, s := range spans {
		for on := s.from / day; on <= (s.to-1)/day; on++ {
			first, last := max(0, s.from-on*day)/hour, (min(day, s.to-on*day)-1)/hour
			p.db.Each("select client, hours, "+what+" from quotegate_days "+
				"where version = $1 and day = $2 and "+what+" > 0 and hours & $3 <> 0",
				[]any{p.version, on, int64(1)<<(last+1) - int64(1)<<first}, []any{&id, &hours, &calls}, func() {
					all[id] += calls * s.share(on*day, uint32(hours))
				})
		}
	}
	return all
}

// share is the part of the calls of a day that were made within a span.
func (s span) share(start int64, hours uint32) (part float64) {
	for rest := hours; rest != 0; rest &= rest - 1 {
		begin := start + int64(bits.TrailingZeros32(rest))*hour
		if overlap := min(s.to, begin+hour) - max(s.from, begin); overlap > 0 {
			part += float64(overlap) / hour
		}
	}
	return part / float64(max(1, bits.OnesCount32(hours)))
}

// sunset predicts the end of a version, which spares nobody: all clients that have not
// moved, with their calls of 30 days.
func (p *prediction) sunset(gate *lifecycle.GateReading) Hit {
	passed := gate == nil || !gate.Released.IsZero()
	gone := p.schedule.Stage(time.Unix(p.now, 0), passed) == lifecycle.Retired
	hit := Hit{Version: p.version, From: p.schedule.Sunset, Share: 1, Names: []hitClient{}, Gone: gone}
	window := span{store.FirstDay(time.Unix(p.now, 0), 30) * day, p.now}
	seconds := window.to - window.from
	for _, h := range window.holes(p.counted, minutes) {
		seconds -= h.to - h.from
	}
	if seconds > 0 {
		hit.Weeks = 1
	}
	calls := map[int64]float64{}
	for _, u := range p.clients {
		calls[u.id] = float64(u.Calls30) / max(1, float64(seconds)/day)
	}
	return p.fill(hit, calls, p.stays)
}

// fill counts the clients that are refused and those that only get errors, adds up their
// calls, as an average over the weeks, and names them. Of no weeks, the calls are not
// known.
func (p *prediction) fill(hit Hit, calls map[int64]float64, refused func(*Client) bool) Hit {
	quiet := func(u *Client) bool { return hit.Weeks > 0 && calls[u.id] == 0 && !hit.To.IsZero() && !u.onlyErrors }
	var found []*Client
	clients, sum := 0, 0.0
	for _, u := range p.clients {
		if !refused(u) {
			continue
		}
		found = append(found, u)
		if u.onlyErrors {
			hit.Errors++
			continue
		}
		clients++
		sum += calls[u.id]
		hit.Known += oneIf(u.Known)
		hit.Address += oneIf(u.Address)
		hit.Moved += oneIf(!u.Moved.IsZero())
		hit.Failing += oneIf(u.failing)
		hit.Quiet += oneIf(quiet(u))
	}
	hit.Clients = &clients
	if hit.Weeks > 0 {
		average := uint64(math.Ceil(sum/float64(hit.Weeks) - 0.001))
		hit.Calls = &average
	}
	slices.SortStableFunc(found, func(a, b *Client) int {
		return cmp.Or(cmp.Compare(oneIf(a.onlyErrors), oneIf(b.onlyErrors)),
			cmp.Compare(oneIf(b.Known), oneIf(a.Known)), cmp.Compare(calls[b.id], calls[a.id]))
	})
	for _, u := range found[:min(maxNames, len(found))] {
		moved := !u.Moved.IsZero()
		hit.Names = append(hit.Names, hitClient{u.Client, moved, u.failing, u.onlyErrors, quiet(u)})
	}
	return hit
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

//go:embed simulation.txt
var simulationText string

var printed = template.Must(template.New("").Funcs(template.FuncMap{
	"stamp": humanize.Timestamp, "share": humanize.Percent,
	"short": func(client string) string { return strings.TrimPrefix(client, "client ") },
	"more": func(h Hit) int { // clients that are not printed
		if h.Clients == nil {
			return 0
		}
		return *h.Clients + h.Errors - min(10, len(h.Names))
	},
}).Parse(simulationText))

// Print writes a simulation as text.
func (s *Simulation) Print(w io.Writer) error { return printed.Execute(w, s) }

// Sentence says whom the window or sunset refuses.
func (h Hit) Sentence() string {
	if h.Clients == nil {
		return "not known whom it refused: nothing was recorded at these hours"
	}
	if h.Gone {
		return "every call is refused; " + humanize.Count(*h.Clients,
			"client of the last 90 days has not moved", "clients of the last 90 days have not moved")
	}
	text := "would refuse "
	if h.Past {
		text = "refused "
	}
	add := func(n int, what string) {
		if n > 0 {
			text += "; " + humanize.Number(n) + " " + what
		}
	}
	if *h.Clients == 0 {
		text += "nobody"
	} else {
		known := " (" + humanize.Number(h.Known) + " known)"
		text += humanize.Count(*h.Clients, "client", "clients") + known + h.calls()
	}
	add(h.Moved, "moved since")
	add(h.Quiet, "not seen at these hours")
	add(h.Failing, "with only errors on the current version")
	add(h.Errors, "not counted, with only errors")
	return text
}

// calls says how many calls the window or sunset refuses.
func (h Hit) calls() string {
	switch {
	case h.Calls == nil:
		return "; calls not known: nothing was recorded at these hours"
	case h.Past:
		return " and " + humanize.Count(*h.Calls, "call", "calls")
	case h.To.IsZero():
		return " and about " + humanize.Count(*h.Calls, "call", "calls") + " a day"
	}
	return " and about " + humanize.Count(*h.Calls, "call", "calls")
}
