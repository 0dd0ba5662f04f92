package v3legacy

import (
	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/quote"
)

func mapQuote(q *quote.Quote) *api.Body {
	b := api.NewBody()
	b.Address("to", q.To)
	b.Token("srcToken", &q.Pair.SrcToken)
	b.Token("destToken", &q.Pair.DstToken)
	b.Amount("srcAmount", &q.SrcAmount)
	b.Amount("destAmount", &q.DestAmount)
	b.Open("fee") // flat, in the destination token's smallest unit
	b.Percentage("percentage", q.Fee.ProtocolBPS)
	b.Amount("amount", &q.Fee.Protocol)
	b.Text("token", "destination")
	b.Close()
	b.Approval("approval", q)
	b.Call("methodParameters", q)
	b.Route("route", q.Pair.Route)
	return b
}
