package limit

import (
	"context"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/quotegate/quotegate/testdata/journal"
)

// Redis is killed in mid-traffic and comes back empty: every request is
// answered by the limit's rules, and no budget starts afresh.
func TestRedisDiesAndComesBack(t *testing.T) {
	skipIfShort(t)
	s := startRedis(t)
	var j journal.Journal
	l := newSharedLimiter(t, s.url(), logTo(&j), newClock(), calm)
	h := guarded(l)
	for range 30 {
		wantStatus(t, get(h, alice), 200)
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			peer := "198.51.100." + strconv.Itoa(worker) + ":1"
			for sent := 0; ctx.Err() == nil; sent++ {
				w := get(h, peer)
				if want := w.Code == 200; want != (sent < 30) {
					t.Errorf("request %d of %s: got %d", sent+1, peer, w.Code)
					return
				}
				if w = get(h, alice); w.Code != 429 {
					t.Errorf("alice, whose budget is used up: got %d, want 429", w.Code)
					return
				}
			}
		})
	}
	// New clients make sure that Redis is asked.
	newClient := clientKey(1 << 40)
	fresh := func(b Backend) func() bool {
		return func() bool {
			newClient++
			if v := l.decide(asked(newClient, 30)); !v.allowed {
				t.Errorf("a newcomer: got %+v, want it allowed", v)
			}
			return l.Stats().Backend == b
		}
	}
	for range 3 {
		s.kill()
		eventually(t, "the fallback", fresh(Fallback))
		for range 100 {
			fresh(Fallback)()
		}
		if !s.start() {
			t.Fatal("redis-server does not start again")
		}
		eventually(t, "the return to Redis", fresh(Redis))
		for range 100 {
			fresh(Redis)()
		}
	}
	stop()
	wg.Wait()
	if away, back := j.Count("does not answer"), j.Count("is back"); away != 3 || back != 3 {
		t.Errorf("got %d times away and %d times back in the log, want 3 and 3:\n%s", away, back, j.String())
	}
	if n := s.DBSize(t.Context()).Val(); n < 100 {
		t.Errorf("got %d clients in Redis after its return, want at least 100", n)
	}
}

func TestRedisFreezes(t *testing.T) {
	s := startRedis(t)
	var j journal.Journal
	l := newSharedLimiter(t, s.url(), logTo(&j), newClock(), hasty)
	h := guarded(l)
	eventually(t, "Redis", l.isOn(Redis))
	s.signal(freeze)
	for range 30 {
		wantStatus(t, get(h, alice), 200)
	}
	wantStatus(t, get(h, alice), 429)
	if !l.isOn(Fallback)() {
		t.Errorf("got %+v, want the fallback", l.Stats())
	}
	s.signal(thaw)
	eventually(t, "the return to Redis", l.isOn(Redis))
	wantStatus(t, get(h, alice), 429)
	if j.Count("does not answer") == 0 || j.Count("is back") == 0 {
		t.Errorf("got a log of %s, want the outage and its end", j.String())
	}
}

func TestRedisIsAwayAtTheStart(t *testing.T) {
	s := startRedis(t)
	s.kill()
	var j journal.Journal
	l := newSharedLimiter(t, s.url(), logTo(&j), newClock(), calm)
	h := guarded(l)
	if !l.isOn(Fallback)() {
		t.Errorf("got %+v, want the fallback", l.Stats())
	}
	wantStatus(t, get(h, alice), 200)
	if !s.start() {
		t.Fatal("redis-server does not start again")
	}
	eventually(t, "Redis", l.isOn(Redis))
	wantRemaining(t, get(h, alice), 28)
	if away := j.Count("does not answer"); away != 1 {
		t.Errorf("got %d warnings, want 1:\n%s", away, j.String())
	}
}

// A Redis that answers but may not write is no use, however often it is probed.
func TestRedisIsFull(t *testing.T) {
	s := startRedis(t)
	var j journal.Journal
	l := newSharedLimiter(t, s.url(), logTo(&j), newClock(), calm)
	h := guarded(l)
	if err := s.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, get(h, alice), 200)
	probes := s.calls("evalsha")
	eventually(t, "twenty probes", func() bool { return s.calls("evalsha") > probes+20 })
	if away := j.Count("does not answer"); !l.isOn(Fallback)() || away != 1 {
		t.Errorf("got %+v and %d warnings, want the fallback and 1:\n%s", l.Stats(), away, j.String())
	}
	if err := s.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the return to Redis", l.isOn(Redis))
}

func TestThePasswordStaysOutOfTheLog(t *testing.T) {
	s := startRedis(t, "--requirepass", "open-sesame")
	var j journal.Journal
	wrong := newSharedLimiter(t, "redis://:hunter2@"+s.addr, logTo(&j), newClock(), calm)
	if !wrong.isOn(Fallback)() {
		t.Errorf("got %+v, want the fallback", wrong.Stats())
	}
	wantStatus(t, get(guarded(wrong), alice), 200)
	if !strings.Contains(j.String(), "WRONGPASS") || strings.Contains(j.String(), "hunter2") {
		t.Errorf("got a log of %s, want WRONGPASS and not the password", j.String())
	}
	right := newSharedLimiter(t, "redis://:open-sesame@"+s.addr, logTo(&j), newClock(), calm)
	if !right.isOn(Redis)() || strings.Contains(j.String(), "sesame") {
		t.Errorf("got %+v and a log of %s, want Redis and not the password", right.Stats(), j.String())
	}
}

func TestAClientThatHangsUpIsNoOutage(t *testing.T) {
	s := startRedis(t)
	l := newSharedLimiter(t, s.url(), quiet, newClock(), calm)
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	from := netip.MustParseAddr("203.0.113.1")
	for range 30 {
		if refused := l.Admit(ctx, http.Header{}, Address(from), false); refused != nil {
			t.Fatalf("got %v, want it allowed", refused)
		}
	}
	if refused := l.Admit(ctx, http.Header{}, Address(from), false); refused == nil || !l.isOn(Redis)() {
		t.Errorf("got %v on %s, want a refusal on Redis", refused, l.Stats().Backend)
	}
}
