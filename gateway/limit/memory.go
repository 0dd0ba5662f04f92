package limit

import (
	"hash/maphash"
	"sync"
	"time"
)

const (
	// tick is the resolution of the clock. A minute of ticks fits into 32 bits.
	tick        = 32 * time.Nanosecond
	windowTicks = int64(window / tick)
	_           = uint32(windowTicks)

	memoryBudget = 24 << 20
	largeBudget  = 8 << 20 // more, for API keys whose limit is above the configured one
	shardCount   = 32
)

// budgetBytes is the most memory that one budget takes: its entry and its times, of
// which a quarter may be spare, and its place in the map.
func budgetBytes(perMinute int) int { return (32+4*perMinute)*5/4 + 40 }

// decision is the result for one request.
type decision struct {
	allowed   bool
	uncounted bool          // allowed because there was no room to count it
	used      int           // of the limit, this request excluded
	wait      time.Duration // until the oldest counted request leaves the minute; if refused, until one may pass
	at        int64         // tick at which memory counted it
}

// memory counts in this process. A hash that no client can predict spreads the
// budgets over the shards. A shard holds no pointers, however many clients there are,
// so that the garbage collector has nothing to follow.
type memory struct {
	seed      maphash.Seed
	perMinute int
	shards    [shardCount]shard
	large     shard // of budgets above perMinute
}

func newMemory(perMinute int) *memory {
	m := &memory{seed: maphash.MakeSeed(), perMinute: perMinute}
	for i := range m.shards {
		m.shards[i].init(perMinute, memoryBudget/budgetBytes(perMinute)/shardCount)
	}
	m.large.init(MaxPerMinute, largeBudget/budgetBytes(MaxPerMinute))
	return m
}

func (m *memory) shard(q question) *shard {
	if q.limit > m.perMinute {
		return &m.large
	}
	return &m.shards[maphash.Comparable(m.seed, q.budget())%shardCount]
}

// take counts a request at tick now, or refuses it.
func (m *memory) take(q question, now int64) decision { return m.shard(q).take(q, now) }

// giveBack undoes the take of a request that was counted at tick at.
func (m *memory) giveBack(q question, at int64) { m.shard(q).giveBack(q.budget(), at) }

func (m *memory) budgets() int {
	n := m.large.size()
	for i := range m.shards {
		n += m.shards[i].size()
	}
	return n
}

func (m *memory) ceiling() int { return m.shards[0].room * shardCount }

// shard holds some of the budgets under one lock. Each is in one of two circular
// lists, sorted by the time of its last accepted request. Entries refer to one
// another by their index. The first two are the heads of the lists.
type shard struct {
	mu      sync.Mutex
	index   map[clientKey]uint32
	entries []entry
	times   []uint32 // of entry i: width of them, from i*width on
	width   int
	room    int    // most budgets it will hold
	free    uint32 // the first of the unused entries, which are linked by next; 0 for none
}

// The heads of the lists: budgets with one request within the minute, and those
// with more.
const (
	seenOnce  = 0
	seenAgain = 1
)

// entry is a budget. Its times are a ring, and all lie within a minute before last.
type entry struct {
	key        clientKey
	last       int64  // tick of the newest request ever counted
	prev, next uint32 // neighbours in a list
	first, n   uint16 // where the ring begins, and how many times it has
}

func (s *shard) init(width, room int) {
	s.width, s.room = width, room
	s.index = map[clientKey]uint32{}
	s.entries = []entry{{}, {prev: seenAgain, next: seenAgain}}
	s.times = make([]uint32, 2*width)
}

func (s *shard) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.index)
}

func (s *shard) take(q question, now int64) decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.find(q.budget(), now)
	if !ok {
		return decision{allowed: true, uncounted: true, wait: window}
	}
	e := &s.entries[i]
	// The clock was read before the lock was taken. Another request of this
	// client may have been counted in between, with a later time.
	now = max(now, e.last)
	for e.n > 0 && s.age(i, 0, now) >= windowTicks {
		e.first, e.n = uint16((int(e.first)+1)%s.width), e.n-1
	}
	used := int(e.n)
	if leaves := used - q.limit; leaves >= 0 { // the one that has to leave before this may pass
		return decision{used: used, wait: s.wait(i, leaves, now)}
	}
	e.n++
	e.last = now
	*s.time(i, used) = uint32(now)
	s.accepted(i)
	return decision{allowed: true, used: used, wait: s.wait(i, 0, now), at: now}
}

func (s *shard) giveBack(key clientKey, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.index[key]
	if !ok {
		return
	}
	e := &s.entries[i]
	for k := int(e.n) - 1; k >= 0; k-- {
		if *s.time(i, k) == uint32(at) {
			for ; k < int(e.n)-1; k++ {
				*s.time(i, k) = *s.time(i, k+1)
			}
			e.n--
			break
		}
	}
	if e.n == 0 {
		s.drop(i)
	} else {
		s.accepted(i)
	}
}

// time is where entry i keeps its request k, counted from the oldest: the low 32
// bits of its tick.
func (s *shard) time(i uint32, k int) *uint32 {
	return &s.times[int(i)*s.width+(int(s.entries[i].first)+k)%s.width]
}

// age is how many ticks before now request k was counted. now must not be before
// last.
func (s *shard) age(i uint32, k int, now int64) int64 {
	last := s.entries[i].last
	return now - last + int64(uint32(last)-*s.time(i, k))
}

// wait is the time until request k leaves the minute.
func (s *shard) wait(i uint32, k int, now int64) time.Duration {
	return time.Duration(windowTicks-s.age(i, k, now)) * tick
}

// find returns the entry of a budget, and makes one for a new client. It returns
// false if the shard is full of budgets used more than once within the minute.
func (s *shard) find(key clientKey, now int64) (i uint32, ok bool) {
	// One of each list is enough, as a request adds at most one budget.
	for _, list := range [...]uint32{seenOnce, seenAgain} {
		if oldest := s.entries[list].next; oldest != list && now-s.entries[oldest].last >= windowTicks {
			s.drop(oldest)
		}
	}
	if i, ok = s.index[key]; ok {
		return i, true
	}
	if len(s.index) >= s.room {
		oldest := s.entries[seenOnce].next
		if oldest == seenOnce {
			return 0, false
		}
		s.drop(oldest)
	}
	if i = s.free; i != 0 {
		s.free = s.entries[i].next
	} else {
		i = uint32(len(s.entries))
		s.entries = append(s.entries, entry{})
		s.times = append(s.times, make([]uint32, s.width)...)
	}
	s.entries[i] = entry{key: key, last: now, prev: i, next: i}
	s.index[key] = i
	return i, true
}

// accepted moves an entry to the end of its list.
func (s *shard) accepted(i uint32) {
	list := uint32(seenOnce)
	if s.entries[i].n > 1 {
		list = seenAgain
	}
	s.unlink(i)
	before := s.entries[list].prev
	s.entries[i].prev, s.entries[i].next = before, list
	s.entries[before].next, s.entries[list].prev = i, i
}

// drop makes an entry free for another budget.
func (s *shard) drop(i uint32) {
	delete(s.index, s.entries[i].key)
	s.unlink(i)
	s.entries[i].next, s.free = s.free, i
}

// unlink takes an entry out of its list.
func (s *shard) unlink(i uint32) {
	e := &s.entries[i]
	s.entries[e.prev].next, s.entries[e.next].prev = e.next, e.prev
}
