package integrator

import "github.com/quotegate/quotegate/shared/chain"

// RPCState tells whether the endpoints of a chain work.
type RPCState string

const (
	NoEndpoint RPCState = "unconfigured" // none is configured
	Unused     RPCState = "unused"       // no call was made yet
	Working    RPCState = "working"      // an endpoint answered the last call
	Failing    RPCState = "failing"      // no endpoint answered the last call
)

// Health tells whether the registry of one chain can be read.
type Health struct {
	Network   chain.ID
	State     RPCState
	Endpoints int // configured
	Resting   int // skipped at the moment, after a failure
}

// Health reports on every chain with a registry, by ID, without calling it.
func (r *Registry) Health() []Health {
	report := make([]Health, len(r.networks))
	for i, n := range r.networks {
		h := Health{Network: n.id, State: n.state.Load().(RPCState), Endpoints: len(n.endpoints)}
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
