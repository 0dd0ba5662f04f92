// Package v3 is the current version of the interface: a structured fee with
// integrators, an approval ready to send, and the kind of route.
package v3

import (
	"embed"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/wire"
)

//go:embed openapi.yaml
var contract []byte

// clientFiles are the client module, an npm package that is also served.
//
//go:embed client/npm/*.js client/npm/*.d.ts
var clientFiles embed.FS

func Module(service api.Service) web.Module {
	quotes := wire.Quotes{
		Deployment: service.Deployment, Quoter: service.Engine, Params: params, Read: decodeQuote, Map: mapQuote,
	}
	return web.Module{
		Name:     "v3",
		Prefixes: []string{"/v3/"},
		Routes: slices.Concat(
			[]web.Route{
				{Path: "/v3/swap/quote", Revisions: []string{"", "v3", "current"}, Quotes: true, Handle: quotes.Handle},
				api.Contract("v3", contract),
			},
			service.Routes("v3"),
			clientRoutes(),
		),
		Decode:   quotes.Decode,
		MapFault: wire.MapFault,
	}
}

// clientRoutes serve the module for browsers, without its comments, and its types. The
// part that checks has a path of its own besides, where it is as it was written: for
// those who read, copy and pin it.
func clientRoutes() []web.Route {
	var routes []web.Route
	for _, at := range []string{
		"/v3/verify.js",
		"/v3/client/index.js", "/v3/client/index.d.ts",
		"/v3/client/verify.js", "/v3/client/verify.d.ts",
		"/v3/client/send.js", "/v3/client/send.d.ts",
		"/v3/client/payments.js", "/v3/client/wait.js",
		"/v3/client/amount.js", "/v3/client/amount.d.ts",
	} {
		body, err := clientFiles.ReadFile("client/npm/" + path.Base(at))
		if err != nil {
			panic("the client lacks a file: " + err.Error())
		}
		kind := "text/javascript; charset=utf-8"
		switch {
		case strings.HasSuffix(at, ".d.ts"):
			kind = "text/plain; charset=utf-8"
		case strings.HasPrefix(at, "/v3/client/"):
			body = []byte(web.MinifyScript(string(body)))
		}
		routes = append(routes, web.Route{Path: at, Handle: web.Document(kind, body, 5*time.Minute), Free: true})
	}
	return routes
}
