package limit

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxSources is how many sources a minute are counted exactly.
	maxSources = 65_536
	shardCount = 16
)

// budget counts an exact rolling minute per source: it keeps the times of the accepted
// requests. If there are too many sources in a minute, any of them is forgotten, but
// never the holder of an API key.
type budget struct {
	now       func() time.Time
	start     time.Time
	seed      maphash.Seed // so that nobody can choose addresses that share a shard
	shards    [shardCount]shard
	room      int           // for sources in a map of a shard, beside the holders of API keys
	forgotten atomic.Uint64 // within their minute
}

// shard holds some of the sources under one lock, in two maps. Each minute the current
// one becomes the previous one, whose sources had their last request more than a minute
// before they are dropped with it.
type shard struct {
	mu                sync.Mutex
	turned            time.Duration // when the current map was begun
	current, previous map[id]times
}

// times are those of the accepted requests of a source, since the start, in order.
type times []time.Duration

// newBudget makes a budget for so many sources a minute. A hash spreads them a little
// unevenly, so each shard has room for a sixteenth more.
func newBudget(sources int, now func() time.Time) *budget {
	size := max(sources/shardCount, 1)
	b := &budget{now: now, start: now(), seed: maphash.MakeSeed(), room: size + size/16}
	for i := range b.shards {
		b.shards[i].current = make(map[id]times)
	}
	return b
}

// decision is the result for one request.
type decision struct {
	allowed bool
	used    int           // requests counted before this one
	wait    time.Duration // until the oldest counted request leaves the minute; if refused, until one may pass
	at      time.Duration // when memory counted it
}

// take counts a request, or refuses it. It reads the clock when it has the lock: a
// request that waited for the lock is counted when it is accepted, and not earlier.
func (b *budget) take(from id, limit int) decision {
	s := b.shard(from)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := b.now().Sub(b.start)
	s.turn(now)
	accepted := s.get(from).since(now - window)
	d := decide(accepted, limit, now)
	if d.allowed {
		accepted = append(accepted, now)
	}
	b.put(s, from, accepted)
	return d
}

// decide says whether one more request may pass beside those that were accepted within
// the minute.
func decide(accepted times, limit int, now time.Duration) decision {
	used := len(accepted)
	if used < limit {
		oldest := now
		if used > 0 {
			oldest = accepted[0]
		}
		return decision{allowed: true, used: used, wait: oldest + window - now, at: now}
	}
	leaves := accepted[used-limit] // has to leave the minute first; not the oldest if the limit was lowered
	return decision{used: used, wait: leaves + window - now}
}

// giveBack undoes the take of a request that was counted at that time.
func (b *budget) giveBack(from id, at time.Duration) {
	s := b.shard(from)
	s.mu.Lock()
	defer s.mu.Unlock()
	accepted := s.get(from)
	if i := slices.Index(accepted, at); i >= 0 {
		b.put(s, from, slices.Delete(accepted, i, i+1))
	}
}

// since drops the times that are not after a given one.
func (t times) since(past time.Duration) times {
	gone := 0
	for gone < len(t) && t[gone] <= past {
		gone++
	}
	return slices.Delete(t, 0, gone)
}

func (b *budget) shard(from id) *shard {
	return &b.shards[maphash.Comparable(b.seed, from)%shardCount]
}

// turn begins a new map when the current one is a minute old.
func (s *shard) turn(now time.Duration) {
	if now-s.turned < window {
		return
	}
	s.previous = s.current
	s.current = make(map[id]times)
	s.turned = now
}

func (s *shard) get(from id) times {
	if accepted, ok := s.current[from]; ok {
		return accepted
	}
	return s.previous[from]
}

// put keeps the times of a source. A new one may take the place of another.
func (b *budget) put(s *shard, from id, accepted times) {
	if _, known := s.current[from]; !known {
		delete(s.previous, from)
		if len(s.current) >= b.room && from.kind != apiKey {
			b.forgetAny(s)
		}
	}
	s.current[from] = accepted
}

func (b *budget) forgetAny(s *shard) {
	for from := range s.current {
		if from.kind != apiKey {
			delete(s.current, from)
			b.forgotten.Add(1)
			return
		}
	}
}

// sources is how many asked in this minute or in the one before, whichever is more. ceiling
// is how many are counted in a minute, beside the holders of keys.
func (b *budget) sources() int {
	held := 0
	for i := range b.shards {
		s := &b.shards[i]
		s.mu.Lock()
		held += max(len(s.current), len(s.previous))
		s.mu.Unlock()
	}
	return held
}

func (b *budget) ceiling() int { return b.room * shardCount }
