package metrics

import (
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/integrator"
)

// Sources are asked at every scrape. One that is nil has no metrics. They must
// be quick, and safe for concurrent use.
type Sources struct {
	IssuerFees func() []cctp.State
	Registries func() []integrator.Health
	Limiter    func() Limiter
	Lifecycle  func() Lifecycle
	Usage      func() []Usage
	UsageNotes func() int       // how many things Usage leaves out
	Now        func() time.Time // time.Now if nil
}

// Limiter is what the rate limiter has done. The counts only grow.
type Limiter struct {
	Backend                     string // off, memory, redis or fallback
	Allowed, Refused, Uncounted uint64
	Clients, Ceiling            int
}

// Lifecycle is where the versions stand.
type Lifecycle struct {
	PlanRefused bool // the file is not what is in force
	Versions    []Life
}

// Life is where one version stands.
type Life struct {
	Version   string
	Stage     string    // active, deprecated, brownout, held or retired
	Sunset    time.Time // zero: none is planned
	Gate      bool      // there is one,
	GateHolds bool      // and the sunset would not take effect now
}

// Usage is how much a version is used within a window.
type Usage struct {
	Version, Window string // of hour, day and week
	Clients, Calls  uint64
}

// The sets of the labels whose value is what is the case. Every value has a
// series, of which one is 1.
var (
	origins  = []string{"live", "last_good", "built_in"}
	backends = []string{"off", "memory", "redis", "fallback"}
	stages   = []string{"active", "deprecated", "brownout", "held", "retired"}
	spans    = []string{"hour", "day", "week"}
)

var originLabels = map[cctp.Origin]string{cctp.Live: "live", cctp.LastGood: "last_good", cctp.BuiltIn: "built_in"}

// Watch adds the metrics of the sources.
func (m *Metrics) Watch(s Sources) {
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.IssuerFees != nil {
		m.registry.MustRegister(newFees(s.IssuerFees))
	}
	if s.Registries != nil {
		m.registry.MustRegister(newRegistries(s.Registries))
	}
	if s.Limiter != nil {
		m.registry.MustRegister(newLimiter(s.Limiter))
	}
	if s.Lifecycle != nil {
		m.registry.MustRegister(newLifecycle(s.Lifecycle, s.Now))
	}
	if s.Usage != nil {
		m.registry.MustRegister(newUsage(s.Usage))
	}
	if s.UsageNotes != nil {
		m.registry.MustRegister(newUsageNotes(s.UsageNotes))
	}
}

// collector makes a prometheus.Collector of a function that is asked at every
// scrape.
type collector struct {
	descs   []*prometheus.Desc
	collect func(send)
}

// send reports one series. The same series twice would fail the whole scrape,
// so the first one counts.
type send func(d *prometheus.Desc, t prometheus.ValueType, value float64, labels ...string)

func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

func (c *collector) Collect(to chan<- prometheus.Metric) {
	type series struct {
		desc   *prometheus.Desc
		labels string
	}
	seen := make(map[series]bool)
	c.collect(func(d *prometheus.Desc, t prometheus.ValueType, value float64, labels ...string) {
		key := series{d, ""}
		for _, l := range labels {
			key.labels += strconv.Quote(l)
		}
		if !seen[key] {
			seen[key] = true
			to <- prometheus.MustNewConstMetric(d, t, value, labels...)
		}
	})
}

// oneOf sends a series for every value of a set, of which the case is 1.
func (s send) oneOf(d *prometheus.Desc, set []string, value string, labels ...string) {
	for _, candidate := range set {
		s(d, prometheus.GaugeValue, truth(candidate == value), append(slices.Clone(labels), candidate)...)
	}
}

func (c *collector) desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
	c.descs = append(c.descs, d)
	return d
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
