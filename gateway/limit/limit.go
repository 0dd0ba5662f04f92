// Package limit decides whether a source may make a request now. A source is an IPv4
// address, an IPv6 /64, or the holder of an API key, wherever it calls from.
//
// There are three limits, and each counts by itself:
//   - Quotes: an exact rolling minute, in memory or shared by all instances in Redis.
//   - Status look-ups that ask the nodes: as many as quotes, in memory.
//   - All requests: ten times as many, at least 300, estimated by httprate.
//
// Refused requests do not count.
package limit

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/humanize"
)

const window = time.Minute

type Limiter struct {
	perMinute int // 0: nothing is limited

	quotes   *budget
	reads    *budget
	requests *requestLimit
	redis    *redisCounter // nil without Redis

	allowed, refused atomic.Uint64
}

// New makes a Limiter. With Redis configured it waits up to a second for Redis to
// answer, so that the first request is already counted there. If Redis does not
// answer, New logs that and returns no error. The clock must be monotonic, as
// time.Now is.
func New(ctx context.Context, cfg Config, log *slog.Logger, now func() time.Time) (*Limiter, error) {
	return newLimiter(ctx, cfg, log, now, timeouts{answer: cfg.RedisTimeout, start: startTimeout, probe: probeEvery})
}

func newLimiter(
	ctx context.Context, cfg Config, log *slog.Logger, now func() time.Time, wait timeouts,
) (*Limiter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l := &Limiter{perMinute: cfg.PerMinute}
	if cfg.PerMinute == 0 {
		return l, nil
	}
	l.quotes = newBudget(maxSources, now)
	l.reads = newBudget(maxSources, now)
	l.requests = newRequestLimit(requestsPerMinute(cfg.PerMinute), maxSources)
	if cfg.RedisURL == "" {
		return l, nil
	}
	var err error
	l.redis, err = newRedisCounter(ctx, cfg, log, now, wait)
	return l, err
}

// Close disconnects from Redis. Later requests are counted in memory.
func (l *Limiter) Close() error {
	if l.redis == nil {
		return nil
	}
	return l.redis.close()
}

// AdmitQuote counts a request for a quote, or returns why it is refused. It sets
// RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset, the seconds until the
// oldest counted request leaves the minute.
func (l *Limiter) AdmitQuote(h http.Header, from Source) *fault.Error {
	limit := l.limitOf(from)
	if limit == 0 {
		return nil
	}
	return l.conclude(h, limit, "requests", l.countQuote(from, limit))
}

// AdmitRead counts a question that asks the nodes, or returns why it is refused. It sets
// the same headers.
func (l *Limiter) AdmitRead(h http.Header, from Source) *fault.Error {
	limit := l.limitOf(from)
	if limit == 0 {
		return nil
	}
	return l.conclude(h, limit, "status look-ups", l.reads.allow(from.id, limit))
}

// AdmitRequest counts a request of any kind, or returns why it is refused.
func (l *Limiter) AdmitRequest(from Source) *fault.Error {
	limit := l.limitOf(from)
	if limit == 0 {
		return nil
	}
	limit = requestsPerMinute(limit)
	wait, exceeded := l.requests.exceeded(from.id, limit)
	if !exceeded {
		return nil
	}
	return l.refuse(limit, "requests of any kind", wait)
}

// countQuote asks the memory first. What this instance accepted is part of what all
// instances accepted, so a refusal by the memory is final. A request that the memory
// accepted is already counted if Redis fails or has lost its data.
func (l *Limiter) countQuote(from Source, limit int) decision {
	own := l.quotes.allow(from.id, limit)
	if l.redis == nil {
		return own
	}
	if !own.allowed {
		own.wait += l.redis.timeouts.answer // Redis may have counted the same requests that much later
		return own
	}
	all, answered := l.redis.allow(from.id, limit)
	switch {
	case !answered:
		return own
	case !all.allowed:
		l.quotes.giveBack(from.id, own.at)
		return all
	case own.used > all.used: // Redis has lost its data
		return own
	default:
		return all
	}
}

// limitOf is how many requests a minute a source has. It is 0 if they are not limited.
func (l *Limiter) limitOf(from Source) int {
	if l.perMinute == 0 {
		return 0
	}
	return cmp.Or(from.perMinute, l.perMinute)
}

// conclude reports a decision in the headers and the metrics, and returns the error of a
// refusal. The headers are in canonical form, and share one allocation.
func (l *Limiter) conclude(h http.Header, limit int, what string, d decision) *fault.Error {
	remaining := limit - d.used
	if d.allowed {
		remaining--
	}
	values := []string{strconv.Itoa(limit), strconv.Itoa(max(remaining, 0)), strconv.Itoa(seconds(d.wait))}
	h["Ratelimit-Limit"] = values[0:1:1]
	h["Ratelimit-Remaining"] = values[1:2:2]
	h["Ratelimit-Reset"] = values[2:3:3]
	if !d.allowed {
		return l.refuse(limit, what, d.wait)
	}
	l.allowed.Add(1)
	return nil
}

// seconds is a wait, rounded up.
func seconds(wait time.Duration) int { return int((wait + time.Second - 1) / time.Second) }

func (l *Limiter) refuse(limit int, what string, wait time.Duration) *fault.Error {
	l.refused.Add(1)
	e := fault.New(fault.RateLimited, "Rate limit exceeded: %d %s per minute. Retry in %s.",
		limit, what, humanize.Count(seconds(wait), "second", "seconds"))
	e.RetryAfter = time.Duration(seconds(wait)) * time.Second
	return e
}

// Backend says where decisions about quotes are made.
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
	Allowed   uint64 // quotes, and status look-ups that ask the nodes
	Refused   uint64 // by any of the limits
	Forgotten uint64 // sources that made room for others before their minute had passed
	Sources   int    // whose quotes are held in memory
	Ceiling   int    // most sources that are held, besides the holders of API keys
}

// Stats is cheap enough to be called on every scrape.
func (l *Limiter) Stats() Stats {
	s := Stats{Backend: Off, Allowed: l.allowed.Load(), Refused: l.refused.Load()}
	if l.perMinute == 0 {
		return s
	}
	s.Backend = Memory
	s.Ceiling = l.quotes.max
	s.Sources, s.Forgotten = l.quotes.size()
	_, forgottenReads := l.reads.size()
	s.Forgotten += forgottenReads
	if l.redis != nil {
		s.Backend = Fallback
		if l.redis.up() {
			s.Backend = Redis
		}
	}
	return s
}
