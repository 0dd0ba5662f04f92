package limit

import (
	"slices"
	"time"
)

// slot is the log of one client. An entry holds the low 32 bits of its tick:
// as every entry lies within a minute before last, that is enough to tell its
// age exactly.
type slot struct {
	client     client
	last       int64    // tick of the newest entry ever made
	times      []uint32 // oldest first
	prev, next uint32   // neighbours in one of the shard's lists
}

// age is how long before now, which is not before last, entry i was made.
func (k *slot) age(i int, now int64) int64 {
	return now - k.last + int64(uint32(k.last)-k.times[i])
}

// forget drops the entries that have left the minute.
func (k *slot) forget(now int64) {
	n := 0
	for n < len(k.times) && k.age(n, now) >= windowTicks {
		n++
	}
	k.times = slices.Delete(k.times, 0, n)
}

// wait is the time until the oldest entry leaves the minute.
func (k *slot) wait(now int64) time.Duration {
	return time.Duration(windowTicks-k.age(0, now)) * tick
}

// add enters now, taking no more memory than most entries ever need.
func (k *slot) add(now int64, most int) {
	if n := len(k.times); n == cap(k.times) {
		k.times = append(make([]uint32, 0, min(max(2, 2*n), most)), k.times...)
	}
	k.times = append(k.times, uint32(now))
	k.last = now
}

// remove takes back an entry made at tick at, if it is still there.
func (k *slot) remove(at int64) {
	for i, t := range slices.Backward(k.times) {
		if t == uint32(at) {
			k.times = slices.Delete(k.times, i, i+1)
			return
		}
	}
}
