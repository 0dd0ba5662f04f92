package caller

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/quotegate/quotegate/shared/calldata"
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
	kind, rest, _ := strings.Cut(text, ":")
	if isKey(text) || isKey(rest) {
		return Pattern{}, errors.New(
			"this is a key, which must not be in a file; the hashes of keys belong under keys in CLIENTS_FILE")
	}
	origin := canonicalOrigin(rest)
	agent := product(rest)
	id, notID := calldata.ParseIntegratorID(text)
	network, notNetwork := netip.ParsePrefix(text)
	switch {
	case Kind(kind) == Origin && origin != "":
		return Pattern{kind: Origin, text: origin}, nil
	case Kind(kind) == Agent && agent != "" && agent == strings.ToLower(rest):
		return Pattern{kind: Agent, text: agent}, nil
	case Kind(kind) == Known && CheckName(rest) == nil:
		return Pattern{kind: Known, text: rest}, nil
	case notID == nil:
		return Pattern{kind: Integrator, text: id.String()}, nil
	case notNetwork == nil && network == network.Masked() && !network.Addr().Is4In6():
		return Pattern{network: network}, nil
	}
	return Pattern{}, fmt.Errorf(
		"%s is none of: an integrator ID (a wallet address with a valid checksum, or its 32-byte form), "+
			"a network (203.0.113.0/24, no bits beyond the prefix), a web origin (origin:https://partner.example, "+
			"no path), a kind of software (agent:okhttp, no version), a known client (client:NAME)", quoted(text))
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

// recorded is the mark in a name that a client was recorded under, which is the text of its
// identity.
func recorded(name string) Pattern {
	kind, text, _ := strings.Cut(name, " ")
	if Kind(kind) == Agent {
		text, _, _ = strings.Cut(text, " ") // a network follows
	}
	return Pattern{kind: Kind(kind), text: text}
}

// MatchesRecorded reports whether the pattern matches a client that was recorded
// under a name. A name says who a client is by its most specific mark, and nothing about
// the others. Where it does not tell, the answer is otherwise.
func (p Pattern) MatchesRecorded(name string, otherwise bool) bool {
	mark := recorded(name)
	if p.IsNetwork() || slices.Index(kinds, mark.kind) > slices.Index(kinds, p.kind) {
		return otherwise
	}
	return p == mark
}

// IsNetwork reports whether the pattern matches by address. Then it says nothing
// about a recorded client, since addresses are not recorded.
func (p Pattern) IsNetwork() bool { return p.network.IsValid() }

// Everyone names the family of addresses, IPv4 or IPv6, of which the patterns together match every client. It is empty
// for none.
func Everyone(patterns []Pattern) (family string) {
	var networks []netip.Prefix
	for _, p := range patterns {
		networks = append(networks, p.network)
	}
	return internet(networks)
}

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
	if isKey(text) {
		return "(a key)"
	}
	return fmt.Sprintf("%.80q", text)
}
