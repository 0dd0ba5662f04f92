package integrator

import "github.com/quotegate/quotegate/shared/chain"

// State is how it stands with the endpoints of a chain.
type State string

const (
	NoEndpoint State = "unconfigured" // none is configured
	Unused     State = "unused"       // nobody needed one yet
	Working    State = "working"      // the last call was answered
	Failing    State = "failing"      // the last call was answered by none
)

// Health is how it stands with one chain's registry.
type Health struct {
	Network   chain.ID
	State     State
	Endpoints int // configured
	Resting   int // of them, skipped after a failure
}

// Health reports on every chain with a registry, by ID. It calls nobody.
func (r *Registry) Health() []Health {
	report := make([]Health, len(r.networks))
	for i, n := range r.networks {
		h := Health{Network: n.id, State: n.state.Load().(State), Endpoints: len(n.endpoints)}
		if h.Endpoints == 0 {
			h.State = NoEndpoint
		}
		for _, e := range n.endpoints {
			if e.resting() > 0 {
				h.Resting++
			}
		}
		report[i] = h
	}
	return report
}
