package account_test

import (
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/account"
	"github.com/quotegate/quotegate/shared/chain"
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

// world is a real chain with USDC on it, an endpoint in front of it, and a reader
// with a clock of its own.
type world struct {
	*account.Reader
	evm   *node.EVM
	front *node.Front
	usdc  *chain.Token
	ether *chain.Token
	now   time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{usdc: token(t, 8453, chain.USDC), ether: token(t, 8453, chain.ETH), now: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)}
	w.evm = node.NewEVM(t, 8453, func(operator common.Address) types.GenesisAlloc {
		return types.GenesisAlloc{w.usdc.Address.Address: contracts.Token(operator, "USDC", 6)}
	})
	w.front = node.NewFront(t, w.evm)
	client, err := rpc.New(rpc.Config{8453: {rpc.SecretURL(w.front.SecretURL())}}, rpc.Options{Now: func() time.Time { return w.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	w.Reader = account.New(client, func() time.Time { return w.now })
	return w
}

func (w *world) call(t *testing.T, method string, args ...any) {
	t.Helper()
	data, err := contracts.TokenABI.Pack(method, args...)
	if err != nil {
		t.Fatal(err)
	}
	w.evm.Send(w.usdc.Address.Address, data)
}

// wants reads what the operator has of USDC and what the spender may take.
func (w *world) wants(t *testing.T, when string, balance, allowance uint64) {
	t.Helper()
	got, err := w.Read(t.Context(), w.usdc, w.evm.Operator, spender)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	want := account.Holding{Native: got.Native, Balance: *uint256.NewInt(balance), Allowance: *uint256.NewInt(allowance), CheckedAt: w.now}
	if got != want || got.Native.IsZero() {
		t.Errorf("%s: got %s and %s, want %d and %d", when, got.Balance.Dec(), got.Allowance.Dec(), balance, allowance)
	}
}

// TestRead reads a real token: in one round trip, and again for every request. An
// allowance that was spent a moment ago is seen to be gone.
func TestRead(t *testing.T) {
	w := newWorld(t)
	w.wants(t, "at first", 0, 0)
	w.call(t, "mint", w.evm.Operator, big.NewInt(123_456_789))
	w.call(t, "approve", spender, big.NewInt(77))
	w.wants(t, "at once", 123_456_789, 77)
	w.call(t, "approve", spender, big.NewInt(0))
	w.wants(t, "when it is spent", 123_456_789, 0)
	if got := w.front.Count(node.Batch); got != 3 {
		t.Errorf("the chain was asked %d times, want three times", got)
	}
	if got := w.front.Count("eth_call"); got != 0 {
		t.Errorf("%d calls were made one by one", got)
	}
	other, err := w.Read(t.Context(), w.usdc, nobody, spender)
	if err != nil || other != (account.Holding{CheckedAt: w.now}) {
		t.Errorf("somebody else has %v (%v)", other, err)
	}
}

func TestReadNative(t *testing.T) {
	w := newWorld(t)
	got, err := w.Read(t.Context(), w.ether, w.evm.Operator, spender)
	if err != nil {
		t.Fatal(err)
	}
	if got.Balance.Dec() != "1000000000000000000" || got.Native != got.Balance || !got.Allowance.IsZero() {
		t.Errorf("got %s, %s and %s, want one ether, twice, and nothing to spend", got.Native.Dec(), got.Balance.Dec(), got.Allowance.Dec())
	}
}

// TestPlainCalls: an endpoint that knows no batches is asked one by one.
func TestPlainCalls(t *testing.T) {
	w := newWorld(t)
	w.front.Instead(node.Batch, node.Status(http.StatusBadRequest))
	w.call(t, "mint", w.evm.Operator, big.NewInt(5))
	w.wants(t, "one by one", 5, 0)
}

// TestReasons: whatever goes wrong, the error is a sentence that tells nothing of
// the endpoint, and the next question works again.
func TestReasons(t *testing.T) {
	const later = "could not be read on chain 8453 just now"
	for name, misbehave := range map[string]http.HandlerFunc{
		"a failing endpoint":     node.Status(http.StatusInternalServerError),
		"over its quota":         node.Limited("1"),
		"not JSON":               node.Says("<html>" + node.Secret),
		"half an answer":         node.Aborts,
		"no connection":          node.Drops,
		"too short for a number": node.Results(`"0x01"`),
		"an endless answer":      node.Pours,
		"silence":                node.Hangs,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.front.Instead(node.Batch, misbehave)
			w.front.Instead("eth_call", misbehave)
			_, err := w.Read(t.Context(), w.usdc, w.evm.Operator, spender)
			if err == nil || !strings.Contains(err.Error(), later) || strings.Contains(err.Error(), node.Secret) {
				t.Fatalf("got %v, want %q", err, later)
			}
			w.front.Instead(node.Batch, nil)
			w.front.Instead("eth_call", nil)
			for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
				w.now = w.now.Add(2 * time.Minute) // past every rest
				if _, err = w.Read(t.Context(), w.usdc, w.evm.Operator, spender); err == nil {
					break // a busy machine may need more than one
				}
			}
			w.wants(t, "when it works again", 0, 0)
		})
	}
	w := newWorld(t)
	if _, err := w.Read(t.Context(), token(t, 1, chain.USDC), nobody, spender); err == nil || err.Error() != "This service has no RPC endpoint for chain 1, so balance and allowance are not checked" {
		t.Errorf("a chain without an endpoint: got %v", err)
	}
}

// TestTokenThatReverts: that is no failure of the endpoint, and is told as what it
// is.
func TestTokenThatReverts(t *testing.T) {
	w := newWorld(t)
	refuses := node.NewEVM(t, 8453, func(operator common.Address) types.GenesisAlloc {
		return types.GenesisAlloc{w.usdc.Address.Address: contracts.Railgun(operator)} // knows no balances
	})
	w.front.Instead(node.Batch, refuses.ServeHTTP)
	if _, err := w.Read(t.Context(), w.usdc, nobody, spender); err == nil || !strings.Contains(err.Error(), "refused to tell") {
		t.Errorf("got %v", err)
	}
	w.front.Instead(node.Batch, nil)
	w.wants(t, "at once, since the endpoint does not rest", 0, 0)
}
