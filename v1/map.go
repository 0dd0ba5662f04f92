package v1

import (
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/wire"
)

func mapQuote(q *quote.Quote) *wire.Body {
	src, dst := q.Pair.SrcToken.Address.String(), q.Pair.DstToken.Address.String()
	fee := q.Fee.ProtocolBPS.Of(&q.SrcAmount)
	b := wire.NewBody(q)
	b.Open("fee") // flat, in the source token's smallest unit
	b.Percentage("percentage", q.Fee.ProtocolBPS)
	b.Amount("amount", &fee)
	b.Close()
	b.Call("methodParameters", q)
	b.Open("route")
	b.Texts("paths", src, dst)
	b.OpenArray("swaps")
	b.Text("pool", q.To.String())
	b.Text("in", src)
	b.Text("out", dst)
	b.CloseArray()
	b.Close()
	return b
}
