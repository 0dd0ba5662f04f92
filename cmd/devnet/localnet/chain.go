// Package localnet runs simulated chains with the reference contracts.
//
// A chain is a whole go-ethereum node in memory, with no peers. It seals a block for each transaction before it answers
// the sender, so the receipt is there as soon as the sender has the hash, unless the transaction is ahead of its nonce.
package localnet

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
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

// A Spec says what a chain is at its start.
type Spec struct {
	ID    uint64
	Alloc types.GenesisAlloc // the accounts of block zero
	Port  int                // of JSON-RPC over HTTP on 127.0.0.1; 0 takes a free one
}

// A Chain is one running chain.
type Chain struct {
	id      *big.Int
	node    *node.Node
	client  *ethclient.Client
	backend *eth.Ethereum
	beacon  *catalyst.SimulatedBeacon
	keys    sync.Map   // the keys that Unlock was given, by their address
	sending sync.Mutex // one nonce at a time
	sealing sync.Mutex // one block at a time
}

// Start runs a chain until it is closed.
func Start(spec Spec) (*Chain, error) {
	stack, err := node.New(nodeConfig(spec.Port))
	if err != nil {
		return nil, err
	}
	c := &Chain{id: new(big.Int).SetUint64(spec.ID), node: stack, client: ethclient.NewClient(stack.Attach())}
	if err := c.run(spec); err != nil {
		return nil, errors.Join(fmt.Errorf("chain %d: %w", spec.ID, err), c.Close())
	}
	return c, nil
}

func nodeConfig(port int) *node.Config {
	config := node.DefaultConfig
	config.DataDir = ""
	config.P2P = p2p.Config{NoDiscovery: true}
	config.HTTPHost = "127.0.0.1"
	config.HTTPPort = port
	config.HTTPModules = []string{"eth", "net", "web3"}
	config.HTTPCors = []string{"*"} // wallets in browsers
	return &config
}

func ethConfig(spec Spec) *ethconfig.Config {
	chain := *params.AllDevChainProtocolChanges
	chain.ChainID = new(big.Int).SetUint64(spec.ID)

	// The forks that are active call contracts that must be there.
	alloc := core.SystemContractAllocs()
	maps.Copy(alloc, spec.Alloc)

	config := ethconfig.Defaults
	config.Genesis = &core.Genesis{Config: &chain, GasLimit: config.Miner.GasCeil, Alloc: alloc}
	config.SyncMode = ethconfig.FullSync
	config.TxPool.NoLocals = true
	config.Miner.GasPrice = big.NewInt(1) // the least tip the pool takes: what is taken is sealed
	config.LogNoHistory = true            // logs are searched without an index, which would lag behind the head
	return &config
}

// run starts the node as the chain of spec.
func (c *Chain) run(spec Spec) (err error) {
	if c.backend, err = eth.New(c.node, ethConfig(spec)); err != nil {
		return err
	}
	if c.beacon, err = catalyst.NewSimulatedBeacon(0, common.Address{}, c.backend); err != nil {
		return err
	}
	// A later method of the same name takes the place of the node's own.
	c.node.RegisterAPIs([]rpc.API{
		{
			Namespace: "eth",
			Service:   filters.NewFilterAPI(filters.NewFilterSystem(c.backend.APIBackend, filters.Config{})),
		},
		{Namespace: "eth", Service: methods{c}},
	})
	return c.node.Start()
}

// URL is where the chain serves JSON-RPC.
func (c *Chain) URL() string { return c.node.HTTPEndpoint() }

// Client speaks to the chain without a network in between.
func (c *Chain) Client() *ethclient.Client { return c.client }

// Close stops the chain and lets go of everything it held. Nothing may use the chain after.
func (c *Chain) Close() error {
	c.client.Close()
	return c.node.Close()
}

// Send signs a call with key and has it executed. A call that would revert is not sent: the error says why it would.
// The value may be nil.
func (c *Chain) Send(
	ctx context.Context, key *ecdsa.PrivateKey, to common.Address, value *big.Int, data []byte,
) (*types.Receipt, error) {
	c.sending.Lock()
	defer c.sending.Unlock()

	from := crypto.PubkeyToAddress(key.PublicKey)
	gas, err := c.client.EstimateGas(ctx, ethereum.CallMsg{From: from, To: &to, Value: value, Data: data})
	if err != nil {
		return nil, fmt.Errorf("call of %s: %w", to, err)
	}
	nonce, err := c.client.PendingNonceAt(ctx, from)
	if err != nil {
		return nil, err
	}
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(c.id), &types.LegacyTx{
		Nonce:    nonce,
		GasPrice: big.NewInt(2 * params.GWei), // the base fee begins at one, and falls
		Gas:      gas,
		To:       &to,
		Value:    value,
		Data:     data,
	})
	if err != nil {
		return nil, err
	}
	if err := c.client.SendTransaction(ctx, tx); err != nil {
		return nil, err
	}
	receipt, err := c.client.TransactionReceipt(ctx, tx.Hash())
	if err != nil {
		return nil, fmt.Errorf("transaction %s: %w", tx.Hash(), err)
	}
	if receipt.Status != types.ReceiptStatusSuccessful {
		return nil, fmt.Errorf("transaction %s to %s reverted", tx.Hash(), to)
	}
	return receipt, nil
}

// Seal seals a block without a transaction: now, so that the chain does not seem to stand still, or so that the next
// block is after a time. A chain that has sealed many blocks is ahead of the clock, and so of other chains.
func (c *Chain) Seal(after uint64) error {
	c.sealing.Lock()
	defer c.sealing.Unlock()
	head := c.backend.BlockChain().CurrentBlock()
	if after == 0 {
		c.beacon.Commit()
	} else if after > head.Time {
		if err := c.beacon.AdjustTime(time.Duration(after-head.Time) * time.Second); err != nil {
			return err
		}
	}
	return c.backend.TxPool().Sync() // see SendRawTransaction
}

// Unlock has the chain sign for an account whenever anyone asks it to with eth_sendTransaction, as the nodes that
// people develop with do.
func (c *Chain) Unlock(key *ecdsa.PrivateKey) {
	c.keys.Store(crypto.PubkeyToAddress(key.PublicKey), key)
}

// methods are the chain's way of taking transactions: methods of the RPC namespace eth, in the place of the node's own.
type methods struct{ chain *Chain }

// A transaction is the argument of eth_sendTransaction. The node chooses the gas.
type transaction struct {
	From    common.Address
	To      common.Address
	Value   *hexutil.Big
	Data    hexutil.Bytes
	ChainID *hexutil.Big
}

// SendTransaction signs a transaction for an account that is unlocked, and seals it in a block.
func (m methods) SendTransaction(ctx context.Context, tx transaction) (common.Hash, error) {
	key, ok := m.chain.keys.Load(tx.From)
	if !ok {
		return common.Hash{}, fmt.Errorf("this chain has no key of %s", tx.From)
	}
	if id := (*big.Int)(tx.ChainID); id != nil && id.Cmp(m.chain.id) != 0 {
		return common.Hash{}, fmt.Errorf("the transaction is for chain %s, and this is %s", id, m.chain.id)
	}
	receipt, err := m.chain.Send(ctx, key.(*ecdsa.PrivateKey), tx.To, (*big.Int)(tx.Value), tx.Data)
	if err != nil {
		return common.Hash{}, err
	}
	return receipt.TxHash, nil
}

// SendRawTransaction takes a signed transaction and seals it in a block.
func (m methods) SendRawTransaction(ctx context.Context, raw hexutil.Bytes) (common.Hash, error) {
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		return common.Hash{}, err
	}
	m.chain.sealing.Lock()
	defer m.chain.sealing.Unlock()
	backend := m.chain.backend
	if err := backend.APIBackend.SendTx(ctx, tx); err != nil {
		return common.Hash{}, err
	}
	head := backend.BlockChain().CurrentBlock().Hash()
	if m.chain.beacon.Commit() == head {
		return common.Hash{}, errors.New("no block was sealed")
	}
	// The pool learns of the block in its own time; the next sender should not see it lag.
	return tx.Hash(), backend.TxPool().Sync()
}
