package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestPaceCollector sees how far the heap may grow with little and with much in use,
// and that the pace is Go's own again afterwards.
func TestPaceCollector(t *testing.T) {
	t.Setenv("GOGC", "")
	usual := debug.SetGCPercent(100)
	defer debug.SetGCPercent(usual)
	next := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NextGC
	}
	near := func(want uint64) func() bool {
		return func() bool {
			runtime.GC()
			return next() > want-want/4 && next() < want+want/4
		}
	}
	done := paceCollector()
	eventually(t, "the heap may come to heapAim", near(heapAim))
	held := make([]byte, 4*heapAim)
	eventually(t, "a large heap may grow by leastGrowth", near(4*heapAim*(100+leastGrowth)/100))
	runtime.KeepAlive(held)
	eventually(t, "the heap may come to heapAim again", near(heapAim))
	done()
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("afterwards the heap may grow by %d %%, want 100", got)
	}

	t.Setenv("GOGC", "70")
	paceCollector()()
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("with GOGC, the pace was changed to %d %%", got)
	}
}

func TestGrowth(t *testing.T) {
	for live, want := range map[uint64]int{0: 500, 4 << 20: 500, 12 << 20: 100, 24 << 20: leastGrowth, 1 << 30: leastGrowth} {
		if got := growth(live); got != want {
			t.Errorf("with %d bytes in use the heap may grow by %d %%, want %d", live, got, want)
		}
	}
}
