package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/status"
)

// rpcBuckets go from a node in the same network to the longest possible look-up.
var rpcBuckets = []float64{1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2.5, 5, 10}

// IntegratorHooks adds the metrics of integrator look-ups and returns the hooks
// that count them. Chains and reasons are closed lists.
func (m *Metrics) IntegratorHooks() integrator.Hooks {
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
	m.registry.MustRegister(lookups, failures, latency)
	for _, id := range chain.PoolChains { // so that every series begins at 0
		lookups.WithLabelValues(id.String(), "hit")
		lookups.WithLabelValues(id.String(), "miss")
		latency.WithLabelValues(id.String())
		for _, reason := range rpc.Reasons() {
			failures.WithLabelValues(id.String(), string(reason))
		}
	}
	return integrator.Hooks{
		Hit:  func(id chain.ID) { lookups.WithLabelValues(id.String(), "hit").Inc() },
		Miss: func(id chain.ID) { lookups.WithLabelValues(id.String(), "miss").Inc() },
		Failure: func(id chain.ID, reason rpc.Reason) {
			failures.WithLabelValues(id.String(), string(reason)).Inc()
		},
		Latency: func(id chain.ID, d time.Duration) { latency.WithLabelValues(id.String()).Observe(d.Seconds()) },
	}
}

// StatusOptions adds the metrics of status look-ups and returns the options that
// count them.
func (m *Metrics) StatusOptions() status.Options {
	answers := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "status_answers_total",
		Help: "Answers to what became of a swap, by its state; none where a chain could not be asked.",
	}, []string{"state"})
	ranOut := prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "status_searches_unfinished_total",
		Help: "Searches for the event of a payout that one look-up could not end. The next one goes on.",
	})
	m.registry.MustRegister(answers, ranOut)
	counters := map[status.State]prometheus.Counter{"": answers.WithLabelValues(none)}
	for _, state := range status.States() { // so that every series begins at 0
		counters[state] = answers.WithLabelValues(string(state))
	}
	return status.Options{Answered: func(state status.State) { counters[state].Inc() }, RanOut: ranOut.Inc}
}
