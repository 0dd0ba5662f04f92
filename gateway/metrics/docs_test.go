package metrics

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/fault"
)

const docs = "../../docs/operate/"

// family is a metric as the registry has it.
type family map[string]map[string]bool // values by label

// statuses are those the gateway answers with.
var statuses = []int{200, 204, 304, 400, 401, 403, 404, 405, 410, 429, 500, 501, 503}

// families lists every metric, each with every value its labels can have.
func families(t *testing.T) map[string]family {
	t.Helper()
	m, requests, _ := whole(t)
	for _, s := range statuses {
		for _, c := range append(fault.Codes(), "") {
			requests.Observe(answered("v1", "/v1/quote", s, c, 0))
		}
	}
	gathered, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]family{}
	for _, f := range gathered {
		labels := family{}
		for _, metric := range f.Metric {
			for _, l := range metric.Label {
				if labels[l.GetName()] == nil {
					labels[l.GetName()] = map[string]bool{}
				}
				labels[l.GetName()][l.GetValue()] = true
			}
			for _, q := range metric.GetSummary().GetQuantile() {
				labels["quantile"] = map[string]bool{"0": true, "1": true, q.String(): true}
			}
		}
		all[f.GetName()] = labels
		if f.GetType().String() == "HISTOGRAM" {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				all[f.GetName()+suffix] = labels
			}
		}
	}
	return all
}

// expressions are what the documents ask Prometheus.
func expressions(t *testing.T) map[string][]string {
	t.Helper()
	alerts := read(t, "alerts.yaml")
	found := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^        expr: \|\n((?:          .*\n)+)`).FindAllStringSubmatch(alerts, -1) {
		found["alerts.yaml"] = append(found["alerts.yaml"], m[1])
	}
	if got, want := len(found["alerts.yaml"]), strings.Count(alerts, "alert: "); got != want || got == 0 {
		t.Fatalf("got %d expressions of %d alerts", got, want)
	}
	asks := regexp.MustCompile(`"(?:expr|definition)": ("(?:[^"\\]|\\.)*")`)
	for _, m := range asks.FindAllStringSubmatch(read(t, "dashboard.json"), -1) {
		text, err := strconv.Unquote(m[1])
		if err != nil {
			t.Fatal(err)
		}
		found["dashboard.json"] = append(found["dashboard.json"], text)
	}
	if len(found["dashboard.json"]) < 30 {
		t.Fatalf("got %d expressions in the dashboard", len(found["dashboard.json"]))
	}
	return found
}

func read(t *testing.T, name string) string {
	t.Helper()
	return readFile(t, docs+name)
}

var (
	selector = regexp.MustCompile(`\b((?:quotegate|go|process)_\w+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	grouping = regexp.MustCompile(`\b(?:by|on)\s*\(([^)]*)\)`)
	plain    = regexp.MustCompile(`^[\w.|/]+$`) // a value, or a choice of values
)

// given are labels that Prometheus adds.
var given = []string{"job", "instance", "le"}

// TestDocumentsAskForWhatThereIs keeps the dashboard and the alerts from
// naming a metric, a label or a value that the registry does not have: such a
// panel would stay empty, and such an alert silent.
func TestDocumentsAskForWhatThereIs(t *testing.T) {
	all := families(t)
	used := map[string]bool{}
	for document, exprs := range expressions(t) {
		for _, expr := range exprs {
			labels := slices.Clone(given)
			for _, s := range selector.FindAllStringSubmatch(expr, -1) {
				metric, ok := all[s[1]]
				if !ok {
					t.Errorf("%s asks for %s, which is not a metric: %s", document, s[1], expr)
					continue
				}
				if deprecated(s[1]) {
					t.Errorf("%s asks for %s, which is an old name", document, s[1])
				}
				used[s[1]] = true
				for label := range metric {
					labels = append(labels, label)
				}
				checkMatchers(t, document, s[1], metric, s[2])
			}
			for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
				for label := range strings.SplitSeq(g[1], ",") {
					if !slices.Contains(labels, strings.TrimSpace(label)) {
						t.Errorf("%s groups by %q, which is no label of its metrics: %s", document, label, expr)
					}
				}
			}
		}
	}
	// What is worth measuring is worth showing.
	for name := range all {
		part := strings.HasSuffix(name, "_sum") || strings.HasSuffix(name, "_count")
		shown := used[name] || used[name+"_bucket"]
		if strings.HasPrefix(name, namespace) && !part && !shown && !deprecated(name) {
			t.Errorf("neither the dashboard nor an alert uses %s", name)
		}
	}
}

func checkMatchers(t *testing.T, document, name string, metric family, matchers string) {
	t.Helper()
	for _, m := range matcher.FindAllStringSubmatch(matchers, -1) {
		label, values := m[1], m[3]
		if slices.Contains(given, label) {
			continue
		}
		known, ok := metric[label]
		if !ok {
			t.Errorf("%s asks for label %s of %s, which has none", document, label, name)
			continue
		}
		if !plain.MatchString(values) {
			t.Errorf("%s asks for %s=%q, which is more than this test understands", document, label, values)
		}
		for value := range strings.SplitSeq(values, "|") {
			if !known[value] {
				t.Errorf("%s asks for %s=%q of %s, which never has that value", document, label, value, name)
			}
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEveryAlertHasARunbook, under its own name, and its place in the manual's table of what to watch.
func TestEveryAlertHasARunbook(t *testing.T) {
	alerts, runbook, tests := read(t, "alerts.yaml"), read(t, "runbook.md"), read(t, "alerts_test.yaml")
	manual := read(t, "README.md")
	names := regexp.MustCompile(`(?m)^\s+- alert: (\w+)$`).FindAllStringSubmatch(alerts, -1)
	for _, m := range names {
		if !strings.Contains(runbook, "\n## "+m[1]+"\n") {
			t.Errorf("the runbook has nothing on %s", m[1])
		}
		if !strings.Contains(alerts, "runbook: docs/operate/runbook.md#"+strings.ToLower(m[1])+"\n") {
			t.Errorf("%s does not point to the runbook", m[1])
		}
		if !regexp.MustCompile(`(?m)^\|.*\b` + m[1] + `\b.*\|$`).MatchString(manual) {
			t.Errorf("no table of the manual has %s", m[1])
		}
		if !strings.Contains(tests, "alertname: "+m[1]+"\n") {
			t.Errorf("%s is never tested to fire", m[1])
		}
	}
	if got, want := strings.Count(runbook, "\n## Quotegate"), len(names); got != want {
		t.Errorf("the runbook has %d alerts, want the %d there are", got, want)
	}
}

// TestPromtool: Prometheus accepts the alerts and what the gateway is scraped for, and every alert fires when it
// should and only then.
func TestPromtool(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		const missing = "there is no promtool here; install the package prometheus to run this test"
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip("SKIPPED, NOT TESTED: " + missing)
	}
	m, _, _ := whole(t)
	for _, arguments := range []string{
		"check rules " + docs + "alerts.yaml",
		"test rules " + docs + "alerts_test.yaml",
		"check metrics",
	} {
		tool := exec.Command("promtool", strings.Fields(arguments)...)
		tool.Stdin = strings.NewReader(withoutDeprecated(scrape(t, m)))
		if out, err := tool.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", arguments, err, out)
		}
	}
}

// withoutDeprecated is a scrape without the old names of metrics, which are named as they should not be.
func withoutDeprecated(scrape string) string {
	for _, old := range formerly {
		lines := regexp.MustCompile(`(?m)^(?:# (?:HELP|TYPE) )?` + namespace + "_" + old.name + `\b.*\n`)
		scrape = lines.ReplaceAllString(scrape, "")
	}
	return scrape
}
