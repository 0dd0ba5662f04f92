package gateway

import (
	"context"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/wire"
)

// compare says what the current version makes of a query that an old version
// understood as old and has answered. Versions that understand a query as the
// same Request quote it alike, since one core answers them all.
func (g *Gateway) compare(old *quote.Request, rawQuery string) Finding {
	current, err := g.modules[0].Decode(rawQuery)
	if err != nil {
		e := fault.From(err)
		return Finding{Outcome: Refused, Code: e.Code, Param: wire.Param(e)}
	}
	if same, differs := current.Same(old); !same {
		return Finding{Outcome: DifferentMoney, Param: wire.Name(differs)}
	}
	return Finding{Outcome: SameMoney}
}

// noting is a Quoter that notes on the trace of a request what was quoted.
type noting struct{ Quoter }

func (n noting) Quote(ctx context.Context, req *quote.Request) (*quote.Quote, error) {
	q, err := n.Quoter.Quote(ctx, req)
	if t, ok := ctx.(*trace); ok && err == nil {
		t.quoted, t.event.Pair = req, q.Pair
	}
	return q, err
}
