package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestMain lets the test binary be a server that is started as a gateway is, and uses CPU time and memory when asked to.
func TestMain(m *testing.M) {
	addr := os.Getenv("LISTEN_ADDR")
	if addr == "" {
		os.Exit(m.Run())
	}
	if os.Getenv("LIFECYCLE_FILE") != "" {
		fmt.Fprintln(os.Stderr, "gateway: LIFECYCLE_FILE: no such file")
		os.Exit(1)
	}
	var kept [][]byte
	http.HandleFunc("/v3/swap/healthcheck", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/metrics", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/work", func(http.ResponseWriter, *http.Request) {
		var usage syscall.Rusage
		for usage.Utime.Sec == 0 && usage.Utime.Usec < 300_000 {
			for range 1_000_000 { // asking alone would take the system's time
			}
			_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
		}
	})
	http.HandleFunc("/keep", func(http.ResponseWriter, *http.Request) {
		kept = append(kept, slices.Repeat([]byte{1}, 32<<20))
	})
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	go func() {
		<-interrupted
		os.Exit(0)
	}()
	if admin := os.Getenv("ADMIN_ADDR"); admin != "" {
		go http.ListenAndServe(admin, nil)
	}
	fmt.Fprintln(os.Stderr, `{"msg":"serving"}`)
	fmt.Fprintln(os.Stderr, http.ListenAndServe(addr, nil), len(kept))
	os.Exit(3)
}

func thisServer(addr string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LISTEN_ADDR="+addr)
	return cmd
}

func get(t *testing.T, url string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("GET %s: got %d, want 200", url, res.StatusCode)
	}
}

// TestCosts sees time and memory of a process grow as it uses them.
func TestCosts(t *testing.T) {
	s, err := Start(t.Context(), "/v3/swap/healthcheck", thisServer)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	get(t, s.URL()+"/work")
	cpu, err := s.CPU()
	if err != nil || cpu.Milliseconds() < 250 {
		t.Errorf("got %s of CPU time, %v; want the 300 ms it worked", cpu, err)
	}
	before, _, err := s.Memory()
	if err != nil {
		t.Fatal(err)
	}
	get(t, s.URL()+"/keep")
	after, peak, err := s.Memory()
	if err != nil || after-before < 30<<20 || peak < after {
		t.Errorf("got %d bytes, then %d, at most %d, %v; want 32 MiB more", before, after, peak, err)
	}
	if files, err := s.Files(); err != nil || files < 4 {
		t.Errorf("got %d open files, %v", files, err)
	}
	s.Kill()
	if err := s.Wait(); err == nil {
		t.Error("a process that was killed is said to have ended well")
	}
}

func TestGateway(t *testing.T) {
	binary := os.Args[0]
	wanted, err := FreeAddress("")
	if err != nil {
		t.Fatal(err)
	}
	first, err := Gateway{Binary: binary, Listen: wanted}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Kill()
	if first.Addr != wanted {
		t.Errorf("it serves at %s, want %s", first.Addr, wanted)
	}
	get(t, "http://"+first.Admin+"/metrics")

	said := make(chan struct{}) // a killed gateway takes the last lines of its log with it
	log := &Log{See: func(line []byte) {
		if bytes.Contains(line, []byte(`"serving"`)) {
			close(said)
		}
	}}
	second, err := Gateway{Binary: binary, Listen: wanted, Log: log}.Start(t.Context())
	if err != nil {
		t.Fatalf("its address is taken: %v", err)
	}
	<-said
	second.Kill()
	err = second.Stop()
	if err == nil || !strings.Contains(err.Error(), "killed") || !strings.Contains(err.Error(), `"serving"`) {
		t.Errorf("got %v, want how it ended and the end of its log", err)
	}
	for range 2 {
		if err := first.Stop(); err != nil {
			t.Error(err)
		}
	}
	_, err = Gateway{Binary: binary, Env: []string{"LIFECYCLE_FILE=/nonexistent"}, Log: &Log{}}.Start(t.Context())
	if err == nil || strings.Count(err.Error(), "gateway: ") != 1 || !strings.Contains(err.Error(), "LIFECYCLE_FILE") {
		t.Errorf("got %v, want what its log says of LIFECYCLE_FILE, once", err)
	}
}

func TestAServerThatDoesNotServe(t *testing.T) {
	ended := func(string) *exec.Cmd { return exec.Command("false") }
	if _, err := Start(t.Context(), "/v3/swap/healthcheck", ended); err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("got %v of a program that ends", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	silent := func(string) *exec.Cmd {
		cancel()
		return exec.Command("sleep", "60")
	}
	if _, err := Start(ctx, "/v3/swap/healthcheck", silent); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v of a start that was cancelled", err)
	}
}

// TestAddressesTaken takes an address from the server twice before it is started.
func TestAddressesTaken(t *testing.T) {
	tries := 0
	s, err := Start(t.Context(), "/v3/swap/healthcheck", func(addr string) *exec.Cmd {
		if tries++; tries == 3 {
			return thisServer(addr)
		}
		listener, err := net.Listen("tcp", addr)
		if err != nil {
			t.Error(err)
			return exec.Command("false")
		}
		t.Cleanup(func() { listener.Close() })
		return exec.Command("false")
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Kill()
	if tries != 3 {
		t.Errorf("got %d tries, want 3", tries)
	}
}

func TestRedis(t *testing.T) {
	s, err := StartRedis(t.Context(), "")
	if errors.Is(err, ErrNoRedis) && os.Getenv("CI") == "" {
		t.Skip("SKIPPED, NOT TESTED: install the package redis-server")
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Kill()
	again, err := StartRedis(t.Context(), s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Kill()
	if again.Addr != s.Addr {
		t.Errorf("it is at %s, want where it was, %s", again.Addr, s.Addr)
	}
}

func TestLog(t *testing.T) {
	var seen []string
	l := &Log{See: func(line []byte) { seen = append(seen, string(line)) }}
	for _, part := range []string{"one\ntw", "o\n", "three"} {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	}
	if got := strings.Join(seen, ","); got != "one,two" {
		t.Errorf("saw %s, want the whole lines", got)
	}
	if got := l.Tail(); got != "one\ntwo\nthree" {
		t.Errorf("got %q", got)
	}
	for i := range 1000 {
		fmt.Fprintf(l, "%d\n", i)
	}
	if got := l.Tail(); strings.Count(got, "\n") != tailLines || !strings.Contains(got, "\n999\n") {
		t.Errorf("got %q, want the last %d lines", got, tailLines)
	}
}
