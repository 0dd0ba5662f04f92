package limit

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/testdata/journal"
)

const (
	keyPrefix = "quotegate:limit:" // by default
	aliceKey  = keyPrefix + "203.0.113.1"
)

// calm waits for a Redis that is merely kept waiting by a busy machine, hasty
// is quick to find one gone.
var (
	calm  = timeouts{request: time.Minute, start: time.Minute, probe: time.Millisecond, probes: 3}
	hasty = timeouts{request: 50 * time.Millisecond, start: time.Minute, probe: time.Millisecond, probes: 3}
)

func newSharedLimiter(t *testing.T, url string, log *slog.Logger, c *clock, p timeouts) *Limiter {
	t.Helper()
	return start(t, Config{PerMinute: 30, RedisURL: url, RedisPrefix: "quotegate:"}, log, c, p)
}

// eventually waits for what happens on its own.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited a minute for %s", what)
		}
	}
}

func (l *Limiter) isOn(b Backend) func() bool {
	return func() bool { return l.Stats().Backend == b }
}

func TestInstancesShareOneExactBudget(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	var limiters []*Limiter
	var handlers []http.Handler
	for range 2 {
		l := newSharedLimiter(t, s.url(), quiet, newClock(), calm)
		limiters, handlers = append(limiters, l), append(handlers, guarded(l))
	}
	evals := s.calls("evalsha")
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[int]int{}
	for i := range 100 {
		wg.Go(func() {
			w := get(handlers[i%2], alice)
			mu.Lock()
			defer mu.Unlock()
			got[w.Code]++
		})
	}
	wg.Wait()
	if got[200] != 30 || got[429] != 70 {
		t.Errorf("got %v, want 30 times 200 and 70 times 429", got)
	}
	a, b := limiters[0].Stats(), limiters[1].Stats()
	if a.Backend != Redis || b.Backend != Redis || a.Allowed+b.Allowed != 30 || a.Refused+b.Refused != 70 {
		t.Errorf("got %+v and %+v, want 30 allowed and 70 refused on Redis", a, b)
	}
	if n := s.calls("evalsha") - evals; n > 100 {
		t.Errorf("got %d round trips for 100 requests, want one at most for each", n)
	}
	if n := s.LLen(t.Context(), aliceKey).Val(); n != 30 {
		t.Errorf("got %d requests in the log, want 30", n)
	}
	wantStatus(t, get(handlers[0], bob), 200)
}

// Two deployments on one Redis count apart, and only under their own prefix.
func TestPrefixesCountApart(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	var handlers []http.Handler
	prefixes := []string{"production:", "staging:", ""}
	for _, prefix := range prefixes {
		cfg := Config{PerMinute: 30, RedisURL: s.url(), RedisPrefix: prefix}
		handlers = append(handlers, guarded(start(t, cfg, quiet, newClock(), calm)), guarded(start(t, cfg, quiet, newClock(), calm)))
	}
	for i := range 30 { // by turns, so that each sees what the others do meanwhile
		for deployment := range prefixes {
			w := get(handlers[2*deployment+i%2], alice)
			wantStatus(t, w, 200)
			wantRemaining(t, w, 29-i)
		}
	}
	for _, h := range handlers {
		wantStatus(t, get(h, alice), 429)
	}
	for _, prefix := range prefixes {
		if n := s.LLen(t.Context(), prefix+"limit:203.0.113.1").Val(); n != 30 {
			t.Errorf("got %d requests in the log under %q, want 30", n, prefix)
		}
	}
}

func TestOneRoundTripARequest(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	l := newSharedLimiter(t, s.url(), quiet, newClock(), calm)
	h := guarded(l)
	evalshas, evals := s.calls("evalsha"), s.calls("eval")
	for range 30 {
		wantStatus(t, get(h, alice), 200)
	}
	for range 30 { // known to be over the limit without asking
		wantStatus(t, get(h, alice), 429)
	}
	if got := s.calls("evalsha") - evalshas; got != 30 {
		t.Errorf("got %d evalsha, want 30", got)
	}
	if got := s.calls("eval") - evals; got != 0 {
		t.Errorf("got %d eval, want the script known from the start", got)
	}
}

func TestTheSharedBudgetReturnsAsPromised(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	here, there := newClock(), newClock()
	one := guarded(newSharedLimiter(t, s.url(), quiet, here, calm))
	other := guarded(newSharedLimiter(t, s.url(), quiet, there, calm))
	pass := func(d time.Duration) {
		s.pass(aliceKey, d)
		here.advance(d)
		there.advance(d)
	}
	for i := range 15 {
		w := get(one, alice)
		wantStatus(t, w, 200)
		wantRemaining(t, w, 29-i)
	}
	pass(20 * time.Second)
	for i := range 15 {
		w := get(other, alice)
		wantStatus(t, w, 200)
		wantRemaining(t, w, 14-i)
	}
	for _, h := range []http.Handler{one, other} {
		w := get(h, alice)
		wantStatus(t, w, 429)
		wantRemaining(t, w, 0)
		retry, err := strconv.Atoi(w.Header().Get("Retry-After"))
		if err != nil || retry < 1 || retry > 40 {
			t.Fatalf("got Retry-After %q, want at most 40", w.Header().Get("Retry-After"))
		}
	}
	pass(10 * time.Second)
	w := get(one, alice)
	wantStatus(t, w, 429)
	retry, err := strconv.Atoi(w.Header().Get("Retry-After"))
	if err != nil {
		t.Fatal(err)
	}
	pass(time.Duration(retry) * time.Second)
	for range 15 {
		wantStatus(t, get(other, alice), 200)
	}
	wantStatus(t, get(one, alice), 429)
}

func wantRemaining(t *testing.T, w *httptest.ResponseRecorder, want int) {
	t.Helper()
	if got := w.Header().Get("RateLimit-Remaining"); got != strconv.Itoa(want) {
		t.Errorf("got RateLimit-Remaining %s, want %d", got, want)
	}
}

func TestDecisionsOfTheScript(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	l := newSharedLimiter(t, s.url(), quiet, newClock(), calm)
	tests := []struct {
		name    string
		logs    int
		age     time.Duration
		allowed bool
		used    int
		atMost  time.Duration
		atLeast time.Duration
	}{
		{"none", 0, 0, true, 0, time.Minute, time.Minute},
		{"room for one", 29, 0, true, 29, time.Minute, 0},
		{"full", 30, 0, false, 30, time.Minute, 0},
		{"full of the past", 30, time.Minute, true, 0, time.Minute, time.Minute},
		{"more than the limit, which was lowered", 50, 0, false, 50, time.Minute, 0},
		{"the clock was set back", 30, -time.Hour, false, 30, time.Minute, time.Minute},
		{"the clock was set back, with room", 29, -time.Hour, true, 29, time.Minute, time.Minute},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := clientKey(i)
			key := keyPrefix + c.String()
			s.write(key, tt.logs, tt.age)
			v, ok := l.redis.take(asked(c, 30))
			if !ok {
				t.Fatal("Redis does not answer")
			}
			if v.allowed != tt.allowed || v.used != tt.used || v.wait > tt.atMost || v.wait < tt.atLeast || v.wait <= 0 {
				t.Errorf("got %+v, want %+v", v, tt)
			}
			if ttl := s.PTTL(t.Context(), key).Val(); v.allowed && (ttl <= 0 || ttl > time.Minute+time.Millisecond) {
				t.Errorf("got a time to live of %v, want a minute at most, rounded up", ttl)
			}
			if v.allowed {
				return
			}
			s.pass(key, v.wait)
			if seenAgain, _ := l.redis.take(asked(c, 30)); !seenAgain.allowed {
				t.Errorf("got %+v after the wait, want it allowed", seenAgain)
			}
		})
	}
	for _, key := range s.Keys(t.Context(), "*").Val() {
		if !strings.HasPrefix(key, keyPrefix) {
			t.Errorf("got a key %q, want all to start with %q", key, keyPrefix)
		}
	}
}

// With a lower limit than before, the wait is for enough requests to leave.
func TestTheLimitWasLowered(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	l := newSharedLimiter(t, s.url(), quiet, newClock(), calm)
	s.write(aliceKey, 20, 50*time.Second)
	s.write(aliceKey, 30, 20*time.Second)
	w := get(guarded(l), alice)
	wantStatus(t, w, 429)
	wantRemaining(t, w, 0)
	if retry, err := strconv.Atoi(w.Header().Get("Retry-After")); err != nil || retry <= 10 || retry > 40 {
		t.Errorf("got Retry-After %q, want about 40", w.Header().Get("Retry-After"))
	}
}

// What Redis refuses does not count here either.
func TestARefusalByRedisLeavesNoTrace(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	l := newSharedLimiter(t, s.url(), quiet, newClock(), calm)
	h := guarded(l)
	wantStatus(t, get(h, alice), 200)
	s.write(aliceKey, 29, 0)
	for range 100 {
		wantStatus(t, get(h, alice), 429)
	}
	s.Del(t.Context(), aliceKey)
	for range 29 {
		wantStatus(t, get(h, alice), 200)
	}
	wantStatus(t, get(h, alice), 429)
	s.write(keyPrefix+"203.0.113.2", 30, 0)
	wantStatus(t, get(h, bob), 429)
	if got := l.Stats().Clients; got != 1 {
		t.Errorf("got %d clients, want alice only", got)
	}
}

// Memory may be full, Redis still counts.
func TestRedisCountsWhomMemoryCannot(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	l := newSharedLimiter(t, s.url(), quiet, newClock(), calm)
	fill(l.memory)
	h := guarded(l)
	for i := range 30 {
		w := get(h, alice)
		wantStatus(t, w, 200)
		wantRemaining(t, w, 29-i)
	}
	wantStatus(t, get(h, alice), 429)
	if got := l.Stats(); got.Uncounted != 0 || got.Allowed != 30 {
		t.Errorf("got %+v, want 30 allowed and none uncounted", got)
	}
}

// While Redis owes one client an answer, others are served.
func TestClientsDoNotWaitForOneAnother(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	relay := startRelay(t, s.addr)
	l := newSharedLimiter(t, "redis://"+relay.addr, quiet, newClock(), calm)
	h := guarded(l)
	relay.hold("203.0.113.1")
	var wg sync.WaitGroup
	reply := make(chan int, 1)
	wg.Go(func() { reply <- get(h, alice).Code })
	<-relay.held
	for range 30 {
		wantStatus(t, get(h, bob), 200)
	}
	select {
	case code := <-reply:
		t.Errorf("alice was answered %d before Redis answered", code)
	default:
	}
	close(relay.release)
	wg.Wait()
	if code := <-reply; code != 200 {
		t.Errorf("alice: got %d, want 200", code)
	}
}

// A key of a client that holds something else is replaced, and nobody else
// notices.
func TestAKeyThatIsNoLogIsReplaced(t *testing.T) {
	t.Parallel()
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
func TestALogInDisorderRefusesForAMinuteAtMost(t *testing.T) {
	t.Parallel()
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
