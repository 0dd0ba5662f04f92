package limit

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
)

// admit asks for one request and returns the headers of the answer.
func admit(t *testing.T, l *Limiter, who Client, polled bool) (http.Header, *fault.Error) {
	t.Helper()
	h := http.Header{}
	return h, l.Admit(t.Context(), h, who, polled)
}

// wantAdmitted checks which of n requests pass, and what the last one was told.
func wantAdmitted(t *testing.T, l *Limiter, who Client, polled bool, n, want int, remaining string) {
	t.Helper()
	got, h := 0, http.Header{}
	for range n {
		var refused *fault.Error
		if h, refused = admit(t, l, who, polled); refused == nil {
			got++
		}
	}
	if got != want || h.Get(headerRemaining) != remaining {
		t.Errorf("polled %v: %d of %d passed with %q remaining, want %d and %q", polled, got, n, h.Get(headerRemaining), want, remaining)
	}
}

var holder = Key(0x1234567890abc, 100)

// limiters are one that counts in memory and one that counts in Redis.
func limiters(t *testing.T, test func(t *testing.T, l *Limiter)) {
	t.Run("memory", func(t *testing.T) { test(t, newTestLimiter(t, Config{PerMinute: 30}, newClock())) })
	t.Run("redis", func(t *testing.T) {
		l := newSharedLimiter(t, startRedis(t).url(), quiet, newClock(), calm)
		test(t, l)
		if got := l.Stats(); got.Backend != Redis {
			t.Errorf("got %+v, want all decided by Redis", got)
		}
	})
}

func TestPollingLeavesHalfToOthers(t *testing.T) {
	limiters(t, func(t *testing.T, l *Limiter) {
		a, b := Address(peerOf(alice)), Address(peerOf(bob))
		wantAdmitted(t, l, a, true, 20, 15, "0")
		wantAdmitted(t, l, a, false, 20, 15, "0")

		wantAdmitted(t, l, b, false, 25, 25, "5") // others may use what polling has not
		wantAdmitted(t, l, b, true, 10, 5, "0")   // and polling what is left
		wantAdmitted(t, l, b, false, 1, 0, "0")
	})
}

func TestAKeyHasABudgetOfItsOwn(t *testing.T) {
	limiters(t, func(t *testing.T, l *Limiter) {
		a := Address(peerOf(alice))
		wantAdmitted(t, l, a, false, 31, 30, "0")
		wantAdmitted(t, l, holder, true, 60, 50, "0")
		wantAdmitted(t, l, holder, false, 60, 50, "0")
		wantAdmitted(t, l, Key(7, 0), false, 31, 30, "0")
		wantAdmitted(t, l, Key(8, 5), false, 31, 5, "0")
	})
}

func TestARefusalSaysWhoseBudgetItIs(t *testing.T) {
	for want, tt := range map[string]struct {
		who    Client
		polled bool
	}{
		"The limit is 30 requests a minute from one address; the next one passes in 60 seconds":               {Address(peerOf(alice)), false},
		"The limit is 15 requests a minute for this path from one address; the next one passes in 60 seconds": {Address(peerOf(alice)), true},
		"The limit is 100 requests a minute with this key; the next one passes in 60 seconds":                 {holder, false},
		"The limit is 1 request a minute for this path with this key; the next one passes in 60 seconds":      {Key(1, 1), true},
	} {
		l := newTestLimiter(t, Config{PerMinute: 30}, newClock())
		for n := 0; ; n++ {
			h, refused := admit(t, l, tt.who, tt.polled)
			if refused == nil && n < MaxPerMinute {
				continue
			}
			if refused == nil || refused.Message != want || h.Get(headerLimit) != fmt.Sprint(n) {
				t.Errorf("got %v and a limit of %s after %d requests, want %q", refused, h.Get(headerLimit), n, want)
			}
			break
		}
	}
}

// polledModel is the rule in its plainest form.
type polledModel []struct {
	at     int64
	polled bool
}

func (m *polledModel) take(now int64, limit int, polled bool) (allowed bool, wait int64) {
	fits := func(now int64) bool {
		all, ofPolled := 0, 0
		for _, r := range *m {
			if now-r.at < windowTicks {
				all++
				if r.polled {
					ofPolled++
				}
			}
		}
		return all < limit && (!polled || ofPolled < max(limit/2, 1))
	}
	if fits(now) {
		*m = append(*m, struct {
			at     int64
			polled bool
		}{now, polled})
		return true, 0
	}
	for _, r := range *m { // the first to leave that makes room
		if leaves := r.at + windowTicks; leaves > now && fits(leaves) {
			return false, leaves - now
		}
	}
	return false, -1
}

// The wait of a refusal is exact, whatever was polled before and whatever the
// limit was.
func TestPollingAgreesWithTheModel(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		m, want, now := newMemory(30), polledModel{}, int64(0)
		limits := []int{1, 2, 7, 30}
		for step := range 500 {
			now += rng.Int64N(windowTicks / 10)
			q := question{client: 1, limit: limits[rng.IntN(len(limits))], polled: rng.IntN(2) == 0}
			v := m.take(q, now)
			allowed, wait := want.take(now, q.limit, q.polled)
			if v.allowed != allowed || !allowed && v.wait != time.Duration(wait)*tick || v.allowed != (v.used < q.most()) {
				t.Fatalf("seed %d, step %d: got %+v to %+v, want allowed %v after %v", seed, step, v, q, allowed, time.Duration(wait)*tick)
			}
			if allowed && rng.IntN(5) == 0 {
				m.giveBack(q, v.at)
				want = want[:len(want)-1]
			}
		}
	}
}

// In Redis a refusal is counted nowhere, and the wait is as in memory.
func TestPollingInRedis(t *testing.T) {
	s := startRedis(t)
	l := newSharedLimiter(t, s.url(), quiet, newClock(), calm)
	const key = keyPrefix + "key:1234567890abc"
	ask := func(polled bool) decision {
		t.Helper()
		v, ok := l.redis.take(question{client: holder.key, limit: 6, polled: polled})
		if !ok {
			t.Fatal("Redis does not answer")
		}
		return v
	}
	for i, polled := range []bool{true, false, true, false, true} {
		if v := ask(polled); !v.allowed {
			t.Fatalf("request %d: got %+v", i+1, v)
		}
	}
	// Three were polled, so that only another request passes.
	if v := ask(true); v.allowed || v.used != 3 || v.wait <= 59*time.Second || v.wait > time.Minute {
		t.Errorf("got %+v, want a refusal until the first has left", v)
	}
	if n := s.LLen(t.Context(), key).Val(); n != 5 {
		t.Errorf("got %d requests in the log, want the 5 that passed", n)
	}
	if v := ask(false); !v.allowed || v.used != 5 {
		t.Errorf("got %+v, want the sixth allowed", v)
	}
	if v := ask(true); v.allowed {
		t.Errorf("got %+v, want a refusal by both limits", v)
	}
	// A clock that is set back keeps the marks.
	entries := s.LRange(t.Context(), key, 0, -1).Val()
	for i, text := range entries {
		s.LSet(t.Context(), key, int64(i), "9"+text)
	}
	if v := ask(true); v.allowed || v.used != 3 {
		t.Errorf("got %+v once the clock was set back, want a refusal", v)
	}
	for i := range int64(2) { // ordinary ones leave, so that the whole has room and the half has not
		s.LSet(t.Context(), key, 1+i, "gone")
		s.LRem(t.Context(), key, 1, "gone")
	}
	if v := ask(true); v.allowed || v.used != 3 {
		t.Errorf("got %+v with three marks left, want a refusal", v)
	}
}

// A log that was large for the holder of a key is not kept for an address.
func TestALargeLogIsNotHandedOn(t *testing.T) {
	m := newMemory(30)
	for i := range m.shards {
		m.shards[i].room = 1
	}
	big := question{client: holder.key, limit: MaxPerMinute}
	for range MaxPerMinute - 1 {
		m.take(big, 0)
	}
	m.take(big, 10)
	m.giveBack(big, m.take(big, windowTicks).at) // now seen once, with room for a thousand
	s := m.shard(holder.key)
	for c := clientKey(1); ; c++ {
		if m.shard(c) != s {
			continue
		}
		m.take(asked(c, 30), windowTicks+1)
		if got := cap(s.logs[c].times); got > 30 {
			t.Errorf("got room for %d requests, want at most 30", got)
		}
		return
	}
}

func BenchmarkPolled(b *testing.B) {
	m := newMemory(30)
	q := question{client: 1, limit: 30, polled: true}
	b.ReportAllocs()
	for now := int64(0); b.Loop(); now += windowTicks / 40 {
		m.take(q, now)
	}
}
