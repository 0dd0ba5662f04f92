package child

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestMain lets the test binary be a server that uses CPU time and memory when asked to.
func TestMain(m *testing.M) {
	if addr := os.Getenv("BE_A_SERVER"); addr != "" {
		kept, data := [][]byte{}, make([]byte, 1<<20)
		http.HandleFunc("/ready", func(http.ResponseWriter, *http.Request) {})
		http.HandleFunc("/work", func(http.ResponseWriter, *http.Request) {
			var usage syscall.Rusage
			for usage.Utime.Sec == 0 && usage.Utime.Usec < 300_000 {
				sha256.Sum256(data)
				_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
			}
		})
		http.HandleFunc("/keep", func(http.ResponseWriter, *http.Request) {
			kept = append(kept, slices.Repeat([]byte{1}, 32<<20))
		})
		fmt.Fprintln(os.Stderr, "serving", http.ListenAndServe(addr, nil), len(kept))
		os.Exit(3)
	}
	os.Exit(m.Run())
}

func startServer(t *testing.T) *Server {
	t.Helper()
	s, err := Start(t.Context(), "/ready", func(addr string) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "BE_A_SERVER="+addr)
		return cmd
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
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
	s := startServer(t)
	get(t, "http://"+s.Addr+"/work")
	cpu, err := s.CPU()
	if err != nil || cpu.Milliseconds() < 250 {
		t.Errorf("got %s of CPU time, %v; want the 300 ms it worked", cpu, err)
	}
	before, _, err := s.Memory()
	if err != nil {
		t.Fatal(err)
	}
	get(t, "http://"+s.Addr+"/keep")
	after, peak, err := s.Memory()
	if err != nil || after-before < 30<<20 || peak < after {
		t.Errorf("got %d bytes, then %d, at most %d, %v; want 32 MiB more", before, after, peak, err)
	}
	if files, err := s.Files(); err != nil || files < 4 {
		t.Errorf("got %d open files, %v", files, err)
	}
}

func TestEnd(t *testing.T) {
	s := startServer(t)
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(); err == nil {
		t.Error("a process ended by a signal is said to have ended well")
	}
	<-s.Done()
	s.Kill() // does no harm
	if _, err := s.CPU(); err == nil {
		t.Error("a process that has ended still has a CPU time")
	}
}

func TestGateway(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it builds a gateway; make test-all runs it")
	}
	binary, err := Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	t.Run("serves where it is wanted and stops", func(t *testing.T) {
		wanted, err := FreeAddress("")
		if err != nil {
			t.Fatal(err)
		}
		s, err := Gateway{Binary: binary, Listen: wanted}.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Addr != wanted {
			t.Errorf("it serves at %s, want %s", s.Addr, wanted)
		}
		get(t, "http://"+s.Addr+"/v3/swap/healthcheck")
		get(t, "http://"+s.Admin+"/metrics")
		for range 2 {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("serves elsewhere where its address is taken", func(t *testing.T) {
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		s, err := Gateway{Binary: binary, Listen: taken.Addr().String()}.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Kill()
		get(t, "http://"+s.Addr+"/v3/swap/healthcheck")
	})
	t.Run("does not start", func(t *testing.T) {
		_, err := Gateway{Binary: binary, Env: []string{"LIFECYCLE_FILE=/nonexistent"}, Log: &Log{}}.Start(t.Context())
		if err == nil || strings.Count(err.Error(), "gateway: ") != 1 || !strings.Contains(err.Error(), "LIFECYCLE_FILE") {
			t.Errorf("got %v, want what its log says of LIFECYCLE_FILE, once", err)
		}
	})
	t.Run("is killed", func(t *testing.T) {
		said := make(chan struct{}) // a killed gateway takes the last lines of its log with it
		log := &Log{See: func(line []byte) {
			if bytes.Contains(line, []byte(`"serving"`)) {
				close(said)
			}
		}}
		s, err := Gateway{Binary: binary, Log: log}.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		<-said
		s.Kill()
		if err := s.Stop(); err == nil || !strings.Contains(err.Error(), "killed") || !strings.Contains(err.Error(), `"serving"`) {
			t.Errorf("got %v, want how it ended and the end of its log", err)
		}
	})
}

func TestBuildFails(t *testing.T) {
	t.Chdir(t.TempDir()) // not within the module
	if _, err := Build(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "building the gateway") {
		t.Errorf("got %v", err)
	}
}

func TestAServerThatDoesNotServe(t *testing.T) {
	ended := func(string) *exec.Cmd { return exec.Command("false") }
	if _, err := Start(t.Context(), "/ready", ended); err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("got %v of a program that ends", err)
	}
	if _, err := Start(t.Context(), "/ready", func(string) *exec.Cmd { return exec.Command("/nonexistent") }); err == nil {
		t.Error("a program that does not exist is said to serve")
	}
	ctx, cancel := context.WithCancel(t.Context())
	silent := func(string) *exec.Cmd {
		cancel()
		return exec.Command("sleep", "60")
	}
	if _, err := Start(ctx, "/ready", silent); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("got %v of a start that was cancelled", err)
	}
}

// TestAddressesTaken takes an address from the server twice before it is started.
func TestAddressesTaken(t *testing.T) {
	tries := 0
	s, err := Start(t.Context(), "/ready", func(addr string) *exec.Cmd {
		if tries++; tries < 3 {
			listener, err := net.Listen("tcp", addr)
			if err != nil {
				t.Error(err)
				return exec.Command("false")
			}
			t.Cleanup(func() { listener.Close() })
			return exec.Command("false")
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "BE_A_SERVER="+addr)
		return cmd
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	if tries != 3 {
		t.Errorf("got %d tries, want 3", tries)
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

func TestRoot(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "cmd/internal/child/child_test.go")); err != nil {
		t.Error(err)
	}
}
