// Package wallet does with a quote what a careful wallet does: it asks a gateway, believes nothing of the answer that it
// cannot work out again, sends what is left, and follows what it sent.
//
// What it promises: a Checked quote pays the recipient that was asked for, with the amount that was asked for, through
// the contract that was pinned; and only a Checked quote can be sent. What of the answer cannot be checked without more
// knowledge (a note without its viewing key, an integrator's fee) is named in it, and a note that cannot be checked is
// replaced by one made here.
//
// It shares the tables of chains and pairs with the gateway, and the making and opening of notes, and none of its
// arithmetic or encoding.
package wallet

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
)

// A Swap is what somebody wants.
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

// NewSwap reads what a person typed: both ends, and an amount in whole tokens such as 100 or 0.5. The integrator may be
// empty.
func NewSwap(from, to, amount, recipient, integrator string) (Swap, error) {
	var s Swap
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
	if s.Amount, err = ParseAmount(amount, s.SrcToken.Decimals); err != nil {
		return s, err
	}
	s.Recipient = recipient
	if _, err := s.recipient(); err != nil {
		return s, err
	}
	if integrator != "" {
		if s.Integrator, err = chain.ParseAddress(integrator); err != nil {
			return s, fmt.Errorf("the integrator %w", err)
		}
		if s.Integrator == (common.Address{}) {
			return s, errors.New("the integrator is the zero address: name a registered wallet, or none")
		}
	}
	return s, nil
}

// integratorID names the integrator to the contracts.
func (s Swap) integratorID() [32]byte { return common.BytesToHash(s.Integrator[:]) }
