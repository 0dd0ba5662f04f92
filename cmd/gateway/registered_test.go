package main

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// One registry that has an integrator is enough. That none has it is known only if all
// of them answer.
func TestRegisteredOnAnyChain(t *testing.T) {
	d := chain.Reference()
	active, dear, inactive, nobody := common.Address{1}, common.Address{2}, common.Address{3}, common.Address{4}
	endpoints := rpc.Config{}
	registryOn := func(id chain.ID, all ...contracts.Integrator) {
		front := node.NewFront(t, node.NewEVM(t, uint64(id), func(operator common.Address) types.GenesisAlloc {
			return types.GenesisAlloc{d.Registry(id).Address: contracts.Registry(operator, all...)}
		}))
		endpoints[id] = []rpc.SecretURL{rpc.SecretURL(front.SecretURL())}
	}
	ask := func(who common.Address) (bool, error) {
		chains, err := rpc.New(endpoints, rpc.Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer chains.Close()
		registry, err := integrator.New(integrator.Config{CacheSize: 64, CacheTTL: time.Minute}, d, chains, integrator.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return registered(t.Context(), registry, "0x"+common.Bytes2Hex(who[:]))
	}
	registryOn(8453, contracts.Integrator{Wallet: active, FeeBPS: 10, Active: true}, contracts.Integrator{Wallet: dear, FeeBPS: 5000, Active: true}, contracts.Integrator{Wallet: inactive, FeeBPS: 10})
	for who, want := range map[common.Address]bool{active: true, dear: true, inactive: false, nobody: false} {
		if got, err := ask(who); got != want || (err == nil) != want {
			t.Errorf("%s: got %v, %v, want %v, and an error unless it is found", who, got, err, want)
		}
	}
	for _, id := range []chain.ID{1, 56, 369, 4663} {
		registryOn(id)
	}
	for who, want := range map[common.Address]bool{active: true, inactive: false, nobody: false} {
		if got, err := ask(who); got != want || err != nil {
			t.Errorf("%s: got %v, %v, want %v from all registries", who, got, err, want)
		}
	}
}
