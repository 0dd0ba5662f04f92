// Package limit decides whether a client may make a request now.
//
// The limit is exact over a rolling minute: in no 60 seconds are more than the
// configured number of requests accepted from one client, and a client that
// stays within it is never refused. Refused requests do not count. A request is
// accepted between the time when it was sent and the time when its answer came, so who
// looks from outside measures from the sending of the first to the answer to the
// last. All routes that share a Limiter share one budget per client, but for two kinds,
// which have one of their own beside it, so that none uses up the other:
//
//   - Polled requests ask again about a subject until something has happened. Their
//     budget is half as large (1 beside 1). Who asks again when the last answer said so
//     is never refused, and it costs nothing: the answer gives a ticket for that time.
//     A subject that is ours costs nothing from the start. Who follows many that nobody
//     knows is told later times, so that beside the budget no more come on a ticket
//     within a minute than the budget has. Each instance spaces its own.
//   - Listings have ten times the limit. That one is coarse: httprate estimates the
//     rolling minute, and each instance counts by itself.
//
// A client is an IPv4 address or an IPv6 /64, or the holder of an API key, which
// has its budgets wherever it calls from, with a limit of its own. A request
// from a peer without an address (a unix socket) passes uncounted, since different
// clients must not share a budget.
//
// # Memory
//
// The times of accepted requests are kept in 32 ns ticks, four bytes each: about 80
// bytes for a client with a single request, 263 at most for one with all of 30. All
// budgets together stay below 24 MiB, which is a ceiling of 104,416 at the default
// limit, and hold no pointers. At the ceiling, a new client takes the place of one
// whose minute has passed. If there is none, it takes the place of the client seen
// longest ago among those seen once, which thereby gets back one request. If every
// client was seen again within the minute, the new one passes uncounted. So a flood
// of addresses displaces only itself and never the count of an established client.
// API keys with a limit above the configured one take more: five bytes for each
// request above it. Listings and tickets take 5 MB at most beside it.
//
// # Several instances
//
// With REDIS_URL the instances share each budget through one script, which Redis
// runs on its own clock, so the limit is as exact as on one machine. The URL names
// a server, a server that Sentinels know, or a Cluster. Every key begins with
// REDIS_PREFIX, so that deployments can share a server and still count separately.
//
// Each instance also counts in memory what it accepted itself. If Redis, or one
// node of a Cluster, does not answer within 50 ms, that memory decides: no
// request fails, and what this instance has accepted still counts. But the
// instances then do not know of one another, so until a minute after the outage a
// client can use the limit once on each. Requests use Redis again as soon as it
// has answered three probes in a row. A Cluster must answer for the slot that
// failed, too.
//
// Numbers that cannot be true are no answer. A key that is not a log of requests is
// replaced by one. If Redis answers a client with an error but still answers a
// probe, only that client is counted in memory; so are the clients of a slot that a
// Cluster is moving. A panic of go-redis in our goroutines is an outage of Redis. One
// in a goroutine that go-redis itself starts, for a Sentinel or a Cluster, cannot be
// caught; only a server that breaks Redis's protocol is known to cause one. Passwords
// stay out of the log, even if a server repeats them.
package limit

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/words"
)

const window = time.Minute

type Limiter struct {
	perMinute int
	log       *slog.Logger
	clock     func() int64 // in ticks since the start

	memory   *memory       // nil when limiting is off
	redis    *redisCounter // nil without Redis
	listings *listings     // nil when limiting is off
	polls    *polls        // nil when limiting is off
	numbers  [][]string    // as header values, up to the highest limit there is

	allowed, refused, uncounted atomic.Uint64
	warnedNoAddress             sync.Once
	lastFullWarning             atomic.Int64 // tick of the last warning about the ceiling
}

// New makes a Limiter. With Redis configured it waits up to a second for Redis to
// answer, so that the first request is already counted there. If Redis does not
// answer, New logs that and returns no error. The clock must be monotonic, as
// time.Now is.
func New(ctx context.Context, cfg Config, log *slog.Logger, now func() time.Time) (*Limiter, error) {
	return newLimiter(ctx, cfg, log, now, timeouts{
		request: 50 * time.Millisecond, start: time.Second, probe: 250 * time.Millisecond, probes: 3,
	})
}

func newLimiter(ctx context.Context, cfg Config, log *slog.Logger, now func() time.Time, t timeouts) (*Limiter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	start := now()
	l := &Limiter{perMinute: cfg.PerMinute, log: log, clock: func() int64 { return int64(now().Sub(start) / tick) }}
	l.lastFullWarning.Store(-windowTicks)
	if cfg.PerMinute == 0 {
		return l, nil
	}
	l.memory = newMemory(cfg.PerMinute)
	l.listings = newListings(cfg.PerMinute)
	l.polls = newPolls()
	for n := range MaxPerMinute + 1 {
		l.numbers = append(l.numbers, []string{strconv.Itoa(n)})
	}
	if cfg.RedisURL != "" {
		l.redis = newRedisCounter(ctx, cfg, log, t)
	}
	return l, nil
}

// Close disconnects from Redis. Later requests are counted in memory.
func (l *Limiter) Close() error {
	if l.redis == nil {
		return nil
	}
	return l.redis.close()
}

// decide counts one request, or refuses it.
func (l *Limiter) decide(q question) decision {
	d := l.take(q)
	l.record(d)
	return d
}

// take asks the memory first. What this instance accepted is part of what all instances
// accepted, so a refusal by the memory is final. A request that the memory accepted is
// already counted if Redis fails.
func (l *Limiter) take(q question) decision {
	d := l.memory.take(q, l.clock)
	if l.redis != nil {
		d = l.askRedis(q, d)
	}
	return d
}

// record counts a decision for Stats.
func (l *Limiter) record(d decision) {
	switch {
	case !d.allowed:
		l.refused.Add(1)
	case d.uncounted:
		l.uncounted.Add(1)
		l.warnOfCeiling(d.at)
	default:
		l.allowed.Add(1)
	}
}

// warnOfCeiling says at most once a minute that memory holds no more clients.
func (l *Limiter) warnOfCeiling(now int64) {
	last := l.lastFullWarning.Load()
	if now-last < windowTicks || !l.lastFullWarning.CompareAndSwap(last, now) {
		return // it was said, or another request says it just now
	}
	l.log.Warn("rate limit: too many clients to count, newcomers pass uncounted", "ceiling", l.memory.ceiling())
}

func (l *Limiter) askRedis(q question, own decision) decision {
	if !own.allowed {
		// Redis may have counted the same requests one round trip later.
		own.wait += l.redis.timeouts.request
		return own
	}
	all, ok := l.redis.take(q)
	switch {
	case !ok:
		return own
	case !all.allowed:
		if own.memory {
			l.memory.giveBack(q, own.at)
		}
		return all
	case own.used > all.used: // Redis has lost its data
		own.stamp = all.stamp
		return own
	default:
		all.at, all.memory = own.at, own.memory
		return all
	}
}

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
	Uncounted uint64 // passed uncounted: at the ceiling, or from a peer without an address
	Clients   int    // budgets held in memory now: a client that polls has two
	Ceiling   int    // most budgets memory will hold
}

// Stats is cheap enough to be called on every scrape.
func (l *Limiter) Stats() Stats {
	s := Stats{Backend: Off, Allowed: l.allowed.Load(), Refused: l.refused.Load(), Uncounted: l.uncounted.Load()}
	if l.memory != nil {
		s.Backend = Memory
		s.Clients = l.memory.budgets()
		s.Ceiling = l.memory.ceiling()
	}
	if l.redis != nil {
		s.Backend = Fallback
		if l.redis.up() {
			s.Backend = Redis
		}
	}
	return s
}

// The headers in canonical form, so that requests need not convert them.
const (
	headerLimit     = "Ratelimit-Limit"
	headerRemaining = "Ratelimit-Remaining"
	headerReset     = "Ratelimit-Reset"
)

// longestWait is the longest wait in seconds: the minute, and the timeout for
// Redis, rounded up.
const longestWait = 61

// Admit counts a request against the budget of the client. It sets RateLimit-Limit,
// RateLimit-Remaining and RateLimit-Reset, the seconds until the oldest counted request
// leaves the minute. If the request is refused, it returns the reason and the time
// after which the next request passes.
func (l *Limiter) Admit(h http.Header, from Client) *fault.Error {
	if !l.counts(from) {
		return nil
	}
	q := question{client: from.key, limit: l.limitOf(from)}
	d := l.decide(q)
	l.tell(h, q, d)
	if d.allowed {
		return nil
	}
	return q.fault(d.seconds())
}

// counts reports whether the requests of a client are limited.
func (l *Limiter) counts(from Client) bool {
	if l.memory == nil {
		return false
	}
	if !from.valid {
		l.uncounted.Add(1)
		l.warnedNoAddress.Do(func() {
			l.log.Warn("rate limit: a peer without an IP address cannot be counted, its requests pass")
		})
	}
	return from.valid
}

func (l *Limiter) limitOf(from Client) int { return cmp.Or(from.perMinute, l.perMinute) }

// tell sets the headers of a decision.
func (l *Limiter) tell(h http.Header, q question, d decision) {
	if d.allowed {
		d.used++
	}
	h[headerLimit] = l.numbers[q.limit]
	h[headerRemaining] = l.numbers[max(q.limit-d.used, 0)]
	h[headerReset] = l.numbers[d.seconds()]
}

// seconds is the wait, rounded up.
func (d decision) seconds() int {
	return min(int((d.wait+time.Second-1)/time.Second), longestWait)
}

// question is a request to be counted.
type question struct {
	client clientKey
	limit  int // of the budget, a minute
	polled bool
}

// polledBit tells the budgets of a client apart in memory. No client has an address
// that differs from another's in the first bit: the networks in use begin with 001,
// 0000, or 1111 (private and link-local).
const polledBit = clientKey(1) << 63

// budget is the key in memory.
func (q question) budget() clientKey {
	if q.polled {
		return q.client ^ polledBit
	}
	return q.client
}

// String is the key in Redis, after the prefix.
func (q question) String() string {
	if q.polled {
		return "polled:" + q.client.String()
	}
	return q.client.String()
}

func (q question) fault(wait int) *fault.Error {
	what := ""
	if q.polled {
		what = "for this path "
	}
	return refusal(q.client, q.limit, what, wait)
}

// refusal says which limit was reached, and when the next request passes.
func refusal(client clientKey, limit int, what string, wait int) *fault.Error {
	whose := "from one address"
	if client.isAPIKey() {
		whose = "with this key"
	}
	e := fault.New(fault.RateLimited, "The limit is %s a minute %s%s; the next one passes in %s",
		words.Count(limit, "request", "requests"), what, whose, words.Count(wait, "second", "seconds"))
	e.RetryAfter = time.Duration(wait) * time.Second
	return e
}

// Client is whom a request is counted for. Its zero value is a peer without an
// address.
type Client struct {
	key       clientKey
	perMinute int // 0: the configured limit
	valid     bool
}

func Address(addr netip.Addr) Client {
	return Client{key: clientKeyOf(addr), valid: addr.IsValid()}
}

// Key is the holder of an API key, wherever it calls from. Of the ID the lower 52
// bits tell keys apart. perMinute is the key's own limit, at most MaxPerMinute, or
// 0 for the configured one.
func Key(id uint64, perMinute int) Client {
	return Client{key: apiKey | clientKey(id)&apiKeyBits, perMinute: perMinute, valid: true}
}

// clientKey identifies a client: an IPv4 address, or the upper half of an IPv6
// address, since one household or machine owns a whole /64. IPv4 addresses are
// stored in ffff:ffff::/32 and API keys in ff00::/12. These are multicast, so that
// no client has them as its address.
type clientKey uint64

const (
	ipv4       = clientKey(0xffffffff) << 32
	apiKeyBits = clientKey(1)<<52 - 1
	apiKey     = clientKey(0xff0) << 52
)

func clientKeyOf(ip netip.Addr) clientKey {
	ip = ip.Unmap()
	if ip.Is4() {
		b := ip.As4()
		return ipv4 | clientKey(binary.BigEndian.Uint32(b[:]))
	}
	b := ip.As16()
	return clientKey(binary.BigEndian.Uint64(b[:8]))
}

func (c clientKey) isAPIKey() bool { return c&^apiKeyBits == apiKey }

func (c clientKey) String() string {
	if c.isAPIKey() {
		return fmt.Sprintf("key:%013x", uint64(c&apiKeyBits))
	}
	var b [16]byte
	if c&ipv4 == ipv4 {
		binary.BigEndian.PutUint32(b[:], uint32(c))
		return netip.AddrFrom4([4]byte(b[:4])).String()
	}
	binary.BigEndian.PutUint64(b[:], uint64(c))
	return netip.PrefixFrom(netip.AddrFrom16(b), 64).String()
}
