package limit

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/testdata/journal"
)

func TestThirtyPassAndTheBudgetReturnsAsPromised(t *testing.T) {
	c := newClock()
	h := guarded(newTestLimiter(t, Config{PerMinute: 30}, c))
	for i := range 30 {
		w := get(h, alice)
		wantStatus(t, w, 200)
		wantHeaders(t, w, 29-i, 60-i, "")
		c.advance(time.Second)
	}
	w := get(h, alice)
	wantStatus(t, w, 429)
	wantHeaders(t, w, 0, 30, "30")
	wantStatus(t, get(h, bob), 200)

	c.advance(30*time.Second - tick)
	w = get(h, alice)
	wantStatus(t, w, 429)
	wantHeaders(t, w, 0, 1, "1")
	c.advance(tick)
	w = get(h, alice)
	wantStatus(t, w, 200)
	wantHeaders(t, w, 0, 1, "")
	wantStatus(t, get(h, alice), 429)
	c.advance(time.Second)
	wantStatus(t, get(h, alice), 200)
}

func wantHeaders(t *testing.T, w *httptest.ResponseRecorder, remaining, reset int, retryAfter string) {
	t.Helper()
	for name, want := range map[string]string{
		"RateLimit-Limit":     "30",
		"RateLimit-Remaining": strconv.Itoa(remaining),
		"RateLimit-Reset":     strconv.Itoa(reset),
		"Retry-After":         retryAfter,
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("got %s %q, want %q", name, got, want)
		}
	}
	for name := range w.Header() {
		if strings.HasPrefix(name, "X-Ratelimit") {
			t.Errorf("got a header %s, want none beside RateLimit-*", name)
		}
	}
}

// After a whole second's wait or a fraction's, the next request passes.
func TestRetryAfterIsKept(t *testing.T) {
	for _, gap := range []time.Duration{0, time.Nanosecond, 333 * time.Microsecond, 1999 * time.Millisecond} {
		t.Run(gap.String(), func(t *testing.T) {
			c := newClock()
			h := guarded(newTestLimiter(t, Config{PerMinute: 30}, c))
			for range 200 {
				w := get(h, alice)
				if w.Code == 429 {
					seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
					if err != nil || seconds < 1 || seconds > 60 {
						t.Fatalf("got Retry-After %q, want 1 to 60", w.Header().Get("Retry-After"))
					}
					c.advance(time.Duration(seconds) * time.Second)
					wantStatus(t, get(h, alice), 200)
				}
				c.advance(gap)
			}
		})
	}
}

func TestALawfulClientIsNeverRefused(t *testing.T) {
	c := newClock()
	h := guarded(newTestLimiter(t, Config{PerMinute: 30}, c))
	for i := range 2000 {
		if w := get(h, alice); w.Code != 200 {
			t.Fatalf("request %d at one per 2 s: got %d, want 200", i, w.Code)
		}
		c.advance(2 * time.Second)
	}
	c.advance(time.Minute)
	for minute := range 10 {
		for i := range 30 {
			if w := get(h, alice); w.Code != 200 {
				t.Fatalf("burst %d, request %d: got %d, want 200", minute, i, w.Code)
			}
		}
		c.advance(time.Minute)
	}
}

func TestARefusalSaysWhenTheNextPasses(t *testing.T) {
	for _, tt := range []struct {
		perMinute int
		want      string
	}{
		{30, "The limit is 30 requests a minute from one address; the next one passes in 60 seconds"},
		{1, "The limit is 1 request a minute from one address; the next one passes in 60 seconds"},
	} {
		l := newTestLimiter(t, Config{PerMinute: tt.perMinute}, newClock())
		var e *fault.Error
		for range tt.perMinute + 1 {
			if e != nil {
				t.Fatalf("refused early: %v", e)
			}
			e = l.Admit(http.Header{}, Address(netip.MustParseAddr("203.0.113.1")))
		}
		if e == nil {
			t.Fatal("got no refusal")
		}
		if e.Code != fault.RateLimited || e.Message != tt.want || e.RetryAfter != time.Minute {
			t.Errorf("got %s %q %s, want %s %q 1m0s", e.Code, e.Message, e.RetryAfter, fault.RateLimited, tt.want)
		}
	}
}

func TestOneBudgetForAllWhoAsk(t *testing.T) {
	l := newTestLimiter(t, Config{PerMinute: 30}, newClock())
	v1, v3 := guarded(l), guarded(l)
	for range 15 {
		wantStatus(t, get(v1, alice), 200)
		wantStatus(t, get(v3, alice), 200)
	}
	wantStatus(t, get(v1, alice), 429)
	wantStatus(t, get(v3, alice), 429)
	if got, want := l.Stats(), (Stats{Backend: Memory, Allowed: 30, Refused: 2, Clients: 1, Ceiling: l.memory.ceiling()}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAddressesOfOneClient(t *testing.T) {
	h := guarded(newTestLimiter(t, Config{PerMinute: 2}, newClock()))
	wantStatus(t, get(h, "[2001:db8:1:2::1]:1"), 200)
	wantStatus(t, get(h, "[2001:db8:1:2:dead:beef::]:1"), 200)
	wantStatus(t, get(h, "[2001:db8:1:2::3]:1"), 429)
	wantStatus(t, get(h, "[2001:db8:1:3::1]:1"), 200)
	wantStatus(t, get(h, "203.0.113.9:1"), 200)
	wantStatus(t, get(h, "[::ffff:203.0.113.9]:2"), 200)
	wantStatus(t, get(h, "203.0.113.9:3"), 429)
}

func TestZeroTurnsLimitingOff(t *testing.T) {
	l := newTestLimiter(t, Config{RedisURL: "redis://localhost:1"}, newClock())
	h := guarded(l)
	for range 100 {
		w := get(h, alice)
		wantStatus(t, w, 200)
		if len(w.Header()) != 0 {
			t.Fatalf("got headers %v, want none", w.Header())
		}
	}
	if got, want := l.Stats(), (Stats{Backend: Off}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPeersWithoutAddressShareNothing(t *testing.T) {
	var j journal.Journal
	l, err := New(t.Context(), Config{PerMinute: 1}, logTo(&j), newClock().now)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: guarded(l)}}
	server.Start()
	defer server.Close()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", listener.Addr().String())
	}}
	defer transport.CloseIdleConnections()
	for range 5 {
		res, err := (&http.Client{Transport: transport}).Get("http://gateway/")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 200 || res.Header.Get("RateLimit-Limit") != "" {
			t.Errorf("got %d and headers %v, want 200 and no RateLimit", res.StatusCode, res.Header)
		}
	}
	if got := l.Stats().Uncounted; got != 5 {
		t.Errorf("got %d uncounted, want 5", got)
	}
	if got := j.Count("cannot be counted"); got != 1 {
		t.Errorf("got %d warnings, want 1:\n%s", got, j.String())
	}
}

func TestConcurrentRequestsOverLoopback(t *testing.T) {
	c := newClock()
	server := httptest.NewServer(guarded(newTestLimiter(t, Config{PerMinute: 30}, c)))
	defer server.Close()
	for minute := range 3 {
		var mu sync.Mutex
		got := map[int]int{}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 10 {
					res, err := server.Client().Get(server.URL)
					if err != nil {
						t.Error(err)
						return
					}
					res.Body.Close()
					mu.Lock()
					got[res.StatusCode]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if got[200] != 30 || got[429] != 50 {
			t.Errorf("minute %d: got %v, want 30 times 200 and 50 times 429", minute, got)
		}
		c.advance(time.Minute)
	}
}

// admit asks for one request and returns the headers of the answer.
func admit(t *testing.T, l *Limiter, who Client, polled bool) (http.Header, *fault.Error) {
	t.Helper()
	h := http.Header{}
	if !polled {
		return h, l.Admit(h, who)
	}
	p, refused := l.AdmitPolled(t.Context(), h, who, "")
	p.End()
	return h, refused
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

// Polled requests have half of the limit beside it: a burst of either leaves the
// other alone.
func TestPolledRequestsHaveABudgetOfTheirOwn(t *testing.T) {
	limiters(t, func(t *testing.T, l *Limiter) {
		a, b := Address(peerOf(alice)), Address(netip.MustParseAddr("2001:db8::1"))
		wantAdmitted(t, l, a, true, 20, 15, "0")
		wantAdmitted(t, l, a, false, 31, 30, "0")
		wantAdmitted(t, l, b, false, 31, 30, "0")
		wantAdmitted(t, l, b, true, 14, 14, "1")
		if got := l.Stats().Clients; got != 4 {
			t.Errorf("got %d budgets, want two of each client", got)
		}
	})
}

func TestAKeyHasABudgetOfItsOwn(t *testing.T) {
	limiters(t, func(t *testing.T, l *Limiter) {
		a := Address(peerOf(alice))
		wantAdmitted(t, l, a, false, 31, 30, "0")
		wantAdmitted(t, l, holder, true, 60, 50, "0")
		wantAdmitted(t, l, holder, false, 110, 100, "0")
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

func TestClientOf(t *testing.T) {
	tests := []struct{ a, b, want string }{
		{"203.0.113.9", "::ffff:203.0.113.9", "203.0.113.9"},
		{"2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"},
		{"fe80::1", "fe80::1%eth0", "fe80::/64"},
		{"::1", "::2", "::/64"},
		{"255.255.255.255", "255.255.255.255", "255.255.255.255"},
	}
	for _, tt := range tests {
		a, b := clientKeyOf(netip.MustParseAddr(tt.a)), clientKeyOf(netip.MustParseAddr(tt.b))
		if a != b {
			t.Errorf("%s and %s are two clients, want one", tt.a, tt.b)
		}
		if got := a.String(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.a, got, tt.want)
		}
	}
	different := []string{"203.0.113.9", "203.0.113.8", "2001:db8:1:2::1", "2001:db8:1:3::1", "::1", "0.0.0.1"}
	seen := map[clientKey]string{}
	for _, s := range different {
		c := clientKeyOf(netip.MustParseAddr(s))
		if other, ok := seen[c]; ok {
			t.Errorf("%s and %s are one client, want two", s, other)
		}
		seen[c] = s
	}
	for _, id := range []uint64{0, 1, 1<<52 - 1} {
		c := Key(id, 0).key
		if other, ok := seen[c]; ok || c.String() != fmt.Sprintf("key:%013x", id) {
			t.Errorf("the key %d is %q, and the same client as %q", id, c, other)
		}
		seen[c] = c.String()
	}
}

func TestAKeyMayHaveTheHighestLimit(t *testing.T) {
	l, h := newTestLimiter(t, Config{PerMinute: 30}, newClock()), http.Header{}
	if refused := l.Admit(h, Key(7, MaxPerMinute)); refused != nil {
		t.Fatal(refused)
	}
	if limit, left := h.Get("RateLimit-Limit"), h.Get("RateLimit-Remaining"); limit != "1000" || left != "999" {
		t.Errorf("got %s of %s left, want 999 of 1000", left, limit)
	}
}

// If this instance knows that the budget is used up, Redis may have counted a round trip
// later. So the wait is longer by the time that Redis may take.
func TestAKnownRefusalWaitsForRedisToo(t *testing.T) {
	t.Parallel()
	c := newClock()
	p := calm
	p.request = 2 * time.Second // if Redis is late, memory answers the same
	l := newSharedLimiter(t, startRedis(t).url(), quiet, c, p)
	h := guarded(l)
	for range 30 {
		wantStatus(t, get(h, alice), 200)
	}
	c.advance(10 * time.Second)
	w := get(h, alice)
	wantStatus(t, w, 429)
	if got := w.Header().Get("Retry-After"); got != "52" {
		t.Errorf("got Retry-After %s, want the 50 seconds of the minute and 2 for Redis", got)
	}
	c.advance(-10 * time.Second)
	w = get(h, alice)
	wantStatus(t, w, 429)
	if got := w.Header().Get("Retry-After"); got != "61" {
		t.Errorf("got Retry-After %s, want 61 at most", got)
	}
}

// Where Redis has counted as much as this instance, Redis has the last word on the wait.
// Where it has counted less, it has lost something, and this instance has.
func TestWhoseWaitIsTold(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	l := newSharedLimiter(t, s.url(), quiet, newClock(), calm) // on a clock that stands
	h := guarded(l)
	wantStatus(t, get(h, alice), 200)
	s.pass(aliceKey, 20*time.Second)
	w := get(h, alice)
	wantRemaining(t, w, 28)
	if reset, err := strconv.Atoi(w.Header().Get("RateLimit-Reset")); err != nil || reset > 40 {
		t.Errorf("got RateLimit-Reset %q, want at most the 40 seconds that Redis says", w.Header().Get("RateLimit-Reset"))
	}
	s.Del(t.Context(), aliceKey)
	s.write(aliceKey, 1, 30*time.Second)
	w = get(h, alice)
	wantRemaining(t, w, 27)
	if got := w.Header().Get("RateLimit-Reset"); got != "60" {
		t.Errorf("got RateLimit-Reset %q, want the 60 seconds that this instance says", got)
	}
}
