// Package metrics tells Prometheus how the service does.
//
// Every label has a closed set of values, known when the program is built or
// configured. Nothing that a client sends becomes a label: what is not in its
// set counts as "other", so the number of series is bounded whatever is sent.
// To observe a successful request allocates nothing.
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

	// other stands for a value that is not in a label's set, and none for no
	// value at all.
	other, none = "other", "none"
)

// Metrics is a registry of its own, apart from the process-wide one that any
// package may add to.
type Metrics struct {
	registry *prometheus.Registry
}

// New has the metrics of the build, the Go runtime and the process. Requests,
// IntegratorHooks and Watch add the others.
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

// Handler answers scrapes. What one source fails to tell does not hide what
// the others do.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(log.Handler(), slog.LevelError),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
	})
}
