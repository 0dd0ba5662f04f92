// Package gateway is the public HTTP handler. It mounts the versions. For every
// request it sets an ID and a deadline, finds out who the client is, applies the
// lifecycle of the version and the client's budget, and reports one Event. Only
// the gateway replies to errors, in the format of the requested version.
package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/web"
)

const (
	// requestTimeout bounds how long a request may take.
	requestTimeout = 10 * time.Second
	// maxURL bounds path and query together. The longest valid quote request
	// has less than 600 bytes.
	maxURL = 4 << 10
)

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

type Gateway struct {
	http.Handler
	Parts
	legacyHosts map[string]bool
}

func New(cfg Config, parts Parts) *Gateway {
	g := &Gateway{Parts: parts, legacyHosts: map[string]bool{}}
	for _, host := range cfg.LegacyHosts {
		g.legacyHosts[strings.ToLower(host)] = true
	}
	g.Handler = g.observe(g.protect(g.router()))
	return g
}

type Config struct {
	LegacyHosts   []string `env:"LEGACY_HOSTS"`   // Host names whose /v3/swap/quote is the earlier v3
	LifecycleFile string   `env:"LIFECYCLE_FILE"` // the retirement plan; empty: all versions are active
}

func (c *Config) Validate() error {
	var problems []error
	for _, host := range c.LegacyHosts {
		if host == "" || strings.ContainsAny(host, "/: ") {
			problems = append(problems, fmt.Errorf("LEGACY_HOSTS: %q is not a host name; write it without scheme, port or path", host))
		}
	}
	return errors.Join(problems...)
}
