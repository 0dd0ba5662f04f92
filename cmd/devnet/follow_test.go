package main

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// oneOfEachKind swaps, wants everyone to have their part, and wants a wallet to find the settlement through the gateway
// and to recognise in it what it signed.
func (w *world) oneOfEachKind(t *testing.T) {
	for name, p := range map[string]chain.Pair{
		"to the hub":   pairOf(t, 8453, "USDC", 369, "USDC"),
		"native":       pairOf(t, 4663, "ETH", 369, "WETH"),
		"from the hub": pairOf(t, 369, "USDC", 56, "USDC"),
		"burn":         pairOf(t, 59144, "USDC", 369, "USDC"),
		"onward":       pairOf(t, 369, "USDC", 42161, "USDC"),
		"shielding":    pairOf(t, 56, "DAI", 69696969, "USDC"),
		"unshielding":  pairOf(t, 96969696, "WETH", 369, "WETH"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.followOne(t, p)
		})
	}
	t.Run("burn without the fee", func(t *testing.T) {
		t.Parallel()
		w.followDelayed(t)
	})
	t.Run("no swap", func(t *testing.T) {
		t.Parallel()
		p := pairOf(t, 369, "USDC", 1, "USDC")
		defer w.turns.take(p.Src)()
		receipt := w.mustSend(t, p.Src, approval(t, p.SrcToken, w.newRecipient(), big.NewInt(1)))
		w.wantState(t, p.Src, receipt.TxHash, client.NotASwap)
		w.wantState(t, p.Src, common.Hash{1}, client.NotFound)
	})
}

func (w *world) wantState(t *testing.T, src chain.ID, tx common.Hash, want string) *client.Status {
	t.Helper()
	status, err := w.gateway.Status(t.Context(), client.Sent{SrcChain: uint64(src), Hash: tx})
	if err != nil {
		t.Fatal(err)
	}
	if status.State != want {
		t.Errorf("got %s, want %s", status.Raw, want)
	}
	return status
}

func (w *world) followOne(t *testing.T, p chain.Pair) {
	least, _, _ := limits(p.SrcToken)
	s := w.swap(p, amount(t, least, p.SrcToken))
	s.Integrator = reference.Integrator.Wallet
	q, checked := w.quote(t, "v3", s)
	receipt := w.execute(t, checked)
	payout := w.settle(t, s.Src.Network(), receipt)
	w.wantSettled(t, s, q, payout)
	status, err := swap.Follow(t.Context(), w.gateway.Client, client.Sent{Hash: receipt.TxHash, Quote: checked.Checked}, nil)
	if err != nil {
		t.Fatal(err)
	}
	paid, network := payout.Receipt.TxHash, payout.Network
	if payout.Mint != nil {
		paid, network = payout.Mint.TxHash, payout.DstChain
	}
	if status.State != client.Settled || !status.Final || status.Settlement == nil {
		t.Fatalf("got %s, want it settled", status.Raw)
	}
	took, ok := status.Took()
	if !ok || took < -time.Minute {
		t.Errorf("it took %v, says %s", took, status.Raw)
	}
	t.Logf("from the block of the swap to that of the payout: %v", took)
	equal(t, "transaction of the settlement", status.Settlement.TxHash, paid)
	equal(t, "chain of the settlement", status.Settlement.ChainID, network)
	equal(t, "amount of the settlement", status.Settlement.Amount, checked.Dest)
}

// followDelayed wants to be told that the issuer holds a burn back which allows less than its fee.
func (w *world) followDelayed(t *testing.T) {
	p := pairOf(t, 59144, "USDC", 369, "USDC")
	s := w.swap(p, amount(t, "10", p.SrcToken))
	_, checked := w.quote(t, "v3", s)
	replace(common.BigToHash(checked.MaxFee).Bytes(), make([]byte, 32))(t, checked.Main.Data)
	receipt := w.execute(t, checked)
	status := w.wantState(t, s.Src, receipt.TxHash, client.Settling)
	if status.Burn == nil || status.Burn.Attested || !strings.Contains(status.Burn.Reason, "insufficient_fee") {
		t.Errorf("got %s, want that the fee is insufficient", status.Raw)
	}
}
