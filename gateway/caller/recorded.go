package caller

import (
	"strings"

	"github.com/quotegate/quotegate/shared/integrator"
)

// IsNetwork reports whether the pattern matches by address. Then it says nothing
// about a recorded client, since addresses are not recorded.
func (p Pattern) IsNetwork() bool { return p.network.IsValid() }

// Decides reports whether a recorded name tells if the pattern matches the client. A
// name says who a client is by its most specific mark, and nothing about the others.
func (p Pattern) Decides(name string) bool {
	kind, _, _ := strings.Cut(name, " ")
	switch {
	case p.client != "":
		return true
	case p.network.IsValid() || Kind(kind) == Known:
		return false
	case p.integrator != integrator.ID{}:
		return true
	case p.origin != "":
		return Kind(kind) != Integrator
	}
	return Kind(kind) == Agent
}

// Names reports whether the pattern matches a recorded client by its name, which is
// the text of its identity.
func (p Pattern) Names(name string) bool {
	switch {
	case p.integrator != integrator.ID{}:
		return name == Identity{Integrator, p.integrator.String()}.String()
	case p.origin != "":
		return name == Identity{Origin, p.origin}.String()
	case p.client != "":
		return name == Identity{Known, p.client}.String()
	case p.agent != "":
		return strings.HasPrefix(name, Identity{Agent, p.agent}.String()+" ")
	}
	return false
}
