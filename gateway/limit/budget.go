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
	// shardCount is how many locks they are spread over.
	shardCount = 16
)

// budget counts an exact rolling minute per source: it keeps the times of the accepted
// requests. An address is dropped with its generation, once none of them was seen for a
// minute, so that no call sweeps and none waits for a sweep. If there are too many
// addresses, those seen longest ago are forgotten. The holder of an API key never is.
type budget struct {
	now    func() time.Time
	start  time.Time
	max    int          // addresses that a generation holds
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

// size is how many sources are held of about a minute, and how many were forgotten.
func (b *budget) size() (held int, forgotten uint64) {
	for _, s := range b.shards {
		s.mu.Lock()
		s.renew(b.now().Sub(b.start))
		held += max(len(s.current), s.peak) + len(s.holders)
		forgotten += s.forgotten
		s.mu.Unlock()
	}
	return held, forgotten
}

func (b *budget) shard(from id) *shard {
	return b.shards[maphash.Comparable(b.seed, from)%shardCount]
}

// shard is a part of the sources. Its addresses are in two generations: those seen since the
// current one began, and those that were only seen before. Histories are values without
// pointers to most of what they hold: as objects of their own they cost the garbage collector
// a tenth of a quote.
type shard struct {
	mu                sync.Mutex
	max               int
	began             time.Duration // of the current generation, since the start
	current, previous map[id]history
	peak              int            // addresses that the previous generation had
	holders           map[id]history // of API keys
	forgotten         uint64         // addresses whose minute may not have passed
}

func newShard(addresses int) *shard {
	return &shard{max: addresses, current: map[id]history{}, holders: map[id]history{}}
}

// micros is a time since the start, in microseconds. It wraps around every 71 minutes, but
// only times of some minutes are ever compared.
type micros uint32

func microsOf(t time.Duration) micros { return micros(t / time.Microsecond) }

func (now micros) since(at micros) time.Duration { return time.Duration(now-at) * time.Microsecond }

// history is the times of the accepted requests of a source, in order. Most sources have few.
type history struct {
	first [6]micros
	count int // of first
	rest  []micros
}

func (h *history) appendTo(times []micros) []micros {
	times = append(times, h.first[:h.count]...)
	return append(times, h.rest...)
}

func (h *history) set(times []micros) {
	h.count = copy(h.first[:], times)
	h.rest = append(h.rest[:0], times[h.count:]...)
}

// last is the newest of at least one time.
func (h *history) last() micros {
	if n := len(h.rest); n > 0 {
		return h.rest[n-1]
	}
	return h.first[h.count-1]
}

// decision is the result for one request.
type decision struct {
	allowed bool
	used    int           // requests counted before this one
	wait    time.Duration // until the oldest counted request leaves the minute; if refused, until one may pass
	at      micros        // when memory decided it
}

func (s *shard) allow(from id, limit int, now time.Duration) decision {
	s.renew(now)
	at := microsOf(now)
	h := s.holding(from)[from]
	var room [32]micros // on the stack, for the usual limit
	left := func(accepted micros) bool { return at.since(accepted) >= window }
	accepted := slices.DeleteFunc(h.appendTo(room[:0]), left)
	d := decide(accepted, limit, at)
	if d.allowed {
		accepted = append(accepted, at)
	}
	h.set(accepted)
	s.store(from, h, now)
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

func (s *shard) giveBack(from id, at micros) {
	in := s.holding(from)
	h := in[from]
	accepted := h.appendTo(nil)
	if i := slices.Index(accepted, at); i >= 0 {
		h.set(slices.Delete(accepted, i, i+1))
		in[from] = h
	}
}

// holding is the map that has the history of a source.
func (s *shard) holding(from id) map[id]history {
	if from.kind == holder {
		return s.holders
	}
	if _, known := s.current[from]; known {
		return s.current
	}
	return s.previous
}

// store remembers the history of a source that was seen now.
func (s *shard) store(from id, h history, now time.Duration) {
	if from.kind == holder {
		s.holders[from] = h
		return
	}
	delete(s.previous, from)
	if _, known := s.current[from]; !known && len(s.current) >= s.max {
		s.forgotten += uint64(len(s.previous))
		s.begin(now)
	}
	s.current[from] = h
}

// renew begins a generation once the current one is a minute old: then no address of the
// previous one was seen for a minute.
func (s *shard) renew(now time.Duration) {
	age := now - s.began
	if age < window {
		return
	}
	s.begin(now)
	if age >= 2*window { // nobody called in the second minute
		s.previous = nil
		s.peak = 0
		clear(s.holders)
	}
	expired := func(_ id, h history) bool { return h.count == 0 || microsOf(now).since(h.last()) >= window }
	maps.DeleteFunc(s.holders, expired) // there are few
}

func (s *shard) begin(now time.Duration) {
	s.previous = s.current
	s.peak = len(s.previous)
	s.current = map[id]history{}
	s.began = now
}
