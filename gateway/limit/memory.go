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

// clientBytes is what a client can come to: its slot, its place in the index,
// and its times, with what the allocator adds.
func clientBytes(perMinute int) int { return 112 + 4*perMinute*9/8 }

// verdict is the answer to one request.
type verdict struct {
	allowed   bool
	uncounted bool          // allowed because there was no room to count it
	used      int           // requests counted within the minute, this one excluded
	wait      time.Duration // until the oldest counted request leaves the minute; if refused, until one may pass
	at        int64         // tick under which memory booked it
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
	s.expire(now)
	i, ok := s.index[c]
	if !ok {
		if i, ok = s.admit(c, now); !ok {
			return verdict{allowed: true, uncounted: true, wait: window}
		}
	}
	k := &s.slots[i]
	// The clock was read before the lock was had: another request of this
	// client may have come in between.
	now = max(now, k.last)
	k.forget(now)
	used := len(k.times)
	if used >= m.perMinute {
		return verdict{used: used, wait: k.wait(now)}
	}
	k.add(now, m.perMinute)
	s.file(i)
	return verdict{allowed: true, used: used, wait: k.wait(now), at: now}
}

// giveBack undoes the take of c that was booked at tick at.
func (m *memory) giveBack(c client, at int64) {
	s := m.shard(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.index[c]
	if !ok {
		return
	}
	if s.slots[i].remove(at); len(s.slots[i].times) == 0 {
		s.drop(i)
	} else {
		s.file(i)
	}
}

func (m *memory) clients() int {
	n := 0
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		n += len(s.index)
		s.mu.Unlock()
	}
	return n
}

func (m *memory) ceiling() int { return m.shards[0].room * shardCount }
