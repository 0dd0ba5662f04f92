// Package v3 is the current version of the interface: a structured fee with
// integrators, an approval ready to send, and the kind of route.
package v3

import (
	"context"
	"embed"
	"path"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/status"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/wire"
)

// Tracker tells what became of a transaction.
type Tracker interface {
	Status(ctx context.Context, src chain.ID, hash common.Hash) (*status.Status, error)
	Ready() bool         // whether the status of every swap can be told
	Missing() []chain.ID // the chains that swaps are followed on, and that have no endpoint
}

//go:embed openapi.yaml
var contract []byte

// clientFiles are the client module, an npm package that is also served.
//
//go:embed client/*.js client/*.d.ts
var clientFiles embed.FS

func Module(quoter wire.Quoter, tracker Tracker, deployment *chain.Deployment, health Health) web.Module {
	h := handler{tracker, deployment, health}
	quotes := wire.Quotes{Quoter: quoter, Params: params, Decode: decodeQuote, Map: mapQuote}
	return web.Module{
		Name:     "v3",
		Prefixes: []string{"/v3/"},
		Routes: append([]web.Route{
			{Path: "/v3/swap/quote", Quotes: true, Handle: quotes.Handle},
			{Path: "/v3/swap/status", Polled: true, Handle: h.status},
			{Path: "/v3/swap/healthcheck", Handle: h.healthcheck, Free: true},
			{Path: "/v3/app/routers", Listing: true, Handle: wire.ListRouters(deployment)},
			{Path: "/v3/app/pairs", Listing: true, Handle: web.JSONDocument(mapPairs(deployment, tracker != nil && tracker.Ready()), wire.ListingAge)},
			{Path: "/v3/openapi.yaml", Handle: wire.Contract(contract), Free: true},
		}, clientRoutes()...),
		Decode:   wire.Decoder(decodeQuote),
		MapFault: wire.MapFault,
	}
}

// clientRoutes serve the module for browsers, and its types for those who copy it. The part that checks has a path of its own besides.
func clientRoutes() []web.Route {
	var routes []web.Route
	for _, at := range []string{"/v3/verify.js", "/v3/client/index.js", "/v3/client/index.d.ts", "/v3/client/verify.js", "/v3/client/verify.d.ts"} {
		body, err := clientFiles.ReadFile("client/" + path.Base(at))
		if err != nil {
			panic("the client lacks a file: " + err.Error())
		}
		kind := "text/javascript; charset=utf-8"
		if strings.HasSuffix(at, ".d.ts") {
			kind = "text/plain; charset=utf-8"
		}
		routes = append(routes, web.Route{Path: at, Handle: web.Document(kind, body, 5*time.Minute), Free: true})
	}
	return routes
}

type handler struct {
	tracker    Tracker
	deployment *chain.Deployment
	health     Health
}
