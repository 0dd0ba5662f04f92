package client

import (
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strconv"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/v3/client/internal/known"
)

// A Request is what somebody wants.
type Request struct {
	SrcChain, DstChain uint64   // chain IDs, or the routing IDs of the privacy pools
	SrcToken, DstToken string   // symbols in any case, or addresses
	Amount             *big.Int // of the source token, in its smallest unit
	Recipient          string   // an EVM address, or a 0zk address for a privacy pool

	Integrator common.Address // the wallet of a registered partner, whose fee is added; zero for none
	From       common.Address // the account that will send: its balance and allowance are read; zero for none
	Simulate   bool           // try the calls of From on the newest state first: see Quote.Details.Simulation
}

// path is where to ask, or why that is not possible.
func (r Request) path() (string, error) {
	refuse := func(format string, args ...any) (string, error) {
		return "", &Error{Code: InvalidRequest, Message: fmt.Sprintf(format, args...)}
	}
	none := common.Address{}
	switch {
	case r.Amount == nil || r.Amount.Sign() <= 0 || r.Amount.BitLen() > 256:
		return refuse("the amount must be more than nothing, and fit into 256 bits")
	case r.Simulate && r.From == none:
		return refuse("a simulation needs the account that will send")
	}
	query := url.Values{
		"srcToken": {r.SrcToken}, "dstToken": {r.DstToken},
		"srcChain": {strconv.FormatUint(r.SrcChain, 10)}, "dstChain": {strconv.FormatUint(r.DstChain, 10)},
		"amount": {r.Amount.String()}, "recipient": {r.Recipient},
		"include": {"details"},
	}
	if r.From != none {
		query.Set("from", r.From.Hex())
	}
	if r.Integrator != none {
		query.Set("integratorId", r.Integrator.Hex())
	}
	if r.Simulate {
		query.Set("include", "details,simulation")
	}
	return "/v3/swap/quote?" + query.Encode(), nil
}

// integratorID names the integrator to the contracts.
func (r Request) integratorID() [32]byte { return common.BytesToHash(r.Integrator[:]) }

var privateRecipients = regexp.MustCompile(`^(0zk1[02-9ac-hj-np-z]{123}|0ZK1[02-9AC-HJ-NP-Z]{123})$`)

const lost = "funds sent there are lost"

// recipientOf gives the bytes that must name an EVM recipient, or nil for a private one. It refuses a recipient that
// cannot own money, among them every token and every contract that is known or listed, on whichever chain.
func (r Request) recipientOf(p *Pair, k Known) ([]byte, error) {
	if p.Shields {
		if !privateRecipients.MatchString(r.Recipient) {
			return nil, errors.New("the recipient must be a 0zk address")
		}
		return nil, nil
	}
	address, err := known.ParseAddress(r.Recipient)
	if err != nil {
		return nil, fmt.Errorf("the recipient %w", err)
	}
	if what := known.Unpayable(address); what != "" {
		return nil, fmt.Errorf("the recipient %s is %s: "+lost, address, what)
	}
	if k.Listing.Has(address) || k.Routers != nil && k.Routers.has(address) {
		return nil, fmt.Errorf("the recipient %s is a token or a contract of the service: "+lost, address)
	}
	return address[:], nil
}

// Has tells whether an address is a token or a contract of the listing, so that nobody's money should be sent there.
func (l *Listing) Has(address common.Address) bool {
	return slices.ContainsFunc(l.Tokens, func(row ListedToken) bool { return known.IsAddress(row.Address, address) }) ||
		slices.ContainsFunc(l.Pairs, func(row ListedPair) bool { return known.IsAddress(row.To, address) }) ||
		known.IsAddress(l.Settlement.Receiver, address)
}

func (r *Routers) has(address common.Address) bool {
	isRow := func(row Router) bool {
		return known.IsAddress(row.Router, address) || known.IsAddress(row.Token, address)
	}
	return slices.ContainsFunc(r.Data, isRow) || known.IsAddress(r.Settlement.Receiver, address)
}
