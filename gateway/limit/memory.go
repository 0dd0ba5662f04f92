package limit

import (
	"hash/maphash"
	"time"
)

const (
	// tick is the resolution of the clock: fine enough that nobody can tell,
	// coarse enough that the minute fits the 32 bits of a log entry.
	tick        = 16 * time.Nanosecond
	windowTicks = int64(window / tick)
	_           = uint32(windowTicks)

	memoryBudget = 24 << 20
	shardCount   = 32
)

// clientBytes is the most that a client takes: its entry, its place in the map,
// and its times, with what the allocator adds.
func clientBytes(perMinute int) int { return 112 + 4*perMinute*9/8 }

// verdict is the answer to one request.
type verdict struct {
	allowed   bool
	uncounted bool          // allowed because there was no room to count it
	used      int           // requests counted within the minute, this one excluded
	wait      time.Duration // until the oldest counted request leaves the minute; if refused, until one may pass
	at        int64         // tick at which memory counted it
}

// memory counts clients in this process, spread over shards by a hash no client
// can predict.
type memory struct {
	perMinute int
	seed      maphash.Seed
	shards    [shardCount]shard
}

func newMemory(perMinute int) *memory {
	m := &memory{perMinute: perMinute, seed: maphash.MakeSeed()}
	room := memoryBudget / clientBytes(perMinute) / shardCount
	for i := range m.shards {
		m.shards[i].init(room)
	}
	return m
}

func (m *memory) shard(c client) *shard {
	return &m.shards[maphash.Comparable(m.seed, c)%shardCount]
}

// take counts a request of c at tick now, or refuses it.
func (m *memory) take(c client, now int64) verdict {
	s := m.shard(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.find(c, now)
	if e == nil {
		return verdict{allowed: true, uncounted: true, wait: window}
	}
	// The clock was read before the lock was taken: another request of this
	// client may have come in between.
	now = max(now, e.last)
	e.forget(now)
	used := len(e.times)
	if used >= m.perMinute {
		return verdict{used: used, wait: e.wait(now)}
	}
	e.add(now, m.perMinute)
	s.accepted(e)
	return verdict{allowed: true, used: used, wait: e.wait(now), at: now}
}

// giveBack undoes the take of c that was counted at tick at.
func (m *memory) giveBack(c client, at int64) {
	s := m.shard(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[c]
	if e == nil {
		return
	}
	if e.remove(at); len(e.times) == 0 {
		s.drop(e)
	} else {
		s.accepted(e)
	}
}

func (m *memory) clients() int {
	n := 0
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		n += len(s.entries)
		s.mu.Unlock()
	}
	return n
}

func (m *memory) ceiling() int { return m.shards[0].room * shardCount }
