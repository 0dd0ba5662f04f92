package chain

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
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

var privacy = ids{PrivacyEthereum, PrivacyBNB}

// onCCTP are the chains from which, and to which, USDC travels over the issuer's network: those without a pool.
var onCCTP = func() (list ids) {
	for _, n := range table {
		if n.CCTP != nil && !slices.Contains(PoolChains, n.ID) {
			list = append(list, n.ID)
		}
	}
	return list
}()

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

// end is a token on a routing ID, from which or to which swaps go.
type end struct {
	id     ID
	symbol string
}

func (e end) String() string { return e.symbol + " on chain " + e.id.String() }

func (p *Pair) source() end { return end{p.Src, p.SrcToken.Symbol} }

func (p *Pair) destination() end { return end{p.Dst, p.DstToken.Symbol} }

// catalog is a list of pairs, in the order of the table.
type catalog []Pair

// all has every pair.
var all = func() (list catalog) {
	for _, row := range pairs {
		for _, src := range row.src {
			for _, dst := range row.dst {
				from, to := tableToken(src, row.srcToken), tableToken(dst, row.dstToken)
				list = append(list, Pair{src, dst, from, to, row.route})
			}
		}
	}
	return list
}()

// public are the networks, by ID.
var public = slices.DeleteFunc(all.IDs(), ID.Private)

func tableToken(id ID, symbol string) Token {
	network, _ := FindNetwork(id)
	for _, t := range network.Tokens {
		if t.Symbol == symbol {
			return t
		}
	}
	panic("the pair table names " + symbol + " on chain " + id.String() + ", which networks.go does not have")
}

// pair finds a pair by its ends, nil for none.
func (c catalog) pair(src, dst end) *Pair {
	for i := range c {
		if p := &c[i]; p.source() == src && p.destination() == dst {
			return p
		}
	}
	return nil
}

// Pairs lists the pairs in the order of the table.
func (c catalog) Pairs() []Pair { return slices.Clone(c) }

// IDs lists every routing ID of a pair, by number.
func (c catalog) IDs() (list []ID) {
	for _, p := range c {
		list = append(list, p.Src, p.Dst)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Tokens lists the tokens that can be swapped from or to id.
func (c catalog) Tokens(id ID) (tokens []Token) {
	add := func(at ID, t Token) {
		if at == id && !slices.Contains(tokens, t) {
			tokens = append(tokens, t)
		}
	}
	for _, p := range c {
		add(p.Src, p.SrcToken)
		add(p.Dst, p.DstToken)
	}
	return tokens
}

// Pairs lists every pair there is. A deployment may serve fewer.
func Pairs() []Pair { return all.Pairs() }

// IDs lists every routing ID: the public chains and the privacy pools, by number.
func IDs() []ID { return all.IDs() }

// FindToken finds a token of a pair from or to id, as FindPair does.
func FindToken(id ID, name string) (*Token, error) { return all.findToken(id, name) }

// FindPair finds a pair, whether a deployment serves it or not.
func FindPair(src ID, srcToken string, dst ID, dstToken string) (*Pair, error) {
	return all.FindPair(src, srcToken, dst, dstToken)
}

// ParseID reads a routing ID from a request.
func ParseID(text string) (ID, error) { return all.ParseID(text) }

// findToken finds a token of any pair from or to id, nil for none.
func findToken(id ID, is func(t *Token) bool) *Token {
	for i := range all {
		p := &all[i]
		switch {
		case p.Src == id && is(&p.SrcToken):
			return &p.SrcToken
		case p.Dst == id && is(&p.DstToken):
			return &p.DstToken
		}
	}
	return nil
}

// tokenOf finds a token by its symbol in any case of ASCII letters, nil for none.
func tokenOf(id ID, symbol string) *Token {
	return findToken(id, func(t *Token) bool { return sameSymbol(t.Symbol, symbol) })
}

// tokenAt finds a token by its address, nil for none.
func tokenAt(id ID, address common.Address) *Token {
	return findToken(id, func(t *Token) bool { return t.Address.Address == address })
}

// sameSymbol compares a symbol of ours with a name in any case. Only ASCII letters fold: Unicode also folds ſ to s,
// but in more bytes, and a client that compares in another way would take the same name for another token.
func sameSymbol(symbol, name string) bool {
	return len(symbol) == len(name) && strings.EqualFold(symbol, name)
}

// ParseID reads a routing ID from a request. Every one that exists is read; the error
// lists those that have a pair.
func (c catalog) ParseID(text string) (ID, error) {
	if id, ok := idByText[text]; ok {
		return id, nil
	}
	var supported []string
	for _, id := range c.IDs() {
		supported = append(supported, id.String())
	}
	problem := "A chain is given by its chain ID, a decimal number"
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && strconv.FormatUint(n, 10) == text {
		problem = "Chain " + text + " is not supported"
	} else if id := otherNotation(text); id != 0 {
		problem += "; write " + id.String()
	}
	return 0, fault.New(fault.UnsupportedChain, "%s; supported chain IDs are %s",
		problem, strings.Join(supported, ", "))
}

// findToken finds a token of any pair from or to id, by its symbol or its address.
func (c catalog) findToken(id ID, name string) (*Token, error) {
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
		return nil, c.notListed(id, "The token with that address")
	}
	if t := tokenOf(id, name); t != nil {
		return t, nil
	}
	for _, symbol := range Symbols {
		if sameSymbol(symbol, name) {
			return nil, c.notListed(id, symbol)
		}
	}
	return nil, c.notListed(id, "That token")
}

func (c catalog) notListed(id ID, subject string) error {
	var symbols []string
	for _, t := range c.Tokens(id) {
		symbols = append(symbols, t.Symbol)
	}
	return fault.New(fault.UnsupportedToken, "%s is not supported on chain %s; supported there: %s",
		subject, id, cmp.Or(strings.Join(symbols, ", "), "none"))
}

// FindPair finds both tokens of a swap and checks that they are one of the pairs.
func (c catalog) FindPair(src ID, srcToken string, dst ID, dstToken string) (*Pair, error) {
	from, err := c.findToken(src, srcToken)
	if err != nil {
		return nil, fault.About(fault.SourceToken, err)
	}
	to, err := c.findToken(dst, dstToken)
	if err != nil {
		return nil, fault.About(fault.DestinationToken, err)
	}
	source, destination := end{src, from.Symbol}, end{dst, to.Symbol}
	if pair := c.pair(source, destination); pair != nil {
		return pair, nil
	}
	return nil, c.unsupported(source, destination)
}

// unsupported says that two ends are not a pair, and where the source token can
// go instead.
func (c catalog) unsupported(src, dst end) error {
	var alternatives []fault.Alternative
	for _, p := range c {
		if p.source() == src {
			alternatives = append(alternatives, fault.Alternative{Chain: p.Dst.String(), Token: p.DstToken.Symbol})
		}
	}
	why := ""
	switch {
	case all.pair(src, dst) != nil:
		why = "; this deployment does not serve it"
	case !slices.ContainsFunc(c.Tokens(src.id), func(t Token) bool { return t.Symbol == src.symbol }):
		why = "; this deployment does not serve " + src.String()
	case alternatives == nil:
		why = "; " + src.String() + " can be received but not sent"
	case src.id.Network() == dst.id.Network() && src.id.Private() == dst.id.Private():
		why = "; source and destination are on the same chain"
	}
	e := fault.New(fault.UnsupportedPair, "Unsupported swap pair: %s to %s%s", src, dst, why)
	e.Role = fault.DestinationChain
	e.Alternatives = alternatives
	return e
}
