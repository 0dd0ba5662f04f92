package integrator

import (
	"errors"

	"github.com/ethereum/go-ethereum/common"
)

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
