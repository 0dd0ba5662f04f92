// Package cache keeps the answers to lookups, and makes one lookup of a key at a time.
//
// It guarantees:
//   - Concurrent callers with the same key share one lookup. A caller that gives up does not
//     end it for the others.
//   - Memory is bounded. Answers about known keys have room of their own, so that a flood of
//     invented keys evicts only other invented keys.
//   - A panic in a lookup is logged, and is an error for the callers that wait for it.
package cache

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/quotegate/quotegate/shared/safego"
)

// Entry is the answer of a lookup.
type Entry[V any] struct {
	Value V
	Until time.Time // the end of its use
	Known bool      // the key is not invented
}

// Cache has answers by key. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	what          string // of a lookup, for the log
	log           *slog.Logger
	now           func() time.Time
	flights       safego.Singleflight[Entry[V]]
	known, others *lru.Cache[K, Entry[V]]
}

// New makes a cache for so many answers about known keys, and a quarter as many about others,
// most of which are not looked up again. what and log are for a panic in a lookup.
func New[K comparable, V any](size int, now func() time.Time, what string, log *slog.Logger) *Cache[K, V] {
	known, err := lru.New[K, Entry[V]](size)
	if err != nil {
		panic(err) // only for a size below 1
	}
	others, _ := lru.New[K, Entry[V]](max(size/4, 1))
	return &Cache[K, V]{what: what, log: log, now: now, known: known, others: others}
}

// Get is the answer of a key, if it may still be used.
func (c *Cache[K, V]) Get(k K) (a Entry[V], ok bool) {
	a = c.Last(k)
	return a, c.now().Before(a.Until)
}

// Last is the last answer of a key, however old. It is zero if there is none.
func (c *Cache[K, V]) Last(k K) Entry[V] {
	if a, ok := c.known.Get(k); ok {
		return a
	}
	a, _ := c.others.Get(k)
	return a
}

// Ask looks up a key, unless there is an answer that may still be used. An error of ask is
// returned to the waiting callers, and leaves the cached answer as it is. Other errors are
// that of ctx, or a panic of ask.
func (c *Cache[K, V]) Ask(ctx context.Context, k K, ask func() (Entry[V], error)) (Entry[V], error) {
	return c.flights.Ask(ctx, c.log, c.what, text(k), func() (Entry[V], error) {
		// The answer may have come since the caller looked.
		if a, ok := c.Get(k); ok {
			return a, nil
		}
		return c.renew(k, ask)
	})
}

// Renew looks up a key in the background, unless a later answer than this one has come or a
// lookup of the key is in progress.
func (c *Cache[K, V]) Renew(k K, answer Entry[V], ask func() (Entry[V], error)) {
	c.flights.Start(c.log, c.what, text(k), func() (Entry[V], error) {
		// That may have come since the caller looked.
		if a := c.Last(k); a.Until.After(answer.Until) {
			return a, nil
		}
		return c.renew(k, ask)
	})
}

func (c *Cache[K, V]) renew(k K, ask func() (Entry[V], error)) (Entry[V], error) {
	a, err := ask()
	if err != nil {
		return a, err
	}
	tier, other := c.others, c.known
	if a.Known {
		tier, other = c.known, c.others
	}
	tier.Add(k, a)
	other.Remove(k)
	return a, nil
}

// text tells keys apart, as safego.Singleflight needs it.
func text[K comparable](k K) string { return fmt.Sprintf("%#v", k) }
