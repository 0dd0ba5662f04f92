package v3

import (
	"encoding/json"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/wire"
)

type quoteBody struct {
	To               string         `json:"to"`
	SrcToken         wire.Token     `json:"srcToken"`
	DestToken        wire.Token     `json:"destToken"`
	SrcAmount        string         `json:"srcAmount"`
	DestAmount       string         `json:"destAmount"`
	Fee              feeBody        `json:"fee"`
	Approval         *wire.Approval `json:"approval,omitempty"`
	MethodParameters wire.Call      `json:"methodParameters"`
	Route            wire.Route     `json:"route"`
}

type feeBody struct {
	ChainID    chain.ID       `json:"chainId"`
	Token      string         `json:"token"`
	Protocol   protocolBody   `json:"protocol"`
	Integrator integratorBody `json:"integrator"`
	Total      totalBody      `json:"total"`
}

type protocolBody struct {
	Percentage json.Number `json:"percentage"`
	Amount     string      `json:"amount"`
}

type integratorBody struct {
	Percentage json.Number `json:"percentage"`
	Amount     string      `json:"amount"`
	ID         string      `json:"id,omitempty"`
	Address    string      `json:"address,omitempty"`
}

type totalBody struct {
	Amount string `json:"amount"`
}

func mapQuote(q *quote.Quote) quoteBody {
	return quoteBody{
		To:               q.To.String(),
		SrcToken:         wire.MapToken(q.Pair.SrcToken),
		DestToken:        wire.MapToken(q.Pair.DstToken),
		SrcAmount:        q.SrcAmount.Dec(),
		DestAmount:       q.DestAmount.Dec(),
		Fee:              mapFee(&q.Fee),
		Approval:         wire.MapApproval(q.Approval),
		MethodParameters: wire.MapCall(q),
		Route:            wire.MapRoute(q.Pair.Route),
	}
}

func mapFee(f *quote.Fee) feeBody {
	total := f.Total()
	body := feeBody{
		ChainID:    f.ChainID,
		Token:      "destination",
		Protocol:   protocolBody{wire.Percentage(f.ProtocolBPS), f.Protocol.Dec()},
		Integrator: integratorBody{Percentage: wire.Percentage(fee.BPS(f.Partner.FeeBPS)), Amount: f.Integrator.Dec()},
		Total:      totalBody{total.Dec()},
	}
	if f.Partner != (integrator.Partner{}) {
		body.Integrator.ID = f.Partner.ID.String()
		body.Integrator.Address = f.Partner.Wallet.String()
	}
	return body
}
