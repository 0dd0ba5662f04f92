package caller

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/quotegate/quotegate/shared/integrator"
)

// Pattern matches one or more clients. An operator writes it as an integrator
// ID, a network in CIDR form, or "origin:" and a web origin.
type Pattern struct {
	integrator integrator.ID
	origin     string
	network    netip.Prefix
}

const originPrefix = "origin:"

// ParsePattern reads a pattern. The error says how to write one.
func ParsePattern(text string) (Pattern, error) {
	if origin, ok := strings.CutPrefix(text, originPrefix); ok {
		canonical := canonicalOrigin(origin)
		if canonical == "" {
			return Pattern{}, fmt.Errorf("%s is not a web origin: write origin:https://partner.example, without a path", quoted(text))
		}
		return Pattern{origin: canonical}, nil
	}
	if strings.HasPrefix(text, "0x") {
		id, err := integrator.ParseID(text)
		if err != nil {
			return Pattern{}, fmt.Errorf("%s is not an integrator ID: write a wallet address (0x and 40 hexadecimal digits, in one case or with a valid checksum) or its 32-byte form", quoted(text))
		}
		return Pattern{integrator: id}, nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
			return Pattern{}, fmt.Errorf("%s is an address, not a network: write %s/%d", quoted(text), addr, addr.BitLen())
		}
		return Pattern{}, fmt.Errorf("%s is none of: an integrator ID (0x…), a network (203.0.113.0/24), a web origin (origin:https://partner.example)", quoted(text))
	}
	if network.Addr().Is4In6() {
		return Pattern{}, fmt.Errorf("%s is an IPv4-mapped IPv6 network, which matches no client: write it as IPv4", quoted(text))
	}
	if network != network.Masked() {
		return Pattern{}, fmt.Errorf("%s has bits beyond its prefix: write %s if that network is meant", quoted(text), network.Masked())
	}
	return Pattern{network: network}, nil
}

// quoted quotes text and shortens it if it is long.
func quoted(text string) string {
	const most = 80
	if len(text) > most {
		return fmt.Sprintf("%q…", text[:most])
	}
	return fmt.Sprintf("%q", text)
}

// Matches reports whether the pattern matches the caller. The caller's identity
// does not matter: an integrator's call from a matching network matches.
func (p Pattern) Matches(c Caller) bool {
	switch {
	case p.integrator != integrator.ID{}:
		return p.integrator == c.Integrator
	case p.origin != "":
		return p.origin == c.Origin
	}
	return p.network.Contains(c.Addr)
}

// String is the pattern in its canonical form, which ParsePattern reads back.
func (p Pattern) String() string {
	switch {
	case p.integrator != integrator.ID{}:
		return p.integrator.String()
	case p.origin != "":
		return originPrefix + p.origin
	}
	return p.network.String()
}

// MarshalText is String.
func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
