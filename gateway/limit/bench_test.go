package limit

import (
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// addresses gives the addresses of n clients.
func addresses(n int) []netip.Addr {
	all := make([]netip.Addr, n)
	for i := range all {
		all[i] = netip.AddrFrom4([4]byte{203, byte(i >> 16), byte(i >> 8), byte(i)})
	}
	return all
}

// BenchmarkAdmit is the price of a limited request, from many goroutines.
func BenchmarkAdmit(b *testing.B) {
	for _, clients := range []int{10, 65_536, 100_000} {
		from := addresses(clients)
		l, err := New(b.Context(), Config{PerMinute: 30}, quiet, time.Now)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("clients="+strconv.Itoa(clients), func(b *testing.B) {
			b.ReportAllocs()
			var next atomic.Uint64
			b.RunParallel(func(pb *testing.PB) {
				h := http.Header{}
				i := next.Add(1) * uint64(clients) / 7
				for pb.Next() {
					clear(h)
					l.Admit(h, Address(from[i%uint64(clients)]))
					i++
				}
			})
		})
	}
}

// BenchmarkFlood is a request from an address never seen, at the ceiling.
func BenchmarkFlood(b *testing.B) {
	m := newMemory(30)
	c := clientKey(0)
	for ; c < 500_000; c++ {
		m.take(asked(c, 30), at(0))
	}
	b.ReportAllocs()
	for b.Loop() {
		c++
		m.take(asked(c, 30), at(0))
	}
}

// BenchmarkRedis is a decision by a Redis on this machine, from 64 clients at
// once.
func BenchmarkRedis(b *testing.B) {
	s := startRedis(b)
	l, err := newLimiter(b.Context(), Config{PerMinute: 30, RedisURL: s.url()}, quiet, time.Now, calm)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	b.ReportAllocs()
	b.SetParallelism(32)
	var next atomic.Uint64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l.decide(asked(clientKey(next.Add(1)), 30))
		}
	})
	if got := l.Stats(); got.Backend != Redis || got.Refused != 0 {
		b.Errorf("got %+v, want all allowed by Redis", got)
	}
}
