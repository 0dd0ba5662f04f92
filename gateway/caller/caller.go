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
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/quotegate/quotegate/shared/integrator"
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
	Integrator integrator.ID // zero for none
	Origin     string        // scheme://host, with a port unless it is the scheme's default
	Agent      string        // the first product of the User-Agent
	Addr       netip.Addr    // never an IPv4-mapped IPv6 address; may be the zero Addr

	Known *Client // nil for a caller that the operator does not know
	Key   KeyID   // of the key that proves who it is; zero for none
}

// Proven reports whether a key proves who the caller is.
func (c Caller) Proven() bool { return c.Key != 0 }

// From collects what a request's headers, address and query tell, but for what
// Clients.Recognise finds.
func From(r *http.Request, addr netip.Addr, integrator integrator.ID) Caller {
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
	Kind Kind
	Text string // at most MaxText bytes
}

// MaxText bounds the text of every identity.
const MaxText = maxOrigin

// Identity returns the most specific identity of the caller.
func (c Caller) Identity() Identity {
	switch {
	case c.Known != nil:
		return Identity{Known, c.Known.Name}
	case c.Integrator != integrator.ID{}:
		return Identity{Integrator, c.Integrator.String()}
	case c.Origin != "":
		return Identity{Origin, c.Origin}
	}
	agent := c.Agent
	if agent == "" {
		agent = "-"
	}
	var buf [maxProduct + 64]byte
	text := append(append(buf[:0], agent...), ' ')
	return Identity{Agent, string(appendNetwork(text, c.Addr))}
}

// appendNetwork writes the network of an address. A client is likely to stay in
// one network.
func appendNetwork(b []byte, addr netip.Addr) []byte {
	bits := 48
	if addr.Is4() {
		bits = 24
	}
	prefix, err := addr.Prefix(bits)
	if err != nil || !prefix.IsValid() {
		return append(b, '-')
	}
	return prefix.AppendTo(b)
}

// String names the identity on one line.
func (id Identity) String() string { return string(id.Kind) + " " + id.Text }

// MarshalText is String, so that an identity is one string in JSON.
func (id Identity) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// Position maps the identity to [0, 1), evenly among all identities and
// independently for every salt. It depends on nothing else, so that all instances
// agree without talking.
func (id Identity) Position(salt string) float64 {
	var buf [2 * MaxText]byte
	text := append(buf[:0], salt...)
	text = append(append(append(text, 0), id.Kind...), 0)
	sum := sha256.Sum256(append(text, id.Text...))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

const (
	maxOrigin  = 255
	maxProduct = 32
)

// canonicalOrigin returns scheme://host[:port] in lower case, without the default
// port, and "" for text without a valid host, such as "null" or "file://".
func canonicalOrigin(text string) string {
	if len(text) > maxOrigin {
		return ""
	}
	scheme, host, ok := strings.Cut(strings.ToLower(text), "://")
	if !ok || scheme == "" || !only(scheme, "+-.") {
		return ""
	}
	port := ""
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		host, port = host[:colon], host[colon:]
		if n, err := strconv.ParseUint(port[1:], 10, 16); err != nil || n == 0 || port[1] == '0' {
			return ""
		}
	}
	if scheme == "https" && port == ":443" || scheme == "http" && port == ":80" {
		port = ""
	}
	if !isHost(host) {
		return ""
	}
	return scheme + "://" + host + port
}

func isHost(host string) bool {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		return err == nil && addr.Is6() && addr.Zone() == "" && strings.HasSuffix(inner, "]")
	}
	return host != "" && only(host, "-._")
}

// only reports whether text is lower-case letters, digits and the extra bytes.
func only(text, extra string) bool {
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && strings.IndexByte(extra, c) < 0 {
			return false
		}
	}
	return true
}

// product is the first product of a User-Agent, in lower case.
func product(agent string) string {
	end := 0
	for end < len(agent) && end < maxProduct && agent[end] > ' ' && agent[end] < 0x7f && agent[end] != '/' {
		end++
	}
	return strings.ToLower(agent[:end])
}
