package limit

import (
	"context"
	"maps"
	"testing"
	"time"
)

// Lines on a board are shared by all instances, and are gone when they are removed.
func TestBoard(t *testing.T) {
	s := startRedis(t)
	open := func() *Limiter {
		l, err := New(t.Context(), Config{PerMinute: 30, RedisURL: s.url()}, quiet, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	a, b := open().Board("usage"), open().Board("usage")
	want := map[string]string{}
	same := func() {
		t.Helper()
		got, err := b.All(t.Context())
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	same()
	for name, line := range map[string]string{"one": "1", "two": "2"} {
		want[name] = line
		if err := a.Put(t.Context(), name, line); err != nil {
			t.Fatal(err)
		}
	}
	same()
	want["one"] = "again"
	delete(want, "two")
	if err := a.Put(t.Context(), "one", "again"); err != nil {
		t.Fatal(err)
	}
	if err := a.Remove(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	same()
	const days = 24 * time.Hour
	if ttl := s.TTL(t.Context(), "limit:board:usage").Val(); ttl < 99*days || ttl > 100*days {
		t.Errorf("the board is kept for %v, want 100 days", ttl)
	}
	s.kill()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := b.All(ctx); err == nil {
		t.Error("lines of a server that is dead")
	}
	alone, err := New(t.Context(), Config{PerMinute: 30}, quiet, time.Now)
	if err != nil || alone.Board("usage") != nil {
		t.Errorf("got a board without Redis, %v", err)
	}
}
