// Package chain holds the facts a quote stands on: the networks, the tokens,
// the pairs that can be swapped, and the deployment that serves them.
//
// networks.go and pairs.go are tables to be read beside the specification.
// Everything else is looked up in them; a pair that is not in the table does
// not exist.
package chain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/quotegate/quotegate/shared/fault"
)

// ID is a routing ID: the chain ID of a network, or one of the two virtual IDs
// under which a network's privacy pool is addressed.
type ID uint64

const (
	// Hub is the network where every inbound swap ends and every outbound swap starts.
	Hub ID = 369
	// PrivacyEthereum is the privacy pool on Ethereum.
	PrivacyEthereum ID = 69696969
	// PrivacyBNB is the privacy pool on BNB Smart Chain.
	PrivacyBNB ID = 96969696
)

// Network is the chain on which transactions for id are sent: id itself, or
// the network under a virtual ID.
func (id ID) Network() ID {
	switch id {
	case PrivacyEthereum:
		return 1
	case PrivacyBNB:
		return 56
	}
	return id
}

// Private tells whether id addresses a privacy pool.
func (id ID) Private() bool { return id.Network() != id }

// String is the decimal form, as it appears in requests.
func (id ID) String() string { return strconv.FormatUint(uint64(id), 10) }

// ParseID reads a routing ID from a request.
func ParseID(text string) (ID, error) {
	if id, ok := idByText[text]; ok {
		return id, nil
	}
	if n, err := strconv.ParseUint(text, 10, 64); err != nil || strconv.FormatUint(n, 10) != text {
		return 0, fault.New(fault.UnsupportedChain, "A chain is given by its numeric chain ID, such as 369 or 8453")
	}
	return 0, fault.New(fault.UnsupportedChain, "Chain %s is not supported; supported chain IDs are %s", text, supportedIDs)
}

var (
	idByText     = make(map[string]ID, len(networks)+2)
	supportedIDs string
)

func init() {
	ids := []ID{PrivacyEthereum, PrivacyBNB}
	for _, n := range networks {
		ids = append(ids, n.ID)
	}
	slices.Sort(ids)
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
		idByText[texts[i]] = id
	}
	supportedIDs = strings.Join(texts, ", ")
}
