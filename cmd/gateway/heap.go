package main

import "runtime"

// spareHeap is how much more than twice its need the heap may take. A gateway
// needs a megabyte or two; by itself the collector would come round for every
// four that are allocated, 70 times a second under load.
const spareHeap = 8 << 20

// holdSpareHeap makes the collector wait for that much more, until done is
// called. What it holds is counted by the collector and never touched, so that
// it takes no memory. GOGC and GOMEMLIMIT keep their meaning.
func holdSpareHeap() (done func()) {
	ballast := make([]byte, spareHeap)
	return func() { runtime.KeepAlive(ballast) }
}
