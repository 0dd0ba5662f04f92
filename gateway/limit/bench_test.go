package limit

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-chi/httprate"
)

// discard is a response nobody reads.
type discard http.Header

func (d discard) Header() http.Header         { return http.Header(d) }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// requests gives one request of each of n clients.
func requests(n int) []*http.Request {
	rs := make([]*http.Request, n)
	for i := range rs {
		rs[i] = httptest.NewRequest("GET", "/v3/swap/quote", nil)
		ip := netip.AddrFrom4([4]byte{203, byte(i >> 16), byte(i >> 8), byte(i)})
		rs[i].RemoteAddr = netip.AddrPortFrom(ip, 4711).String()
	}
	return rs
}

// BenchmarkAdmit is the price of a limited request, from many goroutines,
// beside what httprate alone takes with the same key.
func BenchmarkAdmit(b *testing.B) {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for _, clients := range []int{10, 100_000} {
		rs := requests(clients)
		l, err := New(b.Context(), Config{PerMinute: 30}, quiet, time.Now)
		if err != nil {
			b.Fatal(err)
		}
		bare := httprate.LimitBy(30, time.Minute, func(r *http.Request) (string, error) {
			return httprate.CanonicalizeIP(peer(r).String()), nil
		}, httprate.WithLimitHandler(ok))
		for name, h := range map[string]http.HandlerFunc{
			"limit": func(w http.ResponseWriter, r *http.Request) {
				l.Admit(r.Context(), w.Header(), Address(peer(r)), false)
			},
			"httprate": bare(ok).ServeHTTP,
		} {
			b.Run(name+"/clients="+strconv.Itoa(clients), func(b *testing.B) {
				b.ReportAllocs()
				var next atomic.Uint64
				b.RunParallel(func(pb *testing.PB) {
					w := discard{}
					i := next.Add(1) * uint64(clients) / 7
					for pb.Next() {
						clear(w)
						h.ServeHTTP(w, rs[i%uint64(clients)])
						i++
					}
				})
			})
		}
	}
}

// BenchmarkFlood is a request from an address never seen, at the ceiling.
func BenchmarkFlood(b *testing.B) {
	m := newMemory(30)
	c := clientKey(0)
	for ; c < 500_000; c++ {
		m.take(asked(c, 30), 0)
	}
	b.ReportAllocs()
	for b.Loop() {
		c++
		m.take(asked(c, 30), 0)
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
