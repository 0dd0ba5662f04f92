package metrics

import (
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
	m.registry.MustRegister(collector{s.sendFees, s.sendRegistries, s.sendLimiter, s.sendLifecycle, s.sendUsage, s.sendProcess, s.sendChecks})
}

// collector is a prometheus.Collector that calls its functions at every scrape.
type collector []func(send)

// send reports the value of one series. The labels are names and values in turn.
type send func(name, help string, value float64, labels ...string)

// Describe implements prometheus.Collector. The sources cannot be asked before the
// service is built, so that only what is collected is checked.
func (c collector) Describe(chan<- *prometheus.Desc) {}

func (c collector) Collect(to chan<- prometheus.Metric) {
	for _, collect := range c {
		collect(func(name, help string, value float64, labels ...string) {
			var names, values []string
			for i := 0; i < len(labels); i += 2 {
				names, values = append(names, labels[i]), append(values, labels[i+1])
			}
			kind := prometheus.GaugeValue
			if strings.HasSuffix(name, "_total") {
				kind = prometheus.CounterValue
			}
			to <- prometheus.MustNewConstMetric(prometheus.NewDesc(namespace+"_"+name, help, names, nil), kind, value, values...)
		})
	}
}

func (s Sources) sendFees(send send) {
	asLabel := strings.NewReplacer(" ", "_", "-", "_")
	for _, f := range s.IssuerFees() {
		chain := f.Source.String()
		send("issuer_fee_failing", "1 while the last look-up of a source chain's rate gave none.", boolValue(f.Err != nil), "chain", chain)
		bps, _ := strconv.ParseFloat(f.Rate.String(), 64) // a Rate is a decimal number
		send("issuer_fee_bps", "Rate of the issuer's fast transfer that quotes use, in basis points, by source chain.", bps, "chain", chain)
		if f.Origin != cctp.BuiltIn {
			send("issuer_fee_age_seconds", "Time since the issuer's service gave the rate. Absent while the built-in table serves.",
				f.Age.Seconds(), "chain", chain)
		}
		for _, o := range []cctp.Origin{cctp.Live, cctp.LastGood, cctp.BuiltIn} {
			send("issuer_fee_origin", "1 for where the rate of a source chain is from: live, last_good or built_in.",
				boolValue(f.Origin == o), "chain", chain, "origin", asLabel.Replace(string(o)))
		}
	}
}

func (s Sources) sendRegistries(send send) {
	for _, h := range s.Registries() {
		send("integrator_endpoints", "RPC endpoints configured, by chain.", float64(h.Endpoints), "chain", h.Network.String())
		send("integrator_endpoints_resting", "RPC endpoints that are skipped after a failure, by chain.",
			float64(h.Resting), "chain", h.Network.String())
	}
}

func (s Sources) sendLimiter(send send) {
	l := s.Limiter()
	for decision, n := range map[string]uint64{"allowed": l.Allowed, "refused": l.Refused, "uncounted": l.Uncounted} {
		send("limiter_decisions_total", "Requests the rate limiter let pass (allowed), refused, or let pass without counting them (uncounted).",
			float64(n), "decision", decision)
	}
	for _, b := range []limit.Backend{limit.Off, limit.Memory, limit.Redis, limit.Fallback} {
		send("limiter_backend", "1 for where decisions are made: off, memory, redis, or fallback, which is memory because Redis does not answer.",
			boolValue(l.Backend == b), "backend", string(b))
	}
	send("limiter_clients", "Clients held in memory.", float64(l.Clients))
	send("limiter_clients_ceiling", "Most clients that memory will hold.", float64(l.Ceiling))
}

func (s Sources) sendLifecycle(send send) {
	now := s.Lifecycle()
	send("lifecycle_plan_refused", "1 while the plan's file is not what is in force, because it is bad or gone.",
		boolValue(now.Refused != nil))
	if now.Hash != "" {
		send("lifecycle_plan_info", "1 for the hash of the plan in force, which is the same on all instances that follow the same plan. Absent without a plan.",
			1, "hash", now.Hash)
	}
	for _, v := range now.Versions {
		for _, possible := range []lifecycle.Stage{lifecycle.Active, lifecycle.Deprecated, lifecycle.BrowningOut, lifecycle.Held, lifecycle.Retired} {
			send("version_stage", "1 for where a version stands: active, deprecated, brownout, held or retired.",
				boolValue(v.Stage == possible), "version", v.Version, "stage", string(possible))
		}
		if schedule := now.Plan.Versions[v.Version]; schedule != nil && !schedule.Sunset.IsZero() {
			send("version_days_to_sunset", "Days until a version's sunset, negative past it. Absent where none is planned.",
				schedule.Sunset.Sub(s.Now()).Hours()/24, "version", v.Version)
		}
		if v.Gate != nil {
			send("version_gate_holds", "1 while a sunset of the version would not take effect, because it is too much used or the counts are incomplete. Absent where there is no gate.",
				boolValue(v.Gate.Holds), "version", v.Version)
			send("version_released", "1 once a version's gate has let its sunset pass, which is final. Absent where there is no gate.",
				boolValue(!v.Gate.Released.IsZero()), "version", v.Version)
		}
	}
}

func (s Sources) sendUsage(send send) {
	for _, t := range s.Usage() {
		send("usage_clients", "Distinct clients that a version served, or refused by a brownout, within the last hour, day or week, by all instances that share a database. Of the current version, only known clients and those that an old version has seen.",
			float64(t.Clients), "version", t.Version, "window", t.Window)
		send("usage_calls", "Calls that a version served within the last hour, day or week, by all instances that share a database.",
			float64(t.Calls), "version", t.Version, "window", t.Window)
	}
	send("usage_notes", "Things that the numbers of usage leave out; /admin/usage names them.", float64(len(s.UsageNotes())))
	send("usage_plans", "Different retirement plans that the running instances which share a database follow; 1 if they agree.",
		float64(s.UsagePlans()))
	bytes, limit := s.UsageSize()
	send("usage_database_bytes", "Size of the database of usage, about.", float64(bytes))
	send("usage_database_limit_bytes", "Size from which on counts are given up.", float64(limit))
}

func (s Sources) sendProcess(send send) {
	send("clients_file_refused", "1 while the clients file is not what is known, because it is bad or gone.", boolValue(s.ClientsBad()))
	send("log_lines_dropped_total", "Log lines that were not written, because nobody read the log.", float64(s.LogDropped()))
	send("panics_total", "Panics that were caught. Each is a bug, and in the log with its stack.", float64(guard.Total()))
	send("connections", "Connections of clients that are open.", float64(s.Connections()))
	send("connections_limit", "Most connections of clients that are accepted at a time.", float64(s.MaxConnections))
}

func (s Sources) sendChecks(send send) {
	type series struct{ what, chain string }
	failed := make(map[series]float64) // also 0, for what was tested and is right
	for _, r := range s.Checks() {
		failed[series{string(r.What), r.Chain.String()}] += boolValue(r.Outcome == selfcheck.Failed)
	}
	for of, n := range failed {
		send("check_failures", "Tests of the deployment and the RPC endpoints that failed in the last round, by what was tested and chain.",
			n, "what", of.what, "chain", of.chain)
	}
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
