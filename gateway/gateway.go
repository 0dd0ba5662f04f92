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

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
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
	Modules   []web.Module
	Life      *lifecycle.Keeper
	Limiter   *limit.Limiter
	Proxies   caller.Proxies // whose X-Forwarded-For is believed
	Names     Namer
	Observers []Observer // told of every answered request, in this order
	Log       *slog.Logger
}

// Namer knows how to call a client without telling its address.
type Namer interface {
	Name(caller.Identity) string
}

// Gateway is the public handler.
type Gateway struct {
	http.Handler

	modules     []web.Module
	life        *lifecycle.Keeper
	limiter     *limit.Limiter
	proxies     caller.Proxies
	names       Namer
	observers   []Observer
	log         *slog.Logger
	legacyHosts map[string]bool
}

// New mounts the versions.
func New(cfg Config, parts Parts) *Gateway {
	g := &Gateway{
		modules: parts.Modules, life: parts.Life, limiter: parts.Limiter, proxies: parts.Proxies,
		names: parts.Names, observers: parts.Observers, log: parts.Log, legacyHosts: cfg.hosts(),
	}
	router := chi.NewRouter()
	router.Use(allowOrigins(), g.recover, g.boundURL)
	for path, revisions := range g.routes() {
		router.Get(path, revisions.ServeHTTP)
		router.Head(path, revisions.ServeHTTP)
	}
	router.Get("/versions", g.versions)
	router.Head("/versions", g.versions)
	router.NotFound(func(w http.ResponseWriter, r *http.Request) {
		m, _ := g.module(r)
		g.refuse(w, r, fault.New(fault.NotFound, "There is nothing at this path; /%s/openapi.yaml describes what there is", m.Name))
	})
	router.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		if r.Method == http.MethodOptions { // a preflight has been answered before
			w.WriteHeader(http.StatusNoContent)
			return
		}
		g.refuse(w, r, fault.New(fault.MethodNotAllowed, "Use GET: every endpoint only reads"))
	})
	g.Handler = g.observe(router)
	return g
}

// boundURL refuses what no client of ours would send before any route reads it.
func (g *Gateway) boundURL(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.RequestURI) > maxURL {
			g.refuse(w, r, fault.New(fault.InvalidParameter, "The URL is longer than %d bytes", maxURL))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// versions answers what there is to know about every version.
func (g *Gateway) versions(w http.ResponseWriter, r *http.Request) {
	if err := web.JSON(w, http.StatusOK, g.life.Document()); err != nil {
		g.fail(w, r, err)
	}
}
