package v1

import (
	"encoding/json"

	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/wire"
)

type quoteBody struct {
	To               string     `json:"to"`
	SrcToken         wire.Token `json:"srcToken"`
	DestToken        wire.Token `json:"destToken"`
	SrcAmount        string     `json:"srcAmount"`
	DestAmount       string     `json:"destAmount"`
	Fee              feeBody    `json:"fee"`
	MethodParameters wire.Call  `json:"methodParameters"`
	Route            routeBody  `json:"route"`
}

// feeBody is flat, in the source token's smallest unit.
type feeBody struct {
	Percentage json.Number `json:"percentage"`
	Amount     string      `json:"amount"`
}

type routeBody struct {
	Paths []string   `json:"paths"`
	Swaps []swapBody `json:"swaps"`
}

type swapBody struct {
	Pool string `json:"pool"`
	In   string `json:"in"`
	Out  string `json:"out"`
}

func mapQuote(q *quote.Quote) quoteBody {
	src, dst := wire.MapToken(q.Pair.SrcToken), wire.MapToken(q.Pair.DstToken)
	fee := q.Fee.ProtocolBPS.Of(&q.SrcAmount)
	return quoteBody{
		To:               q.To.String(),
		SrcToken:         src,
		DestToken:        dst,
		SrcAmount:        q.SrcAmount.Dec(),
		DestAmount:       q.DestAmount.Dec(),
		Fee:              feeBody{wire.Percentage(q.Fee.ProtocolBPS), fee.Dec()},
		MethodParameters: wire.MapCall(q),
		Route: routeBody{
			Paths: []string{src.Address, dst.Address},
			Swaps: []swapBody{{Pool: q.To.String(), In: src.Address, Out: dst.Address}},
		},
	}
}
