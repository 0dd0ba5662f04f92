package proc

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestMain lets the test binary be a server that is busy when asked to be.
func TestMain(m *testing.M) {
	if addr := os.Getenv("BE_A_SERVER"); addr != "" {
		hoard := [][]byte{}
		http.HandleFunc("/ready", func(http.ResponseWriter, *http.Request) {})
		http.HandleFunc("/work", func(http.ResponseWriter, *http.Request) {
			var usage syscall.Rusage
			for usage.Utime.Sec == 0 && usage.Utime.Usec < 300_000 {
				_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
			}
		})
		http.HandleFunc("/hoard", func(http.ResponseWriter, *http.Request) {
			hoard = append(hoard, slices.Repeat([]byte{1}, 32<<20))
		})
		fmt.Fprintln(os.Stderr, "serving", http.ListenAndServe(addr, nil), len(hoard))
		os.Exit(3)
	}
	os.Exit(m.Run())
}

func start(t *testing.T) *Server {
	t.Helper()
	s, err := Start(t.Context(), "/ready", func(addr, _ string) *exec.Cmd {
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
}

// TestCosts sees time and memory of a process grow as it uses them.
func TestCosts(t *testing.T) {
	s := start(t)
	get(t, "http://"+s.Addr+"/work")
	cpu, err := s.CPU()
	if err != nil || cpu.Milliseconds() < 250 {
		t.Errorf("got %s of CPU time, %v; want the 300 ms it worked", cpu, err)
	}
	before, _, err := s.Memory()
	if err != nil {
		t.Fatal(err)
	}
	get(t, "http://"+s.Addr+"/hoard")
	after, peak, err := s.Memory()
	if err != nil || after-before < 30<<20 || peak < after {
		t.Errorf("got %d bytes, then %d, at most %d, %v; want 32 MiB more", before, after, peak, err)
	}
	if files, err := s.Files(); err != nil || files < 4 {
		t.Errorf("got %d open files, %v", files, err)
	}
}

func TestEnd(t *testing.T) {
	s := start(t)
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

func TestAServerThatDoesNotServe(t *testing.T) {
	logs := &Log{}
	_, err := Gateway(t.Context(), "/bin/sh", map[string]string{}, logs)
	if err == nil {
		t.Fatal("a shell is said to serve")
	}
	_, err = Start(t.Context(), "/ready", func(string, string) *exec.Cmd { return exec.Command("/nonexistent") })
	if err == nil {
		t.Fatal("nothing is said to serve")
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
	if _, err := os.Stat(filepath.Join(root, "cmd/bench/proc/proc_test.go")); err != nil {
		t.Error(err)
	}
}
