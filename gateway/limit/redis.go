package limit

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quotegate/quotegate/shared/guard"
	"github.com/redis/go-redis/v9/logging"
)

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
	script   *redis.Script
	prefix   string // of every key; the client follows
	timeouts timeouts
	log      *slog.Logger
	secrets  []string // what no log line may show
	batches  *batcher

	downSince  atomic.Pointer[time.Time] // nil while Redis answers
	lastFailed atomic.Uint64             // the client whose request failed last
	suspicion  chan error                // an unusable answer for a client
	lastWarned time.Time                 // of such an answer; used by watch only
	stop       context.CancelFunc
	stopped    chan struct{} // closed when watch has returned
}

func newRedisCounter(ctx context.Context, cfg Config, log *slog.Logger, t timeouts) *redisCounter {
	// go-redis writes each failed connection to stderr, through a logger of the
	// whole process. This package logs the outage once instead.
	logging.Disable()
	target, err := parseRedisURL(cfg.RedisURL)
	if err != nil {
		panic("limit: newRedisCounter of an invalid configuration")
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &redisCounter{
		redis:     target.connect(t),
		script:    redis.NewScript(takeScript),
		prefix:    cfg.RedisPrefix + "limit:",
		timeouts:  t,
		log:       log,
		secrets:   target.secrets(),
		suspicion: make(chan error, 1),
		stop:      stop,
		stopped:   make(chan struct{}),
	}
	r.cluster, _ = r.redis.(*redis.ClusterClient)
	r.batches = startBatcher(r.askAll)
	if err := r.probe(ctx, t.start); err != nil {
		r.fail(err)
	} else {
		log.Info("rate limit: counting in Redis, shared by all instances")
	}
	go r.watch(watching)
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
	a, answered := r.batches.ask(q, r.timeouts.request)
	if !answered {
		r.lastFailed.Store(uint64(q.client))
		r.fail(fmt.Errorf("no answer within %s", r.timeouts.request))
		return decision{}, false
	}
	return a.decision, a.ok
}

// askAll asks Redis a batch of questions.
func (r *redisCounter) askAll(deadline time.Time, questions []question, answers []answer) {
	keys := make([]string, len(questions))
	for i, q := range questions {
		keys[i] = r.prefix + q.client.String()
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	for i, got := range r.run(ctx, keys, questions, window) {
		switch _, unusable := got.err.(unusableAnswer); {
		case got.err == nil:
			answers[i] = answer{got.decision, true}
		case unusable:
			r.suspect(got.err)
		default:
			r.lastFailed.Store(uint64(questions[i].client))
			r.fail(got.err)
		}
	}
}

// probeKeys is how many keys a probe writes. In a cluster they are on different
// nodes.
const probeKeys = 8

// probe runs the script on keys that expire at once. Unlike a PING it also fails
// if Redis cannot write, because it is a replica or full. In a cluster the first
// key is in the slot of the client that failed last: what the first braces of a
// key enclose determines its slot.
func (r *redisCounter) probe(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	keys := make([]string, probeKeys)
	now := strconv.FormatInt(time.Now().UnixNano(), 36)
	for i := range keys {
		keys[i] = r.prefix + "probe:" + now + ":" + strconv.Itoa(i)
	}
	keys[0] = r.prefix + "probe:" + now + ":{" + r.prefix + clientKey(r.lastFailed.Load()).String() + "}"
	questions := slices.Repeat([]question{{limit: 1}}, probeKeys)
	for _, got := range r.run(ctx, keys, questions, time.Millisecond) {
		if got.err != nil {
			return got.err
		}
	}
	return nil
}

// fail switches to counting in memory. It logs only the first failure of an
// outage.
func (r *redisCounter) fail(err error) {
	if now := time.Now(); r.downSince.CompareAndSwap(nil, &now) {
		r.log.Warn("rate limit: Redis does not answer, counting in memory until it does", "error", r.describe(err))
	}
}

// suspect has watch find out whether Redis is at fault as a whole.
func (r *redisCounter) suspect(err error) {
	select {
	case r.suspicion <- err:
	default: // there is a reason to already
	}
}

// describe is an error as the log may show it. A server may repeat in an error
// what was sent to it, the password too.
func (r *redisCounter) describe(err error) string {
	s := err.Error()
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, "[password]")
	}
	return fmt.Sprintf("%.300s", s)
}

// watch probes Redis during an outage, and uses it again after enough answers in
// a row. It also probes Redis after an unusable answer.
func (r *redisCounter) watch(ctx context.Context) {
	defer close(r.stopped)
	ticker := time.NewTicker(r.timeouts.probe)
	defer ticker.Stop()
	for answered := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		down := r.downSince.Load()
		if down == nil {
			answered = 0
			guard.Do(r.log, "looking at Redis", func() { r.investigate(ctx) })
			continue
		}
		if r.probe(ctx, r.timeouts.request) != nil {
			answered = 0
			if r.cluster != nil {
				r.cluster.ReloadState(ctx) // a replica may have taken over
			}
			continue
		}
		if answered++; answered == r.timeouts.probes {
			answered = 0
			r.downSince.Store(nil)
			r.log.Info("rate limit: Redis is back, counting there again", "after", time.Since(*down).Round(time.Millisecond))
		}
	}
}

// investigate probes Redis if there was an unusable answer. If Redis answers the
// probe, that client alone is counted in memory.
func (r *redisCounter) investigate(ctx context.Context) {
	var unusable error
	select {
	case unusable = <-r.suspicion:
	default:
		return
	}
	if err := r.probe(ctx, r.timeouts.request); err != nil {
		r.fail(err)
		return
	}
	if time.Since(r.lastWarned) >= window {
		r.lastWarned = time.Now()
		r.log.Warn("rate limit: Redis gave no usable answer for a client, whose request was counted in memory", "error", r.describe(unusable))
	}
}

// close ends the watch and the connections. Later requests are counted in
// memory, without a log line.
func (r *redisCounter) close() error {
	r.stop()
	<-r.stopped
	now := time.Now()
	r.downSince.Store(&now)
	r.batches.close()
	return r.redis.Close()
}
