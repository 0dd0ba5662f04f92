package limit

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

func TestRequestLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		perMinute int
		from      Source
		want      int
	}{
		{"ten times the limit", 60, alice, 600},
		{"never below 300", 5, alice, 300},
		{"ten times the key's own limit", 30, Key(1, 200), 2000},
		{"never below 300, with a key", 30, Key(1, 2), 300},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := start(t, Config{PerMinute: tt.perMinute}, quiet, time.Now, patient)
				for range 3 {
					for n := range tt.want {
						if refused := l.AdmitRequest(tt.from); refused != nil {
							t.Fatalf("request %d: got %v, want %d to pass", n+1, refused, tt.want)
						}
					}
					time.Sleep(time.Second / 10)
					refused := l.AdmitRequest(tt.from)
					if refused == nil {
						t.Fatalf("request %d passed", tt.want+1)
					}
					seconds := int(refused.RetryAfter / time.Second)
					want := "Rate limit exceeded: " + strconv.Itoa(tt.want) + " requests of any kind per minute. Retry in " +
						strconv.Itoa(seconds) + " seconds."
					if refused.Message != want || seconds < 1 || seconds > 61 {
						t.Errorf("got %q and %s, want %q", refused.Message, refused.RetryAfter, want)
					}
					if refused := l.AdmitRequest(source(1)); refused != nil {
						t.Errorf("another source: got %v", refused)
					}
					time.Sleep(refused.RetryAfter)
					if refused := l.AdmitRequest(tt.from); refused != nil {
						t.Errorf("after the wait: got %v", refused)
					}
					time.Sleep(2 * window)
				}
			})
		})
	}
}

func TestWindowCounter(t *testing.T) {
	t.Parallel()
	minute := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	for _, tt := range []struct {
		name              string
		next              time.Duration
		current, previous int
	}{
		{"the same minute", 0, 5, 0},
		{"the next", window, 0, 5},
		{"after a pause", 2 * window, 0, 0},
		{"the clock was set back", -time.Hour, 0, 0},
	} {
		c := newWindowCounter(100)
		for n := range 10_050 {
			_, _, _ = c.Get(strconv.Itoa(n), minute, minute.Add(-window))
			late := minute.Add(-window * time.Duration(n%2)) // of a request that waited, and counts all the same
			if err := c.IncrementBy(strconv.Itoa(n), late, 5); err != nil {
				t.Fatal(err)
			}
		}
		if len(c.current) != 100 {
			t.Errorf("got %d sources, want 100 at most", len(c.current))
		}
		start := minute.Add(tt.next)
		current, previous, err := c.Get("10049", start, start.Add(-window))
		if current != tt.current || previous != tt.previous || err != nil {
			t.Errorf("%s: got %d, %d and %v, want %d and %d", tt.name, current, previous, err, tt.current, tt.previous)
		}
	}
}
