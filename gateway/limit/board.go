package limit

import (
	"context"
	"time"

	"github.com/quotegate/quotegate/shared/guard"
)

// boardLife is how long a board is kept that nobody writes to.
const boardLife = 100 * 24 * time.Hour

// Board is a small table in Redis, beside the budgets, in which instances leave word
// for one another while they share nothing else. Its errors need no log line: an
// outage of Redis is told of by the limiter.
type Board struct {
	redis *redisCounter
	key   string
}

// Board returns the table of a name, or nil if there is no Redis.
func (l *Limiter) Board(name string) *Board {
	if l.redis == nil {
		return nil
	}
	return &Board{l.redis, l.redis.prefix + "board:" + name}
}

// Put writes a line in the place of an earlier one with that name.
func (b *Board) Put(ctx context.Context, name, line string) error {
	return guard.Try(b.redis.log, "writing to Redis", func() error {
		pipe := b.redis.redis.Pipeline()
		pipe.HSet(ctx, b.key, name, line)
		pipe.Expire(ctx, b.key, boardLife)
		_, err := pipe.Exec(ctx)
		return err
	})
}

// Remove takes a line away.
func (b *Board) Remove(ctx context.Context, name string) error {
	return guard.Try(b.redis.log, "writing to Redis", func() error {
		return b.redis.redis.HDel(ctx, b.key, name).Err()
	})
}

// All returns every line by its name.
func (b *Board) All(ctx context.Context) (lines map[string]string, err error) {
	err = guard.Try(b.redis.log, "reading from Redis", func() (err error) {
		lines, err = b.redis.redis.HGetAll(ctx, b.key).Result()
		return err
	})
	return lines, err
}
