package v1

import (
	"slices"

	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
)

// mapFault offers no destination that this version does not know.
func mapFault(e *fault.Error, requestID string) (int, any) {
	known := *e
	unknown := func(a fault.Alternative) bool { return !slices.Contains(chains, a.Chain) }
	known.Alternatives = slices.DeleteFunc(slices.Clone(e.Alternatives), unknown)
	return api.MapFault(&known, requestID)
}

func mapQuote(q *quote.Quote) *api.Body {
	src, dst := q.Pair.SrcToken.Address.String(), q.Pair.DstToken.Address.String()
	fee := q.Fee.ProtocolBPS.Of(&q.SrcAmount)
	b := api.NewBody()
	b.Address("to", q.To)
	b.Token("srcToken", &q.Pair.SrcToken)
	b.Token("destToken", &q.Pair.DstToken)
	b.Amount("srcAmount", &q.SrcAmount)
	b.Amount("destAmount", &q.DestAmount)
	b.Open("fee") // flat, in the source token's smallest unit
	b.Percentage("percentage", q.Fee.ProtocolBPS)
	b.Amount("amount", &fee)
	b.Close()
	b.Call("methodParameters", q)
	b.Open("route")
	b.Texts("paths", src, dst)
	b.OpenArray("swaps")
	b.Address("pool", q.To)
	b.Text("in", src)
	b.Text("out", dst)
	b.CloseArray()
	b.Close()
	return b
}
