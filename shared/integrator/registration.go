package integrator

import (
	"encoding/binary"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
)

// MaxFeeBPS is the highest fee that is accepted from a registry, 10 %.
const MaxFeeBPS = 1000

// standing is how an ID is listed in a registry.
type standing uint8

const (
	unregistered standing = iota
	inactive
	active
)

// registration is what a registry says about an ID, and when it was asked.
type registration struct {
	standing standing
	partner  Partner // of an unregistered integrator, only its times
}

// result is what a look-up returns for this registration. It makes a new fault
// each time, because callers add to it.
func (reg registration) result(network chain.ID) (Partner, error) {
	switch reg.standing {
	case active:
		return reg.partner, nil
	case inactive:
		return Partner{}, fault.New(fault.IntegratorInactive, "The integrator is registered on chain %s, but is not active there", network)
	default:
		return Partner{}, fault.New(fault.IntegratorUnregistered, "The integrator is not registered on chain %s, where the fees of this swap are taken", network)
	}
}

// selector of getIntegrator(bytes32).
var selector = [4]byte{0xb6, 0x7e, 0xa7, 0x83}

// getIntegrator is the calldata that asks a registry for an ID.
func getIntegrator(id ID) []byte {
	return append(selector[:], id[:]...)
}

// decode reads the three words (address wallet, uint16 feeBps, bool active).
// It accepts only bytes that such a contract can return.
func decode(id ID, output []byte) (registration, *rpc.Failure) {
	const word = 32
	if len(output) == 0 {
		return registration{}, &rpc.Failure{Reason: rpc.Undecodable, Text: "no contract at the registry's address"}
	}
	if len(output) != 3*word {
		return registration{}, &rpc.Failure{Reason: rpc.Undecodable, Text: "the registry's answer has another length"}
	}
	walletWord, feeWord, activeWord := output[:word], output[word:2*word], output[2*word:]
	if !zero(walletWord[:padding]) || !zero(feeWord[:word-2]) || !zero(activeWord[:word-1]) || activeWord[word-1] > 1 {
		return registration{}, &rpc.Failure{Reason: rpc.Undecodable, Text: "the registry's answer is not (address, uint16, bool)"}
	}
	wallet := common.BytesToAddress(walletWord)
	if wallet == (common.Address{}) {
		return registration{standing: unregistered}, nil
	}
	// The ID is the wallet's address, so an honest registry names no other.
	if idOf(wallet) != id {
		return registration{}, &rpc.Failure{Reason: rpc.Misconfigured, Text: fmt.Sprintf("the registry names wallet %s under the ID %s", wallet, id)}
	}
	reg := registration{
		standing: inactive,
		partner:  Partner{ID: id, Wallet: chain.NewAddress(wallet), FeeBPS: binary.BigEndian.Uint16(feeWord[word-2:])},
	}
	if activeWord[word-1] == 1 {
		reg.standing = active
	}
	return reg, nil
}
