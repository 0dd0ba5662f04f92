package client

import (
	"fmt"
	"math/big"
	"net/url"
	"strconv"

	"github.com/ethereum/go-ethereum/common"
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
	switch {
	case r.Amount == nil || r.Amount.Sign() <= 0 || r.Amount.BitLen() > 256:
		return refuse("the amount must be greater than zero and fit into 256 bits")
	case r.Simulate && !r.hasFrom():
		return refuse("a simulation needs the account that will send")
	}
	query := url.Values{
		"srcToken": {r.SrcToken}, "dstToken": {r.DstToken},
		"srcChain": {decimal(r.SrcChain)}, "dstChain": {decimal(r.DstChain)},
		"amount": {r.Amount.String()}, "recipient": {r.Recipient},
		"include": {"details"},
	}
	if r.hasFrom() {
		query.Set("from", r.From.Hex())
	}
	if r.hasIntegrator() {
		query.Set("integratorId", r.Integrator.Hex())
	}
	if r.Simulate {
		query.Set("include", "details,simulation")
	}
	return "/v3/swap/quote?" + query.Encode(), nil
}

func (r Request) hasFrom() bool       { return r.From != common.Address{} }
func (r Request) hasIntegrator() bool { return r.Integrator != common.Address{} }

// integratorID names the integrator to the contracts.
func (r Request) integratorID() [32]byte { return common.BytesToHash(r.Integrator[:]) }

// integratorText is the same in an answer; empty for none.
func (r Request) integratorText() string {
	if !r.hasIntegrator() {
		return ""
	}
	return common.Hash(r.integratorID()).Hex()
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
