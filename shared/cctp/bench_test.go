package cctp_test

import (
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
)

func liveFees(b testing.TB) *cctp.Fees {
	server := httptest.NewServer(charge("7"))
	b.Cleanup(server.Close)
	f, err := cctp.New(cctp.Config{FeeURL: server.URL}, chain.Reference().Settlement, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(f.Close)
	settled(b, f, linea)
	return f
}

// TestARateAllocatesNothing holds the path of every burn's quote to it.
func TestARateAllocatesNothing(t *testing.T) {
	f := liveFees(t)
	if got := testing.AllocsPerRun(1000, func() { f.Of(linea) }); got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}

func BenchmarkOf(b *testing.B) {
	f := liveFees(b)
	b.ReportAllocs()
	for b.Loop() {
		f.Of(linea)
	}
}

func BenchmarkOfParallel(b *testing.B) {
	f := liveFees(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			f.Of(linea)
		}
	})
}

func BenchmarkMaxFee(b *testing.B) {
	rate, amount := bps(b, "1.3"), uint256.NewInt(25_000_000_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rate.MaxFee(amount); err != nil {
			b.Fatal(err)
		}
	}
}
