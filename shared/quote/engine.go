package quote

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/account"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/integrator"
)

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

// Parts of an Engine.
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

// NewEngine makes an engine.
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
	if err := e.price(ctx, req, q); err != nil {
		return nil, err
	}
	if err := e.encode(req, q); err != nil {
		return nil, err
	}
	if req.Details {
		if err := e.explain(ctx, req, q); err != nil {
			return nil, err
		}
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
	if err := req.Recipient.payableOn(pair.Dst); err != nil {
		return nil, err
	}
	if err := req.Recipient.canOwn(e.Deployment); err != nil {
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
	if q.Pair.Route == chain.CCTPInbound {
		err = e.encodeBurn(req, q, recipient, kind)
	} else {
		q.Calldata = encodeSwap(req, q, recipient, kind)
	}
	if err != nil {
		return err
	}
	if q.Pair.SrcToken.Native() {
		q.Value = req.Amount
		return nil
	}
	q.Approval = Approval{
		Token:    q.Pair.SrcToken.Address,
		Spender:  q.To,
		Amount:   req.Amount,
		Calldata: calldata.Approve(q.To.Address, &req.Amount),
	}
	return nil
}

func encodeSwap(req *Request, q *Quote, recipient []byte, kind uint8) []byte {
	swap := calldata.Swap{
		DstChainID:    uint64(q.Pair.Dst),
		Amount:        req.Amount,
		Recipient:     recipient,
		RecipientType: kind,
		DstToken:      q.Pair.DstToken.Address.Address,
		IntegratorID:  req.Integrator,
	}
	return swap.Encode()
}

// encodeBurn encodes a burn that only the receiver on the settlement chain can
// send on to the hub.
func (e *Engine) encodeBurn(req *Request, q *Quote, recipient []byte, kind uint8) error {
	q.issuerFee = e.IssuerFees.Of(q.Pair.Src)
	maxFee, err := q.issuerFee.Rate.MaxFee(&req.Amount)
	if err != nil {
		return fault.About(fault.Amount, err)
	}
	burn := calldata.Burn{
		Amount:            req.Amount,
		DestinationDomain: e.Deployment.Settlement.Domain,
		Receiver:          e.Deployment.Settlement.Receiver.Address,
		BurnToken:         q.Pair.SrcToken.Address.Address,
		MaxFee:            maxFee,
		Hook: calldata.Hook{
			DstChainID:    uint64(q.Pair.Dst),
			DstToken:      q.Pair.DstToken.Address.Address,
			IntegratorID:  req.Integrator,
			RecipientType: kind,
			Recipient:     recipient,
		},
	}
	q.Calldata = burn.Encode()
	return nil
}
