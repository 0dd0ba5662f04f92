package quote

import (
	"context"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/integrator"
)

// IssuerFees knows what a burn costs. It never waits and never fails.
type IssuerFees interface {
	Rate(source chain.ID) cctp.Rate
}

// Integrators verifies a partner in the registry of a network.
type Integrators interface {
	Lookup(ctx context.Context, network chain.ID, id integrator.ID) (integrator.Partner, error)
}

// Engine quotes swaps on one deployment. It is safe for concurrent use.
type Engine struct {
	deployment  *chain.Deployment
	fees        IssuerFees
	integrators Integrators
}

// NewEngine makes an engine for a deployment.
func NewEngine(deployment *chain.Deployment, fees IssuerFees, integrators Integrators) *Engine {
	return &Engine{deployment, fees, integrators}
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
	if err := req.Recipient.canOwn(pair, e.deployment); err != nil {
		return nil, err
	}
	return &Quote{Pair: pair, To: e.deployment.Target(pair), SrcAmount: req.Amount}, nil
}

// price checks the amount and subtracts the fees.
func (e *Engine) price(ctx context.Context, req *Request, q *Quote) error {
	if err := fee.CheckLimits(&q.Pair.SrcToken, &req.Amount); err != nil {
		return fault.About(fault.Amount, err)
	}
	q.Fee.ChainID = e.deployment.FeeChain(q.Pair.Dst)
	q.Fee.ProtocolBPS = fee.Protocol(q.Pair.Src, q.Pair.Dst)
	if req.Integrator != (integrator.ID{}) {
		partner, err := e.integrators.Lookup(ctx, q.Fee.ChainID, req.Integrator)
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
