package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotegate/quotegate/shared/chain"
)

// kind is how a pair moves its money.
type kind int

const (
	directIn  kind = iota // to the hub, through a pool
	directOut             // from the hub, through a pool
	burn                  // to the hub, over the issuer's network
	shield                // into a privacy pool
	unshield              // out of one
	kinds
)

func (k kind) String() string {
	return [...]string{"direct_in", "direct_out", "burn", "shield", "unshield"}[k]
}

func kindOf(p *chain.Pair) kind {
	switch {
	case p.Src.Private():
		return unshield
	case p.Dst.Private():
		return shield
	case p.Route == chain.CCTPInbound:
		return burn
	case p.Dst == chain.Hub:
		return directIn
	}
	return directOut
}

type quotes struct{ counters [kinds]prometheus.Counter }

func newQuotes(registry *prometheus.Registry) *quotes {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "quotes_total",
		Help: "Quotes given, by the kind of their pair.",
	}, []string{"kind"})
	registry.MustRegister(vec)
	q := &quotes{}
	for k := range kinds {
		q.counters[k] = vec.WithLabelValues(k.String())
	}
	return q
}

// Quoted counts a quote that was given.
func (m *Metrics) Quoted(p *chain.Pair) { m.quotes.counters[kindOf(p)].Inc() }
