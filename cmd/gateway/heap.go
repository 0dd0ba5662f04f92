package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"

	"github.com/quotegate/quotegate/shared/guard"
)

// Go's collector runs when the heap has doubled. A gateway that uses a few megabytes
// would be collected 70 times a second under load, and one that uses many would take
// twice as many. Here it runs when the heap has come to heapAim or, if more than
// that is in use, has grown by leastGrowth percent.
const (
	heapAim     = 24 << 20
	leastGrowth = 10
)

// paceCollector sets the pace anew after each collection, until done is called. If
// GOGC is set, that counts. GOMEMLIMIT keeps its meaning.
func paceCollector() (done func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	var ended atomic.Bool
	var pace func(int)
	pace = func(int) {
		if ended.Load() {
			return
		}
		guard.Do(nil, "pacing the garbage collector", func() { // in a goroutine of the runtime
			live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}} // what the last collection found in use
			metrics.Read(live)
			debug.SetGCPercent(growth(live[0].Value.Uint64()))
			runtime.AddCleanup(new([64]byte), pace, 0) // the next collection finds it
		})
	}
	usual := debug.SetGCPercent(leastGrowth)
	pace(0)
	return func() {
		ended.Store(true)
		debug.SetGCPercent(usual)
	}
}

// growth is by how many percent a heap may grow of which so much is in use. Go takes
// less than 4 MiB for as much.
func growth(live uint64) int {
	return max(leastGrowth, int(heapAim*100/max(live, 4<<20))-100)
}
