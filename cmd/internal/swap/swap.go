// Package swap is what the commands do around the client: it reads a swap as a person types it, pins the contracts of a
// reviewed deployment, opens or replaces a shield note, knows the gas bound of each chain, and follows what was sent.
package swap

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// A Swap is what somebody wants. The gateway refuses a recipient that cannot own money, and so does the client.
type Swap struct {
	*chain.Pair
	Amount     *big.Int       // of the source token, in its smallest unit
	Recipient  string         // an EVM address, or a 0zk address for a privacy pool
	Integrator common.Address // zero for none
	Sender     common.Address // whose transactions the gateway shall simulate; zero for nobody's
}

// ParseEnd reads one end of a swap, such as USDC@1.
func ParseEnd(text string) (token string, id chain.ID, err error) {
	token, number, ok := strings.Cut(text, "@")
	if !ok || token == "" {
		return "", 0, fmt.Errorf("%q is not a token and a chain, such as USDC@1", text)
	}
	if id, err = chain.ParseID(number); err != nil {
		return "", 0, fmt.Errorf("%q: %w", text, err)
	}
	return token, id, nil
}

// NewSwap reads what a person typed: both ends, and an amount in whole tokens such as 100 or 0.5.
func NewSwap(from, to, amount, recipient string) (Swap, error) {
	s := Swap{Recipient: recipient}
	srcToken, src, err := ParseEnd(from)
	if err != nil {
		return s, err
	}
	dstToken, dst, err := ParseEnd(to)
	if err != nil {
		return s, err
	}
	if s.Pair, err = chain.FindPair(src, srcToken, dst, dstToken); err != nil {
		return s, err
	}
	s.Amount, err = client.ParseAmount(amount, s.SrcToken.Decimals)
	return s, err
}

// Request asks for the swap.
func (s Swap) Request() client.Request {
	return client.Request{
		SrcChain: uint64(s.Src), SrcToken: s.SrcToken.Symbol, DstChain: uint64(s.Dst), DstToken: s.DstToken.Symbol,
		Amount: s.Amount, Recipient: s.Recipient, Integrator: s.Integrator,
		From: s.Sender, Simulate: s.Sender != common.Address{},
	}
}

// Money is an amount of a token as people write it.
func Money(amount *big.Int, token chain.Token) string {
	return client.FormatAmount(amount, token.Decimals) + " " + token.Symbol
}

// FormatCoins writes an amount of the own coin of id's network, such as 0.05 ETH.
func FormatCoins(amount *big.Int, id chain.ID) string {
	network, _ := chain.FindNetwork(id)
	return client.FormatAmount(amount, chain.CoinDecimals) + " " + network.Coin
}
