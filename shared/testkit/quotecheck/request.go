package quotecheck

import (
	"math/big"
	"math/rand/v2"
	"net/url"
	"strconv"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/v3/client"
)

// RequestFor asks for a swap over a pair.
func RequestFor(p *client.Pair, amount *big.Int, recipient string) client.Request {
	return client.Request{
		SrcChain: p.SrcChain, SrcToken: p.SrcToken.Symbol, DstChain: p.DstChain, DstToken: p.DstToken.Symbol,
		Amount: amount, Recipient: recipient,
	}
}

// Random is some request over a pair: any amount within the limits, to anybody who can be paid there.
func (c *Checker) Random(rng *rand.Rand, p *client.Pair) client.Request {
	span := new(big.Int).Sub(p.Max, p.Min)
	span.Add(span, big.NewInt(1))
	account := RandomAddress(rng)
	amount := new(big.Int).SetBytes(account[:])
	amount.Mod(amount, span).Add(amount, p.Min)
	recipient := RandomAddress(rng).Hex()
	if p.Shields {
		wallets := c.Wallets(p.DstToken.ChainID)
		recipient = wallets[rng.IntN(len(wallets))]
	}
	return RequestFor(p, amount, recipient)
}

// RandomAddress is some account.
func RandomAddress(rng *rand.Rand) (a common.Address) {
	for i := range a {
		a[i] = byte(rng.Uint32())
	}
	a[0] |= 1 // not one of those that belong to nobody
	return a
}

// Target is the path and query of a request to a version, without details.
func Target(version string, r client.Request) string {
	q := url.Values{
		"srcToken": {r.SrcToken}, "dstToken": {r.DstToken}, "amount": {r.Amount.String()},
		"srcChain": {strconv.FormatUint(r.SrcChain, 10)}, "dstChain": {strconv.FormatUint(r.DstChain, 10)},
		"recipient": {r.Recipient},
	}
	if r.Integrator != (common.Address{}) {
		q.Set("integratorId", r.Integrator.Hex())
	}
	path := "/" + version + "/swap/quote"
	if version == "v1" {
		path = "/v1/quote"
	}
	return path + "?" + q.Encode()
}
