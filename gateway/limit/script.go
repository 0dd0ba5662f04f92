package limit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quotegate/quotegate/shared/guard"
)

//go:embed take.lua
var takeScript string

// result is what the script decided about a key.
type result struct {
	decision decision
	err      error
}

// unusableAnswer is an answer that decides nothing: an error, or numbers that
// cannot be true. Redis may still answer others.
type unusableAnswer struct{ error }

// call is one run of the script.
type call struct {
	keys      []string
	questions []question // one for each key
	results   []result
	reply     *redis.IntSliceCmd
}

// run runs the script for all questions in one round trip, or in two where a server
// does not know the script yet. A cluster allows only one key a run, since the
// keys are on different nodes.
func (r *redisCounter) run(ctx context.Context, keys []string, questions []question, window time.Duration) (results []result) {
	results = make([]result, len(keys))
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("panic", "in", "the Redis client", "cause", guard.Caught(p))
			for i := range results {
				results[i].err = fmt.Errorf("the Redis client panicked: %v", p)
			}
		}
	}()
	size := len(keys)
	if r.cluster != nil {
		size = 1
	}
	var calls []*call
	for i := 0; i < len(keys); i += size {
		calls = append(calls, &call{keys: keys[i : i+size], questions: questions[i : i+size], results: results[i : i+size]})
	}
	if unknown := r.send(ctx, calls, window, "evalsha", r.script.Hash()); len(unknown) > 0 {
		r.send(ctx, unknown, window, "eval", takeScript)
	}
	return results
}

// send makes the calls, and returns those to servers that do not know the
// script.
func (r *redisCounter) send(ctx context.Context, calls []*call, window time.Duration, command, script string) (unknown []*call) {
	pipe := r.redis.Pipeline()
	for _, c := range calls {
		args := make([]any, 0, 3*len(c.keys)+5)
		args = append(args, command, script, len(c.keys))
		for _, key := range c.keys {
			args = append(args, key)
		}
		args = append(args, window.Microseconds(), MaxPerMinute)
		for _, q := range c.questions {
			polled := 0
			if q.polled {
				polled = q.most()
			}
			args = append(args, q.limit, polled)
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

// read checks the reply: that it has the three numbers which the script returns
// for each key, and that they can be true.
func (c *call) read(window time.Duration) {
	err := c.reply.Err()
	numbers := c.reply.Val()
	var fromRedis redis.Error
	switch {
	case errors.As(err, &fromRedis):
		err = unusableAnswer{err}
	case err == nil && len(numbers) != 3*len(c.keys):
		err = unusableAnswer{fmt.Errorf("the script answered %d numbers for %d keys", len(numbers), len(c.keys))}
	}
	for i := range c.results {
		if err != nil {
			c.results[i] = result{err: err}
			continue
		}
		allowed, used, wait := numbers[3*i], numbers[3*i+1], numbers[3*i+2]
		most := int64(c.questions[i].most())
		accepted := allowed == 1 && used >= 0 && used < most
		refused := allowed == 0 && used >= most && used <= MaxPerMinute
		if !accepted && !refused || wait < 1 || wait > window.Microseconds() {
			c.results[i] = result{err: unusableAnswer{fmt.Errorf("the script answered %d, which cannot be true", numbers[3*i:3*i+3])}}
			continue
		}
		c.results[i] = result{decision: decision{allowed: accepted, used: int(used), wait: time.Duration(wait) * time.Microsecond}}
	}
}
