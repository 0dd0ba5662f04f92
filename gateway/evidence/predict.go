package evidence

import (
	"cmp"
	"context"
	_ "embed" // the text of a simulation
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
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
	Names   []HitClient `json:"names"`          // at most 1,000: known clients, most calls, only errors, in this order
	Known   int         `json:"known"`          // how many of the clients are known
	Moved   int         `json:"moved"`          // how many of those that a past window refused have moved since
	Failing int         `json:"failing"`        // how many have come to the current version since, and only got errors
	Address int         `json:"addresses"`      // how many are names made from an address
	Quiet   int         `json:"quiet"`          // how many were not seen at such hours, so that they may not notice
	Errors  int         `json:"errors"`         // besides Clients: those in the share that only get errors here
}

// HitClient is a client that a window refuses.
type HitClient struct {
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
	s := Simulation{At: r.Now().UTC(), Notes: []string{}, Windows: []Hit{}, Sunset: map[string]Hit{}}
	err := r.InTurn(ctx, func(ctx context.Context, at time.Time, far *Progress) error {
		now := at.Unix()
		from := now - now%hour - simulatedWeeks*week
		db := r.DB.AskPages(ctx)
		if missing := append(r.missing(db, at, from), unnamed(db, "", from, "")...); len(missing) > 0 {
			s.Notes = append(s.Notes, "the counts of four weeks are incomplete: "+strings.Join(missing, "; "))
		}
		recorded := map[int64]bool{} // hours of which there are counts
		var began int64
		db.Each("select began from usage_hours where began >= $1", []any{now - 2*simulatedWeeks*week},
			[]any{&began}, func() { recorded[began] = true })
		for _, version := range r.Versions {
			if schedule := plan.Versions[version]; schedule != nil && db.Err == nil {
				p := prediction{
					Session: db, version: version, schedule: schedule, recorded: recorded, from: from, to: now,
				}
				far.Is("the clients of %s were not all read", version)
				p.readMembers(r)
				p.add(r, &s, far)
			}
		}
		return db.Err
	})
	return s, err
}

// add adds what is predicted to a simulation: some windows at a time, which share the
// days that they look at and take a bounded memory.
func (p *prediction) add(r *Reader, s *Simulation, far *Progress) {
	const atATime = 8
	for first := 0; first < len(p.schedule.Brownouts) && p.Err == nil; first += atATime {
		windows := words.Count(first, "window", "windows")
		far.Is("%s of %d of %s were looked at", windows, len(p.schedule.Brownouts), p.version)
		var views []*view
		for i := first; i < min(first+atATime, len(p.schedule.Brownouts)); i++ {
			views = append(views, p.look(i))
		}
		p.uses(views)
		for _, v := range views {
			refused := func(at int) bool { return v.calls[at] > 0 }
			if !v.hit.Past {
				refused = func(at int) bool { return p.members[at].stays && p.hit(at, v.window) }
			}
			s.Windows = append(s.Windows, p.fill(v.hit, v.calls, v.times, refused))
		}
	}
	s.Notes = append(s.Notes, p.notes()...)
	if !p.schedule.Sunset.IsZero() {
		s.Sunset[p.version] = p.sunset(r)
	}
}

// member is a client of a version.
type member struct {
	id             int64
	kind           int64
	calls30        float64
	recent         bool // it called within four weeks
	stays          bool // it called within 90 days, does not only get errors, and has not moved
	moved, failing bool
	errors         bool // it was never served, and got errors
	nowhere        bool // its place in the order is not known
}

// prediction is what is needed to predict the windows of one version.
type prediction struct {
	*store.Session
	version  string
	schedule *lifecycle.Schedule
	recorded map[int64]bool
	from, to int64 // four weeks

	members []member
	index   map[int64]int // of each client among the members
	hits    []uint64      // of each member a bit for each window that refuses it
}

// words64 is how many words of hits a member has.
func (p *prediction) words64() int { return (len(p.schedule.Brownouts) + 63) / 64 }

func (p *prediction) hit(member, window int) bool {
	return p.hits[member*p.words64()+window/64]&(1<<(window%64)) != 0
}

// readMembers reads the clients of 90 days, also those that only get errors.
func (p *prediction) readMembers(r *Reader) {
	p.index = map[int64]int{}
	var exempt, calls90, lastSeen, lastCall, lastServed, lastFailed, movedTo, seenThere int64
	var name string
	var position float64
	var m member
	p.Each(`select c.client, n.name, c.position, c.exempt, c.kind, c.calls30, c.calls90, c.last_seen,
		c.last_call, c.last_served, c.last_failed, coalesce(m.last_served, 0), coalesce(m.last_seen, 0)
		from usage_clients as c join usage_names as n on n.id = c.client
		left join usage_clients as m on m.client = c.client and m.version = $1 and m.version <> c.version
		where c.version = $2 and (c.calls90 > 0 or c.last_call >= $3 or c.last_failed >= $3 and c.last_served = 0)`,
		[]any{r.Current, p.version, p.to - store.ReportDays*day},
		[]any{&m.id, &name, &position, &exempt, &m.kind, &m.calls30, &calls90, &lastSeen,
			&lastCall, &lastServed, &lastFailed, &movedTo, &seenThere}, func() {
			m.errors = lastServed == 0 && lastFailed > 0
			if m.errors {
				lastCall = max(lastCall, lastFailed)
			}
			m.recent = lastCall >= p.from
			m.moved = movedTo > lastCall
			m.nowhere = position == store.UnknownPosition
			m.failing = !m.moved && seenThere > lastCall
			m.stays = calls90 > 0 && !m.errors && movedTo <= lastSeen && !r.markedMoved(name, m.kind, lastSeen)
			p.index[m.id] = len(p.members)
			p.members = append(p.members, m)
			p.hits = append(p.hits, p.refusals(lifecycle.Recorded(name, position, exempt == 1))...)
		})
}

// markedMoved reports whether the operator says that a client has moved.
func (r *Reader) markedMoved(name string, kind, lastSeen int64) bool {
	written, known := r.WrittenDown(name)
	return known && kind != store.AddressKind && written.Moved.Holds(time.Unix(lastSeen, 0))
}

// refusals has a bit for each window that refuses a client.
func (p *prediction) refusals(who lifecycle.Subject) []uint64 {
	hits := make([]uint64, p.words64())
	for i, b := range p.schedule.Brownouts {
		if p.schedule.Hits(b, who) {
			hits[i/64] |= 1 << (i % 64)
		}
	}
	return hits
}

// notes says what cannot be told exactly.
func (p *prediction) notes() (notes []string) {
	nowhere, addresses := 0, 0
	for _, m := range p.members {
		if m.nowhere {
			nowhere++
		}
		if m.kind == store.AddressKind {
			addresses++
		}
	}
	if nowhere > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s, such as clients counted together, "+
			"have no known place in the order, and count as refused by every window",
			p.version, words.Count(nowhere, "name", "names")))
	}
	if addresses > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s of %s are made from software and a network: "+
			"software that moves between networks counts once for each, so there may be fewer clients",
			p.version, words.Number(addresses), words.Count(len(p.members), "name", "names")))
	}
	if slices.ContainsFunc(p.schedule.Exempt, caller.Pattern.IsNetwork) {
		notes = append(notes, p.version+": addresses are not kept, so exempt networks spare the clients "+
			"that the plan in force spared when they last called")
	}
	return notes
}

// view is what is looked at for a window.
type view struct {
	hit    Hit
	window int
	what   string    // calls that are added up: those that it refused, or that it would have
	spans  []between // times at which they were made; none: nothing is known
	times  float64   // over which the calls are an average; 0: nothing is known
	calls  []float64 // of each member
}

// between is [from, to) in Unix seconds.
type between struct{ from, to int64 }

// look says what to look at to tell what a window did, or to predict it. A prediction
// looks at the same hours of the same weekdays, up to four weeks back, as far as all of
// these hours were recorded.
func (p *prediction) look(i int) *view {
	b := p.schedule.Brownouts[i]
	v := &view{window: i, what: "served + brownout", calls: make([]float64, len(p.members))}
	v.hit = Hit{
		Version: p.version, From: b.From, To: b.To, Share: b.Share, Names: []HitClient{},
		Past: b.To.Unix() <= p.to,
	}
	for at, m := range p.members {
		if m.errors && m.recent && !v.hit.Past && p.hit(at, i) {
			v.calls[at] = onlyErrors
		}
	}
	from, to := b.From.Unix(), b.To.Unix()
	if v.hit.Past {
		v.what = "brownout"
		v.hit.Weeks = 1
		if p.covered(from, to) {
			v.spans = []between{{from, to}}
			v.times = 1
		}
		return v
	}
	back := (to - p.to + week - 1) / week // the last time that is over by now
	for w := back; w < back+simulatedWeeks; w++ {
		if from-w*week < p.from-week || !p.covered(from-w*week, to-w*week) {
			continue
		}
		v.spans = append(v.spans, between{from - w*week, to - w*week})
	}
	v.hit.Weeks = len(v.spans)
	v.times = float64(v.hit.Weeks)
	return v
}

// onlyErrors stands for the calls of a client that only gets errors.
const onlyErrors = -1

// covered reports whether every hour between two times was recorded.
func (p *prediction) covered(from, to int64) bool {
	for began := from - from%hour; began < to; began += hour {
		if !p.recorded[began] {
			return false
		}
	}
	return true
}

// sunset predicts the end of a version, which spares nobody: all clients that have not
// moved, with their calls of 30 days.
func (p *prediction) sunset(r *Reader) Hit {
	hit := Hit{Version: p.version, From: p.schedule.Sunset, Share: 1, Names: []HitClient{}, Gone: p.gone(r)}
	hours := 0.0
	for began := p.to - p.to%hour; began > p.to-30*day; began -= hour {
		hours += float64(oneIf(p.recorded[began]))
	}
	calls := make([]float64, len(p.members))
	for at, m := range p.members {
		switch {
		case !m.errors:
			calls[at] = m.calls30
		case m.recent:
			calls[at] = onlyErrors
		}
	}
	days := 0.0
	if hours > 0 {
		days = max(1, hours/24)
	}
	return p.fill(hit, calls, days, func(at int) bool { return p.members[at].stays })
}

// gone reports whether the sunset has come, and no gate holds it.
func (p *prediction) gone(r *Reader) bool {
	gate := p.schedule.Gate
	switch {
	case p.schedule.Sunset.Unix() > p.to:
		return false
	case gate == nil || gate.Confirmed:
		return true
	}
	released, err := r.Released(p.version, p.schedule.Sunset)
	if p.Err == nil {
		p.Err = err
	}
	return !released.IsZero()
}

// lookAt is a day of which some calls are added up.
type lookAt struct {
	day  int64
	what string
}

// uses adds up the calls of members in the spans of views. Those of a day are taken to
// be spread evenly over the hours in which there were any. Each day is read once, as
// one text: a row for each client would take several times as long.
func (p *prediction) uses(views []*view) {
	type part struct {
		*view
		between
	}
	days := map[lookAt][]part{}
	masks := map[lookAt]int64{}
	for _, v := range views {
		for _, s := range v.spans {
			for on := s.from / day; on <= (s.to-1)/day; on++ {
				at := lookAt{on, v.what}
				days[at] = append(days[at], part{v, s})
				first, last := max(0, s.from-on*day)/hour, (min(day, s.to-on*day)-1)/hour
				masks[at] |= 1<<(last+1) - 1<<first
			}
		}
	}
	for at, parts := range days {
		p.eachUse(at, masks[at], func(member int, hours uint32, n float64) {
			for _, of := range parts {
				share := within(at.day*day, hours, of.from, of.to)
				switch {
				case share == 0 || !of.hit.Past && !p.hit(member, of.window):
				case p.members[member].errors:
					of.calls[member] = onlyErrors
				default:
					of.calls[member] += share * n
				}
			}
		})
	}
}

// eachUse reads the calls of the members on a day that were made in some hours.
func (p *prediction) eachUse(at lookAt, mask int64, do func(member int, hours uint32, calls float64)) {
	var text string
	one := "cast(client * 16777216 + hours as text) || ' ' || cast(" + at.what + " as text)"
	p.Get("select coalesce(string_agg("+one+", ' '), '') from usage_days"+
		" where day = $1 and version = $2 and "+at.what+" > 0 and hours & $3 <> 0",
		[]any{at.day, p.version, mask}, &text)
	for text != "" {
		var client, n int64
		client, text = store.NextNumber(text)
		n, text = store.NextNumber(text)
		if member, known := p.index[client>>24]; known {
			do(member, uint32(client)&(1<<24-1), float64(n))
		}
	}
}

// within is the part of a day's calls that were made between two times.
func within(start int64, hours uint32, from, to int64) (part float64) {
	for rest := hours; rest != 0; rest &= rest - 1 {
		begin := start + int64(bits.TrailingZeros32(rest))*hour
		if overlap := min(to, begin+hour) - max(from, begin); overlap > 0 {
			part += float64(overlap) / hour
		}
	}
	return part / float64(max(1, bits.OnesCount32(hours)))
}

// fill counts the clients that are refused, adds up their calls, as an average over so
// many weeks or days, and names them. Of no time, the calls are not known; whom a past
// window refused is not known then either.
func (p *prediction) fill(hit Hit, calls []float64, times float64, refused func(member int) bool) Hit {
	if times == 0 && hit.Past {
		return hit
	}
	quiet := func(at int) bool { return times > 0 && calls[at] == 0 && !hit.To.IsZero() }
	var found []int // members
	sum := 0.0
	for at, n := range calls {
		m := &p.members[at]
		switch {
		case refused(at):
			sum += max(0, n)
			hit.Known += int(oneIf(m.kind == store.KnownKind))
			hit.Address += int(oneIf(m.kind == store.AddressKind))
			hit.Moved += int(oneIf(m.moved))
			hit.Failing += int(oneIf(m.failing))
			hit.Quiet += int(oneIf(quiet(at)))
		case m.errors && n == onlyErrors:
			hit.Errors++
		default:
			continue
		}
		found = append(found, at)
	}
	clients := len(found) - hit.Errors
	hit.Clients = &clients
	if times > 0 {
		average := uint64(sum/times + 0.999)
		hit.Calls = &average
	}
	p.rank(found, calls)
	found = found[:min(maxNames, len(found))]
	if len(found) > 0 {
		hit.Names = p.names(found, quiet)
	}
	return hit
}

// rank orders members as Hit.Names has them.
func (p *prediction) rank(found []int, calls []float64) {
	slices.SortFunc(found, func(a, b int) int {
		x, y := &p.members[a], &p.members[b]
		return cmp.Or(
			cmp.Compare(oneIf(x.errors), oneIf(y.errors)),
			cmp.Compare(oneIf(y.kind == store.KnownKind), oneIf(x.kind == store.KnownKind)),
			cmp.Compare(calls[b], calls[a]), cmp.Compare(x.id, y.id))
	})
}

// names reads the names of members, of which there is at least one.
func (p *prediction) names(found []int, quiet func(member int) bool) []HitClient {
	place := make(map[int64]int, len(found))
	ids := make([]int64, len(found))
	for i, at := range found {
		ids[i] = p.members[at].id
		place[ids[i]] = i
	}
	names := make([]HitClient, len(found))
	var id int64
	var name string
	p.Each("select id, name from usage_names where id in ("+store.List(ids)+")", nil, []any{&id, &name}, func() {
		at := found[place[id]]
		m := &p.members[at]
		names[place[id]] = HitClient{name, m.moved, m.failing, m.errors, quiet(at)}
	})
	return names
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
		return *h.Clients + h.Errors - min(10, len(h.Names))
	},
}).Parse(simulationText))

// Print writes a simulation as text.
func (s *Simulation) Print(w io.Writer) error { return printed.Execute(w, s) }

// Sentence says whom the window or sunset refuses.
func (h Hit) Sentence() string {
	switch {
	case h.Clients == nil:
		return "not known whom it refused: nothing of these hours was recorded"
	case h.Gone:
		return "the version is gone, and every call is refused; " + words.Count(*h.Clients,
			"client that called within 90 days has not moved", "clients that called within 90 days have not moved")
	case h.Past && *h.Clients == 0:
		return "refused nobody" + h.erring()
	case h.Past:
		return fmt.Sprintf("refused %s, %d of them known, and %s; "+
			"since then %d came to the current version, %d only got errors there, and %d did not come%s",
			words.Count(*h.Clients, "client", "clients"), h.Known, words.Count(*h.Calls, "call", "calls"),
			h.Moved, h.Failing, *h.Clients-h.Moved-h.Failing, h.erring())
	case *h.Clients == 0:
		return "would refuse nobody" + h.erring()
	}
	text := fmt.Sprintf("would refuse %s, %d of them known", words.Count(*h.Clients, "client", "clients"), h.Known)
	if h.Calls == nil {
		text += ", and a number of calls that is not known: nothing of such hours was recorded"
	} else {
		text += ", and about " + words.Count(*h.Calls, "call", "calls")
	}
	if h.Calls != nil && h.To.IsZero() {
		text += " a day"
	}
	if h.Quiet > 0 {
		text += "; " + words.Count(h.Quiet, "of them was", "of them were") + " not seen at such hours"
	}
	if h.Failing > 0 {
		text += "; " + words.Count(h.Failing, "of them has", "of them have") +
			" come to the current version since, and only got errors there"
	}
	return text + h.erring()
}

// erring says how many clients besides only get errors.
func (h Hit) erring() string {
	switch {
	case h.Errors == 0:
		return ""
	case h.Past:
		return "; besides, " + words.Count(h.Errors,
			"client that only gets errors was refused", "clients that only get errors were refused")
	}
	return "; besides, " + words.Count(h.Errors,
		"client that only gets errors is", "clients that only get errors are") + " in the share"
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
