package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be a server that is started as a gateway is.
func TestMain(m *testing.M) {
	addr := os.Getenv("LISTEN_ADDR")
	switch {
	case os.Getenv("BE_A_PARENT") != "":
		server, err := Gateway{Binary: os.Args[0]}.Start(context.Background())
		fmt.Println(server.URL(), err)
		select {}
	case addr == "":
		os.Exit(m.Run())
	}
	if os.Getenv("LIFECYCLE_FILE") != "" {
		fmt.Fprintln(os.Stderr, "gateway: LIFECYCLE_FILE: no such file")
		os.Exit(1)
	}
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(interrupted, func() { os.Exit(0) })
	http.HandleFunc("/work", func(w http.ResponseWriter, _ *http.Request) {
		for start := time.Now(); time.Since(start) < time.Second; {
			fmt.Fprint(io.Discard, string(bytes.Repeat([]byte{1}, 32<<20)))
		}
	})
	fmt.Fprint(os.Stderr, "ser")
	fmt.Fprintln(os.Stderr, "ving")
	panic(http.ListenAndServe(addr, nil))
}

// lines is a log that was read.
type lines []string

func (l *lines) Write(line []byte) (int, error) {
	*l = append(*l, string(line))
	return len(line), nil
}

// TestBuildOutsideACheckout says where to go.
func TestBuildOutsideACheckout(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := Build(t.Context(), t.TempDir()); !errors.Is(err, errOutside) {
		t.Errorf("got %v, want %v", err, errOutside)
	}
}

// TestGateway starts one beside another, sees its CPU time and memory grow as it uses them, and stops it.
func TestGateway(t *testing.T) {
	binary := os.Args[0]
	first, err := Gateway{Binary: binary}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Kill()
	log := &lines{}
	second, err := Gateway{Binary: binary, Listen: first.Addr, Log: log}.Start(t.Context())
	if err != nil {
		t.Fatalf("its address is taken: %v", err)
	}
	if group, err := syscall.Getpgid(second.cmd.Process.Pid); err != nil || group != second.cmd.Process.Pid {
		t.Errorf("got the process group %d (%v): a terminal would signal it too", group, err)
	}
	cpu, peak, err := second.Costs()
	if err != nil {
		t.Fatal(err)
	}
	conn := Conn{Addr: second.Addr}
	if _, err := conn.Ask("/work", 0); err != nil {
		t.Error(err)
	}
	cpuAfter, peakAfter, err := second.Costs()
	if used := cpuAfter - cpu; err != nil || used < 50*time.Millisecond || used > time.Minute {
		t.Errorf("got %s of CPU time, %v; want a part of a second", used, err)
	}
	if grown := peakAfter - peak; grown < 30 || grown > 1024 {
		t.Errorf("its memory grew by %f MiB, want 32 or a few times that", grown)
	}
	second.Kill()
	if err := second.Stop(); err == nil || !strings.Contains(err.Error(), "killed; its log ends with:\nserving\n") {
		t.Errorf("got %v, want how it ended and the end of its log", err)
	}
	if len(*log) == 0 || (*log)[0] != "serving\n" {
		t.Errorf("got the lines %q of its log", *log)
	}
	third, err := Gateway{Binary: binary, Listen: second.Addr}.Start(t.Context())
	if err != nil || third.Addr != second.Addr {
		t.Fatalf("got %v; want it at the address that was wanted and is free", err)
	}
	for range 2 {
		if err := third.Stop(); err != nil {
			t.Error(err)
		}
	}
	_, err = Gateway{Binary: binary, Env: []string{"LIFECYCLE_FILE=/nonexistent"}, Log: io.Discard}.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "exit status 1; its log ends with:\ngateway: LIFECYCLE_FILE") {
		t.Errorf("got %v, want what its log says of LIFECYCLE_FILE", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	silent := func(string) *exec.Cmd {
		cancel()
		return exec.Command("sleep", "60")
	}
	if _, err := Start(ctx, "", nil, silent); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v of a start that was cancelled", err)
	}
}

// TestParentIsKilled wants a server to end with the process that started it.
func TestParentIsKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED, NOT TESTED: other systems have no signal for this")
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "BE_A_PARENT=1")
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var url, failure string
	_, _ = fmt.Fscan(stdout, &url, &failure)
	if failure != "<nil>" {
		t.Errorf("got %s %s, want a server", url, failure)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait() // killed
	addr := strings.TrimPrefix(url, "http://")
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		conn.Close()
		if time.Now().After(end) {
			t.Fatalf("%s still serves", addr)
		}
	}
}

// TestLoad asks over one connection, except that the answer to one request is not waited for.
func TestLoad(t *testing.T) {
	connections := map[string]bool{}
	left := make(chan bool, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connections[r.RemoteAddr] = true
		if r.RequestURI == "/3" {
			<-r.Context().Done()
			left <- true
			return
		}
		fmt.Fprint(w, r.RequestURI, " for ", r.Header.Get("X-Forwarded-For"))
	}))
	defer server.Close()
	addr := server.Listener.Addr().String()
	wrong := errors.New("wrong")
	ask := func(c *Conn, n int) error {
		target := fmt.Sprint("/", n)
		if n == 3 {
			c.Leave(target, n, 0)
			<-left // the server has noticed
			return nil
		}
		a, err := c.Ask(target, 1<<16+7<<8+n)
		if want := fmt.Sprintf("/%d for 11.7.%d.1", n, n); err != nil || string(a.Body) != want {
			t.Errorf("got %s, %v; want %s", a.Body, err, want)
		}
		if n == 6 {
			return wrong
		}
		return err
	}
	if got, err := Load(t.Context(), addr, 1, 5, ask); got != 5 || err != nil || len(connections) != 2 {
		t.Errorf("got %d answers over %d connections, %v; want 5 over 2", got, len(connections), err)
	}
	if got, err := Load(t.Context(), addr, 1, 0, ask); got != 6 || !errors.Is(err, wrong) {
		t.Errorf("got %d answers, %v; want that a wrong one ends the load", got, err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if got, err := Load(over, addr, 3, 0, func(*Conn, int) error { return nil }); err != nil || got != 3 {
		t.Errorf("got %d requests and %v, want one of each caller", got, err)
	}
}

// TestAsk tells a request that was not taken from an answer that was cut off.
func TestAsk(t *testing.T) {
	for answer, want := range map[string]struct{ unanswered, ok bool }{
		"":           {unanswered: true},
		"HTTP/1.1 2": {},
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc":                    {},
		"HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\nX-Id: 7 \r\n\r\nabc": {ok: true},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprint(conn, answer)
			conn.Close()
		}))
		conn := Conn{Addr: server.Listener.Addr().String()}
		got, err := conn.Ask("/", 0)
		isWhole := got.Status == 404 && string(got.Body) == "abc" && got.Header.Get("X-Id") == "7"
		if (err == nil && isWhole) != want.ok || errors.Is(err, ErrUnanswered) != want.unanswered {
			t.Errorf("%q: got %d %v %q, %v", answer, got.Status, got.Header, got.Body, err)
		}
		conn.Close()
		server.Close()
	}
}
