package chain

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

// onCCTP are the chains from which, and to which, USDC travels over the issuer's network.
var onCCTP = ids{43114, 42161, 10, 137, 130, 59144, 480, 98866, 2818, 57073, 143, 146, 1329, 999, 1672, 25}

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

type pairKey struct {
	src, dst           ID
	srcToken, dstToken string
}

func (p *Pair) key() pairKey { return pairKey{p.Src, p.Dst, p.SrcToken.Symbol, p.DstToken.Symbol} }

var (
	allPairs  []*Pair
	pairByKey = map[pairKey]*Pair{}
	tokensOf  = map[ID][]*Token{} // by routing ID, the tokens of the pairs there
)

func init() {
	for _, row := range pairs {
		for _, src := range row.src {
			for _, dst := range row.dst {
				p := &Pair{src, dst, *addToken(src, row.srcToken), *addToken(dst, row.dstToken), row.route}
				allPairs = append(allPairs, p)
				pairByKey[p.key()] = p
			}
		}
	}
}

// addToken finds a token by its symbol and adds it to tokensOf.
func addToken(id ID, symbol string) *Token {
	for _, t := range tokensOf[id] {
		if t.Symbol == symbol {
			return t
		}
	}
	network, _ := FindNetwork(id)
	for _, t := range network.Tokens {
		if t.Symbol == symbol {
			tokensOf[id] = append(tokensOf[id], &t)
			return &t
		}
	}
	panic("the pair table names " + symbol + " on chain " + id.String() + ", which networks.go does not have")
}

// Tokens lists the tokens that can be swapped from or to id.
func Tokens(id ID) []Token {
	tokens := make([]Token, len(tokensOf[id]))
	for i, t := range tokensOf[id] {
		tokens[i] = *t
	}
	return tokens
}

// Pairs lists every supported pair in the order of the table.
func Pairs() []Pair {
	pairs := make([]Pair, len(allPairs))
	for i, p := range allPairs {
		pairs[i] = *p
	}
	return pairs
}
