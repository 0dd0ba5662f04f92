package v3

import (
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/wire"
)

func mapQuote(q *quote.Quote) *wire.Body {
	b := wire.NewBody(q)
	mapFee(b, &q.Fee)
	b.Approval("approval", &q.Approval)
	b.Call("methodParameters", q)
	b.Route("route", q.Pair.Route)
	if q.Details != nil {
		mapDetails(b, q)
	}
	return b
}

// mapFee writes both fees, in the destination token's smallest unit.
func mapFee(b *wire.Body, f *quote.Fee) {
	total := f.Total()
	b.Open("fee")
	b.Number("chainId", uint64(f.ChainID))
	b.Text("token", "destination")
	b.Open("protocol")
	b.Percentage("percentage", f.ProtocolBPS)
	b.Amount("amount", &f.Protocol)
	b.Close()
	b.Open("integrator")
	b.Percentage("percentage", fee.BPS(f.Partner.FeeBPS))
	b.Amount("amount", &f.Integrator)
	if f.Partner != (integrator.Partner{}) {
		b.Hex("id", f.Partner.ID[:])
		b.Text("address", f.Partner.Wallet.String())
	}
	b.Close()
	b.Open("total")
	b.Amount("amount", &total)
	b.Close()
	b.Close()
}
