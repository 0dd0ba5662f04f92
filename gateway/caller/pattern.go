package caller

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/quotegate/quotegate/shared/integrator"
)

// Pattern matches one or more clients. An operator writes it as an integrator
// ID, a network in CIDR form, "origin:" and a web origin, "agent:" and the first
// product of a User-Agent, or "client:" and the name of a known client.
type Pattern struct {
	kind    Kind   // empty for a network
	text    string // the mark of that kind
	network netip.Prefix
}

// ParsePattern reads a pattern. The error says how to write one.
func ParsePattern(text string) (Pattern, error) {
	if isKey(text) {
		return Pattern{}, errors.New(
			"this is a key, which must not be in a file; the hashes of keys belong under keys in CLIENTS_FILE")
	}
	kind, rest, _ := strings.Cut(text, ":")
	switch Kind(kind) {
	case Origin:
		origin := canonicalOrigin(rest)
		if origin == "" {
			return Pattern{}, fmt.Errorf(
				"%s is not a web origin: write origin:https://partner.example, without a path", quoted(text))
		}
		return Pattern{kind: Origin, text: origin}, nil
	case Agent:
		agent := strings.ToLower(rest)
		if agent == "" || product(agent) != agent {
			return Pattern{}, fmt.Errorf(
				"%s is not a kind of software: write the beginning of its User-Agent up to the version, like "+
					"agent:okhttp, at most %d characters", quoted(text), maxProduct)
		}
		return Pattern{kind: Agent, text: agent}, nil
	case Known:
		if err := CheckName(rest); err != nil {
			return Pattern{}, fmt.Errorf("the name of the client: %w", err)
		}
		return Pattern{kind: Known, text: rest}, nil
	}
	if strings.HasPrefix(text, "0x") {
		id, err := integrator.ParseID(text)
		if err != nil {
			return Pattern{}, fmt.Errorf(
				"%s is not an integrator ID: write a wallet address (0x and 40 hexadecimal digits, in one case "+
					"or with a valid checksum) or its 32-byte form", quoted(text))
		}
		return Pattern{kind: Integrator, text: id.String()}, nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return Pattern{}, fmt.Errorf(
			"%s is none of: an integrator ID (0x…), a network (203.0.113.0/24), a web origin "+
				"(origin:https://partner.example), a kind of software (agent:okhttp), a known client (client:NAME)",
			quoted(text))
	}
	if network.Addr().Is4In6() || network != network.Masked() {
		return Pattern{}, fmt.Errorf(
			"%s is not a network: write IPv4 as IPv4, and no bits beyond the prefix, as in 203.0.113.0/24",
			quoted(text))
	}
	return Pattern{network: network}, nil
}

// Matches reports whether the pattern matches the caller. The caller's identity
// does not matter: an integrator's call from a matching network matches.
func (p Pattern) Matches(c Caller) bool {
	if p.IsNetwork() {
		return p.network.Contains(c.Addr)
	}
	return p.text == c.mark(p.kind)
}

// kinds begin with the least specific one.
var kinds = []Kind{Agent, Origin, Integrator, Known}

// MatchesRecorded reports whether the pattern matches a client that was recorded
// under a name, which is the text of its identity. A name says who a client is by
// its most specific mark, and nothing about the others. Where it does not tell, the
// answer is otherwise.
func (p Pattern) MatchesRecorded(name string, otherwise bool) bool {
	kind, text, _ := strings.Cut(name, " ")
	switch {
	case p.IsNetwork() || slices.Index(kinds, Kind(kind)) > slices.Index(kinds, p.kind):
		return otherwise
	case p.kind == Agent:
		return strings.HasPrefix(text, p.text+" ")
	}
	return name == Identity{p.kind, p.text}.String()
}

// IsNetwork reports whether the pattern matches by address. Then it says nothing
// about a recorded client, since addresses are not recorded.
func (p Pattern) IsNetwork() bool { return p.network.IsValid() }

// Client is the name of the known client that the pattern matches, empty for a
// pattern of another kind.
func (p Pattern) Client() string {
	if p.kind != Known {
		return ""
	}
	return p.text
}

// String is the pattern in its canonical form, which ParsePattern reads back.
func (p Pattern) String() string {
	switch p.kind {
	case "":
		return p.network.String()
	case Integrator:
		return p.text
	}
	return string(p.kind) + ":" + p.text
}

func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

func (p *Pattern) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePattern(string(text))
	return err
}

// quoted repeats what an operator wrote, unless it is a key.
func quoted(text string) string {
	const most = 80
	switch {
	case isKey(text):
		return "(a key)"
	case len(text) > most:
		return fmt.Sprintf("%q…", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
