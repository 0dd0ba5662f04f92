package rpc

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/quotegate/quotegate/shared/chain"
)

// Config lists the endpoints of each chain, in the order in which they are
// tried. They are http or https. A chain without any is not asked.
type Config map[chain.ID][]SecretURL

// variable is the environment variable with the endpoints of a chain.
func variable(id chain.ID) string { return "RPC_URLS_" + id.String() }

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

// Validate reports every problem, naming the variable. It never quotes a URL.
func (c Config) Validate() error {
	var problems []error
	for _, n := range chain.Networks() {
		problem := func(entry int, what string) {
			problems = append(problems, fmt.Errorf("%s: entry %d %s", variable(n.ID), entry, what))
		}
		seen := make(map[SecretURL]int)
		for i, u := range c[n.ID] {
			if first, ok := seen[u]; ok {
				problem(i+1, fmt.Sprintf("repeats entry %d", first))
				continue
			}
			seen[u] = i + 1
			if what := u.problem(); what != "" {
				problem(i+1, what)
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
