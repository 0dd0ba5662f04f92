// Package calldata encodes and decodes the calls of swaps in canonical ABI encoding. It also
// decodes the events from which the outcome of a swap is known.
//
// The calls are few and fixed, so each is encoded word by word: no reflection, no parsing,
// and one allocation of the exact size.
package calldata

import (
	"encoding/binary"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

const word = 32

const (
	swapSelector       = "\x09\x5f\xf2\x2d"
	burnSelector       = "\x77\x9b\x43\x2d"
	approveSelector    = "\x09\x5e\xa7\xb3"
	balanceOfSelector  = "\x70\xa0\x82\x31"
	allowanceSelector  = "\xdd\x62\xed\x3e"
	tokenSelector      = "\xfc\x0c\x54\x6a" // token()
	settledSelector    = "\xd9\x45\xaf\x1d" // settled(bytes32)
	usedNoncesSelector = "\xfe\xb6\x17\x24" // usedNonces(bytes32)
	errorSelector      = "\x08\xc3\x79\xa0" // Error(string)
	panicSelector      = "\x4e\x48\x7b\x71" // Panic(uint256)
)

func appendUint(b []byte, v *uint256.Int) []byte {
	w := v.Bytes32()
	return append(b, w[:]...)
}

// appendUint64 appends any unsigned integer of at most 64 bits as a word.
func appendUint64(b []byte, v uint64) []byte {
	b = append(b, zeros[:word-8]...)
	return binary.BigEndian.AppendUint64(b, v)
}

// appendAddress appends an address as a word.
func appendAddress(b []byte, a common.Address) []byte {
	b = append(b, zeros[:word-common.AddressLength]...)
	return append(b, a[:]...)
}

// bytesSize is how many bytes the tail of a dynamic argument of n bytes takes.
func bytesSize(n int) int { return word + n + padding(n) }

func padding(n int) int { return (word - n%word) % word }

var zeros [word]byte

// Recipient types of a swap.
const (
	RecipientEVM     = 0 // the 20 bytes of an address
	RecipientPrivate = 2 // an encoded shield note
)

// Swap is the pool's
//
//	swap(uint256 dstChainId, uint256 amount, bytes recipient, uint8 recipientType,
//		address dstToken, bytes32 integratorId)
type Swap struct {
	DstChainID    uint64 // a routing ID: the virtual one for shielding
	Amount        uint256.Int
	Recipient     []byte // not padded
	RecipientType uint8
	DstToken      common.Address
	IntegratorID  IntegratorID

	DstTooLarge *uint256.Int // read from a chain: a destination beyond any routing ID; DstChainID is 0 then
}

// IntegratorID names an integrator in calldata: the address of its wallet, left-padded with
// zeros. The zero ID means no integrator.
type IntegratorID [word]byte

// ParseIntegratorID parses an integrator in a request: a wallet address, or its 32-byte form.
// Both give the same ID.
func ParseIntegratorID(text string) (IntegratorID, error) {
	const (
		addressLen = 2 + 2*common.AddressLength
		idLen      = 2 + 2*word
	)
	if len(text) == idLen && text[:2] == "0x" {
		zeros, digits := text[2:idLen-2*common.AddressLength], text[idLen-2*common.AddressLength:]
		if strings.Trim(zeros, "0") != "" {
			return IntegratorID{}, invalidID("The integrator ID is not the 32-byte form of an address: " +
				"its first 12 bytes must be zero")
		}
		text = "0x" + digits
	}
	if len(text) != addressLen {
		return IntegratorID{}, invalidID("The integrator ID must be a wallet address (0x and 40 hexadecimal digits) " +
			"or its 32-byte form (0x and 64, of which the first 24 are zeros)")
	}
	wallet, err := chain.ParseAddress(text)
	if err != nil {
		return IntegratorID{}, invalidID("The integrator ID %v", err)
	}
	if wallet == (common.Address{}) {
		return IntegratorID{}, invalidID("The integrator ID is zero: " +
			"name a registered wallet, or leave the parameter out")
	}
	return IntegratorIDOf(wallet), nil
}

func invalidID(format string, args ...any) error {
	return fault.New(fault.InvalidIntegrator, format, args...)
}

func IntegratorIDOf(wallet common.Address) (id IntegratorID) {
	copy(id[word-common.AddressLength:], wallet[:])
	return id
}

// String is the canonical form: 0x and 64 digits.
func (id IntegratorID) String() string { return hexutil.Encode(id[:]) }

// Token is a pool's token(): the token that it accepts. Not every pool has this function.
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
	b = appendUint64(b, uint64(len(s.Recipient)))
	b = append(b, s.Recipient...)
	return append(b, zeros[:padding(len(s.Recipient))]...)
}

// fastFinality requests an attestation before the burn is final.
const fastFinality = 1000

// Burn is the issuer's TokenMessengerV2
//
//	depositForBurnWithHook(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken,
//	    bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold, bytes hookData)
//
// in fast mode. The receiver is both mintRecipient and destinationCaller, so
// that only the receiver can deliver the message. The hook says what to do with
// the minted USDC: the fields of the swap without padding:
//
//	uint256 dstChainId ‖ address dstToken ‖ bytes32 integratorId ‖ uint8 recipientType ‖ recipient
//
// The issuer attests the hook with the burn, so no relayer can change it.
type Burn struct {
	Swap
	DestinationDomain uint32
	Receiver          common.Address
	BurnToken         common.Address
	MaxFee            uint256.Int
}

// Encode returns the calldata.
func (c *Burn) Encode() []byte {
	const head = 8 * word
	hook := word + common.AddressLength + word + 1 + len(c.Recipient)
	b := make([]byte, 0, len(burnSelector)+head+bytesSize(hook))
	b = append(b, burnSelector...)
	b = appendUint(b, &c.Amount)
	b = appendUint64(b, uint64(c.DestinationDomain))
	b = appendAddress(b, c.Receiver)
	b = appendAddress(b, c.BurnToken)
	b = appendAddress(b, c.Receiver)
	b = appendUint(b, &c.MaxFee)
	b = appendUint64(b, fastFinality)
	b = appendUint64(b, head) // where the hook starts

	b = appendUint64(b, uint64(hook))
	b = appendUint64(b, c.DstChainID)
	b = append(b, c.DstToken[:]...)
	b = append(b, c.IntegratorID[:]...)
	b = append(b, c.RecipientType)
	b = append(b, c.Recipient...)
	return append(b, zeros[:padding(hook)]...)
}

// Approve is ERC-20's approve(address spender, uint256 amount).
func Approve(spender common.Address, amount *uint256.Int) []byte {
	b := make([]byte, 0, len(approveSelector)+2*word)
	b = append(b, approveSelector...)
	b = appendAddress(b, spender)
	return appendUint(b, amount)
}

// BalanceOf is ERC-20's balanceOf(address owner).
func BalanceOf(owner common.Address) []byte {
	return appendAddress([]byte(balanceOfSelector), owner)
}

// Allowance is ERC-20's allowance(address owner, address spender).
func Allowance(owner, spender common.Address) []byte {
	return appendAddress(appendAddress([]byte(allowanceSelector), owner), spender)
}

// SettledIn is a pool's settled(bytes32 id): the block in which it settled a swap, 0 if it
// has not.
func SettledIn(id common.Hash) []byte { return append([]byte(settledSelector), id[:]...) }

// IsUsed is usedNonces(bytes32 nonce) of the issuer's transmitter: 1 if it has received the
// message.
func IsUsed(nonce common.Hash) []byte { return append([]byte(usedNoncesSelector), nonce[:]...) }
