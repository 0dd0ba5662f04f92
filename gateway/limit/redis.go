package limit

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/quotegate/quotegate/gateway/redisconn"
	"github.com/quotegate/quotegate/shared/guard"
)

//go:embed ticket.lua
var ticketScript string

var ticketCommand = redis.NewScript(ticketScript)

// timeouts say how long to wait for Redis.
type timeouts struct {
	request time.Duration // for one decision
	start   time.Duration // for the first answer
	probe   time.Duration // between probes while Redis does not answer
	probes  int           // how many in a row it must answer to be used again
}

// redisCounter counts clients in Redis while Redis answers.
type redisCounter struct {
	redis    redis.UniversalClient
	cluster  *redis.ClusterClient // the same, if it is a cluster
	prefix   string               // of every key; the client follows
	timeouts timeouts
	log      *slog.Logger
	secrets  []string // the passwords, which no log line may show
	batches  *batcher

	downSince  atomic.Pointer[time.Time]  // nil while Redis answers
	lastFailed atomic.Pointer[question]   // the request that failed last
	refusal    atomic.Pointer[redisError] // the last error that Redis answered, until watch has seen it
	answered   int                        // probes in a row; used by watch only
	lastWarned time.Time                  // of a refusal; used by watch only
	stop       context.CancelFunc
	watching   guard.Group
}

// redisError is an error that Redis answered. It may still answer others.
type redisError struct{ error }

func newRedisCounter(ctx context.Context, cfg Config, log *slog.Logger, t timeouts) *redisCounter {
	// go-redis writes each failed connection to stderr, through a logger of the
	// whole process. This package logs the outage once instead.
	logging.Disable()
	target, err := redisconn.Parse(cfg.RedisURL)
	if err != nil { // Validate has accepted it
		panic(err)
	}
	r := &redisCounter{
		redis: target.Connect(t.start, log), prefix: cfg.RedisPrefix + "limit:", timeouts: t,
		log: log, secrets: target.Passwords,
	}
	r.cluster, _ = r.redis.(*redis.ClusterClient)
	r.batches = startBatcher(r.askAll, log)
	if err := r.probe(ctx, t.start); err != nil {
		r.fail(question{}, err)
	} else {
		log.Info("rate limit: counting in Redis, shared by all instances")
	}
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	const what = "looking at Redis"
	r.watching.Go(log, what, func() { guard.Every(ctx, t.probe, log, what, func() { r.watch(ctx) }) })
	return r
}

func (r *redisCounter) up() bool { return r.downSince.Load() == nil }

// take counts a request, or refuses it. It returns false if Redis does not
// answer, or not in a way that can be true. It does not know the request's
// context: a client that hangs up must not look like a failure of Redis.
func (r *redisCounter) take(q question) (decision, bool) {
	if !r.up() {
		return decision{}, false
	}
	d, err := r.batches.ask(q, r.timeouts.request)
	if err == errLate {
		r.fail(q, fmt.Errorf("no answer within %s", r.timeouts.request))
	}
	return d, err == nil
}

func (r *redisCounter) askAll(batch []*ask) {
	for _, a := range batch {
		a.key = r.prefix + a.question.String()
	}
	ctx, cancel := context.WithDeadline(context.Background(), batch[0].deadline)
	defer cancel()
	r.run(ctx, batch, window)
	for _, a := range batch {
		if refused, ok := a.err.(redisError); ok {
			r.refusal.Store(&refused)
		} else if a.err != nil {
			r.fail(a.question, a.err)
		}
	}
}

// giveBack takes a request out of the log again.
func (r *redisCounter) giveBack(q question, stamp int64) {
	r.quickly("giving a request back to Redis", func(ctx context.Context) error {
		return r.redis.LRem(ctx, r.prefix+q.String(), -1, stamp).Err()
	})
}

// promise keeps a ticket for all instances. It is false if Redis does not answer.
func (r *redisCounter) promise(q question, subject string, known bool, next time.Duration) bool {
	sign := -1
	if known {
		sign = 1
	}
	return r.quickly("a ticket in Redis", func(ctx context.Context) error {
		return r.ticket(ctx, q, subject, next.Microseconds(), sign, ticketsPerSubject).Err()
	})
}

// redeem uses up a ticket that is due.
func (r *redisCounter) redeem(q question, subject string) (promised, known bool) {
	sign := 0
	r.quickly("a ticket in Redis", func(ctx context.Context) (err error) {
		sign, err = r.ticket(ctx, q, subject).Int()
		return err
	})
	return sign != 0, sign > 0
}

func (r *redisCounter) ticket(ctx context.Context, q question, subject string, args ...any) *redis.Cmd {
	key := r.prefix + "ticket:" + q.client.String() + ":" + subject
	return ticketCommand.Run(ctx, r.redis, []string{key}, append([]any{early.Microseconds()}, args...)...)
}

// quickly asks Redis for what a request can do without, and returns whether it
// answered. Whether there is an outage is decided by take alone.
func (r *redisCounter) quickly(what string, ask func(context.Context) error) (answered bool) {
	if !r.up() {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.timeouts.request)
	defer cancel()
	guard.Do(r.log, what, func() { answered = ask(ctx) == nil })
	return answered
}

const probeKeys = 8 // of one probe; in a cluster they are on different nodes

// probe runs the script on keys that expire at once. Unlike a PING it also fails
// if Redis cannot write, because it is a replica or full. In a cluster the first
// key is in the slot of the client that failed last: what the first braces of a
// key enclose determines its slot.
func (r *redisCounter) probe(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	now := strconv.FormatInt(time.Now().UnixNano(), 36)
	asks := make([]*ask, probeKeys)
	for i := range asks {
		asks[i] = &ask{question: question{limit: 1}, key: r.prefix + "probe:" + now + ":" + strconv.Itoa(i)}
	}
	if q := r.lastFailed.Load(); q != nil {
		asks[0].key = r.prefix + "probe:" + now + ":{" + r.prefix + q.String() + "}"
	}
	r.run(ctx, asks, time.Millisecond)
	for _, a := range asks {
		if a.err != nil {
			return a.err
		}
	}
	return nil
}

// fail switches to counting in memory. It logs only the first failure of an outage.
func (r *redisCounter) fail(q question, err error) {
	r.lastFailed.Store(&q)
	if now := time.Now(); r.downSince.CompareAndSwap(nil, &now) {
		r.log.Warn("rate limit: Redis does not answer, counting in memory until it does", "error", r.describe(err))
	}
}

// describe is an error as the log may show it. A server may repeat in an error
// what was sent to it, the password too.
func (r *redisCounter) describe(err error) string {
	s := err.Error()
	for _, secret := range r.secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "[password]")
		}
	}
	return fmt.Sprintf("%.300s", s)
}

// watch probes Redis during an outage, and uses it again after enough answers in
// a row. If Redis has answered a client with an error, a probe tells whether it is
// an outage, or that client alone is counted in memory.
func (r *redisCounter) watch(ctx context.Context) {
	down := r.downSince.Load()
	refused := r.refusal.Swap(nil)
	if down == nil && refused == nil {
		r.answered = 0
		return
	}
	err := r.probe(ctx, r.timeouts.request)
	switch {
	case down == nil && err != nil:
		r.fail(question{}, err)
	case down == nil:
		if time.Since(r.lastWarned) >= window {
			r.lastWarned = time.Now()
			r.log.Warn("rate limit: Redis gave no usable answer for a client, whose request was counted in memory",
				"error", r.describe(refused))
		}
	case err != nil:
		r.answered = 0
		if r.cluster != nil {
			r.cluster.ReloadState(ctx) // a replica may have taken over
		}
	default:
		r.answered++
		if r.answered == r.timeouts.probes {
			r.answered = 0
			r.downSince.Store(nil)
			r.log.Info("rate limit: Redis is back, counting there again",
				"after", time.Since(*down).Round(time.Millisecond))
		}
	}
}

// close ends the watch and the connections. Later requests are counted in
// memory, without a log line.
func (r *redisCounter) close() error {
	r.stop()
	r.watching.Wait()
	now := time.Now()
	r.downSince.Store(&now)
	r.batches.close()
	return r.redis.Close()
}
