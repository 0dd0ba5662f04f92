package metrics

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/selfcheck"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/integrator"
)

// Sources are called at every scrape. They must be quick and safe for concurrent
// use.
type Sources struct {
	IssuerFees func() []cctp.State
	Registries func() []integrator.Health
	Limiter    func() limit.Stats
	Lifecycle  func() lifecycle.Snapshot
	Usage      func() []usage.Total
	UsageNotes func() []string // what Usage leaves out
	UsagePlans func() int      // different plans that instances follow
	UsageSize  func() (bytes, most int64)
	ClientsBad func() bool   // the clients file is bad or gone
	LogDropped func() uint64 // log lines that were not written
	Checks     func() []selfcheck.Result

	Connections    func() int       // of clients, open now
	MaxConnections int              // their bound
	Now            func() time.Time // time.Now if nil
}

// Watch adds the metrics of the sources.
func (m *Metrics) Watch(s Sources) {
	if s.Now == nil {
		s.Now = time.Now
	}
	m.registry.MustRegister(watchFees(s.IssuerFees), watchRegistries(s.Registries), watchLimiter(s.Limiter),
		watchLifecycle(s.Lifecycle, s.Now), watchUsage(s), watchProcess(s), watchChecks(s.Checks))
}

func watchFees(fees func() []cctp.State) *collector {
	c := &collector{}
	rate := c.desc("issuer_fee_bps", "Rate of the issuer's fast transfer that quotes use, in basis points, by source chain.", "chain")
	age := c.desc("issuer_fee_age_seconds", "Time since the issuer's service gave the rate. Absent while the built-in table serves.", "chain")
	origin := c.desc("issuer_fee_origin", "1 for where the rate of a source chain is from: live, last_good or built_in.", "chain", "origin")
	failing := c.desc("issuer_fee_failing", "1 while the last look-up of a source chain's rate gave none.", "chain")
	c.collect = func(send send) {
		for _, f := range fees() {
			chain := f.Source.String()
			send(failing, boolValue(f.Err != nil), chain)
			bps, _ := strconv.ParseFloat(f.Rate.String(), 64) // a Rate is a decimal number
			send(rate, bps, chain)
			if f.Origin != cctp.BuiltIn {
				send(age, f.Age.Seconds(), chain)
			}
			for _, o := range []cctp.Origin{cctp.Live, cctp.LastGood, cctp.BuiltIn} {
				send(origin, boolValue(f.Origin == o), chain, asLabel.Replace(string(o)))
			}
		}
	}
	return c
}

func watchProcess(s Sources) *collector {
	c := &collector{}
	dropped := c.desc("log_lines_dropped_total", "Log lines that were not written, because nobody read the log.")
	panics := c.desc("panics_total", "Panics that were caught. Each is a bug, and in the log with its stack.")
	open := c.desc("connections", "Connections of clients that are open.")
	limit := c.desc("connections_limit", "Most connections of clients that are accepted at a time.")
	refused := c.desc("clients_file_refused", "1 while the clients file is not what is known, because it is bad or gone.")
	c.collect = func(send send) {
		send(refused, boolValue(s.ClientsBad()))
		send(dropped, float64(s.LogDropped()))
		send(panics, float64(guard.Total()))
		send(open, float64(s.Connections()))
		send(limit, float64(s.MaxConnections))
	}
	return c
}

func watchChecks(results func() []selfcheck.Result) *collector {
	c := &collector{}
	failures := c.desc("check_failures", "Tests of the deployment and the RPC endpoints that failed in the last round, by what was tested and chain.", "what", "chain")
	c.collect = func(send send) {
		type series struct{ what, chain string }
		failed := make(map[series]int) // also 0, for what was tested and is right
		for _, r := range results() {
			s := series{string(r.What), r.Chain.String()}
			failed[s] += int(boolValue(r.Outcome == selfcheck.Failed))
		}
		for s, n := range failed {
			send(failures, float64(n), s.what, s.chain)
		}
	}
	return c
}

func watchRegistries(registries func() []integrator.Health) *collector {
	c := &collector{}
	endpoints := c.desc("integrator_endpoints", "RPC endpoints configured, by chain.", "chain")
	resting := c.desc("integrator_endpoints_resting", "RPC endpoints that are skipped after a failure, by chain.", "chain")
	c.collect = func(send send) {
		for _, h := range registries() {
			send(endpoints, float64(h.Endpoints), h.Network.String())
			send(resting, float64(h.Resting), h.Network.String())
		}
	}
	return c
}

func watchLimiter(stats func() limit.Stats) *collector {
	c := &collector{}
	decisions := c.desc("limiter_decisions_total", "Requests the rate limiter let pass (allowed), refused, or let pass without counting them (uncounted).", "decision")
	backend := c.desc("limiter_backend", "1 for where decisions are made: off, memory, redis, or fallback, which is memory because Redis does not answer.", "backend")
	clients := c.desc("limiter_clients", "Clients held in memory.")
	ceiling := c.desc("limiter_clients_ceiling", "Most clients that memory will hold.")
	c.collect = func(send send) {
		l := stats()
		send(decisions, float64(l.Allowed), "allowed")
		send(decisions, float64(l.Refused), "refused")
		send(decisions, float64(l.Uncounted), "uncounted")
		for _, b := range []limit.Backend{limit.Off, limit.Memory, limit.Redis, limit.Fallback} {
			send(backend, boolValue(l.Backend == b), string(b))
		}
		send(clients, float64(l.Clients))
		send(ceiling, float64(l.Ceiling))
	}
	return c
}

func watchLifecycle(snapshot func() lifecycle.Snapshot, now func() time.Time) *collector {
	c := &collector{}
	refused := c.desc("lifecycle_plan_refused", "1 while the plan's file is not what is in force, because it is bad or gone.")
	hash := c.desc("lifecycle_plan_info", "1 for the hash of the plan in force, which is the same on all instances that follow the same plan. Absent without a plan.", "hash")
	stage := c.desc("version_stage", "1 for where a version stands: active, deprecated, brownout, held or retired.", "version", "stage")
	sunset := c.desc("version_days_to_sunset", "Days until a version's sunset, negative past it. Absent where none is planned.", "version")
	gate := c.desc("version_gate_holds", "1 while a sunset of the version would not take effect, because it is too much used or the counts are incomplete. Absent where there is no gate.", "version")
	released := c.desc("version_released", "1 once a version's gate has let its sunset pass, which is final. Absent where there is no gate.", "version")
	c.collect = func(send send) {
		s := snapshot()
		send(refused, boolValue(s.Refused != nil))
		if s.Hash != "" {
			send(hash, 1, s.Hash)
		}
		for _, v := range s.Versions {
			for _, possible := range []lifecycle.Stage{lifecycle.Active, lifecycle.Deprecated, lifecycle.BrowningOut, lifecycle.Held, lifecycle.Retired} {
				send(stage, boolValue(v.Stage == possible), v.Version, string(possible))
			}
			if schedule := s.Plan.Versions[v.Version]; schedule != nil && !schedule.Sunset.IsZero() {
				send(sunset, schedule.Sunset.Sub(now()).Hours()/24, v.Version)
			}
			if v.Gate != nil {
				send(gate, boolValue(v.Gate.Holds), v.Version)
				send(released, boolValue(!v.Gate.Released.IsZero()), v.Version)
			}
		}
	}
	return c
}

func watchUsage(s Sources) *collector {
	c := &collector{}
	clients := c.desc("usage_clients", "Distinct clients that a version served, or refused by a brownout, within the last hour, day or week, by all instances that share a database. Of the current version, only known clients and those that an old version has seen.", "version", "window")
	calls := c.desc("usage_calls", "Calls that a version served within the last hour, day or week, by all instances that share a database.", "version", "window")
	different := c.desc("usage_plans", "Different retirement plans that the running instances which share a database follow; 1 if they agree.")
	size := c.desc("usage_database_bytes", "Size of the database of usage, about.")
	most := c.desc("usage_database_limit_bytes", "Size from which on counts are given up.")
	missing := c.desc("usage_notes", "Things that the numbers of usage leave out; /admin/usage names them.")
	c.collect = func(send send) {
		for _, t := range s.Usage() {
			send(clients, float64(t.Clients), t.Version, t.Window)
			send(calls, float64(t.Calls), t.Version, t.Window)
		}
		send(missing, float64(len(s.UsageNotes())))
		send(different, float64(s.UsagePlans()))
		bytes, limit := s.UsageSize()
		send(size, float64(bytes))
		send(most, float64(limit))
	}
	return c
}

// collector is a prometheus.Collector that calls a function at every scrape.
type collector struct {
	descs   []*prometheus.Desc
	totals  []*prometheus.Desc // the counters among them
	collect func(send)
}

// send reports the value of one series.
type send func(d *prometheus.Desc, value float64, labels ...string)

func (c *collector) desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
	c.descs = append(c.descs, d)
	if strings.HasSuffix(name, "_total") {
		c.totals = append(c.totals, d)
	}
	return d
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	c.collect(func(d *prometheus.Desc, value float64, labels ...string) {
		kind := prometheus.GaugeValue
		if slices.Contains(c.totals, d) {
			kind = prometheus.CounterValue
		}
		to <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	})
}

// asLabel turns text for people into the value of a label.
var asLabel = strings.NewReplacer(" ", "_", "-", "_")

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
