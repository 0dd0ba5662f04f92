package known

import (
	"encoding/hex"
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

var (
	errShape    = errors.New("is not an EVM address: it must be 0x followed by 40 hexadecimal digits")
	errChecksum = errors.New("is in mixed case but its EIP-55 checksum does not match: " +
		"check it for typos, or write it in lower case")
)

// ReadAddress reads 0x and 40 hexadecimal digits in any case, as an answer may write them. The error is a sentence
// without its subject.
func ReadAddress(text string) (common.Address, error) {
	var a common.Address
	if len(text) != 2+2*len(a) || text[:2] != "0x" {
		return a, errShape
	}
	if _, err := hex.Decode(a[:], []byte(text[2:])); err != nil {
		return common.Address{}, errShape
	}
	return a, nil
}

// IsAddress tells whether a text is an address, in any case of its letters.
func IsAddress(text string, want common.Address) bool {
	got, err := ReadAddress(text)
	return err == nil && got == want
}

// ParseAddress reads an address of a request. In mixed case it must have a valid EIP-55 checksum.
func ParseAddress(text string) (common.Address, error) {
	a, err := ReadAddress(text)
	if err != nil {
		return a, err
	}
	mixed := strings.ContainsAny(text[2:], "abcdef") && strings.ContainsAny(text[2:], "ABCDEF")
	if mixed && a.Hex() != text {
		return common.Address{}, errChecksum
	}
	return a, nil
}
