package reference

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
)

// A burn is what the issuer reads in the message of one.
type burn struct {
	mintRecipient  common.Address
	amount, maxFee *big.Int
}

// Words of a burn message of CCTP V2: after a header of 148 bytes and a version of 4.
const (
	body            = 148 + 4
	mintRecipientAt = body + 32
	amountAt        = body + 64
	maxFeeAt        = body + 128
	burnSize        = body + 224 // up to the hook
)

func parseBurn(message []byte) (burn, error) {
	if len(message) < burnSize {
		return burn{}, fmt.Errorf("a burn message has at least %d bytes, not %d", burnSize, len(message))
	}
	word := func(at int) []byte { return message[at : at+32] }
	return burn{
		mintRecipient: common.BytesToAddress(word(mintRecipientAt)),
		amount:        new(big.Int).SetBytes(word(amountAt)),
		maxFee:        new(big.Int).SetBytes(word(maxFeeAt)),
	}, nil
}
