package limit

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/quotegate/quotegate/testdata/journal"
)

// hostile are replies that panic in go-redis, or that no server should give.
var hostile = []string{
	"*9223372036854775807\r\n",
	"*1\r\n$4\r\nhost\r\n", // half an address
	"*0\r\n",
	"*-1\r\n",
	"$-7\r\n",
	":-9223372036854775808\r\n",
	"*1\r\n$7\r\nmessage\r\n",
	"*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$4\r\nmain\r\n", // without the addresses
	"*3\r\n:1\r\n:2\r\n:3\r\n",
	"*1\r\n*3\r\n:16383\r\n:0\r\n*0\r\n",
	"*1\r\n*9223372036854775807\r\n",
	"-MOVED 99999999 x\r\n",
	"HTTP/1.1 200 OK\r\n\r\n",
}

// TestHostileRepliesInEveryMode: whatever a server, a Sentinel or the node of a cluster
// says to whichever command, requests are answered by the limit's rules. It would end
// the process where go-redis reads replies in goroutines of its own.
func TestHostileRepliesInEveryMode(t *testing.T) {
	t.Parallel()
	for mode, url := range map[string]func(addr string) string{
		"server":   func(addr string) string { return "redis://" + addr },
		"sentinel": func(addr string) string { return "redis://" + addr + "?master_name=main" },
		"cluster":  func(addr string) string { return "redis://" + addr + "?addr=" + addr },
	} {
		for _, command := range []string{"hello", "sentinel", "cluster", "command", "subscribe", "evalsha", "eval"} {
			t.Run(mode+"/"+command, func(t *testing.T) {
				t.Parallel()
				for _, reply := range hostile {
					s := startScripted(t, func(words []string) (string, bool) { return reply, words[0] == command })
					l := newSharedLimiter(t, url(s.addr), quiet, newClock(), wary)
					wantTheRules(t, guarded(l))
				}
			})
		}
	}
}

// TestPanicInANodesPipeline: go-redis has a goroutine for each node of a cluster. A
// panic in it is an outage.
func TestPanicInANodesPipeline(t *testing.T) {
	t.Parallel()
	s := startScripted(t, func([]string) (string, bool) { return "", false })
	var j journal.Journal
	l := newSharedLimiter(t, "redis://"+s.addr+"?addr="+s.addr, logTo(&j), newClock(), calm)
	err := l.redis.cluster.ForEachShard(t.Context(), func(_ context.Context, node *redis.Client) error {
		node.AddHook(panicking{})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantTheRules(t, guarded(l))
	if !l.isOn(Fallback)() || j.Count("the Redis client panicked") != 1 || j.Count("panic: a bug") == 0 {
		t.Errorf("got %+v and a log of %s, want the fallback and its reason", l.Stats(), j.String())
	}
}
