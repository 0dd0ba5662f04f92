// Package chain holds the facts that quotes are made from: the networks, the
// tokens, the pairs that can be swapped, and the deployment that serves them.
//
// networks.go and pairs.go are tables, written to be compared with the
// specification. Only pairs in the table can be swapped.
package chain

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// ID is a routing ID: the chain ID of a network, or one of the two virtual IDs
// that stand for the privacy pool on a network.
type ID uint64

const (
	// Hub is the network where every inbound swap ends and every outbound swap starts.
	Hub ID = 369
	// PrivacyEthereum is the privacy pool on Ethereum.
	PrivacyEthereum ID = 69696969
	// PrivacyBNB is the privacy pool on BNB Smart Chain.
	PrivacyBNB ID = 96969696
)

// Network is the chain on which transactions for id are sent: id itself or,
// for a virtual ID, the network of its privacy pool.
func (id ID) Network() ID {
	switch id {
	case PrivacyEthereum:
		return 1
	case PrivacyBNB:
		return 56
	}
	return id
}

// Private reports whether id is a privacy pool.
func (id ID) Private() bool { return id.Network() != id }

// Name is what people call the chain or the privacy pool.
func (id ID) Name() string {
	network, _ := FindNetwork(id)
	if id.Private() {
		return "RAILGUN on " + network.Name
	}
	return network.Name
}

// BlockTime is about how long a block of a network takes: two seconds, or the shortest time where that is longer.
func (id ID) BlockTime() time.Duration {
	network, _ := FindNetwork(id)
	return max(2*time.Second, network.Block)
}

// UsualGap is the greatest age of the latest block of a network. A node with an older one
// has stalled.
func (id ID) UsualGap() time.Duration { return max(20*id.BlockTime(), 2*time.Minute) }

// String is the decimal form, as it appears in requests.
func (id ID) String() string { return strconv.FormatUint(uint64(id), 10) }

// otherNotation finds the chain that is meant by an ID in hexadecimal (0x171) or
// as CAIP-2 writes it (eip155:369), or by the name of a network. It is 0 for none.
func otherNotation(text string) ID {
	if digits, ok := strings.CutPrefix(text, "eip155:"); ok {
		return idByText[digits]
	}
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		return idByText[strconv.FormatUint(n, 10)]
	}
	for i := range networks {
		if strings.EqualFold(networks[i].Name, text) {
			return networks[i].ID
		}
	}
	return 0
}

// idByText has the routing IDs of all networks and privacy pools.
var idByText = func() map[string]ID {
	byText := map[string]ID{}
	for _, id := range all.IDs() {
		byText[id.String()] = id
	}
	return byText
}()

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
	if !strings.HasPrefix(text, "0x") || !common.IsHexAddress(text) {
		return common.Address{}, errShape
	}
	var digits [2 * common.AddressLength]byte
	copy(digits[:], text[len("0x"):])
	var a common.Address
	_, _ = hex.Decode(a[:], digits[:]) // it has just been checked
	mixed := strings.ContainsAny(text, "abcdef") && strings.ContainsAny(text, "ABCDEF")
	if mixed && a.Hex() != text {
		return common.Address{}, ErrChecksum
	}
	return a, nil
}

var (
	errShape = errors.New("is not an EVM address: it must be 0x followed by 40 hexadecimal digits")
	// ErrChecksum is the error of an address that is mistyped.
	ErrChecksum = errors.New("has a typo: its EIP-55 checksum does not match. Copy it again from your wallet")
)
