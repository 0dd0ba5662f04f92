package limit

import (
	"sync"
	"time"
)

// linesPerSecond is how many log lines a second tell of refusals.
const linesPerSecond = 20

// LogSampler keeps refusals from filling the log: it lets a few of their lines a second
// pass, and the next line says how many were left out.
type LogSampler struct {
	mu      sync.Mutex
	second  int64 // in which lines are counted
	lines   int   // of that second
	leftOut uint64
}

// Skip counts a line, and reports whether it is to be left out.
func (t *LogSampler) Skip(at time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := at.Unix(); now != t.second {
		t.second = now
		t.lines = 0
	}
	t.lines++
	if t.lines <= linesPerSecond {
		return false
	}
	t.leftOut++
	return true
}

// LeftOut is how many lines were left out since it was last asked.
func (t *LogSampler) LeftOut() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.leftOut
	t.leftOut = 0
	return n
}
