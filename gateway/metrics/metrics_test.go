package metrics

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

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
	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/skew"
	"github.com/quotegate/quotegate/shared/testkit/journal"
	"github.com/quotegate/quotegate/shared/version"
)

var modules = []version.Module{
	{Name: "v3", Routes: []version.Route{
		{Path: "/v3/swap/quote", Quotes: true}, {Path: "/v3/swap/status", ReadsNodes: true},
		{Path: "/v3/client/index.js"}, {Path: "/v3/openapi.yaml"},
	}},
	{Name: "v1", Routes: []version.Route{{Path: "/v1/quote", Quotes: true}, {Path: "/swap/v1/quote", Quotes: true}}},
}

func rate(t testing.TB, text string) fee.Rate {
	t.Helper()
	r, err := fee.ParseRate(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sources have something to say on every metric there is.
func sources(t testing.TB) Sources {
	return Sources{
		IssuerFees: func() []fee.IssuerFee {
			return []fee.IssuerFee{
				{Source: 10, Rate: rate(t, "1.3"), Origin: fee.Live, Age: 90 * time.Second},
				{Source: 137, Rate: rate(t, "0.25"), Origin: fee.LastGood, Age: 2 * time.Hour, Err: errors.New("no answer")},
				{Source: 59144, Rate: rate(t, "13"), Origin: fee.BuiltIn},
			}
		},
		Registries: func() []rpc.Health {
			return []rpc.Health{{Network: 1, State: rpc.Working, Endpoints: 3, Resting: 1}, {Network: 56, State: rpc.NoEndpoint}}
		},
		Limiter: func() limit.Stats {
			return limit.Stats{Backend: limit.Fallback, Allowed: 100, Refused: 7, Forgotten: 4, Sources: 31, Ceiling: 139_264}
		},
		Lifecycle: func() lifecycle.Snapshot {
			return lifecycle.Snapshot{
				Refused: &jsonfile.Refusal{},
				Hash:    "9f86d081884c",
				Plan:    &lifecycle.Plan{Versions: map[string]*lifecycle.Schedule{"v1": {Sunset: time.Now().Add(-36 * time.Hour)}}},
				Versions: []lifecycle.Status{
					{Version: "v3", Stage: lifecycle.Active},
					{Version: "v1", Stage: lifecycle.Held, Gate: &lifecycle.GateReading{Holds: true}},
				},
			}
		},
		Usage: func() *evidence.Stats {
			traffic := evidence.Traffic{
				Hour: evidence.Count{Clients: 1, Calls: 2}, Day: evidence.Count{Clients: 3, Calls: 400},
				Week: evidence.Count{Clients: 5, Calls: 9000},
			}
			return &evidence.Stats{Traffic: map[string]evidence.Traffic{"v1": traffic}, Plans: 2, Bytes: 5 << 20}
		},
		Clock: func() skew.Skew {
			return skew.Skew{
				Database: skew.Offset{Ahead: 90 * time.Second, Known: true}, Chains: skew.Offset{Ahead: -2 * time.Minute, Known: true},
			}
		},
		UsageNotes: func() []string { return []string{"the database does not answer"} },
		UsageLimit: 1 << 30,
		ClientsBad: func() bool { return true },
		LogDropped: func() uint64 { return 12 },
		Checks: func() []selfcheck.Result {
			return []selfcheck.Result{
				{Name: "a", What: selfcheck.Endpoint, Chain: 1, Outcome: selfcheck.OK},
				{Name: "b", What: selfcheck.Router, Chain: 1, Outcome: selfcheck.Failed},
				{Name: "c", What: selfcheck.Router, Chain: 1, Outcome: selfcheck.OK},
				{Name: "d", What: selfcheck.Router, Chain: 1, Outcome: selfcheck.Failed},
				{Name: "e", What: selfcheck.Messenger, Chain: 137, Outcome: selfcheck.NotTested},
			}
		},
		Connections: func() int { return 34 }, MaxConnections: 4096,
	}
}

// whole is a registry with every metric, each of which has a value.
func whole(t testing.TB) (*Metrics, *Requests, integrator.Hooks) {
	m := New(slog.New(slog.DiscardHandler))
	requests := m.Requests(modules, []string{"v0", "v00"})
	m.Watch(sources(t))
	m.StatusOptions().Answered("")
	return m, requests, m.IntegratorHooks()
}

func answered(version, route string, status int, code fault.Code, took time.Duration) *event.Event {
	return &event.Event{Version: version, Route: route, Status: status, Code: code, Took: took}
}

func TestExposition(t *testing.T) {
	m, requests, hooks := whole(t)
	requests.Observe(answered("v1", "/v1/quote", 200, "", 80*time.Microsecond))
	requests.Observe(answered("v1", "/v1/quote", 0, "", 80*time.Microsecond)) // nothing written is a 200
	requests.Observe(answered("v1", "/v1/quote", 503, fault.IntegratorUnverified, 2*time.Second))
	requests.Observe(answered("", "", 404, fault.NotFound, time.Millisecond))
	requests.Observe(&event.Event{Version: "v1", Route: "/v1/quote", Status: 410, Code: fault.VersionRetired, Rehearsal: true})
	requests.Observe(answered("v1", "", 410, fault.VersionRetired, time.Millisecond))
	requests.Observe(answered("v0", "", 410, fault.VersionRetired, time.Millisecond))
	requests.Observe(answered("v3", "/v3/client/index.js", 200, "", time.Millisecond))
	requests.Observe(answered("v3", "/v3/openapi.yaml", 200, "", time.Millisecond))
	hooks.Hit(369)
	hooks.Hit(369)
	hooks.Miss(369)
	hooks.Failure(369, rpc.Timeout)
	hooks.Latency(369, 30*time.Millisecond)
	requests.Observe(&event.Event{Version: "v3", Route: "/v3/swap/quote", Status: 200, Pair: &chain.Pair{Src: 1, Dst: chain.PrivacyBNB, Route: chain.Direct}})

	got := scrape(t, m)
	for _, want := range []string{
		`quotegate_status_answers_total{state="none"} 1`,
		`quotegate_status_answers_total{state="SETTLED"} 0`,
		`quotegate_http_requests_total{code="none",rehearsal="false",route="/v1/quote",status="200",version="v1"} 2`,
		`quotegate_http_requests_total{code="INTEGRATOR_UNVERIFIED",rehearsal="false",route="/v1/quote",status="503",version="v1"} 1`,
		`quotegate_http_requests_total{code="NOT_FOUND",rehearsal="false",route="none",status="404",version="none"} 1`,
		`quotegate_http_requests_total{code="INTERNAL",rehearsal="false",route="/swap/v1/quote",status="500",version="v1"} 0`,
		`quotegate_http_requests_total{code="VERSION_RETIRED",rehearsal="true",route="/v1/quote",status="410",version="v1"} 1`,
		`quotegate_http_requests_total{code="VERSION_RETIRED",rehearsal="false",route="none",status="410",version="none"} 1`,
		`quotegate_http_requests_total{code="VERSION_RETIRED",rehearsal="false",route="none",status="410",version="v0"} 1`,
		`quotegate_http_requests_total{code="VERSION_RETIRED",rehearsal="false",route="none",status="410",version="v00"} 0`,
		`quotegate_http_request_duration_seconds_bucket{route="/v1/quote",version="v1",le="5e-05"} 1`,
		`quotegate_http_request_duration_seconds_bucket{route="/v1/quote",version="v1",le="0.0001"} 3`,
		`quotegate_http_request_duration_seconds_bucket{route="/v1/quote",version="v1",le="2.5"} 4`,
		`quotegate_http_request_duration_seconds_count{route="/v3/swap/status",version="v3"} 0`,
		`quotegate_http_request_duration_seconds_count{route="other",version="v3"} 2`,
		`quotegate_http_request_duration_seconds_count{route="none",version="none"} 3`,
		`quotegate_http_requests_total{code="none",rehearsal="false",route="/v3/client/index.js",status="200",version="v3"} 1`,
		`quotegate_log_lines_dropped_total 12`,
		`quotegate_connections 34`,
		`quotegate_clock_skew_seconds{source="database"} 90`,
		`quotegate_clock_skew_seconds{source="chains"} -120`,
		`quotegate_connections_limit 4096`,
		`quotegate_quotes_total{kind="shield"} 1`,
		`quotegate_quotes_total{kind="burn"} 0`,
		`quotegate_integrator_lookups_total{chain="369",result="hit"} 2`,
		`quotegate_integrator_lookups_total{chain="369",result="miss"} 1`,
		`quotegate_integrator_failures_total{chain="369",reason="timeout"} 1`,
		`quotegate_integrator_rpc_duration_seconds_bucket{chain="369",le="0.1"} 1`,
		`quotegate_integrator_endpoints{chain="1"} 3`,
		`quotegate_integrator_endpoints_resting{chain="1"} 1`,
		`quotegate_issuer_fee_ratio{chain="10"} 0.00013`,
		`# HELP quotegate_issuer_fee_bps Deprecated: use quotegate_issuer_fee_ratio; ends with 1.2.`,
		`quotegate_issuer_fee_bps{chain="10"} 1.3`,
		`quotegate_issuer_fee_bps{chain="137"} 0.25`,
		`quotegate_issuer_fee_age_seconds{chain="10"} 90`,
		`quotegate_issuer_fee_origin{chain="137",origin="last_good"} 1`,
		`quotegate_issuer_fee_origin{chain="137",origin="live"} 0`,
		`quotegate_issuer_fee_origin{chain="59144",origin="built_in"} 1`,
		`quotegate_issuer_fee_failing{chain="10"} 0`,
		`quotegate_issuer_fee_failing{chain="137"} 1`,
		`quotegate_limiter_decisions_total{decision="refused"} 7`,
		`quotegate_limiter_backend{backend="fallback"} 1`,
		`quotegate_limiter_backend{backend="redis"} 0`,
		`quotegate_limiter_clients 31`,
		`quotegate_limiter_clients_ceiling 139264`,
		`quotegate_lifecycle_plan_refused 1`,
		`quotegate_version_stage{stage="held",version="v1"} 1`,
		`quotegate_version_stage{stage="active",version="v1"} 0`,
		`quotegate_version_stage{stage="active",version="v3"} 1`,
		`quotegate_version_gate_holds{version="v1"} 1`,
		`quotegate_version_released{version="v1"} 0`,
		`quotegate_usage_clients{version="v1",window="day"} 3`,
		`quotegate_usage_calls{version="v1",window="week"} 9000`,
		`quotegate_usage_notes 1`,
		`quotegate_usage_plans 2`,
		`quotegate_usage_database_bytes 5.24288e+06`,
		`quotegate_usage_database_limit_bytes 1.073741824e+09`,
		`quotegate_clients_file_refused 1`,
		`quotegate_lifecycle_plan_info{hash="9f86d081884c"} 1`,
		`quotegate_check_failures{chain="1",what="endpoint"} 0`,
		`quotegate_check_failures{chain="1",what="router"} 2`,
		`quotegate_check_failures{chain="137",what="messenger"} 0`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("the exposition lacks %s", want)
		}
	}
	for _, absent := range []string{
		`quotegate_issuer_fee_age_seconds{chain="59144"}`,
		`quotegate_version_sunset_timestamp_seconds{version="v3"}`,
		`quotegate_version_days_to_sunset{version="v3"}`,
		`quotegate_http_request_duration_seconds_count{route="/v3/client/index.js"`,
		`quotegate_version_gate_holds{version="v3"}`,
	} {
		if strings.Contains(got, absent) {
			t.Errorf("the exposition has %s, where there is nothing to tell", absent)
		}
	}
	for _, want := range []string{
		"go_goroutines ", "process_resident_memory_bytes ",
		`quotegate_build_info{goversion="` + runtime.Version() + `",`, `,version="` + buildinfo.Release + `"} 1`,
		`quotegate_version_sunset_timestamp_seconds{version="v1"} 1.`,
		`quotegate_version_days_to_sunset{version="v1"} -1.5`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the exposition lacks %s", want)
		}
	}
}

// scrape reads what Prometheus would.
func scrape(t testing.TB, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body, err := io.ReadAll(w.Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("got %d %s, %v", w.Code, body, err)
	}
	return string(body)
}

// TestUnmountedPathsMakeNoSeries: whatever an event says, only mounted routes are labels.
func TestUnmountedPathsMakeNoSeries(t *testing.T) {
	m, requests, _ := whole(t)
	series := func() int { return strings.Count(scrape(t, m), "\nquotegate_") }
	requests.Observe(answered("", "", 404, fault.NotFound, 0))
	before := series()
	for i := range 1_000 {
		text := fmt.Sprintf("\x00%x\n\"}", i)
		requests.Observe(answered(text, text, 404, fault.NotFound, -1))
		requests.Observe(answered("v1", text, 404, fault.NotFound, time.Duration(i)))
		requests.Observe(answered("v0", text, 404, fault.NotFound, time.Duration(i)))
		pair := chain.Pair{Src: chain.ID(i), Dst: chain.ID(i * i), Route: chain.Route(i)}
		requests.Observe(&event.Event{Status: 404, Code: fault.NotFound, Pair: &pair})
	}
	if after := series(); after != before {
		t.Errorf("got %d series, then %d: garbage makes series", before, after)
	}
}

func TestKinds(t *testing.T) {
	for want, p := range map[string]chain.Pair{
		"direct_in":  {Src: 1, Dst: chain.Hub, Route: chain.Direct},
		"direct_out": {Src: chain.Hub, Dst: 1, Route: chain.Direct},
		"burn":       {Src: 10, Dst: chain.Hub, Route: chain.CCTPInbound},
		"shield":     {Src: chain.Hub, Dst: chain.PrivacyBNB, Route: chain.Direct},
		"unshield":   {Src: chain.PrivacyBNB, Dst: chain.Hub, Route: chain.Direct},
	} {
		if got := kindOf(&p); got != want || !slices.Contains(kinds, want) {
			t.Errorf("%s -> %s is called %s, want %s", p.Src, p.Dst, got, want)
		}
	}
}

// deprecated tells whether a metric, with its prefix, is the old name of another.
func deprecated(name string) bool {
	for _, old := range formerly {
		if name == namespace+"_"+old.name {
			return true
		}
	}
	return false
}

// TestReleasedNamesRemain: dashboards that were made for release 1.0.0 have what they ask for. A deprecated
// name ends with release 1.2: delete it from formerly and from the list, which has the labels behind each name.
func TestReleasedNamesRemain(t *testing.T) {
	list, err := os.ReadFile("testdata/1.0.0.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, count := families(t), 0
	for line := range strings.Lines(string(list)) {
		name, labels, _ := strings.Cut(strings.TrimSpace(line), " ")
		count++
		metric, ok := all[name]
		if !ok {
			t.Errorf("release 1.0.0 has %s", name)
			continue
		}
		for _, label := range strings.FieldsFunc(labels, func(r rune) bool { return r == ',' }) {
			if metric[label] == nil {
				t.Errorf("in release 1.0.0, %s has the label %s", name, label)
			}
		}
	}
	if count < 35 {
		t.Errorf("the list has %d names", count)
	}
	if len(formerly) > 0 && !regexp.MustCompile(`^1\.[01]\.`).MatchString(buildinfo.Release) {
		t.Errorf("release %s has names that end with 1.2", buildinfo.Release)
	}
}

func TestLint(t *testing.T) {
	m, _, _ := whole(t)
	problems, err := testutil.GatherAndLint(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if !deprecated(p.Metric) {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// TestSourceThatPanics: the scrape has the metrics of all other sources, and the log
// has the panic. That of a library's collector is survived too.
func TestSourceThatPanics(t *testing.T) {
	var log journal.Journal
	m := New(slog.New(slog.NewTextHandler(&log, nil)))
	bad := sources(t)
	bad.Usage = func() *evidence.Stats { panic("a slip") }
	m.Watch(bad)
	m.add(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "of_a_library", Help: "-"}, func() float64 { return 1 }))
	m.add(slip{prometheus.NewGauge(prometheus.GaugeOpts{Name: "of_another", Help: "-"})})
	before := safego.Panics()
	answer := scrape(t, m)
	for _, want := range []string{"quotegate_connections 34", "quotegate_check_failures", "of_a_library 1", "quotegate_panics_total"} {
		if !strings.Contains(answer, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if got := safego.Panics() - before; got != 2 || log.Count("collecting metrics") != 2 || log.Count("a slip") != 2 {
		t.Errorf("got %d panics, and the log %s", got, log.String())
	}
}

// slip is a collector that panics.
type slip struct{ prometheus.Gauge }

func (slip) Collect(chan<- prometheus.Metric) { panic("a slip") }

// BenchmarkObserve is what metrics add to a request.
func BenchmarkObserve(b *testing.B) {
	_, requests, _ := whole(b)
	e := answered("v3", "/v3/swap/quote", 200, "", 80*time.Microsecond)
	e.Pair = &chain.Pair{Src: 1, Dst: chain.Hub, Route: chain.Direct}
	b.ReportAllocs()
	for b.Loop() {
		requests.Observe(e)
	}
}

// BenchmarkScrape is what a scrape costs.
func BenchmarkScrape(b *testing.B) {
	m, _, _ := whole(b)
	b.ReportAllocs()
	for b.Loop() {
		scrape(b, m)
	}
}
