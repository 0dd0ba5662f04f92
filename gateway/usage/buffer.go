package usage

import (
	"hash/maphash"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/fault"
)

// outcome of a call.
type outcome uint8

const (
	served    outcome = iota
	brownout          // refused by a brownout
	retired           // refused because the version is retired
	rehearsed         // refused because the client asked for a rehearsal
	failed            // any other error
	outcomes
)

var outcomeNames = [outcomes]string{"served", "brownout", "retired", "rehearsed", "failed"}

// evidence is what gates count: use of the version.
func (o outcome) evidence() bool { return o == served || o == brownout }

// outcomeOf is false for an answer that is not counted. What counts is a quote and
// an error of a route that quotes. Of an old version, every route counts that its
// sunset ends.
func outcomeOf(e *event.Event, old bool) (o outcome, counted bool) {
	ends := old && e.Route != "" && !e.Free
	switch {
	case e.Code == "" && (e.Pair != nil || ends && !e.Quotes):
		return served, true
	case e.Code == "" || !e.Quotes && !ends:
		return 0, false
	case e.Rehearsal:
		return rehearsed, true
	case e.Code == fault.VersionBrownout:
		return brownout, true
	case e.Code == fault.VersionRetired:
		return retired, true
	}
	return failed, true
}

const (
	hour = 3600 // seconds
	day  = 24 * hour
)

// totals counts all calls of the current hour without a lock. Those of other hours,
// which are few, wait in a map.
type totals struct {
	hour  atomic.Int64 // the current one
	calls [maxVersions][outcomes]struct{ all, unnamed atomic.Int64 }

	mu      sync.Mutex
	waiting map[total]totalCalls
}

const maxVersions = 8

type total struct {
	began   int64
	version uint8
	outcome outcome
}

type totalCalls struct{ all, unnamed int64 }

// add counts a call or, if unnamed, that it has no client of its own.
func (t *totals) add(at int64, version uint8, o outcome, unnamed bool) {
	began := at - at%hour
	calls := totalCalls{all: 1 - boolInt(unnamed), unnamed: boolInt(unnamed)}
	if t.hour.Load() != began && !t.turn(total{began, version, o}, calls) {
		return
	}
	if c := &t.calls[version][o]; unnamed {
		c.unnamed.Add(1)
	} else {
		c.all.Add(1)
	}
}

// turn makes a later hour the current one. A call of an earlier one has to wait, and
// turn returns false.
func (t *totals) turn(key total, calls totalCalls) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.hour.Load()
	if key.began > was {
		t.collect(was)
		t.hour.Store(key.began)
	} else if key.began < was {
		t.wait(key, calls)
	}
	return key.began >= was
}

func (t *totals) wait(key total, calls totalCalls) {
	if t.waiting == nil {
		t.waiting = map[total]totalCalls{}
	}
	c := t.waiting[key]
	t.waiting[key] = totalCalls{c.all + calls.all, c.unnamed + calls.unnamed}
}

// collect moves the counts of the current hour into the map.
func (t *totals) collect(began int64) {
	for v := range t.calls {
		for o := range t.calls[v] {
			c := &t.calls[v][o]
			if calls := (totalCalls{c.all.Swap(0), c.unnamed.Swap(0)}); calls != (totalCalls{}) {
				t.wait(total{began, uint8(v), outcome(o)}, calls)
			}
		}
	}
}

// take returns the counts since the last take.
func (t *totals) take() map[total]totalCalls {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.collect(t.hour.Load())
	all := t.waiting
	t.waiting = nil
	return all
}

// seenSet recognises clients that an old version has seen within 90 days, by the
// hash of their names, and tells the day on which each was first seen. Reading it
// takes no lock. The low bits of a slot are the day, the others the hash.
type seenSet struct {
	mu    sync.Mutex // held to add
	slots atomic.Pointer[[]atomic.Uint64]
	used  int
}

const (
	seenMost = 1 << 18 // clients, in 4 MiB
	dayBits  = 9
	dayMask  = 1<<dayBits - 1
)

func slotOf(hash uint64, day int64) uint64 { return hash&^dayMask | uint64(day%dayMask+1) }

// find returns the day on which a client was first seen, modulo dayMask.
func (s *seenSet) find(hash uint64) (day int64, seen bool) {
	slots := s.slots.Load()
	if slots == nil {
		return 0, false
	}
	return findSlot(*slots, hash)
}

func findSlot(slots []atomic.Uint64, hash uint64) (day int64, seen bool) {
	for i := hash >> dayBits % uint64(len(slots)); ; i = (i + 1) % uint64(len(slots)) {
		switch slot := slots[i].Load(); {
		case slot == 0:
			return 0, false
		case slot&^dayMask == hash&^dayMask:
			return int64(slot&dayMask) - 1, true
		}
	}
}

// add has a client be recognised. If there are too many, it is not.
func (s *seenSet) add(hash uint64, day int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slots := s.slots.Load()
	if slots == nil {
		first := make([]atomic.Uint64, 1024)
		slots = &first
		s.slots.Store(slots)
	}
	if _, seen := findSlot(*slots, hash); seen || s.used >= seenMost {
		return
	}
	if s.used*2 >= len(*slots) {
		larger := make([]atomic.Uint64, 2*len(*slots))
		for i := range *slots {
			if slot := (*slots)[i].Load(); slot != 0 {
				putSlot(larger, slot)
			}
		}
		slots = &larger
		s.slots.Store(slots)
	}
	putSlot(*slots, slotOf(hash, day))
	s.used++
}

func putSlot(slots []atomic.Uint64, slot uint64) {
	i := slot >> dayBits % uint64(len(slots))
	for slots[i].Load() != 0 {
		i = (i + 1) % uint64(len(slots))
	}
	slots[i].Store(slot)
}

// Bounds of the buffer.
const (
	shards        = 64
	shardEntries  = 512 // 64 × 512 = 32,768 entries of clients that the operator does not know
	maxFindings   = 8   // of a client on a day
	maxClientText = 512
	maxParamText  = 32

	// A network may add so many clients a day and have so many entries. Calls of
	// further ones count under the name of the network.
	newPerNetwork     = 20
	entriesPerNetwork = 64
	networksPerShard  = 1024
)

// class says which part of the room an entry takes.
type class uint8

const (
	knownClient class = iota // takes no room: there are as many as CLIENTS_FILE has
	usual                    // seen on an earlier day
	fresh                    // first seen today: half of the room
	minor                    // only errors and rehearsals, which are no evidence: an eighth
	classes
)

// key of an entry. The hash is that of the name, and is not predictable.
type key struct {
	hash    uint64
	day     int64
	version uint8
}

// entry is what a client called on a version on a day, since the last take.
type entry struct {
	key
	id       int64 // in the database, once it is written
	class    class
	name     string
	software string
	network  int64 // a keyed hash, 0 if unknown
	position float64

	calls           [outcomes]int64
	hours           int64 // a bit for each hour with evidence
	proven, claimed int64
	first, last     int64
	lastOf          [outcomes]int64
	exempt          bool // at the last call
	findings        []FindingCount
}

const unknownPosition = -1

func (e *entry) empty() bool { return e.first == 0 }

// count adds a call.
func (e *entry) count(at int64, o outcome, ev *event.Event) {
	if e.empty() {
		e.first = at
	}
	e.first, e.last = min(e.first, at), max(e.last, at)
	e.lastOf[o] = max(e.lastOf[o], at)
	e.calls[o]++
	if o.evidence() {
		e.hours |= 1 << (at % day / hour)
	}
	if ev.Caller.Proven() {
		e.proven++
	} else {
		e.claimed++
	}
	e.exempt = ev.Exempt
	if agent := ev.Caller.Agent; agent != "" && agent != e.software && printable(agent, maxClientText) {
		e.software = strings.Clone(agent)
	}
}

// find adds a finding. One that finds no room counts as another of its kind.
func (e *entry) find(f event.Finding) {
	for i := range e.findings {
		if e.findings[i].is(f) || len(e.findings) == maxFindings && e.findings[i].Outcome == f.Outcome {
			e.findings[i].Calls++
			return
		}
	}
	if len(e.findings) < maxFindings && printable(f.Param, maxParamText) {
		e.findings = append(e.findings, FindingCount{f.Outcome, f.Code, strings.Clone(f.Param), 1})
	}
}

// buffer counts the calls of clients until they are written. Its size is bounded.
type buffer struct {
	seed     maphash.Seed
	seen     seenSet
	most     int // entries in a shard
	shards   [shards]shard
	networks [shards]networkShard
}

// shard holds some of the entries under one lock. An entry stays until its hour is
// over, so that a client's next call allocates nothing, or until there is little
// room left and the client was silent since the last take.
type shard struct {
	sync.Mutex
	entries map[key]*entry
	count   [classes]int
}

type networkShard struct {
	sync.Mutex
	day      int64
	networks map[int64]network
}

// network is how many clients a network has added on a day, and how many entries it
// has.
type network struct {
	day            int64
	added, entries int
}

func newBuffer(perShard int) *buffer {
	b := &buffer{seed: maphash.MakeSeed(), most: perShard}
	for i := range b.shards {
		b.shards[i].entries = map[key]*entry{}
		b.networks[i].networks = map[int64]network{}
	}
	return b
}

func (b *buffer) hash(name string) uint64 { return maphash.String(b.seed, name) }

// observe counts a call under its client's name, or else under its network's. It
// returns false if the call has no client of its own.
func (b *buffer) observe(hash uint64, version uint8, at int64, o outcome, e *event.Event, secret *hashKey) (named bool) {
	k := key{hash, at / day, version}
	if b.again(k, at, o, e) {
		return true
	}
	one := entry{key: k, name: e.Client, network: secret.network(e.Caller.Addr), position: e.Caller.Identity().Position(e.Version)}
	one.class = b.classify(hash, at, o, e)
	if printable(one.name, maxClientText) && b.add(&one, at, o, e) {
		return true
	}
	if one.network == 0 {
		return false
	}
	one.name, one.position, one.network = networkName(one.network), unknownPosition, 0
	one.hash = b.hash(one.name)
	one.class = b.classify(one.hash, at, o, &event.Event{})
	if !b.again(one.key, at, o, e) {
		b.add(&one, at, o, e)
	}
	return false
}

func (b *buffer) classify(hash uint64, at int64, o outcome, e *event.Event) class {
	first, seen := b.seen.find(hash)
	switch {
	case e.Caller.Known != nil:
		return knownClient
	case o == rehearsed || o == failed:
		return minor
	case !seen || first == at/day%dayMask:
		return fresh
	}
	return usual
}

// again counts a call for which there is an entry.
func (b *buffer) again(k key, at int64, o outcome, e *event.Event) bool {
	s := &b.shards[k.hash%shards]
	s.Lock()
	defer s.Unlock()
	found := s.entries[k]
	if found == nil {
		return false
	}
	if found.class == minor && o != rehearsed && o != failed {
		s.count[minor]--
		found.class = b.classify(k.hash, at, o, e)
		s.count[found.class]++
		b.remember(found, at)
	}
	b.record(found, at, o, e)
	return true
}

func (b *buffer) record(one *entry, at int64, o outcome, e *event.Event) {
	one.count(at, o, e)
	if o == served && e.Finding.Outcome != "" && one.position != unknownPosition {
		one.find(e.Finding)
	}
}

// remember has a client be recognised from now on, by its use of an old version.
func (b *buffer) remember(one *entry, at int64) {
	if one.class == fresh {
		b.seen.add(one.hash, at/day)
	}
}

// add makes an entry for a call, if there is room.
func (b *buffer) add(one *entry, at int64, o outcome, e *event.Event) bool {
	s := &b.shards[one.hash%shards]
	s.Lock()
	defer s.Unlock()
	_, seen := b.seen.find(one.hash)
	if !s.room(one.class, b.most) || one.class != knownClient && one.network != 0 && !b.networkShard(one.network).enter(one.network, at/day, !seen) {
		return false
	}
	made := *one
	made.name = strings.Clone(one.name)
	s.entries[made.key] = &made
	s.count[made.class]++
	b.remember(&made, at)
	b.record(&made, at, o, e)
	return true
}

func (s *shard) room(c class, most int) bool {
	taken := s.count[usual] + s.count[fresh] + s.count[minor]
	switch c {
	case knownClient:
		return true
	case fresh:
		return taken < most && s.count[fresh] < (most+1)/2
	case minor:
		return taken < most && s.count[minor] < (most+7)/8
	}
	return taken < most
}

func (b *buffer) networkShard(hash int64) *networkShard {
	return &b.networks[maphash.Comparable(b.seed, hash)%shards]
}

// enter counts one more entry of a network, of a client that may be new. It returns
// false if the network has enough.
func (s *networkShard) enter(hash, day int64, new bool) bool {
	s.Lock()
	defer s.Unlock()
	if s.day != day { // networks without entries begin anew
		s.day = day
		maps.DeleteFunc(s.networks, func(_ int64, n network) bool { return n.entries == 0 && n.day != day })
	}
	n, known := s.networks[hash]
	if !known && len(s.networks) >= networksPerShard {
		return false
	}
	if n.day != day {
		n.day, n.added = day, 0
	}
	if n.entries >= entriesPerNetwork || new && n.added >= newPerNetwork {
		return false
	}
	n.entries++
	if new {
		n.added++
	}
	s.networks[hash] = n
	return true
}

// leave gives the place of an entry back to its network.
func (b *buffer) leave(one *entry) {
	if one.class == knownClient || one.network == 0 {
		return
	}
	s := b.networkShard(one.network)
	s.Lock()
	defer s.Unlock()
	if n, known := s.networks[one.network]; known {
		n.entries--
		s.networks[one.network] = n
	}
}

// set corrects how many clients a network has added, by what all instances wrote.
func (b *buffer) set(hash, day int64, added int) {
	s := b.networkShard(hash)
	s.Lock()
	defer s.Unlock()
	n, known := s.networks[hash]
	if known || len(s.networks) < networksPerShard {
		if n.day != day {
			n.day, n.added = day, 0
		}
		n.added = max(n.added, added)
		s.networks[hash] = n
	}
}

// take returns the counts since the last take.
func (b *buffer) take(now int64) (rows []entry) {
	for i := range b.shards {
		rows = b.takeShard(&b.shards[i], rows, now)
	}
	return rows
}

func (b *buffer) takeShard(s *shard, rows []entry, now int64) []entry {
	s.Lock()
	defer s.Unlock()
	crowded := 2*len(s.entries) >= b.most
	for k, e := range s.entries {
		if !e.empty() {
			rows = append(rows, *e)
			e.calls, e.hours, e.proven, e.claimed, e.first, e.findings = [outcomes]int64{}, 0, 0, 0, 0, nil
		} else if crowded || e.last < now-now%hour {
			delete(s.entries, k)
			s.count[e.class]--
			b.leave(e)
		}
	}
	return rows
}

// printable keeps out text that a database may refuse.
func printable(s string, most int) bool {
	return len(s) <= most && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' })
}
