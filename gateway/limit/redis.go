package limit

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

//go:embed take.lua
var takeScript string

// timeouts say how long to wait for Redis.
type timeouts struct {
	request time.Duration // for one decision
	start   time.Duration // for the first answer
	probe   time.Duration // between probes while Redis does not answer
	probes  int           // how many in a row it must answer to be used again
}

// redisCounter counts clients in Redis while Redis answers.
type redisCounter struct {
	redis     redis.UniversalClient
	script    *redis.Script
	prefix    string // of every key; the client's address follows
	perMinute int
	timeouts  timeouts
	log       *slog.Logger

	downSince atomic.Pointer[time.Time] // nil while Redis answers
	stop      context.CancelFunc
	stopped   chan struct{} // closed when watch has returned
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
		perMinute: cfg.PerMinute,
		timeouts:  t,
		log:       log,
		stop:      stop,
		stopped:   make(chan struct{}),
	}
	if err := r.probe(ctx, t.start); err != nil {
		r.fail(err)
	} else {
		log.Info("rate limit: counting in Redis, shared by all instances")
	}
	go r.watch(watching)
	return r
}

func (r *redisCounter) up() bool { return r.downSince.Load() == nil }

// take counts a request of c, or refuses it. It returns false if Redis does not
// answer. It ignores that ctx is cancelled: a client that hangs up must not look
// like a failure of Redis.
func (r *redisCounter) take(ctx context.Context, c clientKey) (decision, bool) {
	if !r.up() {
		return decision{}, false
	}
	v, err := r.run(context.WithoutCancel(ctx), r.timeouts.request, c.String(), r.perMinute, window)
	if err != nil {
		r.fail(err)
		return decision{}, false
	}
	return v, true
}

func (r *redisCounter) run(ctx context.Context, timeout time.Duration, key string, limit int, window time.Duration) (decision, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	reply, err := r.script.Run(ctx, r.redis, []string{r.prefix + key}, limit, window.Microseconds()).Int64Slice()
	if err != nil {
		return decision{}, err
	}
	if len(reply) != 3 {
		return decision{}, fmt.Errorf("the script answered %d numbers, want 3", len(reply))
	}
	return decision{
		allowed: reply[0] == 1,
		used:    int(reply[1]),
		wait:    time.Duration(reply[2]) * time.Microsecond,
	}, nil
}

// probe runs the script on a key that expires at once. Unlike a PING it also
// fails if Redis cannot write, because it is a replica or full.
func (r *redisCounter) probe(ctx context.Context, timeout time.Duration) error {
	_, err := r.run(ctx, timeout, "probe:"+strconv.FormatInt(time.Now().UnixNano(), 36), 1, time.Millisecond)
	return err
}

// fail switches to counting in memory. It logs only the first failure of an
// outage.
func (r *redisCounter) fail(err error) {
	if now := time.Now(); r.downSince.CompareAndSwap(nil, &now) {
		r.log.Warn("rate limit: Redis does not answer, counting in memory until it does", "error", err)
	}
}

// watch probes Redis during an outage, and uses it again after enough answers in
// a row.
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
			continue
		}
		if r.probe(ctx, r.timeouts.request) != nil {
			answered = 0
			if cluster, ok := r.redis.(*redis.ClusterClient); ok {
				cluster.ReloadState(ctx) // a replica may have taken over
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

// close ends the watch and the connections. Later requests are counted in
// memory, without a log line.
func (r *redisCounter) close() error {
	r.stop()
	<-r.stopped
	now := time.Now()
	r.downSince.Store(&now)
	return r.redis.Close()
}
