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
	shardCount   = 32

	blockTimes = 4
)

// budgetBytes is the most memory that one budget takes: its entry, its times but one in
// blocks that may begin in the middle of one, of both an eighth spare, and its place
// in the index, of which a quarter is in use when that has just grown.
func budgetBytes(perMinute int) int {
	blocks := (blockTimes - 1 + perMinute - 1 + blockTimes - 1) / blockTimes
	return (40+blocks*4*(blockTimes+1))*9/8 + 4*4
}

// decision is the result for one request.
type decision struct {
	allowed   bool
	uncounted bool          // allowed because there was no room to count it
	used      int           // of the limit, this request excluded
	wait      time.Duration // until the oldest counted request leaves the minute; if refused, until one may pass
	at        int64         // tick at which memory counted it, or let it pass
	memory    bool          // memory has counted it
	stamp     int64         // microseconds at which Redis counted it; 0 if it has not
}

// memory counts in this process. A hash that no client can predict spreads the
// budgets over the shards. A shard holds no pointers, however many clients there are,
// so that the garbage collector has nothing to follow.
type memory struct {
	seed   maphash.Seed
	shards [shardCount]shard
}

func newMemory(perMinute int) *memory {
	m := &memory{seed: maphash.MakeSeed()}
	for i := range m.shards {
		s := &m.shards[i]
		s.seed, s.room = m.seed, memoryBudget/budgetBytes(perMinute)/shardCount
		s.index = make([]uint32, 8)
		s.entries = []entry{{}, {prev: seenAgain, next: seenAgain}}
		s.blocks = make([]block, 1)
	}
	return m
}

func (m *memory) shard(q question) *shard {
	return &m.shards[maphash.Comparable(m.seed, q.budget())%shardCount]
}

func (m *memory) budgets() int {
	n := 0
	for i := range m.shards {
		m.shards[i].mu.Lock()
		n += m.shards[i].budgets
		m.shards[i].mu.Unlock()
	}
	return n
}

func (m *memory) ceiling() int { return m.shards[0].room * shardCount }

// shard holds some of the budgets under one lock. Each is in one of two circular
// lists, sorted by the time of its last accepted request. Entries and blocks refer to
// one another by their index.
type shard struct {
	mu         sync.Mutex
	seed       maphash.Seed
	index      []uint32 // a hash table of entries, of 2^n places: 0 is a free one, a collision takes the next
	budgets    int
	entries    []entry // the first two are the heads of the lists
	blocks     []block // the first is not used, as 0 means none
	room       int     // most budgets it will hold
	freeEntry  uint32  // the first of those not in use, which are linked by next
	freeBlocks uint32
}

// The heads of the lists: budgets with one request within the minute, and those
// with more.
const (
	seenOnce  = 0
	seenAgain = 1
)

// entry is a budget. All its times lie within a minute before last.
type entry struct {
	key            clientKey
	last           int64  // tick of the newest request ever counted
	prev, next     uint32 // neighbours in a list
	oldest, newest uint32 // the blocks of its first and last time but the latest
	latest         uint32 // the last of its times, which most clients need no block for
	skipped, used  uint16 // times of the oldest block that have left the minute, and those that count
}

// block is a piece of an entry's log: the low 32 bits of ticks.
type block struct {
	times [blockTimes]uint32
	next  uint32 // the block of later times
}

// take counts a request, or refuses it. It reads the clock, in ticks, only when it has
// the lock: a request that waited for the lock is counted when it is accepted, and not
// earlier.
func (m *memory) take(q question, clock func() int64) decision {
	s := m.shard(q)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := clock()
	i, ok := s.find(q.budget(), now)
	if !ok {
		return decision{allowed: true, uncounted: true, wait: window, at: now}
	}
	e := &s.entries[i]
	now = max(now, e.last) // in case that a clock goes back
	for e.used > 0 && s.age(e, 0, now) >= windowTicks {
		s.forgetOldest(e)
	}
	used := int(e.used)
	if leaves := used - q.limit; leaves >= 0 { // the one that has to leave before this may pass
		return decision{used: used, wait: s.wait(e, leaves, now)}
	}
	s.add(e, now)
	s.accepted(i)
	return decision{allowed: true, used: used, wait: s.wait(e, 0, now), at: now, memory: true}
}

// giveBack undoes the take of a request that was counted at tick at.
func (m *memory) giveBack(q question, at int64) {
	s := m.shard(q)
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.index[s.place(q.budget())]
	if i == 0 {
		return
	}
	e := &s.entries[i]
	k := int(e.used) - 1
	for k >= 0 && *s.time(e, k) != uint32(at) {
		k--
	}
	for ; k > 0; k-- { // the times before it move up
		*s.time(e, k) = *s.time(e, k-1)
	}
	if k == 0 {
		s.forgetOldest(e)
	}
	if e.used == 0 {
		s.drop(i)
	} else {
		s.accepted(i)
	}
}

// time is where an entry keeps its request k, counted from the oldest.
func (s *shard) time(e *entry, k int) *uint32 {
	if k == int(e.used)-1 {
		return &e.latest
	}
	k += int(e.skipped)
	b := &s.blocks[e.oldest]
	for ; k >= blockTimes; k -= blockTimes {
		b = &s.blocks[b.next]
	}
	return &b.times[k]
}

// age is how many ticks before now request k was counted. now must not be before
// last.
func (s *shard) age(e *entry, k int, now int64) int64 {
	return now - e.last + int64(uint32(e.last)-*s.time(e, k))
}

// wait is the time until request k leaves the minute.
func (s *shard) wait(e *entry, k int, now int64) time.Duration {
	return time.Duration(windowTicks-s.age(e, k, now)) * tick
}

func (s *shard) add(e *entry, now int64) {
	if e.used > 0 {
		s.append(e, e.latest)
	}
	e.latest = uint32(now)
	e.used++
	e.last = now
}

// append puts a time into the blocks of an entry, after those that are there.
func (s *shard) append(e *entry, time uint32) {
	inBlocks := int(e.used) - 1
	slot := (int(e.skipped) + inBlocks) % blockTimes
	if slot == 0 {
		b := s.freeBlocks
		if b != 0 {
			s.freeBlocks = s.blocks[b].next
		} else {
			b = uint32(len(s.blocks))
			s.blocks = append(withRoom(s.blocks), block{})
		}
		if inBlocks == 0 {
			e.oldest = b
		} else {
			s.blocks[e.newest].next = b
		}
		e.newest = b
	}
	s.blocks[e.newest].times[slot] = time
}

// forgetOldest drops the oldest time, and its block with its last one. An entry of one
// time has no block.
func (s *shard) forgetOldest(e *entry) {
	e.used--
	if e.used == 0 {
		return
	}
	e.skipped++
	if e.skipped == blockTimes || e.used == 1 {
		b := e.oldest
		e.oldest = s.blocks[b].next
		e.skipped = 0
		s.blocks[b].next = s.freeBlocks
		s.freeBlocks = b
	}
}

// withRoom makes room for one more, and little beyond.
func withRoom[T any](all []T) []T {
	if len(all) < cap(all) {
		return all
	}
	return append(make([]T, 0, len(all)+len(all)/8+8), all...)
}

// find returns the entry of a budget, and makes one for a new client. It returns
// false if the shard is full of budgets used more than once within the minute.
func (s *shard) find(key clientKey, now int64) (i uint32, ok bool) {
	// A request adds at most one budget, so one of each list would be enough. With some
	// more, a crowd that has left is soon forgotten.
	for _, list := range [...]uint32{seenOnce, seenAgain} {
		for range 8 {
			oldest := s.entries[list].next
			if oldest == list || now-s.entries[oldest].last < windowTicks {
				break
			}
			s.drop(oldest)
		}
	}
	if len(s.entries) > fewEntries && 4*s.budgets < len(s.entries) {
		s.shrink()
	}
	if i = s.index[s.place(key)]; i != 0 {
		return i, true
	}
	if s.budgets >= s.room {
		oldest := s.entries[seenOnce].next
		if oldest == seenOnce {
			return 0, false
		}
		s.drop(oldest)
	}
	if i = s.freeEntry; i != 0 {
		s.freeEntry = s.entries[i].next
	} else {
		i = uint32(len(s.entries))
		s.entries = append(withRoom(s.entries), entry{})
	}
	s.entries[i] = entry{key: key, last: now, prev: i, next: i}
	if s.budgets++; 2*s.budgets > len(s.index) {
		was := s.index
		s.index = make([]uint32, 2*len(was))
		for _, other := range was {
			if other != 0 {
				s.index[s.place(s.entries[other].key)] = other
			}
		}
	}
	s.index[s.place(key)] = i
	return i, true
}

// fewEntries are kept, however few are in use.
const fewEntries = 256

// shrink gives back what a crowd needed that has left. Budgets keep their order and
// their times.
func (s *shard) shrink() {
	entries, blocks := s.entries, s.blocks
	places := 8
	for places < 2*(s.budgets+1) {
		places *= 2
	}
	s.index = make([]uint32, places)
	s.entries = append(make([]entry, 0, 2*s.budgets+2), entry{}, entry{prev: seenAgain, next: seenAgain})
	s.blocks = make([]block, 1)
	s.freeEntry, s.freeBlocks = 0, 0
	for _, list := range [...]uint32{seenOnce, seenAgain} {
		for old := entries[list].next; old != list; old = entries[old].next {
			e, i := entries[old], uint32(len(s.entries))
			e.prev, e.next = i, i
			if e.used > 1 {
				s.moveBlocks(&e, blocks)
			}
			s.entries = append(s.entries, e)
			s.index[s.place(e.key)] = i
			s.accepted(i)
		}
	}
}

// moveBlocks copies the blocks of an entry from others to the end of ours.
func (s *shard) moveBlocks(e *entry, from []block) {
	b, last := e.oldest, e.newest
	e.oldest = uint32(len(s.blocks))
	for ; b != last; b = from[b].next {
		s.blocks = append(s.blocks, block{from[b].times, uint32(len(s.blocks) + 1)})
	}
	e.newest = uint32(len(s.blocks))
	s.blocks = append(s.blocks, block{times: from[last].times})
}

// home is where a key belongs in the index, and place where it is or may be put.
func (s *shard) home(key clientKey) int {
	return int(maphash.Comparable(s.seed, key)/shardCount) & (len(s.index) - 1)
}

func (s *shard) place(key clientKey) int {
	at := s.home(key)
	for i := s.index[at]; i != 0 && s.entries[i].key != key; i = s.index[at] {
		at = (at + 1) & (len(s.index) - 1)
	}
	return at
}

// forget takes a key out of the index. Those after it move up, if they may, so that
// place still finds them.
func (s *shard) forget(key clientKey) {
	free, mask := s.place(key), len(s.index)-1
	for at := (free + 1) & mask; s.index[at] != 0; at = (at + 1) & mask {
		if home := s.home(s.entries[s.index[at]].key); (at-home)&mask >= (at-free)&mask {
			s.index[free], free = s.index[at], at
		}
	}
	s.index[free] = 0
	s.budgets--
}

// accepted moves an entry to the end of its list.
func (s *shard) accepted(i uint32) {
	list := uint32(seenOnce)
	if s.entries[i].used > 1 {
		list = seenAgain
	}
	s.unlink(i)
	before := s.entries[list].prev
	s.entries[i].prev, s.entries[i].next = before, list
	s.entries[before].next, s.entries[list].prev = i, i
}

func (s *shard) drop(i uint32) {
	e := &s.entries[i]
	s.forget(e.key)
	if e.used > 1 {
		s.blocks[e.newest].next = s.freeBlocks
		s.freeBlocks = e.oldest
	}
	s.unlink(i)
	e.next, s.freeEntry = s.freeEntry, i
}

func (s *shard) unlink(i uint32) {
	e := &s.entries[i]
	s.entries[e.prev].next, s.entries[e.next].prev = e.next, e.prev
}
