package gateway_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/metrics"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/gateway/usage"
)

// BenchmarkGateway is a whole answer with everything production has in front
// of it: access log, metrics, limiter, life, usage. Clients change with every request.
func BenchmarkGateway(b *testing.B) {
	all := modules()
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	limiter, err := limit.New(b.Context(), limit.Config{PerMinute: 1000}, log, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	db, err := store.Open(store.Config{})
	if err != nil {
		b.Fatal(err)
	}
	recorder, err := usage.New(b.Context(), db, usage.Options{
		Options: evidence.Options{Versions: gateway.Names(all), Current: all[0].Name, Log: log},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer recorder.Close(b.Context())
	life, err := lifecycle.New(lifecycle.Options{Versions: gateway.Names(all), Usage: recorder, Log: log})
	if err != nil {
		b.Fatal(err)
	}
	gw := gateway.New(gateway.Config{}, gateway.Parts{
		Modules: all, Current: gateway.Current, Lifecycle: life, Limiter: limiter, Names: recorder, Own: recorder, Log: log,
		Observers: []event.Observer{metrics.New(slog.New(slog.DiscardHandler)).Requests(all), recorder, gateway.NewAccessLog(io.Discard, "json", slog.LevelInfo, false)},
	})

	kinds := []struct{ name, query string }{
		{"direct", "?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369&recipient=" + somebody},
		{"burn", "?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=137&dstChain=369&recipient=" + somebody},
		{"shield", "?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=369&dstChain=69696969&recipient=" + private},
		{"unshield", "?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=69696969&dstChain=369&recipient=" + somebody},
		{"refused", "?srcToken=USDC&dstToken=USDC&amount=1&srcChain=1&dstChain=369&recipient=" + somebody},
	}
	for _, m := range all {
		for _, kind := range kinds {
			b.Run(m.Name+"/"+kind.name, func(b *testing.B) {
				r := httptest.NewRequest("GET", quotePath(m)+kind.query, nil)
				r.Header.Set("User-Agent", "wallet/1.0 (bench)")
				addr := netip.MustParseAddr("10.0.0.0")
				b.ReportAllocs()
				for b.Loop() {
					addr = addr.Next()
					r.RemoteAddr = netip.AddrPortFrom(addr, 4711).String()
					gw.ServeHTTP(discard{http.Header{}}, r)
				}
			})
		}
	}
}

// discard is a response that costs nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}
