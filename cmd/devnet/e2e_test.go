package main

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/referee"
	"github.com/quotegate/quotegate/v3/client"

	// What the gateway's binary is made of, beside its own package. Without it go test would not know that the result
	// of these tests depends on it, and answer from its cache.
	_ "github.com/quotegate/quotegate/gateway"
)

// TestEndToEnd runs the gateway as an operator does, against chains that run the reference deployment, and does with its
// quotes what they say: a payload is right when a chain accepts it and the money goes where the quote said. The short
// form has one swap of each kind.
func TestEndToEnd(t *testing.T) {
	w := newWorld(t)
	t.Run("one swap of each kind", w.oneOfEachKind)
	if testing.Short() {
		return // make test-all has the rest
	}
	t.Run("every pair", w.everyPair)
	t.Run("beyond the limits", w.beyondTheLimits)
	t.Run("allowance of a batch", w.batchAllowances)
	t.Run("altered", w.altered)
	t.Run("page", w.page)
	t.Run("snippets", w.snippets)
	t.Run("browsers may ask the chains", w.browsersMayAsk)
}

// A gatewayAt is a client that holds every quote against the reference deployment.
type gatewayAt struct {
	URL string
	*client.Client
}

func dialGateway(t testing.TB, url string) gatewayAt {
	t.Helper()
	c, err := swap.Dial(url, chain.Reference())
	if err != nil {
		t.Fatal(err)
	}
	return gatewayAt{url, c}
}

// A rawQuote is an answer of the gateway in the words of a version, without its details.
type rawQuote struct {
	client.Quote
	Version string
	Raw     []byte
}

// A world is a gateway and the chains it quotes for.
type world struct {
	net     *reference.Net
	gateway gatewayAt
	know    swap.Knowledge
	referee *referee.Referee
	people  atomic.Uint64 // recipients made so far
	turns   turns
	kinds   sync.Map // of swaps whose status was asked before they were settled
}

func newWorld(t testing.TB) *world {
	t.Helper()
	path := buildGateway(t)
	net, err := reference.Start(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := net.Close(); err != nil {
			t.Error(err)
		}
	})
	log := &child.Log{}
	deployment, err := options{confirmations: 1}.unhappyEnv(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env := slices.Concat(gatewayEnv(net), deployment, []string{"RATE_LIMIT=0"})
	gateway, err := child.Gateway{Binary: path, Env: env, Log: log}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := gateway.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the gateway's log ends with:\n%s", log.Tail())
		}
	})
	w := &world{net: net, gateway: dialGateway(t, gateway.URL())}
	if w.referee, err = referee.New("../.."); err != nil {
		t.Fatal(err)
	}
	w.know = swap.Knowledge{Deployment: chain.Reference(), ViewingKey: &reference.PrivateViewingKey}
	return w
}

// buildGateway makes the binary, and has go test know that the result depends on its sources.
func buildGateway(t testing.TB) string {
	t.Helper()
	sources, err := os.ReadDir("../gateway")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		if _, err := os.ReadFile("../gateway/" + source.Name()); err != nil {
			t.Fatal(err)
		}
	}
	path, err := child.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// newRecipient is somebody who has nothing yet.
func (w *world) newRecipient() common.Address {
	return common.BytesToAddress(crypto.Keccak256(fmt.Append(nil, "recipient ", w.people.Add(1))))
}

// swap is a wish to swap an amount, with a recipient of its own.
func (w *world) swap(p chain.Pair, amount *big.Int) swap.Swap {
	s := swap.Swap{Pair: &p, Amount: amount, Recipient: reference.PrivateRecipient}
	if !p.Dst.Private() {
		s.Recipient = w.newRecipient().Hex()
	}
	return s
}

// quote asks the gateway and checks the answer as a careful wallet does. The transaction is that of the version; a
// client of an older one has no such checks.
func (w *world) quote(t *testing.T, version string, s swap.Swap) (*rawQuote, *swap.Checked) {
	t.Helper()
	q, body := w.ask(t, "v3", s)
	checked, err := swap.Verify(s, body, w.know)
	if err != nil {
		t.Fatalf("a wallet would refuse this quote: %v\n%s", err, body)
	}
	if version != "v3" {
		q, _ = w.ask(t, version, s)
		checked.Main.To = common.HexToAddress(q.To)
		checked.Main.Data = common.FromHex(q.MethodParameters.Calldata)
		checked.Main.Value = hexutil.MustDecodeBig(q.MethodParameters.Value)
	}
	return q, checked
}

// quotePaths are where each version quotes.
var quotePaths = map[string]string{"v3": "/v3/swap/quote", "v3legacy": "/v3legacy/swap/quote", "v1": "/v1/quote"}

// ask gives the answer of the gateway, and all of it as it came.
func (w *world) ask(t *testing.T, version string, s swap.Swap) (*rawQuote, []byte) {
	t.Helper()
	url, err := w.gateway.QuoteURL(s.Request())
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Get(strings.Replace(url, quotePaths["v3"], quotePaths[version], 1))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("got %d, %v: %s", res.StatusCode, err, body)
	}
	q := &rawQuote{Version: version, Raw: body}
	if version == "v3" {
		if q.Raw, _, err = referee.SplitDetails(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.Unmarshal(q.Raw, &q.Quote); err != nil {
		t.Fatal(err)
	}
	return q, body
}

// execute signs and sends a quote as the client flow says.
func (w *world) execute(t *testing.T, q *swap.Checked) *types.Receipt {
	t.Helper()
	defer w.turns.take(q.Swap.Src.Network())()
	receipt, err := swap.Execute(t.Context(), w.net.Chain(q.Swap.Src).Client(), reference.User.Key, q, nil)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

// turns lets one swapper at a time use a chain: wallets do not share a key, and so neither nonces nor allowances.
type turns struct{ locks sync.Map }

func (t *turns) take(network chain.ID) (done func()) {
	lock, _ := t.locks.LoadOrStore(network, new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	return lock.(*sync.Mutex).Unlock
}

// settle has the operator pay out the one order of a transaction.
func (w *world) settle(t *testing.T, network chain.ID, receipt *types.Receipt) *reference.Payout {
	t.Helper()
	orders, err := w.net.Orders(t.Context(), network, receipt)
	if err != nil {
		t.Fatal(err)
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

// change is by how much a transaction changed what a holder has.
func (w *world) change(t *testing.T, token chain.Token, holder common.Address, receipt *types.Receipt) *big.Int {
	t.Helper()
	change, err := w.net.Change(t.Context(), token, holder, receipt)
	if err != nil {
		t.Fatal(err)
	}
	return change
}

func (w *world) balance(t *testing.T, token chain.Token, holder common.Address, block *big.Int) *big.Int {
	t.Helper()
	balance, err := w.net.Balance(t.Context(), token, holder, block)
	if err != nil {
		t.Fatal(err)
	}
	return balance
}

// send has a transaction executed as it is, without any check.
func (w *world) send(ctx context.Context, src chain.ID, key *ecdsa.PrivateKey, tx client.Call) (*types.Receipt, error) {
	return w.net.Chain(src).Send(ctx, key, tx.To, tx.Value, tx.Data)
}

// equal compares numbers and texts as they print.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s: got %s, want %s", what, g, w)
	}
}

func amount(t testing.TB, text string, token chain.Token) *big.Int {
	t.Helper()
	n, err := client.ParseAmount(text, token.Decimals)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func negative(n *big.Int) *big.Int { return new(big.Int).Neg(n) }
