package limit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/quotegate/quotegate/shared/safego"
)

// timeouts say how long to wait for Redis.
type timeouts struct {
	answer time.Duration // for one decision: REDIS_TIMEOUT
	start  time.Duration // for the first answer
	probe  time.Duration // between two attempts to use it again
}

const (
	startTimeout   = time.Second
	probeEvery     = time.Second
	networkTimeout = time.Second // for a connection, and for what is sent or received at once
	probes         = 3           // have to be answered, until Redis is used again
)

//go:embed count.lua
var countScript string

var countHash = redis.NewScript(countScript).Hash()

// redisCounter counts sources in Redis, for all instances together. After a failure it
// does not ask Redis until some probes were answered.
type redisCounter struct {
	client   redis.UniversalClient
	process  redis.ProcessHook // sends a command with the client
	prefix   string            // of every key
	timeouts timeouts
	log      *slog.Logger
	outages  outageLog

	failed   atomic.Pointer[string] // the key of the failed request; nil while Redis answers
	stop     context.CancelFunc
	watching safego.Group
}

func newRedisCounter(
	ctx context.Context, cfg Config, log *slog.Logger, now func() time.Time, wait timeouts,
) (*redisCounter, error) {
	// go-redis writes each failed connection to stderr, through a logger of the
	// whole process. This package logs the outage once instead.
	logging.Disable()
	connect, err := parseURL(cfg.RedisURL)
	if err != nil {
		return nil, err
	}
	r := &redisCounter{
		client: connect(), prefix: cfg.RedisPrefix + "limit:", timeouts: wait, log: log,
		outages: outageLog{log: log, now: now},
	}
	r.process = r.client.Process
	if server, ok := r.client.(*redis.Client); ok { // Sentinels lead to one server, too
		r.process, err = pipelined(server)
	}
	if err != nil {
		return nil, err
	}
	if err := r.probe(ctx, "", wait.start); err != nil {
		r.fail("", err)
	} else {
		log.Info("rate limit: counting in Redis, shared by all instances")
	}
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	const what = "probing Redis"
	r.watching.Go(log, what, func() {
		safego.Every(ctx, wait.probe, log, what, func() {
			r.resume(ctx)
			r.outages.report(r.up)
		})
	})
	return r, nil
}

// pipelined sends the commands of concurrent requests over one connection, without waiting for
// earlier replies, so that a slow network does not bound how many are decided. A context ends
// the wait for a command, not the command. A Cluster has no pipeline: the client would read its
// replies on goroutines of its own, where a panic ends the process.
func pipelined(server *redis.Client) (redis.ProcessHook, error) {
	pipeline, err := server.AsyncAutoPipelineWithOptions(&redis.AutoPipelineOptions{FullDuplex: true})
	return func(ctx context.Context, cmd redis.Cmder) error {
		return pipeline.Submit(ctx, cmd).WaitContext(ctx)
	}, err
}

func (r *redisCounter) up() bool { return r.failed.Load() == nil }

// allow counts a request, or refuses it. It returns false if Redis does not answer. It
// does not know the request's context: a client that hangs up must not look like a
// failure of Redis.
func (r *redisCounter) allow(from id, limit int) (decision, bool) {
	if !r.up() {
		return decision{}, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.timeouts.answer)
	defer cancel()
	key := r.prefix + from.String()
	d, err := r.run(ctx, key, window, limit)
	if err != nil {
		r.fail(key, err)
		return decision{}, false
	}
	return d, true
}

// run runs the script: one round trip, or two where a server does not know it yet. All
// requests to Redis come through here. A panic of the library is a failure like any other.
func (r *redisCounter) run(ctx context.Context, key string, window time.Duration, limit int) (decision, error) {
	var answer []int64
	err := safego.Try(r.log, "asking Redis", func() error {
		cmd := redis.NewIntSliceCmd(ctx, "evalsha", countHash, 1, key, window.Microseconds(), limit)
		err := r.process(ctx, cmd)
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			cmd = redis.NewIntSliceCmd(ctx, "eval", countScript, 1, key, window.Microseconds(), limit)
			err = r.process(ctx, cmd)
		}
		if err != nil {
			return err // the command may still be under way, and has no result to be read
		}
		answer = cmd.Val()
		return nil
	})
	if err != nil {
		return decision{}, err
	}
	if len(answer) != 3 {
		return decision{}, errors.New("the script did not answer three numbers")
	}
	return decision{
		allowed: answer[0] == 1,
		used:    int(answer[1]),
		wait:    time.Duration(answer[2]) * time.Microsecond,
	}, nil
}

// probe counts on a key that expires at once. Unlike a PING it also fails if Redis cannot
// write, because it is a replica or full. In a Cluster it asks the node that failed: what
// the braces of a key enclose determines where it is.
func (r *redisCounter) probe(ctx context.Context, failed string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := r.run(ctx, r.prefix+"probe:{"+failed+"}", time.Millisecond, MaxPerMinute)
	return err
}

// fail switches to counting in memory. Only the first failure of an outage counts as one. Redis
// repeats the arguments of a command that it does not know, and those of AUTH are the
// password.
func (r *redisCounter) fail(key string, err error) {
	if r.failed.CompareAndSwap(nil, &key) {
		text, _, _ := strings.Cut(err.Error(), ", with args")
		r.outages.failed(fmt.Sprintf("%.300s", text))
		r.outages.report(r.up)
	}
}

// resume uses Redis again after a failure, if it answers all probes.
func (r *redisCounter) resume(ctx context.Context) {
	failed := r.failed.Load()
	if failed == nil {
		return
	}
	for range probes {
		if err := r.probe(ctx, *failed, r.timeouts.answer); err != nil {
			if cluster, ok := r.client.(*redis.ClusterClient); ok {
				cluster.ReloadState(ctx) // a replica may have taken over
			}
			return
		}
	}
	r.failed.Store(nil)
}

// close ends the probes and the connections. Later requests are counted in memory,
// without a log line.
func (r *redisCounter) close() error {
	r.stop()
	r.watching.Wait()
	r.failed.Store(new(string))
	return r.client.Close()
}

// outagePause is the least time between two lines that Redis fails, and between two that it
// responds again.
const outagePause = time.Minute

// outageLog logs when Redis fails and when it responds again. Where a line would come too soon
// after the last one of its kind, a later one tells what holds then, and how often Redis has
// failed since the last line.
type outageLog struct {
	log *slog.Logger
	now func() time.Time

	mu        sync.Mutex
	error     string    // of the last failure
	failures  int       // since the last line
	away      bool      // what the last line says
	lastAway  time.Time // when each line was last logged
	lastAgain time.Time
}

func (o *outageLog) failed(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.error = text
	o.failures++
}

// report logs what no line has said yet, if it is time. It has to be called now and then.
func (o *outageLog) report(up func() bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	away := !up()
	last := &o.lastAgain
	if away {
		last = &o.lastAway
	}
	now := o.now()
	isNew := away != o.away || o.failures > 0
	if !isNew || !last.IsZero() && now.Sub(*last) < outagePause {
		return
	}
	var more []any
	if o.failures > 1 || !away && o.failures > 0 {
		more = append(more, "failures", o.failures)
	}
	if away {
		o.log.Warn("rate limit: Redis does not respond; counting in memory", append(more, "error", o.error)...)
	} else {
		o.log.Info("rate limit: Redis responds again; counting there", more...)
	}
	*last = now
	o.away = away
	o.failures = 0
}
