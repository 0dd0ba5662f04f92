package usage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// What is in Redis: the key all instances hash with, an index of instances by
// the time they last wrote, and the state of each.
const (
	redisKey    = "quotegate:usage:key"
	redisIndex  = "quotegate:usage:instances"
	redisPrefix = "quotegate:usage:state:"

	// keep is how long a state outlives its instance: for as long as a part of
	// it counts.
	keep = 8 * 24 * time.Hour
	// patience is for all that one exchange takes.
	patience = 5 * time.Second
	// maxInstances bounds how many states are read, the latest first.
	maxInstances = 256
	// alive is how long after its last sign an instance is taken to run.
	alive = 5 * time.Minute
	// mostOthers is how many clients of other instances are told apart.
	mostOthers = 2 * maxRows
)

// shared is the part of a Census that talks to Redis.
type shared struct {
	redis    *redis.Client
	census   *Census
	previous string // the name of the process whose counts we took over

	others atomic.Pointer[others]
	down   atomic.Pointer[time.Time] // since when Redis does not answer; nil: it does
}

// others is what the other instances know, merged.
type others struct {
	books     map[string]*book
	since     int64 // the earliest of theirs; 0 for none
	alive     int   // instances
	foreign   int   // states under another key
	unusable  int   // states that cannot be read
	leftOut   bool  // there are more than are read
	collected time.Time
}

func newShared(url string, c *Census, previous string) (*shared, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("REDIS_URL: not a Redis URL") // err would repeat it, and its password
	}
	o.ContextTimeoutEnabled = true
	o.PoolSize = 2
	o.MaxRetries = -1 // the next exchange is the retry
	o.DialerRetries = 1
	o.Protocol = 2
	o.DisableIdentity = true
	logging.Disable() // of failed connections, which this package reports itself
	return &shared{redis: redis.NewClient(o), census: c, previous: previous}, nil
}

// publish leaves our state for the others. The state of the process we
// continue goes in the same step, so that nothing counts twice.
func (s *shared) publish(ctx context.Context, own *state) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	keyless := *own
	keyless.key = nil // it has a place of its own
	data, err := keyless.encode()
	if err == nil {
		err = s.put(ctx, own, data)
	}
	if err == nil {
		s.previous = ""
	}
	s.heard(err)
}

func (s *shared) put(ctx context.Context, own *state, data []byte) error {
	_, err := s.redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, redisPrefix+own.instance, data, keep)
		p.ZAdd(ctx, redisIndex, redis.Z{Score: float64(own.at), Member: own.instance})
		p.ZRemRangeByScore(ctx, redisIndex, "-inf", "("+strconv.FormatInt(own.at-int64(keep/time.Second), 10))
		p.Expire(ctx, redisIndex, keep)
		if s.previous != "" {
			p.Del(ctx, redisPrefix+s.previous)
			p.ZRem(ctx, redisIndex, s.previous)
		}
		return nil
	})
	return err
}

// collect reads what the others left. Without an answer, what they said last
// stands.
func (s *shared) collect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := s.gather(ctx)
	if err == nil {
		s.others.Store(found)
	}
	s.heard(err)
}

func (s *shared) gather(ctx context.Context) (*others, error) {
	if err := s.agree(ctx); err != nil {
		return nil, err
	}
	index, err := s.redis.ZRevRangeWithScores(ctx, redisIndex, 0, maxInstances+1).Result()
	if err != nil {
		return nil, err
	}
	now := s.census.now()
	found := &others{books: make(map[string]*book), collected: now}
	for _, version := range s.census.versions {
		found.books[version] = newBook(mostOthers)
	}
	if len(index) > maxInstances {
		index, found.leftOut = index[:maxInstances], true
	}
	for _, entry := range index {
		name, _ := entry.Member.(string)
		if name == s.census.instance || name == s.previous {
			continue
		}
		data, err := s.redis.GetRange(ctx, redisPrefix+name, 0, maxPacked).Bytes()
		if err != nil {
			return nil, err
		}
		if len(data) == 0 {
			continue // it has expired between the two questions
		}
		found.add(data, s.census, now)
	}
	return found, nil
}

// add merges the state of one instance. One that cannot be used is counted,
// and does not hide the others.
func (o *others) add(data []byte, c *Census, now time.Time) {
	k := *c.key.Load()
	theirs, err := decode(data, c.versions, k)
	if err != nil {
		o.unusable++
		return
	}
	if theirs.fingerprint != k.fingerprint() {
		o.foreign++
	}
	if now.Unix()-theirs.at < int64(alive/time.Second) {
		o.alive++
	}
	if o.since == 0 || theirs.since < o.since {
		o.since = theirs.since
	}
	for version, b := range theirs.books {
		o.books[version].merge(b, now.Unix())
	}
}

// agree has all instances hash with one key: the operator's, else that of the
// first who asked Redis.
func (s *shared) agree(ctx context.Context) error {
	if s.census.chosen {
		return nil
	}
	own := *s.census.key.Load()
	if err := s.redis.SetNX(ctx, redisKey, own.String(), 0).Err(); err != nil {
		return err
	}
	text, err := s.redis.GetRange(ctx, redisKey, 0, 64).Result()
	if err != nil {
		return err
	}
	common, err := parseKey(text)
	if err != nil {
		return fmt.Errorf("%s does not hold a key: %w", redisKey, err)
	}
	if common != own {
		s.census.adopt(common)
	}
	return nil
}

// heard notes whether Redis answers, and says in the log when that changes. An
// exchange that we broke off ourselves proves nothing.
func (s *shared) heard(err error) {
	down := s.down.Load()
	switch {
	case errors.Is(err, context.Canceled):
	case err != nil && down == nil:
		now := s.census.now().UTC()
		s.down.Store(&now)
		s.census.log.Warn("usage: Redis does not answer; other instances count with what they said last", "error", err)
	case err == nil && down != nil:
		s.down.Store(nil)
		s.census.log.Info("usage: Redis answers again", "down", down.Format(time.RFC3339))
	}
}
