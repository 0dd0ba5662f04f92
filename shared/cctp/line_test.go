package cctp

import (
	"context"
	"strings"
	"testing"
	"time"
)

// Fifty burns at once wait in line, within their deadline. Who has no turn before it is
// refused at once, and takes nobody's place.
func TestMessagesLine(t *testing.T) {
	now := time.Now()
	line := func(c *client, patience time.Duration, burns int) (served int, last time.Duration) {
		ctx, cancel := context.WithDeadline(t.Context(), now.Add(patience))
		defer cancel()
		for range burns {
			wait, err := c.reserve(ctx, now)
			if err == nil {
				served++
				last = max(last, wait)
			} else if !strings.Contains(err.Error(), "too many requests are queued") {
				t.Errorf("got %v", err)
			}
		}
		return served, last
	}
	for name, test := range map[string]struct {
		blocked  time.Time
		patience time.Duration
		served   int
		last     time.Duration
	}{
		"a look-up":       {time.Time{}, 9 * time.Second, 50, 4900 * time.Millisecond},
		"in a hurry":      {time.Time{}, 3 * time.Second, 21, 2 * time.Second},
		"too late":        {time.Time{}, time.Millisecond, 1, 0},
		"after a block":   {now.Add(-time.Minute), 9 * time.Second, 17, 8 * time.Second},
		"not yet over":    {now.Add(1 - 10*time.Minute), 9 * time.Second, 17, 8 * time.Second},
		"just over":       {now.Add(-10 * time.Minute), 9 * time.Second, 50, 4900 * time.Millisecond},
		"long after that": {now.Add(-time.Hour), 9 * time.Second, 50, 4900 * time.Millisecond},
	} {
		c := &client{blocked: test.blocked}
		if served, last := line(c, test.patience, 50); served != test.served || last != test.last {
			t.Errorf("%s: %d of 50 have a turn, the last in %v, want %d in %v", name, served, last, test.served, test.last)
		}
	}
	c := &client{blocked: now.Add(7 * time.Minute), refusal: &failure{reason: "status 429", until: now.Add(7 * time.Minute)}}
	_, err := c.reserve(t.Context(), now)
	if wait := BlockedFor(err); wait < 6*time.Minute || wait > 7*time.Minute || !c.next.IsZero() {
		t.Errorf("got %v, for %v, while the service blocks us", err, wait)
	}
	if got := BlockedFor(errNotFound); got != 0 {
		t.Errorf("another failure blocks us for %v", got)
	}
}
