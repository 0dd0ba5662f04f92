package limit

import (
	"testing"
	"time"
)

func TestThinner(t *testing.T) {
	t.Parallel()
	var thin Thinner
	at := time.Unix(1_700_000_000, 0)
	for _, second := range []struct {
		lines, skipped int
		leftOut        uint64 // when the next line is written
	}{{20, 0, 0}, {21, 1, 1}, {1000, 980, 980}, {1, 0, 0}} {
		skipped := 0
		for range second.lines {
			if thin.Skip(at) {
				skipped++
			}
		}
		if leftOut := thin.LeftOut(); skipped != second.skipped || leftOut != second.leftOut {
			t.Errorf("%d lines: got %d skipped and %d left out, want %+v", second.lines, skipped, leftOut, second)
		}
		at = at.Add(time.Second)
	}
}
