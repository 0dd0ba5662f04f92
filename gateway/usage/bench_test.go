package usage

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/testdata/postgres"
	"github.com/quotegate/quotegate/testdata/recorded"
)

var sameMoney = event.Finding{Outcome: event.SameMoney}

func BenchmarkObserve(b *testing.B) {
	for name, e := range map[string]*event.Event{
		"old client": {Time: recorded.Noon, Version: "v1", Client: "origin https://wallet.example", Pair: recorded.Pair, Finding: sameMoney},
		"stranger":   {Time: recorded.Noon, Version: "v3", Client: "origin https://stranger.example", Pair: recorded.Pair},
	} {
		b.Run(name, func(b *testing.B) {
			r := begin(b, store.Config{}, recorded.At(recorded.Noon))
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					r.Observe(e)
				}
			})
		})
	}
}

// processor is the processor time that this process has taken.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWrite writes a batch of clients that are in the database already. The
// share is what it takes of one processor, with the pause that follows it.
func BenchmarkWrite(b *testing.B) {
	for _, clients := range []int{20_000, 65_536} {
		for kind, cfg := range databases(b) {
			b.Run(fmt.Sprintf("%s/%d", kind, clients), func(b *testing.B) {
				r := begin(b, cfg(), recorded.At(recorded.Noon))
				own(r).buffer = newBuffer(2 * shardEntries * clients / 20_000)
				call := func() {
					for i := range clients {
						c := caller.Caller{Agent: "okhttp", Origin: fmt.Sprintf("https://wallet-%d.example", i), Addr: netip.AddrFrom4([4]byte{byte(i >> 16), byte(i >> 8), byte(i), 1})}
						r.Observe(&event.Event{Time: r.Clock.Now(), Version: "v1", Caller: c, Client: r.Name(c.Identity()), Pair: recorded.Pair, Finding: sameMoney})
					}
				}
				call()
				r.Flush(b)
				var used, passed time.Duration
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					call()
					b.StartTimer()
					before, begun := processor(), time.Now()
					r.Flush(b)
					used, passed = used+processor()-before, passed+time.Since(begun)+min(max(writeInterval, writeShare*time.Since(begun)), store.MaxInterval)
				}
				b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "cpu-ms/op")
				b.ReportMetric(100*float64(used)/float64(passed), "%cpu")
			})
		}
	}
}

func databases(b *testing.B) map[string]func() store.Config {
	return map[string]func() store.Config{
		"sqlite":   func() store.Config { return store.Config{DB: filepath.Join(b.TempDir(), "usage.db")} },
		"postgres": func() store.Config { return store.Config{DB: postgres.Shared(b).Fresh(b)} },
	}
}
