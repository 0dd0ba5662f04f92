package v3

import (
	"embed"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/web"
)

// clientFiles are the client module, an npm package that is also served.
//
//go:embed client/*.js client/*.d.ts
var clientFiles embed.FS

// clientRoutes serve the module for browsers, and its types for those who copy it. The part that checks has a path of its own besides.
func clientRoutes() []web.Route {
	serve := func(path, name string) web.Route {
		kind := "text/javascript; charset=utf-8"
		if strings.HasSuffix(name, ".d.ts") {
			kind = "text/plain; charset=utf-8"
		}
		body, err := clientFiles.ReadFile("client/" + name)
		if err != nil {
			panic("the client lacks a file: " + err.Error())
		}
		return web.Route{Path: path, Handle: web.Document(kind, body, 5*time.Minute), Free: true}
	}
	routes := []web.Route{serve("/v3/verify.js", "verify.js")}
	for _, name := range []string{"index.js", "index.d.ts", "verify.js", "verify.d.ts"} {
		routes = append(routes, serve("/v3/client/"+name, name))
	}
	return routes
}
