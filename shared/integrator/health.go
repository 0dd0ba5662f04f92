package integrator

import (
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

// Health tells whether the registry of one chain can be read.
type Health = rpc.Health

// Health reports on every chain with a registry, by ID, without calling it. What
// other uses of its endpoints met with does not count.
func (r *Registry) Health() []Health {
	report := make([]Health, len(chain.PoolChains))
	known := r.chains.Health(rpc.Partners, rpc.Strangers)
	for i, id := range chain.PoolChains {
		report[i] = Health{Network: id, State: rpc.NoEndpoint}
		for _, h := range known {
			if h.Network == id {
				report[i] = h
			}
		}
	}
	return report
}
