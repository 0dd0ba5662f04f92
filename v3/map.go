package v3

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
	b.Fee("fee", &q.Fee)
	b.Approval("approval", q)
	b.Call("methodParameters", q)
	b.Route("route", q.Pair.Route)
	api.MapDetails(b, q)
	return b
}
