package usage

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/maphash"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dchest/siphash"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/store"
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

var outcomeNames = [outcomes]string{store.Served, store.Brownout, store.Retired, store.Rehearsed, store.Failed}

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
	hour = store.Hour // seconds
	day  = store.Day
)

const maxVersions = 64

type total struct {
	began   int64 // the hour
	version uint8
	outcome outcome
}

// totalCalls are all calls, and those without a client of their own.
type totalCalls struct{ all, unnamed int64 }

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
	maxNetworks       = 1 << 16

	seenPerShard = 4096 // 64 × 4,096 clients are recognised, in 8 MiB
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
// many, so it is small and has no pointers for the garbage collector to follow: its
// texts and findings are in the shard, times are Unix seconds.
type entry struct {
	key
	class              class
	exempt             bool               // at the last call
	entered            bool               // its network has counted it
	newSoftware        bool               // since the last take
	findings           [maxFindings]uint8 // their places among those of the shard
	nameAt, softwareAt span
	network            int64 // a keyed hash, 0 if unknown
	position           float64

	calls, lastOf [outcomes]uint32
	hours         uint32              // a bit for each hour with evidence
	proven        uint32              // calls with a key
	first, last   uint32              // first is 0 without calls
	times         [maxFindings]uint32 // how often each of the findings was found; 0: it is not in use
}

// span is where a shard has a text, and how long a text may become there.
type span struct {
	from       uint32
	size, room uint16
}

// row is an entry as it is written.
type row struct {
	entry
	id             int64 // of the client, in the database
	name, software string
	found          []foundCalls // in the order in which all instances write them
}

// foundCalls is a finding and how many calls have it.
type foundCalls struct {
	event.Finding
	calls uint32
}

// buffer counts the calls of clients until they are written. Its size is bounded.
type buffer struct {
	seed     maphash.Seed
	most     int // entries in a shard
	shards   [shards]shard
	networks networks
}

// shard holds some of the entries under one lock, in one piece. An entry stays until
// its hour is over, so that a client's next call allocates nothing, or until there is
// little room left and the client was silent since the last take.
type shard struct {
	sync.Mutex
	totals   map[total]totalCalls
	seen     map[uint64]uint16 // clients that an old version has seen within 90 days, by their hash: the day when first
	index    []uint32          // of 2^n places: the number of an entry from 1, 0 for none; a collision takes the next
	entries  []entry
	taken    [classes]int    // how many entries there are of each
	text     []byte          // names and software of the entries
	findings []event.Finding // each kind that was found, of which there are few
}

// find is nil if there is no entry. It is valid while the shard is locked.
func (s *shard) find(k key) *entry {
	if i := *s.place(k); i > 0 {
		return &s.entries[i-1]
	}
	return nil
}

// place is where the index has a key, or may have it.
func (s *shard) place(k key) *uint32 {
	for at := k.hash / shards; ; at++ {
		place := &s.index[at&uint64(len(s.index)-1)]
		if i := *place; i == 0 || s.entries[i-1].key == k {
			return place
		}
	}
}

// makeIndex begins the index anew, with room for as many entries again.
func (s *shard) makeIndex() {
	if 2*len(s.entries) < len(s.index) {
		clear(s.index)
	} else {
		s.index = make([]uint32, 2*len(s.index))
	}
	for i := range s.entries {
		*s.place(s.entries[i].key) = uint32(i) + 1
	}
}

func (s *shard) add(one entry, name string) *entry {
	if n := len(s.entries); n == cap(s.entries) {
		s.entries = append(make([]entry, 0, n+n/8+8), s.entries...) // little more than is needed
	}
	one.nameAt = s.keep(span{}, name)
	s.entries = append(s.entries, one)
	s.taken[one.class]++
	if 2*len(s.entries) >= len(s.index) {
		s.makeIndex()
	} else {
		*s.place(one.key) = uint32(len(s.entries))
	}
	return &s.entries[len(s.entries)-1]
}

// keep puts a text into the place of an earlier one, or after all others.
func (s *shard) keep(at span, text string) span {
	if len(text) > int(at.room) {
		at.from = uint32(len(s.text))
		at.room = uint16(len(text))
		s.text = append(s.text, text...)
	}
	at.size = uint16(copy(s.text[at.from:], text))
	return at
}

// count adds a call.
func (s *shard) count(e *entry, at int64, o outcome, ev *event.Event) {
	second := uint32(at)
	e.first = min(cmp.Or(e.first, second), second)
	e.last = max(e.last, second)
	e.lastOf[o] = max(e.lastOf[o], second)
	e.calls[o]++
	if o == served || o == brownout { // evidence
		e.hours |= 1 << (at % day / hour)
	}
	if ev.Caller.Proven() {
		e.proven++
	}
	e.exempt = ev.Exempt
	agent := ev.Caller.Agent
	was := s.text[e.softwareAt.from : e.softwareAt.from+uint32(e.softwareAt.size)]
	if agent != "" && agent != string(was) && store.Storable(agent, maxClientText) {
		e.softwareAt = s.keep(e.softwareAt, agent)
		e.newSoftware = true
	}
	if o == served && ev.Finding.Outcome != "" && e.position != store.UnknownPosition {
		s.countFinding(e, ev.Finding)
	}
}

// countFinding adds a finding. One that finds no room in an entry counts as another
// of its kind.
func (s *shard) countFinding(e *entry, f event.Finding) {
	number := slices.Index(s.findings, f)
	if number < 0 {
		number = len(s.findings)
		if number > math.MaxUint8 || !store.Storable(f.Param, maxParamText) {
			return
		}
		s.findings = append(s.findings, f)
	}
	full := e.times[maxFindings-1] > 0
	for i := range e.times {
		if e.times[i] == 0 {
			e.findings[i] = uint8(number)
		}
		if was := e.findings[i]; was == uint8(number) || full && s.findings[was].Outcome == f.Outcome {
			e.times[i]++
			return
		}
	}
}

// networks limits how many clients a network adds.
type networks struct {
	sync.Mutex
	day int64
	all map[int64]network
}

// network is how many clients a network has added on a day, and how many entries it
// has.
type network struct {
	day            uint32
	added, entries uint16
}

func newBuffer(perShard int) *buffer {
	b := &buffer{seed: maphash.MakeSeed(), most: perShard, networks: networks{all: map[int64]network{}}}
	for i := range b.shards {
		s := &b.shards[i]
		s.totals = map[total]totalCalls{}
		s.seen = map[uint64]uint16{}
		s.index = make([]uint32, 2)
	}
	return b
}

func (b *buffer) hash(name string) uint64 { return maphash.String(b.seed, name) }

func (b *buffer) shard(hash uint64) *shard { return &b.shards[hash%shards] }

// observe counts a call, of an old version also under its client's name, or else under
// its network's. Of the current version it names clients that are known or that an
// old version has seen.
func (b *buffer) observe(version uint8, old bool, at int64, o outcome, e *event.Event, secret *hashKey) {
	hash := b.hash(e.Client)
	known := e.Caller.Known != nil
	k := key{hash, uint32(at / day), version}
	sum := total{at - at%hour, version, o}
	s := b.shard(hash)
	s.Lock()
	calls := s.totals[sum]
	calls.all++
	s.totals[sum] = calls
	_, seen := s.seen[hash]
	done := true // of a stranger to the current version, nothing else is counted
	if old || known || seen {
		done = s.countIn(k, at, o, e)
	}
	room := !done && s.room(s.classify(hash, known, at, o), b.most)
	s.Unlock()
	if done {
		return
	}
	one := entry{key: k, network: secret.network(e.Caller.Addr)}
	if room && store.Storable(e.Client, maxClientText) {
		one.position = e.Caller.Identity().Position(e.Version)
		if b.add(one, e.Client, known, at, o, e) {
			if old && (o == served || o == brownout) && one.network != 0 && !store.IsAgent(e.Client) {
				b.remember(agentName(e.Caller.Agent, one.network), at/day)
			}
			return
		}
	}
	s.Lock()
	calls = s.totals[sum]
	calls.unnamed++
	s.totals[sum] = calls
	s.Unlock()
	if one.network != 0 {
		name := networkName(one.network)
		b.add(entry{key: key{b.hash(name), k.day, version}, position: store.UnknownPosition}, name, false, at, o, e)
	}
}

// classify says which part of the room a call takes.
func (s *shard) classify(hash uint64, known bool, at int64, o outcome) class {
	first, seen := s.seen[hash]
	switch {
	case known:
		return knownClient
	case o == rehearsed || o == failed:
		return minor
	case !seen || first == uint16(at/day):
		return fresh
	}
	return usual
}

// countIn counts a call if there is an entry for it.
func (s *shard) countIn(k key, at int64, o outcome, e *event.Event) bool {
	found := s.find(k)
	if found == nil {
		return false
	}
	if found.class == minor && o != rehearsed && o != failed {
		s.taken[minor]--
		found.class = s.classify(k.hash, false, at, o)
		s.taken[found.class]++
		s.recognise(found, at)
	}
	s.count(found, at, o, e)
	return true
}

// recognise has a new client be recognised from now on, by its use of an old version.
func (s *shard) recognise(one *entry, at int64) {
	if one.class == fresh {
		s.remember(one.hash, at/day)
	}
}

func (s *shard) remember(hash uint64, day int64) {
	if _, seen := s.seen[hash]; !seen && len(s.seen) < seenPerShard {
		s.seen[hash] = uint16(day)
	}
}

// remember has a client be recognised by its name.
func (b *buffer) remember(name string, day int64) {
	hash := b.hash(name)
	s := b.shard(hash)
	s.Lock()
	defer s.Unlock()
	s.remember(hash, day)
}

// add makes an entry for a call, if there is room.
func (b *buffer) add(one entry, name string, known bool, at int64, o outcome, e *event.Event) bool {
	s := b.shard(one.hash)
	s.Lock()
	defer s.Unlock()
	if s.countIn(one.key, at, o, e) { // another call came first
		return true
	}
	one.class = s.classify(one.hash, known, at, o)
	if !s.room(one.class, b.most) {
		return false
	}
	if !known && one.network != 0 {
		_, seen := s.seen[one.hash]
		one.entered = b.networks.enter(one.network, at/day, !seen)
		// A client of an earlier day has its entry however many networks there are, and
		// whatever others in its network did: without it, it would hold a gate.
		if !one.entered && one.class != usual {
			return false
		}
	}
	made := s.add(one, name)
	s.recognise(made, at)
	s.count(made, at, o, e)
	return true
}

func (s *shard) room(c class, most int) bool {
	taken := s.taken[usual] + s.taken[fresh] + s.taken[minor]
	share := [classes]int{usual: most, fresh: (most + 1) / 2, minor: (most + 7) / 8}[c]
	return c == knownClient || taken < most && s.taken[c] < share
}

// change changes what is known of a network on a day. It returns false if there are
// too many networks, or the change is not made.
func (s *networks) change(hash, day int64, do func(*network) bool) bool {
	s.Lock()
	defer s.Unlock()
	if s.day != day { // networks without entries begin anew
		s.day = day
		maps.DeleteFunc(s.all, func(_ int64, n network) bool { return n.entries == 0 && n.day != uint32(day) })
	}
	n, known := s.all[hash]
	if !known && len(s.all) >= maxNetworks {
		return false
	}
	if n.day != uint32(day) {
		n.day = uint32(day)
		n.added = 0
	}
	made := do(&n)
	if made {
		s.all[hash] = n
	}
	return made
}

// enter counts one more entry of a network, of a client that may be new. It returns
// false if the network has enough.
func (s *networks) enter(hash, day int64, new bool) bool {
	return s.change(hash, day, func(n *network) bool {
		enough := n.entries >= entriesPerNetwork || new && n.added >= newPerNetwork
		n.entries++
		n.added += uint16(oneIf(new))
		return !enough
	})
}

// leave gives the place of an entry back to its network.
func (s *networks) leave(one *entry) {
	s.Lock()
	defer s.Unlock()
	if n, known := s.all[one.network]; known && one.entered {
		n.entries--
		s.all[one.network] = n
	}
}

// set corrects how many clients a network has added, by what all instances wrote.
func (s *networks) set(hash, day int64, added int) {
	s.change(hash, day, func(n *network) bool {
		n.added = max(n.added, uint16(min(added, newPerNetwork)))
		return true
	})
}

// batchRows is about how many rows are taken and written at a time.
const batchRows = store.ManyRows

// take moves the counts of some shards since their last take into a batch, and
// returns the shard to go on with.
func (b *buffer) take(now int64, next int, into *batch) int {
	for ; next < shards && len(into.rows) < batchRows; next++ {
		s := &b.shards[next]
		s.Lock()
		for sum, calls := range s.totals {
			was := into.totals[sum]
			into.totals[sum] = totalCalls{was.all + calls.all, was.unnamed + calls.unnamed}
		}
		clear(s.totals)
		s.takeEntries(now, 2*len(s.entries) >= b.most, into, &b.networks)
		s.Unlock()
	}
	return next
}

// takeEntries moves the entries that stay to the front, and their texts.
func (s *shard) takeEntries(now int64, crowded bool, into *batch, n *networks) {
	was := s.entries
	text := string(s.text)
	s.entries = was[:0]
	s.text = s.text[:0]
	of := func(at span) string { return text[at.from : at.from+uint32(at.size)] }
	for _, e := range was {
		if e.first == 0 && (crowded || int64(e.last) < now-now%hour) {
			n.leave(&e)
			s.taken[e.class]--
			continue
		}
		if e.first != 0 {
			into.rows = append(into.rows, &row{
				entry: e, name: of(e.nameAt), software: of(e.softwareAt), found: s.found(&e),
			})
			e.reset()
		}
		e.nameAt = s.keep(span{}, of(e.nameAt))
		e.softwareAt = s.keep(span{}, of(e.softwareAt))
		s.entries = append(s.entries, e)
	}
	s.makeIndex()
}

// reset begins to count anew, once what was counted is taken.
func (e *entry) reset() {
	e.calls = [outcomes]uint32{}
	e.hours = 0
	e.proven = 0
	e.first = 0
	e.times = [maxFindings]uint32{}
	e.newSoftware = false
}

// found are the findings of an entry, in the order in which all instances write them.
func (s *shard) found(e *entry) (all []foundCalls) {
	for i, calls := range e.times {
		if calls > 0 {
			is := s.findings[e.findings[i]]
			all = append(all, foundCalls{is, calls})
		}
	}
	slices.SortFunc(all, func(a, b foundCalls) int {
		return cmp.Or(cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Param, b.Param))
	})
	return all
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

// trace is a hash of a network and software, and 0 if one of them is not known.
func (k hashKey) trace(network int64, software string) int64 {
	if network == 0 || software == "" {
		return 0
	}
	return int64(k.hash(strconv.FormatInt(network, 16) + " " + software))
}

// agentName is the name of software at a network, as name makes it.
func agentName(software string, network int64) string {
	return string(appendHash([]byte(string(caller.Agent)+" "+cmp.Or(software, "-")+" "), uint64(network)))
}

// networkName is the name under which further clients of a network count.
func networkName(hash int64) string { return string(appendHash([]byte("network "), uint64(hash))) }

func (k hashKey) hash(network string) uint64 {
	var buf [64]byte
	text := append(append(buf[:0], "network\x00"...), network...)
	return siphash.Hash(binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:]), text)
}

func appendHash(b []byte, hash uint64) []byte {
	var digest [8]byte
	binary.BigEndian.PutUint64(digest[:], hash)
	return hex.AppendEncode(append(b, '#'), digest[:])
}
