package limit

import (
	"hash/maphash"
	"time"
)

const (
	// tick is the resolution of the clock. It is coarse enough that a minute of
	// ticks fits into 31 bits, beside a mark.
	tick        = 32 * time.Nanosecond
	windowTicks = int64(window / tick)
	_           = int32(windowTicks)

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
	used      int           // of question.most, this request excluded
	wait      time.Duration // until the oldest counted request leaves the minute; if refused, until one may pass
	at        int64         // tick at which memory counted it
}

// memory counts clients in this process. A hash that no client can predict
// spreads them over the shards.
type memory struct {
	seed   maphash.Seed
	shards [shardCount]shard
}

func newMemory(perMinute int) *memory {
	m := &memory{seed: maphash.MakeSeed()}
	room := memoryBudget / clientBytes(perMinute) / shardCount
	for i := range m.shards {
		m.shards[i].init(room)
	}
	return m
}

func (m *memory) shard(c clientKey) *shard {
	return &m.shards[maphash.Comparable(m.seed, c)%shardCount]
}

// take counts a request at tick now, or refuses it.
func (m *memory) take(q question, now int64) decision {
	s := m.shard(q.client)
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.find(q, now)
	if log == nil {
		return decision{allowed: true, uncounted: true, wait: window}
	}
	// The clock was read before the lock was taken. Another request of this
	// client may have been counted in between, with a later time.
	now = max(now, log.last)
	log.forget(now)
	used := len(log.times)
	leaves := used - q.limit // which one has to leave before this may pass, if not negative
	if q.polled {
		polled, oldest := log.polled(half(q.limit))
		leaves = max(leaves, oldest)
		used = max(polled, used-(q.limit-half(q.limit)))
	}
	if leaves >= 0 {
		return decision{used: used, wait: log.wait(leaves, now)}
	}
	log.add(now, q)
	s.accepted(log)
	return decision{allowed: true, used: used, wait: log.wait(0, now), at: now}
}

// giveBack undoes the take of a request that was counted at tick at.
func (m *memory) giveBack(q question, at int64) {
	s := m.shard(q.client)
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.logs[q.client]
	if log == nil {
		return
	}
	if log.remove(stamp(at, q.polled)); len(log.times) == 0 {
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
