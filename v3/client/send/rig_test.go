package send_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/ethclient/simulated"
	gethnode "github.com/ethereum/go-ethereum/node"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/v3/client"
	"github.com/quotegate/quotegate/v3/client/send"
)

var (
	_ send.Backend = (*ethclient.Client)(nil)
	_ send.Backend = simulated.Client(nil)
)

const recipient = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

// quotes are those that were asked for, by token. A gateway takes longer to start than a chain.
var quotes = map[string]*client.Checked{}

// listing is what they were checked against.
var listing *client.Listing

// getQuote asks a real gateway, once, for a swap from Ethereum to the hub.
func getQuote(t *testing.T, token string) *client.Checked {
	t.Helper()
	if q := quotes[token]; q != nil {
		return q
	}
	server := httptest.NewServer(golden.Gateway(t))
	defer server.Close()
	c, err := client.New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if listing, err = c.Pairs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c, err = client.New(server.URL, client.WithPinned(client.Pinned{Listing: listing})); err != nil {
		t.Fatal(err)
	}
	r := client.Request{SrcChain: 1, SrcToken: token, DstChain: 369, DstToken: "USDC", Recipient: recipient}
	r.Amount = big.NewInt(100_000_000)
	if token == "ETH" {
		r.DstToken = "WETH"
		r.Amount = big.NewInt(1e18)
	}
	q, err := c.Quote(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	quotes[token] = q
	return q
}

// A node is a simulated chain 1 with the contracts of a quote. What is sent is sealed when its receipt is asked for.
type node struct {
	simulated.Client
	chain   *simulated.Backend
	key     send.Account
	swap    *send.Swap
	mu      sync.Mutex
	given   []*types.Transaction
	waiting bool // nothing is sealed

	// Each takes the place of the node's own answer.
	code     func(context.Context, common.Address) ([]byte, error)
	take     func(*types.Transaction) error
	receipt  func(*types.Receipt) (*types.Receipt, error)
	byHash   error
	block    error
	estimate uint64
	approval error // of the next estimate
	tip      *big.Int
	coins    *big.Int
	pending  *uint64
	calls    func(selector string) ([]byte, error) // what the token says, if anything
}

func (n *node) BalanceAt(ctx context.Context, account common.Address, block *big.Int) (*big.Int, error) {
	if n.coins != nil {
		return n.coins, nil
	}
	return n.Client.BalanceAt(ctx, account, block)
}

func (n *node) PendingNonceAt(ctx context.Context, account common.Address) (uint64, error) {
	if n.pending != nil {
		return *n.pending, nil
	}
	return n.Client.PendingNonceAt(ctx, account)
}

func (n *node) CallContract(ctx context.Context, call ethereum.CallMsg, block *big.Int) ([]byte, error) {
	if n.calls != nil {
		if answer, err := n.calls(hexutil.Encode(call.Data[:4])); answer != nil || err != nil {
			return answer, err
		}
	}
	return n.Client.CallContract(ctx, call, block)
}

func (n *node) CodeAt(ctx context.Context, address common.Address, block *big.Int) ([]byte, error) {
	if n.code != nil {
		return n.code(ctx, address)
	}
	return n.Client.CodeAt(ctx, address, block)
}

func (n *node) EstimateGas(ctx context.Context, call ethereum.CallMsg) (uint64, error) {
	if err := n.approval; err != nil {
		n.approval = nil
		return 0, err
	}
	if n.estimate != 0 {
		return n.estimate, nil
	}
	return n.Client.EstimateGas(ctx, call)
}

func (n *node) SuggestGasTipCap(ctx context.Context) (*big.Int, error) {
	if n.tip != nil {
		return n.tip, nil
	}
	return n.Client.SuggestGasTipCap(ctx)
}

func (n *node) SendTransaction(ctx context.Context, tx *types.Transaction) error {
	n.mu.Lock()
	n.given = append(n.given, tx)
	n.mu.Unlock()
	if n.take != nil {
		return n.take(tx)
	}
	return n.pass(tx)
}

// pass gives a transaction to the chain.
func (n *node) pass(tx *types.Transaction) error {
	return n.Client.SendTransaction(context.Background(), tx)
}

func (n *node) TransactionByHash(ctx context.Context, hash common.Hash) (*types.Transaction, bool, error) {
	if n.byHash != nil {
		return nil, false, n.byHash
	}
	return n.Client.TransactionByHash(ctx, hash)
}

func (n *node) BlockByNumber(ctx context.Context, number *big.Int) (*types.Block, error) {
	if n.block != nil {
		return nil, n.block
	}
	return n.Client.BlockByNumber(ctx, number)
}

func (n *node) TransactionReceipt(ctx context.Context, hash common.Hash) (*types.Receipt, error) {
	if !n.waiting {
		n.chain.Commit()
	}
	receipt, err := n.Client.TransactionReceipt(ctx, hash)
	if err == nil && n.receipt != nil {
		return n.receipt(receipt)
	}
	return receipt, err
}

// start runs a chain for a swap of a token. The account has the amount twice, and coins.
func start(t *testing.T, token string, alters ...func(types.GenesisAlloc, *node)) (*node, send.Sender) {
	t.Helper()
	q := getQuote(t, token)
	swap, err := send.New(q)
	if err != nil {
		t.Fatal(err)
	}
	swap.Expires = time.Now().Add(time.Hour)
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	n := &node{key: send.Key(key), swap: swap}
	me := n.key.Address()
	ledger := contracts.Token(me, token, 6)
	if token == "USDT" {
		ledger = contracts.TetherLikeToken(me, token, 6)
	}
	source := q.Pair.SrcToken.Address
	alloc := types.GenesisAlloc{
		me:           {Balance: new(big.Int).Exp(big.NewInt(10), big.NewInt(20), nil)},
		swap.Main.To: contracts.Pool(me, source, me, me),
	}
	if token != "ETH" {
		alloc[source] = ledger
	}
	for _, alter := range alters {
		alter(alloc, n)
	}
	n.chain = simulated.NewBackend(alloc, func(_ *gethnode.Config, c *ethconfig.Config) {
		config := *c.Genesis.Config
		config.ChainID = big.NewInt(1)
		c.Genesis.Config = &config
		c.Miner.GasPrice = big.NewInt(1)
	})
	n.Client = n.chain.Client()
	t.Cleanup(func() { _ = n.chain.Close() })
	if _, ok := alloc[source]; ok && token != "ETH" {
		n.do(t, source, "mint", me, new(big.Int).Lsh(swap.Amount, 1))
	}
	return n, send.Sender{Backend: n, Account: n.key, MaxGas: big.NewInt(1e17), Poll: time.Millisecond}
}

// copyOf reads a swap from its JSON.
func copyOf(t *testing.T, w *send.Swap) *send.Swap {
	t.Helper()
	data, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	read := &send.Swap{}
	if err := json.Unmarshal(data, read); err != nil {
		t.Fatal(err)
	}
	return read
}

// do has the account call a token.
func (n *node) do(t *testing.T, token common.Address, method string, args ...any) {
	t.Helper()
	data, err := contracts.TokenABI.Pack(method, args...)
	if err != nil {
		t.Fatal(err)
	}
	nonce, err := n.PendingNonceAt(t.Context(), n.key.Address())
	if err != nil {
		t.Fatal(err)
	}
	tx := n.sign(t, &types.DynamicFeeTx{Nonce: nonce, To: &token, Data: data, Gas: 1_000_000}, 2)
	if err := n.pass(tx); err != nil {
		t.Fatal(err)
	}
	n.chain.Commit()
}

// sign signs a transaction at so many Gwei.
func (n *node) sign(t *testing.T, tx *types.DynamicFeeTx, gwei int64) *types.Transaction {
	t.Helper()
	tx.ChainID = big.NewInt(1)
	tx.GasTipCap = big.NewInt(gwei * 1e9)
	tx.GasFeeCap = big.NewInt(gwei * 1e9)
	signed, err := n.key.SignTx(t.Context(), types.NewTx(tx), big.NewInt(1))
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// onChain names the account's transactions on the chain: what they did, in their order.
func (n *node) onChain(t *testing.T) string {
	t.Helper()
	last, err := n.BlockNumber(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for i := range last + 1 {
		block, err := n.Client.BlockByNumber(t.Context(), new(big.Int).SetUint64(i))
		if err != nil {
			t.Fatal(err)
		}
		for _, tx := range block.Transactions() {
			all = append(all, n.what(tx))
		}
	}
	return strings.Join(all, " ")
}

func (n *node) what(tx *types.Transaction) string {
	switch {
	case *tx.To() == n.swap.Main.To:
		return "swap"
	case n.swap.Approval != nil && string(tx.Data()) == string(n.swap.Approval.Data):
		return "approval"
	case strings.HasPrefix(string(tx.Data()), string(contracts.TokenABI.Methods["approve"].ID)):
		return "reset"
	case strings.HasPrefix(string(tx.Data()), string(contracts.TokenABI.Methods["mint"].ID)):
		return "mint"
	}
	return "other"
}

// codeOf is the code of an error; empty for none.
func codeOf(err error) string {
	var e *send.Error
	if errors.As(err, &e) {
		return e.Code
	}
	if err != nil {
		return "another error: " + err.Error()
	}
	return ""
}
