package chain

import (
	"encoding/hex"
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto/keccak"
)

// Address is an EVM address together with its EIP-55 text, so that the text
// of a known contract is computed once and not for every quote.
type Address struct {
	common.Address
	text string
}

// Native is the conventional address of a chain's own coin.
var Native = NewAddress(common.HexToAddress("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"))

// NewAddress computes the text of a.
func NewAddress(a common.Address) Address { return Address{Address: a, text: a.Hex()} }

// String is the EIP-55 text.
func (a Address) String() string { return a.text }

// ParseAddress reads an address from outside: 0x and 40 hex digits, all in one
// case, or in mixed case with a valid EIP-55 checksum. The error is a sentence
// without its subject, such as "is not an EVM address"; the caller adds it.
func ParseAddress(text string) (common.Address, error) {
	var a common.Address
	if len(text) != 2+2*len(a) || text[:2] != "0x" {
		return a, errShape
	}
	if _, err := hex.Decode(a[:], []byte(text[2:])); err != nil {
		return common.Address{}, errShape
	}
	mixed := strings.ContainsAny(text[2:], "abcdef") && strings.ContainsAny(text[2:], "ABCDEF")
	if mixed && !checksummed(text[2:]) {
		return common.Address{}, ErrChecksum
	}
	return a, nil
}

var (
	errShape = errors.New("is not an EVM address: it must be 0x followed by 40 hexadecimal digits")
	// ErrChecksum is the error of an address that is mistyped.
	ErrChecksum = errors.New("is in mixed case but its EIP-55 checksum does not match: check for a typing error, or send it all in lower case")
)

// checksummed reports whether the letters have the case of EIP-55: upper case
// exactly where the hash of the lower-case digits has a nibble of 8 or more.
func checksummed(digits string) bool {
	var lower [2 * common.AddressLength]byte
	for i := range lower {
		lower[i] = digits[i] | 0x20 // leaves 0 to 9 as they are
	}
	var buf [common.HashLength]byte
	hasher := keccak.NewLegacyKeccak256()
	hasher.Write(lower[:])
	hash := hasher.Sum(buf[:0])
	for i := range lower {
		nibble := hash[i/2] >> (4 * (1 - i%2)) & 0xf
		if c := digits[i]; c > '9' && (c < 'a') != (nibble >= 8) {
			return false
		}
	}
	return true
}
