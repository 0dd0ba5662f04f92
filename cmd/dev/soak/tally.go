package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/load"
)

// What is counted beside the answers, which are counted by their status and kind.
const (
	answered     = "quotes: answered"
	givenUp      = "quotes: given up by the client"
	logged       = "quotes: in the access log"
	dropped      = "lines missing from the log, as it says itself"
	holdingShown = "holdings shown"
	holdingNot   = "holdings not shown, with the reason"
)

// tally counts what came of the requests, and keeps all that went wrong.
type tally struct {
	log sync.RWMutex // locked while nobody reads the log

	mu       sync.Mutex
	counts   map[string]int
	slowest  time.Duration
	failures []error
}

func (t *tally) count(name string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[name] += n
}

func (t *tally) answer(q question, a load.Answer) {
	t.count(fmt.Sprintf("%d %s", a.Status, q.kind), 1)
	if q.asksForQuote() {
		t.count(answered, 1)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slowest = max(t.slowest, a.Took)
}

// maxFailures is how many are told; the rest are like them.
const maxFailures = 20

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
		Lines, Unlogged int
	}
	_ = json.Unmarshal(line, &entry) // the runtime's own messages are not JSON
	if entry.Msg == "request" && strings.HasSuffix(entry.Route, "/quote") {
		t.count(logged, 1)
	}
	t.count(dropped, entry.Lines+entry.Unlogged)
	for _, wrong := range []string{"DATA RACE", "panic", "fatal error", secret} {
		if bytes.Contains(line, []byte(wrong)) {
			t.fail("the gateway's log shows %q: %s", wrong, line)
		}
	}
}

// verdict finds what the judges of single answers cannot see.
func (t *tally) verdict() {
	inLog, missing := t.counts[logged], t.counts[dropped]
	asked, left := t.counts[answered], t.counts[givenUp]
	if inLog+missing < asked || inLog > asked+left {
		t.fail("the log knows of %d requests for a quote and dropped %d lines, while %d were answered and %d given up",
			inLog, missing, asked, left)
	}
	for _, name := range []string{
		"200 " + aboutIntegrator, "503 " + aboutIntegrator, "200 " + aboutStatus, "503 " + aboutStatus,
		holdingShown, holdingNot,
	} {
		if t.counts[name] == 0 {
			t.fail("%s: none, so it was not seen whether nodes fail", name)
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
	var text strings.Builder
	fmt.Fprintf(&text, "every answer was checked; the slowest took %s\n", t.slowest.Round(time.Millisecond))
	for _, name := range slices.Sorted(maps.Keys(t.counts)) {
		fmt.Fprintf(&text, "  %-48s %d\n", name, t.counts[name])
	}
	return text.String()
}
