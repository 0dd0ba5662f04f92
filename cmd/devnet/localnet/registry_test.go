package localnet

import (
	"reflect"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
)

func TestRegistry(t *testing.T) {
	registry := contract{contracts.RegistryABI, common.HexToAddress("0x1000")}
	listed := contracts.Integrator{Wallet: common.HexToAddress("0xabcd00000000000000000000000000000000ef01"), FeeBPS: 258, Active: true}
	resting := contracts.Integrator{Wallet: common.HexToAddress("0xabcd00000000000000000000000000000000ef02"), FeeBPS: 30}
	chain := start(t, types.GenesisAlloc{registry.at: contracts.Registry(operator, listed, resting)})
	id := contracts.IntegratorID(integrator)

	wants := func(id common.Hash, wallet common.Address, feeBPS uint16, active bool) {
		t.Helper()
		got := chain.read(registry, "getIntegrator", id)
		if want := []any{wallet, feeBPS, active}; !reflect.DeepEqual(got, want) {
			t.Errorf("integrator %s: got %v, want %v", id, got, want)
		}
	}
	wants(contracts.IntegratorID(listed.Wallet), listed.Wallet, 258, true)
	wants(contracts.IntegratorID(resting.Wallet), resting.Wallet, 30, false)
	wants(id, common.Address{}, 0, false)

	receipt := chain.do(operatorKey, registry, "register", integrator, uint16(50))
	same(t, event(t, receipt, registry, "Registered"), map[string]any{"id": [32]byte(id), "wallet": integrator, "feeBps": uint16(50)})
	wants(id, integrator, 50, true)

	receipt = chain.do(operatorKey, registry, "setFee", id, uint16(65535))
	same(t, event(t, receipt, registry, "FeeSet"), map[string]any{"id": [32]byte(id), "feeBps": uint16(65535)})
	wants(id, integrator, 65535, true)

	receipt = chain.do(operatorKey, registry, "setActive", id, false)
	same(t, event(t, receipt, registry, "ActiveSet"), map[string]any{"id": [32]byte(id), "active": false})
	wants(id, integrator, 65535, false)

	stranger := contracts.IntegratorID(recipient)
	chain.refuses("already registered", operatorKey, nil, registry, "register", integrator, uint16(1))
	chain.refuses("wallet is zero", operatorKey, nil, registry, "register", common.Address{}, uint16(1))
	chain.refuses("not registered", operatorKey, nil, registry, "setFee", stranger, uint16(1))
	chain.refuses("not registered", operatorKey, nil, registry, "setActive", stranger, true)
	chain.refuses("caller is not the operator", userKey, nil, registry, "register", recipient, uint16(1))
	chain.refuses("caller is not the operator", userKey, nil, registry, "setFee", id, uint16(1))
	chain.refuses("caller is not the operator", userKey, nil, registry, "setActive", id, true)
	wants(id, integrator, 65535, false)
}
