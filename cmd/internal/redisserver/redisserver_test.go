package redisserver

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"testing"
	"time"
)

// ping asks the server, and waits for the answer as long as it takes, up to a bound.
func ping(s *Server, bound time.Duration) (string, error) {
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(bound)); err != nil {
		return "", err
	}
	fmt.Fprint(conn, "PING\r\n")
	return bufio.NewReader(conn).ReadString('\n')
}

func TestServer(t *testing.T) {
	if !Installed() {
		if os.Getenv("CI") != "" {
			t.Fatal("CI is set, and there is no redis-server: install the package redis-server")
		}
		t.Skip("SKIPPED, NOT TESTED: install the package redis-server")
	}
	s, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answers := func(when string) {
		t.Helper()
		if got, err := ping(s, time.Minute); got != "+PONG\r\n" {
			t.Fatalf("%s: got %q, %v", when, got, err)
		}
	}
	answers("started")
	if err := s.Freeze(); err != nil {
		t.Fatal(err)
	}
	if got, err := ping(s, 50*time.Millisecond); err == nil {
		t.Errorf("frozen: got %q", got)
	}
	if err := s.Thaw(); err != nil {
		t.Fatal(err)
	}
	answers("thawed")
	s.Kill()
	if got, err := ping(s, time.Minute); err == nil {
		t.Errorf("killed: got %q", got)
	}
	addr := s.Addr
	if err := s.Restart(t.Context()); err != nil || s.Addr != addr {
		t.Fatalf("got %v at %s, want the same address, %s", err, s.Addr, addr)
	}
	answers("restarted")
	s.Close()
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("its folder is left: %v", err)
	}
}
