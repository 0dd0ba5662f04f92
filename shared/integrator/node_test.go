package integrator

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

var deployment = chain.Reference()

// evm is a real chain with the reference deployment's registry on it.
type evm struct {
	*node.EVM
	t        testing.TB
	registry common.Address
}

// newEVM is a chain whose registry has these integrators in it.
func newEVM(t testing.TB, network chain.ID, integrators ...contracts.Integrator) *evm {
	t.Helper()
	return newEVMWith(t, network, func(operator common.Address) types.Account {
		return contracts.Registry(operator, integrators...)
	})
}

// newEVMWith is a chain with something else where the registry should be.
func newEVMWith(t testing.TB, network chain.ID, account func(operator common.Address) types.Account) *evm {
	t.Helper()
	registry := deployment.Registry(network).Address
	return &evm{node.NewEVM(t, uint64(network), func(operator common.Address) types.GenesisAlloc {
		return types.GenesisAlloc{registry: account(operator)}
	}), t, registry}
}

// send has the operator call a method of the registry, and waits until it is done.
func (c *evm) send(method string, args ...any) {
	c.t.Helper()
	data, err := contracts.RegistryABI.Pack(method, args...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.Send(c.registry, data)
}

// wallet numbers wallets, and so integrators, for tests.
func wallet(n uint64) common.Address {
	return common.BigToAddress(new(big.Int).SetUint64(0xa11ce<<32 | n))
}
