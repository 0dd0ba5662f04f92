package v3

import (
	"slices"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/wire"
)

// params are the query parameters of a quote.
var params = append(slices.Clone(wire.Params), "integratorId")

func decodeQuote(q *wire.Query) (quote.Request, error) {
	req, err := wire.DecodeSwap(q, chain.ParseID)
	if err == nil {
		req.Integrator, err = q.Integrator()
	}
	return req, err
}
