package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// The collector runs when the heap has grown by collectAt percent. A gateway needs a
// few megabytes, and would be collected after every four of allocations, 70 times a
// second under load. spareHeap delays that. With both, the heap may grow by 8 MiB
// and half of what is in use.
const (
	spareHeap = 16 << 20
	collectAt = 50
)

// holdSpareHeap allocates spareHeap until done is called. The collector counts
// it, but as it is never touched, it takes no memory. GOGC, if it is set, and
// GOMEMLIMIT keep their meaning.
func holdSpareHeap() (done func()) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	ballast := make([]byte, spareHeap)
	return func() { runtime.KeepAlive(ballast) }
}
