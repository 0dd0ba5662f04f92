package status

import (
	"context"
	"errors"
	"math/big"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
)

// A transaction with very many swaps has a bounded answer, which says so.
func wantManySwaps(t *testing.T, w *world) {
	g := w.newRig(t, everyChain)
	robin := w.chains[robinhood]
	hash := robin.Submit(manyAt, big.NewInt(17*10), w.etherSwap(10))
	robin.Commit()
	receipt := robin.Receipt(hash)
	if s := g.want(robinhood, hash, Settling, false); len(s.Swaps) != MostSwaps || s.Omitted != 1 {
		t.Errorf("got %d swaps and %d more, want 16 and 1", len(s.Swaps), s.Omitted)
	}
	for i := range MostSwaps {
		w.settleEther(w.nonceOf(receipt, i), 9)
	}
	g.want(robinhood, hash, Settled, true)
}

// A burn whose hook names no possible recipient is never paid out, and is kept
// from filling the memory.
func wantOddRecipients(t *testing.T, w *world) {
	g := w.newRig(t, everyChain)
	for _, hook := range []calldata.Hook{
		{DstChainID: 369, DstToken: w.token(hub, chain.USDC), Recipient: make([]byte, 40_000)},
		{DstChainID: 369, DstToken: w.token(hub, chain.USDC), Recipient: make([]byte, 20), RecipientType: 1},
		{DstChainID: 369, DstToken: w.token(hub, chain.USDC), Recipient: make([]byte, 20), RecipientType: 2},
		{DstChainID: 369, DstToken: w.token(hub, chain.USDC)},
	} {
		burn := calldata.Burn{DestinationDomain: cctpOf(base).Domain, Receiver: w.deployment.Settlement.Receiver.Address, BurnToken: w.token(optimism, chain.USDC), Hook: hook}
		burn.Amount.SetUint64(5)
		hash := w.chains[optimism].Submit(cctpOf(optimism).Messenger.Address, nil, burn.Encode())
		g.want(optimism, hash, Pending, false)
		w.chains[optimism].Commit()
		s := g.look(optimism, hash)
		if len(s.Swaps) != 0 || s.State != NotASwap && s.State != Failed {
			t.Errorf("got %s with %d swaps of a recipient of %d bytes", s.State, len(s.Swaps), len(hook.Recipient))
		}
	}
}

// More look-ups than a chain can be asked about are refused, and no quote waits for
// them: they have a lane of their own.
func wantFlood(t *testing.T, w *world) {
	g := w.newRig(t, everyChain)
	front := g.fronts[robinhood][0]
	client, err := rpc.New(rpc.Config{robinhood: {rpc.SecretURL(front.SecretURL())}}, rpc.Options{
		Limits: map[rpc.Lane]rpc.Limits{rpc.Tracking: {Try: time.Minute, Total: time.Minute, Calls: 2, Waiting: 3}},
	})
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	front.Instead("batch", func(rw http.ResponseWriter, r *http.Request) {
		<-release
		w.chains[robinhood].ServeHTTP(rw, r)
	})
	g.use(New(w.deployment, client, g.issuer, g.now))
	errs := make(chan error, 50)
	for i := range cap(errs) {
		go func() {
			_, err := g.Status(t.Context(), robinhood, common.Hash{0xee, byte(i)})
			errs <- err
		}()
	}
	for range cap(errs) - 5 {
		var f *fault.Error
		if err := <-errs; !errors.As(err, &f) || f.Code != fault.ChainUnavailable || f.RetryAfter != time.Second {
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
	f := none.wantFault(robinhood, receipt.TxHash, fault.ChainUnavailable, "chain 4663, of the transaction, cannot be asked: this service has no RPC endpoint for it")
	if f.Role != fault.SourceChain || f.RetryAfter != time.Minute {
		t.Errorf("got %+v", f)
	}
	source := w.newRig(t, map[chain.ID]int{robinhood: 1})
	f = source.wantFault(robinhood, receipt.TxHash, fault.ChainUnavailable, "chain 369, on which the swap is paid out, cannot be asked")
	if f.Role != 0 {
		t.Errorf("got %+v, want no parameter blamed", f)
	}
	untracked := w.newRig(t, everyChain, `"tracking": "reference"`, `"tracking": "none"`)
	untracked.wantFault(chain.PrivacyEthereum, receipt.TxHash, fault.StatusUnavailable, "on chain 1, or ask the operator")
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
	g.pass(10 * time.Second) // a block of the hub
	if _, err := g.Status(t.Context(), robinhood, receipt.TxHash); err != nil {
		t.Error(err)
	}
	if got := g.fronts[robinhood][0].Count("batch"); got != 2 {
		t.Errorf("the source was asked %d times, want again after a block", got)
	}
}

func wantFinalKept(t *testing.T, w *world) {
	g := w.newRig(t, everyChain)
	receipt := w.swapEther(100)
	w.settleEther(w.nonceOf(receipt, 0), 99)
	first := g.want(robinhood, receipt.TxHash, Settled, true)
	asked := g.fronts[robinhood][0].Count("batch")
	for i := range 2 * cacheSize { // invented hashes do not push it out
		g.recent.Add(key{robinhood, common.Hash{byte(i), byte(i >> 8)}}, entry{})
	}
	g.pass(365 * 24 * time.Hour)
	if again := g.want(robinhood, receipt.TxHash, Settled, true); again != first || g.fronts[robinhood][0].Count("batch") != asked {
		t.Error("a final answer was looked up again")
	}
	if g.recent.Len() > cacheSize {
		t.Errorf("%d answers are kept, want %d at most", g.recent.Len(), cacheSize)
	}
}

// Clients are told to ask again when there may be something new, and the less often
// the longer a swap takes.
func TestSchedule(t *testing.T) {
	now := time.Now()
	source := func(age time.Duration) *Source { return &Source{Confirmations: 1, Time: now.Add(-age)} }
	toHub := []Swap{{Swap: calldata.Swap{DstChainID: uint64(hub)}}}
	for name, test := range map[string]struct {
		network    chain.ID
		status     Status
		next, keep time.Duration
	}{
		"not found on a slow chain": {1, Status{State: NotFound}, 3 * time.Second, 3 * time.Second},
		"not found on a fast chain": {base, Status{State: NotFound}, 2 * time.Second, 2 * time.Second},
		"in no block":               {1, Status{State: Pending}, 12 * time.Second, 12 * time.Second},
		"few confirmations":         {base, Status{State: Pending, Source: source(0)}, 22 * time.Second, 2 * time.Second},
		"failed, not final":         {1, Status{State: Failed, Source: source(0)}, time.Minute, 12 * time.Second},
		"failed":                    {1, Status{State: Failed, Final: true, Source: source(0)}, 0, finalAge},
		"settling":                  {base, Status{State: Settling, Source: source(time.Minute), Swaps: toHub}, 10 * time.Second, 10 * time.Second},
		"settling for long":         {base, Status{State: Settling, Source: source(15 * time.Minute), Swaps: toHub}, 45 * time.Second, 10 * time.Second},
		"settling for days":         {base, Status{State: Settling, Source: source(48 * time.Hour), Swaps: toHub}, time.Minute, 10 * time.Second},
		"settling in the future":    {base, Status{State: Settling, Source: source(-time.Hour), Swaps: toHub}, 10 * time.Second, 10 * time.Second},
		"settled, not final":        {base, Status{State: Settled, Source: source(0), Swaps: toHub}, 10 * time.Second, 10 * time.Second},
		"settled":                   {base, Status{State: Settled, Final: true, Source: source(0), Swaps: toHub}, 0, finalAge},
		"settled, event missing":    {base, Status{State: Settled, Final: true, Source: source(0), Swaps: []Swap{{Settlement: &Settlement{}}}}, time.Minute, 2 * time.Second},
	} {
		deployment := editDeployment(t, `"1": 1, `, ``, `"8453": 1, `, ``)
		l := &lookup{Tracker: &Tracker{deployment: deployment, now: func() time.Time { return now }}, key: key{network: test.network}}
		s := test.status
		if l.schedule(&s); s.Next != test.next || s.Keep != test.keep {
			t.Errorf("%s: ask again in %v, keep for %v, want %v and %v", name, s.Next, s.Keep, test.next, test.keep)
		}
	}
}
