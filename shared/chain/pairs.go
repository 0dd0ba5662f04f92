package chain

import (
	"cmp"
	"errors"
	"maps"
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

func (k sourceKey) String() string { return k.symbol + " on chain " + k.id.String() }

func (p *Pair) source() sourceKey { return sourceKey{p.Src, p.SrcToken.Symbol} }

type pairKey struct {
	src, dst           ID
	srcToken, dstToken string
}

func (p *Pair) key() pairKey { return pairKey{p.Src, p.Dst, p.SrcToken.Symbol, p.DstToken.Symbol} }

// all are the pairs of the table.
var all = func() catalog {
	var list []Pair
	for _, row := range pairs {
		for _, src := range row.src {
			for _, dst := range row.dst {
				from, to := tableToken(src, row.srcToken), tableToken(dst, row.dstToken)
				list = append(list, Pair{src, dst, from, to, row.route})
			}
		}
	}
	return newCatalog(list)
}()

func tableToken(id ID, symbol string) Token {
	network, _ := FindNetwork(id)
	for _, t := range network.Tokens {
		if t.Symbol == symbol {
			return t
		}
	}
	panic("the pair table names " + symbol + " on chain " + id.String() + ", which networks.go does not have")
}

// catalog is a list of pairs, and what is in it.
type catalog struct {
	pairs  []Pair
	byKey  map[pairKey]*Pair
	tokens map[ID][]Token // by routing ID, in the order of the pairs
	ids    []ID           // by number
	idList string         // the same for people
}

func newCatalog(list []Pair) catalog {
	c := catalog{pairs: list, byKey: map[pairKey]*Pair{}, tokens: map[ID][]Token{}}
	add := func(id ID, t Token) {
		if !slices.Contains(c.tokens[id], t) {
			c.tokens[id] = append(c.tokens[id], t)
		}
	}
	for i := range list {
		p := &list[i]
		c.byKey[p.key()] = p
		add(p.Src, p.SrcToken)
		add(p.Dst, p.DstToken)
	}
	c.ids = slices.Sorted(maps.Keys(c.tokens))
	texts := make([]string, len(c.ids))
	for i, id := range c.ids {
		texts[i] = id.String()
	}
	c.idList = strings.Join(texts, ", ")
	return c
}

// Pairs lists the pairs in the order of the table.
func (c *catalog) Pairs() []Pair { return slices.Clone(c.pairs) }

// IDs lists every routing ID of a pair, by number.
func (c *catalog) IDs() []ID { return slices.Clone(c.ids) }

// Tokens lists the tokens that can be swapped from or to id.
func (c *catalog) Tokens(id ID) []Token { return slices.Clone(c.tokens[id]) }

// Pairs lists every pair there is. A deployment may serve fewer.
func Pairs() []Pair { return all.Pairs() }

// IDs lists every routing ID: the public chains and the privacy pools, by number.
func IDs() []ID { return all.IDs() }

// Tokens lists the tokens of the pairs from or to id.
func Tokens(id ID) []Token { return all.Tokens(id) }

// FindToken finds a token of a pair from or to id, as FindPair does.
func FindToken(id ID, name string) (*Token, error) { return all.findToken(id, name) }

// FindPair finds a pair, whether a deployment serves it or not.
func FindPair(src ID, srcToken string, dst ID, dstToken string) (*Pair, error) {
	return all.FindPair(src, srcToken, dst, dstToken)
}

// tokenOf finds a token by its symbol, nil for none.
func tokenOf(id ID, symbol string) *Token {
	return findIn(all.tokens[id], func(t *Token) bool { return t.Symbol == symbol })
}

// tokenAt finds a token by its address, nil for none.
func tokenAt(id ID, address common.Address) *Token {
	return findIn(all.tokens[id], func(t *Token) bool { return t.Address.Address == address })
}

func findIn(tokens []Token, is func(*Token) bool) *Token {
	for i := range tokens {
		if is(&tokens[i]) {
			return &tokens[i]
		}
	}
	return nil
}

// ParseID reads a routing ID from a request. Every one that exists is read; the error
// lists those that have a pair.
func (c *catalog) ParseID(text string) (ID, error) {
	if id, ok := idByText[text]; ok {
		return id, nil
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && strconv.FormatUint(n, 10) == text {
		return 0, fault.New(fault.UnsupportedChain,
			"Chain %s is not supported; supported chain IDs are %s", text, c.idList)
	}
	hint := ""
	if id := otherNotation(text); id != 0 {
		hint = "; write " + id.String()
	}
	return 0, fault.New(fault.UnsupportedChain,
		"A chain is given by its chain ID, a decimal number%s; supported chain IDs are %s", hint, c.idList)
}

// findToken finds a token of any pair from or to id. The name is a symbol in any case of
// ASCII letters, or an address.
func (c *catalog) findToken(id ID, name string) (*Token, error) {
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
	if t := findIn(all.tokens[id], func(t *Token) bool { return sameSymbol(t.Symbol, name) }); t != nil {
		return t, nil
	}
	for _, symbol := range Symbols {
		if sameSymbol(symbol, name) {
			return nil, c.notListed(id, symbol)
		}
	}
	return nil, c.notListed(id, "That token")
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

func (c *catalog) notListed(id ID, subject string) error {
	symbols := []string{}
	for _, t := range c.tokens[id] {
		symbols = append(symbols, t.Symbol)
	}
	return fault.New(fault.UnsupportedToken, "%s is not supported on chain %s; supported there: %s",
		subject, id, cmp.Or(strings.Join(symbols, ", "), "none"))
}

// FindPair finds both tokens of a swap and checks that they are one of the pairs.
func (c *catalog) FindPair(src ID, srcToken string, dst ID, dstToken string) (*Pair, error) {
	from, err := c.findToken(src, srcToken)
	if err != nil {
		return nil, fault.About(fault.SourceToken, err)
	}
	to, err := c.findToken(dst, dstToken)
	if err != nil {
		return nil, fault.About(fault.DestinationToken, err)
	}
	pair, ok := c.byKey[pairKey{src, dst, from.Symbol, to.Symbol}]
	if !ok {
		return nil, c.unsupported(pairKey{src, dst, from.Symbol, to.Symbol})
	}
	return pair, nil
}

// unsupported says that two ends are not a pair, and where the source token can
// go instead.
func (c *catalog) unsupported(k pairKey) error {
	source := sourceKey{k.src, k.srcToken}
	var why string
	var alternatives []fault.Alternative
	for _, p := range c.pairs {
		if p.source() == source {
			alternatives = append(alternatives, fault.Alternative{Chain: p.Dst.String(), Token: p.DstToken.Symbol})
		}
	}
	switch {
	case all.byKey[k] != nil:
		why = "; this deployment does not serve it"
	case !slices.ContainsFunc(c.tokens[k.src], func(t Token) bool { return t.Symbol == k.srcToken }):
		why = "; this deployment does not serve " + source.String()
	case alternatives == nil:
		why = "; " + source.String() + " can be received but not sent"
	case k.src.Network() == k.dst.Network() && k.src.Private() == k.dst.Private():
		why = "; source and destination are on the same chain"
	}
	e := fault.New(fault.UnsupportedPair,
		"Unsupported swap pair: %s on chain %s to %s on chain %s%s", k.srcToken, k.src, k.dstToken, k.dst, why)
	e.Role = fault.DestinationChain
	e.Alternatives = alternatives
	return e
}
