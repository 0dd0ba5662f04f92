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

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/memo"
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
	if s := g.want(robinhood, hash, Settling, false); s.Reason != tooManySwaps || s.Swaps[15].State != Settled || !s.Swaps[15].Final {
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
		Limits: map[rpc.Lane]rpc.Limits{rpc.Sightings: {Try: time.Minute, Total: time.Minute, Calls: 2, Waiting: 3}},
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
	f := none.wantFault(robinhood, receipt.TxHash, fault.ChainUnavailable, "chain 4663, of the transaction, cannot be asked: this service has no RPC endpoint for it")
	if f.Role != fault.SourceChain || f.RetryAfter != time.Minute {
		t.Errorf("got %+v", f)
	}
	source := w.newRig(t, map[chain.ID]int{robinhood: 1})
	f = source.wantFault(robinhood, receipt.TxHash, fault.ChainUnavailable, "chain 369, on which the swap is paid out, cannot be asked")
	if f.Role != 0 {
		t.Errorf("got %+v, want no parameter blamed", f)
	}
	two := w.newRig(t, map[chain.ID]int{robinhood: 1, hub: 2})
	if got := two.Alone(); !slices.Equal(got, []chain.ID{robinhood}) {
		t.Errorf("the only endpoints are those of %v, want of 4663", got)
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
	if got := g.fronts[robinhood][0].Count("batch"); got != 2 { // the receipt, then its block
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
	if got, source := g.fronts[hub][0].Count("batch"), g.fronts[robinhood][0].Count("batch"); got != 2 || source != 2 {
		t.Errorf("destination and source were asked %d and %d times, want the destination again, and the confirmed source not", got, source)
	}
}

func wantFinalKept(t *testing.T, w *world) {
	g := w.newRig(t, everyChain)
	receipt := w.swapEther(100)
	w.settleEther(w.nonceOf(receipt, 0), 99)
	first := g.want(robinhood, receipt.TxHash, Settled, true)
	asked := g.fronts[robinhood][0].Count("batch")
	for i := range 2 * cacheSize { // invented hashes do not push it out
		k := memo.Key{Network: robinhood, Name: common.Hash{byte(i), byte(i >> 8)}}
		g.answers.Ask(t.Context(), k, func() memo.Answer[entry] { return memo.Answer[entry]{} })
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

// Clients are told to ask again when there may be something new, the less often the
// longer a swap takes, and never so often that they run out of questions.
func TestSchedule(t *testing.T) {
	now := time.Now()
	source := func(age time.Duration) *Source { return &Source{Confirmations: 1, Time: now.Add(-age)} }
	toHub := []Swap{{Swap: calldata.Swap{DstChainID: uint64(hub)}}}
	for name, test := range map[string]struct {
		network chain.ID
		status  Status
		asked   time.Duration // since it was first asked for
		next    time.Duration
	}{
		"not found":              {1, Status{State: NotFound}, 0, 5 * time.Second},
		"not found for long":     {1, Status{State: NotFound}, 5 * time.Minute, 15 * time.Second},
		"never found":            {1, Status{State: NotFound}, time.Hour, time.Minute},
		"in no block":            {1, Status{State: Pending}, 0, 12 * time.Second},
		"in no block, fast":      {base, Status{State: Pending}, 0, 5 * time.Second},
		"few confirmations":      {base, Status{State: Pending, Source: source(0)}, 0, 28 * time.Second},
		"failed, not final":      {1, Status{State: Failed, Source: source(0)}, 0, time.Minute},
		"failed":                 {1, Status{State: Failed, Final: true, Source: source(0)}, 0, 0},
		"settling":               {base, Status{State: Settling, Source: source(time.Minute), Swaps: toHub}, 0, 10 * time.Second},
		"settling for long":      {base, Status{State: Settling, Source: source(15 * time.Minute), Swaps: toHub}, 0, 45 * time.Second},
		"settling for an hour":   {base, Status{State: Settling, Source: source(time.Hour), Swaps: toHub}, 0, time.Minute},
		"settling for days":      {base, Status{State: Settling, Source: source(48 * time.Hour), Swaps: toHub}, 0, 5 * time.Minute},
		"settling in the future": {base, Status{State: Settling, Source: source(-time.Hour), Swaps: toHub}, 0, 10 * time.Second},
		"settled, not final":     {base, Status{State: Settled, Source: source(0), Swaps: toHub}, 0, 10 * time.Second},
		"settled":                {base, Status{State: Settled, Final: true, Source: source(0), Swaps: toHub}, 0, 0},
	} {
		deployment := editDeployment(t, `"1": 1, `, ``, `"8453": 1, `, ``)
		l := &lookup{tracker: &Tracker{deployment: deployment, Options: Options{Now: func() time.Time { return now }}}, key: memo.Key{Network: test.network}, trail: &trail{first: now.Add(-test.asked)}}
		s := test.status
		if l.schedule(&s); s.Next != test.next {
			t.Errorf("%s: ask again in %v, want %v", name, s.Next, test.next)
		}
	}
}

// What may be over in a moment is asked for soon, for some minutes.
func TestScheduleOfFailures(t *testing.T) {
	now := time.Now()
	tracker := &Tracker{deployment: chain.Reference(), Options: Options{Now: func() time.Time { return now }}}
	trail := &trail{first: now}
	old := now.Add(-48 * time.Hour)
	next := func(passing bool, blocked time.Duration, name byte) time.Duration {
		l := &lookup{tracker: tracker, key: memo.Key{Network: base, Name: [32]byte{31: name}}, trail: trail, passing: passing, blocked: blocked}
		s := Status{State: Settling, Source: &Source{Confirmations: 1, Time: old}}
		l.schedule(&s)
		return s.Next
	}
	for _, step := range []struct {
		passes  time.Duration
		passing bool
		next    time.Duration
	}{
		{0, false, staleNext},
		{time.Hour, true, shortestNext},
		{4 * time.Minute, true, shortestNext},
		{2 * time.Minute, true, staleNext}, // it lasts
		{time.Minute, false, staleNext},
		{time.Minute, true, shortestNext}, // another one
	} {
		now = now.Add(step.passes)
		if got := next(step.passing, 0, 0); got != step.next {
			t.Errorf("after %v, passing %v: asked again in %v, want %v", step.passes, step.passing, got, step.next)
		}
	}
	// The issuer is asked again when it can be, and not by everyone at once.
	first, last := next(true, time.Minute, 0), next(true, time.Minute, 255)
	if first != time.Minute || last < 80*time.Second || last > 90*time.Second {
		t.Errorf("asked again in %v and %v, want them apart", first, last)
	}
	if got := next(true, time.Hour, 0); got != staleNext {
		t.Errorf("asked again in %v while the issuer is blocked for an hour", got)
	}
}
