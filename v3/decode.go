package v3

import (
	"slices"

	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
)

var params = slices.Concat(api.Params, []string{"integratorId"}, api.DetailsParams)

func decodeQuote(d *chain.Deployment, q api.Query) (quote.Request, error) {
	req, err := api.DecodeSwap(q, d.ParseID)
	if err != nil {
		return req, err
	}
	if req.Integrator, err = q.Integrator(); err != nil {
		return req, err
	}
	err = api.DecodeDetails(q, &req)
	return req, err
}
