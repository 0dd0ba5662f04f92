// Package gateway is the front door: it mounts the versions, gives every
// request its ID, its client's address, its place in the version's life, its
// share of the budget and its deadline, and alone replies to errors, in the
// dialect of the version that was addressed.
package gateway

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/web"
)

const (
	// requestTimeout bounds how long one answer may take.
	requestTimeout = 10 * time.Second
	// maxURL bounds path and query together. The longest lawful quote request
	// is below 600 bytes.
	maxURL = 4 << 10
)

// Parts is what a Gateway is put together from.
type Parts struct {
	// Modules are the versions. The first is the current one, which answers
	// for paths that belong to none.
	Modules []web.Module
	Limiter *limit.Limiter
	Log     *slog.Logger
}

// Gateway is the public handler.
type Gateway struct {
	http.Handler

	log         *slog.Logger
	modules     []web.Module
	legacyHosts map[string]bool
	limited     func(http.Handler) http.Handler
}

// New mounts the versions.
func New(cfg Config, parts Parts) *Gateway {
	g := &Gateway{log: parts.Log, modules: parts.Modules, legacyHosts: cfg.hosts()}
	g.limited = parts.Limiter.Middleware(g.fail)
	router := chi.NewRouter()
	router.Use(g.observe, allowOrigins(), g.recover, g.boundURL, parts.Limiter.ClientIP)
	for path, revisions := range g.routes() {
		router.Get(path, revisions.ServeHTTP)
		router.Head(path, revisions.ServeHTTP)
	}
	router.NotFound(func(w http.ResponseWriter, r *http.Request) {
		g.fail(w, r, fault.New(fault.NotFound, "There is nothing at this path; /%s/openapi.yaml describes what there is", g.module(r).Name))
	})
	router.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		g.fail(w, r, fault.New(fault.MethodNotAllowed, "Use GET: every endpoint only reads"))
	})
	g.Handler = router
	return g
}

// boundURL refuses what no client of ours would send before anything reads it.
func (g *Gateway) boundURL(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.RequestURI) > maxURL {
			g.fail(w, r, fault.New(fault.InvalidParameter, "The URL is longer than %d bytes", maxURL))
			return
		}
		next.ServeHTTP(w, r)
	})
}
