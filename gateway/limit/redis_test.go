package limit

import (
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/testkit/journal"
)

const keyPrefix = "quotegate:limit:"

// startShared starts a limiter with a clock that stands still, so that what Redis forgets
// this instance does not.
func startShared(t *testing.T, url string, log *slog.Logger, wait timeouts) *Limiter {
	t.Helper()
	return start(t, Config{PerMinute: 30, RedisURL: url, RedisPrefix: "quotegate:"}, log, newClock().Now, wait)
}

// eventually waits for what happens on its own.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited two minutes for %s", what)
		}
	}
}

func (l *Limiter) isOn(b Backend) func() bool {
	return func() bool { return l.Stats().Backend == b }
}

// passes reports whether a request for a quote is accepted.
func (l *Limiter) passes(from Source) bool { return l.AdmitQuote(http.Header{}, from) == nil }

// Instances share one exact limit, under load and by turns, and tell of all of them. One
// with another prefix counts apart.
func TestInstancesShareOneExactLimit(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	limiters := []*Limiter{startShared(t, s.url(), quiet, patient), startShared(t, s.url(), quiet, patient)}
	var passed [4]atomic.Int64
	var wg sync.WaitGroup
	for worker := range 20 {
		wg.Go(func() {
			for n := range passed {
				for range 3 {
					if limiters[worker%2].passes(source(n)) {
						passed[n].Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	for n := range passed {
		if got := passed[n].Load(); got != 30 {
			t.Errorf("source %d: got %d passed at both instances together, want 30", n, got)
		}
	}
	for n := range 31 {
		h := http.Header{}
		refused := limiters[min(n%3, 1)].AdmitQuote(h, alice)
		if got, want := h.Get("RateLimit-Remaining"), strconv.Itoa(max(29-n, 0)); (refused == nil) != (n < 30) || got != want {
			t.Errorf("request %d: got %v and %s remaining, want %s", n+1, refused, got, want)
		}
		if refused != nil && refused.RetryAfter > window {
			t.Errorf("got %v, want a refusal for a minute at most", refused)
		}
	}
	for _, l := range limiters {
		if got := l.Stats(); got.Backend != Redis {
			t.Errorf("got %+v, want all decided by Redis", got)
		}
	}
	other := start(t, Config{PerMinute: 2, RedisURL: s.url(), RedisPrefix: "other:"}, quiet, newClock().Now, patient)
	wantPassed(t, other, (*Limiter).AdmitQuote, alice, 2)
	for key, want := range map[string]int64{"quotegate:limit:203.0.113.1": 30, "other:limit:203.0.113.1": 2} {
		if n := s.LLen(t.Context(), key).Val(); n != want {
			t.Errorf("%s: got %d requests in Redis, want %d", key, n, want)
		}
	}
}

func TestDecisionsOfTheScript(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	l := startShared(t, s.url(), quiet, patient)
	type logged struct {
		requests int
		age      time.Duration
	}
	for i, tt := range []struct {
		name            string
		logged          []logged
		allowed         bool
		used            int
		atLeast, atMost time.Duration // to wait
	}{
		{"none", nil, true, 0, window, window},
		{"room for one", []logged{{29, 0}}, true, 29, 1, window},
		{"full", []logged{{30, 0}}, false, 30, 1, window},
		{"full of the past", []logged{{30, window}}, true, 0, window, window},
		{"the limit was lowered", []logged{{20, 50 * time.Second}, {30, 20 * time.Second}}, false, 50, 10*time.Second + 1, 40 * time.Second},
		{"the clock was set back a little", []logged{{30, -window / 2}}, false, 30, window, 2 * window},
		{"the clock was set back a little, with room", []logged{{29, -window / 2}}, true, 29, window, 2 * window},
		{"the clock was set back by an hour", []logged{{30, -time.Hour}}, true, 0, window, window},
	} {
		from := source(i).id
		key := keyPrefix + from.String()
		for _, log := range tt.logged {
			s.write(key, log.requests, log.age)
		}
		d, ok := l.redis.allow(from, 30)
		if !ok || d.allowed != tt.allowed || d.used != tt.used || d.wait < tt.atLeast || d.wait > tt.atMost {
			t.Errorf("%s: got %+v, want %+v", tt.name, d, tt)
		}
		if ttl := s.PTTL(t.Context(), key).Val(); d.allowed && (ttl <= 0 || ttl > 2*window) {
			t.Errorf("%s: got a time to live of %s", tt.name, ttl)
		}
		if !d.allowed {
			s.pass(key, d.wait)
			if again, _ := l.redis.allow(from, 30); !again.allowed {
				t.Errorf("%s: got %+v after the wait, want it allowed", tt.name, again)
			}
		}
	}
	// On a busy machine the millisecond of a probe may be over before the script is.
	if d, err := l.redis.run(t.Context(), keyPrefix+"a key", -time.Second, 30); err != nil || !d.allowed {
		t.Errorf("got %+v and %v, want it allowed", d, err)
	}
	for _, key := range s.Keys(t.Context(), "*").Val() {
		if !strings.HasPrefix(key, keyPrefix) {
			t.Errorf("got a key %q, want all to start with %q", key, keyPrefix)
		}
	}
}

// What Redis refuses does not count here either. A refusal by the memory is told with the
// time by which Redis may be later. After Close requests are counted in memory, and nobody
// is told of an outage.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	var j journal.Journal
	l := startShared(t, s.url(), logTo(&j), timeouts{answer: 5 * time.Second, start: patient.start, probe: patient.probe})
	key := keyPrefix + alice.id.String()
	l.passes(alice)
	s.write(key, 29, 0)
	for range 100 {
		if l.passes(alice) {
			t.Fatal("passed although Redis refuses")
		}
	}
	s.Del(t.Context(), key)
	h := http.Header{}
	if refused := l.AdmitQuote(h, alice); refused != nil || h.Get("RateLimit-Remaining") != "28" {
		t.Errorf("got %v and %v when Redis has lost its data, want 28 remaining", refused, h)
	}
	refused := wantPassed(t, l, (*Limiter).AdmitQuote, alice, 28)
	if refused.RetryAfter != 65*time.Second {
		t.Errorf("got %s, want the minute and the time that Redis has to answer", refused.RetryAfter)
	}
	l.passes(source(1))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wantPassed(t, l, (*Limiter).AdmitQuote, source(1), 29)
	if j.Count("does not respond") != 0 {
		t.Errorf("got a log of %s", j.String())
	}
}

// TestTroubleWithRedis: whatever happens to a Redis, all requests are answered, no
// accepted request of this instance is forgotten, and Redis is used again afterwards.
func TestTroubleWithRedis(t *testing.T) {
	t.Parallel()
	hasty := timeouts{answer: 50 * time.Millisecond, start: patient.start, probe: patient.probe}
	for _, tt := range []struct {
		name     string
		wait     timeouts
		begin    func(t *testing.T, s *server)
		end      func(t *testing.T, s *server)
		fallback bool
	}{
		{"killed", patient, killed, restarted, true},
		{
			"paused", hasty,
			func(_ *testing.T, s *server) { s.signal(syscall.SIGSTOP) },
			func(_ *testing.T, s *server) { s.signal(syscall.SIGCONT) },
			true,
		},
		{"full", patient, set("maxmemory", "1"), set("maxmemory", "0"), true},
		{
			"a replica", patient,
			func(t *testing.T, s *server) { s.do(t, "REPLICAOF", "127.0.0.1", "1") },
			func(t *testing.T, s *server) { s.do(t, "REPLICAOF", "NO", "ONE") },
			true,
		},
		{"flushed", patient, func(t *testing.T, s *server) { s.do(t, "FLUSHALL") }, nothing, false},
		{"without scripts", patient, func(t *testing.T, s *server) { s.do(t, "SCRIPT", "FLUSH") }, nothing, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := startRedis(t)
			var j journal.Journal
			l := startShared(t, s.url(), logTo(&j), tt.wait)
			eventually(t, "Redis", l.isOn(Redis))
			wantPassed(t, l, (*Limiter).AdmitQuote, source(1), 30)
			for range 10 {
				if !l.passes(alice) {
					t.Fatal("one of the first ten was refused")
				}
			}
			tt.begin(t, s)
			for range 10 {
				if !l.passes(alice) {
					t.Fatal("one of the next ten was refused")
				}
			}
			if l.passes(source(1)) {
				t.Error("a used up limit began anew")
			}
			if got := l.isOn(Fallback)(); got != tt.fallback {
				t.Errorf("got %+v, want the fallback: %v", l.Stats(), tt.fallback)
			}
			tt.end(t, s)
			eventually(t, "the return to Redis", l.isOn(Redis))
			wantPassed(t, l, (*Limiter).AdmitQuote, alice, 10)
			if l.passes(source(1)) {
				t.Error("a used up limit began anew after the end")
			}
			away, back := j.Count("does not respond"), j.Count("responds again")
			if away != back || (away > 0) != tt.fallback {
				t.Errorf("got %d times away and %d times back in the log:\n%s", away, back, j.String())
			}
		})
	}
}

// A request waits for the answer as long as it was told, not as long as the network may take.
func TestRedisIsSlow(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	l := startShared(t, s.url(), quiet, timeouts{answer: 50 * time.Millisecond, start: patient.start, probe: time.Hour})
	s.signal(syscall.SIGSTOP)
	defer s.signal(syscall.SIGCONT)
	began := time.Now()
	if !l.passes(alice) || !l.isOn(Fallback)() {
		t.Errorf("got %+v, want the fallback", l.Stats())
	}
	if took := time.Since(began); took >= networkTimeout {
		t.Errorf("the request waited %s", took)
	}
}

// REDIS_TIMEOUT is how long a request waits.
func TestTimeoutIsConfigured(t *testing.T) {
	t.Parallel()
	cfg := Config{PerMinute: 30, RedisURL: "redis://127.0.0.1:1", RedisTimeout: 700 * time.Millisecond}
	l, err := New(t.Context(), cfg, quiet, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := l.redis.timeouts; got != (timeouts{answer: cfg.RedisTimeout, start: time.Second, probe: time.Second}) {
		t.Errorf("got %+v", got)
	}
}

// The first failure and the first return are logged at once; while Redis flaps, each is one line a
// minute with what the last one does not tell. The last line is what holds.
func TestFlappingIsOneLineAMinute(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		up   func(second int) bool
		want string // the lines, by the second: away or again, and how many failures
	}{
		"fine":             {func(int) bool { return true }, ""},
		"one outage":       {func(s int) bool { return s < 10 || s >= 25 }, "10 away, 25 again"},
		"stays away":       {func(s int) bool { return s < 10 }, "10 away"},
		"away, and again":  {func(s int) bool { return s < 10 || s >= 25 && s < 31 }, "10 away, 25 again, 70 away"},
		"two in a minute":  {func(s int) bool { return s != 10 && s != 20 }, "10 away, 11 again, 71 again 1"},
		"two outages":      {func(s int) bool { return s != 10 && s != 90 }, "10 away, 11 again, 90 away, 91 again"},
		"every other time": {func(s int) bool { return s%2 == 0 || s > 150 }, "1 away, 2 again, 61 away 30, 62 again, 121 away 30, 122 again, 182 again 14"},
		"away most times":  {func(s int) bool { return s%10 == 0 }, "1 away, 10 again, 61 away 6, 70 again, 121 away 6, 130 again, 181 away 6, 190 again, 241 away 6, 250 again"},
	} {
		clock := newClock()
		var got []string
		var j journal.Journal
		o := &outageLog{log: logTo(&j), now: clock.Now}
		wasUp := true
		for second := range 300 {
			up := tt.up(second)
			if wasUp && !up {
				o.failed("the reason")
			}
			wasUp = up
			before := len(j.String())
			o.report(func() bool { return up })
			if line := j.String()[before:]; line != "" {
				got = append(got, strconv.Itoa(second)+" "+brief(line))
			}
			clock.Advance(time.Second)
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("%s: got %q, want %q", name, text, tt.want)
		}
	}
}

// brief is a line about Redis in a word or two.
func brief(line string) string {
	what := "again"
	if strings.Contains(line, "does not respond") && strings.HasSuffix(line, ` error="the reason"`+"\n") {
		what = "away"
	}
	if _, failures, found := strings.Cut(line, " failures="); found {
		what += " " + strings.Fields(failures)[0]
	}
	return what
}

func nothing(*testing.T, *server) {}

func set(name, value string) func(*testing.T, *server) {
	return func(t *testing.T, s *server) { s.do(t, "CONFIG", "SET", name, value) }
}

func (s *server) do(t *testing.T, command ...any) {
	t.Helper()
	if err := s.Do(t.Context(), command...).Err(); err != nil {
		t.Fatal(err)
	}
}

func killed(_ *testing.T, s *server) { s.kill() }

func restarted(t *testing.T, s *server) {
	t.Helper()
	if !s.start() {
		t.Fatal("redis-server does not start again")
	}
}

func TestStartWithoutRedis(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	s.kill()
	var j journal.Journal
	l := startShared(t, s.url(), logTo(&j), patient)
	if !l.isOn(Fallback)() || !l.passes(alice) {
		t.Errorf("got %+v, want the fallback", l.Stats())
	}
	restarted(t, s)
	eventually(t, "Redis", l.isOn(Redis))
	wantPassed(t, l, (*Limiter).AdmitQuote, alice, 29)
	if away := j.Count("does not respond"); away != 1 {
		t.Errorf("got %d warnings, want 1:\n%s", away, j.String())
	}
}

// After a failure Redis is used again only when it has answered three probes in a row.
func TestThreeProbesInARow(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	l := startShared(t, s.url(), quiet, timeouts{answer: patient.answer, start: patient.start, probe: time.Hour})
	l.redis.fail("a key", io.EOF)
	for i, step := range []struct {
		full bool
		want int // probes
	}{{true, 1}, {false, 3}, {false, 0}} {
		value := "0"
		if step.full {
			value = "1"
		}
		set("maxmemory", value)(t, s)
		s.do(t, "FLUSHALL") // a script that has removed an old probe may write, however full Redis is
		s.do(t, "CONFIG", "RESETSTAT")
		l.redis.resume(t.Context())
		asked := s.Info(t.Context(), "commandstats").Val()
		if l.redis.up() == step.full || strings.Contains(asked, "evalsha:calls="+strconv.Itoa(step.want)+",") != (step.want > 0) {
			t.Errorf("attempt %d: got up %v after %s, want %d probes", i+1, l.redis.up(), asked, step.want)
		}
	}
}

func TestThePasswordStaysOutOfTheLog(t *testing.T) {
	t.Parallel()
	s := startRedis(t, "--requirepass", "open-sesame")
	// This one does not know AUTH, and repeats in its error what it was told.
	old := startRedis(t, "--rename-command", "HELLO", "", "--rename-command", "AUTH", "")
	for _, tt := range []struct {
		url, logged string
		want        Backend
	}{
		{"redis://:hunter2@" + s.addr, "WRONGPASS", Fallback},
		{"redis://:hunter2@" + old.addr, "unknown command", Fallback},
		{"redis://:open-sesame@" + s.addr, "counting in Redis", Redis},
	} {
		var j journal.Journal
		l := startShared(t, tt.url, logTo(&j), patient)
		text := j.String()
		if !l.isOn(tt.want)() || !strings.Contains(text, tt.logged) || strings.Contains(text, "hunter2") ||
			strings.Contains(text, "sesame") {
			t.Errorf("got %+v and a log of %s, want %s and %s", l.Stats(), text, tt.want, tt.logged)
		}
	}
}
