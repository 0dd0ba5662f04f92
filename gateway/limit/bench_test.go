package limit

import (
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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
			before := processorTime(b, unix.CLOCK_PROCESS_CPUTIME_ID)
			b.RunParallel(func(pb *testing.PB) {
				h := http.Header{}
				for pb.Next() {
					from := source(int(next.Add(1) % 65_536))
					if refused := l.AdmitRequest(from); refused == nil {
						_ = l.AdmitQuote(h, from) // some are refused, which costs about the same
					}
				}
			})
			spent := processorTime(b, unix.CLOCK_PROCESS_CPUTIME_ID) - before
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
		began := processorTime(b, unix.CLOCK_THREAD_CPUTIME_ID)
		budget.allow(from, 30)
		longest = max(longest, processorTime(b, unix.CLOCK_THREAD_CPUTIME_ID)-began)
	}
	b.ReportMetric(float64(longest.Microseconds()), "longest-µs")
}

func processorTime(b *testing.B, clock int32) time.Duration {
	b.Helper()
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}
