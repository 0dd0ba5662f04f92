package usage

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/maphash"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
	"unique"

	"github.com/dchest/siphash"

	"github.com/quotegate/quotegate/gateway/caller"
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
	hour  atomic.Int64                           // the current one
	calls [maxVersions][outcomes][2]atomic.Int64 // as in totalCalls

	mu      sync.Mutex
	waiting map[total]totalCalls
}

const maxVersions = 8

type total struct {
	began   int64
	version uint8
	outcome outcome
}

// totalCalls are all calls, and those without a client of their own.
type totalCalls [2]int64

const (
	ofAll = iota
	unnamed
)

// add counts a call, or that it is unnamed.
func (t *totals) add(at int64, version uint8, o outcome, what int) {
	key := total{at - at%hour, version, o}
	if t.hour.Load() == key.began || t.turn(key, what) {
		t.calls[version][o][what].Add(1)
	}
}

// turn makes a later hour the current one. A call of an earlier one has to wait, and
// turn returns false.
func (t *totals) turn(key total, what int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.hour.Load()
	if key.began > was {
		t.collect(was)
		t.hour.Store(key.began)
	} else if key.began < was {
		t.wait(key, what, 1)
	}
	return key.began >= was
}

func (t *totals) wait(key total, what int, n int64) {
	if t.waiting == nil {
		t.waiting = map[total]totalCalls{}
	}
	calls := t.waiting[key]
	calls[what] += n
	t.waiting[key] = calls
}

// collect moves the counts of the current hour into the map.
func (t *totals) collect(began int64) {
	for v := range t.calls {
		for o := range t.calls[v] {
			for what := range t.calls[v][o] {
				if n := t.calls[v][o][what].Swap(0); n > 0 {
					t.wait(total{began, uint8(v), outcome(o)}, what, n)
				}
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

// find returns the day on which a client was first seen, modulo dayMask.
func (s *seenSet) find(hash uint64) (day int64, seen bool) {
	slot := slotFor(*s.slots.Load(), hash).Load()
	return int64(slot&dayMask) - 1, slot != 0
}

// slotFor is the slot of a hash, or the empty one that it would take.
func slotFor(slots []atomic.Uint64, hash uint64) *atomic.Uint64 {
	for i := hash >> dayBits % uint64(len(slots)); ; i = (i + 1) % uint64(len(slots)) {
		if slot := slots[i].Load(); slot == 0 || slot&^dayMask == hash&^dayMask {
			return &slots[i]
		}
	}
}

// add has a client be recognised. If there are too many, it is not.
func (s *seenSet) add(hash uint64, day int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slots := *s.slots.Load()
	if slotFor(slots, hash).Load() != 0 || s.used >= seenMost {
		return
	}
	if s.used*2 >= len(slots) {
		larger := make([]atomic.Uint64, 2*len(slots))
		for i := range slots {
			if slot := slots[i].Load(); slot != 0 {
				slotFor(larger, slot).Store(slot)
			}
		}
		slots = larger
		s.slots.Store(&larger)
	}
	slotFor(slots, hash).Store(hash&^dayMask | uint64(day%dayMask+1))
	s.used++
}

// Bounds of the buffer.
const (
	shards        = 64
	shardEntries  = 512 // 64 × 512 = 32,768 entries of clients that the operator does not know
	maxFindings   = 6   // of a client between two writes
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
	day     uint32
	version uint8
}

// entry is what a client called on a version on a day, since the last take. There are
// many, so it is small and has few pointers: times are Unix seconds.
type entry struct {
	key
	class    class
	exempt   bool // at the last call
	name     string
	software unique.Handle[string]
	network  int64 // a keyed hash, 0 if unknown
	position float64
	id       int64 // in the database, once it is written

	calls, lastOf   [outcomes]uint32
	hours           uint32 // a bit for each hour with evidence
	proven, claimed uint32
	first, last     uint32 // first is 0 without calls
	findings        [maxFindings]findingCalls
}

// findingCalls is a finding and how many calls have it, 0 if it is not in use.
type findingCalls struct {
	finding unique.Handle[event.Finding]
	calls   uint32
}

const unknownPosition = -1

var noSoftware = unique.Make("")

// count adds a call.
func (e *entry) count(at int64, o outcome, ev *event.Event) {
	second := uint32(at)
	e.first, e.last = min(cmp.Or(e.first, second), second), max(e.last, second)
	e.lastOf[o] = max(e.lastOf[o], second)
	e.calls[o]++
	if o == served || o == brownout { // evidence
		e.hours |= 1 << (at % day / hour)
	}
	if ev.Caller.Proven() {
		e.proven++
	} else {
		e.claimed++
	}
	e.exempt = ev.Exempt
	if agent := ev.Caller.Agent; agent != "" && agent != e.software.Value() && printable(agent, maxClientText) {
		e.software = unique.Make(agent)
	}
	if o == served && ev.Finding.Outcome != "" && e.position != unknownPosition {
		e.find(ev.Finding)
	}
}

// find adds a finding. One that finds no room counts as another of its kind.
func (e *entry) find(f event.Finding) {
	full := e.findings[maxFindings-1].calls > 0
	for i := range e.findings {
		found := &e.findings[i]
		if found.calls == 0 {
			if !printable(f.Param, maxParamText) {
				return
			}
			found.finding = unique.Make(f)
		}
		if was := found.finding.Value(); was == f || full && was.Outcome == f.Outcome {
			found.calls++
			return
		}
	}
}

// found are the findings, in the order in which all instances write them.
func (e *entry) found() (all []FindingCount) {
	for _, f := range e.findings {
		if f.calls > 0 {
			is := f.finding.Value()
			all = append(all, FindingCount{is.Outcome, is.Code, is.Param, uint64(f.calls)})
		}
	}
	slices.SortFunc(all, func(a, b FindingCount) int {
		return cmp.Or(cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Param, b.Param))
	})
	return all
}

// buffer counts the calls of clients until they are written. Its size is bounded.
type buffer struct {
	seed     maphash.Seed
	seen     seenSet
	most     int // entries in a shard
	shards   [shards]shard
	networks [shards]networkShard
}

// shard holds some of the entries under one lock, in one piece, so that the garbage
// collector has little to follow. An entry stays until its hour is over, so that a
// client's next call allocates nothing, or until there is little room left and the
// client was silent since the last take.
type shard struct {
	sync.Mutex
	index   map[key]uint32 // where entries has them
	entries []entry
	free    []uint32 // the places without an entry
	count   [classes]int
}

// find is nil if there is no entry. It is valid while the shard is locked.
func (s *shard) find(k key) *entry {
	if i, ok := s.index[k]; ok {
		return &s.entries[i]
	}
	return nil
}

func (s *shard) add(one entry) *entry {
	i := uint32(len(s.entries))
	if last := len(s.free) - 1; last >= 0 {
		i, s.free = s.free[last], s.free[:last]
	} else {
		if i == uint32(cap(s.entries)) {
			s.entries = append(make([]entry, 0, i+i/8+8), s.entries...) // little more than is needed
		}
		s.entries = s.entries[:i+1]
	}
	s.index[one.key], s.entries[i] = i, one
	s.count[one.class]++
	return &s.entries[i]
}

func (s *shard) remove(k key) {
	i := s.index[k]
	delete(s.index, k)
	s.count[s.entries[i].class]--
	s.entries[i] = entry{}
	s.free = append(s.free, i)
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
	slots := make([]atomic.Uint64, 1024)
	b.seen.slots.Store(&slots)
	for i := range b.shards {
		b.shards[i].index = map[key]uint32{}
		b.networks[i].networks = map[int64]network{}
	}
	return b
}

func (b *buffer) hash(name string) uint64 { return maphash.String(b.seed, name) }

// observe counts a call under its client's name, or else under its network's. It
// returns false if the call has no client of its own.
func (b *buffer) observe(hash uint64, version uint8, at int64, o outcome, e *event.Event, secret *hashKey) (named bool) {
	k := key{hash, uint32(at / day), version}
	if b.again(k, at, o, e) {
		return true
	}
	one := entry{key: k, name: e.Client, software: noSoftware, network: secret.network(e.Caller.Addr), position: e.Caller.Identity().Position(e.Version)}
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
	b.add(&one, at, o, e)
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
	return b.countIn(s, k, at, o, e)
}

// countIn counts a call if the shard, which is locked, has an entry for it.
func (b *buffer) countIn(s *shard, k key, at int64, o outcome, e *event.Event) bool {
	found := s.find(k)
	if found == nil {
		return false
	}
	if found.class == minor && o != rehearsed && o != failed {
		s.count[minor]--
		found.class = b.classify(k.hash, at, o, e)
		s.count[found.class]++
		b.remember(found, at)
	}
	found.count(at, o, e)
	return true
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
	if b.countIn(s, one.key, at, o, e) { // another call came first
		return true
	}
	_, seen := b.seen.find(one.hash)
	if !s.room(one.class, b.most) || one.class != knownClient && one.network != 0 && !b.networkShard(one.network).enter(one.network, at/day, !seen) {
		return false
	}
	made := s.add(*one)
	made.name = strings.Clone(one.name)
	b.remember(made, at)
	made.count(at, o, e)
	return true
}

func (s *shard) room(c class, most int) bool {
	taken := s.count[usual] + s.count[fresh] + s.count[minor]
	share := [classes]int{usual: most, fresh: (most + 1) / 2, minor: (most + 7) / 8}[c]
	return c == knownClient || taken < most && s.count[c] < share
}

func (b *buffer) networkShard(hash int64) *networkShard {
	return &b.networks[maphash.Comparable(b.seed, hash)%shards]
}

// change changes what is known of a network on a day. It returns false if there are
// too many networks, or the change is not made.
func (s *networkShard) change(hash, day int64, do func(*network) bool) bool {
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
	made := do(&n)
	if made {
		s.networks[hash] = n
	}
	return made
}

// enter counts one more entry of a network, of a client that may be new. It returns
// false if the network has enough.
func (s *networkShard) enter(hash, day int64, new bool) bool {
	return s.change(hash, day, func(n *network) bool {
		enough := n.entries >= entriesPerNetwork || new && n.added >= newPerNetwork
		n.entries, n.added = n.entries+1, n.added+int(boolInt(new))
		return !enough
	})
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
	b.networkShard(hash).change(hash, day, func(n *network) bool {
		n.added = max(n.added, added)
		return true
	})
}

// batchRows is about how many rows are taken and written at a time.
const batchRows = 4096

// take returns the counts of some shards since their last take, and the shard to go
// on with.
func (b *buffer) take(now int64, from int) (rows []*entry, next int) {
	for next = from; next < shards && len(rows) < batchRows; next++ {
		s := &b.shards[next]
		s.Lock()
		crowded, called := 2*len(s.index) >= b.most, 0
		for k, i := range s.index {
			if e := &s.entries[i]; e.first != 0 {
				called++
			} else if crowded || int64(e.last) < now-now%hour {
				b.leave(e)
				s.remove(k)
			}
		}
		copies := make([]entry, 0, called)
		for i := range s.entries {
			if e := &s.entries[i]; e.first != 0 {
				copies = append(copies, *e)
				rows = append(rows, &copies[len(copies)-1])
				e.calls, e.hours, e.proven, e.claimed, e.first, e.findings = [outcomes]uint32{}, 0, 0, 0, 0, [maxFindings]findingCalls{}
			}
		}
		s.Unlock()
	}
	return rows, next
}

// printable keeps out text that a database may refuse.
func printable(s string, most int) bool {
	return len(s) <= most && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' })
}

// hashKey is the secret key for hashing addresses. It must stay secret: anyone who
// has it can find the address of a hash by trying all addresses.
type hashKey [16]byte

// keyFrom makes a key from a secret of any length.
func keyFrom(secret string) (k hashKey) {
	sum := sha256.Sum256([]byte("quotegate usage key\x00" + secret))
	copy(k[:], sum[:])
	return k
}

// name is one line: "origin https://wallet.example", "agent curl #5f1c…". The
// address prefix of an agent is hashed. "-" means that there is none.
func (k hashKey) name(id caller.Identity) string {
	if id.Kind != caller.Agent {
		return id.String()
	}
	product, network, _ := strings.Cut(id.Text, " ")
	if network == "" || network == "-" {
		return string(id.Kind) + " " + product + " -"
	}
	var buf [128]byte
	b := append(append(buf[:0], id.Kind...), ' ')
	b = append(append(b, product...), ' ')
	return string(appendHash(b, k.hash(network)))
}

// network is the hash of the network of an address, as in the name of an agent, or
// 0 without an address.
func (k hashKey) network(addr netip.Addr) int64 {
	_, network, _ := strings.Cut(caller.Caller{Addr: addr}.Identity().Text, " ")
	if network == "" || network == "-" {
		return 0
	}
	return int64(k.hash(network))
}

// networkName is the name under which further clients of a network count.
func networkName(hash int64) string { return string(appendHash([]byte("network "), uint64(hash))) }

func (k hashKey) hash(network string) uint64 {
	var buf [64]byte
	return siphash.Hash(binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:]), append(append(buf[:0], "network\x00"...), network...))
}

func appendHash(b []byte, hash uint64) []byte {
	var digest [8]byte
	binary.BigEndian.PutUint64(digest[:], hash)
	return hex.AppendEncode(append(b, '#'), digest[:])
}

// Kinds of names, as the database keeps them.
const (
	otherKind   int64 = iota
	knownKind         // of a client known to the operator
	addressKind       // made from software and a network: a client that moves has several
)

func kindOf(name string) int64 {
	switch kind, _, _ := strings.Cut(name, " "); kind {
	case string(caller.Known):
		return knownKind
	case string(caller.Agent), "network":
		return addressKind
	}
	return otherKind
}
