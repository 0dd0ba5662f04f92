package main

import (
	"crypto/ecdsa"
	"encoding/json"
	"math/big"
	"regexp"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/referee"
	"github.com/quotegate/quotegate/v3/client"
)

// details are the parts of a quote's details that these tests use.
type details struct {
	Unshield  bool
	SendCalls struct {
		From    string
		ChainID hexutil.Uint64
		Calls   []sentCall
	}
	Arrival         struct{ Amount, UnshieldAmount string }
	ValidUntil      time.Time
	ValidForSeconds int
	Checks          *struct {
		Native, Balance struct{ Actual, Needed string }
		Allowance       *struct{ Actual, Needed string }
		CheckedAt       string
	}
	Reason           string
	Simulation       *client.Simulation
	SimulationReason string
}

type sentCall struct {
	To    common.Address
	Data  hexutil.Bytes
	Value *hexutil.Big
}

// completeBatch swaps by sending what details.sendCalls says, as a wallet that can send batches does, and wants exactly
// what details.arrival says to arrive.
func (w *world) completeBatch(t *testing.T, s swap.Swap) {
	quote, d, receipt := w.sendBatch(t, s, reference.User.Key, new(big.Int))
	checked, err := swap.Verify(s, quote.Raw, w.know)
	if err != nil {
		t.Fatalf("a wallet would refuse this quote: %v\n%s", err, quote.Raw)
	}
	w.wantPaid(t, s, checked, receipt)
	w.wantArrival(t, s, d, w.settle(t, s.Src.Network(), receipt))
}

// batchAllowances wants the batch to hold what is missing and no more, for senders who have allowed different amounts.
func (w *world) batchAllowances(t *testing.T) {
	usdc, usdt := pairOf(t, 1, "USDC", 369, "USDC"), pairOf(t, 1, "USDT", 369, "USDC")
	for name, test := range map[string]struct {
		pair    chain.Pair
		allowed string
		calls   int
	}{
		"too little":             {usdc, "99.999999", 2},
		"enough":                 {usdc, "100", 1},
		"USDT, nothing":          {usdt, "0", 2},
		"USDT, too little":       {usdt, "0.000001", 3},
		"USDT, more than enough": {usdt, "100.000001", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := w.swap(test.pair, amount(t, "100", test.pair.SrcToken))
			key, err := crypto.GenerateKey()
			if err != nil {
				t.Fatal(err)
			}
			me := crypto.PubkeyToAddress(key.PublicKey)
			w.mustSend(t, s.Src, client.Call{To: me, Value: big.NewInt(1e18)})
			transfer, err := contracts.TokenABI.Pack("transfer", me, s.Amount)
			if err != nil {
				t.Fatal(err)
			}
			w.mustSend(t, s.Src, client.Call{To: s.SrcToken.Address.Address, Value: new(big.Int), Data: transfer})
			allowed := amount(t, test.allowed, s.SrcToken)
			if allowed.Sign() > 0 {
				if _, err := w.send(t.Context(), s.Src, key, approval(t, s.SrcToken, w.net.Deployment.Target(s.Pair).Address, allowed)); err != nil {
					t.Fatal(err)
				}
			}
			_, d, receipt := w.sendBatch(t, s, key, allowed)
			equal(t, "calls in the batch", len(d.SendCalls.Calls), test.calls)
			w.wantArrival(t, s, d, w.settle(t, s.Src.Network(), receipt))
		})
	}
	target := w.net.Deployment.Target(&usdt).Address
	w.mustSend(t, 1, approval(t, usdt.SrcToken, target, big.NewInt(1)))
	_, err := w.send(t.Context(), 1, reference.User.Key, approval(t, usdt.SrcToken, target, big.NewInt(2)))
	says(t, err, "allowance is not zero")
	w.mustSend(t, 1, approval(t, usdt.SrcToken, target, new(big.Int)))
}

// sendBatch asks for a quote with details for a sender who has allowed so much, and sends its calls, one after the other.
// It gives the receipt of the last.
func (w *world) sendBatch(t *testing.T, s swap.Swap, key *ecdsa.PrivateKey, allowed *big.Int) (*rawQuote, details, *types.Receipt) {
	t.Helper()
	network, from := s.Src.Network(), crypto.PubkeyToAddress(key.PublicKey)
	defer w.turns.take(network)()
	quote, d := w.detailed(t, s, from, allowed)
	calls := d.SendCalls.Calls
	if s.Src.Private() {
		calls = unshielded(t, quote, d)
	} else {
		equal(t, "chain of the batch", uint64(d.SendCalls.ChainID), network)
		equal(t, "sender of the batch", d.SendCalls.From, from)
		wantSimulated(t, d)
	}
	if len(calls) == 0 {
		t.Fatal("the batch is empty")
	}
	var receipt *types.Receipt
	for _, call := range calls {
		var err error
		tx := client.Call{To: call.To, Value: call.Value.ToInt(), Data: call.Data}
		if receipt, err = w.send(t.Context(), s.Src, key, tx); err != nil {
			t.Fatal(err)
		}
		equal(t, "status of a call", receipt.Status, types.ReceiptStatusSuccessful)
	}
	return quote, d, receipt
}

// unshielded gives what a RAILGUN wallet wraps. The quote itself offers no batch.
func unshielded(t *testing.T, q *rawQuote, d details) []sentCall {
	t.Helper()
	if !d.Unshield || d.SendCalls.Calls != nil || d.Simulation != nil || d.SimulationReason == "" {
		t.Errorf("unshielding: got unshield %v, %d calls, simulation %v because %q", d.Unshield, len(d.SendCalls.Calls), d.Simulation, d.SimulationReason)
	}
	return []sentCall{
		{common.HexToAddress(q.Approval.Token), common.FromHex(q.Approval.Calldata), new(hexutil.Big)},
		{common.HexToAddress(q.To), common.FromHex(q.MethodParameters.Calldata), new(hexutil.Big)},
	}
}

// wantSimulated wants the dry run to say what sending then shows: every call succeeds, and the contract tells of the swap.
func wantSimulated(t *testing.T, d details) {
	t.Helper()
	if d.Simulation == nil {
		t.Fatalf("nothing was simulated: %s", d.SimulationReason)
	}
	equal(t, "calls simulated", len(d.Simulation.Calls), len(d.SendCalls.Calls))
	for i, c := range d.Simulation.Calls {
		if c.Status != "SUCCESS" || c.Error != "" || c.GasUsed == 0 {
			t.Errorf("call %d of the simulation: %+v", i+1, c)
		}
	}
	if d.Simulation.Event == nil || !*d.Simulation.Event {
		t.Errorf("the simulation sees the event of the swap: %v", d.Simulation.Event)
	}
}

// tooLate is what the gateway says of nodes that did not answer in time, on a busy machine.
var tooLate = regexp.MustCompile("could not be read on chain|could try the transactions")

// detailed asks for a quote with details for a sender, and has the referee work out both.
func (w *world) detailed(t *testing.T, s swap.Swap, from common.Address, allowed *big.Int) (*rawQuote, details) {
	t.Helper()
	asked := s
	asked.Sender = from
	_, body := w.ask(t, "v3", asked)
	for end := time.Now().Add(time.Minute); tooLate.Match(body) && time.Now().Before(end); {
		_, body = w.ask(t, "v3", asked)
	}
	raw, rawDetails, err := referee.SplitDetails(body)
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	quote := &rawQuote{Version: "v3", Raw: raw}
	if err := json.Unmarshal(raw, &quote.Quote); err != nil {
		t.Fatal(err)
	}
	w.refereed(t, s, quote)
	var d details
	if err := json.Unmarshal(rawDetails, &d); err != nil {
		t.Fatal(err)
	}
	if d.Checks == nil && !s.Src.Private() {
		t.Fatalf("nothing was checked: %s", d.Reason)
	}
	if left := time.Until(d.ValidUntil); left > time.Minute {
		t.Errorf("valid for %v, want a minute at most", left)
	}
	w.refereeDetails(t, s, from, allowed, d, raw, rawDetails)
	return quote, d
}

// refereeDetails has the referee work out the details for a sender who has the amount and has allowed so much of it.
func (w *world) refereeDetails(t *testing.T, s swap.Swap, from common.Address, allowed *big.Int, d details, quote, got []byte) {
	t.Helper()
	pair, err := w.referee.Find(s.SrcToken.Symbol, uint64(s.Src), s.DstToken.Symbol, uint64(s.Dst))
	if err != nil {
		t.Fatal(err)
	}
	swap := &referee.Swap{Pair: pair, Amount: s.Amount, Recipient: s.Recipient}
	around := referee.Around{From: from.Hex(), ValidUntil: d.ValidUntil.Format(time.RFC3339), ValidFor: 60, IssuerOrigin: "live"}
	if d.Checks != nil {
		balance, ok := new(big.Int).SetString(d.Checks.Balance.Actual, 10)
		native, isNumber := new(big.Int).SetString(d.Checks.Native.Actual, 10)
		if !ok || !isNumber || balance.Cmp(s.Amount) < 0 || native.Sign() <= 0 {
			t.Errorf("the sender has the amount and coins, and a balance of %q and %q", d.Checks.Balance.Actual, d.Checks.Native.Actual)
		}
		around.Native, around.Balance, around.Allowance, around.ReadAt = native, balance, allowed, d.Checks.CheckedAt
	}
	if err := w.referee.CheckDetails(swap, referee.Terms{IssuerBPS: w.referee.BuiltInBPS(swap.Src)}, around, quote, got); err != nil {
		t.Errorf("the referee expects other details: %v", err)
	}
}

// wantArrival wants the recipient to have what the details promised, to the unit.
func (w *world) wantArrival(t *testing.T, s swap.Swap, d details, payout *reference.Payout) {
	t.Helper()
	if s.Dst.Private() {
		note, err := reference.FindShielded(payout.Receipt)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "what arrived in the pool", note.Value, d.Arrival.Amount)
		return
	}
	equal(t, "what arrived", w.balance(t, s.DstToken, common.HexToAddress(s.Recipient), nil), d.Arrival.Amount)
}

func approval(t *testing.T, token chain.Token, spender common.Address, amount *big.Int) client.Call {
	t.Helper()
	data, err := contracts.TokenABI.Pack("approve", spender, amount)
	if err != nil {
		t.Fatal(err)
	}
	return client.Call{To: token.Address.Address, Value: new(big.Int), Data: data}
}
