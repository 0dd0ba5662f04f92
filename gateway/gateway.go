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
	"net/http"
	"regexp"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/version"
)

type Parts struct {
	Modules         []version.Module // the versions; Current also answers errors for paths that belong to none
	RetiredVersions []RetiredVersion
	Lifecycle       *lifecycle.Keeper
	Limiter         *limit.Limiter
	Proxies         caller.Proxies  // whose X-Forwarded-For is trusted
	Clients         *caller.Clients // those with a name or a key; nil: none
	Names           Namer
	Usage           Usage
	Observers       []event.Observer // called for every answered request, in this order
	Log             *slog.Logger
}

// Namer makes a name for a client that does not reveal its address.
type Namer interface {
	Name(caller.Identity) string
}

// Usage is what a known client did on each version, at a cost that does not grow with the
// number of clients.
type Usage interface {
	Own(ctx context.Context, client, plan string, versions []lifecycle.Standing) (usage.Own, error)
}

// New returns the public handler.
func New(cfg Config, parts Parts) http.Handler {
	g := &gateway{
		Parts:     parts,
		current:   find(parts.Modules, Current),
		revisions: newRevisions(parts.Modules, parts.RetiredVersions, cfg.LegacyHosts),
	}
	return g.routes()
}

type gateway struct {
	Parts
	current   *version.Module
	revisions revisions
}

type Config struct {
	LegacyHosts   []string `env:"LEGACY_HOSTS"`   // Host names whose /v3/swap/quote is the earlier v3
	LifecycleFile string   `env:"LIFECYCLE_FILE"` // the retirement plan; empty: all versions are active
}

func (c *Config) Validate() error {
	var problems []error
	for _, host := range c.LegacyHosts {
		if !hostNames.MatchString(host) || len(host) > maxHostName {
			problems = append(problems, fmt.Errorf("LEGACY_HOSTS: %q is not a host name such as old.example.org; "+
				"write letters, digits, hyphens and dots, without scheme, port or path, and each host by itself: "+
				"there are no wildcards", host))
		}
	}
	return errors.Join(problems...)
}

const (
	maxHostName = 253
	hostLabel   = `[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?` // names of containers may have underscores
)

// hostNames match the name in a Host header, without port and final dot.
var hostNames = regexp.MustCompile(`(?i)^(` + hostLabel + `\.)*` + hostLabel + `$`)
