// Package caller tells who is calling, as far as a service without accounts can
// know: a client that the operator knows, else the integrator named in the request,
// else the page's origin, else the kind of software and the network it calls from.
//
// A file lists the known clients, by an API key or by what their requests have in
// common. Only a key proves who is calling. An identity is used to count clients,
// to treat each client consistently, and to exempt clients that an operator names.
// It never grants access. Every text in it is bounded, canonical and printable
// ASCII, whatever was sent. No key, and no hash of one, is in any error or log line.
package caller

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/quotegate/quotegate/shared/calldata"
)

// Kind is what an identity is based on.
type Kind string

const (
	Integrator Kind = "integrator"
	Origin     Kind = "origin"
	Agent      Kind = "agent"
	Known      Kind = "client" // named by the operator
)

// Caller is what one request tells about its sender. A field is empty if the
// request has no such value, or no valid one.
type Caller struct {
	Integrator calldata.IntegratorID // zero for none
	Origin     string                // scheme://host, with a port unless it is the scheme's default
	Agent      string                // the first product of the User-Agent
	Addr       netip.Addr            // never an IPv4-mapped IPv6 address; may be the zero Addr

	Known *Client // nil for a caller that the operator does not know
	Key   KeyID   // of the key that proves who it is; zero for none
}

func (c Caller) Proven() bool { return c.Key != 0 }

// From collects what a request's headers, address and query tell, but for what
// Clients.Recognise finds.
func From(r *http.Request, addr netip.Addr, integrator calldata.IntegratorID) Caller {
	return Caller{
		Integrator: integrator,
		Origin:     canonicalOrigin(r.Header.Get("Origin")),
		Agent:      product(r.Header.Get("User-Agent")),
		Addr:       addr.Unmap().WithZone(""),
	}
}

// Identity is the key by which a caller is counted. It is comparable, and the
// same on every instance.
type Identity struct {
	Kind    Kind
	Text    string       // at most MaxText bytes
	Network netip.Prefix // of an Agent: where it calls from; the zero Prefix if it has no address
}

const MaxText = 255

// mark is what the caller is named by in one kind of identity, empty for nothing.
func (c *Caller) mark(kind Kind) string {
	switch {
	case kind == Known && c.Known != nil:
		return c.Known.Name
	case kind == Integrator && c.Integrator != calldata.IntegratorID{}:
		return c.Integrator.String()
	case kind == Origin:
		return c.Origin
	case kind == Agent:
		return c.Agent
	}
	return ""
}

// Identity returns the most specific identity of the caller.
func (c Caller) Identity() Identity {
	for _, kind := range [...]Kind{Known, Integrator, Origin} {
		if text := c.mark(kind); text != "" {
			return Identity{Kind: kind, Text: text}
		}
	}
	return Identity{Agent, cmp.Or(c.Agent, "-"), c.Network()} // a client is likely to stay in its network
}

// Network is the IPv4 /24 or IPv6 /48 that the caller is in; the zero Prefix if it has no
// address.
func (c Caller) Network() netip.Prefix {
	bits := 48
	if c.Addr.Is4() {
		bits = 24
	}
	network, _ := c.Addr.Prefix(bits) // fails only for lengths that no address has
	return network
}

// String names the identity on one line.
func (id Identity) String() string { return string(id.Kind) + " " + id.text() }

// text tells identities of a kind apart.
func (id Identity) text() string {
	switch {
	case id.Kind != Agent:
		return id.Text
	case !id.Network.IsValid():
		return id.Text + " -"
	}
	return id.Text + " " + id.Network.String()
}

// Position maps the identity to [0, 1), evenly among all identities and
// independently for every salt. It depends on nothing else, so that all instances
// agree without talking.
func (id Identity) Position(salt string) float64 {
	sum := sha256.Sum256([]byte(salt + "\x00" + string(id.Kind) + "\x00" + id.text()))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

// origins are lower-case scheme://host[:port] with a name or an IPv6 address as the host.
var origins = regexp.MustCompile(`^[a-z0-9+.-]+://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?$`)

// canonicalOrigin returns scheme://host[:port] in lower case, without the default
// port, and "" for text without a valid host, such as "null" or "file://".
func canonicalOrigin(text string) string {
	if len(text) > MaxText {
		return ""
	}
	text = strings.ToLower(text)
	switch {
	case !origins.MatchString(text):
		return ""
	case strings.HasPrefix(text, "https:"):
		return strings.TrimSuffix(text, ":443")
	case strings.HasPrefix(text, "http:"):
		return strings.TrimSuffix(text, ":80")
	}
	return text
}

const maxProduct = 32

// product is the first product of a User-Agent, in lower case.
func product(agent string) string {
	end := 0
	for end < len(agent) && end < maxProduct && agent[end] > ' ' && agent[end] < 0x7f && agent[end] != '/' {
		end++
	}
	return strings.ToLower(agent[:end])
}

type Config struct {
	TrustedProxies []string `env:"TRUSTED_PROXIES"` // addresses and CIDRs whose X-Forwarded-For is trusted
	ClientsFile    string   `env:"CLIENTS_FILE"`    // the known clients; empty: none are known
}

func (c Config) Validate() error {
	_, err := c.Proxies()
	return err
}

// Proxies are the networks whose X-Forwarded-For is trusted.
type Proxies []netip.Prefix

// Proxies reads the trusted networks, which together must leave some client out. The error joins all problems.
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
	if family := internet(proxies); family != "" {
		problems = append(problems, fmt.Errorf("TRUSTED_PROXIES: %q trusts all of %s, so any client could claim "+
			"any address; name only your proxies, such as 10.0.0.5 or 10.0.0.0/24",
			strings.Join(c.TrustedProxies, ","), family))
	}
	return proxies, errors.Join(problems...)
}

// publicNetworks are those in which clients of a family have public addresses: for IPv4 all but multicast and what
// follows, for IPv6 global unicast.
var publicNetworks = []struct {
	family string
	all    []netip.Prefix
}{
	{"IPv4", []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/1"), netip.MustParsePrefix("128.0.0.0/2"), netip.MustParsePrefix("192.0.0.0/3"),
	}},
	{"IPv6", []netip.Prefix{netip.MustParsePrefix("2000::/3")}},
}

// internet names the family of addresses that the networks together leave nobody of. It is empty for none.
func internet(networks []netip.Prefix) string {
	for _, public := range publicNetworks {
		open := func(network netip.Prefix) bool { return !covered(network, networks) }
		if !slices.ContainsFunc(public.all, open) {
			return public.family
		}
	}
	return ""
}

// covered reports whether every address of a network is in one of the others. It looks at halves of halves only as far
// as there are such networks.
func covered(network netip.Prefix, by []netip.Prefix) bool {
	var within []netip.Prefix
	for _, p := range by {
		if p.Bits() <= network.Bits() && p.Contains(network.Addr()) {
			return true
		}
		if p.Overlaps(network) {
			within = append(within, p)
		}
	}
	if within == nil {
		return false
	}
	first, second := halves(network)
	return covered(first, within) && covered(second, within)
}

func halves(network netip.Prefix) (first, second netip.Prefix) {
	bits := network.Bits()
	bytes := network.Addr().AsSlice()
	bytes[bits/8] |= 0x80 >> (bits % 8)
	middle, _ := netip.AddrFromSlice(bytes) // of the same length
	return netip.PrefixFrom(network.Addr(), bits+1), netip.PrefixFrom(middle, bits+1)
}

// parseProxy reads a CIDR or a single address. An IPv4-mapped IPv6 address
// becomes IPv4, because peers are compared in that form.
func parseProxy(s string) (netip.Prefix, error) {
	s = strings.TrimSpace(s)
	p, err := netip.ParsePrefix(s)
	if err != nil {
		addr, err := netip.ParseAddr(s)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf(
				"%q is not an IP address or a CIDR; want something like 10.0.0.5 or 2001:db8::/32", s)
		}
		p = netip.PrefixFrom(addr, addr.BitLen())
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
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
	hop := parseHop(r.RemoteAddr) // the zero Addr is no trusted proxy
	rest := strings.Join(r.Header["X-Forwarded-For"], ",")
	for rest != "" && p.trust(hop) {
		cut := strings.LastIndexByte(rest, ',')
		text := strings.TrimSpace(rest[cut+1:])
		rest = rest[:max(cut, 0)]
		if text == "" {
			continue
		}
		before := parseHop(text)
		if !before.IsValid() {
			return hop
		}
		hop = before
	}
	return hop
}

func (p Proxies) trust(hop netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(hop) })
}

// parseHop reads an address with or without a port. Peers have a port, and some
// load balancers write one. It is the zero Addr if the text is none.
func parseHop(s string) netip.Addr {
	if strings.Contains(s, ":") {
		if ap, err := netip.ParseAddrPort(s); err == nil {
			return ap.Addr().Unmap().WithZone("")
		}
	}
	ip, _ := netip.ParseAddr(strings.Trim(s, "[]"))
	return ip.Unmap().WithZone("")
}
