package limit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quotegate/quotegate/shared/guard"
)

const (
	maxBatch      = 64
	batchesAtOnce = 4

	// patience is how long a batch keeps the next one waiting, so that a late answer
	// delays few.
	patience = 2 * time.Millisecond
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
	ended guard.Group
	log   *slog.Logger
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

func failAll(asks []*ask, err error) {
	for _, a := range asks {
		a.err = err
	}
}

func startBatcher(run func([]*ask), log *slog.Logger) *batcher {
	b := &batcher{
		run: run, queue: make(chan *ask, maxBatch), turn: make(chan struct{}, 1), done: make(chan struct{}), log: log,
	}
	b.asks.New = func() any {
		timer := time.NewTimer(time.Hour)
		timer.Stop()
		return &ask{answered: make(chan struct{}, 1), timer: timer}
	}
	for range batchesAtOnce {
		b.ended.Go(log, "asking Redis", b.work)
	}
	return b
}

// ask waits for the answer to a question, or fails with errLate.
func (b *batcher) ask(q question, timeout time.Duration) (decision, error) {
	a := b.asks.Get().(*ask)
	a.question = q
	a.deadline = time.Now().Add(timeout)
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
		longest := guard.After(patience, b.log, "letting the next batch begin", endTurn)
		err := guard.Try(b.log, "asking Redis", func() error {
			b.run(batch)
			return nil
		})
		if err != nil {
			failAll(batch, err)
		}
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

//go:embed take.lua
var takeScript string

var takeHash = redis.NewScript(takeScript).Hash()

// call is one run of the script, with a key for each question.
type call struct {
	asks  []*ask
	reply *redis.IntSliceCmd
}

// run runs the script for all questions in one round trip, or in two where a server
// does not know the script yet. A cluster allows only one key a run, since the
// keys are on different nodes.
func (r *redisCounter) run(ctx context.Context, asks []*ask, window time.Duration) {
	err := guard.Try(r.log, "the Redis client", func() error {
		r.runAll(ctx, asks, window)
		return nil
	})
	if err != nil {
		failAll(asks, err)
	}
}

func (r *redisCounter) runAll(ctx context.Context, asks []*ask, window time.Duration) {
	var calls []*call
	size := len(asks)
	if r.cluster != nil {
		size = 1
	}
	for some := range slices.Chunk(asks, size) {
		calls = append(calls, &call{asks: some})
	}
	if unknown := r.send(ctx, calls, window, []any{"evalsha", takeHash}); len(unknown) > 0 {
		r.send(ctx, unknown, window, []any{"eval", takeScript})
	}
}

// send makes the calls, and returns those to servers that do not know the script.
func (r *redisCounter) send(
	ctx context.Context, calls []*call, window time.Duration, command []any,
) (unknown []*call) {
	pipe := r.redis.Pipeline()
	for _, c := range calls {
		args := make([]any, 0, 2*len(c.asks)+5)
		args = append(append(args, command...), len(c.asks))
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

// read takes the four numbers that the script returns for each key, if they can be
// true.
func (c *call) read(window time.Duration) {
	numbers, err := c.reply.Result()
	var fromRedis redis.Error
	switch {
	case errors.As(err, &fromRedis):
		err = redisError{err}
	case err == nil && len(numbers) != 4*len(c.asks):
		err = redisError{fmt.Errorf("the script answered %d numbers for %d keys", len(numbers), len(c.asks))}
	}
	for i, a := range c.asks {
		a.err = err
		if err != nil {
			continue
		}
		said := numbers[4*i : 4*i+4] // whether it is allowed, used, wait and stamp
		used, wait := said[1], said[2]
		a.decision = decision{
			allowed: said[0] == 1, used: int(used), wait: time.Duration(wait) * time.Microsecond, stamp: said[3],
		}
		possible := a.decision.allowed == (used < int64(a.question.limit)) &&
			used >= 0 && used <= MaxPerMinute && wait >= 1 && wait <= window.Microseconds()
		if !possible {
			a.err = redisError{fmt.Errorf("the script answered %d, which cannot be true", said)}
		}
	}
}
