// Package metrics provides the metrics for Prometheus.
//
// Every label has a closed set of values, known when the program is built or
// configured. Nothing that a client sends becomes a label, so the number of series is
// bounded.
package metrics

import (
	"cmp"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/selfcheck"
	"github.com/quotegate/quotegate/shared/buildinfo"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/skew"
	"github.com/quotegate/quotegate/shared/status"
	"github.com/quotegate/quotegate/shared/version"
)

const (
	namespace = "quotegate"
	none      = "none"  // the label for no value
	other     = "other" // the label for routes that are timed together
)

// Metrics has its own registry. Any package may add to the process-wide one.
type Metrics struct {
	registry *prometheus.Registry
	log      *slog.Logger
}

// New starts with the metrics of the build, the Go runtime and the process.
// Requests, IntegratorHooks, StatusOptions and Watch add the others. The log is for
// bugs, and for scrapes that fail.
func New(log *slog.Logger) *Metrics {
	facts := buildinfo.Read()
	m := &Metrics{registry: prometheus.NewRegistry(), log: log}
	m.add(collectors.NewGoCollector())
	m.add(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.add(collector(func(send send) {
		send("build_info",
			"Always 1. The labels are the release, the commit, whether its files were modified, and the Go version.",
			1, "version", buildinfo.Release, "revision", facts.Revision, "modified", facts.Modified,
			"goversion", runtime.Version())
	}))
	return m
}

// add registers a collector. The registry calls it in a goroutine of its own, where a
// panic would end the process.
func (m *Metrics) add(c prometheus.Collector) { m.registry.MustRegister(guarded{c, m.log}) }

type guarded struct {
	prometheus.Collector
	log *slog.Logger
}

func (g guarded) Collect(to chan<- prometheus.Metric) {
	safego.Do(g.log, "collecting metrics", func() { g.Collector.Collect(to) })
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.add(c)
	return c
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	options := prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}
	h := prometheus.NewHistogramVec(options, labels)
	m.add(h)
	return h
}

// maxScrapes bounds how many scrapes run at a time.
const maxScrapes = 4

// Handler answers scrapes. If one source fails, the metrics of the others are
// still served.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(m.log.Handler(), slog.LevelError),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
	})
}

// buckets go from a quote without a lookup, about 50 µs, to the deadline of a request,
// 10 s. QuotegateSlow needs the one of a second.
var buckets = []float64{
	50e-6, 100e-6, 250e-6,
	1e-3, 5e-3, 25e-3, 100e-3, 250e-3,
	1, 2.5, 10,
}

// Requests counts and times answered requests, and the quotes among them. It
// is an event.Observer.
type Requests struct {
	answers    *prometheus.CounterVec
	quotes     *prometheus.CounterVec
	preflights prometheus.Counter
	durations  map[route]prometheus.Observer // of all routes in answers

	mu       sync.RWMutex
	counters map[answer]prometheus.Counter // of answers that were given before
}

// route is one of a version, as mounted.
type route struct{ version, path string }

var unrouted = route{none, none}

// answer is what answers are counted by. There are few, since no value of a request is in it.
type answer struct {
	route
	status    int
	code      fault.Code
	rehearsal bool
}

// Requests adds the metrics of requests to the routes of the modules. Requests to
// other paths count with the labels none, but those for a version that was deleted from
// the code, which is one of retired, count under its name.
//
// A route that quotes or asks chains is timed by itself. The others of a version, such as
// its files, are timed together: a histogram has 14 series.
func (m *Metrics) Requests(modules []version.Module, retired []string) *Requests {
	durations := m.histogram("http_request_duration_seconds",
		"Request duration in seconds, by version and route: a route that quotes or asks chains, other for the "+
			"rest, none for paths that do not exist.",
		buckets, "version", "route")
	r := &Requests{
		answers: m.counter("http_requests_total",
			"Requests answered, by version, route, HTTP status, error code, and whether the client rehearsed a "+
				"later stage of the version. Without CORS preflights.",
			"version", "route", "status", "code", "rehearsal"),
		quotes: m.counter("quotes_total",
			"Quotes given, by kind: direct_in (to the hub), direct_out (from it), burn (over the issuer's "+
				"network), shield or unshield (into or out of a privacy pool).",
			"kind"),
		preflights: m.counter("http_preflights_total",
			"CORS preflight requests answered. No other metric includes them.").WithLabelValues(),
		durations: map[route]prometheus.Observer{},
		counters:  map[answer]prometheus.Counter{},
	}
	elsewhere := durations.WithLabelValues(none, none)
	r.mount(unrouted, elsewhere)
	for _, module := range modules {
		rest := durations.WithLabelValues(module.Name, other)
		for _, mounted := range module.Routes {
			r.mount(route{module.Name, mounted.Path}, rest)
		}
		for _, path := range timed(&module) {
			at := route{module.Name, path}
			r.mount(at, durations.WithLabelValues(module.Name, path))
			r.counter(answer{route: at, status: http.StatusOK})
		}
	}
	for _, name := range retired {
		at := route{name, none}
		r.durations[at] = elsewhere
		r.counter(answer{route: at, status: http.StatusGone, code: fault.VersionRetired})
	}
	for _, kind := range kinds {
		r.quotes.WithLabelValues(kind)
	}
	return r
}

// mount adds a route. A counter that begins at its first failure hides that failure from
// rate(): those that alerts look at begin at 0.
func (r *Requests) mount(at route, duration prometheus.Observer) {
	r.durations[at] = duration
	r.counter(answer{route: at, status: http.StatusInternalServerError, code: fault.Internal})
}

// timed are the paths of a version that are timed by themselves.
func timed(module *version.Module) []string {
	paths := module.QuotePaths()
	for _, one := range module.Routes {
		if one.ReadsNodes {
			paths = append(paths, one.Path)
		}
	}
	return paths
}

func (r *Requests) Observe(e *event.Event) {
	if e.Preflight {
		r.preflights.Inc()
		return
	}
	at := route{e.Version, cmp.Or(e.Route, none)}
	duration, mounted := r.durations[at]
	if !mounted {
		at = unrouted
		duration = r.durations[at]
	}
	duration.Observe(e.Took.Seconds())
	if e.Pair != nil {
		r.quotes.WithLabelValues(kindOf(e.Pair)).Inc()
	}
	status := cmp.Or(e.Status, http.StatusOK) // what net/http sends if nothing was written
	r.counter(answer{at, status, e.Code, e.Rehearsal}).Inc()
}

// counter is that of an answer. Looking it up by its labels costs a microsecond, so it is
// done once.
func (r *Requests) counter(a answer) prometheus.Counter {
	r.mu.RLock()
	counter := r.counters[a]
	r.mu.RUnlock()
	if counter != nil {
		return counter
	}
	counter = r.answers.WithLabelValues(a.version, a.path,
		strconv.Itoa(a.status), cmp.Or(string(a.code), none), strconv.FormatBool(a.rehearsal))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counters[a] = counter
	return counter
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
		"Integrator lookups, by chain and result: hit (answered from the cache) or miss (the chain was asked).",
		"chain", "result")
	failures := m.counter("integrator_failures_total",
		"Failures to read an integrator from a chain, by chain and reason.",
		"chain", "reason")
	differ := m.counter("integrator_disagreements_total",
		"Times two RPC endpoints disagreed about an integrator, whether or not a third decided, by chain.",
		"chain")
	latency := m.histogram("integrator_rpc_duration_seconds",
		"Time to read an integrator from a chain in seconds, including time in the queue and failures, by chain.",
		buckets[3:], "chain") // from 1 ms on: a node in the same network
	for _, id := range chain.PoolChains { // so that every series begins at 0
		lookups.WithLabelValues(id.String(), "hit")
		lookups.WithLabelValues(id.String(), "miss")
		latency.WithLabelValues(id.String())
		differ.WithLabelValues(id.String())
		for _, reason := range rpc.Reasons() {
			failures.WithLabelValues(id.String(), string(reason))
		}
	}
	return integrator.Hooks{
		Hit:     func(id chain.ID) { lookups.WithLabelValues(id.String(), "hit").Inc() },
		Miss:    func(id chain.ID) { lookups.WithLabelValues(id.String(), "miss").Inc() },
		Failure: func(id chain.ID, reason rpc.Reason) { failures.WithLabelValues(id.String(), string(reason)).Inc() },
		Latency: func(id chain.ID, d time.Duration) { latency.WithLabelValues(id.String()).Observe(d.Seconds()) },
		Differ:  func(id chain.ID) { differ.WithLabelValues(id.String()).Inc() },
	}
}

// StatusOptions adds the metrics of status look-ups and returns the options that
// count them.
func (m *Metrics) StatusOptions() status.Options {
	answers := m.counter("status_answers_total",
		"Status requests, by state of the swap; none if the chains could not be read. Without invalid requests.",
		"state")
	count := func(state status.State) prometheus.Counter {
		return answers.WithLabelValues(cmp.Or(string(state), none))
	}
	for _, state := range append(status.States(), "") { // so that every series begins at 0
		count(state)
	}
	return status.Options{Answered: func(state status.State) { count(state).Inc() }}
}

// Sources are called at every scrape. They must be quick and safe for concurrent
// use.
type Sources struct {
	IssuerFees func() []fee.IssuerFee
	Registries func() []rpc.Health
	Limiter    func() limit.Stats
	Lifecycle  func() lifecycle.Snapshot
	Instance   string // the ID of this run
	Clock      func() skew.Skew
	Usage      func() *evidence.Stats
	UsageNotes func() []string // what Usage leaves out
	UsageLimit int64           // bytes of the database from which on counts are deleted
	ClientsBad func() bool     // the clients file is bad or gone
	LogDropped func() uint64   // log lines that were not written
	Checks     func() []selfcheck.Result

	Connections    func() int // of clients, open now
	MaxConnections int        // their bound
}

// Watch adds the metrics of the sources.
func (m *Metrics) Watch(s Sources) {
	for _, source := range []collector{
		s.sendFees, s.sendRegistries, s.sendLimiter, s.sendLifecycle, s.sendUsage, s.sendProcess, s.sendChecks,
	} {
		m.add(source)
	}
}

// collector is a prometheus.Collector that calls a function at every scrape.
type collector func(send)

// send reports the value of one series. The labels are names and values in turn.
type send func(name, help string, value float64, labels ...string)

// Describe implements prometheus.Collector. The sources cannot be asked before the
// service is built, so that only what is collected is checked.
func (c collector) Describe(chan<- *prometheus.Desc) {}

func (c collector) Collect(to chan<- prometheus.Metric) {
	c(func(name, help string, value float64, labels ...string) {
		to <- constant(name, help, value, labels)
		if old, renamed := formerly[name]; renamed {
			to <- constant(old.name, deprecation(name), old.value(value), labels)
		}
	})
}

func constant(name, help string, value float64, labels []string) prometheus.Metric {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names = append(names, labels[i])
		values = append(values, labels[i+1])
	}
	kind := prometheus.GaugeValue
	if strings.HasSuffix(name, "_total") {
		kind = prometheus.CounterValue
	}
	desc := prometheus.NewDesc(namespace+"_"+name, help, names, nil)
	return prometheus.MustNewConstMetric(desc, kind, value, values...)
}

func (s Sources) sendFees(send send) {
	asLabel := strings.NewReplacer(" ", "_", "-", "_")
	for _, f := range s.IssuerFees() {
		chain := f.Source.String()
		send("issuer_fee_failing",
			"1 if the last lookup of the issuer's fee failed, by source chain.",
			boolValue(f.Err != nil), "chain", chain)
		ratio, _ := strconv.ParseFloat(f.Rate.String()+"e-4", 64) // a Rate is a decimal number of basis points
		send("issuer_fee_ratio",
			"Issuer's fee for a fast transfer that quotes use, as a share of the amount: 0.0001 is a basis point. "+
				"By source chain.",
			ratio, "chain", chain)
		if f.Origin != fee.BuiltIn {
			send("issuer_fee_age_seconds",
				"Seconds since the issuer's service gave the fee in use, by source chain. Absent if the fee is from "+
					"the built-in table.",
				f.Age.Seconds(), "chain", chain)
		}
		for _, o := range []fee.Origin{fee.Live, fee.LastGood, fee.BuiltIn} {
			send("issuer_fee_origin",
				"1 for the origin of the fee in use, otherwise 0, by source chain: live, last_good (an "+
					"earlier one, because the issuer's service fails) or built_in (a table).",
				boolValue(f.Origin == o), "chain", chain, "origin", asLabel.Replace(string(o)))
		}
	}
}

func (s Sources) sendRegistries(send send) {
	for _, h := range s.Registries() {
		send("integrator_endpoints",
			"RPC endpoints configured for integrator lookups, by chain.",
			float64(h.Endpoints), "chain", h.Network.String())
		send("integrator_endpoints_resting",
			"RPC endpoints that are skipped for some time after a failure, by chain.",
			float64(h.Resting), "chain", h.Network.String())
	}
}

func (s Sources) sendLimiter(send send) {
	l := s.Limiter()
	for decision, n := range map[string]uint64{"allowed": l.Allowed, "refused": l.Refused} {
		send("limiter_decisions_total",
			"Decisions of the rate limiter: quotes and status lookups that it allowed, requests of any kind that it "+
				"refused.",
			float64(n), "decision", decision)
	}
	for _, b := range []limit.Backend{limit.Off, limit.Memory, limit.Redis, limit.Fallback} {
		send("limiter_backend",
			"1 for where the rate limiter counts, otherwise 0: off, memory, redis, or fallback (memory, because Redis "+
				"does not answer).",
			boolValue(l.Backend == b), "backend", string(b))
	}
	send("limiter_clients", "Addresses and API keys that the rate limiter counts in memory.", float64(l.Sources))
	send("limiter_clients_ceiling", "Maximum number of addresses that the rate limiter counts in memory.",
		float64(l.Ceiling))
	send("limiter_forgotten_total",
		"Addresses that the rate limiter evicted within a minute of their last request, because memory was full.",
		float64(l.Forgotten))
}

// stages are all that a version can be in.
var stages = []lifecycle.Stage{
	lifecycle.Active, lifecycle.Deprecated, lifecycle.BrowningOut, lifecycle.Held, lifecycle.Retired,
}

func (s Sources) sendLifecycle(send send) {
	now := s.Lifecycle()
	send("lifecycle_plan_refused",
		"1 if the plan file is missing or invalid; the previous plan is still in use.",
		boolValue(now.Refused != nil))
	if now.Hash != "" {
		send("lifecycle_plan_info",
			"Always 1. The label is the hash of the plan in use, which is the same on all instances with that plan. "+
				"Absent without a plan.",
			1, "hash", now.Hash)
	}
	for _, v := range now.Versions {
		for _, possible := range stages {
			send("version_stage",
				"1 for the stage of a version, otherwise 0: active, deprecated, brownout, held (past its sunset, but "+
					"its gate holds) or retired.",
				boolValue(v.Stage == possible), "version", v.Version, "stage", string(possible))
		}
		if schedule := now.Plan.Versions[v.Version]; schedule != nil && !schedule.Sunset.IsZero() {
			send("version_sunset_timestamp_seconds",
				"Planned sunset of a version, in seconds since the Unix epoch. Absent if none is planned.",
				float64(schedule.Sunset.Unix()), "version", v.Version)
		}
		if v.Gate != nil {
			send("version_gate_holds",
				"1 if the gate of a version holds: a sunset would not take effect, because the version is used too "+
					"much or the counts are incomplete. Absent without a gate.",
				boolValue(v.Gate.Holds), "version", v.Version)
			send("version_gate_unknown",
				"1 if this instance cannot read whether the gate of a version has let its sunset pass. It then "+
					"serves the version past the sunset, which others may refuse. Absent without a gate.",
				boolValue(v.Gate.Unknown), "version", v.Version)
			send("version_released",
				"1 if the gate of a version has let its sunset pass, which is final. Absent without a gate.",
				boolValue(!v.Gate.Released.IsZero()), "version", v.Version)
		}
	}
}

func (s Sources) sendUsage(send send) {
	now := s.Usage()
	for version, t := range now.Traffic {
		for window, count := range map[string]evidence.Count{"hour": t.Hour, "day": t.Day, "week": t.Week} {
			labels := []string{"version", version, "window", window}
			send("usage_clients",
				"Distinct clients with a call that was served or that a brownout refused, by version, in the last "+
					"hour, day or week, on all instances that share a database. For the current version, only known "+
					"clients and those that called an old version.",
				float64(count.Clients), labels...)
			send("usage_calls",
				"Calls that were served or that a brownout refused, by version, in the last hour, day or week, on "+
					"all instances that share a database.",
				float64(count.Calls), labels...)
		}
	}
	send("usage_notes",
		"Number of known gaps in the usage counts; /admin/usage lists them.",
		float64(len(s.UsageNotes())))
	send("usage_plans",
		"Number of different plans in use on the running instances that share a database; 1 if all have the same.",
		float64(max(1, now.Plans)))
	send("usage_database_bytes", "Approximate size of the usage database in bytes.", float64(now.Bytes))
	send("usage_database_limit_bytes", "Size in bytes at which the oldest counts are deleted.", float64(s.UsageLimit))
}

func (s Sources) sendProcess(send send) {
	send("instance_info",
		"Always 1. The label is the ID of this instance since its start, as in the log and /admin/usage.",
		1, "id", s.Instance)
	now := s.Clock()
	for source, offset := range map[string]skew.Offset{"database": now.Database, "chains": now.Chains} {
		if offset.Known {
			send("clock_skew_seconds",
				"How far the clock of this machine is ahead of that of the database, and of the newest blocks of most "+
					"chains; negative if behind. Absent where it cannot be known.",
				offset.Ahead.Seconds(), "source", source)
		}
	}
	send("clients_file_refused",
		"1 if the clients file is missing or invalid; the previous clients are still in use.",
		boolValue(s.ClientsBad()))
	send("log_lines_dropped_total",
		"Log lines dropped because the log writer was blocked.",
		float64(s.LogDropped()))
	send("panics_total",
		"Panics that were recovered. Each is a bug; its stack is in the log.",
		float64(safego.Panics()))
	send("connections", "Open client connections.", float64(s.Connections()))
	send("connections_limit", "Maximum number of open client connections.", float64(s.MaxConnections))
}

func (s Sources) sendChecks(send send) {
	type series struct{ what, chain string }
	failed := make(map[series]float64) // also 0, for what was tested and is right
	for _, r := range s.Checks() {
		failed[series{string(r.What), r.Chain.String()}] += boolValue(r.Outcome == selfcheck.Failed)
	}
	for of, n := range failed {
		send("check_failures",
			"Number of self-checks that failed in the last round, by what was checked (endpoint, or a kind of "+
				"contract) and chain.",
			n, "what", of.what, "chain", of.chain)
	}
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
