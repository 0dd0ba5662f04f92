package limit

import (
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// LogSampler keeps refusals from filling the log: it lets at most 20 of their lines a second
// pass, and the next line says how many were left out.
type LogSampler struct {
	lines   *rate.Limiter
	leftOut atomic.Uint64
}

// NewLogSampler has ten lines in store, and ten more every second.
func NewLogSampler() *LogSampler { return &LogSampler{lines: rate.NewLimiter(10, 10)} }

// Skip counts a line, and reports whether it is to be left out.
func (s *LogSampler) Skip(at time.Time) bool {
	if s.lines.AllowN(at, 1) {
		return false
	}
	s.leftOut.Add(1)
	return true
}

// LeftOut is how many lines were left out since it was last asked.
func (s *LogSampler) LeftOut() uint64 { return s.leftOut.Swap(0) }
