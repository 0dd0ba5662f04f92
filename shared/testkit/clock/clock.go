// Package clock is a clock for tests. It stands still until a test moves it.
package clock

import (
	"sync"
	"time"
)

type Clock struct {
	mu     sync.Mutex
	now    time.Time
	jumped map[*time.Location]time.Duration // in all, by the location of the times since then
}

func At(t time.Time) *Clock { return &Clock{now: t} }

func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Jump sets the clock to another time, as an operator or NTP does: no time passes.
func (c *Clock) Jump(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jumped == nil {
		c.jumped = map[*time.Location]time.Duration{}
	}
	since := time.FixedZone("UTC", 0)
	c.jumped[since] = c.jumped[c.now.Location()] + by
	c.now = c.now.Add(by).In(since)
}

// Elapsed is the time that passed between two times of Now, as their monotonic readings would
// tell if it were the system's clock.
func (c *Clock) Elapsed(from, to time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return to.Sub(from) - (c.jumped[to.Location()] - c.jumped[from.Location()])
}

func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
