// Package usage knows who still calls which version: the calls and the
// distinct clients of the last hour, day and week, and the heaviest clients by
// name.
//
// What it promises:
//   - To count a call takes a fraction of a microsecond, and memory stays below
//     1 MiB for each version, and 1.5 MiB for what other instances say of it,
//     whatever clients send and however many there are.
//   - No address is kept. A client without integrator ID and Origin is known by
//     its software and the hash of its address prefix, under a secret key.
//   - Windows slide by slots of five minutes, an hour and six hours, and cover
//     at least what they say: up to one slot more, never less. Calls are exact.
//     Distinct clients are exact up to about 1,300 in a window, and have a
//     standard error of 1.6 % beyond that. A client that is counted under two
//     keys, as happens for a week after a change of key, counts twice.
//   - Counts outlive the process where there is a file or a Redis, and are those
//     of all instances, up to a minute ago, where there is a Redis. What is lost
//     when a process is killed is half a minute. Neither of the two being away,
//     full or damaged keeps the service from starting or slows a request.
//
// The heaviest clients are found by the space-saving algorithm. It is written
// here because its rows have to slide with the windows and merge with those of
// other instances; the rest of it is forty lines.
package usage

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
)

// every is how often counts are saved and shared.
const every = 30 * time.Second

// Options is what a Census works with.
type Options struct {
	Versions []string         // every version served, in the order to show them
	RedisURL string           // where instances share their counts; empty: they do not
	Now      func() time.Time // time.Now if nil
	Log      *slog.Logger     // slog.Default() if nil
}

// Census counts calls. It is safe for concurrent use.
type Census struct {
	versions []string
	now      func() time.Time
	log      *slog.Logger
	file     string
	started  int64
	since    int64 // when counting began, by our own knowledge
	instance string

	key    atomic.Pointer[key]
	chosen bool // the key is the operator's, and stays
	desks  map[string]*desk
	shared *shared // nil without Redis

	unsaved atomic.Pointer[string] // why the file is not written; nil: it is
	turn    sync.Mutex             // to save, share or collect
	stop    context.CancelFunc
	done    chan struct{}
	once    sync.Once
}

// desk is where the calls of one version are counted.
type desk struct {
	mu   sync.Mutex
	book *book
}

// New reads what there is to remember and starts to save and share. It waits
// up to a second for Redis. An error is one of the configuration: a file that
// cannot be read, or a Redis that is away, is reported to the log and no error.
func New(ctx context.Context, cfg Config, o Options) (*Census, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Census{
		versions: slices.Clone(o.Versions), now: o.Now, log: o.Log, file: cfg.File,
		instance: randomName(), desks: make(map[string]*desk), done: make(chan struct{}),
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.log == nil {
		c.log = slog.Default()
	}
	c.started = c.now().Unix()
	c.since = c.started
	k := randomKey()
	if cfg.Key != "" {
		k, c.chosen = keyFrom(cfg.Key), true
	}
	c.key.Store(&k)
	for _, version := range c.versions {
		c.desks[version] = &desk{book: newBook(maxRows)}
	}
	previous := c.load()
	if o.RedisURL != "" {
		var err error
		if c.shared, err = newShared(o.RedisURL, c, previous); err != nil {
			return nil, err
		}
		first, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		c.collect(first)
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	go c.run(life)
	return c, nil
}

func randomName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: it would end the program
	return hex.EncodeToString(b[:])
}

// Record counts a call that a version has served. Calls that were refused,
// because a version is retired or a client over its limit, do not count: they
// would keep alive what they are refused by.
func (c *Census) Record(version string, id caller.Identity, at time.Time) {
	d := c.desks[version]
	if d == nil {
		return
	}
	k := c.key.Load()
	hash := k.identity(id)
	d.mu.Lock()
	d.book.record(hash, k, id, at.Unix())
	d.mu.Unlock()
}

// Name is how a client is called in the report, and may be in a log: an
// address within it is hashed.
func (c *Census) Name(id caller.Identity) string { return c.key.Load().name(id).String() }

// LastDay gives how many clients made how many calls within the last day, as
// far as known. It asks nobody.
func (c *Census) LastDay(version string) (clients, calls int) {
	d := c.desks[version]
	if d == nil {
		return 0, 0
	}
	now := c.now().Unix()
	d.mu.Lock()
	ring := d.book.rings[day].clone()
	d.mu.Unlock()
	if others := c.others(); others != nil {
		ring.merge(&others.books[version].rings[day], now, func(int) {})
	}
	count := ring.count(now)
	return clamp(count.Clients), clamp(count.Calls)
}

func clamp(n uint64) int { return int(min(n, math.MaxInt)) }

// Since is the time from which on the counts are whole. It is the start of the
// process while Redis, where there is one, has not told what came before.
func (c *Census) Since() time.Time {
	since := c.since
	if c.shared != nil {
		others := c.others()
		if others == nil {
			since = c.started
		} else if others.since != 0 {
			since = min(since, others.since)
		}
	}
	return time.Unix(since, 0).UTC()
}

// others is what other instances said, nil if there is nothing to know.
func (c *Census) others() *others {
	if c.shared == nil {
		return nil
	}
	return c.shared.others.Load()
}

// snapshot copies what is known here.
func (c *Census) snapshot() *state {
	k := c.key.Load()
	s := &state{instance: c.instance, fingerprint: k.fingerprint(), since: c.since, at: c.now().Unix(), books: make(map[string]*book)}
	if !c.chosen {
		s.key = k
	}
	for version, d := range c.desks {
		d.mu.Lock()
		s.books[version] = d.book.clone()
		d.mu.Unlock()
	}
	return s
}

// adopt changes the key that all instances share.
func (c *Census) adopt(k key) {
	c.key.Store(&k)
	for _, d := range c.desks {
		d.mu.Lock()
		d.book.rows.rehash(k)
		d.mu.Unlock()
	}
}

// run saves and shares until the context ends.
func (c *Census) run(ctx context.Context) {
	defer close(c.done)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		c.sync(ctx)
		c.collect(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// collect hears what others have shared.
func (c *Census) collect(ctx context.Context) {
	c.turn.Lock()
	defer c.turn.Unlock()
	if c.shared != nil {
		c.shared.collect(ctx)
	}
}

// sync saves and shares once.
func (c *Census) sync(ctx context.Context) {
	c.turn.Lock()
	defer c.turn.Unlock()
	s := c.snapshot()
	c.save(s)
	if c.shared != nil {
		c.shared.publish(ctx, s)
	}
}

// Close saves and shares a last time, for as long as the context lasts. Calls
// that are recorded later are lost.
func (c *Census) Close(ctx context.Context) {
	c.once.Do(func() {
		c.stop()
		<-c.done
		c.sync(ctx)
		if c.shared != nil {
			_ = c.shared.redis.Close() // there is nothing left to lose
		}
	})
}
