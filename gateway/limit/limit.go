// Package limit decides whether a client may ask now.
//
// The limit is exact over a rolling minute: in no 60 seconds are more than the
// configured number of requests accepted from one client, and a client that
// stays within it is never refused. Refused requests do not count. One Limiter
// is one budget, however many routes ask it.
//
// A client is an IPv4 address or an IPv6 /64. A request from a peer without an
// address (a unix socket) passes uncounted, since strangers must not share a
// budget.
//
// # Memory
//
// The times of a client's accepted requests are kept in 16 ns ticks, four bytes
// each: about 215 bytes for a client with all of 30 requests, about 95 for one
// seen once. All clients together stay below 24 MiB, which is a ceiling of
// 101,856 clients at the default limit. At the ceiling a newcomer takes the
// place of a client whose minute has passed; else of the client seen longest
// ago among those seen once, which thereby wins back a single request; and
// where everyone held has been seen again within the minute, it passes
// uncounted. So a flood of addresses displaces the flood, never the count of
// an established client, and honest newcomers are served throughout.
//
// # Several instances
//
// With REDIS_URL the instances share each client's budget through one script,
// run by Redis on its own clock, so it is as exact as on one machine. Each
// instance also counts in memory what it accepted itself. When Redis has not
// answered within 50 ms, that memory decides: no request fails, and what a
// client had from this instance still counts; but the instances no longer know
// of one another, so until a minute after the outage a client can have the
// limit once from each. Requests ask Redis again as soon as it has answered
// three probes in a row. Every key begins with REDIS_PREFIX, so that staging and
// production can share a server and still count apart.
package limit

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const window = time.Minute

// Limiter holds the clients' budgets.
type Limiter struct {
	perMinute int
	log       *slog.Logger
	now       func() time.Time
	start     time.Time

	memory   *memory    // nil when limiting is off
	shared   *shared    // nil without Redis
	counters sync.Pool  // of *counter
	numbers  [][]string // as header values, up to the largest there is

	allowed, refused, uncounted atomic.Uint64
	nameless                    sync.Once
	lastFull                    atomic.Int64 // tick of the last warning about the ceiling
}

// New makes a Limiter from a valid configuration. With Redis configured it
// waits up to a second for its first answer, so that the first request is
// already counted there; a Redis that is away is reported to log and is no
// error. The clock must be monotonic, as time.Now is.
func New(ctx context.Context, cfg Config, log *slog.Logger, now func() time.Time) (*Limiter, error) {
	return newLimiter(ctx, cfg, log, now, timeouts{
		request: 50 * time.Millisecond,
		start:   time.Second,
		probe:   250 * time.Millisecond,
		probes:  3,
	})
}

func newLimiter(ctx context.Context, cfg Config, log *slog.Logger, now func() time.Time, t timeouts) (*Limiter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l := &Limiter{perMinute: cfg.PerMinute, log: log, now: now, start: now()}
	l.lastFull.Store(-windowTicks)
	if cfg.PerMinute == 0 {
		return l, nil
	}
	l.memory = newMemory(cfg.PerMinute)
	l.counters.New = func() any { return newCounter(l) }
	for n := range max(cfg.PerMinute, longestWait) + 1 {
		l.numbers = append(l.numbers, []string{strconv.Itoa(n)})
	}
	if cfg.RedisURL != "" {
		l.shared = newShared(ctx, cfg, log, t)
	}
	return l, nil
}

// Close releases Redis. Requests that still arrive are counted in memory.
func (l *Limiter) Close() error {
	if l.shared == nil {
		return nil
	}
	return l.shared.close()
}

// decide counts one request of c, or refuses it. Memory goes first: what this
// instance accepted is part of what all instances accepted, so a refusal here
// is final, and a request accepted here is already counted if Redis fails.
func (l *Limiter) decide(ctx context.Context, c client) verdict {
	now := l.ticks()
	v := l.memory.take(c, now)
	if l.shared != nil {
		v = l.consult(ctx, c, v)
	}
	switch {
	case !v.allowed:
		l.refused.Add(1)
	case v.uncounted:
		l.uncounted.Add(1)
		l.warnFull(now)
	default:
		l.allowed.Add(1)
	}
	return v
}

func (l *Limiter) consult(ctx context.Context, c client, own verdict) verdict {
	if !own.allowed {
		// Redis saw the same requests up to one round trip later.
		own.wait += l.shared.timeouts.request
		return own
	}
	all, ok := l.shared.take(ctx, c)
	switch {
	case !ok:
		return own
	case !all.allowed:
		if !own.uncounted {
			l.memory.giveBack(c, own.at)
		}
		return all
	case own.used > all.used: // Redis has lost what this instance remembers
		return own
	default:
		return all
	}
}

// warnFull says, at most once a minute, that newcomers go uncounted.
func (l *Limiter) warnFull(now int64) {
	last := l.lastFull.Load()
	if now-last >= windowTicks && l.lastFull.CompareAndSwap(last, now) {
		l.log.Warn("rate limit: too many clients to count, newcomers pass uncounted", "ceiling", l.memory.ceiling())
	}
}

func (l *Limiter) ticks() int64 { return int64(l.now().Sub(l.start) / tick) }

// Backend says where decisions are made.
type Backend string

const (
	Off      Backend = "off"      // RATE_LIMIT is 0
	Memory   Backend = "memory"   // in this process, as configured
	Redis    Backend = "redis"    // in Redis, shared by all instances
	Fallback Backend = "fallback" // in this process, because Redis does not answer
)

// Stats is a snapshot for metrics. The counters only grow.
type Stats struct {
	Backend   Backend
	Allowed   uint64
	Refused   uint64
	Uncounted uint64 // passed without being counted: at the ceiling, or from a peer without an address
	Clients   int    // held in memory now
	Ceiling   int    // most clients memory will hold
}

// Stats is cheap enough to be called on every scrape.
func (l *Limiter) Stats() Stats {
	s := Stats{
		Backend:   l.backend(),
		Allowed:   l.allowed.Load(),
		Refused:   l.refused.Load(),
		Uncounted: l.uncounted.Load(),
	}
	if l.memory != nil {
		s.Clients, s.Ceiling = l.memory.clients(), l.memory.ceiling()
	}
	return s
}

func (l *Limiter) backend() Backend {
	switch {
	case l.memory == nil:
		return Off
	case l.shared == nil:
		return Memory
	case l.shared.up():
		return Redis
	default:
		return Fallback
	}
}
