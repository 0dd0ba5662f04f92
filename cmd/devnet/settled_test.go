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
// from its sending until a wallet that follows it hears that it is settled and final. The reference deployment states
// what nine of ten stay below, rounded up, as "seconds".
func BenchmarkSettled(b *testing.B) {
	w := newWorld(b)
	stopped, err := w.net.Operate(b.Context(), func(reference.Report) {})
	if err != nil {
		b.Fatal(err)
	}
	defer stopped()
	var took []time.Duration
	for b.Loop() {
		took = append(took, w.timeEveryPair(b)...)
	}
	slices.Sort(took)
	b.ReportMetric(float64(len(took)), "swaps")
	b.ReportMetric(took[len(took)/2].Seconds(), "s-median")
	b.ReportMetric(took[len(took)*9/10].Seconds(), "s-nine-of-ten")
	b.ReportMetric(took[len(took)-1].Seconds(), "s-most")
}

// timeEveryPair sends all swaps at once, but for those that share a source chain: they wait for one another.
func (w *world) timeEveryPair(b *testing.B) (took []time.Duration) {
	var all sync.WaitGroup
	var adding sync.Mutex
	for _, p := range chain.Pairs() {
		all.Go(func() {
			least, _, _ := limits(p.SrcToken)
			s := w.swap(p, amount(b, least, p.SrcToken))
			checked, err := swap.Ask(b.Context(), w.gateway.Client, s, w.know)
			if err != nil {
				b.Errorf("%s: %v", pairName(p), err)
				return
			}
			one, err := w.timeOne(b, checked)
			if err != nil {
				b.Errorf("%s: %v", pairName(p), err)
				return
			}
			adding.Lock()
			defer adding.Unlock()
			took = append(took, one)
		})
	}
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return took
}

func (w *world) timeOne(b *testing.B, q *swap.Checked) (time.Duration, error) {
	done := w.turns.take(q.Swap.Src.Network())
	began := time.Now()
	receipt, err := swap.Execute(b.Context(), w.net.Chain(q.Swap.Src).Client(), reference.User.Key, q, nil)
	done()
	if err != nil {
		return 0, err
	}
	status, err := swap.Follow(b.Context(), w.gateway.Client, client.Sent{Hash: receipt.TxHash, Quote: q.Checked}, nil)
	if err != nil {
		return 0, err
	}
	if status.State != client.Settled || !status.Final {
		b.Errorf("%s: got %s, want it settled", pairName(*q.Swap.Pair), status.Raw)
	}
	return time.Since(began), nil
}
