package limit

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// maxSources is how many addresses a minute are counted exactly.
	maxSources = 131_072
	// shardCount is how many locks they are spread over. A shard is small enough to be
	// searched while a quote waits.
	shardCount = 256
)

// budget counts an exact rolling minute per source: it keeps the times of the accepted
// requests. If there are too many addresses, one that was seen longest ago is forgotten. The
// holder of an API key never is.
type budget struct {
	now    func() time.Time
	start  time.Time
	max    int          // addresses that are held, besides the holders of API keys
	seed   maphash.Seed // so that no one can choose addresses that share a shard
	shards [shardCount]shard
}

// newBudget makes a budget for a number of addresses per minute. Each shard has room for a
// quarter more than its part, as a hash does not spread them evenly.
func newBudget(addresses int, now func() time.Time) *budget {
	b := &budget{now: now, start: now(), seed: maphash.MakeSeed()}
	perShard := addresses / shardCount * 5 / 4
	for i := range b.shards {
		b.shards[i] = shard{max: perShard, addresses: map[id]history{}, holders: map[id]history{}}
	}
	b.max = perShard * shardCount
	return b
}

// allow counts a request, or refuses it.
func (b *budget) allow(from id, limit int) decision {
	s := b.shard(from)
	s.mu.Lock()
	defer s.mu.Unlock()
	// The clock is read under the lock: a request that waited is counted when it is accepted.
	return s.allow(from, limit, b.now().Sub(b.start))
}

// giveBack undoes a request that was counted at that time.
func (b *budget) giveBack(from id, at micros) {
	s := b.shard(from)
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.sources(from)[from]
	if i := slices.Index(h.accepted, at); i >= 0 {
		h.accepted = slices.Delete(h.accepted, i, i+1)
		s.sources(from)[from] = h
	}
}

// size is how many sources are held, and how many were forgotten within their minute.
func (b *budget) size() (held int, forgotten uint64) {
	for i := range b.shards {
		s := &b.shards[i]
		s.mu.Lock()
		s.sweep(b.now().Sub(b.start))
		held += len(s.addresses) + len(s.holders)
		forgotten += s.forgotten
		s.mu.Unlock()
	}
	return held, forgotten
}

func (b *budget) shard(from id) *shard {
	return &b.shards[maphash.Comparable(b.seed, from)%shardCount]
}

// shard is a part of the sources.
type shard struct {
	mu        sync.Mutex
	max       int // addresses
	addresses map[id]history
	holders   map[id]history // of API keys
	swept     time.Duration
	forgotten uint64 // addresses within their minute
}

// history is what is known of a source.
type history struct {
	accepted []micros      // within the last minute when it was seen, in order
	seen     time.Duration // when it last asked, since the start
}

// micros is a time since the start in microseconds, which takes half the memory of a
// Duration. It wraps around every 71 minutes, but sweep leaves none of more than three minutes.
type micros uint32

func microsOf(t time.Duration) micros { return micros(t / time.Microsecond) }

func (now micros) since(at micros) time.Duration { return time.Duration(now-at) * time.Microsecond }

// decision is the result for one request.
type decision struct {
	allowed bool
	used    int           // requests counted before this one
	wait    time.Duration // until the oldest counted request leaves the minute; if refused, until one may pass
	at      micros        // when memory decided it
}

func (s *shard) allow(from id, limit int, now time.Duration) decision {
	s.sweep(now)
	sources := s.sources(from)
	h, known := sources[from]
	if !known && from.kind != holder && len(s.addresses) >= s.max {
		s.forgetOldest(now)
	}
	h.seen = now
	at := microsOf(now)
	h.accepted = slices.DeleteFunc(h.accepted, func(accepted micros) bool { return at.since(accepted) >= window })
	d := decide(h.accepted, limit, at)
	if d.allowed {
		h.accepted = append(h.accepted, at)
	}
	sources[from] = h
	return d
}

// decide says whether one more request may pass after those that were accepted within the
// minute.
func decide(accepted []micros, limit int, now micros) decision {
	used := len(accepted)
	if used == 0 {
		return decision{allowed: true, wait: window, at: now}
	}
	leaves := accepted[max(used-limit, 0)] // not the oldest if the limit was lowered
	return decision{allowed: used < limit, used: used, wait: window - now.since(leaves), at: now}
}

// sources is the map that has a source.
func (s *shard) sources(from id) map[id]history {
	if from.kind == holder {
		return s.holders
	}
	return s.addresses
}

// sweep drops, once a minute, the sources that were not seen for a minute.
func (s *shard) sweep(now time.Duration) {
	if now-s.swept < window {
		return
	}
	s.swept = now
	expired := func(_ id, h history) bool { return now-h.seen >= window }
	maps.DeleteFunc(s.addresses, expired)
	maps.DeleteFunc(s.holders, expired)
}

// forgetOldest drops an address that was seen longest ago.
func (s *shard) forgetOldest(now time.Duration) {
	var oldest id
	seen := now
	for from, h := range s.addresses {
		if h.seen <= seen {
			oldest = from
			seen = h.seen
		}
	}
	delete(s.addresses, oldest)
	if now-seen < window {
		s.forgotten++
	}
}
