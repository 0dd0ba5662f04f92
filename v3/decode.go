package v3

import (
	"slices"

	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/wire"
)

var params = slices.Concat(wire.Params, []string{"integratorId"}, api.DetailsParams)

func decodeQuote(d *chain.Deployment, q *wire.Query) (quote.Request, error) {
	req, err := wire.DecodeSwap(q, d.ParseID)
	if err != nil {
		return req, err
	}
	if req.Integrator, err = q.Integrator(); err != nil {
		return req, err
	}
	err = api.DecodeDetails(q, &req)
	return req, err
}
