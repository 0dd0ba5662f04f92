// Package calldata encodes the input of the transactions, one file per
// contract, in canonical ABI encoding, and reads it back. It also reads the events
// that tell what became of a swap.
//
// The calls are few and fixed, so each is encoded word by word: no reflection,
// no parsing, one allocation of the exact size.
package calldata

import (
	"encoding/binary"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

const word = 32

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

// appendBytes appends the tail of a dynamic bytes argument.
func appendBytes(b, data []byte) []byte {
	b = appendUint64(b, uint64(len(data)))
	b = append(b, data...)
	return append(b, zeros[:padding(len(data))]...)
}

// bytesSize is how many bytes appendBytes appends for n bytes of data.
func bytesSize(n int) int { return word + n + padding(n) }

func padding(n int) int { return (word - n%word) % word }

var zeros [word]byte
