package limit

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxSources is how many sources a minute are counted exactly.
	maxSources = 65_536
	shardCount = 16
	// sweepEvery is how often sources without a request in the last minute are dropped.
	sweepEvery = window / 4
)

// budget counts an exact rolling minute per source: it keeps the times of the accepted
// requests. If there are too many sources, any of them is forgotten, but never the holder
// of an API key.
type budget struct {
	now       func() time.Time
	start     time.Time
	seed      maphash.Seed // so that nobody can choose addresses that share a shard
	shards    [shardCount]shard
	perShard  int           // for sources in a shard, beside the holders of API keys
	forgotten atomic.Uint64 // within their minute
}

// shard holds some of the sources under one lock.
type shard struct {
	mu      sync.Mutex
	swept   time.Duration
	sources map[id]times
}

// times are those of the accepted requests of a source, since the start, in order.
type times []time.Duration

// newBudget makes a budget for a number of sources per minute. A shard has room for three
// eighths more: a source is kept up to a quarter of a minute too long, and a hash spreads
// the sources a little unevenly.
func newBudget(sources int, now func() time.Time) *budget {
	size := max(sources/shardCount, 1)
	b := &budget{now: now, start: now(), seed: maphash.MakeSeed(), perShard: size + size*3/8}
	for i := range b.shards {
		b.shards[i].sources = make(map[id]times)
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

// allow counts a request, or refuses it. It reads the clock when it has the lock: a
// request that waited for the lock is counted when it is accepted, and not earlier.
func (b *budget) allow(from id, limit int) decision {
	s := b.shard(from)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := b.now().Sub(b.start)
	s.sweep(now)
	known, isKnown := s.sources[from]
	accepted := known.since(now - window)
	d := decide(accepted, limit, now)
	if d.allowed {
		accepted = append(accepted, now)
	}
	if !isKnown && len(s.sources) >= b.perShard && from.kind != apiKey {
		b.forgetAny(s, now)
	}
	s.sources[from] = accepted
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
	accepted := s.sources[from]
	if i := slices.Index(accepted, at); i >= 0 {
		s.sources[from] = slices.Delete(accepted, i, i+1)
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

// sweep drops the sources without a request in the last minute, from time to time.
func (s *shard) sweep(now time.Duration) {
	if now-s.swept < sweepEvery {
		return
	}
	s.swept = now
	maps.DeleteFunc(s.sources, func(_ id, t times) bool { return !t.after(now - window) })
}

// after reports whether a request was accepted after a given time.
func (t times) after(past time.Duration) bool { return len(t) > 0 && t[len(t)-1] > past }

func (b *budget) forgetAny(s *shard, now time.Duration) {
	for from, t := range s.sources {
		if from.kind == apiKey {
			continue
		}
		delete(s.sources, from)
		if t.after(now - window) {
			b.forgotten.Add(1)
		}
		return
	}
}

// size is how many sources are held.
func (b *budget) size() int {
	held := 0
	for i := range b.shards {
		s := &b.shards[i]
		s.mu.Lock()
		held += len(s.sources)
		s.mu.Unlock()
	}
	return held
}

// ceiling is how many sources are held at most, beside the holders of keys.
func (b *budget) ceiling() int { return b.perShard * shardCount }
