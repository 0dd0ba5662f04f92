package caller

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/quotegate/quotegate/shared/integrator"
)

// Pattern matches one or more clients. An operator writes it as an integrator
// ID, a network in CIDR form, "origin:" and a web origin, "agent:" and the first
// product of a User-Agent, or "client:" and the name of a known client.
type Pattern struct {
	integrator integrator.ID
	origin     string
	network    netip.Prefix
	agent      string
	client     string
}

const (
	originPrefix = "origin:"
	agentPrefix  = "agent:"
	clientPrefix = "client:"
)

// ParsePattern reads a pattern. The error says how to write one.
func ParsePattern(text string) (Pattern, error) {
	if isKey(text) {
		return Pattern{}, errors.New("this is a key, which must not be in a file; the hashes of keys belong under keys in CLIENTS_FILE")
	}
	if origin, ok := strings.CutPrefix(text, originPrefix); ok {
		canonical := canonicalOrigin(origin)
		if canonical == "" {
			return Pattern{}, fmt.Errorf("%s is not a web origin: write origin:https://partner.example, without a path", quoted(text))
		}
		return Pattern{origin: canonical}, nil
	}
	if agent, ok := strings.CutPrefix(text, agentPrefix); ok {
		agent = strings.ToLower(agent)
		if agent == "" || product(agent) != agent {
			return Pattern{}, fmt.Errorf("%s is not a kind of software: write the beginning of its User-Agent up to the version, like agent:okhttp, at most %d characters", quoted(text), maxProduct)
		}
		return Pattern{agent: agent}, nil
	}
	if client, ok := strings.CutPrefix(text, clientPrefix); ok {
		if err := CheckName(client); err != nil {
			return Pattern{}, fmt.Errorf("the name of the client: %w", err)
		}
		return Pattern{client: client}, nil
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
		return Pattern{}, fmt.Errorf("%s is none of: an integrator ID (0x…), a network (203.0.113.0/24), a web origin (origin:https://partner.example), a kind of software (agent:okhttp), a known client (client:NAME)", quoted(text))
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
	case p.agent != "":
		return p.agent == c.Agent
	case p.client != "":
		return c.Known != nil && p.client == c.Known.Name
	}
	return p.network.Contains(c.Addr)
}

// MatchesRecorded reports whether the pattern matches a client that was recorded
// under a name, which is the text of its identity. A name says who a client is by
// its most specific mark, and nothing about the others. Where it does not tell, the
// answer is otherwise.
func (p Pattern) MatchesRecorded(name string, otherwise bool) bool {
	kind, text, _ := strings.Cut(name, " ")
	switch {
	case p.client != "":
		return Kind(kind) == Known && text == p.client
	case p.network.IsValid() || Kind(kind) == Known:
		return otherwise
	case p.integrator != integrator.ID{}:
		return Kind(kind) == Integrator && text == p.integrator.String()
	case Kind(kind) == Integrator:
		return otherwise
	case p.origin != "":
		return Kind(kind) == Origin && text == p.origin
	case Kind(kind) == Origin:
		return otherwise
	}
	return strings.HasPrefix(text, p.agent+" ")
}

// IsNetwork reports whether the pattern matches by address. Then it says nothing
// about a recorded client, since addresses are not recorded.
func (p Pattern) IsNetwork() bool { return p.network.IsValid() }

// Client is the name of the known client that the pattern matches, empty for a
// pattern of another kind.
func (p Pattern) Client() string { return p.client }

// String is the pattern in its canonical form, which ParsePattern reads back.
func (p Pattern) String() string {
	switch {
	case p.integrator != integrator.ID{}:
		return p.integrator.String()
	case p.origin != "":
		return originPrefix + p.origin
	case p.agent != "":
		return agentPrefix + p.agent
	case p.client != "":
		return clientPrefix + p.client
	}
	return p.network.String()
}

// MarshalText is String.
func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is ParsePattern.
func (p *Pattern) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePattern(string(text))
	return err
}
