package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// reader is where the log goes: it can stall, fail and work again.
type reader struct {
	mu   sync.Mutex
	text bytes.Buffer
	err  error
	slip bool          // a write panics
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
	if r.slip {
		panic("a slip")
	}
	if r.err != nil {
		return 0, r.err
	}
	return r.text.Write(p)
}

func (r *reader) mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = nil
	r.slip = false
}

func (r *reader) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func testNotice(lines uint64) []byte { return fmt.Appendf(nil, "dropped %d\n", lines) }

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

// TestLogSurvivesItsWriter: lines that cannot be written count as dropped, and the next are written.
func TestLogSurvivesItsWriter(t *testing.T) {
	for name, r := range map[string]*reader{"it fails": {err: errors.New("broken pipe")}, "it panics": {slip: true}} {
		q := newLogQueue(r, testNotice)
		fmt.Fprintln(q, "first")
		eventually(t, "the line that cannot be written is counted", func() bool { return q.Dropped() == 1 })
		r.mend()
		fmt.Fprintln(q, "second")
		eventually(t, "the log is written again", func() bool { return strings.Contains(r.String(), "second") })
		q.Close(context.Background())
		if got := r.String(); got != "dropped 1\nsecond\n" && got != "second\ndropped 1\n" {
			t.Errorf("%s: got %q", name, got)
		}
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
		t.Skip("SKIPPED, NOT TESTED: it asks two gateways many times; make test-all runs it")
	}
	for name, closed := range map[string]bool{"nobody reads": false, "the reader dies": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := unreadProcess(t)
			if closed {
				process.log.Close()
			}
			for i := range 800 { // a pipe holds some 300 lines
				if status, body := get(t, process.base+quotePath); status != http.StatusOK {
					t.Fatalf("request %d: got %d %s", i, status, body)
				}
			}
			process.terminate(t)
		})
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
