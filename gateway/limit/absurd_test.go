package limit

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/testkit/journal"
)

// absurdServer answers every request with its reply. While that is empty, requests go to a
// real Redis.
type absurdServer struct {
	addr  string
	reply atomic.Pointer[string]
}

func startAbsurd(t *testing.T, behind *server) *absurdServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	a := &absurdServer{addr: listener.Addr().String()}
	a.reply.Store(new(string))
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go a.serve(conn, behind.addr)
		}
	}()
	return a
}

func (a *absurdServer) serve(conn net.Conn, behind string) {
	defer conn.Close()
	real, err := net.Dial("tcp", behind)
	if err != nil {
		return
	}
	defer real.Close()
	go io.Copy(conn, real)
	for request := make([]byte, 32<<10); ; {
		n, err := conn.Read(request)
		if err != nil {
			return
		}
		to, text := real, request[:n]
		if reply := *a.reply.Load(); reply != "" {
			to, text = conn, []byte(reply)
		}
		if _, err := to.Write(text); err != nil {
			return
		}
	}
}

// Whatever a reply is or announces, at the start or later: memory decides, and Redis is used
// again afterwards.
func TestAbsurdReplies(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	for _, reply := range []string{
		"$9223372036854775807\r\n",
		"*9223372036854775807\r\n",
		"$-5\r\n",
		"*3\r\n*9223372036854775807\r\n",
		"+OK\r\n+OK\r\n",
		"HTTP/1.1 400 Bad Request\r\n\r\n",
	} {
		a := startAbsurd(t, s)
		for _, url := range []string{
			"redis://" + a.addr,
			"redis://" + a.addr + "?addr=" + a.addr,
			"redis://" + a.addr + "?master_name=main",
		} {
			a.reply.Store(&reply)
			l := startShared(t, url, quiet, patient)
			if !l.passes(source(1)) || !l.isOn(Fallback)() {
				t.Errorf("%q at the start: got %+v, want the fallback", reply, l.Stats())
			}
			_ = l.Close() // it probes, and takes time from the others
		}
		a.reply.Store(new(string))
		var j journal.Journal
		l := startShared(t, "redis://"+a.addr, logTo(&j), patient)
		eventually(t, "Redis", l.isOn(Redis))
		wantPassed(t, l, (*Limiter).AdmitQuote, source(2), 30)
		a.reply.Store(&reply)
		for range 10 {
			l.passes(alice)
		}
		if l.passes(source(2)) || !l.isOn(Fallback)() {
			t.Errorf("%q later: got %+v, want the fallback", reply, l.Stats())
		}
		a.reply.Store(new(string))
		eventually(t, "the return to Redis", l.isOn(Redis))
		if away := j.Count("does not respond"); away != 1 {
			t.Errorf("%q: got %d outages, want 1: %s", reply, away, j.String())
		}
		s.FlushAll(t.Context())
		_ = l.Close()
	}
}

// A panic of the library is a failure like any other.
func TestALibraryPanics(t *testing.T) {
	t.Parallel()
	var j journal.Journal
	panics := func(context.Context, redis.Cmder) error { panic("a bug") }
	r := &redisCounter{process: panics, timeouts: patient, log: logTo(&j), outages: outageLog{log: logTo(&j), now: newClock().Now}}
	before := safego.Panics()
	if d, ok := r.allow(alice.id, 30); ok || r.up() {
		t.Errorf("got %+v, %t and up %t, want a failure", d, ok, r.up())
	}
	r.resume(t.Context())
	if r.up() || safego.Panics() < before+2 || j.Count("does not respond") != 1 {
		t.Errorf("got up %t, %d panics, and a log of %s", r.up(), safego.Panics()-before, j.String())
	}
}
