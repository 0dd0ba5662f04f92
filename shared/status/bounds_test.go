package status

import (
	"context"
	"errors"
	"math/big"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/cache"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
)

// A transaction with very many swaps has a bounded answer, which says so. Each swap has its own settlement.
func wantManySwaps(t *testing.T, w *world) {
	g := w.newRig(t, everyChain)
	robin := w.chains[robinhood]
	hash := robin.Submit(manyAt, big.NewInt(17*100), w.etherSwap(100))
	robin.Commit()
	receipt := robin.Receipt(hash)
	if s := g.want(robinhood, hash, Settling, false); len(s.Swaps) != MostSwaps || s.Omitted != 1 {
		t.Errorf("got %d swaps and %d more, want 16 and 1", len(s.Swaps), s.Omitted)
	}
	for i := MostSwaps - 1; i >= 0; i-- {
		w.settleEther(w.nonceOf(receipt, i), 100, int64(99-i))
		if i > 0 && i < MostSwaps-1 {
			continue
		}
		s := g.want(robinhood, hash, Settling, false)
		for n, swap := range s.Swaps {
			if settled := n >= i; settled != (swap.State == Settled) || settled && swap.Settlement.Amount.Uint64() != uint64(99-n) {
				t.Errorf("swap %d is %s by %+v after the settlement of swap %d", n, swap.State, swap.Settlement, i)
			}
		}
	}
	if s := g.want(robinhood, hash, Settling, false); s.Reason != tooManySwaps || !s.Swaps[15].Final {
		t.Errorf("got %q and %+v, want that nobody looks at the seventeenth", s.Reason, s.Swaps[15])
	}
}

// A burn whose hook names no possible recipient is never paid out, and is kept
// from filling the memory. The money was taken, so that it is not told to be no swap.
func wantOddRecipients(t *testing.T, w *world) {
	g := w.newRig(t, everyChain)
	for _, hook := range []calldata.Swap{
		{DstChainID: 369, DstToken: w.token(hub, chain.USDC), Recipient: make([]byte, 40_000)},
		{DstChainID: 369, DstToken: w.token(hub, chain.USDC), Recipient: make([]byte, 20), RecipientType: 1},
		{DstChainID: 369, DstToken: w.token(hub, chain.USDC), Recipient: make([]byte, 20), RecipientType: 2},
		{DstChainID: 369, DstToken: w.token(hub, chain.USDC)},
	} {
		burn := calldata.Burn{DestinationDomain: cctpOf(base).Domain, Receiver: w.deployment.Settlement.Receiver.Address, BurnToken: w.token(optimism, chain.USDC), Swap: hook}
		burn.Amount.SetUint64(5)
		hash := w.chains[optimism].Submit(cctpOf(optimism).Messenger.Address, nil, burn.Encode())
		g.want(optimism, hash, Pending, false)
		w.chains[optimism].Commit()
		s := g.look(optimism, hash)
		if s.State == Failed { // for want of gas
			continue
		}
		if s.State != Settling || s.Final || len(s.Swaps) != 1 || s.Swaps[0].Reason != oddHook || len(s.Swaps[0].Recipient) > 160 {
			t.Errorf("got %s with %+v of a recipient of %d bytes", s.State, s.Swaps, len(hook.Recipient))
		}
	}
}

// More look-ups than a chain can be asked about are refused, and no quote waits for
// them: they have a lane of their own.
func wantFlood(t *testing.T, w *world) {
	g := w.newRig(t, everyChain)
	front := g.fronts[robinhood][0]
	client, err := rpc.New(rpc.Config{robinhood: {rpc.SecretURL(front.SecretURL())}}, rpc.Options{
		Limits: map[rpc.Lane]rpc.Limits{rpc.TxLookups: {Try: time.Minute, Total: time.Minute, Calls: 2, Waiting: 3}},
	})
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	front.Instead("batch", func(rw http.ResponseWriter, r *http.Request) {
		<-release
		w.chains[robinhood].ServeHTTP(rw, r)
	})
	g.use(New(w.deployment, client, g.issuer, Options{}))
	errs := make(chan error, 50)
	for i := range cap(errs) {
		go func() {
			_, err := g.Status(t.Context(), robinhood, common.Hash{0xee, byte(i)})
			errs <- err
		}()
	}
	for range cap(errs) - 5 {
		var f *fault.Error
		if err := <-errs; !errors.As(err, &f) || f.Code != fault.ChainUnavailable || f.RetryAfter != shortestNext {
			t.Errorf("got %v, want that it is too much", err)
		}
	}
	if got := front.Count("batch"); got > 2 {
		t.Errorf("%d questions at a time, want 2", got)
	}
	close(release)
	for range 5 {
		if err := <-errs; err != nil {
			t.Errorf("who had a place got %v", err)
		}
	}
	client.Close()
	_, err = g.Status(t.Context(), robinhood, common.Hash{0xef})
	if fault.From(err).Code != fault.ChainUnavailable {
		t.Errorf("got %v after the end", err)
	}
}

func wantNoEndpoint(t *testing.T, w *world) {
	receipt := w.swapEther(100)
	none := w.newRig(t, nil)
	f := none.wantFault(robinhood, receipt.TxHash, fault.ChainUnavailable, "chain 4663, of the transaction, has no RPC endpoint configured")
	if f.Role != fault.SourceChain || f.RetryAfter != time.Minute {
		t.Errorf("got %+v", f)
	}
	source := w.newRig(t, map[chain.ID]int{robinhood: 1})
	f = source.wantFault(robinhood, receipt.TxHash, fault.ChainUnavailable, "chain 369, on which the swap is paid out, has no RPC endpoint configured")
	if f.Role != 0 {
		t.Errorf("got %+v, want no parameter blamed", f)
	}
	two := w.newRig(t, map[chain.ID]int{robinhood: 1, hub: 2})
	if got := two.Alone(); !slices.Equal(got, []chain.ID{robinhood}) {
		t.Errorf("the only endpoints are those of %v, want of 4663", got)
	}
	untracked := w.newRig(t, everyChain, `"tracking": "reference"`, `"tracking": "none"`)
	untracked.wantFault(chain.PrivacyEthereum, receipt.TxHash, fault.StatusUnavailable, "on chain 1, or contact the operator")
	if got := untracked.fronts[robinhood][0].Count("eth_chainId"); got != 0 {
		t.Errorf("a chain was asked %d times for a deployment that cannot be followed", got)
	}
}

// Look-ups at the same time are one, and ends of callers do not end it.
func wantOneLookup(t *testing.T, w *world) {
	g := w.newRig(t, everyChain)
	receipt := w.swapEther(100)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = g.Status(gone, robinhood, receipt.TxHash)
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			if s, err := g.Status(t.Context(), robinhood, receipt.TxHash); err != nil || s.State != Settling {
				t.Errorf("got %+v, %v", s, err)
			}
		})
	}
	callers.Wait()
	if got := g.fronts[robinhood][0].Count("batch"); got != 1 {
		t.Errorf("the source was asked %d times, want once", got)
	}
	if got := g.fronts[hub][0].Count("batch"); got != 1 {
		t.Errorf("the destination was asked %d times, want once", got)
	}
	g.pass(9 * time.Second) // less than nextCheckSeconds
	g.want0(robinhood, receipt.TxHash)
	if got := g.fronts[hub][0].Count("batch"); got != 1 {
		t.Errorf("the destination was asked %d times before it was time", got)
	}
	g.pass(2 * time.Second)
	g.want0(robinhood, receipt.TxHash)
	if got, source := g.fronts[hub][0].Count("batch"), g.fronts[robinhood][0].Count("batch"); got != 2 || source != 1 {
		t.Errorf("destination and source were asked %d and %d times, want the destination again, and the confirmed source not", got, source)
	}
}

func wantFinalKept(t *testing.T, w *world) {
	g := w.newRig(t, everyChain)
	receipt := w.swapEther(100)
	w.settleEther(w.nonceOf(receipt, 0), 100, 99)
	first := g.want(robinhood, receipt.TxHash, Settled, true)
	asked := g.fronts[robinhood][0].Count("batch")
	for i := range 2 * cacheSize { // invented hashes do not push it out
		k := cache.Key{Network: robinhood, Name: common.Hash{byte(i), byte(i >> 8)}}
		g.answers.Ask(t.Context(), k, func() cache.Entry[entry] { return cache.Entry[entry]{} })
	}
	g.pass(365 * 24 * time.Hour)
	if again := g.want(robinhood, receipt.TxHash, Settled, true); again.Swaps[0].Settlement != first.Swaps[0].Settlement || g.fronts[robinhood][0].Count("batch") != asked {
		t.Error("a final answer was looked up again")
	}
}

// want0 asks without letting anything expire.
func (g *rig) want0(src chain.ID, tx common.Hash) {
	g.t.Helper()
	if _, err := g.Status(context.Background(), src, tx); err != nil {
		g.t.Error(err)
	}
}
