package main

import (
	"bytes"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/railgun"
	"github.com/quotegate/quotegate/v3/client"
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

// A kind is what swaps have in common that take the same way.
type kind struct {
	route                                    chain.Route
	toHub, onward, native, shield, unshields bool
}

func (w *world) kindOf(p chain.Pair) kind {
	return kind{
		route:     p.Route,
		toHub:     p.Dst == chain.Hub,
		onward:    w.net.Deployment.FeeChain(p.Dst) != p.Dst.Network(),
		native:    p.SrcToken.Native(),
		shield:    p.Dst.Private(),
		unshields: p.Src.Private(),
	}
}

// everyPair swaps every pair once; in turn at the least amount, at the most with an integrator, in between in the words
// of an older version, and as a batch. The turns shift, so that each chain and each token has all of them.
func (w *world) everyPair(t *testing.T) {
	seen := map[kind]bool{}
	for i, p := range chain.Pairs() {
		first := !seen[w.kindOf(p)]
		seen[w.kindOf(p)] = true
		if testing.Short() && !first {
			continue
		}
		least, odd, most := limits(p.SrcToken)
		ways := []struct {
			name, version, amount string
			integrator            common.Address
			batch                 bool
		}{
			{name: "least", version: "v3", amount: least},
			{name: "most", version: "v3", amount: most, integrator: reference.Integrator.Wallet},
			{name: "odd", version: olderVersion(p, i/4), amount: odd},
			{name: "batch", version: "v3", amount: least, batch: !p.Src.Private()},
		}
		way := ways[(i+i/4)%4]
		t.Run(pairName(p)+" "+way.name+" "+way.version, func(t *testing.T) {
			t.Parallel()
			s := w.newSwap(t, p, way.amount)
			s.Integrator = way.integrator
			var checked *swap.Checked
			var receipt *types.Receipt
			if way.batch {
				checked, receipt = w.sendBatch(t, s, reference.User.Key, new(big.Int))
			} else {
				checked = w.quote(t, way.version, s)
				receipt = w.execute(t, checked)
			}
			w.wantPaid(t, s, checked, receipt)
			if first {
				status := w.wantState(t, s.Src, receipt.TxHash, client.Settling)
				equal(t, "whether the status has a burn", status.Burn != nil, s.Route == chain.CCTPInbound)
			}
			payout := w.settle(t, s, receipt)
			w.wantSettled(t, checked, payout)
			// With the quote, the client refuses a status of another swap.
			w.wantStatus(t, client.Sent{Hash: receipt.TxHash, SrcChain: uint64(s.Src), Quote: checked.Checked}, payout)
		})
	}
}

func pairName(p chain.Pair) string {
	return p.SrcToken.Symbol + "@" + p.Src.String() + " to " + p.DstToken.Symbol + "@" + p.Dst.String()
}

// olderVersion is one of those that are served and know the pair, in turn; without any it is the current one. An older
// version may have been deleted.
func olderVersion(p chain.Pair, turn int) string {
	onV1 := []chain.ID{1, 56, 137, 369, 8453, 42161, 69696969, 96969696}
	versions := []string{}
	if served("v1") && slices.Contains(onV1, p.Src) && slices.Contains(onV1, p.Dst) {
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

func served(version string) bool {
	_, err := os.Stat("../../" + version)
	return err == nil
}

// wantPaid wants the swapper to have paid the amount and, of a chain's own coin, the gas, and the pool to have it.
func (w *world) wantPaid(t *testing.T, s swap.Swap, q *swap.Checked, receipt *types.Receipt) {
	t.Helper()
	user := reference.User.Address
	want := new(big.Int).Neg(s.Amount)
	if s.SrcToken.Native() {
		gas := new(big.Int).Mul(new(big.Int).SetUint64(receipt.GasUsed), receipt.EffectiveGasPrice)
		want.Sub(want, gas)
	}
	w.wantChange(t, "swapper", s.SrcToken, user, receipt, want)
	if s.Route != chain.CCTPInbound {
		w.wantChange(t, "source pool", s.SrcToken, q.Main.To, receipt, s.Amount)
	}
}

// wantSettled wants everyone to have their part, as the client works it out.
func (w *world) wantSettled(t *testing.T, q *swap.Checked, payout *reference.Payout) {
	t.Helper()
	s := q.Swap
	gross := new(big.Int).Add(q.Dest, q.Protocol)
	gross.Add(gross, q.Integrator)
	paid := s.DstToken
	if payout.Mint != nil { // where the destination has no pool, the settlement chain's pays, in USDC too
		usdc, err := chain.FindToken(payout.Network, chain.USDC)
		if err != nil {
			t.Fatal(err)
		}
		paid = *usdc
	}
	w.wantChange(t, "treasury", paid, reference.Treasury, payout.Receipt, q.Protocol)
	w.wantChange(t, "integrator", paid, reference.Integrator.Wallet, payout.Receipt, q.Integrator)
	w.wantChange(t, "pool", paid, payout.Pool, payout.Receipt, new(big.Int).Neg(gross))
	if !s.Dst.Private() {
		w.wantBalance(t, s.DstToken, s.Recipient, q.Dest)
		return
	}
	fee := new(big.Int).Mul(q.Dest, big.NewInt(25))
	fee.Quo(fee, big.NewInt(10_000))
	w.wantNote(t, s, payout.Receipt, new(big.Int).Sub(q.Dest, fee), fee)
}

// wantNote wants a transaction to have shielded one note, which the recipient can open and spend.
func (w *world) wantNote(t *testing.T, s swap.Swap, receipt *types.Receipt, value, fee *big.Int) {
	t.Helper()
	var event struct {
		TreeNumber, StartPosition *big.Int
		Commitments               []contracts.ShieldNote
		ShieldCiphertext          []contracts.ShieldCiphertext
		Fees                      []*big.Int
	}
	for _, log := range receipt.Logs {
		if log.Topics[0] == contracts.RailgunABI.Events["Shield"].ID {
			if err := contracts.RailgunABI.UnpackIntoInterface(&event, "Shield", log.Data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(event.Commitments) != 1 || len(event.ShieldCiphertext) != 1 || len(event.Fees) != 1 {
		t.Fatalf("got %+v, want one note", event)
	}
	made, hidden := event.Commitments[0], event.ShieldCiphertext[0]
	equal(t, "shielded token", made.Token.TokenAddress, s.DstToken.Address)
	equal(t, "shielded amount", made.Value, value)
	equal(t, "RAILGUN's fee", event.Fees[0], fee)
	owner, err := railgun.ParseAddress(s.Recipient)
	if err != nil {
		t.Fatal(err)
	}
	random, err := railgun.Open(reference.PrivateViewingKey,
		railgun.Note{NPK: made.Npk, EncryptedBundle: hidden.EncryptedBundle, ShieldKey: hidden.ShieldKey})
	if err != nil || owner.NPK(random) != made.Npk {
		t.Errorf("the recipient cannot open and spend the note: %v", err)
	}
}

// wantStatus wants a wallet to find the settlement through the gateway. An answer from before the settlement may be
// kept for a block time.
func (w *world) wantStatus(t *testing.T, sent client.Sent, payout *reference.Payout) {
	t.Helper()
	status, err := swap.Follow(t.Context(), w.gateway, sent, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if status.State != client.Settled || !status.Final || status.Settlement == nil {
		t.Fatalf("got %s, want it settled", status.Raw)
	}
	if _, ok := status.Took(); !ok {
		t.Errorf("it does not say how long it took: %s", status.Raw)
	}
	paid := payout.Receipt
	if payout.Mint != nil {
		paid = payout.Mint
	}
	equal(t, "transaction of the settlement", status.Settlement.TxHash, paid.TxHash)
	equal(t, "chain of the settlement", status.Settlement.ChainID, payout.DstChain.Network())
	equal(t, "amount of the settlement", status.Settlement.Amount, payout.Settlement.Amount)
	equal(t, "amount of the swap", status.Swap.Amount, payout.Amount)
}

func (w *world) wantState(t *testing.T, src chain.ID, tx common.Hash, want string) *client.Status {
	t.Helper()
	for status, err := range w.gateway.Follow(t.Context(), client.Sent{SrcChain: uint64(src), Hash: tx}) {
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "state of "+tx.Hex(), status.State, want)
		return status
	}
	return nil
}

// notSettled wants the status of what the operator does not pay out: a burn that allows less than the issuer's fee, a
// transaction that is no swap, and one that does not exist.
func (w *world) notSettled(t *testing.T) {
	s := w.newSwap(t, pairOf(t, "USDC@59144", "USDC@369"), "10")
	checked := w.quote(t, "v3", s)
	replaceLast(t, checked.Main.Data, common.BigToHash(checked.MaxFee).Bytes(), make([]byte, 32))
	status := w.wantState(t, s.Src, w.execute(t, checked).TxHash, client.Settling)
	if status.Burn == nil || status.Burn.Attested || !strings.Contains(status.Burn.Reason, "insufficient_fee") {
		t.Errorf("got %s, want that the fee is insufficient", status.Raw)
	}
	p := pairOf(t, "USDC@369", "USDC@1")
	receipt := w.send(t, p.Src, tokenCall(t, p.SrcToken, "approve", w.newRecipient(), big.NewInt(1)))
	w.wantState(t, p.Src, receipt.TxHash, client.NotASwap)
	w.wantState(t, p.Src, common.Hash{1}, client.NotFound)
}

// replaceLast writes over the last occurrence of old, which is as long as its replacement.
func replaceLast(t *testing.T, data, old, replacement []byte) {
	t.Helper()
	at := bytes.LastIndex(data, old)
	if at < 0 || len(old) != len(replacement) {
		t.Fatalf("%x cannot take the place of %x in %x", replacement, old, data)
	}
	copy(data[at:], replacement)
}
