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

// Gateway is the public handler.
type Gateway struct {
	http.Handler

	log         *slog.Logger
	modules     []web.Module
	legacyHosts map[string]bool
}

// New mounts the modules. The first is the current version, which answers for
// paths that belong to none.
func New(cfg Config, modules []web.Module, log *slog.Logger) *Gateway {
	g := &Gateway{log: log, modules: modules, legacyHosts: cfg.hosts()}
	router := chi.NewRouter()
	router.Use(g.observe, allowOrigins(), g.recover, g.boundURL)
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
