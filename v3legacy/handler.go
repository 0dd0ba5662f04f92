// Package v3legacy is the earlier revision of v3: a flat fee, no integrators
// and no health check. Its clients can keep the v3 URL: a header or the host
// name selects this revision.
package v3legacy

import (
	"embed"

	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/version"
)

//go:embed openapi.yaml openapi.json
var contract embed.FS

func Module(service api.Service) version.Module {
	quotes := api.Quotes{
		Deployment: service.Deployment, Quoter: service.Engine, Params: api.Params, Read: decodeQuote, Map: mapQuote,
	}
	return version.Module{
		Name:     "v3legacy",
		Prefixes: []string{"/v3legacy/"},
		Routes: append([]version.Route{
			{Path: "/v3legacy/swap/quote", Quotes: true, Handle: quotes.Handle},
			{Path: "/v3legacy/app/routers", Handle: service.Routers()},
		}, api.Contract("v3legacy", contract)...),
		Revision: version.Revision{
			Path: "/v3/swap/quote", Names: []string{"legacy"}, Serves: "/v3legacy/swap/quote",
		},
		Decode:   quotes.Decode,
		MapFault: api.MapFault,
		Next:     "v3",
		Moves: []string{
			"Call the current host, without the header API-Revision.",
			"Read the fee from fee.protocol.percentage and fee.protocol.amount; the numbers mean the same.",
		},
	}
}
