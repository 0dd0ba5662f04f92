// Package v3 is the current version of the interface: a structured fee with
// integrators, an approval ready to send, and the kind of route.
package v3

import (
	"embed"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/static"
	"github.com/quotegate/quotegate/shared/version"
)

//go:embed openapi.yaml openapi.json
var contract embed.FS

// clientFiles are the client module, an npm package that is also served. They are compiled from client/npm/src.
//
//go:embed client/npm/*.js client/npm/*.d.ts
var clientFiles embed.FS

func Module(service api.Service) version.Module {
	quotes := api.Quotes{
		Deployment: service.Deployment, Quoter: service.Engine, Params: params, Read: decodeQuote, Map: mapQuote,
	}
	return version.Module{
		Name:     "v3",
		Prefixes: []string{"/v3/"},
		Routes: slices.Concat(
			[]version.Route{{Path: "/v3/swap/quote", Quotes: true, Handle: quotes.Handle}},
			api.Contract("v3", contract),
			service.Routes("v3"),
			clientRoutes(),
		),
		Revision: version.Revision{
			Path: "/v3/swap/quote", Names: []string{"v3", "current"}, Serves: "/v3/swap/quote",
		},
		Decode:   quotes.Decode,
		MapFault: api.MapFault,
	}
}

// clientRoutes serve the module for browsers, and its types. The part that checks has a
// path of its own besides, for those who read, copy and pin it.
func clientRoutes() []version.Route {
	const folder = "client/npm"
	files, err := clientFiles.ReadDir(folder)
	if err != nil {
		panic("the client is not embedded: " + err.Error())
	}
	paths := map[string]string{"/v3/verify.js": "verify.js"}
	for _, file := range files {
		paths["/v3/client/"+file.Name()] = file.Name()
	}
	var routes []version.Route
	for _, at := range slices.Sorted(maps.Keys(paths)) {
		body, err := clientFiles.ReadFile(path.Join(folder, paths[at]))
		if err != nil {
			panic("the client lacks a file: " + err.Error())
		}
		kind := "text/javascript; charset=utf-8"
		if strings.HasSuffix(at, ".d.ts") {
			kind = "text/plain; charset=utf-8"
		}
		routes = append(routes, version.Route{Path: at, Handle: static.Document(kind, body, 5*time.Minute), Free: true})
	}
	return routes
}
