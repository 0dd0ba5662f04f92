package limit

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/quotegate/quotegate/testdata/journal"
)

// A key of a client that holds something else is replaced, and nobody else
// notices.
func TestABadKeyIsOneBadKey(t *testing.T) {
	s := startRedis(t)
	future := strconv.FormatInt(time.Now().Add(time.Hour).UnixMicro(), 10)
	many := func(n int, value any) []any { return slices.Repeat([]any{value}, n) }
	for name, spoil := range map[string]func(ctx context.Context) error{
		"a string":            func(ctx context.Context) error { return s.Set(ctx, aliceKey, "x", 0).Err() },
		"a hash":              func(ctx context.Context) error { return s.HSet(ctx, aliceKey, "a", 1).Err() },
		"a set":               func(ctx context.Context) error { return s.SAdd(ctx, aliceKey, "a").Err() },
		"words":               func(ctx context.Context) error { return s.RPush(ctx, aliceKey, many(30, "x")...).Err() },
		"no numbers":          func(ctx context.Context) error { return s.RPush(ctx, aliceKey, many(30, "nan")...).Err() },
		"infinite numbers":    func(ctx context.Context) error { return s.RPush(ctx, aliceKey, many(29, "-inf")...).Err() },
		"empty entries":       func(ctx context.Context) error { return s.RPush(ctx, aliceKey, many(30, "")...).Err() },
		"negative numbers":    func(ctx context.Context) error { return s.RPush(ctx, aliceKey, many(30, "-5")...).Err() },
		"longer than any log": func(ctx context.Context) error { return s.RPush(ctx, aliceKey, many(1001, future)...).Err() },
	} {
		t.Run(name, func(t *testing.T) {
			s.FlushAll(t.Context())
			var j journal.Journal
			l := newSharedLimiter(t, s.url(), logTo(&j), newClock(), calm)
			h := guarded(l)
			wantStatus(t, get(h, bob), 200)
			if err := spoil(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i := range 30 {
				w := get(h, alice)
				wantStatus(t, w, 200)
				wantRemaining(t, w, 29-i)
			}
			wantStatus(t, get(h, alice), 429)
			wantRemaining(t, get(h, bob), 28)
			if n := s.LLen(t.Context(), aliceKey).Val(); n != 30 {
				t.Errorf("got %d requests of alice in Redis, want 30", n)
			}
			if !l.isOn(Redis)() || j.Count("level=WARN") != 0 {
				t.Errorf("got %+v and a log of %s, want Redis and no warning", l.Stats(), j.String())
			}
		})
	}
}

// A log that others wrote in disorder refuses nobody for longer than a minute.
func TestADisorderedLog(t *testing.T) {
	s := startRedis(t)
	l := newSharedLimiter(t, s.url(), quiet, newClock(), calm)
	s.write(aliceKey, 15, -time.Hour)
	s.write(aliceKey, 15, time.Second)
	s.write(aliceKey, 10, -time.Hour)
	s.write(aliceKey, 10, time.Hour)
	v, ok := l.redis.take(asked(clientKeyOf(peerOf(alice)), 30))
	if !ok || v.allowed || v.used != 50 || v.wait <= 0 || v.wait > window {
		t.Errorf("got %+v, %v, want a refusal for a minute at most", v, ok)
	}
	s.pass(aliceKey, window)
	if v, ok := l.redis.take(asked(clientKeyOf(peerOf(alice)), 30)); !ok || !v.allowed {
		t.Errorf("got %+v, %v after a minute, want it allowed", v, ok)
	}
}
