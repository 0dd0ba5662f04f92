package chain

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/fault"
)

// AnyChain is the scope in which a contract counts wherever it is.
const AnyChain ID = 0

// use is a role that the deployment gives to a contract.
type use struct {
	network ID
	what    string // such as "the router of ETH on chain 1"
}

// Unpayable says why an address must not be paid, or be used as a contract that is paid:
// a reason and, to follow "it is", what the address is. The reason is empty if nothing
// speaks against it. The deployment's own contracts count on the given network, or
// wherever they are for AnyChain; everything else counts on every chain.
func (d *Deployment) Unpayable(a common.Address, on ID) (reason fault.Reason, what string) {
	if reason, what = Unpayable(a); reason != "" {
		return reason, what
	}
	for _, u := range d.uses[a] {
		if on == AnyChain || on == u.network {
			return fault.Contract, u.what
		}
	}
	return "", ""
}

// Unpayable is what no deployment can pay, as Deployment.Unpayable tells it.
func Unpayable(a common.Address) (reason fault.Reason, what string) {
	switch {
	case a == common.Address{}:
		return fault.Zero, "the zero address"
	case a == Native.Address:
		return fault.Reserved, "the native token placeholder"
	case a == dead:
		return fault.Reserved, "a burn address"
	case a.Cmp(firstAccount) < 0:
		return fault.Reserved, "below 0x10000, the range of precompiled contracts"
	}
	known := others[a]
	return known.reason, known.what
}

var (
	// firstAccount ends the addresses that chains use for precompiled contracts.
	firstAccount = common.BytesToAddress([]byte{1, 0, 0})
	dead         = common.HexToAddress("0x000000000000000000000000000000000000dEaD")
)

type other struct {
	reason fault.Reason
	what   string
}

// others are the contracts of others that we know. They count on every chain: an address
// that is copied by mistake is often that of a token, and a chain may have the contracts
// of the one it was forked from.
var others = findOthers(networks)

func findOthers(networks []Network) map[common.Address]other {
	found := map[common.Address]other{
		messenger.Address:   {fault.Contract, "the issuer's TokenMessenger"},
		transmitter.Address: {fault.Contract, "the issuer's MessageTransmitter"},
	}
	for _, n := range networks {
		for _, t := range n.Tokens {
			found[t.Address.Address] = other{fault.Token, "the contract of " + t.Symbol + " on chain " + n.ID.String()}
		}
		if n.Railgun != nil {
			where := " on chain " + n.ID.String()
			found[n.Railgun.Proxy.Address] = other{fault.Contract, "RAILGUN's proxy" + where}
			found[n.Railgun.RelayAdapt.Address] = other{fault.Contract, "RAILGUN's relay adapter" + where}
		}
	}
	return found
}
