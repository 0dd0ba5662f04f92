package client

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/v3/client/internal/known"
)

// Native is the address that stands for a chain's own coin.
var Native = known.Native

// Types of routes.
const (
	Direct      = "DIRECT"       // through a pool of the service
	CCTPInbound = "CCTP_INBOUND" // a burn at the issuer's known.Messenger
)

// The routing IDs of the privacy pools.
const (
	PrivacyEthereum = known.PrivacyEthereum
	PrivacyBNB      = known.PrivacyBNB
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
	RPCURLs        []RPCURL        `json:"rpcUrls,omitempty"`        // for wallets; this package asks none of them
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

// UnmarshalText refuses everything else.
func (s *Site) UnmarshalText(text []byte) error {
	*s = Site(text)
	return mustBe(sites.Match(text), text, "an https address")
}

// An RPCURL is the address of a public node: https, or http on this machine, without user, query and fragment.
type RPCURL string

const longestRPCURL = 200 // characters

var rpcURLs = regexp.MustCompile(`^(https://[\w.-]+|http://(localhost|127\.0\.0\.1))(:\d{1,5})?(/[\w.~-]*)*$`)

// UnmarshalText refuses everything else.
func (u *RPCURL) UnmarshalText(text []byte) error {
	*u = RPCURL(text)
	return mustBe(len(text) <= longestRPCURL && rpcURLs.Match(text), text, "the address of a public node")
}

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
	return l, parse(data, l, l.check, "the listing is malformed")
}

// ParseRouters reads an answer of /v3/app/routers.
func ParseRouters(data []byte) (*Routers, error) {
	r := &Routers{}
	return r, parse(data, r, r.check, "the router listing is malformed")
}

func parse(data []byte, into any, check func() error, message string) error {
	err := decodeBody(data, into)
	if err == nil {
		err = check()
	}
	if err != nil {
		return unverified(message, err)
	}
	return nil
}

// symbols are what a token may be called. Whatever else a listing calls one could pass for another.
var symbols = regexp.MustCompile(`^[A-Z0-9.]{1,20}$`)

// check refuses a listing in which a row could pass for another, or for something that is known here.
func (l *Listing) check() error {
	seen := make(map[string]bool)
	isNew := func(name string) bool {
		wasSeen := seen[name]
		seen[name] = true
		return !wasSeen
	}
	for _, row := range l.Chains {
		if !isChain(row.ChainID) || !isNew(decimal(row.ChainID)) || !row.onItsNetwork() {
			return fmt.Errorf("the listing must have one row for chain %d, with its network", row.ChainID)
		}
	}
	for _, row := range l.Tokens {
		address, err := l.checkToken(row)
		if err != nil {
			return err
		}
		if known.Network(row.ChainID) != row.ChainID && !seen[decimal(row.ChainID)] {
			return fmt.Errorf("the listing must have one row for chain %d, with its network", row.ChainID)
		}
		if !isNew(on(row.ChainID, row.Symbol)) || !isNew(on(row.ChainID, address.Hex())) {
			return fmt.Errorf("the listing must have one row for %s, and one for its address",
				on(row.ChainID, row.Symbol))
		}
	}
	if !isChain(l.Settlement.ChainID) {
		return errors.New("the listing must have the chain of the settlement")
	}
	for _, row := range l.Pairs {
		src, dst := on(row.SrcChain, row.SrcToken), on(row.DstChain, row.DstToken)
		if _, err := known.ReadAddress(row.To); err != nil || !isChain(row.FeeChainID) {
			return fmt.Errorf("the listing must have contract and fee chain of %s", src)
		}
		if !seen[src] || !seen[dst] || !isNew(src+" to "+dst) {
			return fmt.Errorf("the listing must have one row for %s to %s, and both tokens", src, dst)
		}
	}
	return nil
}

// on names a token, by its symbol or by its address.
func on(chain uint64, token string) string {
	return fmt.Sprintf("%s on chain %d", quoted(token), chain)
}

// isChain tells whether a number can be a chain. What other languages cannot hold exactly is none.
func isChain(id uint64) bool { return id > 0 && id < 1<<53 }

// onItsNetwork tells whether a chain is where it is known to be: a privacy pool on its network, and a network nowhere
// else.
func (c Chain) onItsNetwork() bool {
	if want := known.Network(c.ChainID); want != c.ChainID {
		return c.Network == want
	}
	return c.Network == 0 || isChain(c.Network) && c.Network != c.ChainID && !known.IsChain(c.ChainID)
}

// checkToken holds a row against what is known: a known symbol must have its address, and a known address its symbol.
func (l *Listing) checkToken(row ListedToken) (common.Address, error) {
	if !symbols.MatchString(row.Symbol) {
		return common.Address{}, fmt.Errorf(
			"the listing has the symbol %s: symbols are 1 to 20 of the characters A-Z, 0-9 and dot", quoted(row.Symbol))
	}
	address, err := known.ReadAddress(row.Address)
	least, most := row.MinAmount.Int(), row.MaxAmount.Int()
	hasDecimals := row.Decimals <= 36
	hasLimits := least != nil && most != nil && most.Cmp(least) >= 0
	if err != nil || !isChain(row.ChainID) || !hasDecimals || !hasLimits {
		return address, fmt.Errorf("the listing must have address, decimals and limits of %s",
			on(row.ChainID, row.Symbol))
	}
	network := l.network(row.ChainID)
	if token := contradicted(network, row.Symbol, address); token != nil {
		return address, must("the listing", token, network)
	}
	if token := known.BySymbol(network, row.Symbol); token != nil && token.Decimals != row.Decimals {
		return address, must("the listing", token, network)
	}
	return address, nil
}

// contradicted finds what is known by the symbol or by the address, unless both are of the same token or of none.
func contradicted(network uint64, symbol string, address common.Address) *known.Token {
	bySymbol, byAddress := known.BySymbol(network, symbol), known.ByAddress(network, address)
	if bySymbol == byAddress {
		return nil
	}
	return cmp.Or(bySymbol, byAddress)
}

func must(what string, t *known.Token, network uint64) error {
	return fmt.Errorf("%s must have %s with %d decimals for %s on chain %d",
		what, t.Address, t.Decimals, t.Symbol, network)
}

// check refuses rows that could pass for another, or for something that is known here.
func (r *Routers) check() error {
	if !isChain(r.Settlement.ChainID) {
		return errors.New("the router listing must have the chain of the settlement")
	}
	for _, row := range r.Data {
		token, err := known.ReadAddress(row.Token)
		_, noRouter := known.ReadAddress(row.Router)
		if !isChain(row.ChainID) || !symbols.MatchString(row.Symbol) || err != nil || noRouter != nil {
			return fmt.Errorf("the router listing must have token and router for %s", on(row.ChainID, row.Symbol))
		}
		network := known.Network(row.ChainID)
		if other := contradicted(network, row.Symbol, token); other != nil {
			return must("the router listing", other, network)
		}
	}
	return nil
}

// find gives the contract of a pair, which must have one row.
func (r *Routers) find(p *Pair) (to common.Address, err error) {
	rows := 0
	for _, row := range r.Data {
		if row.ChainID != p.SrcChain || row.Symbol != p.SrcToken.Symbol {
			continue
		}
		rows++
		if !known.IsAddress(row.Token, p.SrcToken.Address) {
			return to, fmt.Errorf("token in the router listing: got %s, want %s", quoted(row.Token), p.SrcToken.Address)
		}
		to, err = known.ReadAddress(row.Router)
	}
	if rows != 1 {
		return to, fmt.Errorf("router listing: %d rows for %s, want one", rows, on(p.SrcChain, p.SrcToken.Symbol))
	}
	return to, err
}

// network is the chain on which transactions of a routing ID are sent.
func (l *Listing) network(id uint64) uint64 {
	for _, row := range l.Chains {
		if row.ChainID == id && row.Network != 0 {
			return row.Network
		}
	}
	return known.Network(id)
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
	for _, row := range l.Pairs {
		if row.SrcChain == srcChain && row.SrcToken == src.Symbol &&
			row.DstChain == dstChain && row.DstToken == dst.Symbol {
			return l.pair(row, src, dst)
		}
	}
	return nil, errNoPair
}

var errNoPair = errors.New("the listing has no such pair of tokens and chains")

func (l *Listing) findToken(id uint64, name string) *ListedToken {
	address, err := known.ParseAddress(name)
	if address == (common.Address{}) {
		address = Native
	}
	for i := range l.Tokens {
		row := &l.Tokens[i]
		if row.ChainID != id {
			continue
		}
		if at, _ := known.ReadAddress(row.Address); upper(name) == row.Symbol || err == nil && at == address {
			return row
		}
	}
	return nil
}

// upper folds ASCII letters, and no others: Unicode folds ſ to S.
func upper(text string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, text)
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
	var isRate bool
	p.FeeBPS, isRate = row.ProtocolFee.BPS()
	p.To, _ = known.ReadAddress(row.To) // zero, which nobody pays, if it is none
	switch {
	case row.Type != Direct && row.Type != CCTPInbound:
		return nil, fmt.Errorf("this version does not support routes of type %s: update the client", quoted(row.Type))
	case !isRate || p.FeeBPS > highestFeeBPS:
		return nil, errors.New("the listing must have a fee of at most 1 % and its chain for this pair")
	case row.Type == CCTPInbound && (p.Shields || p.Unshields || p.SrcToken.Symbol != "USDC"):
		return nil, errors.New("the listing must burn nothing but USDC, and not into or out of a privacy pool")
	}
	return p, nil
}

func (l *Listing) token(row *ListedToken) TokenOn {
	address, _ := known.ReadAddress(row.Address)
	return TokenOn{ChainID: l.network(row.ChainID), Symbol: row.Symbol, Address: address, Decimals: row.Decimals}
}
