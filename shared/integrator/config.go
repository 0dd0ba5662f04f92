package integrator

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
)

// Config says through which endpoints the registries are read, and how long
// registrations are cached. Endpoints are http or https. On a chain without
// endpoints, integrators are refused.
type Config struct {
	RPC1    []SecretURL `env:"RPC_URLS_1"`
	RPC56   []SecretURL `env:"RPC_URLS_56"`
	RPC369  []SecretURL `env:"RPC_URLS_369"`
	RPC4663 []SecretURL `env:"RPC_URLS_4663"`
	RPC8453 []SecretURL `env:"RPC_URLS_8453"`

	// CacheSize is how many active integrators are cached, and how many others
	// in addition.
	CacheSize int           `env:"INTEGRATOR_CACHE_SIZE, default=4096"`
	CacheTTL  time.Duration `env:"INTEGRATOR_CACHE_TTL, default=30s"`
}

const (
	maxCacheSize = 1 << 20
	maxCacheTTL  = time.Hour
)

// variable is one list of endpoints and its environment variable.
type variable struct {
	name    string
	network chain.ID
	urls    []SecretURL
}

// variables returns the lists in the order of chain.PoolChains.
func (c Config) variables() []variable {
	lists := [][]SecretURL{c.RPC1, c.RPC56, c.RPC369, c.RPC4663, c.RPC8453}
	variables := make([]variable, len(chain.PoolChains))
	for i, id := range chain.PoolChains {
		variables[i] = variable{"RPC_URLS_" + id.String(), id, lists[i]}
	}
	return variables
}

// Validate reports every problem, naming the variable. It never quotes a URL.
func (c Config) Validate() error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, v := range c.variables() {
		seen := make(map[SecretURL]int)
		for i, u := range v.urls {
			if first, ok := seen[u]; ok {
				problem("%s: entry %d repeats entry %d", v.name, i+1, first)
				continue
			}
			seen[u] = i + 1
			if what := u.problem(); what != "" {
				problem("%s: entry %d %s", v.name, i+1, what)
			}
		}
	}
	if c.CacheSize < 1 || c.CacheSize > maxCacheSize {
		problem("INTEGRATOR_CACHE_SIZE: %d is not between 1 and %d", c.CacheSize, maxCacheSize)
	}
	if c.CacheTTL <= 0 || c.CacheTTL > maxCacheTTL {
		problem("INTEGRATOR_CACHE_TTL: %v is not more than 0s and at most %v", c.CacheTTL, maxCacheTTL)
	}
	return errors.Join(problems...)
}

// SecretURL is a URL that may hold a secret in its user, host, path or query, as
// those of RPC providers do. Printing or logging it never shows the URL.
type SecretURL string

const hidden = "[hidden]"

// Format hides the URL from every verb of fmt.
func (SecretURL) Format(s fmt.State, _ rune) { io.WriteString(s, hidden) }

// MarshalText hides the URL from JSON and from loggers.
func (SecretURL) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// problem says why u cannot be an endpoint. It is empty if u can.
func (u SecretURL) problem() string {
	if u == "" {
		return "is empty"
	}
	parsed, err := url.Parse(string(u))
	switch {
	case err != nil:
		return "is not a URL"
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return "does not begin with http:// or https://"
	case parsed.Hostname() == "":
		return "has no host"
	}
	return ""
}
