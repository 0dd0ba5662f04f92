// Package v1 is the first version of the interface: fewer chains, a flat fee
// in the source token's unit, no approval, and a route of paths and swaps.
package v1

import (
	"context"
	_ "embed"
	"net/http"

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
func Module(quoter Quoter) web.Module {
	h := handler{quoter}
	return web.Module{
		Name:     "v1",
		Prefixes: []string{"/v1/", "/swap/v1/"},
		Routes: []web.Route{
			{Path: "/v1/quote", Quotes: true, Handle: h.quote},
			{Path: "/swap/v1/quote", Quotes: true, Handle: h.quote},
			{Path: "/v1/openapi.yaml", Handle: wire.Contract(contract), Free: true},
		},
		Decode:   wire.Decoder(decodeQuote),
		MapFault: mapFault,
		Moves: []string{
			"Call /v3/swap/quote instead of /v1/quote or /swap/v1/quote.",
			"Read the fee from fee.protocol.percentage and fee.protocol.amount. The amount is in the smallest unit of the destination token, no longer of the source token.",
			"Read the contract from \"to\" and the tokens from srcToken and destToken; route.paths and route.swaps are gone.",
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
	switch given := query.Has("recipient"); {
	case req.Recipient.Zero() && given:
		w.Header().Add(wire.QuoteWarning, "the recipient is the zero address, so what this calldata sends is lost: do not sign it")
	case req.Recipient.Zero():
		w.Header().Add(wire.QuoteWarning, "no recipient was given, so this calldata pays the zero address: do not sign it")
	}
	return mapQuote(q).Send(w)
}
