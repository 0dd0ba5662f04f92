package referee

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

// Token is one token on one network.
type Token struct {
	Address  string `json:"address"`
	Symbol   string `json:"symbol"`
	Decimals uint8  `json:"decimals"`
	ChainID  uint64 `json:"chainId"`
}

// named tells whether a request means the token by a symbol or an address. A
// chain's own coin has two addresses.
func (t Token) named(text string) bool {
	return strings.EqualFold(text, t.Symbol) || strings.EqualFold(text, t.Address) ||
		t.Address == native && common.IsHexAddress(text) && common.HexToAddress(text) == (common.Address{})
}

// Pair is one supported swap. Src and Dst are routing IDs.
type Pair struct {
	Src, Dst           uint64
	SrcToken, DstToken Token
	Burn               bool // the source transaction burns USDC at the issuer's
}

func (p Pair) String() string {
	return fmt.Sprintf("%s on %d to %s on %d", p.SrcToken.Symbol, p.Src, p.DstToken.Symbol, p.Dst)
}

const (
	hub    = 369
	onMain = 69696969 // the privacy pool on chain 1
	onBNB  = 96969696 // the privacy pool on chain 56
	native = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"
)

var (
	pooled   = []uint64{1, 56, hub, 4663, 8453}
	private  = []uint64{onMain, onBNB}
	v1Chains = []uint64{1, hub, 8453, 56, 137, 42161, onMain, onBNB}
)

// burnChains are the chains of the issuer's network where the service has no pool.
func (r *Referee) burnChains() []uint64 {
	var found []uint64
	for id, facts := range r.chains {
		if facts.CCTP != nil && !slices.Contains(pooled, id) {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	return found
}

// row stands for all swaps from a chain in src to a chain in dst.
type row struct {
	srcToken string
	src      []uint64
	dstToken string
	dst      []uint64
}

// table is section 1.1 and 1.2 of the specification, but for the chains that the issuer of USDC serves.
var table = []row{
	{"USDC", []uint64{1, 8453, 56}, "USDC", []uint64{hub}},
	{"USDC", []uint64{hub}, "USDC", []uint64{1, 8453, 56}},
	{"ETH", []uint64{1, 8453, 4663}, "WETH", []uint64{hub}},
	{"WETH", []uint64{hub}, "ETH", []uint64{1, 8453, 4663}},
	{"USDT", []uint64{1, 56}, "USDC", []uint64{hub}},
	{"DAI", []uint64{1}, "USDC", []uint64{hub}},
	{"USD1", []uint64{56}, "USDC", []uint64{hub}},

	{"USDC", []uint64{hub, 1, 8453, 56}, "USDC", private},
	{"USDC", private, "USDC", []uint64{hub, 1, 8453, 56}},
	{"USDT", []uint64{1, 56}, "USDC", private},
	{"DAI", []uint64{1, 56}, "USDC", private},
	{"USD1", []uint64{56}, "USDC", private},
	{"ETH", []uint64{1}, "WETH", private},
	{"WETH", []uint64{1, hub}, "WETH", private},
	{"WETH", private, "WETH", []uint64{hub, 1}},
	{"WETH", private, "ETH", []uint64{1}},
}

// Pairs lists every supported swap.
func (r *Referee) Pairs() []Pair { return slices.Clone(r.pairs) }

// Find gives a pair by its ends.
func (r *Referee) Find(srcToken string, src uint64, dstToken string, dst uint64) (Pair, error) {
	for _, p := range r.pairs {
		if p.Src == src && p.Dst == dst && p.SrcToken.Symbol == srcToken && p.DstToken.Symbol == dstToken {
			return p, nil
		}
	}
	return Pair{}, fmt.Errorf("%s on %d to %s on %d is not supported", srcToken, src, dstToken, dst)
}

func (r *Referee) readPairs() ([]Pair, error) {
	var pairs []Pair
	burns := r.burnChains()
	rows := append(slices.Clone(table),
		row{"USDC", burns, "USDC", []uint64{hub}},
		row{"USDC", []uint64{hub}, "USDC", burns})
	for _, row := range rows {
		for _, src := range row.src {
			for _, dst := range row.dst {
				from, err := r.token(src, row.srcToken)
				if err != nil {
					return nil, err
				}
				to, err := r.token(dst, row.dstToken)
				if err != nil {
					return nil, err
				}
				pairs = append(pairs, Pair{src, dst, from, to, slices.Contains(burns, src)})
			}
		}
	}
	return pairs, nil
}

func (r *Referee) token(routing uint64, symbol string) (Token, error) {
	chain := network(routing)
	if symbol == "ETH" {
		return Token{native, "ETH", 18, chain}, nil
	}
	t, ok := r.chains[chain].Tokens[symbol]
	if !ok {
		return Token{}, fmt.Errorf("there are no facts about %s on chain %d", symbol, chain)
	}
	return Token{t.Address, symbol, t.Decimals, chain}, nil
}

// network is the chain a routing ID stands for.
func network(routing uint64) uint64 {
	switch routing {
	case onMain:
		return 1
	case onBNB:
		return 56
	}
	return routing
}

// Shields tells whether the recipient is paid in a privacy pool.
func (p Pair) Shields() bool { return slices.Contains(private, p.Dst) }

// protocolBPS is the protocol's fee: 0.3 % from a public chain to the hub,
// 0.5 % for everything else.
func (p Pair) protocolBPS() int64 {
	if p.Dst == hub && !slices.Contains(private, p.Src) {
		return 30
	}
	return 50
}

// FeeChain is the network whose pool pays out.
func (p Pair) FeeChain() uint64 {
	if chain := network(p.Dst); slices.Contains(pooled, chain) {
		return chain
	}
	return 8453
}

// Limits are the least and the most that one transaction moves.
func (p Pair) Limits() (least, most *big.Int) {
	unit := pow10(p.SrcToken.Decimals)
	if p.SrcToken.Symbol == "ETH" || p.SrcToken.Symbol == "WETH" {
		return new(big.Int).Quo(unit, big.NewInt(100)), new(big.Int).Mul(unit, big.NewInt(20))
	}
	return new(big.Int).Mul(unit, big.NewInt(10)), new(big.Int).Mul(unit, big.NewInt(25_000))
}
