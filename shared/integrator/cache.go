package integrator

import (
	"encoding/binary"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/quotegate/quotegate/shared/chain"
)

// lookupKey is an integrator on a chain.
type lookupKey struct {
	network chain.ID
	id      ID
}

// text is the key as singleflight needs it.
func (k lookupKey) text() string {
	return string(append(binary.BigEndian.AppendUint64(nil, uint64(k.network)), k.id[:]...))
}

// cache keeps registrations until ttl after the registry was asked.
//
// Active integrators have a cache of their own, so that a flood of invented IDs
// evicts only other invented IDs. The library's expirable variant does not fit:
// it reads the clock itself, its goroutine cannot be stopped, and it drops
// expired entries, which wasPartner needs.
type cache struct {
	ttl time.Duration
	now func() time.Time

	partners, others *lru.Cache[lookupKey, registration]
}

func newCache(size int, ttl time.Duration, now func() time.Time) (*cache, error) {
	partners, err := lru.New[lookupKey, registration](size)
	if err != nil {
		return nil, err
	}
	others, err := lru.New[lookupKey, registration](size)
	if err != nil {
		return nil, err
	}
	return &cache{ttl, now, partners, others}, nil
}

// get returns the registration of k unless it is too old.
func (c *cache) get(k lookupKey) (registration, bool) {
	now := c.now()
	for _, entries := range [...]*lru.Cache[lookupKey, registration]{c.partners, c.others} {
		if reg, ok := entries.Get(k); ok && now.Before(reg.partner.FreshUntil) {
			return reg, true
		}
	}
	return registration{}, false
}

// wasPartner reports whether k was active when last asked for, however long ago.
func (c *cache) wasPartner(k lookupKey) bool { return c.partners.Contains(k) }

func (c *cache) add(k lookupKey, reg registration) {
	if reg.standing == active {
		c.partners.Add(k, reg)
		c.others.Remove(k)
	} else {
		c.others.Add(k, reg)
		c.partners.Remove(k)
	}
}
