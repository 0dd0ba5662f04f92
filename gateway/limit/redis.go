package limit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/quotegate/quotegate/shared/guard"
)

//go:embed take.lua
var takeScript string

var takeHash = redis.NewScript(takeScript).Hash()

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
	watching   sync.WaitGroup
}

// redisError is an error that Redis answered. It may still answer others.
type redisError struct{ error }

func newRedisCounter(ctx context.Context, cfg Config, log *slog.Logger, t timeouts) *redisCounter {
	// go-redis writes each failed connection to stderr, through a logger of the
	// whole process. This package logs the outage once instead.
	logging.Disable()
	target, err := parseRedisURL(cfg.RedisURL)
	if err != nil { // Validate has accepted it
		panic(err)
	}
	r := &redisCounter{redis: target.connect(t), prefix: cfg.RedisPrefix + "limit:", timeouts: t, log: log, secrets: target.passwords}
	r.cluster, _ = r.redis.(*redis.ClusterClient)
	r.batches = startBatcher(r.askAll)
	if err := r.probe(ctx, t.start); err != nil {
		r.fail(question{}, err)
	} else {
		log.Info("rate limit: counting in Redis, shared by all instances")
	}
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	r.watching.Go(func() { guard.Every(ctx, t.probe, log, "looking at Redis", func() { r.watch(ctx) }) })
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
			r.log.Warn("rate limit: Redis gave no usable answer for a client, whose request was counted in memory", "error", r.describe(refused))
		}
	case err != nil:
		r.answered = 0
		if r.cluster != nil {
			r.cluster.ReloadState(ctx) // a replica may have taken over
		}
	default:
		if r.answered++; r.answered == r.timeouts.probes {
			r.answered = 0
			r.downSince.Store(nil)
			r.log.Info("rate limit: Redis is back, counting there again", "after", time.Since(*down).Round(time.Millisecond))
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

// call is one run of the script, with a key for each question.
type call struct {
	asks  []*ask
	reply *redis.IntSliceCmd
}

// run runs the script for all questions in one round trip, or in two where a server
// does not know the script yet. A cluster allows only one key a run, since the
// keys are on different nodes.
func (r *redisCounter) run(ctx context.Context, asks []*ask, window time.Duration) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("panic", "in", "the Redis client", "cause", guard.Caught(p))
			for _, a := range asks {
				a.err = fmt.Errorf("the Redis client panicked: %v", p)
			}
		}
	}()
	var calls []*call
	size := len(asks)
	if r.cluster != nil {
		size = 1
	}
	for some := range slices.Chunk(asks, size) {
		calls = append(calls, &call{asks: some})
	}
	if unknown := r.send(ctx, calls, window, "evalsha", takeHash); len(unknown) > 0 {
		r.send(ctx, unknown, window, "eval", takeScript)
	}
}

// send makes the calls, and returns those to servers that do not know the script.
func (r *redisCounter) send(ctx context.Context, calls []*call, window time.Duration, command, script string) (unknown []*call) {
	pipe := r.redis.Pipeline()
	for _, c := range calls {
		args := make([]any, 0, 2*len(c.asks)+5)
		args = append(args, command, script, len(c.asks))
		for _, a := range c.asks {
			args = append(args, a.key)
		}
		args = append(args, window.Microseconds(), MaxPerMinute)
		for _, a := range c.asks {
			args = append(args, a.question.limit)
		}
		c.reply = redis.NewIntSliceCmd(ctx, args...)
		_ = pipe.Process(ctx, c.reply) // only queues it
	}
	_, err := pipe.Exec(ctx)
	for _, c := range calls {
		if c.reply.Err() == nil && c.reply.Val() == nil {
			c.reply.SetErr(err) // without a connection go-redis leaves the replies empty
		}
		c.read(window)
		if redis.HasErrorPrefix(c.reply.Err(), "NOSCRIPT") {
			unknown = append(unknown, c)
		}
	}
	return unknown
}

// read takes the three numbers that the script returns for each key, if they can be
// true.
func (c *call) read(window time.Duration) {
	numbers, err := c.reply.Result()
	var fromRedis redis.Error
	switch {
	case errors.As(err, &fromRedis):
		err = redisError{err}
	case err == nil && len(numbers) != 3*len(c.asks):
		err = redisError{fmt.Errorf("the script answered %d numbers for %d keys", len(numbers), len(c.asks))}
	}
	for i, a := range c.asks {
		if a.err = err; err != nil {
			continue
		}
		allowed, used, wait := numbers[3*i], numbers[3*i+1], numbers[3*i+2]
		a.decision = decision{allowed: allowed == 1, used: int(used), wait: time.Duration(wait) * time.Microsecond}
		if a.decision.allowed != (used < int64(a.question.limit)) || used < 0 || used > MaxPerMinute || wait < 1 || wait > window.Microseconds() {
			a.err = redisError{fmt.Errorf("the script answered %d, which cannot be true", numbers[3*i:3*i+3])}
		}
	}
}

const (
	maxBatch      = 64
	batchesAtOnce = 4
	patience      = 2 * time.Millisecond // how long a batch keeps the next one waiting, so that a late answer delays few
)

// batcher puts the questions of requests that run at the same time together,
// since a round trip to Redis costs much more than a decision. A request that is
// alone does not wait for others.
type batcher struct {
	run   func(batch []*ask) // sets the decision or the error of each
	queue chan *ask
	turn  chan struct{} // is full while a batch gathers, or keeps the next one waiting
	asks  sync.Pool     // of *ask
	done  chan struct{}
	ended sync.WaitGroup
}

// ask is one question and its answer.
type ask struct {
	question question
	key      string // of the budget in Redis
	deadline time.Time
	timer    *time.Timer // for the deadline

	answered chan struct{} // has room for one; the answer is set before
	decision decision
	err      error // why there is no decision
}

// errLate is the error of a question that was not answered in time.
var errLate = errors.New("no answer in time")

func startBatcher(run func([]*ask)) *batcher {
	b := &batcher{run: run, queue: make(chan *ask, maxBatch), turn: make(chan struct{}, 1), done: make(chan struct{})}
	b.asks.New = func() any {
		timer := time.NewTimer(time.Hour)
		timer.Stop()
		return &ask{answered: make(chan struct{}, 1), timer: timer}
	}
	for range batchesAtOnce {
		b.ended.Go(b.work)
	}
	return b
}

// ask waits for the answer to a question, or fails with errLate.
func (b *batcher) ask(q question, timeout time.Duration) (decision, error) {
	a := b.asks.Get().(*ask)
	a.question, a.deadline = q, time.Now().Add(timeout)
	a.timer.Reset(timeout)
	select {
	case b.queue <- a:
	case <-a.timer.C:
		b.asks.Put(a)
		return decision{}, errLate
	}
	select {
	case <-a.answered:
		a.timer.Stop()
		defer b.asks.Put(a)
		return a.decision, a.err
	case <-a.timer.C: // a may still be answered, so it is not used again
		return decision{}, errLate
	}
}

func (b *batcher) work() {
	batch := make([]*ask, 0, maxBatch)
	endTurn := func() { <-b.turn }
	for {
		b.turn <- struct{}{}
		select {
		case <-b.done:
			endTurn()
			return
		case a := <-b.queue:
			batch = b.gather(append(batch[:0], a))
		}
		longest := time.AfterFunc(patience, endTurn)
		b.run(batch)
		if longest.Stop() {
			endTurn()
		}
		for _, a := range batch {
			a.answered <- struct{}{}
		}
	}
}

// gather adds the questions that wait, and those of requests that are about to ask.
func (b *batcher) gather(batch []*ask) []*ask {
	runtime.Gosched()
	for len(batch) < maxBatch {
		select {
		case a := <-b.queue:
			batch = append(batch, a)
		default:
			return batch
		}
	}
	return batch
}

// close waits for the batches under way. Questions asked later get no answer.
func (b *batcher) close() {
	close(b.done)
	b.ended.Wait()
}

const (
	// MaxPerMinute is the highest limit. It keeps the log of one client small.
	MaxPerMinute = 1000

	maxPrefix = 64 // bytes; it is part of every key in Redis
)

// Config is read from the environment. Its zero value does not limit.
type Config struct {
	PerMinute int    `env:"RATE_LIMIT, default=30"`     // requests a minute per client; 0 turns limiting off
	RedisURL  string `env:"REDIS_URL" setting:"secret"` // where instances share budgets; empty keeps them in memory

	// RedisPrefix begins every key, so that deployments can share a Redis
	// without sharing budgets. It may be empty: the keys then begin with
	// "limit:".
	RedisPrefix string `env:"REDIS_PREFIX, default=quotegate:"`
}

// Validate reports every problem at once, each naming its variable. It never
// repeats REDIS_URL, which may hold a password.
func (c Config) Validate() error {
	var problems []error
	if c.PerMinute < 0 || c.PerMinute > MaxPerMinute {
		problems = append(problems, fmt.Errorf("RATE_LIMIT: %d is not a number of requests a minute from 1 to %d, or 0 for no limit", c.PerMinute, MaxPerMinute))
	}
	if c.RedisURL != "" {
		if _, err := parseRedisURL(c.RedisURL); err != nil {
			problems = append(problems, fmt.Errorf("REDIS_URL: %w", err))
		}
	}
	if len(c.RedisPrefix) > maxPrefix || strings.ContainsFunc(c.RedisPrefix, func(r rune) bool { return r <= ' ' || r > '~' }) {
		problems = append(problems, fmt.Errorf("REDIS_PREFIX: %.80q must be at most %d characters, all of them printable ASCII and none a space", c.RedisPrefix, maxPrefix))
	}
	return errors.Join(problems...)
}

// redisTarget is what REDIS_URL names, in the forms of go-redis: a server, the
// Sentinels that know it, or a Cluster.
type redisTarget struct {
	server    *redis.Options // one of the three is set
	sentinels *redis.FailoverOptions
	cluster   *redis.ClusterOptions
	passwords []string
}

// The message never repeats the URL, which may hold a password.
var errRedisURL = errors.New("not a Redis URL; want redis://user:password@host:6379/0, rediss:// for TLS, or unix:///path/to/socket; " +
	"for Sentinel redis://host:26379/0?master_name=name&addr=host:26379&username=user&password=password, where a password before the host is the Sentinels' own; " +
	"for a Cluster redis://user:password@host:6379?addr=host:6379, with one addr or more for further nodes and no database, as a Cluster has only 0; " +
	"special characters in a password are percent-encoded")

func parseRedisURL(text string) (t redisTarget, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return t, errRedisURL
	}
	var ok bool
	switch query := u.Query(); {
	case query.Has("master_name"):
		if t.sentinels, err = redis.ParseFailoverURL(text); err == nil {
			ok = t.sentinels.MasterName != "" && t.sentinels.DB >= 0 && validAddresses(t.sentinels.SentinelAddrs...)
			t.passwords = []string{t.sentinels.Password, t.sentinels.SentinelPassword}
		}
	case query.Has("addr"):
		if t.cluster, err = redis.ParseClusterURL(text); err == nil {
			ok = strings.Trim(u.Path, "/") == "" && validAddresses(t.cluster.Addrs...)
			t.passwords = []string{t.cluster.Password}
		}
	default:
		if t.server, err = redis.ParseURL(text); err == nil {
			ok = t.server.DB >= 0 && (t.server.Network == "unix" || validAddresses(t.server.Addr))
			t.passwords = []string{t.server.Password}
		}
	}
	if !ok {
		return t, errRedisURL
	}
	return t, nil
}

func validAddresses(all ...string) bool {
	for _, addr := range all {
		host, port, err := net.SplitHostPort(addr)
		number, bad := strconv.ParseUint(port, 10, 16)
		if err != nil || bad != nil || number == 0 || strings.Contains(host, ",") {
			return false
		}
	}
	return true
}

// connect makes the client. It does not wait for a connection. A retry is never
// made, as it could count a request twice. The timeout of a decision covers all of
// it. Everything is a pipeline, so that one pool of connections is enough.
func (t redisTarget) connect(limits timeouts) redis.UniversalClient {
	const buffer = 16 << 10 // a batch of requests or replies
	tune := func(o *redis.Options) *redis.Client {
		o.ContextTimeoutEnabled, o.DialTimeout = true, limits.start
		o.MaxRetries, o.DialerRetries, o.PipelinePoolSize = -1, 1, -1
		o.ReadBufferSize, o.WriteBufferSize = buffer, buffer
		o.Protocol, o.DisableIdentity = 2, true
		return redis.NewClient(o)
	}
	switch {
	case t.sentinels != nil:
		o := *t.sentinels
		if o.TLSConfig != nil {
			o.TLSConfig.ServerName = "" // of the first host; it is derived from each address instead
		}
		o.ContextTimeoutEnabled, o.DialTimeout = true, limits.start
		o.MaxRetries, o.DialerRetries, o.PipelinePoolSize = -1, 1, -1
		o.ReadBufferSize, o.WriteBufferSize = buffer, buffer
		o.Protocol, o.DisableIdentity = 2, true
		o.ReplicaOnly, o.RouteByLatency, o.RouteRandomly = false, false, false // a replica cannot count
		return redis.NewFailoverClient(&o)
	case t.cluster != nil:
		o := *t.cluster
		if o.TLSConfig != nil {
			o.TLSConfig.ServerName = "" // as above
		}
		o.ContextTimeoutEnabled, o.MaxRedirects, o.NewClient = true, -1, tune
		o.ReadOnly, o.RouteByLatency, o.RouteRandomly = false, false, false // as above
		return redis.NewClusterClient(&o)
	}
	return tune(t.server)
}
