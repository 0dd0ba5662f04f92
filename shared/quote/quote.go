// Package quote is the core that all versions share: it turns a Request into a
// Quote. It knows no version, no HTTP and no JSON. A version expresses what it
// does differently in the Request, and maps the Quote to its own JSON.
package quote

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/account"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/integrator"
)

// Config says how long the operator stands by a quote.
type Config struct {
	TTL time.Duration `env:"QUOTE_TTL, default=60s"`
}

// Validate reports a time that no wallet or no operator could live with.
func (c Config) Validate() error {
	if c.TTL < 5*time.Second || c.TTL > time.Hour {
		return fmt.Errorf("QUOTE_TTL: %v is not between 5s and 1h", c.TTL)
	}
	return nil
}

// Request asks for a swap of an amount of one token to a token on another chain.
type Request struct {
	SrcChain, DstChain chain.ID
	SrcToken, DstToken string      // symbol or address, as the caller wrote it
	Amount             uint256.Int // of the source token, in its smallest unit
	Recipient          Recipient
	Integrator         integrator.ID // zero for none

	Details  bool            // also explain the quote
	From     *common.Address // who will send it, nil for unknown; only with Details
	Simulate bool            // also try the transactions on the chain; only with From
}

// Same reports whether two requests ask for the same quote and, if not, the
// first part in which they differ. Tokens are compared as text. Details change
// nothing about a quote, so they are not compared.
func (r *Request) Same(other *Request) (same bool, differs fault.Role) {
	switch {
	case r.SrcChain != other.SrcChain:
		return false, fault.SourceChain
	case r.DstChain != other.DstChain:
		return false, fault.DestinationChain
	case r.SrcToken != other.SrcToken:
		return false, fault.SourceToken
	case r.DstToken != other.DstToken:
		return false, fault.DestinationToken
	case r.Amount != other.Amount:
		return false, fault.Amount
	case !r.Recipient.same(other.Recipient):
		return false, fault.Recipient
	case r.Integrator != other.Integrator:
		return false, fault.Integrator
	}
	return true, 0
}

// Quote is a swap that can be signed: the two transactions and their result.
type Quote struct {
	Pair       *chain.Pair
	To         chain.Address // the contract that receives the source transaction
	SrcAmount  uint256.Int   // in the source token's smallest unit
	DestAmount uint256.Int   // what is left after the fees, in the destination token's
	Fee        Fee
	Approval   []byte // the calldata that lets To spend SrcAmount of the source token, nil if that is native
	Calldata   []byte
	Value      uint256.Int // native value to send, zero for an ERC-20 source
	Details    *Details    // nil if the request did not ask for them

	issuerFee cctp.State // of a burn
}

// Fee is what the swap costs, in the destination token's smallest unit.
type Fee struct {
	fee.Split
	ChainID     chain.ID // the network of the pool that pays out
	ProtocolBPS fee.BPS
	Partner     integrator.Partner // zero for none
}

// IssuerFees knows what a burn costs. It never waits and never fails.
type IssuerFees interface {
	Of(source chain.ID) cctp.State
}

// Integrators verifies a partner in the registry of a network.
type Integrators interface {
	Lookup(ctx context.Context, network chain.ID, id integrator.ID) (integrator.Partner, error)
}

// Accounts reads what somebody has on a network, and tries what somebody would send.
// The text of an error is for the client to read.
type Accounts interface {
	Read(ctx context.Context, token *chain.Token, owner, spender common.Address) (account.Holding, error)
	Simulate(ctx context.Context, network chain.ID, from common.Address, calls []account.Call) (*account.Simulation, error)
}

type Parts struct {
	Deployment  *chain.Deployment
	IssuerFees  IssuerFees
	Integrators Integrators
	Accounts    Accounts
	TTL         time.Duration    // how long a quote is valid at most
	Now         func() time.Time // nil for time.Now
}

// Engine quotes swaps on one deployment. It is safe for concurrent use.
type Engine struct{ Parts }

func NewEngine(parts Parts) *Engine {
	if parts.Now == nil {
		parts.Now = time.Now
	}
	return &Engine{parts}
}

// Quote answers a request. The calldata does what the caller asked for, or Quote
// returns an error.
func (e *Engine) Quote(ctx context.Context, req *Request) (*Quote, error) {
	q, err := e.resolve(req)
	if err != nil {
		return nil, err
	}
	if err = e.price(ctx, req, q); err == nil {
		err = e.encode(req, q)
	}
	if err == nil && req.Details {
		err = e.explain(ctx, req, q)
	}
	if err != nil {
		return nil, err
	}
	return q, nil
}

// resolve finds the pair and its contract, and checks that the recipient can be
// paid at the destination.
func (e *Engine) resolve(req *Request) (*Quote, error) {
	pair, err := chain.FindPair(req.SrcChain, req.SrcToken, req.DstChain, req.DstToken)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(req.Recipient.payableOn(pair.Dst), req.Recipient.canOwn(e.Deployment)); err != nil {
		return nil, err
	}
	return &Quote{Pair: pair, To: e.Deployment.Target(pair), SrcAmount: req.Amount}, nil
}

// price checks the amount and subtracts the fees.
func (e *Engine) price(ctx context.Context, req *Request, q *Quote) error {
	if err := fee.CheckLimits(&q.Pair.SrcToken, &req.Amount); err != nil {
		return fault.About(fault.Amount, err)
	}
	q.Fee.ChainID = e.Deployment.FeeChain(q.Pair.Dst)
	q.Fee.ProtocolBPS = fee.Protocol(q.Pair.Src, q.Pair.Dst)
	if req.Integrator != (integrator.ID{}) {
		partner, err := e.Integrators.Lookup(ctx, q.Fee.ChainID, req.Integrator)
		if err != nil {
			return fault.About(fault.Integrator, err)
		}
		q.Fee.Partner = partner
	}
	gross := fee.Convert(&req.Amount, q.Pair.SrcToken.Decimals, q.Pair.DstToken.Decimals)
	q.Fee.Split = fee.Divide(&gross, q.Fee.ProtocolBPS, fee.BPS(q.Fee.Partner.FeeBPS))
	q.DestAmount = q.Fee.Net
	return nil
}

// encode adds the calldata of both transactions to q.
func (e *Engine) encode(req *Request, q *Quote) error {
	recipient, kind, err := req.Recipient.encode()
	if err != nil {
		return err
	}
	swap := calldata.Swap{
		DstChainID:    uint64(q.Pair.Dst),
		Amount:        req.Amount,
		Recipient:     recipient,
		RecipientType: kind,
		DstToken:      q.Pair.DstToken.Address.Address,
		IntegratorID:  req.Integrator,
	}
	if q.Pair.Route == chain.CCTPInbound {
		err = e.encodeBurn(q, &swap)
	} else {
		q.Calldata = swap.Encode()
	}
	if err != nil {
		return err
	}
	if q.Pair.SrcToken.Native() {
		q.Value = req.Amount
	} else {
		q.Approval = calldata.Approve(q.To.Address, &req.Amount)
	}
	return nil
}

// encodeBurn encodes a burn that only the receiver on the settlement chain can
// send on to the hub.
func (e *Engine) encodeBurn(q *Quote, swap *calldata.Swap) error {
	q.issuerFee = e.IssuerFees.Of(q.Pair.Src)
	maxFee, err := q.issuerFee.Rate.MaxFee(&swap.Amount)
	if err != nil {
		return fault.About(fault.Amount, err)
	}
	burn := calldata.Burn{
		Swap:              *swap,
		DestinationDomain: e.Deployment.Settlement.Domain,
		Receiver:          e.Deployment.Settlement.Receiver.Address,
		BurnToken:         q.Pair.SrcToken.Address.Address,
		MaxFee:            maxFee,
	}
	q.Calldata = burn.Encode()
	return nil
}
