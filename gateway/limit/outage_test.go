package limit

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quotegate/quotegate/testdata/journal"
)

// Redis is killed in mid-traffic and comes back empty: every request is
// answered by the limit's rules, and no budget starts afresh.
func TestRedisDiesAndComesBack(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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

// wary does not wait long for a server that says nothing.
var wary = timeouts{request: 50 * time.Millisecond, start: 100 * time.Millisecond, probe: 5 * time.Millisecond, probes: 3}

// badAnswers are answers to the script that decide nothing.
var badAnswers = map[string]string{
	"negative wait":            "*4\r\n:1\r\n:0\r\n:-60000000\r\n:0\r\n",
	"longest wait":             "*4\r\n:0\r\n:30\r\n:9223372036854775807\r\n:0\r\n",
	"negative count":           "*4\r\n:1\r\n:-1\r\n:1000\r\n:0\r\n",
	"highest count":            "*4\r\n:0\r\n:9223372036854775807\r\n:1000\r\n:0\r\n",
	"allowed beyond the limit": "*4\r\n:1\r\n:30\r\n:1000\r\n:0\r\n",
	"refused below the limit":  "*4\r\n:0\r\n:3\r\n:1000\r\n:0\r\n",
	"two numbers":              "*2\r\n:1\r\n:0\r\n",
	"no numbers":               "*0\r\n",
	"null":                     "$-1\r\n",
	"a status":                 "+OK\r\n",
	"a wrong type":             "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
	"no script, ever":          "-NOSCRIPT No matching script. Please use EVAL.\r\n",
	"half a reply":             "*4\r\n:1\r\n:0\r\n:10" + thenHangUp,
	"half a reply and silence": "*4\r\n:1\r\n:0\r\n:10",
	"a hang-up":                thenHangUp,
	"too large for memory":     "*9223372036854775807\r\n", // go-redis panics
}

// Whatever a server answers to the script, or to the greeting of go-redis, requests
// are answered by the limit's rules.
func TestBadAnswersAreNotBelieved(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"eval", "hello"} {
		for name, reply := range badAnswers {
			t.Run(name+" to "+to, func(t *testing.T) {
				t.Parallel()
				s := startScripted(t, func(command []string) (string, bool) {
					return reply, strings.HasPrefix(command[0], to)
				})
				l := newSharedLimiter(t, "redis://"+s.addr, quiet, newClock(), wary)
				wantTheRules(t, guarded(l))
			})
		}
	}
}

// wantTheRules makes the requests of two clients, by turns.
func wantTheRules(t *testing.T, h http.Handler) {
	t.Helper()
	for i := range 32 {
		want := 200
		if i >= 30 {
			want = 429
		}
		for _, client := range []string{alice, bob} {
			if w := get(h, client); w.Code != want {
				t.Fatalf("request %d of %s: got %d, want %d", i+1, client, w.Code, want)
			}
		}
	}
}

// A Redis that gives bad answers later on is found out by a probe.
func TestBadAnswersLaterOn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"negative wait", "a wrong type", "too large for memory"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var bad atomic.Bool
			s := startScripted(t, func(command []string) (string, bool) {
				return badAnswers[name], bad.Load() && command[0] == "evalsha"
			})
			l := newSharedLimiter(t, "redis://"+s.addr, quiet, newClock(), calm)
			if !l.isOn(Redis)() {
				t.Fatalf("got %+v, want Redis", l.Stats())
			}
			bad.Store(true)
			wantTheRules(t, guarded(l))
			eventually(t, "the fallback", l.isOn(Fallback))
		})
	}
}

// If Redis has no usable answer for one client, only that one is counted in
// memory.
func TestABadAnswerForOneClientIsNoOutage(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"negative wait", "a wrong type", "two numbers", "null"} {
		t.Run(name, func(t *testing.T) {
			s := startScripted(t, func(command []string) (string, bool) {
				return badAnswers[name], slices.Contains(command, aliceKey)
			})
			var j journal.Journal
			l := newSharedLimiter(t, "redis://"+s.addr, logTo(&j), newClock(), calm)
			h := guarded(l)
			for i := range 30 {
				w := get(h, alice)
				wantStatus(t, w, 200)
				wantRemaining(t, w, 29-i)
			}
			wantStatus(t, get(h, alice), 429)
			wantStatus(t, get(h, bob), 200)
			eventually(t, "the warning", func() bool { return j.Count("no usable answer for a client") > 0 })
			if !l.isOn(Redis)() || j.Count("level=WARN") != 1 {
				t.Errorf("got %+v and a log of %s, want Redis and one warning", l.Stats(), j.String())
			}
		})
	}
}

// Redis is not used again while it fails the client that it failed before, as a
// cluster does that has lost a node.
func TestRedisIsBackForEverybody(t *testing.T) {
	t.Parallel()
	var lying atomic.Bool
	var probes atomic.Int64
	lying.Store(true)
	s := startScripted(t, func(command []string) (string, bool) {
		if command[0] != "evalsha" {
			return "", false
		}
		probes.Add(1)
		return thenHangUp, lying.Load() && strings.Contains(strings.Join(command, " "), aliceKey)
	})
	l := newSharedLimiter(t, "redis://"+s.addr+"?addr="+s.addr, quiet, newClock(), calm)
	wantStatus(t, get(guarded(l), bob), 200)
	if !l.isOn(Redis)() {
		t.Fatalf("got %+v, want Redis", l.Stats())
	}
	wantStatus(t, get(guarded(l), alice), 200)
	before := probes.Load()
	eventually(t, "probes", func() bool { return probes.Load() > before+20*probeKeys })
	if !l.isOn(Fallback)() {
		t.Errorf("got %+v, want the fallback", l.Stats())
	}
	lying.Store(false)
	eventually(t, "the return to Redis", l.isOn(Redis))
}

// An old Redis that does not know HELLO repeats in its error what it was sent.
func TestAServerThatRepeatsThePassword(t *testing.T) {
	t.Parallel()
	s := startScripted(t, func(command []string) (string, bool) {
		return "-ERR unknown command, with args: " + strings.Join(command, " ") + "\r\n", true
	})
	for _, url := range []string{
		"redis://:hunter2@" + s.addr,
		"redis://user:hunter2@" + s.addr + "?addr=" + s.addr,
		"redis://:hunter2@" + s.addr + "?master_name=main",
	} {
		var j journal.Journal
		l := newSharedLimiter(t, url, logTo(&j), newClock(), calm)
		if !l.isOn(Fallback)() || j.Count("does not answer") != 1 || strings.Contains(j.String(), "hunter2") {
			t.Errorf("got %+v and a log of %s, want the fallback and not the password", l.Stats(), j.String())
		}
	}
}

// panicking is a bug in go-redis.
type panicking struct{ redis.Hook }

func (panicking) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (panicking) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (panicking) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error { panic("a bug") }
}

func TestThePanicOfTheLibraryIsAnOutage(t *testing.T) {
	t.Parallel()
	s := startScripted(t, func([]string) (string, bool) { return "", false })
	var j journal.Journal
	l := newSharedLimiter(t, "redis://"+s.addr, logTo(&j), newClock(), calm)
	l.redis.redis.AddHook(panicking{})
	wantTheRules(t, guarded(l))
	if !l.isOn(Fallback)() || j.Count("the Redis client panicked") != 1 || j.Count("panic: a bug") == 0 {
		t.Errorf("got %+v and a log of %s, want the fallback and its reason", l.Stats(), j.String())
	}
}

// With TLS a server must have a certificate, unless the URL says that any will
// do.
func TestTLS(t *testing.T) {
	t.Parallel()
	pages := httptest.NewTLSServer(nil) // has a certificate for 127.0.0.1, of an authority that nobody trusts
	defer pages.Close()
	start := func(lie func([]string) (string, bool)) *scripted {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return startScriptedAt(t, tls.NewListener(l, &tls.Config{Certificates: pages.TLS.Certificates}), lie)
	}
	s := start(func([]string) (string, bool) { return "", false })
	for _, tt := range []struct {
		url  string
		want Backend
		logs string
	}{
		{"rediss://" + s.addr + "?skip_verify=true", Redis, "counting in Redis"},
		{"rediss://" + s.addr + "?skip_verify=true&master_name=main", Redis, "counting in Redis"},
		{"rediss://" + s.addr, Fallback, "unknown authority"},
		{"rediss://" + s.addr + "?addr=" + s.addr, Fallback, "unknown authority"},
		{"rediss://" + s.addr + "?master_name=main", Fallback, "unknown authority"},
		{"redis://" + s.addr, Fallback, "does not answer"},
	} {
		var j journal.Journal
		l := newSharedLimiter(t, tt.url, logTo(&j), newClock(), calm)
		if got := l.Stats().Backend; got != tt.want || j.Count(tt.logs) != 1 {
			t.Errorf("%s: got %s and a log of %s, want %s and %q", tt.url, got, j.String(), tt.want, tt.logs)
		}
		wantStatus(t, get(guarded(l), alice), 200)
	}
}

// startUnwatched starts a limiter whose Redis is looked at only when the test does.
func startUnwatched(t *testing.T, j *journal.Journal) *Limiter {
	t.Helper()
	p := calm
	p.probe = time.Hour
	l := newSharedLimiter(t, startRedis(t).url(), logTo(j), newClock(), p)
	if !l.isOn(Redis)() {
		t.Fatalf("got %+v, want Redis", l.Stats())
	}
	return l
}

// Redis is used again after three answers in a row, and not after three in all.
func TestThreeAnswersInARow(t *testing.T) {
	t.Parallel()
	var j journal.Journal
	l := startUnwatched(t, &j)
	away, cancel := context.WithCancel(t.Context())
	cancel()
	l.redis.fail(asked(1, 30), errors.New("gone"))
	for i, answers := range []bool{true, true, false, true, true, false, false, true, true} {
		ctx := t.Context()
		if !answers {
			ctx = away
		}
		l.redis.watch(ctx)
		if !l.isOn(Fallback)() {
			t.Fatalf("got %+v after look %d, want the fallback", l.Stats(), i+1)
		}
	}
	l.redis.watch(t.Context())
	if !l.isOn(Redis)() || j.Count("is back") != 1 || j.Count("does not answer") != 1 {
		t.Errorf("got %+v and a log of %s, want Redis after three answers in a row", l.Stats(), j.String())
	}
	l.redis.fail(asked(1, 30), errors.New("gone again"))
	for range 2 {
		l.redis.watch(t.Context())
	}
	if !l.isOn(Fallback)() {
		t.Error("the answers of before count again")
	}
}

// An error that Redis answered to a client is an outage if it answers no probe either.
// Otherwise a warning tells of it, once a minute.
func TestAnErrorForAClientIsLookedInto(t *testing.T) {
	t.Parallel()
	var j journal.Journal
	l := startUnwatched(t, &j)
	refuse := func() { l.redis.refusal.Store(&redisError{errors.New("ERR of a client")}) }
	warned := func(want int) {
		t.Helper()
		l.redis.watch(t.Context())
		if got := j.Count("no usable answer for a client"); got != want || !l.isOn(Redis)() {
			t.Errorf("got %+v and %d warnings, want Redis and %d", l.Stats(), got, want)
		}
	}
	warned(0)
	refuse()
	warned(1)
	warned(1) // it was seen
	refuse()
	warned(1) // within the minute
	l.redis.lastWarned = time.Now().Add(-window)
	refuse()
	warned(2)
	if j.Count("ERR of a client") != 2 {
		t.Errorf("got a log of %s, want the error in both warnings", j.String())
	}
	away, cancel := context.WithCancel(t.Context())
	cancel()
	refuse()
	l.redis.watch(away)
	if !l.isOn(Fallback)() || j.Count("does not answer") != 1 {
		t.Errorf("got %+v and a log of %s, want the fallback", l.Stats(), j.String())
	}
}

// The log shows the beginning of an error, without the passwords.
func TestDescribe(t *testing.T) {
	t.Parallel()
	r := &redisCounter{secrets: []string{"", "hunter2"}}
	if got, want := r.describe(errors.New("AUTH hunter2: no")), "AUTH [password]: no"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := r.describe(errors.New(strings.Repeat("x", 1000))); got != strings.Repeat("x", 300) {
		t.Errorf("got %d characters, want 300", len(got))
	}
}

// A ticket that nobody gave is none, and one tells whether its subject was known.
func TestTicketsInRedis(t *testing.T) {
	t.Parallel()
	var j journal.Journal
	r, q := startUnwatched(t, &j).redis, asked(1, 30)
	for _, known := range []bool{false, true} {
		if promised, was := r.redeem(q, "swap"); promised || was {
			t.Errorf("got %t and %t, though there is no ticket", promised, was)
		}
		if !r.promise(q, "swap", known, time.Millisecond) {
			t.Error("Redis keeps no ticket")
		}
		if promised, was := r.redeem(q, "swap"); !promised || was != known {
			t.Errorf("got %t and %t, want the ticket of a subject that was known: %t", promised, was, known)
		}
	}
	r.fail(q, errors.New("gone"))
	if r.promise(q, "swap", true, time.Millisecond) {
		t.Error("a ticket is in a Redis that does not answer")
	}
}
