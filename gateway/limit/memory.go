package limit

import (
	"hash/maphash"
	"time"
)

const (
	// tick is the resolution of the clock. It is coarse enough that a minute of
	// ticks fits into 32 bits.
	tick        = 16 * time.Nanosecond
	windowTicks = int64(window / tick)
	_           = uint32(windowTicks)

	memoryBudget = 24 << 20
	shardCount   = 32
)

// clientBytes is the most memory that a client takes: its log with the times,
// its place in the map, and the overhead of the allocator.
func clientBytes(perMinute int) int { return 112 + 4*perMinute*9/8 }

// decision is the result for one request.
type decision struct {
	allowed   bool
	uncounted bool          // allowed because there was no room to count it
	used      int           // requests counted within the minute, this one excluded
	wait      time.Duration // until the oldest counted request leaves the minute; if refused, until one may pass
	at        int64         // tick at which memory counted it
}

// memory counts clients in this process. A hash that no client can predict
// spreads them over the shards.
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

func (m *memory) shard(c clientKey) *shard {
	return &m.shards[maphash.Comparable(m.seed, c)%shardCount]
}

// take counts a request of c at tick now, or refuses it.
func (m *memory) take(c clientKey, now int64) decision {
	s := m.shard(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.find(c, now)
	if log == nil {
		return decision{allowed: true, uncounted: true, wait: window}
	}
	// The clock was read before the lock was taken. Another request of this
	// client may have been counted in between, with a later time.
	now = max(now, log.last)
	log.forget(now)
	used := len(log.times)
	if used >= m.perMinute {
		return decision{used: used, wait: log.wait(now)}
	}
	log.add(now, m.perMinute)
	s.accepted(log)
	return decision{allowed: true, used: used, wait: log.wait(now), at: now}
}

// giveBack undoes the take of c that was counted at tick at.
func (m *memory) giveBack(c clientKey, at int64) {
	s := m.shard(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.logs[c]
	if log == nil {
		return
	}
	if log.remove(at); len(log.times) == 0 {
		s.drop(log)
	} else {
		s.accepted(log)
	}
}

func (m *memory) clients() int {
	n := 0
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		n += len(s.logs)
		s.mu.Unlock()
	}
	return n
}

func (m *memory) ceiling() int { return m.shards[0].room * shardCount }
