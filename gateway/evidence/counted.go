package evidence

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
)

const (
	manyClients   = 10_000           // of which evidence takes long to read, so that it is kept
	keepEvidence  = time.Minute      // so long
	maxSubtracted = 1000             // clients that only get errors whose calls are taken away
	maxRoaming    = 10_000           // names that are looked at to find software that roams
	askEvery      = 24 * time.Hour   // how often a registry is asked about an integrator
	askAgain      = 10 * time.Minute // if it did not answer
	maxAsked      = 10_000           // integrators that are remembered
	askAtOnce     = 20               // integrators that are asked about for one reading
)

// named is a name that used a version within the days of a gate. There may be many.
type named struct {
	id       int64
	lastCall int64
	software string // of a name made from software and a network, each text once in memory; else empty
	standing standing
	marked   bool // the operator has marked it as moved, and it has not called since
	errors   bool // it was never served, and got errors of its own
}

// standing is who vouches for a name.
type standing uint8

const (
	stranger   standing = iota
	known               // the operator
	integrates          // perhaps a registry: it is an integrator, or claims to be
)

// dayOfUse is what a client called on a day, as far as it is evidence.
type dayOfUse struct {
	day, client, calls int64
	hours              uint32
}

// counted is the part of the evidence that says whom a gate counts, and their calls.
// Of many clients it is kept for a while.
func (r *Reader) counted(
	q *store.Session, version string, gate lifecycle.Gate, at time.Time, from int64,
) lifecycle.Evidence {
	key := countedKey{version, gate}
	r.mu.Lock()
	kept, ok := r.evidences[key]
	r.mu.Unlock()
	if ok && at.Sub(kept.Read).Abs() < keepEvidence {
		return kept
	}
	e := r.count(q, version, gate, at, from)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.evidences, key)
	if e.Names > manyClients && q.Err == nil {
		maps.DeleteFunc(r.evidences, func(_ countedKey, old lifecycle.Evidence) bool {
			return at.Sub(old.Read).Abs() >= keepEvidence
		})
		e.Read = at
		r.evidences[key] = e
	}
	return e
}

// countedKey is what evidence is kept by.
type countedKey struct {
	version string
	gate    lifecycle.Gate
}

func (r *Reader) count(
	q *store.Session, version string, gate lifecycle.Gate, at time.Time, from int64,
) (e lifecycle.Evidence) {
	users, ids := r.readUsers(q, version, from)
	totals := readTotals(q, version, from)
	registry := r.registry.begin(r.Registered, !gate.CountsStrangers())
	defer registry.end()
	counting := make([]named, 0, len(users))
	var vouched, erring []named
	for _, u := range users {
		trusted := r.vouched(registry, u.standing, ids[u.id], &e)
		if u.errors {
			e.Errors++
			erring = append(erring, u)
			continue
		}
		if trusted {
			vouched = append(vouched, u)
		}
		if u.marked {
			e.Marked++
		} else if trusted || gate.CountsStrangers() {
			counting = append(counting, u)
		}
	}
	e.Names = len(users)
	e.StrangerNames = e.Names - e.Known - e.Registered
	erring = erring[:min(len(erring), maxSubtracted)]
	totals.takeAway(spread(daysOfUse(q, version, erring, "brownout", from, at.Unix())))
	theirs, others := totals.split(spread(daysOfUse(q, version, vouched, "served + brownout", from, at.Unix())))
	e.StrangerCalls = others.busiest(from, gate.Days)
	if all := allCalls(q, from); all > 0 {
		e.StrangerShare = min(1, others.sum()/float64(all))
	}
	if gate.CountsStrangers() {
		theirs = totals
		others = hourly{}
	}
	once := roamers(q, version, users, from, at.Unix())
	e.Probably = len(lastCalls(users, once))
	if gate.Roaming != lifecycle.RoamingOnce {
		once = nil
	}
	last := lastCalls(counting, once)
	e.Clients = len(last)
	e.Calls = theirs.busiest(from, gate.Days)
	if gate.Exceeds(e) {
		e.Earliest = earliest(&gate, from, last, theirs, others)
	}
	return e
}

// readUsers reads the names that used a version since a time, and the IDs of those that
// are integrators, by client.
func (r *Reader) readUsers(q *store.Session, version string, from int64) (all []named, ids map[int64]string) {
	var many int
	q.Get("select count(*) from usage_clients where version = $1 and last_call >= $2", []any{version, from}, &many)
	all = make([]named, 0, many) // a list that grew would take several times as much for a moment
	ids = map[int64]string{}
	texts := map[string]string{}
	var u named
	var name, software string
	var kind int64
	q.Each(`select c.client, n.name, n.software, c.kind, c.last_call, c.last_served = 0 and c.last_failed > 0
		from usage_clients as c join usage_names as n on n.id = c.client
		where c.version = $1 and c.last_call >= $2`, []any{version, from},
		[]any{&u.id, &name, &software, &kind, &u.lastCall, &u.errors}, func() {
			one := u
			written, isKnown := r.WrittenDown(name)
			one.marked = isKnown && written.Moved.Holds(time.Unix(u.lastCall, 0))
			id, isID := strings.CutPrefix(name, string(caller.Integrator)+" ")
			switch {
			case isKnown || kind == store.KnownKind:
				one.standing = known
			case isID:
				one.standing = integrates
				ids[u.id] = id
			case store.IsAgent(name):
				one.software = once(texts, software)
			}
			all = append(all, one)
		})
	return all, ids
}

// once is a text that is in memory once, however often it is read.
func once(texts map[string]string, text string) string {
	if kept, there := texts[text]; there {
		return kept
	}
	texts[text] = text
	return text
}

// vouched reports whether somebody vouches for a client, and counts it.
func (r *Reader) vouched(registry *asking, by standing, id string, e *lifecycle.Evidence) bool {
	switch by {
	case known:
		e.Known++
		return true
	case stranger:
		return false
	}
	registered, asked := registry.has(id, r.Now())
	if !asked {
		e.Unasked++
	} else if !registered {
		return false
	}
	e.Registered++
	return true
}

// hourly is the calls of each hour that are evidence. Those that are known by day are
// taken to be spread evenly over the hours in which there were any.
type hourly map[int64]float64

func readTotals(q *store.Session, version string, from int64) hourly {
	totals := hourly{}
	var began, calls int64
	q.Each(`select began, cast(sum(calls) as bigint) from usage_totals
		where version = $1 and outcome in ('served', 'brownout') and began >= $2 group by began`,
		[]any{version, from}, []any{&began, &calls}, func() { totals[began] = float64(calls) })
	return totals
}

// takeAway takes calls of some clients out.
func (h hourly) takeAway(some hourly) {
	for began, calls := range some {
		if all, there := h[began]; there {
			h[began] = max(0, all-calls)
		}
	}
}

// split is the calls of some clients, and of all others.
func (h hourly) split(some hourly) (theirs, others hourly) {
	others = maps.Clone(h)
	others.takeAway(some)
	theirs = hourly{}
	for began, calls := range some {
		theirs[began] = min(calls, h[began])
	}
	return theirs, others
}

func spread(uses iter.Seq[dayOfUse]) hourly {
	all := hourly{}
	for d := range uses {
		for i := range int64(24) {
			if d.hours&(1<<i) != 0 {
				all[d.day*day+i*hour] += float64(d.calls) / float64(bits.OnesCount32(d.hours))
			}
		}
	}
	return all
}

func (h hourly) sum() (calls float64) {
	for _, n := range h {
		calls += n
	}
	return calls
}

// busiest is the calls on the busiest of the days of a gate since a time, rounded up.
func (h hourly) busiest(from int64, days int) int { return busiest(h.since(from), days) }

// since is the calls of every hour since a time. An hour that no instance can have
// counted, such as one in another unit, does not make the list long.
func (h hourly) since(from int64) (hours []float64) {
	const most = 2 * store.KeepTotals * 24
	for began, calls := range h {
		if at := (began - from) / hour; began >= from && at < most {
			hours = append(hours, make([]float64, max(0, int(at)+1-len(hours)))...)
			hours[at] += calls
		}
	}
	return hours
}

// busiest adds up hours to days. The last day has the rest of an hour more.
func busiest(hours []float64, days int) int {
	most, sum := 0.0, 0.0
	for i, calls := range hours {
		if i%24 == 0 && i/24 < days {
			sum = 0
		}
		sum += calls
		most = max(most, sum)
	}
	return int(most + 0.999)
}

// allCalls are the calls to all versions since a time that were served or that a
// brownout refused.
func allCalls(t *store.Session, from int64) (calls int64) {
	t.Get(`select cast(coalesce(sum(calls), 0) as bigint) from usage_totals
		where outcome in ('served', 'brownout') and began >= $1`, []any{from}, &calls)
	return calls
}

// daysOfUse reads the days of some clients, one after the other, all of them.
func daysOfUse(t *store.Session, version string, users []named, what string, from, to int64) iter.Seq[dayOfUse] {
	return func(yield func(dayOfUse) bool) {
		for some := range slices.Chunk(users, store.FewRows) {
			ids := make([]int64, len(some))
			for i, u := range some {
				ids[i] = u.id
			}
			var d dayOfUse
			t.Each(store.EachDay+` select u.day, u.client, `+what+`, u.hours from days cross join usage_days as u
				where u.day = days.day and u.version = $3 and u.client in (`+store.List(ids)+`)
				and `+what+` > 0 and u.hours <> 0`,
				[]any{from / day, to / day, version}, []any{&d.day, &d.client, &d.calls, &d.hours}, func() { yield(d) })
		}
	}
}

// roamers finds the software that roams: it has several names, and was never at two
// networks in the same hour, nor at more than two on a day, on which it moved.
func roamers(t *store.Session, version string, users []named, from, to int64) map[string]bool {
	sizes := map[string]int{}
	for _, u := range users {
		if u.software != "" {
			sizes[u.software]++
		}
	}
	names := map[string][]named{}
	for _, u := range users {
		if n := sizes[u.software]; n > 1 && n <= maxRoaming {
			names[u.software] = append(names[u.software], u)
		}
	}
	var look []named
	software := map[int64]string{}
	once := map[string]bool{}
	for name, of := range names {
		if crowded(of) || len(look)+len(of) > maxRoaming {
			continue
		}
		once[name] = true
		look = append(look, of...)
		for _, u := range of {
			software[u.id] = name
		}
	}
	type place struct {
		software string
		day      int64
	}
	busy := map[place]uint32{} // hours in which it called
	networks := map[place]int{}
	for d := range daysOfUse(t, version, look, "served + brownout", from, to) {
		at := place{software[d.client], d.day}
		networks[at]++
		if networks[at] > 2 || busy[at]&d.hours != 0 {
			delete(once, at.software)
		}
		busy[at] |= d.hours
	}
	return once
}

// crowded reports whether more than two names called last on one day: such software
// does not roam, and its days need not be read.
func crowded(of []named) bool {
	last := map[int64]int{}
	for _, u := range of {
		last[u.lastCall/day]++
		if last[u.lastCall/day] > 2 {
			return true
		}
	}
	return false
}

// Roaming is how many clients fewer there probably are than names, of a version within 90
// days: software that roams has several. It takes long with many of them.
func Roaming(db *store.Session, version string, at time.Time) (fewer int) {
	users := readAgents(db, version)
	once := roamers(db, version, users, at.Unix()-store.ReportDays*day, at.Unix())
	return len(users) - len(lastCalls(users, once))
}

// readAgents reads the names made from software and a network, of software that has not
// so many that it cannot be one client.
func readAgents(db *store.Session, version string) (all []named) {
	var u named
	// PostgreSQL would count anew for each client, as long as it has no statistics of the tables.
	db.Each(fmt.Sprintf(`with few as materialized (select software from usage_names
		where name like 'agent %%' and software <> '' group by software having count(*) between 2 and %d)
		select c.client, n.software, c.last_call
		from usage_clients as c join usage_names as n on n.id = c.client
		where c.version = $1 and c.kind = 2 and c.calls90 > 0 and n.name like 'agent %%'
		and n.software in (select software from few)`, 2*store.ReportDays),
		[]any{version}, []any{&u.id, &u.software, &u.lastCall}, func() { all = append(all, u) })
	return all
}

// lastCalls are the last calls of clients, in order. Names of software that roams are
// one client.
func lastCalls(users []named, once map[string]bool) []int64 {
	all := make([]int64, 0, len(users))
	roaming := map[string]int64{}
	for _, u := range users {
		if u.software != "" && once[u.software] {
			roaming[u.software] = max(roaming[u.software], u.lastCall)
		} else {
			all = append(all, u.lastCall)
		}
	}
	all = slices.AppendSeq(all, maps.Values(roaming))
	slices.Sort(all)
	return all
}

// earliest is when a gate does not hold any more because of these clients and calls,
// if nobody calls from now on. A gate looks at full hours. The share of strangers is
// left out: it changes with the calls to other versions.
func earliest(gate *lifecycle.Gate, from int64, last []int64, theirs, others hourly) time.Time {
	if more := len(last) - gate.MaxClients; more > 0 {
		from = max(from, last[more-1]/hour*hour+hour) // so many are left behind by then
	}
	counted, strangers := theirs.since(from), others.since(from)
	tooMany := func() bool {
		if busiest(counted, gate.Days) > gate.MaxCallsPerDay {
			return true
		}
		return !gate.CountsStrangers() && busiest(strangers, gate.Days) > gate.Strangers.MaxCallsPerDay
	}
	for tooMany() {
		counted = counted[min(1, len(counted)):]
		strangers = strangers[min(1, len(strangers)):]
		from += hour
	}
	return time.Unix(from+int64(gate.Days)*day, 0).UTC()
}

// registry knows which integrators are registered.
type registry struct {
	mu    sync.Mutex
	known map[string]registration
}

type registration struct {
	registered, asked bool
	until             time.Time // then it is asked again
}

// asking is a number of questions to a registry that take a bounded time.
type asking struct {
	*registry
	ask    func(ctx context.Context, id string) (bool, error) // nil if nobody can be asked
	ctx    context.Context
	end    func()
	budget int // of questions
}

// begin begins to ask. Without need, nobody is asked.
func (r *registry) begin(ask func(context.Context, string) (bool, error), need bool) *asking {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout/2)
	a := &asking{registry: r, ask: ask, ctx: ctx, end: cancel}
	if need && ask != nil {
		a.budget = askAtOnce
	}
	return a
}

// has reports whether an integrator is registered, and whether that is known.
func (a *asking) has(id string, now time.Time) (registered, asked bool) {
	a.mu.Lock()
	got, kept := a.known[id]
	a.mu.Unlock()
	if kept && now.Before(got.until) || a.budget == 0 {
		return got.registered, got.asked
	}
	a.budget--
	is, err := a.ask(a.ctx, id)
	if err == nil {
		got = registration{is, true, now.Add(askEvery)}
	} else {
		got.until = now.Add(askAgain) // what was known before still counts
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= maxAsked {
		a.known = map[string]registration{}
	}
	a.known[id] = got
	return got.registered, got.asked
}
