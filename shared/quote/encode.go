package quote

import (
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

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
