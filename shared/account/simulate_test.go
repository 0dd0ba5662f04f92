package account_test

import (
	"fmt"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/account"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// swaps is a real chain with USDC, USDT as it is on Ethereum, and a pool for each
// of them and for the native coin.
type swaps struct {
	*account.Reader
	t          *testing.T
	evm        *node.EVM
	front      *node.Front
	usdc, usdt chain.Token
	now        time.Time
}

var (
	usdcPool  = common.HexToAddress("0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d")
	usdtPool  = common.HexToAddress("0x22b1130BBE13Df405097cCA427CBA49B4c6C2136")
	etherPool = common.HexToAddress("0xD98c74c52e2bb6641982271AE856fF685F8726AA")
	messenger = common.HexToAddress("0x28b5a0e9C621a5BadaA536219b3a228C8168cf5d")
	burner    = common.HexToAddress("0xB012") // a contract that uses up all gas
	delegated = common.HexToAddress("0xDE1E") // an account that borrows the code of another address (EIP-7702)
)

func newSwaps(t *testing.T) *swaps {
	t.Helper()
	s := &swaps{t: t, usdc: *token(t, 1, chain.USDC), usdt: *token(t, 1, chain.USDT), now: time.Now()}
	s.evm = node.NewEVM(t, 1, func(operator common.Address) types.GenesisAlloc {
		return types.GenesisAlloc{
			s.usdc.Address.Address: contracts.Token(operator, "USDC", 6),
			s.usdt.Address.Address: contracts.TetherLikeToken(operator, "USDT", 6),
			usdcPool:               contracts.Pool(operator, s.usdc.Address.Address, operator, common.Address{}),
			usdtPool:               contracts.Pool(operator, s.usdt.Address.Address, operator, common.Address{}),
			etherPool:              contracts.Pool(operator, contracts.Native, operator, common.Address{}),
			messenger:              contracts.TokenMessenger(0, s.usdc.Address.Address, 6),
			delegated:              {Code: append([]byte{0xef, 0x01, 0x00}, make([]byte, 20)...), Balance: new(big.Int)},
			burner:                 {Code: common.FromHex("fe"), Balance: new(big.Int)}, // INVALID takes all gas
		}
	})
	s.front = node.NewFront(t, s.evm)
	s.Reader = newReader(t, func() time.Time { return s.now }, rpc.SecretURL(s.front.SecretURL()))
	return s
}

// newReader reads through endpoints of chain 1, with long deadlines.
func newReader(t *testing.T, now func() time.Time, urls ...rpc.SecretURL) *account.Reader {
	t.Helper()
	patient := rpc.Limits{Try: 20 * time.Second, Total: 30 * time.Second, Calls: 16, Waiting: 16}
	client, err := rpc.New(rpc.Config{1: urls}, rpc.Options{
		Now: now, Limits: map[rpc.Queue]rpc.Limits{rpc.Wallets: patient},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return account.New(client, now)
}

func (s *swaps) send(token chain.Token, method string, args ...any) {
	s.t.Helper()
	data, err := contracts.TokenABI.Pack(method, args...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.evm.Send(token.Address.Address, data)
}

func approve(token chain.Token, pool common.Address, amount uint64) quote.Transaction {
	return quote.Transaction{To: token.Address, Data: calldata.Approve(pool, uint256.NewInt(amount)), Value: new(uint256.Int)}
}

func swap(pool common.Address, amount, value uint64) quote.Transaction {
	call := calldata.Swap{DstChainID: 369, Amount: *uint256.NewInt(amount), Recipient: nobody[:], DstToken: spender}
	return quote.Transaction{To: chain.NewAddress(pool), Data: call.Encode(), Value: uint256.NewInt(value)}
}

func (s *swaps) simulate(calls ...quote.Transaction) *quote.Simulation {
	s.t.Helper()
	got, err := s.Simulate(s.t.Context(), netip.Prefix{}, 1, s.evm.Operator, nil, calls)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

// wantNone wants no simulation, and an error that says why.
func (s *swaps) wantNone(what, says string, calls ...quote.Transaction) {
	s.t.Helper()
	got, err := s.Simulate(s.t.Context(), netip.Prefix{}, 1, s.evm.Operator, nil, calls)
	if err == nil || !strings.Contains(err.Error(), says) {
		s.t.Errorf("%s: got %+v, %v, want %q", what, got, err, says)
	}
}

// wants compares the errors of a simulation, one for each call.
func wants(t *testing.T, what string, got *quote.Simulation, errors ...string) {
	t.Helper()
	if len(got.Calls) != len(errors) {
		t.Fatalf("%s: got %d calls, want %d", what, len(got.Calls), len(errors))
	}
	for i, want := range errors {
		if got.Calls[i].Error != want {
			t.Errorf("%s, call %d: got %q, want %q", what, i+1, got.Calls[i].Error, want)
		}
	}
}

// emitted reports whether the last call's logs have the event of a swap.
func (s *swaps) emitted(got *quote.Simulation, pool common.Address, data []byte) bool {
	s.t.Helper()
	call, err := calldata.Decode(data)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, log := range got.Calls[len(got.Calls)-1].Logs {
		if log.Address == pool && call.Emitted(s.evm.Operator, log) {
			return true
		}
	}
	return false
}

// TestSimulate: the calls run one after the other on a real chain, in two round
// trips, and change nothing there. Gas is what the chain then takes.
func TestSimulate(t *testing.T) {
	s := newSwaps(t)
	s.send(s.usdc, "mint", s.evm.Operator, big.NewInt(1000))
	first := s.simulate(approve(s.usdc, usdcPool, 100), swap(usdcPool, 100, 0))
	wants(t, "approval and swap", first, "", "")
	if !s.emitted(first, usdcPool, swap(usdcPool, 100, 0).Data) {
		t.Error("the pool's event is not seen")
	}
	if s.emitted(first, usdcPool, swap(usdcPool, 101, 0).Data) || s.emitted(first, usdtPool, swap(usdcPool, 100, 0).Data) {
		t.Error("the event of another call, or of another contract, is taken for this one's")
	}
	if alone, batches := s.front.Count("eth_simulateV1"), s.front.Count(node.Batch); alone != 1 || batches != 1 {
		t.Errorf("%d simulations alone and %d batches, want 1 and 1", alone, batches)
	}
	if first.GasPrice.IsZero() || first.Native.IsZero() {
		t.Errorf("the price of gas is %s, the account has %s", first.GasPrice.Dec(), first.Native.Dec())
	}
	if _, number := s.evm.Block(s.evm.Commit()); first.BlockNumber != number-1 {
		t.Errorf("it is on the state of block %d, want %d", first.BlockNumber, number-1)
	}

	wants(t, "nothing has changed", s.simulate(swap(usdcPool, 100, 0)), "The contract says: allowance too low")
	wants(t, "more than there is", s.simulate(approve(s.usdc, usdcPool, 1001), swap(usdcPool, 1001, 0)), "", "The contract says: balance too low")

	receipt := s.evm.Send(s.usdc.Address.Address, approve(s.usdc, usdcPool, 100).Data)
	if got := first.Calls[0].GasUsed; got != receipt.GasUsed {
		t.Errorf("the approval takes %d gas, the simulation said %d", receipt.GasUsed, got)
	}
	after := s.simulate(swap(usdcPool, 100, 0))
	wants(t, "once it is approved", after, "")
	if receipt := s.evm.Send(usdcPool, swap(usdcPool, 100, 0).Data); receipt.GasUsed != after.Calls[0].GasUsed {
		t.Errorf("the swap takes %d gas, the simulation said %d", receipt.GasUsed, after.Calls[0].GasUsed)
	}
	wants(t, "once it is spent", s.simulate(swap(usdcPool, 100, 0)), "The contract says: allowance too low")
}

// TestSimulateReset: USDT changes an allowance only from zero.
func TestSimulateReset(t *testing.T) {
	s := newSwaps(t)
	s.send(s.usdt, "mint", s.evm.Operator, big.NewInt(1000))
	s.send(s.usdt, "approve", usdtPool, big.NewInt(7))
	wants(t, "without a reset", s.simulate(approve(s.usdt, usdtPool, 100), swap(usdtPool, 100, 0)),
		"The contract says: allowance is not zero", "The contract says: allowance too low")
	wants(t, "with a reset", s.simulate(approve(s.usdt, usdtPool, 0), approve(s.usdt, usdtPool, 100), swap(usdtPool, 100, 0)), "", "", "")
}

func TestSimulateNative(t *testing.T) {
	s := newSwaps(t)
	const some, tooMuch = 1_000_000, 2e18
	got := s.simulate(swap(etherPool, some, some))
	wants(t, "with its value", got, "")
	if !s.emitted(got, etherPool, swap(etherPool, some, some).Data) {
		t.Error("the pool's event is not seen")
	}
	wants(t, "with another value", s.simulate(swap(etherPool, some, some+1)), "The contract says: value is not the amount")
	holding, err := s.Read(t.Context(), netip.Prefix{}, token(t, 1, chain.ETH), s.evm.Operator, etherPool)
	if err != nil {
		t.Fatal(err)
	}
	got, err = s.Simulate(t.Context(), netip.Prefix{}, 1, s.evm.Operator, &holding, []quote.Transaction{swap(etherPool, tooMuch, tooMuch)})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, "more than there is", got, "The account's native balance is lower than the value of the call")
	if got.Native.Dec() != "1000000000000000000" || got.BlockNumber == 0 {
		t.Errorf("the account has %s at block %d", got.Native.Dec(), got.BlockNumber)
	}
	wants(t, "afterwards, since no endpoint rests", s.simulate(swap(etherPool, some, some)), "")
}

// lacks makes an endpoint refuse methods, as nodes do that do not support them.
func (s *swaps) lacks(methods ...string) {
	for _, method := range methods {
		s.front.Instead(method, node.RPCError(-32601))
	}
}

// TestSimulateWithoutSupport: a node without simulation estimates one call, and cannot answer
// for several. One without both cannot answer at all. Its other reads still count.
func TestSimulateWithoutSupport(t *testing.T) {
	s := newSwaps(t)
	s.send(s.usdc, "mint", s.evm.Operator, big.NewInt(1000))
	s.send(s.usdc, "approve", usdcPool, big.NewInt(100))
	s.lacks("eth_simulateV1")
	if _, err := s.Read(t.Context(), netip.Prefix{}, &s.usdc, s.evm.Operator, usdcPool); err != nil {
		t.Fatal(err)
	}
	got := s.simulate(swap(usdcPool, 100, 0))
	wants(t, "one call", got, "")
	if got.HasLogs || got.Calls[0].GasUsed < 21_000 || got.BlockNumber == 0 {
		t.Errorf("got %+v, want an estimate without logs", got)
	}
	// A call of an address without a contract succeeds on the chain, and the coins are lost.
	for name, address := range map[string]common.Address{"an empty address": {1}, "an EIP-7702 account": delegated} {
		got := s.simulate(swap(address, 5, 5))
		wants(t, name, got, "No contract exists at the called address")
	}
	wants(t, "one call that reverts", s.simulate(swap(usdcPool, 101, 0)), "The contract says: allowance too low")
	const none = "No configured node of chain 1 supports simulation"
	s.wantNone("two calls", none, approve(s.usdc, usdcPool, 100), swap(usdcPool, 100, 0))

	s.lacks("eth_simulateV1", "eth_estimateGas")
	s.wantNone("neither", none, swap(usdcPool, 100, 0))
	if _, err := s.Read(t.Context(), netip.Prefix{}, &s.usdc, s.evm.Operator, usdcPool); err != nil {
		t.Errorf("the readings no longer work: %v", err)
	}
}

// TestSimulateNonsense: the answers of a node are not trusted. A call without a status is
// unknown, and has not failed. If a simulation is invalid, an estimate is used.
func TestSimulateNonsense(t *testing.T) {
	s := newSwaps(t)
	s.send(s.usdc, "mint", s.evm.Operator, big.NewInt(1000))
	s.send(s.usdc, "approve", usdcPool, big.NewInt(100))
	block := func(number, calls string) string { return fmt.Sprintf(`[{"number":%q,"calls":[%s]}]`, number, calls) }
	const good = `{"status":"0x1","gasUsed":"0x5208","logs":[]}`
	for name, simulated := range map[string]string{
		"no block":         `[]`,
		"no call":          block("0x2", ""),
		"too many calls":   block("0x2", good+","+good),
		"before the start": block("0x0", good),
		"absurd gas":       block("0x2", strings.Replace(good, "0x5208", "0xffffffffffffffff", 1)),
		"null":             `null`,
		"logs of no use":   block("0x2", strings.Replace(good, "[]", `"none"`, 1)),
		"no status":        block("0x2", strings.Replace(good, `"status":"0x1",`, "", 1)),
	} {
		s.front.Instead("eth_simulateV1", node.Results(simulated))
		s.front.Instead("eth_estimateGas", nil)
		wants(t, name, s.simulate(swap(usdcPool, 100, 0)), "")
		s.front.Instead("eth_estimateGas", node.RPCError(-32601))
		s.wantNone(name, "", swap(usdcPool, 100, 0))
		s.now = s.now.Add(time.Hour + time.Minute) // past all that is remembered
	}
	for name, estimate := range map[string]string{"absurd gas": `"0xffffffffffffffff"`, "text": `"yes"`, "null": "null", "a list": "[]"} {
		s.front.Instead("eth_estimateGas", node.Results(estimate))
		s.wantNone("an estimate, "+name, "", swap(usdcPool, 100, 0))
		s.now = s.now.Add(time.Hour + time.Minute)
	}
	if _, err := s.Read(t.Context(), netip.Prefix{}, &s.usdc, s.evm.Operator, usdcPool); err != nil {
		t.Errorf("the readings no longer work: %v", err)
	}
	if _, err := s.Simulate(t.Context(), netip.Prefix{}, 56, s.evm.Operator, nil, []quote.Transaction{swap(usdcPool, 100, 0)}); err == nil || !strings.Contains(err.Error(), "none is configured for chain 56") {
		t.Errorf("a chain without an endpoint: got %v", err)
	}
}

// TestPriceNonsense: an implausible price is refused, and so is a chain without blocks.
func TestPriceNonsense(t *testing.T) {
	s := newSwaps(t)
	s.send(s.usdc, "mint", s.evm.Operator, big.NewInt(1000))
	s.send(s.usdc, "approve", usdcPool, big.NewInt(100))
	s.front.Instead(node.Batch, node.Status(400)) // so that it is asked one by one
	absurd := `"0x1` + strings.Repeat("0", 33) + `"`
	for name, tt := range map[string]struct{ method, result string }{
		"an absurd price":    {"eth_gasPrice", absurd},
		"an absurd base fee": {"eth_getBlockByNumber", `{"number":"0x2","baseFeePerGas":` + absurd + `}`},
		"no block":           {"eth_getBlockByNumber", "null"},
	} {
		s.front.Instead(tt.method, node.Results(tt.result))
		s.wantNone(name, "", swap(usdcPool, 100, 0))
		s.front.Instead(tt.method, nil)
		s.now = s.now.Add(2 * time.Minute) // past every rest
	}
	wants(t, "afterwards", s.simulate(swap(usdcPool, 100, 0)), "")
	s.front.Instead("eth_getBlockByNumber", node.Results(`{"number":"0x2"}`))
	s.front.Instead("eth_gasPrice", node.Results(`"0x64"`))
	if got := s.simulate(swap(usdcPool, 100, 0)); got.GasPrice.Uint64() != 125 {
		t.Errorf("without a base fee, the price is %s, want a quarter more than 100", got.GasPrice.Dec())
	}
	s.front.Instead("eth_getBlockByNumber", node.Results(`{"number":"0x2","baseFeePerGas":"0x5a"}`))
	if got := s.simulate(swap(usdcPool, 100, 0)); got.GasPrice.Uint64() != 190 {
		t.Errorf("with a base fee of 90, the price is %s, want 190", got.GasPrice.Dec())
	}
}
