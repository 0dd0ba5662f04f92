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

// keyPrefix and the client's address make the key of a client's log.
const keyPrefix = "quotegate:limit:"

//go:embed take.lua
var takeScript string

// patience is how long Redis is waited for.
type patience struct {
	request time.Duration // for one decision
	start   time.Duration // for the first answer
	probe   time.Duration // between probes while it is away
	proofs  int           // probes in a row it must answer to be trusted again
}

// shared counts clients in Redis while Redis answers.
type shared struct {
	redis     *redis.Client
	script    *redis.Script
	perMinute int
	patience  patience
	log       *slog.Logger

	up   atomic.Bool
	down chan struct{} // wakes watch when up has become false
	stop context.CancelFunc
	done chan struct{} // closed when watch has returned
}

func newShared(ctx context.Context, cfg Config, log *slog.Logger, p patience) *shared {
	// go-redis writes each failed connection to stderr, through a logger the
	// whole process shares. This package says the same once.
	logging.Disable()
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &shared{
		redis:     redis.NewClient(cfg.redisOptions(p)),
		script:    redis.NewScript(takeScript),
		perMinute: cfg.PerMinute,
		patience:  p,
		log:       log,
		down:      make(chan struct{}, 1),
		stop:      stop,
		done:      make(chan struct{}),
	}
	s.up.Store(true)
	if err := s.probe(ctx, p.start); err != nil {
		s.fall(err)
	} else {
		log.Info("rate limit: counting in Redis, shared by all instances")
	}
	go s.watch(life)
	return s
}

// redisOptions reads the URL of a valid configuration.
func (c Config) redisOptions(p patience) *redis.Options {
	o, err := redis.ParseURL(c.RedisURL)
	if err != nil {
		panic("limit: redisOptions of an invalid configuration")
	}
	o.ContextTimeoutEnabled = true // patience is a deadline for all that a decision takes
	o.MaxRetries = -1              // a retry could count a request twice
	o.DialerRetries = 1
	o.DialTimeout = p.start
	o.Protocol = 2                                     // integers are all we exchange,
	o.ReadBufferSize, o.WriteBufferSize = 4<<10, 4<<10 // and few of them
	o.DisableIdentity = true
	return o
}

// take counts a request of c, or refuses it. It answers false when Redis does
// not. A client that hangs up does not cut the question short: its impatience
// is not Redis's failure.
func (s *shared) take(ctx context.Context, c client) (verdict, bool) {
	if !s.up.Load() {
		return verdict{}, false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patience.request)
	defer cancel()
	v, err := s.run(ctx, keyPrefix+c.String(), s.perMinute, window)
	if err != nil {
		s.fall(err)
		return verdict{}, false
	}
	return v, true
}

func (s *shared) run(ctx context.Context, key string, limit int, window time.Duration) (verdict, error) {
	answer, err := s.script.Run(ctx, s.redis, []string{key}, limit, window.Microseconds()).Int64Slice()
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
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := s.run(ctx, keyPrefix+"probe:"+strconv.FormatInt(time.Now().UnixNano(), 36), 1, time.Millisecond)
	return err
}

// fall turns to memory, and says so for the first of the requests that failed.
func (s *shared) fall(err error) {
	if s.up.CompareAndSwap(true, false) {
		s.log.Warn("rate limit: Redis does not answer, counting in memory until it does", "error", err)
		s.down <- struct{}{}
	}
}

// watch waits for Redis to fall and probes until it is back.
func (s *shared) watch(ctx context.Context) {
	defer close(s.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.down:
		}
		fell := time.Now()
		if !s.recovered(ctx) {
			return
		}
		s.up.Store(true)
		s.log.Info("rate limit: Redis is back, counting there again", "after", time.Since(fell).Round(time.Millisecond))
	}
}

// recovered waits until Redis has answered enough probes in a row. It answers
// false when ctx is done before that.
func (s *shared) recovered(ctx context.Context) bool {
	pause := time.NewTicker(s.patience.probe)
	defer pause.Stop()
	for proofs := 0; proofs < s.patience.proofs; {
		select {
		case <-ctx.Done():
			return false
		case <-pause.C:
		}
		if s.probe(ctx, s.patience.request) == nil {
			proofs++
		} else {
			proofs = 0
		}
	}
	return true
}

// close ends the watch and the connections, without calling that an outage.
func (s *shared) close() error {
	s.stop()
	<-s.done
	s.up.Store(false)
	return s.redis.Close()
}
