package account_test

import (
	"context"
	"math/big"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/account"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

var (
	spender = common.HexToAddress("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
	nobody  = common.HexToAddress("0x00000000000000000000000000000000000A11ce")
)

func token(t *testing.T, id chain.ID, symbol string) *chain.Token {
	t.Helper()
	found, err := chain.FindToken(id, symbol)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// holds reads what the operator has of USDC and what the spender may take.
func (s *swaps) holds(when string, balance, allowance uint64) {
	s.t.Helper()
	got, err := s.Read(s.t.Context(), netip.Prefix{}, &s.usdc, s.evm.Operator, spender)
	if err != nil {
		s.t.Fatalf("%s: %v", when, err)
	}
	want := quote.Holding{Native: got.Native, Balance: *uint256.NewInt(balance), Allowance: *uint256.NewInt(allowance), CheckedAt: s.now}
	if got != want || got.Native.IsZero() {
		s.t.Errorf("%s: got %s and %s, want %d and %d", when, got.Balance.Dec(), got.Allowance.Dec(), balance, allowance)
	}
}

// TestRead reads a real token: in one round trip, and again for every request. An allowance
// that was just spent is gone at once.
func TestRead(t *testing.T) {
	s := newSwaps(t)
	s.holds("at first", 0, 0)
	s.send(s.usdc, "mint", s.evm.Operator, big.NewInt(123_456_789))
	s.send(s.usdc, "approve", spender, big.NewInt(77))
	s.holds("at once", 123_456_789, 77)
	s.send(s.usdc, "approve", spender, big.NewInt(0))
	s.holds("when it is spent", 123_456_789, 0)
	if got := s.front.Count(node.Batch); got != 3 {
		t.Errorf("the chain was asked %d times, want three times", got)
	}
	if got := s.front.Count("eth_call"); got != 0 {
		t.Errorf("%d calls were made one by one", got)
	}
	other, err := s.Read(t.Context(), netip.Prefix{}, &s.usdc, nobody, spender)
	if err != nil || other != (quote.Holding{CheckedAt: s.now}) {
		t.Errorf("somebody else has %v (%v)", other, err)
	}

	s.front.Instead(node.Batch, node.Status(http.StatusBadRequest))
	s.holds("without batches, one by one", 123_456_789, 0)
}

// TestHasCode: for a contract, and for accounts that are none: without code, and with delegated
// code (EIP-7702). If code is long, or cannot be read, the endpoint is not skipped.
func TestHasCode(t *testing.T) {
	s := newSwaps(t)
	want := func(account common.Address, has, known bool) {
		t.Helper()
		got, err := s.HasCode(t.Context(), netip.Prefix{}, 1, account)
		if got != has || (err == nil) != known {
			t.Errorf("%s: got %t and %v, want %t", account, got, err, has)
		}
	}
	want(usdcPool, true, true)
	want(burner, true, true)
	want(s.evm.Operator, false, true)
	want(nobody, false, true)
	want(delegated, false, true)
	if _, err := s.HasCode(t.Context(), netip.Prefix{}, 8453, usdcPool); err == nil {
		t.Error("a chain without an endpoint answers")
	}
	for size, known := range map[int]bool{24 << 10: true, 128 << 10: true, 2 << 20: false} {
		s.front.Instead("eth_getCode", node.Results(`"0x`+strings.Repeat("60", size)+`"`))
		want(usdcPool, known, known)
	}
	s.front.Instead("eth_getCode", node.RPCError(-32000))
	want(usdcPool, false, false)
	s.holds("after questions that were declined", 0, 0)
	s.front.Instead("eth_getCode", node.Drops)
	want(usdcPool, false, false)
}

func TestReadNative(t *testing.T) {
	s := newSwaps(t)
	got, err := s.Read(t.Context(), netip.Prefix{}, token(t, 1, chain.ETH), s.evm.Operator, spender)
	if err != nil {
		t.Fatal(err)
	}
	if got.Balance.Dec() != "1000000000000000000" || got.Native != got.Balance || !got.Allowance.IsZero() {
		t.Errorf("got %s, %s and %s, want one ether, twice, and nothing to spend", got.Native.Dec(), got.Balance.Dec(), got.Allowance.Dec())
	}
}

// TestReasons: whatever goes wrong, the error is a sentence that reveals nothing of the endpoint,
// and the next read works again.
func TestReasons(t *testing.T) {
	const later = "on chain 1 are temporarily unavailable"
	s := newSwaps(t)
	for name, misbehave := range map[string]http.HandlerFunc{
		"a failing endpoint":     node.Status(http.StatusInternalServerError),
		"over its quota":         node.Limited("1"),
		"not JSON":               node.Says("<html>" + node.Secret),
		"half an answer":         node.Aborts,
		"no connection":          node.Drops,
		"too short for a number": node.Results(`"0x01"`),
		"an endless answer":      node.Pours,
	} {
		s.front.Instead(node.Batch, misbehave)
		s.front.Instead("eth_call", misbehave)
		_, err := s.Read(t.Context(), netip.Prefix{}, &s.usdc, s.evm.Operator, spender)
		if err == nil || !strings.Contains(err.Error(), later) || strings.Contains(err.Error(), node.Secret) {
			t.Errorf("%s: got %v, want %q", name, err, later)
		}
		s.front.Instead(node.Batch, nil)
		s.front.Instead("eth_call", nil)
		s.now = s.now.Add(2 * time.Hour) // past every rest, and a refusal of batches
		s.holds("when it works again", 0, 0)
	}
	if _, err := s.Read(t.Context(), netip.Prefix{}, token(t, 8453, chain.USDC), nobody, spender); err == nil || err.Error() != "Balance and allowance are not checked: no RPC endpoint is configured for chain 8453" {
		t.Errorf("a chain without an endpoint: got %v", err)
	}
}

// TestSilence: a hanging node delays a request by a second, and is not skipped for a simulation.
func TestSilence(t *testing.T) {
	s := newSwaps(t)
	client, err := rpc.New(rpc.Config{1: {rpc.SecretURL(s.front.SecretURL())}}, rpc.Options{
		Limits: map[rpc.Queue]rpc.Limits{rpc.Wallets: {Try: time.Second, Total: 30 * time.Second, Calls: 1, Waiting: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	reader := account.New(client, time.Now)
	s.front.Instead("eth_simulateV1", node.Hangs)
	calls := []quote.Transaction{swap(usdcPool, 100, 0)}
	_, err = reader.Simulate(t.Context(), netip.Prefix{}, 1, s.evm.Operator, nil, calls)
	if err == nil || err.Error() != "Simulation on chain 1 is temporarily unavailable. Retry" {
		t.Errorf("got %v of a node that hangs", err)
	}
	if got := client.Health(1, rpc.Wallets); got.Endpoints != 1 || got.State == rpc.Failing {
		t.Errorf("the endpoint is %v after a slow simulation", got)
	}
	s.front.Instead(node.Batch, node.Hangs)
	if _, err := reader.Read(t.Context(), netip.Prefix{}, &s.usdc, s.evm.Operator, spender); err == nil || !strings.Contains(err.Error(), "on chain 1 are temporarily unavailable") {
		t.Errorf("got %v of a node that hangs", err)
	}
}

// TestCallersShareTheQueue: the caller's network has its share of the queue, and no more,
// whatever it reads.
func TestCallersShareTheQueue(t *testing.T) {
	asked := make(chan struct{}, 9)
	front := node.NewFront(t, node.Answers(func(node.Call) any { return "0x1" }))
	for _, method := range []string{"eth_getCode", node.Batch} {
		front.Instead(method, func(w http.ResponseWriter, r *http.Request) {
			asked <- struct{}{}
			node.Hangs(w, r)
		})
	}
	client, err := rpc.New(rpc.Config{1: {rpc.SecretURL(front.SecretURL())}}, rpc.Options{
		Limits: map[rpc.Queue]rpc.Limits{rpc.Wallets: {Try: time.Minute, Total: 10 * time.Second, Calls: 4}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	reader := account.New(client, time.Now)
	network := netip.MustParsePrefix("203.0.113.0/24")
	go reader.HasCode(t.Context(), network, 1, nobody)
	<-asked
	if _, err := reader.HasCode(t.Context(), network, 1, nobody); err == nil || !strings.HasPrefix(err.Error(), "busy") {
		t.Errorf("a second question of one network: got %v, want it refused", err)
	}
	late, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, errRead := reader.Read(late, network, token(t, 1, chain.USDC), nobody, spender)
	_, errSimulate := reader.Simulate(late, network, 1, nobody, nil, []quote.Transaction{swap(usdcPool, 100, 0)})
	if errRead == nil || errSimulate == nil || late.Err() != nil {
		t.Errorf("other questions of that network: got %v and %v, want them refused at once", errRead, errSimulate)
	}
	go reader.Read(t.Context(), netip.MustParsePrefix("198.51.100.0/24"), token(t, 1, chain.USDC), nobody, spender)
	<-asked
}

// TestTokenThatReverts: that is no failure of the endpoint, and the error says so.
func TestTokenThatReverts(t *testing.T) {
	s := newSwaps(t)
	refuses := node.NewEVM(t, 1, func(operator common.Address) types.GenesisAlloc {
		return types.GenesisAlloc{s.usdc.Address.Address: contracts.Railgun(operator)} // knows no balances
	})
	s.front.Instead(node.Batch, refuses.ServeHTTP)
	if _, err := s.Read(t.Context(), netip.Prefix{}, &s.usdc, nobody, spender); err == nil || !strings.Contains(err.Error(), "rejected the balance") {
		t.Errorf("got %v", err)
	}
	s.front.Instead(node.Batch, nil)
	s.holds("at once, since the endpoint does not rest", 0, 0)
}
