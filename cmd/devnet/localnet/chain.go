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
	"net"
	"strconv"
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

	// Addr is the host:port to serve JSON-RPC on over HTTP; port 0 takes a free one. Empty serves none.
	Addr string
}

// A Chain is one running chain.
type Chain struct {
	id     *big.Int
	node   *node.Node
	client *ethclient.Client
	seal   *sealer
	url    string
	send   sync.Mutex // one nonce at a time
}

// Start runs a chain until it is closed.
func Start(spec Spec) (*Chain, error) {
	if spec.ID == 0 {
		return nil, errors.New("a chain needs an ID above zero")
	}
	nodeConfig, err := nodeConfig(spec.Addr)
	if err != nil {
		return nil, err
	}
	stack, err := node.New(nodeConfig)
	if err != nil {
		return nil, err
	}
	seal, err := run(stack, spec)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("chain %d: %w", spec.ID, err), stack.Close())
	}
	c := &Chain{
		id:     new(big.Int).SetUint64(spec.ID),
		node:   stack,
		client: ethclient.NewClient(stack.Attach()),
		seal:   seal,
	}
	if spec.Addr != "" {
		c.url = stack.HTTPEndpoint()
	}
	return c, nil
}

func nodeConfig(addr string) (*node.Config, error) {
	config := node.DefaultConfig
	config.DataDir = ""
	config.P2P = p2p.Config{NoDiscovery: true}
	if addr == "" {
		return &config, nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("address %s: port %q is not a number up to 65535", addr, port)
	}
	if host == "" {
		return nil, fmt.Errorf("address %s: name the host to listen on, such as 127.0.0.1", addr)
	}
	config.HTTPHost, config.HTTPPort = host, int(number)
	config.HTTPModules = []string{"eth", "net", "web3"}
	config.HTTPCors = []string{"*"} // wallets in browsers
	return &config, nil
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

// URL is where the chain serves JSON-RPC, or empty if it does not.
func (c *Chain) URL() string { return c.url }

// Client speaks to the chain without a network in between.
func (c *Chain) Client() *ethclient.Client { return c.client }

// Tick seals a block without a transaction, so that the chain does not seem to stand still.
func (c *Chain) Tick() error { return c.seal.seal(0) }

// Reach makes sure that the next block is after a time. A chain that has sealed many blocks is ahead of the clock,
// and so of other chains.
func (c *Chain) Reach(seconds uint64) error { return c.seal.seal(seconds) }

// Close stops the chain and lets go of everything it held. Nothing may use the chain after.
func (c *Chain) Close() error {
	c.seal.close()
	c.client.Close()
	return c.node.Close()
}
