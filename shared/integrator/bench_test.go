package integrator

import (
	"context"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/memo"
	"github.com/quotegate/quotegate/shared/rpc"
)

func benchmarkRegistry(b *testing.B) *Registry {
	front := newFront(b, newEVM(b, 369, partner(1, 25)))
	chains, err := rpc.New(endpoints(front), rpc.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(chains.Close)
	r, err := New(Config{CacheSize: 4096, CacheTTL: time.Hour}, deployment, chains, Options{})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func BenchmarkLookupRemembered(b *testing.B) {
	r, ctx, id := benchmarkRegistry(b), context.Background(), idOf(wallet(1))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Lookup(ctx, 369, id); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLookupRememberedParallel(b *testing.B) {
	r, ctx, id := benchmarkRegistry(b), context.Background(), idOf(wallet(1))
	if _, err := r.Lookup(ctx, 369, id); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := r.Lookup(ctx, 369, id); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkLookupRememberedStranger(b *testing.B) {
	r, ctx, id := benchmarkRegistry(b), context.Background(), idOf(wallet(2))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Lookup(ctx, 369, id); fault.From(err).Code != fault.IntegratorUnregistered {
			b.Fatal(err)
		}
	}
}

// BenchmarkLookupAsked includes the node, which runs in this process.
func BenchmarkLookupAsked(b *testing.B) {
	r, id := benchmarkRegistry(b), idOf(wallet(1))
	k := memo.Key{Network: 369, Name: id}
	b.ReportAllocs()
	for b.Loop() {
		if a := r.fetch(context.Background(), k); a.Value.failure != nil {
			b.Fatal(a.Value.failure)
		}
	}
}

func BenchmarkParseID(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseID(checksummed); err != nil {
			b.Fatal(err)
		}
	}
}
