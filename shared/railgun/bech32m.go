package railgun

import (
	"strings"

	"github.com/quotegate/quotegate/shared/fault"
)

// A 0zk address is bech32m (BIP-350) of fixed length. Wallets write 127
// characters, which is more than the 90 for which bech32 guarantees to detect
// four errors.
const (
	prefix       = "0zk"
	payloadSize  = 73
	dataSize     = (payloadSize*8 + 4) / 5 // characters of payload; the last one ends in a padding bit
	checksumSize = 6
	textSize     = len(prefix) + len("1") + dataSize + checksumSize

	alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

	bech32Residue  = 1 // BIP-173, the older checksum
	bech32mResidue = 0x2bc830a3
)

// decodeText returns the payload of an address. For each payload, exactly one
// lower-case and one upper-case text are accepted.
func decodeText(text string) (payload [payloadSize]byte, err error) {
	if text == "" {
		return payload, refuse("it is empty")
	}
	lower, err := foldCase(text)
	if err != nil {
		return payload, err
	}
	if !strings.HasPrefix(lower, prefix+"1") {
		return payload, refuse("it does not start with %s1", prefix)
	}
	if len(lower) != textSize {
		return payload, refuse("it has %d characters, must have %d", len(lower), textSize)
	}

	var groups [dataSize + checksumSize]byte
	for i := range groups {
		at := len(prefix) + len("1") + i
		value := strings.IndexByte(alphabet, lower[at])
		if value < 0 {
			return payload, refuse("character %d (%q) is not in the bech32 alphabet", at+1, text[at])
		}
		groups[i] = byte(value)
	}
	switch residue(groups[:]) {
	case bech32mResidue:
	case bech32Residue:
		return payload, fault.BadRecipient(fault.Checksum, "Invalid 0zk address: checksum is of bech32, must be of bech32m")
	default:
		return payload, fault.BadRecipient(fault.Checksum, "Invalid 0zk address: checksum does not match; a character is wrong or out of place")
	}

	bits, count, size := uint(0), 0, 0
	for _, group := range groups[:dataSize] {
		bits = bits<<5 | uint(group)
		count += 5
		if count >= 8 {
			count -= 8
			payload[size] = byte(bits >> count)
			size++
		}
	}
	if bits&(1<<count-1) != 0 {
		return payload, refuse("padding after the payload is not zero")
	}
	return payload, nil
}

// foldCase returns text in lower case, on which bech32 is defined. It refuses
// what bech32 forbids: characters other than printable ASCII, and mixed case.
func foldCase(text string) (string, error) {
	var upper, lower bool
	for i, c := range text {
		if c < '!' || c > '~' {
			return "", refuse("character %d (%q) is not allowed", i+1, c)
		}
		upper = upper || 'A' <= c && c <= 'Z'
		lower = lower || 'a' <= c && c <= 'z'
	}
	if upper && lower {
		return "", refuse("upper and lower case are mixed")
	}
	return strings.ToLower(text), nil
}

// encodeText is the inverse of decodeText, in lower case.
func encodeText(payload [payloadSize]byte) string {
	var groups [dataSize + checksumSize]byte
	bits, count, size := uint(0), 0, 0
	for _, b := range payload {
		bits = bits<<8 | uint(b)
		count += 8
		for count >= 5 {
			count -= 5
			groups[size] = byte(bits>>count) & 31
			size++
		}
	}
	groups[size] = byte(bits<<(5-count)) & 31

	checksum := residue(groups[:]) ^ bech32mResidue
	for i := range checksumSize {
		groups[dataSize+i] = byte(checksum>>(5*(checksumSize-1-i))) & 31
	}

	text := []byte(prefix + "1")
	for _, group := range groups {
		text = append(text, alphabet[group])
	}
	return string(text)
}

// residue is the remainder of the prefix and the groups by the generator of
// the bech32 code. With a valid checksum at the end it is a constant.
func residue(groups []byte) uint32 {
	r := uint32(1)
	for i := range len(prefix) {
		r = step(r, prefix[i]>>5)
	}
	r = step(r, 0)
	for i := range len(prefix) {
		r = step(r, prefix[i]&31)
	}
	for _, group := range groups {
		r = step(r, group)
	}
	return r
}

func step(r uint32, group byte) uint32 {
	top := r >> 25
	r = r&(1<<25-1)<<5 ^ uint32(group)
	for i, g := range [5]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
		if top>>i&1 == 1 {
			r ^= g
		}
	}
	return r
}
