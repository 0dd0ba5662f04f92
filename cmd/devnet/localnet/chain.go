// Package localnet runs simulated chains with the reference contracts.
//
// A chain is a whole go-ethereum node in memory, with no peers. It seals a block for each transaction before it answers
// the sender, so the receipt is there as soon as the sender has the hash, unless the transaction is ahead of its nonce.
package localnet

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
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
	id     *big.Int
	node   *node.Node
	client *ethclient.Client
	seal   *sealer
	send   sync.Mutex // one nonce at a time
}

// Start runs a chain until it is closed.
func Start(spec Spec) (*Chain, error) {
	stack, err := node.New(nodeConfig(spec.Port))
	if err != nil {
		return nil, err
	}
	seal, err := run(stack, spec)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("chain %d: %w", spec.ID, err), stack.Close())
	}
	return &Chain{
		id:     new(big.Int).SetUint64(spec.ID),
		node:   stack,
		client: ethclient.NewClient(stack.Attach()),
		seal:   seal,
	}, nil
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
func run(stack *node.Node, spec Spec) (*sealer, error) {
	backend, err := eth.New(stack, ethConfig(spec))
	if err != nil {
		return nil, err
	}
	beacon, err := catalyst.NewSimulatedBeacon(0, common.Address{}, backend)
	if err != nil {
		return nil, err
	}
	seal := &sealer{backend: backend, beacon: beacon}
	// A later method of the same name takes the place of the node's own.
	stack.RegisterAPIs([]rpc.API{
		{
			Namespace: "eth",
			Service:   filters.NewFilterAPI(filters.NewFilterSystem(backend.APIBackend, filters.Config{})),
		},
		{Namespace: "eth", Service: seal},
	})
	return seal, stack.Start()
}

// URL is where the chain serves JSON-RPC.
func (c *Chain) URL() string { return c.node.HTTPEndpoint() }

// Client speaks to the chain without a network in between.
func (c *Chain) Client() *ethclient.Client { return c.client }

// Seal seals a block without a transaction: now, so that the chain does not seem to stand still, or so that the next
// block is after a time. A chain that has sealed many blocks is ahead of the clock, and so of other chains.
func (c *Chain) Seal(after uint64) error { return c.seal.seal(after) }

// Close stops the chain and lets go of everything it held. Nothing may use the chain after.
func (c *Chain) Close() error {
	c.seal.close()
	c.client.Close()
	return c.node.Close()
}
