package main

import (
	"crypto/ecdsa"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// batchAllowances wants the batch to hold what is missing and no more, for senders who have allowed different amounts.
func (w *world) batchAllowances(t *testing.T) {
	for name, test := range map[string]struct {
		from    string
		allowed string
		calls   int
	}{
		"too little":             {"USDC@1", "99.999999", 2},
		"enough":                 {"USDC@1", "100", 1},
		"USDT, nothing":          {"USDT@1", "0", 2},
		"USDT, too little":       {"USDT@1", "0.000001", 3},
		"USDT, more than enough": {"USDT@1", "100.000001", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := w.newSwap(t, pairOf(t, test.from, "USDC@369"), "100")
			allowed := parseAmount(t, test.allowed, s.SrcToken)
			key := w.newAccount(t, s.SrcToken, s.Amount).Key
			if allowed.Sign() > 0 {
				approve := tokenCall(t, s.SrcToken, "approve", w.net.Deployment.Target(s.Pair).Address, allowed)
				if _, err := w.net.Chain(s.Src).Send(t.Context(), key, approve.To, nil, approve.Data); err != nil {
					t.Fatal(err)
				}
			}
			checked, receipt := w.sendBatch(t, s, key, allowed)
			equal(t, "calls in the batch", len(checked.Quote.Details.SendCalls.Calls), test.calls)
			w.wantSettled(t, checked, w.settle(t, s, receipt))
		})
	}
}

// sendBatch asks for a quote for a sender who has allowed so much, and sends the calls of details.sendCalls one after
// the other. The simulation must have foreseen what happens. It gives the receipt of the last.
func (w *world) sendBatch(
	t *testing.T, s swap.Swap, key *ecdsa.PrivateKey, allowed *big.Int,
) (*swap.Checked, *types.Receipt) {
	t.Helper()
	s.Sender = crypto.PubkeyToAddress(key.PublicKey)
	defer w.takeTurn(s.Src.Network())()
	checked := w.quote(t, "v3", s)
	d := checked.Quote.Details
	if d.Checks == nil || d.Simulation == nil {
		t.Fatalf("nothing was checked or simulated: %s %s", d.Reason, d.SimulationReason)
	}
	if d.Checks.Allowance != nil {
		equal(t, "stated allowance", d.Checks.Allowance.Actual, allowed)
	}
	if d.Simulation.Event == nil || !*d.Simulation.Event {
		t.Error("the simulation does not see the event of the swap")
	}
	equal(t, "calls simulated", len(d.Simulation.Calls), len(d.SendCalls.Calls))
	var receipt *types.Receipt
	for i, call := range d.SendCalls.Calls {
		if simulated := d.Simulation.Calls[i]; simulated.Status != "SUCCESS" || simulated.GasUsed == 0 {
			t.Errorf("call %d of the simulation: %+v", i+1, simulated)
		}
		to, value := common.HexToAddress(call.To), hexutil.MustDecodeBig(call.Value)
		var err error
		receipt, err = w.net.Chain(s.Src).Send(t.Context(), key, to, value, common.FromHex(call.Data))
		if err != nil {
			t.Fatal(err)
		}
	}
	return checked, receipt
}

func tokenCall(t *testing.T, token chain.Token, method string, args ...any) client.Call {
	t.Helper()
	data, err := contracts.TokenABI.Pack(method, args...)
	if err != nil {
		t.Fatal(err)
	}
	return client.Call{To: token.Address.Address, Data: data}
}
