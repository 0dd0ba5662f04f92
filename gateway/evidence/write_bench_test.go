package evidence_test

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/testkit/clock"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
)

// BenchmarkWrite writes a batch of clients that are in the database already.
func BenchmarkWrite(b *testing.B) {
	for kind, cfg := range map[string]func() evidence.Config{
		"sqlite":   func() evidence.Config { return evidence.Config{DB: filepath.Join(b.TempDir(), "usage.db")} },
		"postgres": func() evidence.Config { return evidence.Config{DB: postgres.Shared(b).Fresh(b)} },
	} {
		b.Run(kind, func(b *testing.B) {
			r := recorded.Begin(b, cfg(), clock.At(noon))
			call := func() {
				for i := range 20_000 {
					c := caller.Caller{Agent: "okhttp", Origin: fmt.Sprintf("https://wallet-%d.example", i),
						Addr: netip.AddrFrom4([4]byte{byte(i >> 16), byte(i >> 8), byte(i), 1})}
					r.Observe(&event.Event{Time: r.Clock.Now(), Version: "v1", Caller: c, Client: r.Name(c.Identity()),
						Pair: recorded.Pair, Finding: sameMoney})
				}
			}
			call()
			r.Flush(b)
			for b.Loop() {
				b.StopTimer()
				call()
				b.StartTimer()
				r.Flush(b)
			}
		})
	}
}
