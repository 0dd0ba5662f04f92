package usage

import (
	"strconv"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
)

func BenchmarkRecord(b *testing.B) {
	for _, clients := range []int{1, 100, 2000, 100_000} {
		b.Run("clients="+strconv.Itoa(clients), func(b *testing.B) {
			r := start(b, Config{}, "", &clock{t: noon})
			ids := make([]caller.Identity, clients)
			for i := range ids {
				ids[i] = caller.Identity{Kind: caller.Agent, Text: "okhttp 10." + strconv.Itoa(i>>8) + "." + strconv.Itoa(i&255) + ".0/24"}
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				r.Record("v1", ids[i%clients], noon.Add(time.Duration(i)*time.Millisecond))
				i++
			}
		})
	}
}

func BenchmarkRecordInParallel(b *testing.B) {
	r := start(b, Config{}, "", &clock{t: noon})
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		id := origin(1)
		for p.Next() {
			r.Record("v1", id, noon)
		}
	})
}

func full(b *testing.B) *rig {
	r := start(b, Config{}, "", &clock{t: noon})
	for n := range uint64(100_000) {
		r.clock.pass(7 * time.Second)
		r.Record("v1", longOrigin(n), r.clock.now())
	}
	return r
}

func BenchmarkLastDay(b *testing.B) {
	r := full(b)
	for b.Loop() {
		r.LastDay("v1")
	}
}

func BenchmarkReport(b *testing.B) {
	r := full(b)
	for b.Loop() {
		r.Report()
	}
}

func BenchmarkEncode(b *testing.B) {
	r := full(b)
	for b.Loop() {
		if _, err := r.snapshot().encode(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSnapshot(b *testing.B) {
	r := full(b)
	for b.Loop() {
		r.snapshot()
	}
}
