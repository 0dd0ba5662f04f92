package limit

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// maxSources is how many sources a minute are counted exactly.
	maxSources = 131_072
	shardCount = 16
)

// budget counts an exact rolling minute per source: it keeps the times of the accepted
// requests. If there are too many sources, the one seen longest ago is forgotten, but
// never the holder of an API key.
type budget struct {
	now       func() time.Time
	start     time.Time
	seed      maphash.Seed // so that nobody can choose addresses that share a shard
	shards    [shardCount]shard
	room      int           // for sources in a shard, beside the holders of API keys
	forgotten atomic.Uint64 // within their minute
}

// shard holds some of the sources under one lock.
type shard struct {
	mu        sync.Mutex
	addresses *simplelru.LRU[id, times]
	holders   map[id]times // of API keys
}

// times are those of the accepted requests of a source, since the start, in order.
type times []time.Duration

// newBudget makes a budget for so many sources. A hash spreads them a little unevenly, so
// each shard has room for a sixteenth more.
func newBudget(sources int, now func() time.Time) *budget {
	size := max(sources/shardCount, 1)
	b := &budget{now: now, start: now(), seed: maphash.MakeSeed(), room: size + size/16}
	for i := range b.shards {
		addresses, err := simplelru.NewLRU[id, times](b.room, nil)
		if err != nil {
			panic(err) // only for a size below 1
		}
		b.shards[i] = shard{addresses: addresses, holders: map[id]times{}}
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
	b.forgetIdle(s, now)
	accepted := s.get(from).since(now - window)
	d := decide(accepted, limit, now)
	if d.allowed {
		accepted = append(accepted, now)
	}
	b.put(s, from, accepted, now)
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
		b.put(s, from, slices.Delete(accepted, i, i+1), at)
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

func (s *shard) get(from id) times {
	if from.kind == apiKey {
		return s.holders[from]
	}
	accepted, _ := s.addresses.Get(from)
	return accepted
}

// put keeps the times of a source. A new one may take the place of another.
func (b *budget) put(s *shard, from id, accepted times, now time.Duration) {
	if from.kind == apiKey {
		if _, known := s.holders[from]; !known { // so that keys that are no longer used do not add up
			maps.DeleteFunc(s.holders, func(_ id, t times) bool { return t.idle(now) })
		}
		s.holders[from] = accepted
		return
	}
	if _, last, _ := s.addresses.GetOldest(); s.addresses.Add(from, accepted) && !last.idle(now) {
		b.forgotten.Add(1)
	}
}

// idle reports whether no request of the minute before now was accepted.
func (t times) idle(now time.Duration) bool {
	return len(t) == 0 || t[len(t)-1] <= now-window
}

// forgetIdle drops sources whose minute has passed. A request adds at most one, so with
// two a crowd that has left is soon forgotten.
func (b *budget) forgetIdle(s *shard, now time.Duration) {
	for range 2 {
		if _, oldest, ok := s.addresses.GetOldest(); !ok || !oldest.idle(now) {
			return
		}
		s.addresses.RemoveOldest()
	}
}

// sources is how many are held, and ceiling how many can be, beside the holders of keys.
func (b *budget) sources() int {
	held := 0
	for i := range b.shards {
		s := &b.shards[i]
		s.mu.Lock()
		held += s.addresses.Len() + len(s.holders)
		s.mu.Unlock()
	}
	return held
}

func (b *budget) ceiling() int { return b.room * shardCount }
