package referee

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

// Swap is a request for a quote.
type Swap struct {
	Pair
	Amount     *big.Int
	Recipient  string
	Integrator string // an address; empty for none
}

// Split is who gets what of the swap. The integrator's fee is the one that its
// registry states.
func (s *Swap) Split(integratorBPS int64) Split {
	return Divide(s.Amount, s.SrcToken.Decimals, s.DstToken.Decimals, s.protocolBPS(), integratorBPS)
}

// ReadSwap reads the query of a request that a version answered with a quote.
// It does not look for what a version must refuse.
func (r *Referee) ReadSwap(version string, q url.Values) (*Swap, error) {
	amount, ok := new(big.Int).SetString(q.Get("amount"), 10)
	if !ok {
		return nil, fmt.Errorf("%q is not an amount", q.Get("amount"))
	}
	s := &Swap{Amount: amount, Recipient: q.Get("recipient")}
	if s.Recipient == "" {
		s.Recipient = common.Address{}.Hex() // only v1 answers such a request
	}
	if id := q.Get("integratorId"); id != "" && version == "v3" {
		s.Integrator = common.HexToAddress(id).Hex() // of the wallet, or of its ID padded to 32 bytes
	}
	for _, p := range r.pairs {
		if q.Get("srcChain") == strconv.FormatUint(p.Src, 10) && p.SrcToken.named(q.Get("srcToken")) &&
			q.Get("dstChain") == strconv.FormatUint(p.Dst, 10) && p.DstToken.named(q.Get("dstToken")) {
			s.Pair = p
			return s, nil
		}
	}
	return nil, fmt.Errorf("no supported pair fits %s", q.Encode())
}

// Versions are those whose answers can be worked out here.
var Versions = []string{"v3", "v3legacy", "v1"}

// Knows tells whether a version has the chains of a pair.
func Knows(version string, p Pair) bool {
	return version != "v1" || slices.Contains(v1Chains, p.Src) && slices.Contains(v1Chains, p.Dst)
}

// Target is the path and query of the request to a version.
func (s *Swap) Target(version string) string {
	q := url.Values{
		"srcToken": {s.SrcToken.Symbol}, "dstToken": {s.DstToken.Symbol}, "amount": {s.Amount.String()},
		"srcChain": {strconv.FormatUint(s.Src, 10)}, "dstChain": {strconv.FormatUint(s.Dst, 10)},
		"recipient": {s.Recipient},
	}
	if s.Integrator != "" {
		q.Set("integratorId", s.Integrator)
	}
	path := "/v3/swap/quote"
	switch version {
	case "v3legacy":
		path = "/v3legacy/swap/quote"
	case "v1":
		path = "/v1/quote"
	}
	return path + "?" + q.Encode()
}

// RandomSwap is some request over a pair: any amount within the limits, to
// anybody who can be paid there.
func (r *Referee) RandomSwap(rng *rand.Rand, p Pair) *Swap {
	least, most := p.Limits()
	span := new(big.Int).Sub(most, least)
	span.Add(span, big.NewInt(1))
	random := make([]byte, 16)
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	amount := new(big.Int).SetBytes(random)
	amount.Mod(amount, span).Add(amount, least)
	return &Swap{Pair: p, Amount: amount, Recipient: r.RandomRecipient(rng, p)}
}

// RandomRecipient is somebody who can be paid at the destination of a pair.
func (r *Referee) RandomRecipient(rng *rand.Rand, p Pair) string {
	if p.Shields() {
		wallets := r.walletsOn(network(p.Dst))
		return wallets[rng.IntN(len(wallets))]
	}
	var a common.Address
	for i := range a {
		a[i] = byte(rng.Uint32())
	}
	a[0] |= 1 // never the zero address
	return a.Hex()
}

// walletsOn lists the 0zk addresses that can be paid on a chain.
func (r *Referee) walletsOn(chain uint64) []string {
	var addresses []string
	for _, w := range r.wallets {
		if w.AcceptFor[chain] {
			addresses = append(addresses, w.Address)
		}
	}
	return addresses
}

func (r *Referee) viewingKey(address string) ([32]byte, error) {
	for _, w := range r.wallets {
		if w.Address == address {
			return [32]byte(common.FromHex(w.ViewingKey)), nil
		}
	}
	return [32]byte{}, fmt.Errorf("nobody has the viewing key of %s", address)
}

// recipient gives the bytes that name the recipient in calldata. Those of a
// private one are the note in the answer.
func (s *Swap) recipient(note []byte) ([]byte, uint8) {
	if strings.HasPrefix(s.Recipient, "0zk") {
		return note, 2
	}
	return common.FromHex(s.Recipient), 0
}
