package client

import (
	"fmt"
	"math/big"
	"regexp"

	"github.com/ethereum/go-ethereum/common"
)

// A Listing is an answer of /v3/app/pairs: all that can be swapped, and by which contracts.
type Listing struct {
	Deployment string        `json:"deployment"`
	Chains     []Chain       `json:"chains"`
	Tokens     []ListedToken `json:"tokens"`
	Pairs      []ListedPair  `json:"pairs"`
	Settlement Settlement    `json:"settlement"`
	Tracking   bool          `json:"tracking"` // whether swaps can be followed
	Client     string        `json:"client"`   // the oldest client that understands the gateway
	Contact    string        `json:"contact,omitempty"`
}

// Chain is a network, or the privacy pool on one.
type Chain struct {
	ChainID        uint64          `json:"chainId"`
	Name           string          `json:"name"`
	Network        uint64          `json:"network,omitzero"`         // of a privacy pool
	NativeCurrency *NativeCurrency `json:"nativeCurrency,omitempty"` // what pays for gas; nil if it is not stated
	Explorer       Site            `json:"explorer,omitempty"`       // before /tx/ and /address/; empty if not stated
}

// NativeCurrency is a chain's own coin.
type NativeCurrency struct {
	Name     string `json:"name"`
	Symbol   string `json:"symbol"`
	Decimals uint8  `json:"decimals"`
}

// A Site is an https address without a query, a fragment and a slash at its end.
type Site string

var sites = regexp.MustCompile(`^https://[\w.:-]+(/[\w.-]+)*$`)

// ListedToken is a token on a chain or in a privacy pool, and how much of it one swap may move.
type ListedToken struct {
	ChainID   uint64 `json:"chainId"`
	Symbol    string `json:"symbol"`
	Address   string `json:"address"`
	Decimals  uint8  `json:"decimals"`
	MinAmount Amount `json:"minAmount"`
	MaxAmount Amount `json:"maxAmount"`
}

// ListedPair is a swap from a chain to another. Tokens are symbols.
type ListedPair struct {
	SrcChain    uint64     `json:"srcChain"`
	SrcToken    string     `json:"srcToken"`
	DstChain    uint64     `json:"dstChain"`
	DstToken    string     `json:"dstToken"`
	Type        string     `json:"type"`
	ProtocolFee Percentage `json:"protocolFee"`
	FeeChainID  uint64     `json:"feeChainId"`
	To          string     `json:"to"`
	Seconds     uint64     `json:"seconds,omitzero"` // what it usually takes; 0 if that is not known
}

// Settlement is where burns are minted.
type Settlement struct {
	ChainID  uint64 `json:"chainId"`
	Domain   uint32 `json:"domain"`
	Receiver string `json:"receiver,omitempty"` // empty where no burn is quoted
}

// Routers is an answer of /v3/app/routers: the contract of each source chain and token.
type Routers struct {
	Data       []Router   `json:"data"`
	Settlement Settlement `json:"settlement"`
}

// Router is one row of it.
type Router struct {
	ChainID uint64 `json:"chainId"`
	Symbol  string `json:"symbol"`
	Token   string `json:"token"`
	Router  string `json:"router"`
}

// ParseListing reads an answer of /v3/app/pairs, such as one that was reviewed and kept. It refuses one that
// contradicts itself or what this package knows.
func ParseListing(data []byte) (*Listing, error) {
	l := &Listing{}
	if err := decodeBody(data, l); err != nil {
		return nil, unverified("the listing is malformed", err)
	}
	if err := l.check(); err != nil {
		return nil, unverified("the listing is malformed", err)
	}
	return l, nil
}

// ParseRouters reads an answer of /v3/app/routers.
func ParseRouters(data []byte) (*Routers, error) {
	r := &Routers{}
	if err := decodeBody(data, r); err != nil {
		return nil, unverified("the router listing is malformed", err)
	}
	if err := r.check(); err != nil {
		return nil, unverified("the router listing is malformed", err)
	}
	return r, nil
}

// symbols are what a token may be called. Whatever else a listing calls one could pass for another.
var symbols = regexp.MustCompile(`^[A-Z0-9.]{1,20}$`)

type tokenKey struct {
	chain  uint64
	symbol string
}

type addressKey struct {
	chain   uint64
	address common.Address
}

// check refuses a listing in which a row could pass for another, or for something that is known here.
func (l *Listing) check() error {
	chains := make(map[uint64]bool)
	for _, row := range l.Chains {
		if !isChain(row.ChainID) || chains[row.ChainID] {
			return fmt.Errorf("the listing must have one row for chain %d", row.ChainID)
		}
		chains[row.ChainID] = true
		if !row.onItsNetwork() {
			return fmt.Errorf("the listing must have the network of chain %d", row.ChainID)
		}
	}
	bySymbol, byAddress := make(map[tokenKey]bool), make(map[addressKey]bool)
	for _, row := range l.Tokens {
		address, err := l.checkToken(row)
		if err != nil {
			return err
		}
		if networkOf(row.ChainID) != row.ChainID && !chains[row.ChainID] {
			return fmt.Errorf("the listing must have the network of chain %d", row.ChainID)
		}
		symbol, at := tokenKey{row.ChainID, row.Symbol}, addressKey{row.ChainID, address}
		if bySymbol[symbol] || byAddress[at] {
			return fmt.Errorf("the listing must have one row for %s on chain %d, and one for its address",
				row.Symbol, row.ChainID)
		}
		bySymbol[symbol], byAddress[at] = true, true
	}
	if !isChain(l.Settlement.ChainID) {
		return fmt.Errorf("the listing must have the chain of the settlement")
	}
	pairs := make(map[[2]tokenKey]bool)
	for _, row := range l.Pairs {
		if _, err := readAddress(row.To); err != nil || !isChain(row.FeeChainID) {
			return fmt.Errorf("the listing must have contract and fee chain of %.30q on chain %d",
				row.SrcToken, row.SrcChain)
		}
		src, dst := tokenKey{row.SrcChain, row.SrcToken}, tokenKey{row.DstChain, row.DstToken}
		if !bySymbol[src] || !bySymbol[dst] || pairs[[2]tokenKey{src, dst}] {
			return fmt.Errorf(
				"the listing must have one row for %.30q on chain %d to %.30q on chain %d, and both tokens",
				row.SrcToken, row.SrcChain, row.DstToken, row.DstChain)
		}
		pairs[[2]tokenKey{src, dst}] = true
	}
	return nil
}

// isChain tells whether a number can be a chain. What other languages cannot hold exactly is none.
func isChain(id uint64) bool { return id > 0 && id < 1<<53 }

// onItsNetwork tells whether a chain is where it is known to be: a privacy pool on its network, and a network nowhere
// else.
func (c Chain) onItsNetwork() bool {
	if want := networkOf(c.ChainID); want != c.ChainID {
		return c.Network == want
	}
	return c.Network == 0 || isChain(c.Network) && c.Network != c.ChainID && !knownChain(c.ChainID)
}

// checkToken holds a row against what is known: a known symbol must have its address, and a known address its symbol.
func (l *Listing) checkToken(row ListedToken) (common.Address, error) {
	if !symbols.MatchString(row.Symbol) {
		return common.Address{}, fmt.Errorf(
			"the listing has the symbol %.60q, and symbols are 1 to 20 of A to Z, 0 to 9 and the point", row.Symbol)
	}
	address, err := readAddress(row.Address)
	least, most := row.MinAmount.Int(), row.MaxAmount.Int()
	hasDecimals := row.Decimals <= 36
	hasLimits := least != nil && most != nil && most.Cmp(least) >= 0
	if err != nil || !isChain(row.ChainID) || !hasDecimals || !hasLimits {
		return address, fmt.Errorf(
			"the listing must have one row for %s on chain %d, with address, decimals and limits",
			row.Symbol, row.ChainID)
	}
	network := l.network(row.ChainID)
	if known := contradicted(network, row.Symbol, address); known != nil {
		return address, known.must("the listing", network)
	}
	if known := knownBySymbol(network, row.Symbol); known != nil && known.decimals != row.Decimals {
		return address, known.must("the listing", network)
	}
	return address, nil
}

// contradicted finds what is known by the symbol or by the address, unless both are of the same token or of none.
func contradicted(network uint64, symbol string, address common.Address) *knownToken {
	bySymbol, byAddress := knownBySymbol(network, symbol), knownByAddress(network, address)
	switch {
	case bySymbol == byAddress:
		return nil
	case bySymbol != nil:
		return bySymbol
	}
	return byAddress
}

func (t *knownToken) must(what string, network uint64) error {
	return fmt.Errorf("%s must have %s with %d decimals for %s on chain %d",
		what, t.address, t.decimals, t.symbol, network)
}

// check refuses rows that could pass for another, or for something that is known here.
func (r *Routers) check() error {
	for _, row := range r.Data {
		token, err := readAddress(row.Token)
		_, noRouter := readAddress(row.Router)
		if !isChain(row.ChainID) || !symbols.MatchString(row.Symbol) || err != nil || noRouter != nil {
			return fmt.Errorf("the router listing must have token and router for %.60q on chain %d",
				row.Symbol, row.ChainID)
		}
		network := networkOf(row.ChainID)
		if known := contradicted(network, row.Symbol, token); known != nil {
			return fmt.Errorf("token in the router listing: got %s for %s on chain %d, want %w",
				token, row.Symbol, row.ChainID, known.must("it", network))
		}
	}
	return nil
}

// network is the chain on which transactions of a routing ID are sent.
func (l *Listing) network(id uint64) uint64 {
	for _, row := range l.Chains {
		if row.ChainID == id && row.Network != 0 {
			return row.Network
		}
	}
	return networkOf(id)
}

// A Pair is a swap that can be made, with all that a listing says of it.
type Pair struct {
	SrcChain, DstChain uint64
	SrcToken, DstToken TokenOn
	Type               string
	FeeBPS             int64 // the protocol's, in hundredths of a percent
	FeeChain           uint64
	Min, Max           *big.Int // of the source token in one swap
	To                 common.Address
	Shields, Unshields bool // the destination, or the source, is a privacy pool
}

// TokenOn is a token on a network.
type TokenOn struct {
	ChainID  uint64 // a network, also for a privacy pool
	Symbol   string
	Address  common.Address // Native for the chain's own coin
	Decimals uint8
}

// Native tells whether it is the chain's own coin.
func (t TokenOn) Native() bool { return t.Address == Native }

// Find finds a pair. Tokens are symbols in any case, or addresses.
func (l *Listing) Find(srcChain uint64, srcToken string, dstChain uint64, dstToken string) (*Pair, error) {
	src, dst := l.findToken(srcChain, srcToken), l.findToken(dstChain, dstToken)
	if src == nil || dst == nil {
		return nil, errNoPair
	}
	for _, row := range []*ListedToken{src, dst} {
		if _, err := l.checkToken(*row); err != nil {
			return nil, err
		}
	}
	for _, row := range l.Pairs {
		if row.SrcChain == srcChain && row.SrcToken == src.Symbol &&
			row.DstChain == dstChain && row.DstToken == dst.Symbol {
			return l.pair(row, src, dst)
		}
	}
	return nil, errNoPair
}

var errNoPair = fmt.Errorf("the listing has no such pair of tokens and chains")

func (l *Listing) findToken(id uint64, name string) *ListedToken {
	address, err := parseAddress(name)
	if address == (common.Address{}) {
		address = Native
	}
	for i := range l.Tokens {
		row := &l.Tokens[i]
		if row.ChainID != id {
			continue
		}
		if at, _ := readAddress(row.Address); upper(name) == row.Symbol || err == nil && at == address {
			return row
		}
	}
	return nil
}

// upper folds ASCII letters, and no others: Unicode folds ſ to S.
func upper(text string) string {
	folded := []byte(text)
	for i, c := range folded {
		if 'a' <= c && c <= 'z' {
			folded[i] = c - 'a' + 'A'
		}
	}
	return string(folded)
}

// highestFeeBPS is the most that a listing may say the protocol takes, 1 %.
const highestFeeBPS = 100

func (l *Listing) pair(row ListedPair, src, dst *ListedToken) (*Pair, error) {
	p := &Pair{
		SrcChain: row.SrcChain, DstChain: row.DstChain, SrcToken: l.token(src), DstToken: l.token(dst),
		Type: row.Type, FeeChain: row.FeeChainID, Min: src.MinAmount.Int(), Max: src.MaxAmount.Int(),
	}
	p.Shields = p.DstToken.ChainID != p.DstChain
	p.Unshields = p.SrcToken.ChainID != p.SrcChain
	if row.Type != Direct && row.Type != CCTPInbound {
		return nil, fmt.Errorf("this version does not know routes of type %.60q: use a newer one", row.Type)
	}
	feeBPS, ok := row.ProtocolFee.BPS()
	if !ok || feeBPS > highestFeeBPS {
		return nil, fmt.Errorf("the listing must have a fee of at most 1 %% and its chain for this pair")
	}
	p.FeeBPS = feeBPS
	if row.Type == CCTPInbound && (p.Shields || p.Unshields) {
		return nil, fmt.Errorf("the listing must not burn into or out of a privacy pool")
	}
	to, err := readAddress(row.To)
	if err != nil {
		return nil, fmt.Errorf("the listing must have the contract of this pair")
	}
	p.To = to
	return p, nil
}

func (l *Listing) token(row *ListedToken) TokenOn {
	address, _ := readAddress(row.Address)
	return TokenOn{ChainID: l.network(row.ChainID), Symbol: row.Symbol, Address: address, Decimals: row.Decimals}
}
