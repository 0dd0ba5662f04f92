// Package metrics provides the metrics for Prometheus.
//
// Every label has a closed set of values, known when the program is built or
// configured. Nothing that a client sends becomes a label: a value outside the
// set counts as "other", so the number of series is bounded. Observing a
// successful request allocates nothing.
package metrics

import (
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	namespace = "quotegate"

	// other is the label for a value outside the set, none for no value.
	other, none = "other", "none"
)

// Metrics has its own registry. Any package may add to the process-wide one.
type Metrics struct {
	registry *prometheus.Registry
}

// New starts with the metrics of the build, the Go runtime and the process.
// Requests, IntegratorHooks, StatusOptions and Watch add the others.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		buildInfo(),
	)
	return m
}

// buildInfo is what `go version -m` says about this program.
func buildInfo() prometheus.Collector {
	labels := prometheus.Labels{"version": "unknown", "revision": "unknown", "modified": "unknown", "goversion": "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		labels["goversion"] = info.GoVersion
		if info.Main.Version != "" {
			labels["version"] = info.Main.Version
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				labels["revision"] = s.Value
			case "vcs.modified":
				labels["modified"] = s.Value
			}
		}
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", ConstLabels: labels,
		Help: "Always 1. The labels say from which source the program was built.",
	})
	info.Set(1)
	return info
}

// maxScrapes bounds how many scrapes run at a time.
const maxScrapes = 4

// Handler answers scrapes. If one source fails, the metrics of the others are
// still served.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(log.Handler(), slog.LevelError),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
	})
}
