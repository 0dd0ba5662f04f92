package usage

import (
	"context"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// server is a real redis-server that can be stopped and brought back, empty.
type server struct {
	t    testing.TB
	addr string
	args []string
	cmd  *exec.Cmd
	done chan struct{}
	*redis.Client
}

func startRedis(t testing.TB, args ...string) *server {
	t.Helper()
	s := reserveRedis(t, args...)
	s.start()
	return s
}

// reserveRedis is a server that is yet to be started.
func reserveRedis(t testing.TB, args ...string) *server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("SKIPPED, NOT TESTED: there is no redis-server on this machine; install it to test what instances share")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	s := &server{t: t, addr: addr, args: args, Client: redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})}
	t.Cleanup(func() {
		s.stop()
		s.Close()
	})
	return s
}

func (s *server) start() {
	s.t.Helper()
	_, port, _ := net.SplitHostPort(s.addr)
	s.cmd = exec.Command("redis-server", append([]string{
		"--port", port, "--bind", "127.0.0.1", "--dir", s.t.TempDir(), "--save", "", "--appendonly", "no",
	}, s.args...)...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // it is killed, which is an error
		close(done)
	}(s.cmd, s.done)
	for s.Ping(context.Background()).Err() != nil {
		select {
		case <-s.done:
			s.t.Fatal("redis-server does not start")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (s *server) stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended by itself
	<-s.done
	s.cmd = nil
}

func (s *server) url() string { return "redis://" + s.addr }

func zAdd(member string, at time.Time) redis.ZAddArgs {
	return redis.ZAddArgs{Members: []redis.Z{{Score: float64(at.Unix()), Member: member}}}
}
