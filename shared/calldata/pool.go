package calldata

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// Recipient types of a swap.
const (
	RecipientEVM     = 0 // the 20 bytes of an address
	RecipientPrivate = 2 // an encoded shield note
)

// Swap is the pool's
//
//	swap(uint256 dstChainId, uint256 amount, bytes recipient, uint8 recipientType, address dstToken, bytes32 integratorId)
type Swap struct {
	DstChainID    uint64 // a routing ID: the virtual one for shielding
	Amount        uint256.Int
	Recipient     []byte // not padded
	RecipientType uint8
	DstToken      common.Address
	IntegratorID  [32]byte // zero when there is none

	DstTooLarge *uint256.Int // read from a chain: a destination beyond any routing ID; DstChainID is 0 then
}

const (
	swapSelector  = "\x09\x5f\xf2\x2d"
	tokenSelector = "\xfc\x0c\x54\x6a"
)

// Token asks a pool for the token that it takes: token(), which not every pool has.
func Token() []byte { return []byte(tokenSelector) }

// Encode returns the calldata.
func (s *Swap) Encode() []byte {
	const head = 6 * word
	b := make([]byte, 0, len(swapSelector)+head+bytesSize(len(s.Recipient)))
	b = append(b, swapSelector...)
	b = appendUint64(b, s.DstChainID)
	b = appendUint(b, &s.Amount)
	b = appendUint64(b, head) // where the recipient starts
	b = appendUint64(b, uint64(s.RecipientType))
	b = appendAddress(b, s.DstToken)
	b = append(b, s.IntegratorID[:]...)
	return appendBytes(b, s.Recipient)
}
