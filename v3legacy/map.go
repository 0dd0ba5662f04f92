package v3legacy

import (
	"encoding/json"

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

// feeBody is flat, in the destination token's smallest unit.
type feeBody struct {
	Percentage json.Number `json:"percentage"`
	Amount     string      `json:"amount"`
	Token      string      `json:"token"`
}

func mapQuote(q *quote.Quote) quoteBody {
	return quoteBody{
		To:               q.To.String(),
		SrcToken:         wire.MapToken(q.Pair.SrcToken),
		DestToken:        wire.MapToken(q.Pair.DstToken),
		SrcAmount:        q.SrcAmount.Dec(),
		DestAmount:       q.DestAmount.Dec(),
		Fee:              feeBody{wire.Percentage(q.Fee.ProtocolBPS), q.Fee.Protocol.Dec(), "destination"},
		Approval:         wire.MapApproval(q.Approval),
		MethodParameters: wire.MapCall(q),
		Route:            wire.MapRoute(q.Pair.Route),
	}
}
