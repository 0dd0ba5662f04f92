package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/load"
)

// tally is what came of the requests.
type tally struct {
	quoting      atomic.Int64 // requests for a quote that were answered
	abandoned    atomic.Int64 // that their client gave up
	logged       atomic.Int64 // that the gateway's access log knows of
	dropped      atomic.Int64 // lines that are missing from the log, as it says itself
	read, unread atomic.Int64 // quotes that say what an account has, and those that say why they do not

	log sync.RWMutex // locked while nobody reads the log

	mu       sync.Mutex
	answers  map[string]int // by status and kind
	slowest  time.Duration
	failures []error
}

// maxFailures is how many are told; the rest are like them.
const maxFailures = 20

func (t *tally) answered(q question, a load.Answer) {
	if q.asksForQuote() {
		t.quoting.Add(1)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.answers == nil {
		t.answers = map[string]int{}
	}
	t.answers[fmt.Sprintf("%d %s", a.Status, q.kind)]++
	t.slowest = max(t.slowest, a.Took)
}

func (t *tally) fail(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.failures) < maxFailures {
		t.failures = append(t.failures, fmt.Errorf(format, args...))
	}
}

// note records an error, if there is one.
func (t *tally) note(err error) {
	if err != nil {
		t.fail("%w", err)
	}
}

// see reads a line of the gateway's log.
func (t *tally) see(line []byte) {
	t.log.RLock()
	defer t.log.RUnlock()
	var entry struct {
		Msg, Route      string
		Lines, Unlogged int64
	}
	_ = json.Unmarshal(line, &entry) // the runtime's own messages are not JSON
	if entry.Msg == "request" && strings.HasSuffix(entry.Route, "/quote") {
		t.logged.Add(1)
	}
	t.dropped.Add(entry.Lines + entry.Unlogged)
	for _, wrong := range []string{"DATA RACE", "panic", "fatal error", secret} {
		if bytes.Contains(line, []byte(wrong)) {
			t.fail("the gateway's log shows %q: %s", wrong, line)
		}
	}
}

// err is all that failed, nil if nothing did.
func (t *tally) err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.failures...)
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	total := 0
	var lines []string
	for name, n := range t.answers {
		total += n
		lines = append(lines, fmt.Sprintf("  %-40s %d\n", name, n))
	}
	slices.Sort(lines)
	return fmt.Sprintf("%d answers, each of them checked:\n%s  %-40s %d\n  %-40s %s\n", total, strings.Join(lines, ""),
		"given up by the client", t.abandoned.Load(), "slowest answer", t.slowest.Round(time.Millisecond))
}
