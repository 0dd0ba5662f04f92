package rpc

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/jsonfile"
)

// Config lists the endpoints of each chain, in the order in which they are
// tried. They are http or https. A chain without any is not asked.
type Config map[chain.ID][]SecretURL

// VariablePrefix begins the name of the environment variable with the endpoints
// of a chain. The ID of the chain follows.
const VariablePrefix = "RPC_URLS_"

func variable(id chain.ID) string { return VariablePrefix + id.String() }

// ReadConfig looks up the variable of every public chain: RPC_URLS_1 and so on,
// each a list with commas between the URLs.
func ReadConfig(lookup func(key string) (string, bool)) Config {
	cfg := make(Config)
	for _, n := range chain.Networks() {
		text, _ := lookup(variable(n.ID))
		if text == "" {
			continue
		}
		for u := range strings.SplitSeq(text, ",") {
			cfg[n.ID] = append(cfg[n.ID], SecretURL(strings.TrimSpace(u)))
		}
	}
	return cfg
}

// With adds the endpoints of a file: {"endpoints": {"1": ["https://…"]}}. Unlike
// a variable, a file can be changed while the service runs. The error lists every
// problem, and never quotes a URL.
func (c Config) With(path string) (Config, error) {
	return jsonfile.Load(path, jsonfile.MaxSize, c.with)
}

func (c Config) with(data []byte) (Config, error) {
	var file struct {
		Endpoints map[string][]SecretURL `json:"endpoints"`
	}
	problems := []error{jsonfile.Decode(data, &file).Err()}
	all, own := maps.Clone(c), make(Config)
	for _, key := range slices.Sorted(maps.Keys(file.Endpoints)) {
		id, err := chain.ParseID(key)
		switch {
		case err != nil || id.Private():
			problems = append(problems, fmt.Errorf("endpoints[%q]: not a supported chain", key))
		case len(c[id]) > 0:
			problems = append(problems, fmt.Errorf("endpoints[%q]: %s has endpoints of this chain too; use one of both", key, variable(id)))
		default:
			own[id], all[id] = file.Endpoints[key], file.Endpoints[key]
		}
	}
	problems = append(problems, own.check(func(id chain.ID) string { return fmt.Sprintf("endpoints[%q]", id) }))
	return all, errors.Join(problems...)
}

// Equal tells whether two configurations are the same.
func (c Config) Equal(other Config) bool { return maps.EqualFunc(c, other, slices.Equal) }

// Validate reports every problem, naming the variable. It never quotes a URL.
func (c Config) Validate() error { return c.check(variable) }

func (c Config) check(name func(chain.ID) string) error {
	var problems []error
	for _, n := range chain.Networks() {
		seen := make(map[SecretURL]int)
		for i, u := range c[n.ID] {
			what := u.problem()
			if first := seen[u]; first > 0 {
				what = fmt.Sprintf("repeats entry %d", first)
			} else {
				seen[u] = i + 1
			}
			if what != "" {
				problems = append(problems, fmt.Errorf("%s: entry %d %s", name(n.ID), i+1, what))
			}
		}
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
	parsed, err := url.Parse(string(u))
	switch {
	case u == "":
		return "is empty"
	case err != nil:
		return "is not a URL"
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return "does not begin with http:// or https://"
	case parsed.Hostname() == "":
		return "has no host"
	}
	return ""
}
