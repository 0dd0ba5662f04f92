package chain

import (
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/fault"
)

// FindToken finds a token that can be swapped from or to id. The name is a
// symbol in any case, or an address.
func FindToken(id ID, name string) (Token, error) {
	t, err := findToken(id, name)
	if err != nil {
		return Token{}, err
	}
	return *t, nil
}

func findToken(id ID, name string) (*Token, error) {
	if strings.HasPrefix(name, "0x") {
		address, err := ParseAddress(name)
		if errors.Is(err, ErrChecksum) {
			return nil, fault.New(fault.InvalidParameter, "The token %v", err)
		} else if err != nil {
			return nil, fault.New(fault.UnsupportedToken, "The token %v", err)
		}
		if address == (common.Address{}) {
			address = Native.Address
		}
		for _, t := range tokensOf[id] {
			if t.Address.Address == address {
				return t, nil
			}
		}
		return nil, notListed(id, "The token with that address")
	}
	for _, t := range tokensOf[id] {
		if strings.EqualFold(t.Symbol, name) {
			return t, nil
		}
	}
	for _, symbol := range []string{USDC, USDT, DAI, USD1, ETH, WETH} {
		if strings.EqualFold(symbol, name) {
			return nil, notListed(id, symbol)
		}
	}
	return nil, notListed(id, "That token")
}

func notListed(id ID, subject string) error {
	symbols := make([]string, len(tokensOf[id]))
	for i, t := range tokensOf[id] {
		symbols[i] = t.Symbol
	}
	return fault.New(fault.UnsupportedToken, "%s is not supported on chain %s; supported there: %s", subject, id, strings.Join(symbols, ", "))
}

// FindPair finds both tokens of a swap and checks that they are a supported pair.
func FindPair(src ID, srcToken string, dst ID, dstToken string) (*Pair, error) {
	from, err := findToken(src, srcToken)
	if err != nil {
		return nil, fault.About(fault.SourceToken, err)
	}
	to, err := findToken(dst, dstToken)
	if err != nil {
		return nil, fault.About(fault.DestinationToken, err)
	}
	pair, ok := pairByKey[pairKey{src, dst, from.Symbol, to.Symbol}]
	if !ok {
		return nil, unsupported(src, from.Symbol, dst, to.Symbol)
	}
	return pair, nil
}

// unsupported says that two ends are not a pair, and where the source token can
// go instead.
func unsupported(src ID, from string, dst ID, to string) error {
	var why string
	alternatives := destinations(src, from)
	switch {
	case len(alternatives) == 0:
		why = "; " + from + " on chain " + src.String() + " can be received but not sent"
	case src.Network() == dst.Network() && src.Private() == dst.Private():
		why = "; both are on the same chain, and this service moves tokens from one chain to another"
	}
	e := fault.New(fault.UnsupportedPair, "Unsupported swap pair: %s on chain %s to %s on chain %s%s", from, src, to, dst, why)
	e.Role, e.Alternatives = fault.DestinationChain, alternatives
	return e
}

// destinations is where a token can go.
func destinations(src ID, symbol string) (found []fault.Alternative) {
	for _, p := range allPairs {
		if p.Src == src && p.SrcToken.Symbol == symbol {
			found = append(found, fault.Alternative{Chain: p.Dst.String(), Token: p.DstToken.Symbol})
		}
	}
	return found
}
