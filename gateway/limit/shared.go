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

// timeouts are how long Redis is waited for.
type timeouts struct {
	request time.Duration // for one decision
	start   time.Duration // for the first answer
	probe   time.Duration // between probes while it is away
	probes  int           // how many in a row it must answer to be used again
}

// shared counts clients in Redis while Redis answers.
type shared struct {
	redis     *redis.Client
	script    *redis.Script
	prefix    string // of every key; the client's address follows
	perMinute int
	timeouts  timeouts
	log       *slog.Logger

	downSince atomic.Pointer[time.Time] // nil while Redis answers
	stop      context.CancelFunc
	stopped   chan struct{} // closed when watch has returned
}

func newShared(ctx context.Context, cfg Config, log *slog.Logger, t timeouts) *shared {
	// go-redis writes each failed connection to stderr, through a logger the
	// whole process shares. This package says the same once.
	logging.Disable()
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &shared{
		redis:     redis.NewClient(cfg.redisOptions(t)),
		script:    redis.NewScript(takeScript),
		prefix:    cfg.RedisPrefix + "limit:",
		perMinute: cfg.PerMinute,
		timeouts:  t,
		log:       log,
		stop:      stop,
		stopped:   make(chan struct{}),
	}
	if err := s.probe(ctx, t.start); err != nil {
		s.fail(err)
	} else {
		log.Info("rate limit: counting in Redis, shared by all instances")
	}
	go s.watch(watching)
	return s
}

// redisOptions reads the URL of a valid configuration.
func (c Config) redisOptions(t timeouts) *redis.Options {
	o, err := redis.ParseURL(c.RedisURL)
	if err != nil {
		panic("limit: redisOptions of an invalid configuration")
	}
	o.ContextTimeoutEnabled = true // a timeout is for all that a decision takes
	o.MaxRetries = -1              // a retry could count a request twice
	o.DialerRetries = 1
	o.DialTimeout = t.start
	o.Protocol = 2                                     // only a few integers
	o.ReadBufferSize, o.WriteBufferSize = 4<<10, 4<<10 // are exchanged
	o.DisableIdentity = true
	return o
}

func (s *shared) up() bool { return s.downSince.Load() == nil }

// take counts a request of c, or refuses it. It answers false when Redis does
// not. It goes on when the client hangs up, which is no failure of Redis.
func (s *shared) take(ctx context.Context, c client) (verdict, bool) {
	if !s.up() {
		return verdict{}, false
	}
	v, err := s.run(context.WithoutCancel(ctx), s.timeouts.request, c.String(), s.perMinute, window)
	if err != nil {
		s.fail(err)
		return verdict{}, false
	}
	return v, true
}

func (s *shared) run(ctx context.Context, timeout time.Duration, key string, limit int, window time.Duration) (verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, err := s.script.Run(ctx, s.redis, []string{s.prefix + key}, limit, window.Microseconds()).Int64Slice()
	if err != nil {
		return verdict{}, err
	}
	if len(answer) != 3 {
		return verdict{}, fmt.Errorf("the script answered %d numbers, want 3", len(answer))
	}
	return verdict{
		allowed: answer[0] == 1,
		used:    int(answer[1]),
		wait:    time.Duration(answer[2]) * time.Microsecond,
	}, nil
}

// probe runs the script on a key of its own that is gone at once. Unlike a PING
// it also fails where Redis may not write: a replica, or one that is full.
func (s *shared) probe(ctx context.Context, timeout time.Duration) error {
	_, err := s.run(ctx, timeout, "probe:"+strconv.FormatInt(time.Now().UnixNano(), 36), 1, time.Millisecond)
	return err
}

// fail turns to memory. Of all the requests that Redis fails, only the first is
// logged.
func (s *shared) fail(err error) {
	if now := time.Now(); s.downSince.CompareAndSwap(nil, &now) {
		s.log.Warn("rate limit: Redis does not answer, counting in memory until it does", "error", err)
	}
}

// watch probes Redis while it is away, and returns to it once it has answered
// enough probes in a row.
func (s *shared) watch(ctx context.Context) {
	defer close(s.stopped)
	ticker := time.NewTicker(s.timeouts.probe)
	defer ticker.Stop()
	for answered := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		down := s.downSince.Load()
		if down == nil || s.probe(ctx, s.timeouts.request) != nil {
			answered = 0
			continue
		}
		if answered++; answered == s.timeouts.probes {
			answered = 0
			s.downSince.Store(nil)
			s.log.Info("rate limit: Redis is back, counting there again", "after", time.Since(*down).Round(time.Millisecond))
		}
	}
}

// close ends the watch and the connections. Requests that still come are
// counted in memory, and nothing is logged.
func (s *shared) close() error {
	s.stop()
	<-s.stopped
	now := time.Now()
	s.downSince.Store(&now)
	return s.redis.Close()
}
