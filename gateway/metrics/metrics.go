// Package metrics provides the metrics for Prometheus.
//
// Every label has a closed set of values, known when the program is built or
// configured. Nothing that a client sends becomes a label: a value outside the
// set counts as "other", so the number of series is bounded. Observing a
// successful request allocates nothing.
package metrics

import (
	"cmp"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/status"
	"github.com/quotegate/quotegate/shared/web"
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
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", ConstLabels: Build(),
		Help: "Always 1. The labels say from which source the program was built.",
	})
	build.Set(1)
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build)
	return m
}

// Build is what `go version -m` says about this program: its version, which is that
// of a module or the commit of a checkout, its revision, and so on.
func Build() map[string]string {
	facts := map[string]string{"version": "unknown", "revision": "unknown", "modified": "unknown", "goversion": runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		facts["version"] = cmp.Or(info.Main.Version, "unknown")
		for _, s := range info.Settings {
			if fact, ok := strings.CutPrefix(s.Key, "vcs."); ok && facts[fact] != "" {
				facts[fact] = s.Value
			}
		}
	}
	return facts
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
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

// buckets go from a quote without a look-up, about 50 µs, to the deadline of a
// request, 10 s.
var buckets = []float64{
	50e-6, 100e-6, 250e-6, 500e-6,
	1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3,
	1, 2.5, 5, 10,
}

// statuses are those the gateway answers with.
var statuses = []int{200, 204, 304, 400, 401, 403, 404, 405, 410, 429, 500, 501, 503}

// Requests counts and times answered requests, and the quotes among them. It
// is an event.Observer.
type Requests struct {
	counters *prometheus.CounterVec
	routes   map[routeKey]*routeMetrics
	unrouted *routeMetrics
	quotes   map[string]prometheus.Counter
}

// routeKey is a route of a version, as mounted.
type routeKey struct{ version, path string }

// routeMetrics are the metrics of one route.
type routeMetrics struct {
	routeKey
	duration prometheus.Observer
	ok       prometheus.Counter // the counter of successes, which is used most
}

// Requests adds the metrics of requests to the routes of the modules. Requests to
// other paths count with the labels none.
func (m *Metrics) Requests(modules []web.Module) *Requests {
	r := &Requests{
		counters: m.counter("http_requests_total",
			"Requests answered, by version, route as mounted, status, error code, and whether the client rehearsed a later stage.",
			"version", "route", "status", "code", "rehearsal"),
		routes: make(map[routeKey]*routeMetrics),
		quotes: make(map[string]prometheus.Counter),
	}
	durations := m.histogram("http_request_duration_seconds",
		"Time from the first step of a request to its last, by version and route as mounted.", buckets, "version", "route")
	quotes := m.counter("quotes_total", "Quotes given, by the kind of their pair.", "kind")
	for _, kind := range kinds {
		r.quotes[kind] = quotes.WithLabelValues(kind)
	}
	add := func(at routeKey) *routeMetrics {
		// A counter that begins at its first failure hides that failure from
		// rate(): those that alerts look at begin at 0.
		r.counters.WithLabelValues(at.version, at.path, "500", string(fault.Internal), "false")
		return &routeMetrics{at, durations.WithLabelValues(at.version, at.path), r.counters.WithLabelValues(at.version, at.path, "200", none, "false")}
	}
	r.unrouted = add(routeKey{none, none})
	for _, module := range modules {
		for _, mounted := range module.Routes {
			at := routeKey{module.Name, mounted.Path}
			r.routes[at] = add(at)
		}
	}
	return r
}

func (r *Requests) Observe(e *event.Event) {
	at, ok := r.routes[routeKey{e.Version, e.Route}]
	if !ok {
		at = r.unrouted
	}
	at.duration.Observe(e.Took.Seconds())
	if e.Pair != nil {
		r.quotes[kindOf(e.Pair)].Inc()
	}
	status := cmp.Or(e.Status, 200) // nothing was written, which net/http sends as 200
	if status == 200 && e.Code == "" && !e.Rehearsal {
		at.ok.Inc()
		return
	}
	r.counters.WithLabelValues(at.version, at.path, statusLabel(status), codeLabel(e.Code), strconv.FormatBool(e.Rehearsal)).Inc()
}

func statusLabel(status int) string {
	if slices.Contains(statuses, status) {
		return strconv.Itoa(status)
	}
	return other
}

func codeLabel(code fault.Code) string {
	switch {
	case code == "":
		return none
	case slices.Contains(fault.Codes(), code):
		return string(code)
	}
	return other
}

// kinds of pairs: through a pool to the hub or from it, over the issuer's
// network, into a privacy pool or out of one.
var kinds = []string{"direct_in", "direct_out", "burn", "shield", "unshield"}

func kindOf(p *chain.Pair) string {
	switch {
	case p.Src.Private():
		return "unshield"
	case p.Dst.Private():
		return "shield"
	case p.Route == chain.CCTPInbound:
		return "burn"
	case p.Dst == chain.Hub:
		return "direct_in"
	}
	return "direct_out"
}

// IntegratorHooks adds the metrics of integrator look-ups and returns the hooks
// that count them. Chains and reasons are closed lists.
func (m *Metrics) IntegratorHooks() integrator.Hooks {
	lookups := m.counter("integrator_lookups_total",
		"Look-ups of an integrator, by chain, and whether memory had the answer (hit) or the chain was asked (miss).", "chain", "result")
	failures := m.counter("integrator_failures_total", "Times a chain gave no answer about an integrator, by chain and reason.", "chain", "reason")
	latency := m.histogram("integrator_rpc_duration_seconds",
		"Time to ask a chain about an integrator, waiting for a turn included, whatever came of it.",
		buckets[4:], "chain") // from 1 ms on: a node in the same network
	for _, id := range chain.PoolChains { // so that every series begins at 0
		lookups.WithLabelValues(id.String(), "hit")
		lookups.WithLabelValues(id.String(), "miss")
		latency.WithLabelValues(id.String())
		for _, reason := range rpc.Reasons() {
			failures.WithLabelValues(id.String(), string(reason))
		}
	}
	return integrator.Hooks{
		Hit:     func(id chain.ID) { lookups.WithLabelValues(id.String(), "hit").Inc() },
		Miss:    func(id chain.ID) { lookups.WithLabelValues(id.String(), "miss").Inc() },
		Failure: func(id chain.ID, reason rpc.Reason) { failures.WithLabelValues(id.String(), string(reason)).Inc() },
		Latency: func(id chain.ID, d time.Duration) { latency.WithLabelValues(id.String()).Observe(d.Seconds()) },
	}
}

// StatusOptions adds the metrics of status look-ups and returns the options that
// count them.
func (m *Metrics) StatusOptions() status.Options {
	answers := m.counter("status_answers_total", "Answers to what became of a swap, by its state; none where a chain could not be asked.", "state")
	ranOut := m.counter("status_searches_unfinished_total",
		"Searches for the event of a payout that one look-up could not end. The next one goes on.").WithLabelValues()
	counters := map[status.State]prometheus.Counter{"": answers.WithLabelValues(none)}
	for _, state := range status.States() { // so that every series begins at 0
		counters[state] = answers.WithLabelValues(string(state))
	}
	return status.Options{Answered: func(state status.State) { counters[state].Inc() }, RanOut: ranOut.Inc}
}
