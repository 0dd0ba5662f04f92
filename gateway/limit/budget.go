package limit

import (
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// maxSources is how many sources a minute are counted exactly.
	maxSources = 131_072
	// sweepEvery is how often sources without a request in the last minute are dropped.
	sweepEvery = window / 4
)

// budget counts an exact rolling minute per source: it keeps the times of the accepted
// requests. If there are too many sources, any of them is forgotten, but never the holder
// of an API key. One lock is enough: httprate has one for all requests too.
type budget struct {
	now   func() time.Time
	start time.Time
	max   int // sources that are held, beside the holders of API keys

	mu        sync.Mutex
	sources   map[id]times
	swept     time.Duration
	forgotten uint64 // within their minute
}

// times are those of the accepted requests of a source, since the start, in order.
type times []time.Duration

// newBudget makes a budget for a number of sources per minute. It has room for a quarter
// more, as a source is kept up to a quarter of a minute too long.
func newBudget(sources int, now func() time.Time) *budget {
	return &budget{now: now, start: now(), max: sources + sources/4, sources: make(map[id]times)}
}

// decision is the result for one request.
type decision struct {
	allowed bool
	used    int           // requests counted before this one
	wait    time.Duration // until the oldest counted request leaves the minute; if refused, until one may pass
	at      time.Duration // when memory decided it
}

// allow counts a request, or refuses it. It reads the clock when it has the lock: a
// request that waited for the lock is counted when it is accepted, and not earlier.
func (b *budget) allow(from id, limit int) decision {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now().Sub(b.start)
	if now-b.swept >= sweepEvery {
		b.swept = now
		maps.DeleteFunc(b.sources, func(_ id, t times) bool { return !t.any(now) })
	}
	accepted, known := b.sources[from]
	accepted = slices.DeleteFunc(accepted, func(at time.Duration) bool { return now-at >= window })
	d := decide(accepted, limit, now)
	if d.allowed {
		accepted = append(accepted, now)
	}
	if !known && len(b.sources) >= b.max && from.key == 0 {
		b.forgetAny(now)
	}
	b.sources[from] = accepted
	return d
}

// decide says whether one more request may pass beside those that were accepted within
// the minute.
func decide(accepted times, limit int, now time.Duration) decision {
	used := len(accepted)
	if used == 0 {
		return decision{allowed: true, wait: window, at: now}
	}
	leaves := accepted[max(used-limit, 0)] // not the oldest if the limit was lowered
	return decision{allowed: used < limit, used: used, wait: leaves + window - now, at: now}
}

// giveBack undoes the take of a request that was counted at that time.
func (b *budget) giveBack(from id, at time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	accepted := b.sources[from]
	if i := slices.Index(accepted, at); i >= 0 {
		b.sources[from] = slices.Delete(accepted, i, i+1)
	}
}

// any reports whether a request was accepted within the minute.
func (t times) any(now time.Duration) bool { return len(t) > 0 && now-t[len(t)-1] < window }

func (b *budget) forgetAny(now time.Duration) {
	for from, t := range b.sources {
		if from.key != 0 {
			continue
		}
		delete(b.sources, from)
		if t.any(now) {
			b.forgotten++
		}
		return
	}
}

// size is how many sources are held, and how many were forgotten within their minute.
func (b *budget) size() (held int, forgotten uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sources), b.forgotten
}
