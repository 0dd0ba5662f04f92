package rpc

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/jsonfile"
)

// Config lists the endpoints of each chain, in the order in which they are tried. They are
// http or https.
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
	all := maps.Clone(c)
	own := make(Config) // the endpoints of the file
	for _, key := range slices.Sorted(maps.Keys(file.Endpoints)) {
		id, err := chain.ParseID(key)
		switch {
		case err != nil || id.Private():
			problems = append(problems, fmt.Errorf("endpoints[%q]: not a supported chain", key))
		case len(c[id]) > 0:
			problems = append(problems,
				fmt.Errorf("endpoints[%q]: %s has endpoints of this chain too; use one of both", key, variable(id)))
		default:
			own[id] = file.Endpoints[key]
			all[id] = file.Endpoints[key]
		}
	}
	more, _ := own.check(func(id chain.ID) string { return fmt.Sprintf("endpoints[%q]", id) })
	return all, errors.Join(append(problems, more...)...)
}

func (c Config) Equal(other Config) bool { return maps.EqualFunc(c, other, slices.Equal) }

// Validate reports every problem, naming the variable. It never quotes a URL.
func (c Config) Validate() error {
	problems, _ := c.check(variable)
	return errors.Join(problems...)
}

// Warnings are about endpoints that may be one node under two names. They quote no URL.
func (c Config) Warnings() []string {
	_, warnings := c.check(variable)
	return warnings
}

func (c Config) check(name func(chain.ID) string) (problems []error, warnings []string) {
	for _, n := range chain.Networks() {
		endpoints, hosts := make(map[string]int), make(map[string]int)
		for i, u := range c[n.ID] {
			host, endpoint, problem := u.parse()
			if first := endpoints[endpoint]; first > 0 {
				const isSame = "is the same endpoint as entry %d; remove it, as no node can confirm itself"
				problem = fmt.Sprintf(isSame, first)
			}
			if problem != "" {
				problems = append(problems, fmt.Errorf("%s: entry %d %s", name(n.ID), i+1, problem))
				continue
			}
			endpoints[endpoint] = i + 1
			if first := hosts[host]; first > 0 {
				warnings = append(warnings, fmt.Sprintf("chain %s: endpoints %d and %d are on one host. "+
					"Two endpoints confirm each other only if they are of two providers", n.ID, first, i+1))
			} else {
				hosts[host] = i + 1
			}
		}
	}
	return problems, warnings
}

// SecretURL is a URL that may hold a secret in its user, host, path or query, as
// those of RPC providers do. Printing or logging it never shows the URL.
type SecretURL string

const hidden = "[hidden]"

// Format hides the URL from every verb of fmt.
func (SecretURL) Format(s fmt.State, _ rune) { io.WriteString(s, hidden) }

// MarshalText hides the URL from JSON and from loggers.
func (SecretURL) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// parse returns the host and the endpoint of a URL in canonical form, or why it cannot be an
// endpoint. A default port is omitted. The endpoint is scheme, host, port and path: URLs that
// differ in user, query or fragment are the same endpoint.
func (u SecretURL) parse() (host, endpoint, problem string) {
	parsed, err := url.Parse(string(u))
	switch {
	case u == "":
		return "", "", "is empty"
	case err != nil:
		return "", "", "is not a URL"
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return "", "", "does not begin with http:// or https://"
	case parsed.Hostname() == "":
		return "", "", "has no host"
	}
	host = strings.TrimSuffix(strings.ToLower(parsed.Hostname()), ".")
	usual := map[string]string{"http": "80", "https": "443"}[parsed.Scheme]
	if port := parsed.Port(); port != "" && port != usual {
		host = net.JoinHostPort(host, port)
	}
	return host, parsed.Scheme + "://" + host + path.Clean("/"+parsed.Path), ""
}
