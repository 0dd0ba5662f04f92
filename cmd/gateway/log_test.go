package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// reader is where the log goes. While it is stalled, writes wait.
type reader struct {
	stalled sync.RWMutex
	mu      sync.Mutex
	text    bytes.Buffer
	broken  bool // it takes no text
}

func (r *reader) Write(p []byte) (int, error) {
	r.stalled.RLock()
	defer r.stalled.RUnlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken {
		return 0, errors.New("broken pipe")
	}
	return r.text.Write(p)
}

func (r *reader) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func (r *reader) mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = false
}

func newQueue(r *reader) *logQueue {
	return &logQueue{out: r, direct: slog.New(slog.NewTextHandler(r, nil))}
}

func TestLogKeepsItsOrderAndItsLastLine(t *testing.T) {
	r := &reader{}
	q := newQueue(r)
	var want strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&want, "line %d\n", i)
		fmt.Fprintf(q, "line %d\n", i)
		if i%1000 == 0 {
			time.Sleep(flushDelay) // so that it is written in parts
		}
	}
	q.Close(time.Minute)
	if r.String() != want.String() || q.Dropped() != 0 {
		t.Errorf("%d bytes of %d were written, %d lines dropped", len(r.String()), want.Len(), q.Dropped())
	}
}

// A stalled reader delays no writer, memory is bounded, and the log says what is missing.
func TestLogDropsWhatNobodyReads(t *testing.T) {
	r := &reader{}
	q := newQueue(r)
	r.stalled.Lock()
	const lines = 5000 // far more than fit
	for i := range lines {
		if n, err := fmt.Fprintf(q, "%01023d\n", i); n != 1024 || err != nil {
			t.Fatalf("got %d and %v", n, err)
		}
		if i == 0 {
			eventually(t, "the first line is being written", func() bool {
				q.mu.Lock()
				defer q.mu.Unlock()
				return len(q.waiting) == 0
			})
		}
	}
	q.Close(0) // returns although nobody reads
	if kept := lines - q.Dropped(); kept < maxQueued/1024 || kept > 2*maxQueued/1024 {
		t.Errorf("%d lines of a kilobyte are kept, want a queue and what is being written", kept)
	}
	r.stalled.Unlock()
	q.Close(time.Minute)
	text := r.String()
	written := regexp.MustCompile(`(?m)^\d{1000}\d+$`).FindAllString(text, -1)
	if got := uint64(len(written)); got != lines-q.Dropped() || !slices.IsSorted(written) || written[0] == written[1] {
		t.Errorf("%d lines were written, want %d in their order, each once", got, lines-q.Dropped())
	}
	told := uint64(0)
	for _, match := range regexp.MustCompile(`lines=(\d+)`).FindAllStringSubmatch(text, -1) {
		dropped, _ := strconv.ParseUint(match[1], 10, 64)
		told += dropped
	}
	if told != q.Dropped() {
		t.Errorf("the log tells of %d dropped lines, want %d", told, q.Dropped())
	}
}

// Lines that cannot be written count as dropped, and the next are written.
func TestLogSurvivesItsWriter(t *testing.T) {
	r := &reader{broken: true}
	q := newQueue(r)
	fmt.Fprintln(q, "first")
	eventually(t, "the line that cannot be written is counted", func() bool { return q.Dropped() == 1 })
	r.mend()
	fmt.Fprintln(q, "second")
	q.Close(time.Minute)
	if got := r.String(); !strings.HasPrefix(got, "second\n") || !strings.HasSuffix(got, " lines=1\n") {
		t.Errorf("got %q", got)
	}
}

// A process whose log is not read, or whose reader ends, answers every request, and SIGTERM
// ends it.
func TestUnreadLog(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it asks two gateways many times; make test-all runs it")
	}
	t.Parallel()
	for name, closed := range map[string]bool{"nobody reads": false, "the reader ends": true} {
		p := unreadProcess(t)
		if closed {
			p.log.Close()
		}
		for i := range 800 { // a pipe holds some 300 lines
			if status, body := get(t, p.base+quotePath); status != http.StatusOK {
				t.Fatalf("%s, request %d: got %d %s", name, i, status, body)
			}
		}
		p.terminate(t)
	}
}

func TestDurationsInTheLog(t *testing.T) {
	for format, want := range map[string]string{"json": `"after":"1.5s"`, "text": "after=1.5s"} {
		var out bytes.Buffer
		log := newLogs(&config{LogLevel: "info", LogFormat: format}, &out)
		log.Info("Redis is back", "after", 1500*time.Millisecond)
		log.queue.Close(time.Minute)
		wantContains(t, out.String(), want)
	}
}
