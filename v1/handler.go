// Package v1 is the first version of the interface: fewer chains, a flat fee
// in the source token's unit, no approval, and a route of paths and swaps.
package v1

import (
	"embed"

	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/version"
)

//go:embed openapi.yaml openapi.json
var contract embed.FS

func Module(service api.Service) version.Module {
	quotes := api.Quotes{
		Deployment: service.Deployment, Quoter: service.Engine, Params: api.Params,
		Read: decodeQuote, Warn: warnOfZero, Map: mapQuote,
	}
	return version.Module{
		Name:     "v1",
		Prefixes: []string{"/v1/", "/swap/v1/"},
		Routes: append([]version.Route{
			{Path: "/v1/quote", Quotes: true, Handle: quotes.Handle},
			{Path: "/swap/v1/quote", Quotes: true, Handle: quotes.Handle},
		}, api.Contract("v1", contract)...),
		Decode:   quotes.Decode,
		MapFault: mapFault,
		Next:     "v3",
		Moves: []string{
			"Read the fee from fee.protocol.percentage and fee.protocol.amount. " +
				"The amount is in the smallest unit of the destination token, no longer of the source token.",
			"Read the contract from \"to\" and the tokens from srcToken and destToken; " +
				"route.paths and route.swaps are gone.",
		},
	}
}

// warnOfZero tells of calldata that pays nobody, which only this version gives.
func warnOfZero(query api.Query, recipient quote.Recipient) string {
	switch {
	case !recipient.Zero():
		return ""
	case query.Has("recipient"):
		return "the recipient is the zero address, so what this calldata sends is lost: do not sign it"
	}
	return "no recipient was given, so this calldata pays the zero address: do not sign it"
}
