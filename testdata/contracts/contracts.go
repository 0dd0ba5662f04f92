// Package contracts holds the reference contracts: small Solidity models of the contracts that a quote's transactions
// reach, compiled by `make contracts`. They have no constructors: each function here gives one contract as an account
// of a genesis, so that it stands at whatever address a deployment names, configured, from block zero.
package contracts

import (
	"encoding/binary"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

var registry = load("IntegratorRegistry")

// RegistryABI is the interface of the account that Registry gives.
var RegistryABI = registry.ABI

// An Integrator is one entry of a registry.
type Integrator struct {
	Wallet common.Address
	FeeBPS uint16
	Active bool
}

// Registry is an IntegratorRegistry run by operator, with these integrators in it.
func Registry(operator common.Address, integrators ...Integrator) types.Account {
	account := registry.account(map[string][]byte{"operator": operator[:]})
	for _, i := range integrators {
		var word common.Hash
		copy(word[12:], i.Wallet[:])
		binary.BigEndian.PutUint16(word[10:], i.FeeBPS)
		if i.Active {
			word[9] = 1
		}
		account.Storage[registry.entry("integrators", IntegratorID(i.Wallet))] = word
	}
	return account
}

// IntegratorID is the name of a wallet in every registry.
func IntegratorID(wallet common.Address) common.Hash {
	return common.BytesToHash(wallet[:])
}
