package limit

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/shared/testkit/clock"
	"github.com/quotegate/quotegate/shared/testkit/journal"
	"github.com/quotegate/quotegate/shared/testkit/ports"
)

// go-redis tries to reach a server that is away until a second after its client
// is closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

var quiet = slog.New(slog.DiscardHandler)

func newClock() *clock.Clock { return clock.At(time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)) }

// logTo is a log that the test reads.
func logTo(j *journal.Journal) *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// patient waits for Redis so long that a busy machine is no outage.
var patient = timeouts{answer: 10 * time.Second, start: 30 * time.Second, probe: 20 * time.Millisecond}

// shortest is the least REDIS_TIMEOUT.
const shortest = 5 * time.Millisecond

func start(t testing.TB, cfg Config, log *slog.Logger, now func() time.Time, wait timeouts) *Limiter {
	t.Helper()
	cfg.RedisTimeout = shortest // wait counts instead
	l, err := newLimiter(t.Context(), cfg, log, now, wait)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // some tests have closed it
	return l
}

// source is the IPv4 address number n.
func source(n int) Source {
	return Address(netip.AddrFrom4([4]byte{203, byte(n >> 16), byte(n >> 8), byte(n)}))
}

func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it takes seconds; make test-all runs it")
	}
}

// server is a real redis-server that can be killed, frozen and brought back.
type server struct {
	t    testing.TB
	args []string // a file first makes it a Sentinel
	addr string
	cmd  *exec.Cmd
	done chan struct{}
	*redis.Client
}

// startRedis starts a redis-server of its own on a free port.
func startRedis(t testing.TB, args ...string) *server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no redis-server on this machine, and in CI the shared limit must be tested; install the package redis-server")
		}
		t.Skip("SKIPPED, NOT TESTED: there is no redis-server on this machine; install the package redis-server to test the shared limit")
	}
	s := &server{t: t, args: args}
	t.Cleanup(func() {
		s.kill()
		s.Close()
	})
	for range 5 { // another process may take the port before Redis does
		s.addr = ports.Free(t)
		s.Client = redis.NewClient(&redis.Options{Addr: s.addr, Password: password(args), MaxRetries: -1})
		if s.start() {
			return s
		}
		s.Close()
	}
	t.Fatal("redis-server does not start")
	return nil
}

func password(args []string) string {
	for i, a := range args {
		if a == "--requirepass" {
			return args[i+1]
		}
	}
	return ""
}

func (s *server) start() bool {
	s.t.Helper()
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	args := append(s.args[:len(s.args):len(s.args)], "--port", port, "--bind", "127.0.0.1", "--dir", s.t.TempDir())
	if !slices.Contains(args, "--sentinel") {
		args = append(args, "--save", "", "--appendonly", "no")
	}
	s.cmd = exec.Command("redis-server", args...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // it is killed, which is an error
		close(done)
	}(s.cmd, s.done)
	for {
		select {
		case <-s.done:
			return false
		case <-time.After(5 * time.Millisecond):
		}
		if s.Ping(context.Background()).Err() == nil {
			return true
		}
	}
}

func (s *server) kill() {
	if s.cmd != nil {
		s.signal(syscall.SIGKILL)
		<-s.done
	}
}

func (s *server) signal(sig syscall.Signal) {
	if err := s.cmd.Process.Signal(sig); err != nil && s.t.Context().Err() == nil {
		s.t.Error(err)
	}
}

func (s *server) url() string { return "redis://" + s.addr }

// pass makes the requests in the log of key d older, as if that time had passed.
func (s *server) pass(key string, d time.Duration) {
	s.t.Helper()
	err := s.Eval(s.t.Context(), `
		for i, at in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
			redis.call('LSET', KEYS[1], i - 1, string.format('%.0f', at - ARGV[1]))
		end`, []string{key}, d.Microseconds()).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		s.t.Fatal(err)
	}
}

// write makes the log of key: n requests, accepted d ago.
func (s *server) write(key string, n int, d time.Duration) {
	s.t.Helper()
	at := strconv.FormatInt(time.Now().Add(-d).UnixMicro(), 10)
	for range n {
		if err := s.RPush(s.t.Context(), key, at).Err(); err != nil {
			s.t.Fatal(err)
		}
	}
}
