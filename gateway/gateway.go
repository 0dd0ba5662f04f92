// Package gateway is the public HTTP handler. It mounts the versions. For every
// request it sets an ID, finds out who the client is, applies the
// lifecycle of the version and the rate limits, and reports one Event. Only
// the gateway replies to errors, in the format of the requested version.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/web"
)

const (
	// requestTimeout bounds how long a request may wait for nodes or the database.
	requestTimeout = 10 * time.Second
	// maxURL bounds path and query together. The longest valid quote request
	// has less than 600 bytes.
	maxURL = 4 << 10
	// maxMethod is how much of a method is logged.
	maxMethod = 16
)

type Parts struct {
	Modules         []web.Module // the versions; Current also answers errors for paths that belong to none
	RetiredVersions []RetiredVersion
	Lifecycle       *lifecycle.Keeper
	Limiter         *limit.Limiter
	Proxies         caller.Proxies  // whose X-Forwarded-For is trusted
	Clients         *caller.Clients // those with a name or a key; nil: none
	Usage           Usage
	Observers       []event.Observer // called for every answered request, in this order
	Log             *slog.Logger
}

// Usage is what is recorded about clients.
type Usage interface {
	// Name makes a name for a client that does not reveal its address.
	Name(caller.Identity) string
	// Own is what a known client did on each version, at a cost that does not grow with
	// the number of clients.
	Own(ctx context.Context, client string) ([]lifecycle.Own, error)
}

type Gateway struct {
	http.Handler
	Parts
	current     *web.Module
	legacyHosts map[string]bool
	endpoints   map[string]*endpoint // by path
}

func New(cfg Config, parts Parts) *Gateway {
	g := &Gateway{Parts: parts, current: find(parts.Modules, Current), legacyHosts: map[string]bool{}}
	for _, host := range cfg.LegacyHosts {
		g.legacyHosts[strings.ToLower(host)] = true
	}
	router := chi.NewRouter()
	router.Use(
		g.observe,
		g.recoverPanics,
		allowOrigins(),
		g.identify, // from here on the caller is known
		g.limitAll,
		g.boundURL,
	)
	g.mount(router)
	g.Handler = router
	return g
}

// legacy is the revision for the hosts in LEGACY_HOSTS.
const legacy = "legacy"

// revisionHeader names a revision: API-Revision, in canonical form.
const revisionHeader = "Api-Revision"

func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// module is the version that a request is for, and whether the path belongs to
// it. For other paths it is the current version.
func (g *Gateway) module(r *http.Request) (m *web.Module, owned bool) {
	if at := g.endpoints[r.URL.Path]; at != nil && at.shared {
		if route, _ := g.route(at, r); route.module != nil {
			return route.module, true
		}
	}
	begins := func(prefix string) bool { return strings.HasPrefix(r.URL.Path, prefix) }
	for i := range g.Modules {
		if slices.ContainsFunc(g.Modules[i].Prefixes, begins) {
			return &g.Modules[i], true
		}
	}
	return g.current, false
}

type Config struct {
	LegacyHosts   []string `env:"LEGACY_HOSTS"`   // Host names whose /v3/swap/quote is the earlier v3
	LifecycleFile string   `env:"LIFECYCLE_FILE"` // the retirement plan; empty: all versions are active
}

func (c *Config) Validate() error {
	var problems []error
	for _, host := range c.LegacyHosts {
		if host == "" || strings.ContainsAny(host, "/: ") {
			problems = append(problems,
				fmt.Errorf("LEGACY_HOSTS: %q is not a host name; write it without scheme, port or path", host))
		}
	}
	return errors.Join(problems...)
}
