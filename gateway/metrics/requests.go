package metrics

import (
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/web"
)

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
// is a event.Observer.
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
		counters: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "http_requests_total",
			Help: "Requests answered, by version, route as mounted, status, error code, and whether the client rehearsed a later stage.",
		}, []string{"version", "route", "status", "code", "rehearsal"}),
		routes: make(map[routeKey]*routeMetrics),
		quotes: make(map[string]prometheus.Counter),
	}
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "http_request_duration_seconds", Buckets: buckets,
		Help: "Time from the first step of a request to its last, by version and route as mounted.",
	}, []string{"version", "route"})
	quotes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "quotes_total",
		Help: "Quotes given, by the kind of their pair.",
	}, []string{"kind"})
	m.registry.MustRegister(r.counters, durations, quotes)
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
	for i := range modules {
		for _, mounted := range modules[i].Routes {
			at := routeKey{modules[i].Name, mounted.Path}
			r.routes[at] = add(at)
		}
	}
	return r
}

// Observe implements event.Observer.
func (r *Requests) Observe(e *event.Event) {
	at, ok := r.routes[routeKey{e.Version, e.Route}]
	if !ok {
		at = r.unrouted
	}
	at.duration.Observe(e.Took.Seconds())
	if e.Pair != nil {
		r.quotes[kindOf(e.Pair)].Inc()
	}
	status := e.Status
	if status == 0 {
		status = 200 // nothing was written, which net/http sends as 200
	}
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
