package wire

import (
	"encoding/binary"
	"encoding/hex"
)

// zeros are the digits of eight bytes, which most of calldata is made of.
const zeros = "0000000000000000"

// appendHex is hex.AppendEncode, eight bytes at a time. A quote has some 500 of them, and
// so they take a third of the time.
func appendHex(b, data []byte) []byte {
	for ; len(data) >= 8; data = data[8:] {
		if n := binary.BigEndian.Uint64(data); n == 0 {
			b = append(b, zeros...)
		} else {
			b = binary.BigEndian.AppendUint64(b, digits(uint32(n>>32)))
			b = binary.BigEndian.AppendUint64(b, digits(uint32(n)))
		}
	}
	return hex.AppendEncode(b, data)
}

// digits are the eight digits of a number, one in each byte.
func digits(n uint32) uint64 {
	const each = 0x0101010101010101
	half := uint64(n)
	half = (half | half<<16) & 0x0000ffff0000ffff
	half = (half | half<<8) & 0x00ff00ff00ff00ff
	half = (half | half<<4) & 0x0f0f0f0f0f0f0f0f
	letters := (half + 6*each) >> 4 & each // 1 where it is ten or more
	return half + '0'*each + letters*('a'-'0'-10)
}
