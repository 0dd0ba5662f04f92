package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestSpareHeap sees the collector's next run move away by what is held and half of
// it, and back when it is let go.
func TestSpareHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(collectAt))
	next := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NextGC
	}
	before := next()
	done := holdSpareHeap()
	during := next()
	done()
	after := next()
	if during < before+spareHeap || during < spareHeap+spareHeap*collectAt/100 {
		t.Errorf("the collector waits for %d bytes, then for %d, want at least %d more", before, during, spareHeap+spareHeap*collectAt/100)
	}
	if after > during-spareHeap {
		t.Errorf("the collector still waits for %d bytes of %d", after, during)
	}
}
