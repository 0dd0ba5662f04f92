package main

import (
	"runtime"
	"testing"
)

// TestSpareHeap sees the collector's next run move away by twice what is held,
// and back when it is let go.
func TestSpareHeap(t *testing.T) {
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
	if during < before+spareHeap || during < 2*spareHeap {
		t.Errorf("the collector waits for %d bytes, then for %d, want at least %d and %d more", before, during, 2*spareHeap, spareHeap)
	}
	if after > during-spareHeap {
		t.Errorf("the collector still waits for %d bytes of %d", after, during)
	}
}
