package integrator

import (
	"encoding/binary"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/quotegate/quotegate/shared/chain"
)

// key is what an answer is about.
type key struct {
	network chain.ID
	id      ID
}

// text is the key as singleflight wants it.
func (k key) text() string {
	return string(append(binary.BigEndian.AppendUint64(nil, uint64(k.network)), k.id[:]...))
}

// cache remembers answers for a while.
//
// Active integrators are kept apart from everyone else, so that a flood of
// invented IDs evicts only other invented IDs. Every answer carries the time of
// its question and is judged by it. The library's expirable variant would not
// do: it reads the clock itself, the goroutine it starts cannot be stopped, and
// it forgets who was a partner, which known needs.
type cache struct {
	ttl time.Duration
	now func() time.Time

	partners, others *lru.Cache[key, answer]
}

func newCache(size int, ttl time.Duration, now func() time.Time) (*cache, error) {
	partners, err := lru.New[key, answer](size)
	if err != nil {
		return nil, err
	}
	others, err := lru.New[key, answer](size)
	if err != nil {
		return nil, err
	}
	return &cache{ttl, now, partners, others}, nil
}

// get gives the answer to k while its time lasts.
func (c *cache) get(k key) (answer, bool) {
	now := c.now()
	for _, remembered := range [...]*lru.Cache[key, answer]{c.partners, c.others} {
		if a, ok := remembered.Get(k); ok && now.Sub(a.asked) < c.ttl {
			return a, true
		}
	}
	return answer{}, false
}

// known tells whether k was a partner when last asked for, however long ago.
func (c *cache) known(k key) bool { return c.partners.Contains(k) }

func (c *cache) add(k key, a answer) {
	if a.standing == active {
		c.partners.Add(k, a)
		c.others.Remove(k)
	} else {
		c.others.Add(k, a)
		c.partners.Remove(k)
	}
}
