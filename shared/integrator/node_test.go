package integrator

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

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/testdata/contracts"
)

var deployment = chain.Reference()

// evm is a real chain in this process with the reference deployment's registry
// on it. It is what go-ethereum's simulated backend is made of; that one always
// has chain ID 1337 and keeps its JSON-RPC server to itself.
type evm struct {
	http.Handler // its JSON-RPC server
	t            testing.TB
	network      chain.ID
	operator     *ecdsa.PrivateKey
	beacon       *catalyst.SimulatedBeacon
	client       *ethclient.Client
}

// newEVM is a chain whose registry has these integrators in it.
func newEVM(t testing.TB, network chain.ID, integrators ...contracts.Integrator) *evm {
	t.Helper()
	return newEVMWith(t, network, func(operator common.Address) types.Account {
		return contracts.Registry(operator, integrators...)
	})
}

// newEVMWith is a chain with something else where the registry should be.
func newEVMWith(t testing.TB, network chain.ID, registry func(operator common.Address) types.Account) *evm {
	t.Helper()
	operator, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	account := crypto.PubkeyToAddress(operator.PublicKey)

	rules := *params.AllDevChainProtocolChanges
	rules.ChainID = new(big.Int).SetUint64(uint64(network))
	conf := ethconfig.Defaults
	conf.NetworkId = uint64(network)
	conf.SyncMode = ethconfig.FullSync
	conf.LogNoHistory = true
	conf.TxPool.NoLocals = true
	conf.Genesis = &core.Genesis{Config: &rules, GasLimit: 30_000_000, Alloc: core.SystemContractAllocs()}
	conf.Genesis.Alloc[account] = types.Account{Balance: big.NewInt(params.Ether)}
	conf.Genesis.Alloc[deployment.Registry(network).Address] = registry(account)

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
	return &evm{server, t, network, operator, beacon, ethclient.NewClient(stack.Attach())}
}

// send has the operator call a method of the registry, and waits until it is done.
func (c *evm) send(method string, args ...any) {
	c.t.Helper()
	data, err := contracts.RegistryABI.Pack(method, args...)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx := context.Background()
	from, to := crypto.PubkeyToAddress(c.operator.PublicKey), deployment.Registry(c.network).Address
	nonce, err := c.client.NonceAt(ctx, from, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	id := new(big.Int).SetUint64(uint64(c.network))
	tx := types.MustSignNewTx(c.operator, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: nonce, To: &to, Data: data, Gas: 200_000, GasFeeCap: big.NewInt(10 * params.GWei), GasTipCap: big.NewInt(params.GWei),
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
		c.t.Fatalf("%s%v reverted", method, args)
	}
}

// wallet numbers wallets, and so integrators, for tests.
func wallet(n uint64) common.Address {
	return common.BigToAddress(new(big.Int).SetUint64(0xa11ce<<32 | n))
}
