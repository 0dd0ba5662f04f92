package metrics

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotegate/quotegate/shared/fault"
)

// Route is an endpoint of a version, as it is mounted.
type Route struct{ Version, Path string }

// buckets spread from a quote out of memory, which takes some 50 µs, to the
// deadline of a request, 10 s.
var buckets = []float64{
	50e-6, 100e-6, 250e-6, 500e-6,
	1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3,
	1, 2.5, 5, 10,
}

// statuses are those the gateway answers with.
var statuses = []int{200, 204, 304, 400, 403, 404, 405, 410, 429, 500, 503}

// Requests counts and times requests.
type Requests struct {
	counters *prometheus.CounterVec
	routes   map[Route]*route
	unrouted *route
	codes    map[fault.Code]int
}

// route is where the requests of one route are counted. Counters are made when
// they are first needed: most combinations of status and code never are.
type route struct {
	Route
	duration prometheus.Observer
	counters [][]atomic.Pointer[prometheus.Counter] // by status and code
}

// Requests adds the metrics of requests to these routes. Requests to any other
// count as to none.
func (m *Metrics) Requests(routes []Route) *Requests {
	r := &Requests{
		counters: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "http_requests_total",
			Help: "Requests answered, by version, route as mounted, status and error code.",
		}, []string{"version", "route", "status", "code"}),
		routes: make(map[Route]*route),
		codes:  make(map[fault.Code]int),
	}
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "http_request_duration_seconds", Buckets: buckets,
		Help: "Time from the first step of a request to its last, by version and route as mounted.",
	}, []string{"version", "route"})
	m.registry.MustRegister(r.counters, durations)
	for i, code := range fault.Codes() {
		r.codes[code] = i
	}
	for _, at := range append([]Route{{none, none}}, routes...) {
		added := &route{Route: at, duration: durations.WithLabelValues(at.Version, at.Path)}
		for range len(statuses) + 1 {
			added.counters = append(added.counters, make([]atomic.Pointer[prometheus.Counter], len(r.codes)+2))
		}
		r.routes[at] = added
		// A counter that begins at its first failure hides that failure from
		// rate(): those that alerts look at begin at 0.
		r.counter(added, 200, "")
		r.counter(added, 500, fault.Internal)
	}
	r.unrouted = r.routes[Route{none, none}]
	return r
}

// Observe counts a request that has been answered. The code is empty for a
// success. A status of 0 means that nothing was written, which net/http sends
// as 200.
func (r *Requests) Observe(version, path string, status int, code fault.Code, took time.Duration) {
	at, ok := r.routes[Route{version, path}]
	if !ok {
		at = r.unrouted
	}
	at.duration.Observe(took.Seconds())
	r.counter(at, status, code).Inc()
}

func (r *Requests) counter(at *route, status int, code fault.Code) prometheus.Counter {
	s, c := placeOf(status), r.placeOf(code)
	place := &at.counters[s][c]
	if known := place.Load(); known != nil {
		return *known
	}
	statusLabel, codeLabel := other, other
	if s < len(statuses) {
		statusLabel = strconv.Itoa(statuses[s])
	}
	if code == "" {
		codeLabel = none
	} else if c < len(r.codes) {
		codeLabel = string(code)
	}
	made := r.counters.WithLabelValues(at.Version, at.Path, statusLabel, codeLabel)
	place.Store(&made) // whoever makes it at the same time makes the same
	return made
}

// placeOf gives the place of a status; those not in the list share the last.
func placeOf(status int) int {
	if status == 0 {
		status = 200
	}
	if i := slices.Index(statuses, status); i >= 0 {
		return i
	}
	return len(statuses)
}

// placeOf gives the place of a code; no code, and those not in the list, have
// places behind it.
func (r *Requests) placeOf(code fault.Code) int {
	if i, ok := r.codes[code]; ok {
		return i
	}
	if code == "" {
		return len(r.codes)
	}
	return len(r.codes) + 1
}
