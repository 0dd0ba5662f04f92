package limit

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// maxSources is how many addresses a minute are counted exactly.
	maxSources = 131_072
	// shardCount is how many locks they are spread over.
	shardCount = 16
	// expiredPerCall is how many expired addresses a call drops: more than it may add.
	expiredPerCall = 2
	// expiredPerTrim is how many are dropped under one lock when nobody waits for it.
	expiredPerTrim = 64
)

// budget counts an exact rolling minute per source, in microseconds: it keeps the times of
// the accepted requests. If there are too many addresses, the one of its shard that was seen
// longest ago is forgotten. The holder of an API key never is. No call sweeps, so that none
// waits for a sweep.
type budget struct {
	now    func() time.Time
	start  time.Time
	max    int          // addresses that are held
	seed   maphash.Seed // so that nobody can choose addresses that share a shard
	shards [shardCount]*shard
}

// newBudget makes a budget for a number of addresses per minute. Each shard has room for an
// eighth more than its part, as a hash does not spread them evenly.
func newBudget(addresses int, now func() time.Time) *budget {
	b := &budget{now: now, start: now(), seed: maphash.MakeSeed()}
	perShard := addresses/shardCount + addresses/shardCount/8
	for i := range b.shards {
		b.shards[i] = newShard(perShard)
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
	s.giveBack(from, at)
}

// size is how many sources are held, and how many were forgotten within their minute. It
// drops the expired ones first, a few under each lock.
func (b *budget) size() (held int, forgotten uint64) {
	for _, s := range b.shards {
		for s.trim(b.now().Sub(b.start)) {
		}
		s.mu.Lock()
		held += s.addresses.Len() + len(s.holders)
		forgotten += s.forgotten
		s.mu.Unlock()
	}
	return held, forgotten
}

func (b *budget) shard(from id) *shard {
	return b.shards[maphash.Comparable(b.seed, from)%shardCount]
}

// shard is a part of the sources.
type shard struct {
	mu        sync.Mutex
	max       int
	addresses *simplelru.LRU[id, *history]
	holders   map[id]*history // of API keys
	forgotten uint64          // within their minute
}

func newShard(addresses int) *shard {
	lru, err := simplelru.NewLRU[id, *history](addresses, nil)
	if err != nil {
		panic(err) // not a positive number
	}
	return &shard{max: addresses, addresses: lru, holders: map[id]*history{}}
}

// history is what a source did in the minute before it was last seen.
type history struct {
	seen     time.Duration // since the start
	accepted []micros      // in order
}

// micros is a time since the start, in microseconds. It wraps around every 71 minutes: only
// times that are not much more than a minute apart can be compared. It takes half the memory
// of a time.Duration, and the times of requests are most of what a budget holds.
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
	s.dropExpired(now, expiredPerCall)
	h := s.find(from, now)
	h.advance(now)
	d := decide(h.accepted, limit, microsOf(now))
	if d.allowed {
		h.accepted = append(h.accepted, d.at)
	}
	return d
}

// decide says whether one more request may pass beside those that were accepted within
// the minute.
func decide(accepted []micros, limit int, now micros) decision {
	used := len(accepted)
	if used == 0 {
		return decision{allowed: true, wait: window, at: now}
	}
	leaves := accepted[max(used-limit, 0)] // not the oldest if the limit was lowered
	return decision{allowed: used < limit, used: used, wait: window - now.since(leaves), at: now}
}

// find returns the history of a source. A new address may take the place of another.
func (s *shard) find(from id, now time.Duration) *history {
	if from.kind == holder {
		h, known := s.holders[from]
		if !known {
			h = new(history)
			s.holders[from] = h
		}
		return h
	}
	if h, known := s.addresses.Get(from); known {
		return h
	}
	if s.addresses.Len() == s.max {
		_, oldest, _ := s.addresses.RemoveOldest()
		oldest.advance(now)
		if len(oldest.accepted) > 0 {
			s.forgotten++
		}
	}
	h := new(history)
	s.addresses.Add(from, h)
	return h
}

// advance drops what is not within the minute any more.
func (h *history) advance(now time.Duration) {
	expired := len(h.accepted)
	if now-h.seen < window { // else all, and their times may have wrapped around
		expired = 0
		for expired < len(h.accepted) && microsOf(now).since(h.accepted[expired]) >= window {
			expired++
		}
	}
	h.accepted = slices.Delete(h.accepted, 0, expired)
	h.seen = now
}

func (s *shard) giveBack(from id, at micros) {
	h, known := s.holders[from]
	if !known {
		h, known = s.addresses.Peek(from)
	}
	if !known {
		return
	}
	if i := slices.Index(h.accepted, at); i >= 0 {
		h.accepted = slices.Delete(h.accepted, i, i+1)
	}
}

// dropExpired drops addresses that were not seen for a minute, and reports whether there may
// be more. They are at the old end.
func (s *shard) dropExpired(now time.Duration, most int) (more bool) {
	for range most {
		_, oldest, ok := s.addresses.GetOldest()
		if !ok || now-oldest.seen < window {
			return false
		}
		s.addresses.RemoveOldest()
	}
	return true
}

// trim is dropExpired with the lock, which it holds for some microseconds.
func (s *shard) trim(now time.Duration) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropExpired(now, expiredPerTrim)
}
