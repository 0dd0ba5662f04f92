package chain

import (
	"errors"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/fault"
)

// Route is how the source transaction of a pair travels.
type Route uint8

const (
	// Direct transactions go to one of the service's pools.
	Direct Route = iota + 1
	// CCTPInbound transactions burn USDC at the issuer's messenger.
	CCTPInbound
)

// String is the name of the route as the specification has it.
func (r Route) String() string {
	if r == CCTPInbound {
		return "CCTP_INBOUND"
	}
	return "DIRECT"
}

type ids []ID

// onCCTP are the chains from which, and to which, USDC travels over the issuer's network: those without a pool.
var onCCTP = withoutPools(table)

func withoutPools(rows []Network) ids {
	var found ids
	for _, n := range rows {
		if n.CCTP != nil && !slices.Contains(PoolChains, n.ID) {
			found = append(found, n.ID)
		}
	}
	return found
}

var privacy = ids{PrivacyEthereum, PrivacyBNB}

// pairs lists every supported swap. A row stands for all swaps from a chain in
// src to a chain in dst.
var pairs = []struct {
	srcToken string
	src      ids
	dstToken string
	dst      ids
	route    Route
}{
	// Standard, public.

	// USDC, direct pools
	{USDC, ids{1, 8453, 56}, USDC, ids{Hub}, Direct},
	{USDC, ids{Hub}, USDC, ids{1, 8453, 56}, Direct},
	// USDC, CCTP sources
	{USDC, onCCTP, USDC, ids{Hub}, CCTPInbound},
	{USDC, ids{Hub}, USDC, onCCTP, Direct},
	// ETH / WETH
	{ETH, ids{1, 8453, 4663}, WETH, ids{Hub}, Direct},
	{WETH, ids{Hub}, ETH, ids{1, 8453, 4663}, Direct},
	// USDT / DAI, inbound only
	{USDT, ids{1, 56}, USDC, ids{Hub}, Direct},
	{DAI, ids{1}, USDC, ids{Hub}, Direct},
	// USD1, inbound only
	{USD1, ids{56}, USDC, ids{Hub}, Direct},

	// Privacy: shielding, then unshielding.

	// USDC
	{USDC, ids{369, 1, 8453, 56}, USDC, privacy, Direct},
	{USDC, privacy, USDC, ids{369, 1, 8453, 56}, Direct},
	// USDT / DAI, inbound only
	{USDT, ids{1, 56}, USDC, privacy, Direct},
	{DAI, ids{1, 56}, USDC, privacy, Direct},
	// USD1, inbound only
	{USD1, ids{56}, USDC, privacy, Direct},
	// ETH / WETH: chain 1 takes and pays either, the hub only WETH
	{ETH, ids{1}, WETH, privacy, Direct},
	{WETH, ids{1, 369}, WETH, privacy, Direct},
	{WETH, privacy, WETH, ids{369, 1}, Direct},
	{WETH, privacy, ETH, ids{1}, Direct},
}

// Pair is one supported swap. Each exists once and is never changed.
type Pair struct {
	Src, Dst           ID
	SrcToken, DstToken Token
	Route              Route
}

// sourceKey is a token on a routing ID. It has one target contract.
type sourceKey struct {
	id     ID
	symbol string
}

func (p *Pair) source() sourceKey { return sourceKey{p.Src, p.SrcToken.Symbol} }

type pairKey struct {
	src, dst           ID
	srcToken, dstToken string
}

func (p *Pair) key() pairKey { return pairKey{p.Src, p.Dst, p.SrcToken.Symbol, p.DstToken.Symbol} }

var (
	allPairs  []Pair
	pairByKey = map[pairKey]*Pair{}
	tokensOf  = map[ID][]Token{} // by routing ID, the tokens of the pairs there
)

func init() {
	for _, row := range pairs {
		for _, src := range row.src {
			for _, dst := range row.dst {
				from, to := addToken(src, row.srcToken), addToken(dst, row.dstToken)
				allPairs = append(allPairs, Pair{src, dst, from, to, row.route})
			}
		}
	}
	for i := range allPairs {
		pairByKey[allPairs[i].key()] = &allPairs[i]
	}
}

// addToken finds a token by its symbol and adds it to tokensOf.
func addToken(id ID, symbol string) Token {
	if t := tokenOf(id, symbol); t != nil {
		return *t
	}
	network, _ := FindNetwork(id)
	for _, t := range network.Tokens {
		if t.Symbol == symbol {
			tokensOf[id] = append(tokensOf[id], t)
			return t
		}
	}
	panic("the pair table names " + symbol + " on chain " + id.String() + ", which networks.go does not have")
}

// tokenOf finds a token by its symbol, nil for none.
func tokenOf(id ID, symbol string) *Token {
	return findIn(tokensOf[id], func(t *Token) bool { return t.Symbol == symbol })
}

// tokenAt finds a token by its address, nil for none.
func tokenAt(id ID, address common.Address) *Token {
	return findIn(tokensOf[id], func(t *Token) bool { return t.Address.Address == address })
}

func findIn(tokens []Token, is func(*Token) bool) *Token {
	for i := range tokens {
		if is(&tokens[i]) {
			return &tokens[i]
		}
	}
	return nil
}

// Tokens lists the tokens that can be swapped from or to id.
func Tokens(id ID) []Token { return slices.Clone(tokensOf[id]) }

// Pairs lists every supported pair in the order of the table.
func Pairs() []Pair { return slices.Clone(allPairs) }

// FindToken finds a token that can be swapped from or to id. The name is a
// symbol in any case of ASCII letters, or an address.
func FindToken(id ID, name string) (*Token, error) {
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
		if t := tokenAt(id, address); t != nil {
			return t, nil
		}
		return nil, notListed(id, "The token with that address")
	}
	if t := findIn(tokensOf[id], func(t *Token) bool { return sameSymbol(t.Symbol, name) }); t != nil {
		return t, nil
	}
	for _, symbol := range Symbols {
		if sameSymbol(symbol, name) {
			return nil, notListed(id, symbol)
		}
	}
	return nil, notListed(id, "That token")
}

// sameSymbol compares a symbol of ours with a name in any case. Only ASCII letters fold: Unicode also folds ſ to s,
// and a client that compares in another way would take the same name for another token.
func sameSymbol(symbol, name string) bool {
	if len(symbol) != len(name) {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != symbol[i] {
			return false
		}
	}
	return true
}

func notListed(id ID, subject string) error {
	symbols := make([]string, len(tokensOf[id]))
	for i, t := range tokensOf[id] {
		symbols[i] = t.Symbol
	}
	return fault.New(fault.UnsupportedToken,
		"%s is not supported on chain %s; supported there: %s", subject, id, strings.Join(symbols, ", "))
}

// FindPair finds both tokens of a swap and checks that they are a supported pair.
func FindPair(src ID, srcToken string, dst ID, dstToken string) (*Pair, error) {
	from, err := FindToken(src, srcToken)
	if err != nil {
		return nil, fault.About(fault.SourceToken, err)
	}
	to, err := FindToken(dst, dstToken)
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
	var alternatives []fault.Alternative
	for _, p := range allPairs {
		if p.source() == (sourceKey{src, from}) {
			alternatives = append(alternatives, fault.Alternative{Chain: p.Dst.String(), Token: p.DstToken.Symbol})
		}
	}
	switch {
	case alternatives == nil:
		why = "; " + from + " on chain " + src.String() + " can be received but not sent"
	case src.Network() == dst.Network() && src.Private() == dst.Private():
		why = "; both are on the same chain, and this service moves tokens from one chain to another"
	}
	e := fault.New(fault.UnsupportedPair,
		"Unsupported swap pair: %s on chain %s to %s on chain %s%s", from, src, to, dst, why)
	e.Role = fault.DestinationChain
	e.Alternatives = alternatives
	return e
}
