package chain

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/fault"
)

// AnyChain is the scope in which a contract counts wherever it is.
const AnyChain ID = 0

// use is what a contract is known for.
type use struct {
	network ID // where it counts; AnyChain for everywhere
	reason  fault.Reason
	what    string // such as "the router of ETH on chain 1"
}

// Unpayable says why an address must not be paid, or be used as a contract that is paid:
// a reason and, to follow "it is", what the address is. The reason is empty if nothing
// speaks against it. The deployment's own contracts count on the given network, or
// wherever they are for AnyChain; everything else counts on every chain.
func (d *Deployment) Unpayable(a common.Address, on ID) (reason fault.Reason, what string) {
	switch {
	case a == common.Address{}:
		return fault.Zero, "the zero address"
	case a == Native.Address:
		return fault.Reserved, "the native token placeholder"
	case a == dead || a == highest:
		return fault.Reserved, "a burn address"
	case a.Cmp(firstAccount) < 0:
		return fault.Reserved, "below 0x10000, the range of precompiled contracts"
	}
	for _, u := range d.uses[a] {
		if on == AnyChain || u.network == AnyChain || on == u.network {
			return u.reason, u.what
		}
	}
	if a.Cmp(firstPredeploy) >= 0 && a.Cmp(pastPredeploys) < 0 {
		return fault.Contract, "a system contract of OP Stack chains"
	}
	return "", ""
}

var (
	// firstAccount ends the addresses that chains use for precompiled contracts.
	firstAccount = common.BytesToAddress([]byte{1, 0, 0})
	dead         = common.HexToAddress("0x000000000000000000000000000000000000dEaD")
	highest      = common.HexToAddress("0xFFfFfFffFFfffFFfFFfFFFFFffFFFffffFfFFFfF")
	// OP Stack chains reserve 2048 addresses for contracts that exist from the start, and have a proxy at each.
	firstPredeploy = common.HexToAddress("0x4200000000000000000000000000000000000000")
	pastPredeploys = common.HexToAddress("0x4200000000000000000000000000000000000800")
)

// othersUses are of the contracts of others that we know. They count on every chain: an
// address that is copied by mistake is often that of a token, and a chain may have the
// contracts of the one it was forked from.
func othersUses() map[common.Address][]use {
	uses := map[common.Address][]use{}
	add := func(a Address, reason fault.Reason, what string) {
		if uses[a.Address] == nil { // of what several chains have, the first is named
			uses[a.Address] = []use{{AnyChain, reason, what}}
		}
	}
	add(messenger, fault.Contract, "the issuer's TokenMessenger")
	add(transmitter, fault.Contract, "the issuer's MessageTransmitter")
	for _, n := range networks {
		where := " on chain " + n.ID.String()
		for _, t := range n.Tokens {
			add(t.Address, fault.Token, "the contract of "+t.Symbol+where)
		}
		if n.Wrapped.Symbol != "" {
			add(n.Wrapped.Address, fault.Token, "the contract of "+n.Wrapped.Symbol+where)
		}
		if n.Railgun != nil {
			add(n.Railgun.Proxy, fault.Contract, "RAILGUN's proxy"+where)
			add(n.Railgun.RelayAdapt, fault.Contract, "RAILGUN's relay adapter"+where)
		}
	}
	return uses
}
