// Package cache remembers answers, and asks each question once at a time.
//
// What it promises:
//   - Callers with the same question at the same time share one answer. A caller
//     that gives up does not end the question for the others.
//   - Memory is bounded. Answers about what is known have a place of their own, so
//     that a flood of invented names evicts only other invented names.
//   - A panic while asking is logged, and is an error for those who wait.
package cache

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/quotegate/quotegate/shared/safego"
)

// Entry is the answer to a question.
type Entry[V any] struct {
	Value V
	Until time.Time // how long the answer is used again
	Known bool      // the name is not invented
}

// Cache remembers answers by what is asked about. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	what          string // is asked, for the log
	log           *slog.Logger
	now           func() time.Time
	flights       safego.Singleflight[Entry[V]]
	known, others *lru.Cache[K, Entry[V]]
}

// New remembers so many answers about what is known, and a quarter as many others,
// most of which nobody asks for again. what and log are for a panic while asking.
func New[K comparable, V any](size int, now func() time.Time, what string, log *slog.Logger) *Cache[K, V] {
	known, err := lru.New[K, Entry[V]](size)
	if err != nil {
		panic(err) // only for a size below 1
	}
	others, _ := lru.New[K, Entry[V]](max(size/4, 1))
	return &Cache[K, V]{what: what, log: log, now: now, known: known, others: others}
}

// Get is the answer that may still be used.
func (c *Cache[K, V]) Get(k K) (a Entry[V], ok bool) {
	a = c.Last(k)
	return a, c.now().Before(a.Until)
}

// Last is the last answer, however old. Its zero value stands for none.
func (c *Cache[K, V]) Last(k K) Entry[V] {
	if a, ok := c.known.Get(k); ok {
		return a
	}
	a, _ := c.others.Get(k)
	return a
}

// Ask asks and remembers, unless there is an answer already. An error of ask is for the
// waiting callers only: what was remembered before stays. Other errors are that of ctx, or a
// panic of ask.
func (c *Cache[K, V]) Ask(ctx context.Context, k K, ask func() (Entry[V], error)) (Entry[V], error) {
	return c.flights.Ask(ctx, c.log, c.what, text(k), func() (Entry[V], error) {
		// The answer may have come since the caller looked.
		if a, ok := c.Get(k); ok {
			return a, nil
		}
		return c.renew(k, ask)
	})
}

// Renew asks in the background, although there is an answer. It does nothing while
// the question is being asked.
func (c *Cache[K, V]) Renew(k K, ask func() (Entry[V], error)) {
	c.flights.Start(c.log, c.what, text(k), func() (Entry[V], error) { return c.renew(k, ask) })
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
