package limit

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"
)

// span is what an observer outside sees of an accepted request: when it was sent, and
// when the answer came. It was accepted at some time between.
type span struct{ sent, answered time.Time }

// wantExact checks accepted requests, which were sent one after the other: never more
// than the limit lie within less than a minute, from the sending of the first to the
// answer to the last.
func wantExact(t *testing.T, accepted []span, limit int) {
	t.Helper()
	for i := limit; i < len(accepted); i++ {
		first, last := accepted[i-limit], accepted[i]
		if took := last.answered.Sub(first.sent); took < window {
			t.Fatalf("requests %d to %d were accepted within %v, want a minute", i-limit+1, i+1, took)
		}
	}
}

// A process that stalls before and after it reads the clock, for whatever time, accepts
// no request too many: those of two bursts and what follows, and those of a client that
// asks all the time.
func TestStallsAroundTheClock(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 7))
	stall := func() time.Duration {
		if rng.IntN(4) > 0 {
			return 0
		}
		return time.Duration(rng.Int64N(int64(5 * time.Second)))
	}
	for range 300 {
		c := newClock()
		l, err := New(t.Context(), Config{PerMinute: 30}, quiet, func() time.Time {
			c.advance(stall())
			read := c.now()
			c.advance(stall())
			return read
		})
		if err != nil {
			t.Fatal(err)
		}
		var accepted []span
		start := c.now()
		send := func(n int, at time.Duration) {
			c.advance(max(0, at-c.now().Sub(start)))
			for range n {
				sent := c.now()
				if l.Admit(http.Header{}, Address(peerOf(alice))) == nil {
					accepted = append(accepted, span{sent, c.now()})
				}
			}
		}
		send(15, 0)
		send(16, 30*time.Second)
		for at := 58 * time.Second; at < 5*time.Minute; at += time.Duration(rng.Int64N(int64(3 * time.Second))) {
			send(1, at)
		}
		if len(accepted) < 60 {
			t.Fatalf("only %d were accepted", len(accepted))
		}
		wantExact(t, accepted, 30)
	}
}

// A request that waits for the lock of its budget is counted when it is accepted. Had
// the clock been read before, it would leave the minute 30 seconds too early.
func TestStallBeforeTheLock(t *testing.T) {
	c := newClock()
	l := newTestLimiter(t, Config{PerMinute: 30}, c)
	h := guarded(l)
	shard := l.memory.shard(asked(clientKeyOf(peerOf(alice)), 30))
	shard.mu.Lock()
	var stalled sync.WaitGroup
	stalled.Go(func() { wantPassed(t, get(h, alice).Code) })
	time.Sleep(10 * time.Millisecond) // so that it most likely waits for the lock
	c.advance(30 * time.Second)
	shard.mu.Unlock()
	stalled.Wait()
	for range 29 {
		wantStatus(t, get(h, alice), 200)
	}
	wantStatus(t, get(h, alice), 429)
	c.advance(30 * time.Second)
	wantStatus(t, get(h, alice), 429)
	c.advance(30 * time.Second)
	wantStatus(t, get(h, alice), 200)
}

func wantPassed(t *testing.T, code int) {
	t.Helper()
	if code != http.StatusOK {
		t.Errorf("got %d, want 200", code)
	}
}

// A question that takes 30 seconds on its way to Redis is counted when it arrives there.
func TestStallOnTheWayToRedis(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	relay := startRelay(t, s.addr)
	c := newClock()
	h := guarded(newSharedLimiter(t, "redis://"+relay.addr, quiet, c, calm))
	other := guarded(newSharedLimiter(t, s.url(), quiet, newClock(), calm))
	relay.hold("203.0.113.1")
	var stalled sync.WaitGroup
	stalled.Go(func() { wantPassed(t, get(h, alice).Code) })
	<-relay.held
	c.advance(30 * time.Second)
	close(relay.release)
	stalled.Wait()
	relay.hold("")
	for range 29 {
		wantStatus(t, get(other, alice), 200)
	}
	s.pass(aliceKey, 31*time.Second) // 61 seconds after the first was sent, about 31 after it was counted
	wantStatus(t, get(other, alice), 429)
}

// The key of a budget is there as long as its newest request counts, however long the
// script takes after it has read the clock.
func TestTheKeyOutlivesItsRequests(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	l := newSharedLimiter(t, s.url(), quiet, newClock(), calm)
	for range 50 {
		wantStatus(t, get(guarded(l), alice), 200)
		newest, err := s.LIndex(t.Context(), aliceKey, -1).Int64()
		if err != nil {
			t.Fatal(err)
		}
		ends := s.PExpireTime(t.Context(), aliceKey).Val() // since 1970
		if over := ends - time.Duration(newest)*time.Microsecond; over < window || over > window+time.Millisecond {
			t.Fatalf("the key ends %v after its newest request, want a minute", over)
		}
		s.Del(t.Context(), aliceKey)
		l.memory.giveBack(asked(clientKeyOf(peerOf(alice)), 30), 0)
	}
}

// 15 requests, 16 half a minute later, and one after 58 seconds, while Redis answers or
// does not at each of these times, with what it had or without: the last one is refused.
func TestTheMinuteSurvivesAnOutage(t *testing.T) {
	t.Parallel()
	for outage := range 8 {
		for _, emptied := range []bool{false, true} {
			t.Run(fmt.Sprintf("%03b/emptied=%t", outage, emptied), func(t *testing.T) {
				t.Parallel()
				s := startRedis(t)
				c := newClock()
				l := newSharedLimiter(t, s.url(), quiet, c, hasty)
				h := guarded(l)
				passed := 0
				for step, n := range []int{15, 16, 1} {
					if outage>>step&1 == 1 {
						s.signal(freeze)
					}
					for range n {
						if get(h, alice).Code == http.StatusOK {
							passed++
						}
					}
					if outage>>step&1 == 1 {
						if !l.isOn(Fallback)() && step < 2 {
							t.Error("a frozen Redis was not noticed")
						}
						s.signal(thaw)
					}
					eventually(t, "Redis", l.isOn(Redis))
					if emptied {
						s.FlushAll(t.Context())
					}
					d := []time.Duration{30 * time.Second, 28 * time.Second, 2 * time.Second}[step]
					s.pass(aliceKey, d)
					c.advance(d)
				}
				if passed != 30 {
					t.Errorf("%d passed within 58 seconds, want 30", passed)
				}
				for i := range 16 {
					if got, want := get(h, alice).Code == http.StatusOK, i < 15; got != want && emptied {
						t.Errorf("request %d after a minute: passed %t, want %t", i+1, got, want)
					}
				}
			})
		}
	}
}
