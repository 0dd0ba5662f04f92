package integrator

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

// MaxFeeBPS is the highest fee, 10 %, that a registry is believed to mean.
const MaxFeeBPS = 1000

// standing is what a registry can say of an ID.
type standing uint8

const (
	unregistered standing = iota
	inactive
	active
)

// answer is what a registry said, and when it was asked.
type answer struct {
	standing standing
	partner  Partner // of an active or inactive integrator
	asked    time.Time
}

// result is the answer as a look-up returns it. The fault is a new one each
// time, because its readers may add to it.
func (a answer) result(network chain.ID) (Partner, error) {
	switch a.standing {
	case active:
		return a.partner, nil
	case inactive:
		return Partner{}, fault.New(fault.IntegratorInactive, "The integrator is registered on chain %s, but is not active there", network)
	default:
		return Partner{}, fault.New(fault.IntegratorUnregistered, "The integrator is not registered on chain %s, where the fees of this swap are taken", network)
	}
}

// selector is that of getIntegrator(bytes32).
var selector = [4]byte{0xb6, 0x7e, 0xa7, 0x83}

// getIntegrator is the call that asks a registry for an ID.
func getIntegrator(id ID) hexutil.Bytes {
	return append(selector[:], id[:]...)
}

// decode reads the three words (address wallet, uint16 feeBps, bool active).
// It takes only what a contract of that interface can have encoded.
func decode(id ID, output []byte) (answer, *failure) {
	const word = 32
	if len(output) == 0 {
		return answer{}, &failure{reason: Undecodable, text: "no contract at the registry's address"}
	}
	if len(output) != 3*word {
		return answer{}, &failure{reason: Undecodable, text: "the registry's answer has another length"}
	}
	walletWord, feeWord, activeWord := output[:word], output[word:2*word], output[2*word:]
	if !zero(walletWord[:padding]) || !zero(feeWord[:word-2]) || !zero(activeWord[:word-1]) || activeWord[word-1] > 1 {
		return answer{}, &failure{reason: Undecodable, text: "the registry's answer is not (address, uint16, bool)"}
	}
	wallet := common.BytesToAddress(walletWord)
	if wallet == (common.Address{}) {
		return answer{standing: unregistered}, nil
	}
	// The ID is the wallet's address. An answer about another wallet is an
	// answer to another question.
	if idOf(wallet) != id {
		return answer{}, &failure{reason: Misconfigured, text: fmt.Sprintf("the registry names wallet %s under the ID %s", wallet, id)}
	}
	a := answer{
		standing: inactive,
		partner:  Partner{ID: id, Wallet: chain.NewAddress(wallet), FeeBPS: binary.BigEndian.Uint16(feeWord[word-2:])},
	}
	if activeWord[word-1] == 1 {
		a.standing = active
	}
	return a, nil
}
