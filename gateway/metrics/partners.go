package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/integrator"
)

// reasons are all there are for a look-up to fail.
var reasons = []integrator.Reason{
	integrator.Unconfigured, integrator.Busy, integrator.Resting, integrator.Timeout, integrator.Unreachable, integrator.Refused,
	integrator.WrongChain, integrator.Undecodable, integrator.Reverted, integrator.Misconfigured, integrator.Closed,
}

// rpcBuckets spread from a node next door to the longest a look-up may take.
var rpcBuckets = []float64{1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2.5, 5, 10}

// partners is what happens to look-ups of integrators.
type partners struct {
	networks map[chain.ID]*partnerNetwork
	strange  *partnerNetwork
}

// partnerNetwork is one chain.
type partnerNetwork struct {
	hit, miss prometheus.Counter
	failures  map[integrator.Reason]prometheus.Counter
	strange   prometheus.Counter // failures for any other reason
	latency   prometheus.Observer
}

func newPartners(registry *prometheus.Registry) *partners {
	lookups := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "integrator_lookups_total",
		Help: "Look-ups of an integrator, by chain, and whether memory had the answer (hit) or the chain was asked (miss).",
	}, []string{"chain", "result"})
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "integrator_failures_total",
		Help: "Times a chain gave no answer about an integrator, by chain and reason.",
	}, []string{"chain", "reason"})
	latency := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "integrator_rpc_duration_seconds", Buckets: rpcBuckets,
		Help: "Time to ask a chain about an integrator, waiting for a turn included, whatever came of it.",
	}, []string{"chain"})
	registry.MustRegister(lookups, failures, latency)
	network := func(label string) *partnerNetwork {
		n := &partnerNetwork{
			hit: lookups.WithLabelValues(label, "hit"), miss: lookups.WithLabelValues(label, "miss"),
			failures: make(map[integrator.Reason]prometheus.Counter),
			strange:  failures.WithLabelValues(label, other),
			latency:  latency.WithLabelValues(label),
		}
		for _, r := range reasons {
			n.failures[r] = failures.WithLabelValues(label, string(r))
		}
		return n
	}
	p := &partners{networks: make(map[chain.ID]*partnerNetwork), strange: network(other)}
	for _, id := range chain.PoolChains {
		p.networks[id] = network(id.String())
	}
	return p
}

func (p *partners) network(id chain.ID) *partnerNetwork {
	if n, ok := p.networks[id]; ok {
		return n
	}
	return p.strange
}

// IntegratorHooks count what a registry tells them.
func (m *Metrics) IntegratorHooks() integrator.Hooks {
	p := m.partners
	return integrator.Hooks{
		Hit:  func(id chain.ID) { p.network(id).hit.Inc() },
		Miss: func(id chain.ID) { p.network(id).miss.Inc() },
		Failure: func(id chain.ID, reason integrator.Reason) {
			n := p.network(id)
			if counter, ok := n.failures[reason]; ok {
				counter.Inc()
				return
			}
			n.strange.Inc()
		},
		Latency: func(id chain.ID, d time.Duration) { p.network(id).latency.Observe(d.Seconds()) },
	}
}
