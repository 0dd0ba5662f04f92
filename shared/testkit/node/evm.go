package node

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
)

// EVM is a real chain in this process. It is what go-ethereum's simulated backend
// is made of; that one always has chain ID 1337 and keeps its JSON-RPC server to
// itself.
type EVM struct {
	http.Handler // its JSON-RPC server
	Operator     common.Address

	t       testing.TB
	network uint64
	key     *ecdsa.PrivateKey // of Operator
	beacon  *catalyst.SimulatedBeacon
	client  *ethclient.Client
	backend *eth.Ethereum
}

// NewEVM starts a chain that ends with the test. It has one block. The operator has
// one ether; alloc says what else is on the chain.
func NewEVM(t testing.TB, network uint64, alloc func(operator common.Address) types.GenesisAlloc) *EVM {
	t.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	operator := crypto.PubkeyToAddress(key.PublicKey)

	rules := *params.AllDevChainProtocolChanges
	rules.ChainID = new(big.Int).SetUint64(network)
	conf := ethconfig.Defaults
	conf.NetworkId = network
	conf.SyncMode = ethconfig.FullSync
	conf.LogNoHistory = true
	conf.TxPool.NoLocals = true
	conf.Genesis = &core.Genesis{Config: &rules, GasLimit: 30_000_000, Alloc: core.SystemContractAllocs()}
	conf.Genesis.Alloc[operator] = types.Account{Balance: big.NewInt(params.Ether)}
	for address, account := range alloc(operator) {
		conf.Genesis.Alloc[address] = account
	}

	stack, err := node.New(&node.Config{P2P: p2p.Config{NoDiscovery: true, NoDial: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stack.Close() })
	backend, err := eth.New(stack, &conf)
	if err != nil {
		t.Fatal(err)
	}
	logs := filters.NewFilterAPI(filters.NewFilterSystem(backend.APIBackend, filters.Config{}))
	stack.RegisterAPIs([]rpc.API{{Namespace: "eth", Service: logs}})
	if err := stack.Start(); err != nil {
		t.Fatal(err)
	}
	beacon, err := catalyst.NewSimulatedBeacon(0, common.Address{}, backend)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { beacon.Stop() })
	if err := beacon.Fork(backend.BlockChain().GetCanonicalHash(0)); err != nil {
		t.Fatal(err)
	}
	server, err := stack.RPCHandler()
	if err != nil {
		t.Fatal(err)
	}
	c := &EVM{server, operator, t, network, key, beacon, ethclient.NewClient(stack.Attach()), backend}
	c.Commit()
	// Until the node has indexed its first block, it cannot say that a transaction is unknown.
	for waited := 1; ; waited++ {
		_, err := c.client.TransactionReceipt(t.Context(), common.Hash{})
		switch {
		case errors.Is(err, ethereum.NotFound):
			return c
		case t.Context().Err() != nil || waited > 60_000:
			t.Fatal(err)
		case waited%1000 == 0:
			c.Commit() // its indexer has missed the first block, and begins with the next
		}
		time.Sleep(time.Millisecond)
	}
}

// Send has the operator call a contract, and waits until it is done.
func (c *EVM) Send(to common.Address, data []byte) *types.Receipt {
	c.t.Helper()
	hash := c.Submit(to, nil, data)
	c.Commit()
	receipt := c.Receipt(hash)
	if receipt.Status != types.ReceiptStatusSuccessful {
		c.t.Fatalf("the call %x of %s reverted", data, to)
	}
	return receipt
}

// Submit has the operator send a transaction, which is in no block until Commit.
func (c *EVM) Submit(to common.Address, value *big.Int, data []byte) common.Hash {
	c.t.Helper()
	hash, err := c.submit(c.key, &types.DynamicFeeTx{
		To: &to, Value: value, Data: data, Gas: 1_000_000,
		GasFeeCap: big.NewInt(10 * params.GWei), GasTipCap: big.NewInt(params.GWei),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return hash
}

// leastTip is what the node demands for a transaction.
var leastTip = big.NewInt(params.GWei / 1000)

// SubmitWith has the operator call a contract with so much gas. The call is in no block
// until Commit.
func (c *EVM) SubmitWith(to common.Address, gas uint64) {
	c.t.Helper()
	price := big.NewInt(10 * params.GWei)
	tx := &types.DynamicFeeTx{To: &to, Gas: gas, GasFeeCap: price, GasTipCap: leastTip}
	if _, err := c.submit(c.key, tx); err != nil {
		c.t.Fatal(err)
	}
}

// SubmitAs sends a transaction of another account, with so much gas at such a price at
// most. It is in no block until Commit.
func (c *EVM) SubmitAs(
	key *ecdsa.PrivateKey, to common.Address, value *big.Int, data []byte, gas uint64, price *big.Int,
) (common.Hash, error) {
	return c.submit(key, &types.DynamicFeeTx{
		To: &to, Value: value, Data: data,
		Gas: gas, GasFeeCap: price, GasTipCap: leastTip,
	})
}

func (c *EVM) submit(key *ecdsa.PrivateKey, tx *types.DynamicFeeTx) (common.Hash, error) {
	if err := c.backend.TxPool().Sync(); err != nil { // it learns of a block in its own time
		return common.Hash{}, err
	}
	nonce, err := c.client.PendingNonceAt(context.Background(), crypto.PubkeyToAddress(key.PublicKey))
	if err != nil {
		return common.Hash{}, err
	}
	tx.ChainID, tx.Nonce = new(big.Int).SetUint64(c.network), nonce
	signed := types.MustSignNewTx(key, types.LatestSignerForChainID(tx.ChainID), tx)
	return signed.Hash(), c.client.SendTransaction(context.Background(), signed)
}

// Commit makes a block of what was submitted, and returns its hash.
func (c *EVM) Commit() common.Hash { return c.beacon.Commit() }

// Fork makes an earlier block the latest one: those after it are gone, and their
// transactions too.
func (c *EVM) Fork(block common.Hash) {
	c.t.Helper()
	if err := c.beacon.Fork(block); err != nil {
		c.t.Fatal(err)
	}
	c.beacon.Rollback()
}

// Receipt is what a transaction did.
func (c *EVM) Receipt(hash common.Hash) *types.Receipt {
	c.t.Helper()
	receipt, err := c.client.TransactionReceipt(context.Background(), hash)
	if err != nil {
		c.t.Fatal(err)
	}
	return receipt
}

// Mine makes blocks until a transaction is in one, and returns what it did. On a busy
// machine a block is made before it has all that was submitted.
func (c *EVM) Mine(hash common.Hash) *types.Receipt {
	c.t.Helper()
	for range 20 {
		c.Commit()
		receipt, err := c.client.TransactionReceipt(context.Background(), hash)
		if err == nil {
			return receipt
		}
	}
	c.t.Fatalf("%s is in none of 20 blocks", hash)
	return nil
}

// Block is the time of a block, and its number.
func (c *EVM) Block(hash common.Hash) (seconds, number uint64) {
	c.t.Helper()
	header, err := c.client.HeaderByHash(context.Background(), hash)
	if err != nil {
		c.t.Fatal(err)
	}
	return header.Time, header.Number.Uint64()
}
