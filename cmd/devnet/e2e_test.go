package main

import (
	"context"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/quotecheck"
	"github.com/quotegate/quotegate/v3/client"
	"github.com/quotegate/quotegate/v3/client/send"

	// The gateway's binary depends on it: without this import, go test would answer from its cache.
	_ "github.com/quotegate/quotegate/gateway"
)

// TestEndToEnd runs the gateway as an operator does, against chains with the reference deployment, and does with its
// quotes what they say: a payload is right when a chain accepts it and the exact amounts arrive. With -short, it swaps
// one pair of each kind.
func TestEndToEnd(t *testing.T) {
	t.Parallel()
	t.Run("swaps", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		t.Run("allowance of a batch", w.batchAllowances)
		t.Run("not settled", w.notSettled)
		t.Run("every pair", w.everyPair)
	})
	t.Run("wallet", func(t *testing.T) {
		if testing.Short() {
			t.Skip("SKIPPED, NOT TESTED: it uses npm and a browser; make test-all runs it")
		}
		t.Parallel()
		newWorld(t).wallet(t)
	})
}

// buildGateway builds one gateway for all tests of this process; TestMain removes it.
var buildGateway = sync.OnceValues(func() (string, error) {
	sources, err := os.ReadDir("../gateway")
	if err != nil {
		return "", err
	}
	for _, source := range sources { // so that go test knows that its results depend on them
		if _, err := os.ReadFile("../gateway/" + source.Name()); err != nil {
			return "", err
		}
	}
	return child.Build(context.Background(), scratch)
})

// patience is longer than anything takes on a busy machine.
const patience = 5 * time.Minute

// A world is a gateway and the chains it quotes for.
type world struct {
	net     *reference.Net
	url     string
	gateway *client.Client
	checker *quotecheck.Checker
	people  atomic.Uint64 // recipients made so far
	turns   sync.Map      // a lock for each chain
	reports sync.Map      // of the operator; a channel for each transaction
}

func newWorld(t testing.TB) *world {
	t.Helper()
	binary, err := buildGateway()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{}
	if w.net, err = reference.Start(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.net.Close(); err != nil {
			t.Error(err)
		}
	})
	env, err := gatewayEnv(t.TempDir(), w.net)
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := child.Gateway{Binary: binary, Env: append(env, "RATE_LIMIT=0"), Log: io.Discard}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := gateway.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the gateway's log ends with:\n%s", gateway.Tail())
		}
	})
	w.url = gateway.URL()
	w.gateway = dial(t, w.url)
	if w.checker, err = quotecheck.New("../..", swap.Listing(w.net.Deployment)); err != nil {
		t.Fatal(err)
	}
	return w
}

// dial makes a client that checks every quote against the reference deployment.
func dial(t testing.TB, url string) *client.Client {
	t.Helper()
	c, err := swap.Dial(url, chain.Reference())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newRecipient is an address that owns nothing.
func (w *world) newRecipient() common.Address {
	return common.BytesToAddress(crypto.Keccak256(fmt.Append(nil, "recipient ", w.people.Add(1))))
}

// newSwap is a swap with a recipient of its own.
func (w *world) newSwap(t testing.TB, p chain.Pair, amount string) swap.Swap {
	t.Helper()
	recipient := reference.PrivateRecipient
	if !p.Dst.Private() {
		recipient = w.newRecipient().Hex()
	}
	return swap.Swap{Pair: &p, Amount: parseAmount(t, amount, p.SrcToken), Recipient: recipient}
}

func parseAmount(t testing.TB, text string, token chain.Token) *big.Int {
	t.Helper()
	n, err := client.ParseAmount(text, token.Decimals)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// pairOf finds a pair by its ends, such as USDC@1 and USDC@369.
func pairOf(t testing.TB, from, to string) chain.Pair {
	t.Helper()
	s, err := swap.NewSwap(from, to, "1", "")
	if err != nil {
		t.Fatal(err)
	}
	return *s.Pair
}

// quotePaths are where each version quotes.
var quotePaths = map[string]string{"v3": "/v3/swap/quote", "v3legacy": "/v3legacy/swap/quote", "v1": "/v1/quote"}

// tooLate is what the gateway says of nodes that did not answer in time, on a busy machine.
var tooLate = regexp.MustCompile(`temporarily unavailable|No configured node of chain \d+ supports simulation`)

// ask gives the gateway's answer as it came.
func (w *world) ask(t *testing.T, version string, s swap.Swap) []byte {
	t.Helper()
	url, err := w.gateway.QuoteURL(s.Request())
	if err != nil {
		t.Fatal(err)
	}
	url = strings.Replace(url, quotePaths["v3"], quotePaths[version], 1)
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("got %d, %v: %s", res.StatusCode, err, body)
		}
		if !tooLate.Match(body) || time.Now().After(end) {
			return body
		}
	}
}

// quote asks a version for a quote and checks it as a careful wallet does. Quotes of older versions are translated for
// that.
func (w *world) quote(t *testing.T, version string, s swap.Swap) *swap.Checked {
	t.Helper()
	terms := quotecheck.Terms{}
	if s.Integrator != (common.Address{}) {
		terms.IntegratorBPS = int64(reference.Integrator.FeeBPS)
	}
	body := w.ask(t, version, s)
	verified, err := w.checker.Check(version, s.Request(), terms, body)
	if err != nil {
		t.Fatalf("a wallet would refuse this quote: %v\n%s", err, body)
	}
	checked, err := swap.Accept(s, verified, &reference.PrivateViewingKey)
	if err != nil {
		t.Fatalf("the recipient would refuse this note: %v", err)
	}
	return checked
}

// takeTurn lets one swapper at a time use a chain: all sign with the same key, and so share nonces and allowances.
func (w *world) takeTurn(network chain.ID) (done func()) {
	lock, _ := w.turns.LoadOrStore(network, new(sync.Mutex))
	turn := lock.(*sync.Mutex)
	turn.Lock()
	return turn.Unlock
}

// execute signs and sends a quote as the client does, but unchecked: it may be of an older version, or altered.
func (w *world) execute(t testing.TB, q *swap.Checked) *types.Receipt {
	t.Helper()
	defer w.takeTurn(q.Swap.Src.Network())()
	maxGas, _ := send.MaxGas(q.Main.ChainID)
	sender := send.Sender{
		Backend:    w.net.Chain(q.Swap.Src).Client(),
		Account:    send.Key(reference.User.Key),
		MaxGas:     maxGas,
		Unverified: true,
	}
	receipt, err := sender.Send(t.Context(), &send.Swap{
		ChainID: q.Main.ChainID, Amount: q.Swap.Amount, Approval: q.Approval, Main: q.Main, Quote: q.Checked,
	})
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

// newAccount has one coin, and so much of a token, on the token's chain. Every chain signs for it.
func (w *world) newAccount(t *testing.T, token chain.Token, amount *big.Int) reference.Account {
	t.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	account := reference.Account{Key: key, Address: crypto.PubkeyToAddress(key.PublicKey)}
	for _, network := range chain.Networks() {
		w.net.Chain(network.ID).Unlock(key)
	}
	w.send(t, token.ChainID, client.Call{To: account.Address, Value: big.NewInt(1e18)})
	if !token.Native() {
		w.send(t, token.ChainID, tokenCall(t, token, "transfer", account.Address, amount))
	}
	return account
}

// send executes a call of the user's without any check.
func (w *world) send(t *testing.T, on chain.ID, call client.Call) *types.Receipt {
	t.Helper()
	receipt, err := w.net.Chain(on).Send(t.Context(), reference.User.Key, call.To, call.Value, call.Data)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

// settle has the operator pay out the one order of a transaction.
func (w *world) settle(t *testing.T, s swap.Swap, receipt *types.Receipt) *reference.Payout {
	t.Helper()
	var orders []reference.Order
	for _, log := range receipt.Logs {
		order, err := w.net.Order(t.Context(), s.Src.Network(), log)
		if err != nil {
			t.Fatal(err)
		}
		if order != nil {
			orders = append(orders, *order)
		}
	}
	if len(orders) != 1 {
		t.Fatalf("the operator sees %d orders, want one", len(orders))
	}
	payout, err := w.net.Settle(t.Context(), orders[0])
	if err != nil {
		t.Fatal(err)
	}
	return payout
}

// wantChange compares by how much a transaction changed what a holder has.
func (w *world) wantChange(
	t *testing.T, whose string, token chain.Token, holder common.Address, receipt *types.Receipt, want *big.Int,
) {
	t.Helper()
	change, err := w.net.Change(t.Context(), token, holder, receipt)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "change of the "+whose, change, want)
}

func (w *world) wantBalance(t *testing.T, token chain.Token, holder string, want any) {
	t.Helper()
	balance, err := w.net.Balance(t.Context(), token, common.HexToAddress(holder), nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "balance of "+holder, balance, want)
}

// equal compares numbers and texts as they print.
func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s: got %s, want %s", what, g, w)
	}
}

func wantError(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want it to say %q", err, words)
	}
}
