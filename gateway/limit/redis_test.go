package limit

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
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
	return start(t, Config{PerMinute: 30, RedisURL: url, RedisPrefix: "quotegate:"}, log, newClock().now, wait)
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

func TestInstancesShareOneExactLimit(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	limiters := []*Limiter{startShared(t, s.url(), quiet, calm), startShared(t, s.url(), quiet, calm)}
	before := s.calls("evalsha")
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
	if got := s.calls("evalsha") - before; got > 20*len(passed)*3 {
		t.Errorf("got %d calls of Redis for %d requests, want one each at most", got, 20*len(passed)*3)
	}
	for _, l := range limiters {
		if got := l.Stats(); got.Backend != Redis {
			t.Errorf("got %+v, want all decided by Redis", got)
		}
	}
}

func TestHeadersTellOfAllInstances(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	one, other := startShared(t, s.url(), quiet, calm), startShared(t, s.url(), quiet, calm)
	for n := range 30 {
		l := one
		if n%3 == 0 {
			l = other
		}
		h := http.Header{}
		if refused := l.AdmitQuote(h, alice); refused != nil || h.Get("RateLimit-Remaining") != strconv.Itoa(29-n) {
			t.Errorf("request %d: got %v and %v, want %d remaining", n+1, refused, h, 29-n)
		}
	}
	h := http.Header{}
	refused := one.AdmitQuote(h, alice)
	if refused == nil || h.Get("RateLimit-Remaining") != "0" || refused.RetryAfter > window {
		t.Errorf("got %v and %v, want a refusal for a minute at most", refused, h)
	}
}

func TestPrefixesCountApart(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	for _, prefix := range []string{"", "staging:", "production:"} {
		cfg := Config{PerMinute: 2, RedisURL: s.url(), RedisPrefix: prefix}
		l := start(t, cfg, quiet, newClock().now, calm)
		wantPassed(t, l, (*Limiter).AdmitQuote, alice, 2)
		if n := s.LLen(t.Context(), prefix+"limit:203.0.113.1").Val(); n != 2 {
			t.Errorf("prefix %q: got %d requests in Redis, want 2", prefix, n)
		}
	}
}

func TestDecisionsOfTheScript(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	l := startShared(t, s.url(), quiet, calm)
	for i, tt := range []struct {
		name            string
		logged          int
		age             time.Duration
		allowed         bool
		used            int
		atLeast, atMost time.Duration // to wait
	}{
		{"none", 0, 0, true, 0, window, window},
		{"room for one", 29, 0, true, 29, 1, window},
		{"full", 30, 0, false, 30, 1, window},
		{"full of the past", 30, window, true, 0, window, window},
		{"more than the limit, which was lowered", 50, 0, false, 50, 1, window},
		{"the clock was set back a little", 30, -window / 2, false, 30, window, 2 * window},
		{"the clock was set back a little, with room", 29, -window / 2, true, 29, window, 2 * window},
		{"the clock was set back by an hour", 30, -time.Hour, true, 0, window, window},
	} {
		t.Run(tt.name, func(t *testing.T) {
			from := source(i).id
			key := keyPrefix + from.String()
			s.write(key, tt.logged, tt.age)
			d, ok := l.redis.allow(from, 30)
			if !ok || d.allowed != tt.allowed || d.used != tt.used || d.wait < tt.atLeast || d.wait > tt.atMost {
				t.Fatalf("got %+v, want %+v", d, tt)
			}
			if ttl := s.PTTL(t.Context(), key).Val(); d.allowed && (ttl <= 0 || ttl > 2*window) {
				t.Errorf("got a time to live of %s", ttl)
			}
			if !d.allowed {
				s.pass(key, d.wait)
				if again, _ := l.redis.allow(from, 30); !again.allowed {
					t.Errorf("got %+v after the wait, want it allowed", again)
				}
			}
		})
	}
	for _, key := range s.Keys(t.Context(), "*").Val() {
		if !strings.HasPrefix(key, keyPrefix) {
			t.Errorf("got a key %q, want all to start with %q", key, keyPrefix)
		}
	}
}

// On a busy machine the millisecond of a probe may be over before the script is.
func TestTheWindowIsOverWhileTheScriptRuns(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	l := startShared(t, s.url(), quiet, calm)
	d, err := l.redis.run(t.Context(), "a key", -time.Second, 30)
	if err != nil || !d.allowed {
		t.Errorf("got %+v and %v, want it allowed", d, err)
	}
}

// With a lower limit than before, the wait is for enough requests to leave.
func TestTheLimitWasLowered(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	l := startShared(t, s.url(), quiet, calm)
	s.write(keyPrefix+alice.id.String(), 20, 50*time.Second)
	s.write(keyPrefix+alice.id.String(), 30, 20*time.Second)
	refused := l.AdmitQuote(http.Header{}, alice)
	if refused == nil || refused.RetryAfter <= 10*time.Second || refused.RetryAfter > 40*time.Second {
		t.Errorf("got %+v, want a wait of about 40 seconds", refused)
	}
}

// What Redis refuses does not count here either.
func TestARefusalByRedisLeavesNoTrace(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	l := startShared(t, s.url(), quiet, calm)
	key := keyPrefix + alice.id.String()
	l.passes(alice)
	s.write(key, 29, 0)
	for range 100 {
		if l.passes(alice) {
			t.Fatal("passed although Redis refuses")
		}
	}
	s.Del(t.Context(), key)
	wantPassed(t, l, (*Limiter).AdmitQuote, alice, 29)
}

// A refusal by the memory is told with the time that Redis may be later.
func TestARefusalByTheMemoryWaitsForRedis(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	l := startShared(t, s.url(), quiet, timeouts{answer: 5 * time.Second, start: calm.start, probe: calm.probe})
	refused := wantPassed(t, l, (*Limiter).AdmitQuote, alice, 30)
	if refused.RetryAfter != 65*time.Second {
		t.Errorf("got %s, want the minute and the time that Redis has to answer", refused.RetryAfter)
	}
}

// trouble is what may happen to a Redis. Whatever it is, all requests are answered, no
// accepted request of this instance is forgotten, and Redis is used again afterwards.
func TestTroubleWithRedis(t *testing.T) {
	t.Parallel()
	hasty := timeouts{answer: 50 * time.Millisecond, start: calm.start, probe: calm.probe}
	for _, tt := range []struct {
		name     string
		wait     timeouts
		begin    func(t *testing.T, s *server)
		end      func(t *testing.T, s *server)
		fallback bool
	}{
		{"killed", calm, killed, restarted, true},
		{
			"paused", hasty,
			func(_ *testing.T, s *server) { s.signal(syscall.SIGSTOP) },
			func(_ *testing.T, s *server) { s.signal(syscall.SIGCONT) },
			true,
		},
		{"full", calm, set("maxmemory", "1"), set("maxmemory", "0"), true},
		{
			"a replica", calm,
			func(t *testing.T, s *server) { s.do(t, "REPLICAOF", "127.0.0.1", "1") },
			func(t *testing.T, s *server) { s.do(t, "REPLICAOF", "NO", "ONE") },
			true,
		},
		{"flushed", calm, func(t *testing.T, s *server) { s.do(t, "FLUSHALL") }, nothing, false},
		{"without scripts", calm, func(t *testing.T, s *server) { s.do(t, "SCRIPT", "FLUSH") }, nothing, false},
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

// Redis dies and comes back under load, empty, three times.
func TestRedisDiesUnderLoad(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	s := startRedis(t)
	var j journal.Journal
	l := startShared(t, s.url(), logTo(&j), calm)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for sent := 0; ctx.Err() == nil; sent++ {
				if passed := l.passes(source(worker)); passed != (sent < 30) {
					t.Errorf("request %d of source %d: passed %v", sent+1, worker, passed)
					return
				}
				time.Sleep(time.Millisecond) // or they take all of the machine
			}
		})
	}
	newcomer := 1000
	on := func(b Backend) func() bool { // newcomers make sure that Redis is asked
		return func() bool {
			newcomer++
			if !l.passes(source(newcomer)) {
				t.Error("a newcomer was refused")
			}
			return l.isOn(b)()
		}
	}
	for range 3 {
		s.kill()
		eventually(t, "the fallback", on(Fallback))
		restarted(t, s)
		eventually(t, "the return to Redis", on(Redis))
	}
	stop()
	wg.Wait()
	if away, back := j.Count("does not respond"), j.Count("responds again"); away != 3 || back != 3 {
		t.Errorf("got %d times away and %d times back in the log, want 3 and 3:\n%s", away, back, j.String())
	}
}

func TestStartWithoutRedis(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	s.kill()
	var j journal.Journal
	l := startShared(t, s.url(), logTo(&j), calm)
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
	l := startShared(t, s.url(), quiet, timeouts{answer: calm.answer, start: calm.start, probe: time.Hour})
	l.redis.fail("a key", io.EOF)
	passed := 0
	for i, step := range []struct {
		full, up bool
		want     int
	}{{false, false, 1}, {false, false, 2}, {true, false, 0}, {false, false, 1}, {false, false, 2}, {false, true, 3}, {false, true, 0}} {
		value := "0"
		if step.full {
			value = "1"
		}
		set("maxmemory", value)(t, s)
		s.do(t, "FLUSHALL") // a script that has removed an old probe may write, however full Redis is
		passed = l.redis.watch(t.Context(), passed)
		if passed != step.want || l.redis.up() != step.up {
			t.Errorf("probe %d: got %d passed and up %v, want %+v", i+1, passed, l.redis.up(), step)
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
		l := startShared(t, tt.url, logTo(&j), calm)
		text := j.String()
		if !l.isOn(tt.want)() || !strings.Contains(text, tt.logged) || strings.Contains(text, "hunter2") ||
			strings.Contains(text, "sesame") {
			t.Errorf("got %+v and a log of %s, want %s and %s", l.Stats(), text, tt.want, tt.logged)
		}
	}
}

// With TLS a server must have a certificate, unless the URL says that any will do.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	pages := httptest.NewTLSServer(nil) // has a certificate for 127.0.0.1, of an authority that nobody trusts
	defer pages.Close()
	door, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: pages.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer door.Close()
	wg.Go(func() {
		for {
			conn, err := door.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { relay(conn, s.addr) })
		}
	})
	for _, tt := range []struct {
		query, logs string
		want        Backend
	}{
		{"?skip_verify=true", "counting in Redis", Redis},
		{"", "unknown authority", Fallback},
		{"?addr=" + door.Addr().String(), "unknown authority", Fallback},
	} {
		var j journal.Journal
		wait := timeouts{answer: calm.answer, start: calm.start, probe: time.Hour}
		l := startShared(t, fmt.Sprintf("rediss://%s%s", door.Addr(), tt.query), logTo(&j), wait)
		if !l.isOn(tt.want)() || j.Count(tt.logs) != 1 {
			t.Errorf("%q: got %+v and a log of %s, want %s and %q", tt.query, l.Stats(), j.String(), tt.want, tt.logs)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// relay carries one connection to a server, until an end hangs up.
func relay(from net.Conn, addr string) {
	defer from.Close()
	to, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer to.Close()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = io.Copy(from, to) // ends with either end
		_ = from.Close()
	}()
	_, _ = io.Copy(to, from)
	_ = to.Close()
	<-answered
}

// After Close requests are counted in memory, and nobody is told of an outage.
func TestClose(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	var j journal.Journal
	l := startShared(t, s.url(), logTo(&j), calm)
	if !l.passes(alice) {
		t.Fatal("the first was refused")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wantPassed(t, l, (*Limiter).AdmitQuote, alice, 29)
	if j.Count("does not respond") != 0 {
		t.Errorf("got a log of %s", j.String())
	}
}
