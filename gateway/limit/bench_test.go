package limit

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// BenchmarkQuote is the price of a counted request in memory, from many goroutines.
func BenchmarkQuote(b *testing.B) {
	for _, sources := range []int{10, 65_536, 131_072} {
		l := start(b, Config{PerMinute: 30}, quiet, time.Now, calm)
		b.Run("sources="+strconv.Itoa(sources), func(b *testing.B) {
			b.ReportAllocs()
			var next atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				h := http.Header{}
				for pb.Next() {
					l.AdmitQuote(h, source(int(next.Add(1))%sources))
				}
			})
		})
	}
}

// BenchmarkRequest is the price of the limit for everything.
func BenchmarkRequest(b *testing.B) {
	l := start(b, Config{PerMinute: 30}, quiet, time.Now, calm)
	r, err := http.NewRequest(http.MethodGet, "/", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	var next atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l.AdmitRequest(r, source(int(next.Add(1))%65_536))
		}
	})
}

// BenchmarkFlood is a request from an address never seen, when there is no room.
func BenchmarkFlood(b *testing.B) {
	l := start(b, Config{PerMinute: 30}, quiet, time.Now, calm)
	n := 0
	for ; n < 2*maxSources; n++ {
		l.quotes.take(source(n).id, 30)
	}
	b.ReportAllocs()
	for b.Loop() {
		n++
		l.quotes.take(source(n).id, 30)
	}
}

// BenchmarkRedis is a decision by a Redis on this machine, from 64 callers at once, and
// the processor time of this process for it.
func BenchmarkRedis(b *testing.B) {
	s := startRedis(b)
	l := start(b, Config{PerMinute: 30, RedisURL: s.url()}, quiet, time.Now, calm)
	b.ReportAllocs()
	b.SetParallelism(32)
	var next atomic.Int64
	before := processorTime(b)
	b.RunParallel(func(pb *testing.PB) {
		h := http.Header{}
		for pb.Next() {
			l.AdmitQuote(h, source(int(next.Add(1))))
		}
	})
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N)/1000, "cpu-us/op")
	if got := l.Stats(); got.Backend != Redis || got.Refused != 0 {
		b.Errorf("got %+v, want all allowed by Redis", got)
	}
}

func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
