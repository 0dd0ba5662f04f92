package main

import (
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/referee"
)

// limits of one transaction, and an amount between them that no conversion divides evenly.
func limits(token chain.Token) (least, odd, most string) {
	switch token.Symbol {
	case chain.ETH, chain.WETH:
		return "0.01", "1.234567890123456789", "20"
	}
	if token.Decimals == 18 {
		return "10", "1234.567890123456789012", "25000"
	}
	return "10", "1234.567891", "25000"
}

// everyPair executes every pair, in turn: by its transactions at the least amount, at the most with an integrator, in
// between in the words of an older version, and as a batch. The turns shift, so that each chain and each token has all.
func (w *world) everyPair(t *testing.T) {
	for i, p := range chain.Pairs() {
		least, odd, most := limits(p.SrcToken)
		kinds := []struct {
			version, amount string
			integrator      common.Address
			batch           bool
		}{
			{version: "v3", amount: least},
			{version: "v3", amount: most, integrator: reference.Integrator.Wallet},
			{version: olderVersion(p, i/4), amount: odd},
			{version: "v3", amount: least, batch: true},
		}
		kind := kinds[(i+i/4)%4]
		s := w.swap(p, amount(t, kind.amount, p.SrcToken))
		s.Integrator = kind.integrator
		t.Run(pairName(p)+" "+kind.version+" "+kind.amount, func(t *testing.T) {
			t.Parallel()
			if kind.batch {
				w.completeBatch(t, s)
			} else {
				w.complete(t, kind.version, s)
			}
		})
	}
}

// olderVersion is one of those that are served and know the pair, in turn; without any it is the current one.
func olderVersion(p chain.Pair, turn int) string {
	versions := []string{}
	if served("v1") && onV1(p.Src) && onV1(p.Dst) {
		versions = append(versions, "v1")
	}
	if served("v3legacy") {
		versions = append(versions, "v3legacy")
	}
	if len(versions) == 0 {
		return "v3"
	}
	return versions[turn%len(versions)]
}

// served tells whether a version is there: an older one may have been deleted.
func served(version string) bool {
	_, err := os.Stat("../../" + version)
	return err == nil
}

// onV1 tells whether the oldest version knows a chain.
func onV1(id chain.ID) bool {
	return slices.Contains([]chain.ID{1, 56, 137, 369, 8453, 42161, 69696969, 96969696}, id)
}

func pairName(p chain.Pair) string {
	return fmt.Sprintf("%s on %s to %s on %s", p.SrcToken.Symbol, p.Src, p.DstToken.Symbol, p.Dst)
}

// complete takes a swap from the question to the money.
func (w *world) complete(t *testing.T, version string, s swap.Swap) {
	q, checked := w.quote(t, version, s)
	receipt := w.execute(t, checked)
	if s.Route == chain.CCTPInbound {
		w.wantBurn(t, s, checked, receipt)
	} else {
		w.wantSwap(t, s, checked, receipt)
	}
	w.wantPaid(t, s, checked, receipt)

	if w.firstOfKind(s, w.net.Deployment.FeeChain(s.Dst)) {
		w.wantSettling(t, s, receipt)
	}
	payout := w.settle(t, s.Src.Network(), receipt)
	if s.Route == chain.CCTPInbound {
		w.wantDelivery(t, s, checked, payout)
	}
	w.wantSettled(t, s, q, payout)
	w.wantID(t, s, checked, receipt, payout)
	w.wantStatus(t, s, receipt, payout)
}

// wantPaid wants the swapper to be poorer by the amount and, on a chain's own coin, the gas.
func (w *world) wantPaid(t *testing.T, s swap.Swap, q *swap.Checked, receipt *types.Receipt) {
	t.Helper()
	me, want := reference.User.Address, negative(s.Amount)
	value := new(big.Int)
	if s.SrcToken.Native() {
		value.Set(s.Amount)
		gas := new(big.Int).Mul(new(big.Int).SetUint64(receipt.GasUsed), receipt.EffectiveGasPrice)
		want.Sub(want, gas)
	}
	equal(t, "change of the swapper's balance", w.change(t, s.SrcToken, me, receipt), want)
	tx, _, err := w.net.Chain(s.Src).Client().TransactionByHash(t.Context(), receipt.TxHash)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "value of the transaction", tx.Value(), value)
	if !s.SrcToken.Native() {
		equal(t, "allowance left over", w.allowance(t, s.SrcToken, me, q.Main.To, receipt.BlockNumber), 0)
	}
}

// refereed has the referee work the quote out again. It gives who must get what.
func (w *world) refereed(t *testing.T, s swap.Swap, q *rawQuote) referee.Split {
	t.Helper()
	pair, err := w.referee.Find(s.SrcToken.Symbol, uint64(s.Src), s.DstToken.Symbol, uint64(s.Dst))
	if err != nil {
		t.Fatal(err)
	}
	swap, bps := &referee.Swap{Pair: pair, Amount: s.Amount, Recipient: s.Recipient}, int64(0)
	if s.Integrator != (common.Address{}) {
		swap.Integrator, bps = s.Integrator.Hex(), int64(reference.Integrator.FeeBPS)
	}
	if err := w.referee.Check(q.Version, swap, bps, []*big.Rat{w.referee.BuiltInBPS(swap.Src)}, q.Raw); err != nil {
		t.Errorf("the referee expects another quote: %v", err)
	}
	return swap.Split(bps)
}

// wantSettled wants everyone to have their part.
func (w *world) wantSettled(t *testing.T, s swap.Swap, q *rawQuote, payout *reference.Payout) {
	t.Helper()
	want := w.refereed(t, s, q)

	// Where the destination has no pool, the settlement chain's pays, in USDC too.
	paid := s.DstToken
	if payout.Mint != nil {
		network, _ := chain.FindNetwork(payout.Network)
		paid = network.Tokens[slices.IndexFunc(network.Tokens, func(t chain.Token) bool { return t.Symbol == chain.USDC })]
	}
	equal(t, "change of the treasury", w.change(t, paid, reference.Treasury, payout.Receipt), want.Protocol)
	equal(t, "change of the integrator's wallet", w.change(t, paid, reference.Integrator.Wallet, payout.Receipt), want.Integrator)
	equal(t, "change of the pool", w.change(t, paid, payout.Pool, payout.Receipt), negative(want.Gross))
	if q.Version == "v3" {
		equal(t, "chain of the pool", payout.Network, q.Fee.ChainID)
	}
	if s.Dst.Private() {
		w.wantShielded(t, s, want.Net, payout.Receipt)
		return
	}
	equal(t, "balance of the recipient", w.balance(t, s.DstToken, common.HexToAddress(s.Recipient), nil), want.Net)
}

// beyondTheLimits wants one unit less than the least, and one more than the most, of every token to be refused.
func (w *world) beyondTheLimits(t *testing.T) {
	tried := map[string]bool{}
	for _, p := range chain.Pairs() {
		if key := p.Src.String() + p.SrcToken.Symbol; tried[key] {
			continue
		} else {
			tried[key] = true
		}
		least, _, most := limits(p.SrcToken)
		one := big.NewInt(1)
		for _, amount := range []*big.Int{
			new(big.Int).Sub(amount(t, least, p.SrcToken), one),
			new(big.Int).Add(amount(t, most, p.SrcToken), one),
		} {
			_, err := w.gateway.Quote(t.Context(), w.swap(p, amount).Request())
			if err == nil || !strings.Contains(err.Error(), "AMOUNT_OUT_OF_RANGE") {
				t.Errorf("%s of %s on %s: got %v, want it refused", amount, p.SrcToken.Symbol, p.Src, err)
			}
		}
	}
}
