package main

import "runtime"

// spareHeap delays the garbage collector. A gateway needs one or two megabytes.
// Without spareHeap the collector would run after every four megabytes of
// allocations, 70 times a second under load.
const spareHeap = 8 << 20

// holdSpareHeap allocates spareHeap until done is called. The collector counts
// it, but as it is never touched, it takes no memory. GOGC and GOMEMLIMIT keep
// their meaning.
func holdSpareHeap() (done func()) {
	ballast := make([]byte, spareHeap)
	return func() { runtime.KeepAlive(ballast) }
}
