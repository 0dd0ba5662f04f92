package gateway

import (
	"context"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/wire"
)

// compare decodes the query of a quote by an old version with the current
// version. If both decode it to the same Request, both give the same quote, as
// one core quotes for all versions.
func (g *Gateway) compare(old *quote.Request, rawQuery string) event.Finding {
	current, err := g.modules[0].Decode(rawQuery)
	if err != nil {
		e := fault.From(err)
		return event.Finding{Outcome: event.Refused, Code: e.Code, Param: wire.Param(e)}
	}
	if same, differs := current.Same(old); !same {
		return event.Finding{Outcome: event.DifferentMoney, Param: wire.Name(differs)}
	}
	return event.Finding{Outcome: event.SameMoney}
}

// recordingQuoter is a Quoter that records the quote in the request's trace.
type recordingQuoter struct{ Quoter }

func (r recordingQuoter) Quote(ctx context.Context, req *quote.Request) (*quote.Quote, error) {
	q, err := r.Quoter.Quote(ctx, req)
	if t, ok := ctx.(*trace); ok && err == nil {
		t.quoted, t.event.Pair = req, q.Pair
	}
	return q, err
}
