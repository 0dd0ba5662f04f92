package integrator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
)

// MaxFeeBPS is the highest fee that is accepted from a registry, 10 %. Waiting does
// not make a higher one better, so it is an answer and not a failure.
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
		if !reg.accepted() {
			return Partner{}, fault.New(fault.IntegratorFeeTooHigh, "The integrator is registered on chain %s with a fee of %d basis points, and this service accepts %d at most", network, reg.partner.FeeBPS, MaxFeeBPS)
		}
		return reg.partner, nil
	case inactive:
		return Partner{}, fault.New(fault.IntegratorInactive, "The integrator is registered on chain %s, but is not active there", network)
	default:
		return Partner{}, fault.New(fault.IntegratorUnregistered, "The integrator is not registered on chain %s, where the fees of this swap are taken", network)
	}
}

// accepted tells whether quotes are made for the integrator.
func (reg registration) accepted() bool {
	return reg.standing == active && reg.partner.FeeBPS <= MaxFeeBPS
}

// faultOf is the error that a look-up returns for a failure.
func faultOf(f *rpc.Failure, network chain.ID) error {
	switch f.Reason {
	case rpc.Unconfigured:
		return unverified(f, f.RetryAfter, "Integrators cannot be verified on chain %s: this service has no RPC endpoint for it, and gives no quote without that", network)
	case rpc.Reverted, rpc.Misconfigured:
		return unverified(f, f.RetryAfter, "The registry on chain %s has no valid entry for this integrator, and no quote is given without one", network)
	}
	return unverified(f, f.RetryAfter, "The integrator could not be verified on chain %s just now, and no quote is given without that; try again shortly", network)
}

// unverified makes a new fault each time, because callers add to it.
func unverified(cause error, retryAfter time.Duration, format string, network chain.ID) error {
	e := fault.New(fault.IntegratorUnverified, format, network).Because(cause)
	e.RetryAfter = retryAfter
	return e
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

// probeID is an ID that nobody has: its address is a contract of the EVM itself.
var probeID = idOf(common.Address{common.AddressLength - 1: 1})

// Probe is the calldata of a look-up that tells whether a contract is a registry.
func Probe() []byte { return getIntegrator(probeID) }

// CheckProbe says why an answer to Probe is not that of a registry.
func CheckProbe(output []byte) error {
	if _, f := decode(probeID, output); f != nil {
		return errors.New(f.Text)
	}
	return nil
}
