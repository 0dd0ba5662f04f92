package limit

import (
	"net/http"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// BenchmarkAdmit counts quotes of 65,536 sources, as the gateway does: as a quote, and as a
// request of any kind.
func BenchmarkAdmit(b *testing.B) {
	for name, url := range map[string]string{"memory": "", "redis": startRedis(b).url()} {
		b.Run(name, func(b *testing.B) {
			l := start(b, Config{PerMinute: 30, RedisURL: url}, quiet, time.Now, patient)
			var next atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(max(16/runtime.GOMAXPROCS(0), 1)) // 16 callers
			before := processorTime(b, syscall.RUSAGE_SELF)
			b.RunParallel(func(pb *testing.PB) {
				h := http.Header{}
				for pb.Next() {
					from := source(int(next.Add(1) % 65_536))
					if refused := l.AdmitRequest(from); refused == nil {
						_ = l.AdmitQuote(h, from) // some are refused, which costs about the same
					}
				}
			})
			spent := processorTime(b, syscall.RUSAGE_SELF) - before
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "cpu-ns/op")
			if url != "" && !l.isOn(Redis)() {
				b.Error("Redis did not answer")
			}
		})
	}
}

// BenchmarkBudget counts 131,072 sources by turns.
func BenchmarkBudget(b *testing.B) {
	budget := newBudget(maxSources, time.Now)
	next := 0
	b.ReportAllocs()
	for b.Loop() {
		budget.allow(source(next%maxSources).id, 30)
		next++
	}
}

// BenchmarkLongestCall reports how long a quote may have to wait because of other sources.
// The time is the processor's, so that a busy machine does not count.
func BenchmarkLongestCall(b *testing.B) {
	const sources = 160_000
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	clock := newClock()
	budget := newBudget(maxSources, clock.Now)
	for n := range sources {
		budget.allow(source(n).id, 30)
	}
	longest := time.Duration(0)
	next := 0
	for b.Loop() {
		from := source(next % sources).id
		next++
		clock.Advance(window / sources) // each has one request a minute
		began := processorTime(b, thisThread)
		budget.allow(from, 30)
		longest = max(longest, processorTime(b, thisThread)-began)
	}
	b.ReportMetric(float64(longest.Microseconds()), "longest-µs")
}

const thisThread = 1 // RUSAGE_THREAD, which only Linux has

// processorTime is what this process or thread has had of the processors, in user and kernel mode.
func processorTime(b *testing.B, who int) time.Duration {
	b.Helper()
	var spent syscall.Rusage
	if err := syscall.Getrusage(who, &spent); err != nil {
		b.Fatal(err)
	}
	return time.Duration(spent.Utime.Nano() + spent.Stime.Nano())
}
