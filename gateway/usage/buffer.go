package usage

import (
	"hash/maphash"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/fault"
)

// The outcome of a call.
const (
	served    = "served"
	brownout  = "brownout"  // refused by a brownout
	retired   = "retired"   // refused because the version is retired
	rehearsed = "rehearsed" // refused because the client asked for a rehearsal
	failed    = "failed"    // any other error
)

// otherClients stands for all clients that have no entry of their own.
const otherClients = "(other clients)"

const (
	shards        = 64
	shardEntries  = 512 // 64 × 512 = 32,768 clients and outcomes
	otherEntries  = 2048
	maxClientText = 512
	maxParamText  = 32
)

const (
	hour = 3600 // seconds
	day  = 24 * hour
)

// entry is the key by which calls are counted.
type entry struct {
	began   int64 // start of the hour
	version string
	client  string
	outcome string
	finding event.Finding
}

// tally is how many calls there were since the last take, and the times of the
// first and the last.
type tally struct{ calls, first, last int64 }

func (t *tally) add(at int64) {
	if t.calls == 0 {
		t.first, t.last = at, at
	}
	t.calls++
	t.first, t.last = min(t.first, at), max(t.last, at)
}

// about is what is known of a client beside its name.
type about struct {
	position float64 // in the order of the version; unknownPosition for several clients in one
	exempt   bool
	software string
	network  int64 // a keyed hash, 0 if unknown
}

const unknownPosition = -1

// row is an entry as it is written.
type row struct {
	entry
	tally
	about
}

// counter counts the calls of an entry.
type counter struct {
	tally
	about
	new bool // the client was first seen today
}

// buffer counts calls until they are written. Its size is bounded. Clients that
// do not fit are counted together. If even that does not fit, which takes days
// without the database, calls are lost.
type buffer struct {
	seed     maphash.Seed
	shards   [shards]shard // by client
	others   shard
	networks networks
	lost     struct {
		sync.Mutex
		tally
	}
}

// shard holds some of the entries under one lock. An entry stays until its hour
// is over, so that a client's next call in that hour allocates nothing. Clients
// first seen today get at most half of the room, so that a flood of new names
// leaves room for the others.
type shard struct {
	sync.Mutex
	entries map[entry]*counter
	most    int
	fresh   int              // entries of clients first seen today
	seen    map[uint64]int64 // by the name's hash: the day on which a client was first seen
}

func newBuffer(perShard, others int) *buffer {
	b := &buffer{seed: maphash.MakeSeed(), others: shard{entries: map[entry]*counter{}, most: others}}
	b.networks.seed = b.seed
	for i := range b.shards {
		b.shards[i] = shard{entries: map[entry]*counter{}, seen: map[uint64]int64{}, most: perShard}
	}
	return b
}

// observe counts a call under its client's name, or else under its network's, or
// else under that of all other clients.
func (b *buffer) observe(e entry, at int64, event *event.Event, key *hashKey) {
	hash := maphash.String(b.seed, e.client)
	s := &b.shards[hash%shards]
	if s.again(e, at) {
		return
	}
	who := about{position: event.Caller.Identity().Position(e.version), exempt: event.Exempt, software: event.Caller.Agent, network: key.network(event.Caller.Addr)}
	if b.admit(s, hash, e.client, who.network, at) && s.add(e, at, who, hash) {
		return
	}
	e.finding.Param, who.position = "", unknownPosition
	if who.network != 0 {
		e.client = networkName(who.network)
		hash = maphash.String(b.seed, e.client)
		if b.shards[hash%shards].add(e, at, who, hash) {
			return
		}
	}
	b.addOther(e, at)
}

func (b *buffer) addOther(e entry, at int64) {
	e.client, e.finding.Param = otherClients, ""
	if b.others.add(e, at, about{position: unknownPosition}, 0) {
		return
	}
	b.lost.Lock()
	b.lost.add(at)
	b.lost.Unlock()
}

// again counts a call for which there is an entry.
func (s *shard) again(e entry, at int64) bool {
	s.Lock()
	defer s.Unlock()
	c := s.entries[e]
	if c == nil {
		return false
	}
	c.tally.add(at)
	return true
}

// admit reports whether a client may have an entry of its own: it is known to the
// operator, was seen before, or its network may add one more.
func (b *buffer) admit(s *shard, hash uint64, client string, network, at int64) bool {
	if known(client) {
		return true
	}
	s.Lock()
	_, seen := s.seen[hash]
	s.Unlock()
	return seen || network == 0 || b.networks.admit(network, at/day)
}

// add counts a call, and makes an entry for it if there is room.
func (s *shard) add(e entry, at int64, who about, hash uint64) bool {
	s.Lock()
	defer s.Unlock()
	c := s.entries[e]
	if c == nil {
		first, seen := s.seen[hash]
		c = &counter{about: who, new: !known(e.client) && (!seen || first == at/day)}
		if len(s.entries) >= s.most || c.new && s.seen != nil && s.fresh >= (s.most+1)/2 ||
			!printable(e.client, maxClientText) || !printable(e.finding.Param, maxParamText) || !printable(who.software, maxClientText) {
			return false
		}
		e.client, e.finding.Param, c.software = strings.Clone(e.client), strings.Clone(e.finding.Param), strings.Clone(who.software)
		s.entries[e] = c
		if c.new {
			s.fresh++
		}
		if !seen && s.seen != nil && len(s.seen) < seenPerShard {
			s.seen[hash] = at / day
		}
	}
	c.tally.add(at)
	return true
}

// know marks a client as first seen on a day, as the database has it.
func (b *buffer) know(client string, first int64) {
	hash := maphash.String(b.seed, client)
	s := &b.shards[hash%shards]
	s.Lock()
	defer s.Unlock()
	if len(s.seen) < seenPerShard {
		s.seen[hash] = first / day
	}
}

// known reports whether a name is that of a client known to the operator.
func known(name string) bool { return strings.HasPrefix(name, string(caller.Known)+" ") }

// printable keeps out text that a database may refuse.
func printable(s string, most int) bool {
	return len(s) <= most && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' })
}

// take returns the counts since the last take, and drops the entries of past
// hours.
func (b *buffer) take(now int64) (rows []row, lost tally) {
	rows = b.others.take(rows, now)
	for i := range b.shards {
		rows = b.shards[i].take(rows, now)
	}
	b.lost.Lock()
	defer b.lost.Unlock()
	lost, b.lost.tally = b.lost.tally, tally{}
	return rows, lost
}

func (s *shard) take(rows []row, now int64) []row {
	s.Lock()
	defer s.Unlock()
	for e, c := range s.entries {
		if c.calls > 0 {
			rows = append(rows, row{e, c.tally, c.about})
			c.calls = 0
		} else if e.began != now-now%hour {
			delete(s.entries, e)
			if c.new {
				s.fresh--
			}
		}
	}
	return rows
}

// outcome is empty for an answer that is not counted: one that is neither a
// quote nor an error of a route that quotes.
func outcome(e *event.Event) string {
	switch {
	case e.Code == "" && e.Pair != nil:
		return served
	case e.Code == "" || !e.Quotes:
		return ""
	case e.Rehearsal:
		return rehearsed
	case e.Code == fault.VersionBrownout:
		return brownout
	case e.Code == fault.VersionRetired:
		return retired
	}
	return failed
}
