// Package gateway is the public HTTP handler. It mounts the versions. For every
// request it sets an ID and a deadline, finds out who the client is, applies the
// lifecycle of the version and the client's budget, and reports one Event. Only
// the gateway replies to errors, in the format of the requested version.
package gateway

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/web"
)

const (
	// requestTimeout bounds how long a request may take.
	requestTimeout = 10 * time.Second
	// maxURL bounds path and query together. The longest valid quote request
	// has less than 600 bytes.
	maxURL = 4 << 10
)

// Parts of a Gateway.
type Parts struct {
	// Modules are the versions. The first is the current one. It also answers
	// errors for paths that belong to no version.
	Modules   []web.Module
	Lifecycle *lifecycle.Keeper
	Limiter   *limit.Limiter
	Proxies   caller.Proxies  // whose X-Forwarded-For is trusted
	Clients   *caller.Clients // those with a name or a key; nil: none
	Names     Namer
	Observers []event.Observer // called for every answered request, in this order
	Log       *slog.Logger
}

// Namer makes a name for a client that does not reveal its address.
type Namer interface {
	Name(caller.Identity) string
}

// Gateway is the public handler.
type Gateway struct {
	http.Handler

	modules     []web.Module
	lifecycle   *lifecycle.Keeper
	limiter     *limit.Limiter
	proxies     caller.Proxies
	clients     *caller.Clients
	names       Namer
	observers   []event.Observer
	log         *slog.Logger
	legacyHosts map[string]bool
}

// New mounts the versions.
func New(cfg Config, parts Parts) *Gateway {
	g := &Gateway{
		modules: parts.Modules, lifecycle: parts.Lifecycle, limiter: parts.Limiter, proxies: parts.Proxies, clients: parts.Clients,
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

// boundURL refuses a URL that is too long before any route reads it.
func (g *Gateway) boundURL(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.RequestURI) > maxURL {
			g.refuse(w, r, fault.New(fault.InvalidParameter, "The URL is longer than %d bytes", maxURL))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// versions answers with the lifecycle of every version.
func (g *Gateway) versions(w http.ResponseWriter, r *http.Request) {
	if err := web.JSON(w, http.StatusOK, g.lifecycle.Document()); err != nil {
		g.fail(w, r, err)
	}
}
