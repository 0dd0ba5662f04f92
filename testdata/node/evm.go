package node

import (
	"context"
	"crypto/ecdsa"
	"math/big"
	"net/http"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/params"
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
}

// NewEVM starts a chain that ends with the test. The operator has one ether;
// alloc says what else is on the chain.
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
	return &EVM{server, operator, t, network, key, beacon, ethclient.NewClient(stack.Attach())}
}

// Send has the operator call a contract, and waits until it is done.
func (c *EVM) Send(to common.Address, data []byte) {
	c.t.Helper()
	ctx := context.Background()
	nonce, err := c.client.NonceAt(ctx, c.Operator, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	id := new(big.Int).SetUint64(c.network)
	tx := types.MustSignNewTx(c.key, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: nonce, To: &to, Data: data, Gas: 1_000_000, GasFeeCap: big.NewInt(10 * params.GWei), GasTipCap: big.NewInt(params.GWei),
	})
	if err := c.client.SendTransaction(ctx, tx); err != nil {
		c.t.Fatal(err)
	}
	c.beacon.Commit()
	receipt, err := c.client.TransactionReceipt(ctx, tx.Hash())
	if err != nil {
		c.t.Fatal(err)
	}
	if receipt.Status != types.ReceiptStatusSuccessful {
		c.t.Fatalf("the call %x of %s reverted", data, to)
	}
}
