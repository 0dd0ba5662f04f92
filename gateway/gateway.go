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
	"strings"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/version"
)

type Parts struct {
	Modules         []version.Module // the versions; Current also answers errors for paths that belong to none
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

// revisions tell which version answers at a path where several quote.
type revisions struct {
	path   string            // empty without such a path
	serves map[string]string // the path of the route that answers, by the name in API-Revision
	hosts  map[string]bool   // the Host names that stand for the earlier revision
}

// legacy is the revision that the hosts in LEGACY_HOSTS stand for.
const legacy = "legacy"

// newRevisions reads the revisions of all versions, and of those that were deleted.
func newRevisions(modules []version.Module, retired []RetiredVersion, legacyHosts []string) revisions {
	r := revisions{serves: map[string]string{}, hosts: map[string]bool{}}
	for _, m := range modules {
		for _, name := range m.Revision.Names {
			r.path = m.Revision.Path
			r.serves[name] = m.Revision.Serves
		}
	}
	for _, old := range retired {
		if old.Revision != "" {
			r.path = old.Successor
			r.serves[old.Revision] = old.Prefixes[0]
		}
	}
	for _, host := range legacyHosts {
		r.hosts[strings.ToLower(host)] = true
	}
	return r
}

// choose returns the path of the route that answers a request to the shared path: of the
// revision in the header API-Revision, else of the one that the host stands for. A slip in
// the header would change the format of the answer, so it is an error.
func (v *revisions) choose(r *http.Request) (path string, wrong *fault.Error) {
	path = v.path
	if old, served := v.serves[legacy]; served && len(v.hosts) > 0 && v.hosts[hostName(r.Host)] {
		path = old
	}
	given := r.Header["Api-Revision"]
	switch {
	case len(given) > 1:
		return path, fault.New(fault.InvalidParameter,
			"The header API-Revision is given %d times; send it once", len(given)).On("API-Revision")
	case len(given) == 0 || given[0] == "":
		return path, nil
	}
	named, known := v.serves[strings.ToLower(given[0])]
	if !known {
		return path, fault.New(fault.InvalidParameter,
			"Unknown API-Revision. Use a revision that the contract file lists, or omit the header").On("API-Revision")
	}
	return named, nil
}

func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
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
