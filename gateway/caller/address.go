package caller

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Config is read from the environment.
type Config struct {
	TrustedProxies []string `env:"TRUSTED_PROXIES"` // addresses and CIDRs whose X-Forwarded-For is trusted
	ClientsFile    string   `env:"CLIENTS_FILE"`    // the known clients; empty: none are known
}

// Validate reports every problem, naming the variable.
func (c Config) Validate() error {
	_, err := c.Proxies()
	return err
}

// Proxies are the networks whose X-Forwarded-For is trusted.
type Proxies []netip.Prefix

// Proxies reads the trusted networks. The error joins all problems.
func (c Config) Proxies() (Proxies, error) {
	var proxies Proxies
	var problems []error
	for _, text := range c.TrustedProxies {
		network, err := parseProxy(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("TRUSTED_PROXIES: %w", err))
		}
		proxies = append(proxies, network)
	}
	return proxies, errors.Join(problems...)
}

// parseProxy reads a CIDR or a single address. An IPv4-mapped IPv6 address
// becomes IPv4, because peers are compared in that form.
func parseProxy(s string) (netip.Prefix, error) {
	s = strings.TrimSpace(s)
	p, err := netip.ParsePrefix(s)
	if err != nil {
		addr, err := netip.ParseAddr(s)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("%q is not an IP address or a CIDR; want something like 10.0.0.5 or 2001:db8::/32", s)
		}
		p = netip.PrefixFrom(addr, addr.BitLen())
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	if p.Bits() == 0 {
		return netip.Prefix{}, fmt.Errorf("%q trusts the whole internet, so any client could claim any address; name only your proxies", s)
	}
	return p.Masked(), nil
}

// Address is the client's address. It is the zero Addr only if the peer has no
// address.
//
// If the peer is a trusted proxy, the last address in X-Forwarded-For is the hop
// before it. Address goes back from hop to hop until one is not a trusted proxy:
// that is the client. If X-Forwarded-For ends or cannot be read before, the last
// hop so far is the client.
func (p Proxies) Address(r *http.Request) netip.Addr {
	hop, ok := parseHop(r.RemoteAddr)
	if !ok {
		return netip.Addr{}
	}
	headers := r.Header[forwardedFor]
	for i := len(headers) - 1; i >= 0; i-- {
		for rest := headers[i]; rest != "" && p.trusts(hop); {
			cut := strings.LastIndexByte(rest, ',')
			text := strings.TrimSpace(rest[cut+1:])
			rest = rest[:max(cut, 0)]
			if text == "" {
				continue
			}
			before, ok := parseHop(text)
			if !ok {
				return hop
			}
			hop = before
		}
	}
	return hop
}

const forwardedFor = "X-Forwarded-For"

func (p Proxies) trusts(hop netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(hop) })
}

// parseHop reads an address with or without a port. Peers have a port, and some
// load balancers write one.
func parseHop(s string) (netip.Addr, bool) {
	if strings.HasPrefix(s, "[") || strings.Count(s, ":") == 1 {
		if ap, err := netip.ParseAddrPort(s); err == nil {
			return ap.Addr().Unmap().WithZone(""), true
		}
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	return ip.Unmap().WithZone(""), err == nil
}
