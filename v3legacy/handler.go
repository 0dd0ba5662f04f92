// Package v3legacy is the earlier revision of v3: a flat fee, no integrators
// and no health check. Its clients can keep the v3 URL: a header or the host
// name selects this revision.
package v3legacy

import (
	"context"
	_ "embed"
	"net/http"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/wire"
)

// Quoter answers quote requests.
type Quoter interface {
	Quote(context.Context, *quote.Request) (*quote.Quote, error)
}

//go:embed openapi.yaml
var contract []byte

// Module is this version over a core.
func Module(quoter Quoter, deployment *chain.Deployment) web.Module {
	h := handler{quoter}
	return web.Module{
		Name:     "v3legacy",
		Prefixes: []string{"/v3legacy/"},
		Routes: []web.Route{
			{Path: "/v3legacy/swap/quote", Quotes: true, Handle: h.quote},
			{Path: "/v3/swap/quote", Revision: "legacy", Quotes: true, Handle: h.quote},
			{Path: "/v3legacy/app/routers", Listing: true, Handle: wire.ListRouters(deployment)},
			{Path: "/v3legacy/openapi.yaml", Handle: wire.Contract(contract), Free: true},
		},
		Decode:   wire.Decoder(decodeQuote),
		MapFault: wire.MapFault,
		Moves: []string{
			"Call /v3/swap/quote, on the current host and without the header API-Revision.",
			"Read the fee from fee.protocol.percentage and fee.protocol.amount; the numbers mean the same.",
		},
	}
}

type handler struct{ quoter Quoter }

func (h handler) quote(w http.ResponseWriter, r *http.Request) error {
	query := wire.QueryOf(r)
	wire.WarnOfSlips(w.Header(), query, wire.Params)
	req, err := decodeQuote(query)
	if err != nil {
		return err
	}
	q, err := h.quoter.Quote(r.Context(), &req)
	if err != nil {
		return err
	}
	return mapQuote(q).Send(w)
}
