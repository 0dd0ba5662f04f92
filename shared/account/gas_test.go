package account_test

import (
	"crypto/ecdsa"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
)

func burn(token chain.Token, amount uint64) quote.Transaction {
	here := common.HexToAddress("0x6000")
	call := calldata.Burn{
		Swap:              calldata.Swap{DstChainID: 369, Amount: *uint256.NewInt(amount), Recipient: nobody[:], DstToken: spender},
		DestinationDomain: 6, Receiver: here, BurnToken: token.Address.Address, MaxFee: *uint256.NewInt(1),
	}
	return quote.Transaction{To: chain.NewAddress(messenger), Data: call.Encode(), Value: new(uint256.Int)}
}

// TestExactlyWhatIsNeeded: an account that holds exactly what the simulation returns can send
// every call with the returned gas limits, even after full blocks. All tokens and the whole
// allowance are spent, so that refunds are as large as possible. It also holds for nodes that
// do not return the gas before refunds, and for nodes that can only estimate.
func TestExactlyWhatIsNeeded(t *testing.T) {
	const amount = 1000
	for name, node := range map[string]struct {
		arrange func(*swaps)
		most    int // calls that it can try
	}{
		"tells gas before refunds": {func(*swaps) {}, 3},
		"does not":                 {func(s *swaps) { s.front.Instead("eth_simulateV1", s.without(`"maxUsedGas"`)) }, 3},
		"estimates":                {func(s *swaps) { s.lacks("eth_simulateV1") }, 1},
	} {
		s := newSwaps(t)
		node.arrange(s)
		for what, calls := range map[string][]quote.Transaction{
			"pool":   {approve(s.usdc, usdcPool, amount), swap(usdcPool, amount, 0)},
			"burn":   {approve(s.usdc, messenger, amount), burn(s.usdc, amount)},
			"native": {swap(etherPool, amount, amount)},
		} {
			if len(calls) > node.most {
				continue
			}
			t.Run(name+", "+what, func(t *testing.T) { s.sendExactly(t, calls, 0) })
			if what != "pool" { // one with an approval and one without: full blocks take seconds
				t.Run(name+", "+what+", after full blocks", func(t *testing.T) { s.sendExactly(t, calls, 4) })
			}
		}
	}
}

// sendExactly sends the calls from an account with 1000 tokens and exactly the coins that it
// needs, after this many full blocks.
func (s *swaps) sendExactly(t *testing.T, calls []quote.Transaction, full int) {
	s.t = t
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	me := crypto.PubkeyToAddress(key.PublicKey)
	s.send(s.usdc, "mint", me, big.NewInt(1000))
	value := calls[len(calls)-1].Value
	s.pay(me, value.ToBig()) // nodes refuse to try a call that sends more than there is
	got, err := s.Simulate(t.Context(), netip.Prefix{}, 1, me, nil, calls)
	if err != nil {
		t.Fatal(err)
	}
	price, needed := got.GasPrice.ToBig(), new(big.Int)
	for i, c := range got.Calls {
		if c.Error != "" || c.GasLimit <= c.GasUsed {
			t.Fatalf("call %d: got %+v, want a success with more gas than it used", i+1, c)
		}
		needed.Add(needed, new(big.Int).Mul(new(big.Int).SetUint64(c.GasLimit), price))
	}
	s.pay(me, needed)
	for range full {
		s.fillBlock()
	}
	for i, c := range calls {
		s.sendAs(t, key, c, got.Calls[i].GasLimit, price)
	}
}

func (s *swaps) pay(to common.Address, amount *big.Int) {
	s.t.Helper()
	hash := s.evm.Submit(to, amount, nil)
	if s.evm.Mine(hash).Status != types.ReceiptStatusSuccessful {
		s.t.Fatal("a payment failed")
	}
}

func (s *swaps) sendAs(t *testing.T, key *ecdsa.PrivateKey, c quote.Transaction, gas uint64, price *big.Int) {
	t.Helper()
	hash, err := s.evm.SubmitAs(key, c.To.Address, c.Value.ToBig(), c.Data, gas, price)
	if err != nil {
		t.Fatalf("the node refuses a call that can be paid for: %v", err)
	}
	if receipt := s.evm.Mine(hash); receipt.Status != types.ReceiptStatusSuccessful {
		t.Fatalf("the call took %d gas of %d and failed", receipt.GasUsed, gas)
	}
}

// fillBlock makes a block in which all gas is used, so that the next has a higher
// base fee.
func (s *swaps) fillBlock() {
	s.t.Helper()
	for range 2 {
		s.evm.SubmitWith(burner, 14_000_000)
	}
	s.evm.Commit()
}

// without responds as the node does, except for a field.
func (s *swaps) without(field string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		record := httptest.NewRecorder()
		s.evm.ServeHTTP(record, r)
		body, _ := io.ReadAll(record.Body)
		text := strings.ReplaceAll(string(body), field, `"unknown"`)
		if text == string(body) {
			s.t.Errorf("the node does not tell %s", field)
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, text)
	}
}
