package main

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// BenchmarkSettled sends one swap of every pair on a devnet whose operator settles, and measures how long each takes
// until a wallet that follows it hears that it is settled and final. The reference deployment states what nine of ten
// stay below, rounded up, as "seconds". Swaps from the same chain wait for one another.
func BenchmarkSettled(b *testing.B) {
	w := newWorld(b)
	stopped, err := w.net.Operate(b.Context(), func(reference.Report) {})
	if err != nil {
		b.Fatal(err)
	}
	defer stopped()
	var adding sync.Mutex
	var took []time.Duration
	for b.Loop() {
		var all sync.WaitGroup
		for _, p := range chain.Pairs() {
			all.Go(func() {
				one, err := w.timeSwap(b, p)
				if err != nil {
					b.Errorf("%s: %v", pairName(p), err)
				}
				adding.Lock()
				defer adding.Unlock()
				took = append(took, one)
			})
		}
		all.Wait()
	}
	slices.Sort(took)
	b.ReportMetric(float64(len(took)), "swaps")
	b.ReportMetric(took[len(took)/2].Seconds(), "s-median")
	b.ReportMetric(took[len(took)*9/10].Seconds(), "s-nine-of-ten")
	b.ReportMetric(took[len(took)-1].Seconds(), "s-most")
}

func (w *world) timeSwap(b *testing.B, p chain.Pair) (time.Duration, error) {
	least, _, _ := limits(p.SrcToken)
	q, err := swap.Ask(b.Context(), w.gateway, w.newSwap(b, p, least), &reference.PrivateViewingKey)
	if err != nil {
		return 0, err
	}
	done := w.takeTurn(p.Src.Network())
	began := time.Now()
	receipt, err := swap.Execute(b.Context(), w.net.Chain(p.Src).Client(), reference.User.Key, q, nil)
	done()
	if err != nil {
		return 0, err
	}
	sent := client.Sent{Hash: receipt.TxHash, Quote: q.Checked}
	status, err := swap.Follow(b.Context(), w.gateway, sent, func(string) {})
	if err != nil {
		return 0, err
	}
	equal(b, "state of "+pairName(p), status.State, client.Settled)
	return time.Since(began), nil
}
