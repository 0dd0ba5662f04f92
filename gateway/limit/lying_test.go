package limit

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quotegate/quotegate/testdata/journal"
)

// wary does not wait long for a server that says nothing.
var wary = timeouts{request: 50 * time.Millisecond, start: 100 * time.Millisecond, probe: 5 * time.Millisecond, probes: 3}

// lies are answers to any command, beside those that the guard refuses.
var lies = map[string]string{
	"negative wait":            "*3\r\n:1\r\n:0\r\n:-60000000\r\n",
	"no wait":                  "*3\r\n:0\r\n:30\r\n:0\r\n",
	"longest wait":             "*3\r\n:0\r\n:30\r\n:9223372036854775807\r\n",
	"wait of a minute and a µ": "*3\r\n:1\r\n:0\r\n:60000001\r\n",
	"negative count":           "*3\r\n:1\r\n:-1\r\n:1000\r\n",
	"count below all":          "*3\r\n:0\r\n:-9223372036854775808\r\n:1000\r\n",
	"highest count":            "*3\r\n:0\r\n:9223372036854775807\r\n:1000\r\n",
	"allowed beyond the limit": "*3\r\n:1\r\n:30\r\n:1000\r\n",
	"refused below the limit":  "*3\r\n:0\r\n:3\r\n:1000\r\n",
	"neither":                  "*3\r\n:2\r\n:0\r\n:1000\r\n",
	"a number too long":        "*3\r\n:1\r\n:0\r\n:99999999999999999999\r\n",
	"two numbers":              "*2\r\n:1\r\n:0\r\n",
	"four numbers":             "*4\r\n:1\r\n:0\r\n:1\r\n:1\r\n",
	"no numbers":               "*0\r\n",
	"one word":                 "*1\r\n$1\r\nx\r\n",
	"two words":                "*2\r\n$1\r\nx\r\n$1\r\ny\r\n",
	"nothing at all":           "*-1\r\n",
	"null":                     "$-1\r\n",
	"a status":                 "+OK\r\n",
	"a string":                 "$3\r\nyes\r\n",
	"a number":                 ":1\r\n",
	"strings":                  "*3\r\n$1\r\n1\r\n$3\r\nyes\r\n$4\r\n1000\r\n",
	"nested":                   "*1\r\n*3\r\n:1\r\n:0\r\n:1000\r\n",
	"nested in place":          "*3\r\n:1\r\n*1\r\n:0\r\n:1000\r\n",
	"deeply nested":            strings.Repeat("*1\r\n", 16000) + ":1\r\n",
	"a wrong type":             "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
	"moved nowhere":            "-MOVED 1\r\n",
	"moved to itself":          "-MOVED 1 :\r\n",
	"moved to a word":          "-MOVED 16384 nowhere\r\n",
	"asked elsewhere":          "-ASK 1 127.0.0.1:1\r\n",
	"an empty error":           "-\r\n",
	"no script, ever":          "-NOSCRIPT No matching script. Please use EVAL.\r\n",
	"loading":                  "-LOADING Redis is loading the dataset in memory\r\n",
	"half a reply":             "*3\r\n:1\r\n:0\r\n:10" + thenHangUp,
	"half a reply and silence": "*3\r\n:1\r\n:0\r\n:10",
	"half a length":            "*3",
	"one byte at a time":       "*3\r\n:1\r\n:0\r\n:60000000\r\n" + thenSlowly,
	"two replies":              "*3\r\n:1\r\n:0\r\n:1000\r\n*3\r\n:1\r\n:0\r\n:1000\r\n",
	"silence":                  "",
	"a hang-up":                thenHangUp,
	"slots without end":        "*1\r\n*3\r\n:0\r\n:9223372036854775807\r\n*2\r\n$1\r\n:\r\n:0\r\n",
	"slots of nobody":          "*1\r\n*2\r\n:0\r\n:16383\r\n",
	"slots the wrong way":      "*2\r\n*3\r\n:16383\r\n:-5\r\n*2\r\n$0\r\n\r\n:1\r\n*3\r\n:5\r\n:1\r\n*2\r\n$1\r\n:\r\n:99999999\r\n",
}

// Whatever a server says, and whenever it begins to, requests are answered by
// the limit's rules.
func TestLies(t *testing.T) {
	all := maps.Clone(lies)
	for name, reply := range badReplies {
		all[name] = reply
	}
	for _, setup := range []struct{ name, scheme, path, liesTo string }{
		{"greeting", "redis", "", "hello"},
		{"script", "redis", "", "eval"},
		{"script in a cluster", "redis+cluster", "", "eval"},
		{"table of a cluster", "redis+cluster", "", "cluster"},
		{"Sentinel", "redis+sentinel", "/main", "sentinel"},
	} {
		t.Run(setup.name, func(t *testing.T) {
			for _, name := range slices.Sorted(maps.Keys(all)) {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s := startLiar(t, func(command []string) (string, bool) {
						return all[name], strings.HasPrefix(command[0], setup.liesTo)
					})
					l := newSharedLimiter(t, setup.scheme+"://"+s.addr+setup.path, quiet, newClock(), wary)
					wantTheRules(t, guarded(l))
				})
			}
		})
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

// A server that begins to lie when it is trusted is found out by a probe.
func TestLiesLaterOn(t *testing.T) {
	for _, name := range []string{"negative wait", "a wrong type", "array without end"} {
		t.Run(name, func(t *testing.T) {
			reply := lies[name] + badReplies[name]
			var lying atomic.Bool
			s := startLiar(t, func(command []string) (string, bool) {
				return reply, lying.Load() && command[0] == "evalsha"
			})
			l := newSharedLimiter(t, "redis://"+s.addr, quiet, newClock(), calm)
			if !l.isOn(Redis)() {
				t.Fatalf("got %+v, want Redis", l.Stats())
			}
			lying.Store(true)
			wantTheRules(t, guarded(l))
			eventually(t, "the fallback", l.isOn(Fallback))
		})
	}
}

// If Redis has no usable answer for one client, only that one is counted in
// memory.
func TestOneUnusableAnswer(t *testing.T) {
	for _, name := range []string{"negative wait", "a wrong type", "two numbers", "null"} {
		t.Run(name, func(t *testing.T) {
			s := startLiar(t, func(command []string) (string, bool) {
				return lies[name], slices.Contains(command, aliceKey)
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
	var lying atomic.Bool
	var probes atomic.Int64
	lying.Store(true)
	s := startLiar(t, func(command []string) (string, bool) {
		if command[0] != "evalsha" {
			return "", false
		}
		probes.Add(1)
		return thenHangUp, lying.Load() && strings.Contains(strings.Join(command, " "), aliceKey)
	})
	l := newSharedLimiter(t, "redis+cluster://"+s.addr, quiet, newClock(), calm)
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
	s := startLiar(t, func(command []string) (string, bool) {
		return "-ERR unknown command, with args: " + strings.Join(command, " ") + "\r\n", true
	})
	for _, url := range []string{
		"redis://:hunter2@" + s.addr,
		"redis+cluster://user:hunter2@" + s.addr,
		"redis+sentinel://" + s.addr + "/main?sentinel_password=hunter2",
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
	s := startLiar(t, func([]string) (string, bool) { return "", false })
	var j journal.Journal
	l := newSharedLimiter(t, "redis://"+s.addr, logTo(&j), newClock(), calm)
	l.redis.redis.AddHook(panicking{})
	wantTheRules(t, guarded(l))
	if !l.isOn(Fallback)() || j.Count("panicked: a bug") != 1 {
		t.Errorf("got %+v and a log of %s, want the fallback and its reason", l.Stats(), j.String())
	}
}
