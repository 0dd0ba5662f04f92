package calldata

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// FastFinality asks the issuer to attest a burn before it is final.
const FastFinality = 1000

// Burn is the issuer's TokenMessengerV2
//
//	depositForBurnWithHook(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken,
//	    bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold, bytes hookData)
//
// in fast mode. The receiver is both mintRecipient and destinationCaller, so
// that only the receiver can deliver the message.
type Burn struct {
	Amount            uint256.Int
	DestinationDomain uint32
	Receiver          common.Address
	BurnToken         common.Address
	MaxFee            uint256.Int
	Hook              Hook
}

const burnSelector = "\x77\x9b\x43\x2d"

// Encode returns the calldata.
func (c *Burn) Encode() []byte {
	const head = 8 * word
	b := make([]byte, 0, len(burnSelector)+head+bytesSize(c.Hook.size()))
	b = append(b, burnSelector...)
	b = appendUint(b, &c.Amount)
	b = appendUint64(b, uint64(c.DestinationDomain))
	b = appendAddress(b, c.Receiver)
	b = appendAddress(b, c.BurnToken)
	b = appendAddress(b, c.Receiver)
	b = appendUint(b, &c.MaxFee)
	b = appendUint64(b, FastFinality)
	b = appendUint64(b, head) // where the hook starts
	b = appendUint64(b, uint64(c.Hook.size()))
	b = c.Hook.append(b)
	return append(b, zeros[:padding(c.Hook.size())]...)
}

// Hook tells the receiver what to do with the minted USDC. The issuer attests
// it with the burn, so no relayer can change it.
type Hook struct {
	DstChainID    uint64
	DstToken      common.Address
	IntegratorID  [32]byte
	RecipientType uint8
	Recipient     []byte
}

func (h *Hook) size() int { return word + common.AddressLength + word + 1 + len(h.Recipient) }

// append packs the fields without padding:
//
//	uint256 dstChainId ‖ address dstToken ‖ bytes32 integratorId ‖ uint8 recipientType ‖ recipient
func (h *Hook) append(b []byte) []byte {
	b = appendUint64(b, h.DstChainID)
	b = append(b, h.DstToken[:]...)
	b = append(b, h.IntegratorID[:]...)
	b = append(b, h.RecipientType)
	return append(b, h.Recipient...)
}
