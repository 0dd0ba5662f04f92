package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// reader is where the log goes: it can stall, fail and work again.
type reader struct {
	mu   sync.Mutex
	text bytes.Buffer
	err  error
	gate chan struct{} // if not nil, a write waits until it is closed
	held atomic.Int32  // writes that have come to the gate
}

func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	gate := r.gate
	r.mu.Unlock()
	if gate != nil {
		r.held.Add(1)
		<-gate
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return 0, r.err
	}
	return r.text.Write(p)
}

func (r *reader) set(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *reader) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func testNotice(lines uint64) []byte { return fmt.Appendf(nil, "dropped %d\n", lines) }

// eventually waits for something that another goroutine does.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 6000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("this did not happen within a minute: %s", what)
}

func TestLogKeepsItsOrderAndItsLastLine(t *testing.T) {
	r := &reader{}
	q := newLogQueue(r, testNotice)
	var want strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&want, "line %d\n", i)
		fmt.Fprintf(q, "line %d\n", i)
	}
	q.Close(context.Background())
	if r.String() != want.String() || q.Dropped() != 0 {
		t.Errorf("%d bytes of %d were written, %d lines dropped", len(r.String()), want.Len(), q.Dropped())
	}
}

// TestLogDropsWhatNobodyReads: a stalled reader holds up no writer, memory is
// bounded, and the log says what is missing where it is missing.
func TestLogDropsWhatNobodyReads(t *testing.T) {
	r := &reader{gate: make(chan struct{})}
	q := newLogQueue(r, testNotice)
	line := []byte(strings.Repeat("x", 1023) + "\n")
	const lines = 5000 // far more than fit
	if _, err := q.Write(line); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the reader has begun, and stalls", func() bool { return r.held.Load() == 1 })
	for range lines - 1 {
		if n, err := q.Write(line); n != len(line) || err != nil {
			t.Fatalf("got %d and %v", n, err)
		}
	}
	dropped := q.Dropped()
	if kept := lines - dropped; kept != 1+maxQueued/1024 {
		t.Errorf("%d lines of a kilobyte are kept, want one and a queue", kept)
	}
	close(r.gate)
	q.Close(context.Background())
	text := r.String()
	if got := uint64(strings.Count(text, "x\n")); got != lines-dropped {
		t.Errorf("%d lines were written, want %d", got, lines-dropped)
	}
	if !strings.HasSuffix(text, fmt.Sprintf("dropped %d\n", dropped)) || strings.Count(text, "dropped") != 1 {
		t.Errorf("the log ends with %q, want one line about %d dropped ones", text[max(0, len(text)-40):], dropped)
	}
}

// TestLogGivesMemoryBack: what a time needed in which nobody read the log is not kept.
func TestLogGivesMemoryBack(t *testing.T) {
	r := &reader{gate: make(chan struct{})}
	q := newLogQueue(r, testNotice)
	defer q.Close(context.Background())
	line := []byte(strings.Repeat("x", 1023) + "\n")
	_, _ = q.Write(line)
	eventually(t, "the reader has begun, and stalls", func() bool { return r.held.Load() == 1 })
	for range 2 * maxQueued / len(line) {
		_, _ = q.Write(line)
	}
	close(r.gate)
	for range 3 { // both buffers are used in turn
		_, _ = q.Write(line)
		var kept int
		eventually(t, "the lines are taken", func() bool {
			q.mu.Lock()
			defer q.mu.Unlock()
			kept = cap(q.waiting)
			return len(q.waiting) == 0
		})
		if kept > maxKept {
			t.Fatalf("%d bytes are kept, want at most %d", kept, maxKept)
		}
	}
}

func TestLogSurvivesFailingWrites(t *testing.T) {
	r := &reader{err: errors.New("broken pipe")}
	q := newLogQueue(r, testNotice)
	fmt.Fprintln(q, "first")
	eventually(t, "the line that cannot be written is counted", func() bool { return q.Dropped() == 1 })
	r.set(nil)
	fmt.Fprintln(q, "second")
	eventually(t, "the log is written again", func() bool { return strings.Contains(r.String(), "second") })
	q.Close(context.Background())
	if got := r.String(); got != "dropped 1\nsecond\n" && got != "second\ndropped 1\n" {
		t.Errorf("got %q", got)
	}
}

// TestLogCloseIsBounded, whether writes fail or nobody reads.
func TestLogCloseIsBounded(t *testing.T) {
	failing := newLogQueue(&reader{err: errors.New("broken pipe")}, testNotice)
	fmt.Fprintln(failing, "line")
	failing.Close(context.Background()) // returns: what cannot be written is given up

	stalled := &reader{gate: make(chan struct{})}
	defer close(stalled.gate)
	q := newLogQueue(stalled, testNotice)
	fmt.Fprintln(q, "line")
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	q.Close(ctx)
	if ctx.Err() == nil {
		t.Error("closed before the line was written or the time was up")
	}
}

// TestDeafLog runs a process whose log nobody reads, then one whose reader dies:
// every request is answered, and SIGTERM ends it.
func TestDeafLog(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it asks two gateways thousands of times; make test-all runs it")
	}
	for name, closed := range map[string]bool{"nobody reads": false, "the reader dies": true} {
		t.Run(name, func(t *testing.T) {
			cmd, base, stderr := silentProcess(t)
			if closed {
				stderr.Close()
			}
			for i := range 2000 { // a pipe holds some 300 lines
				res, err := http.Get(base + quotePath)
				if err != nil {
					t.Fatalf("request %d: %v", i, err)
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if res.StatusCode != http.StatusOK {
					t.Fatalf("request %d: got %d", i, res.StatusCode)
				}
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("it ended with %v, want exit code 0", err)
			}
		})
	}
}

// silentProcess runs the gateway with a log that is read only until it serves.
func silentProcess(t *testing.T) (cmd *exec.Cmd, base string, stderr *os.File) {
	t.Helper()
	stderr, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stderr.Close() })
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BE_THE_GATEWAY=1", "LISTEN_ADDR=127.0.0.1:0", "ADMIN_ADDR=off", "RATE_LIMIT=0")
	cmd.Stderr = theirs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var log strings.Builder
	for buffer := make([]byte, 512); ; {
		n, err := stderr.Read(buffer)
		if err != nil {
			t.Fatalf("it ended without serving: %v\n%s", err, &log)
		}
		log.Write(buffer[:n])
		if _, rest, ok := strings.Cut(log.String(), `"msg":"serving"`); ok && strings.Contains(rest, "\n") {
			_, rest, _ = strings.Cut(rest, `"addr":"`)
			addr, _, _ := strings.Cut(rest, `"`)
			return cmd, "http://" + addr, stderr
		}
	}
}

// A duration reads the same in both formats.
func TestDurationsInTheLog(t *testing.T) {
	for format, want := range map[string]string{"json": `"after":"1.5s"`, "text": "after=1.5s"} {
		var out bytes.Buffer
		log := newLogs(&config{LogLevel: "info", LogFormat: format}, &out)
		log.Info("Redis is back", "after", 1500*time.Millisecond)
		log.queue.Close(t.Context())
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: got %s, want %s", format, out.String(), want)
		}
	}
}
