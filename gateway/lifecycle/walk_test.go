package lifecycle_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/fault"
)

const nothingPlanned = `{"versions": {}}`

var fullHeaders = map[string]string{
	"Deprecation":  "@1788220800",
	"Sunset":       "Mon, 01 Mar 2027 00:00:00 GMT",
	"Link":         `<https://example.org/migrate-v1>; rel="deprecation", <https://example.org/migrate-v1>; rel="sunset", </v3/swap/quote>; rel="successor-version"`,
	"Api-Brownout": "from=@1799762400, to=@1799763300, share=0.25",
}

func checkHeaders(t *testing.T, a answer, want map[string]string) {
	t.Helper()
	for name := range fullHeaders {
		if got := strings.Join(a.Values(name), " | "); got != want[name] {
			t.Errorf("%s: got %q, want %q", name, got, want[name])
		}
	}
}

// One version from active to gone, through HTTP and across changes of the
// file, while its siblings notice nothing.
func TestWalk(t *testing.T) {
	const clients = 120
	w := newWorld(t, "2026-08-01T00:00:00Z", nothingPlanned)
	sibling := func() {
		t.Helper()
		a := w.get("/v3/quote")
		checkHeaders(t, a, nil)
		if a.status != http.StatusOK || a.body != `{"from":"v3"}` || w.state("v3") != lifecycle.Active {
			t.Errorf("v3: got %d %s in state %s, want it untouched", a.status, a.body, w.state("v3"))
		}
	}
	stage := func(want lifecycle.Stage) {
		t.Helper()
		if got := w.state("v1"); got != want {
			t.Errorf("at %s: got %s, want %s", w.clock.Load().Format(time.RFC3339), got, want)
		}
		sibling()
	}

	// Active, without a plan.
	stage(lifecycle.Active)
	checkHeaders(t, w.get("/v1/quote"), nil)

	// Active, and told what is coming.
	w.reload(fullPlan)
	stage(lifecycle.Active)
	for _, path := range []string{"/v1/quote", "/v1/refuse", "/v1/nowhere"} {
		checkHeaders(t, w.get(path), fullHeaders)
	}

	// Deprecated: the same, bodies included.
	w.setTime("2026-09-01T00:00:00Z")
	stage(lifecycle.Deprecated)
	a := w.get("/v1/quote")
	checkHeaders(t, a, fullHeaders)
	if a.status != http.StatusOK || a.body != `{"from":"v1"}` {
		t.Errorf("got %d %s, want the body as ever", a.status, a.body)
	}
	if got := w.refused(clients); len(got) != 0 {
		t.Errorf("%d clients are refused before any window", len(got))
	}

	// The first window: a stable share.
	w.setTime("2027-01-12T14:00:00Z")
	stage(lifecycle.BrowningOut)
	first := w.refused(clients)
	if deviation := 4 * math.Sqrt(clients*0.25*0.75); math.Abs(float64(len(first))-clients*0.25) > deviation {
		t.Errorf("%d of %d clients are refused, want a quarter ± %.0f", len(first), clients, deviation)
	}
	w.setTime("2027-01-12T14:14:59Z")
	if again := w.refused(clients); fmt.Sprint(again) != fmt.Sprint(first) {
		t.Errorf("got %v at the end of the window, want %v as at its beginning", again, first)
	}
	for i := range first {
		a := w.get(fmt.Sprintf("/v1/quote?integratorId=0x%040x", i+1))
		checkHeaders(t, a, fullHeaders)
		r := a.refusal(t)
		if r.Code != fault.VersionBrownout || r.Successor != "/v3/swap/quote" || !r.Until.Equal(at("2027-01-12T14:15:00Z")) {
			t.Errorf("got %+v", r)
		}
		if a.Get("Cache-Control") != "no-store" {
			t.Errorf("got Cache-Control %q, want a 410 that no cache keeps", a.Get("Cache-Control"))
		}
		break
	}

	// The operator raises the share of the same window: it only adds.
	w.reload(strings.Replace(fullPlan, "0.25", "0.4", 1))
	raised := w.refused(clients)
	if !contains(raised, first) || len(raised) <= len(first) {
		t.Errorf("got %d clients after raising the share, want all %d and more", len(raised), len(first))
	}

	// Between windows everyone is served, and the next one is announced.
	w.setTime("2027-01-12T14:15:00Z")
	stage(lifecycle.Deprecated)
	if got := w.refused(clients); len(got) != 0 {
		t.Errorf("%d clients are refused between windows", len(got))
	}
	if got, want := w.get("/v1/quote").Get("API-Brownout"), "from=@1802268000, to=@1802271600, share=0.5"; got != want {
		t.Errorf("got next brownout %q, want %q", got, want)
	}

	// A later window with a larger share adds clients too.
	w.setTime("2027-02-10T14:30:00Z")
	stage(lifecycle.BrowningOut)
	second := w.refused(clients)
	if !contains(second, raised) || len(second) <= len(raised) {
		t.Errorf("got %d clients in the second window, want all %d and more", len(second), len(raised))
	}

	// Gone, for everyone, without work, even if the file is lost afterwards.
	w.setTime("2027-03-01T00:00:00Z")
	stage(lifecycle.Held) // until the gate is read
	w.keeper.Poll()
	stage(lifecycle.Retired)
	if err := os.Remove(w.file); err != nil {
		t.Fatal(err)
	}
	w.keeper.Poll()
	before := w.core.Load()
	if got := w.refused(clients); len(got) != clients {
		t.Errorf("%d of %d clients are refused, want all", len(got), clients)
	}
	if got := w.core.Load() - before; got != 0 {
		t.Errorf("the version worked %d times although it is gone", got)
	}
	a = w.get("/v1/quote?integratorId=" + partner)
	gone := map[string]string{"Deprecation": fullHeaders["Deprecation"], "Sunset": fullHeaders["Sunset"], "Link": fullHeaders["Link"]}
	checkHeaders(t, a, gone)
	if r := a.refusal(t); a.status != http.StatusGone || r.Code != fault.VersionRetired || r.Successor != "/v3/swap/quote" || !r.Until.IsZero() {
		t.Errorf("got %d %+v for an exempt client", a.status, r)
	}
	checkHeaders(t, w.get("/v1/nowhere"), gone)
	sibling()

	// The operator thinks better of it.
	w.reload(nothingPlanned)
	stage(lifecycle.Active)
	checkHeaders(t, w.get("/v1/quote"), nil)
}

func contains(larger, smaller map[int]bool) bool {
	for i := range smaller {
		if !larger[i] {
			return false
		}
	}
	return true
}

func TestExemptClientsAreSpared(t *testing.T) {
	plan := strings.Replace(fullPlan, `"share": 0.25`, `"share": 1`, 1)
	w := newWorld(t, "2027-01-12T14:05:00Z", plan)
	for name, tt := range map[string]struct {
		query   string
		headers []string
		want    int
	}{
		"integrator":       {"?integratorId=" + partner, nil, http.StatusOK},
		"network":          {"", []string{"X-Test-Addr", "203.0.113.200"}, http.StatusOK},
		"mapped network":   {"", []string{"X-Test-Addr", "::ffff:203.0.113.200"}, http.StatusOK},
		"origin":           {"", []string{"Origin", "https://partner.example"}, http.StatusOK},
		"another network":  {"", []string{"X-Test-Addr", "203.0.114.1"}, http.StatusGone},
		"another origin":   {"", []string{"Origin", "https://other.example"}, http.StatusGone},
		"nobody we know":   {"", nil, http.StatusGone},
		"integrator there": {"?integratorId=0x00000000000000000000000000000000000beef0", []string{"X-Test-Addr", "203.0.113.1"}, http.StatusOK},
	} {
		if a := w.get("/v1/quote"+tt.query, tt.headers...); a.status != tt.want {
			t.Errorf("%s: got %d, want %d", name, a.status, tt.want)
		} else {
			checkHeaders(t, a, map[string]string{"Deprecation": fullHeaders["Deprecation"], "Sunset": fullHeaders["Sunset"],
				"Link": fullHeaders["Link"], "Api-Brownout": "from=@1799762400, to=@1799763300, share=1.0"})
		}
	}
}

func TestRehearsal(t *testing.T) {
	for _, now := range []string{"2026-08-01T00:00:00Z", "2026-10-01T00:00:00Z", "2027-01-12T14:01:00Z", "2027-04-01T00:00:00Z"} {
		w := newWorld(t, now, fullPlan)
		for _, who := range []string{"", "?integratorId=" + partner} {
			a := w.get("/v1/quote"+who, "API-Rehearse", "retired")
			if r := a.refusal(t); a.status != http.StatusGone || r.Code != fault.VersionRetired || r.Successor != "/v3/swap/quote" {
				t.Errorf("%s %s: got %d %+v", now, who, a.status, r)
			}
			if a.Get("API-Rehearse") != "retired" || a.Get("Cache-Control") != "no-store" || a.Get("Deprecation") == "" {
				t.Errorf("%s: got headers %v", now, a.Header)
			}
			a = w.get("/v1/quote"+who, "API-Rehearse", "Brownout")
			if r := a.refusal(t); a.status != http.StatusGone || r.Code != fault.VersionBrownout || r.Successor != "/v3/swap/quote" || !r.Until.After(at(now)) {
				t.Errorf("%s %s: got %d %+v", now, who, a.status, r)
			}
			if a.Get("API-Rehearse") != "brownout" {
				t.Errorf("%s: got headers %v", now, a.Header)
			}
		}
		if w.core.Load() != 0 {
			t.Errorf("%s: a rehearsal did %d times the work of a quote", now, w.core.Load())
		}
	}
}

// The answer of a rehearsal is, to the byte, the one that it rehearses.
func TestRehearsalIsTheRealThing(t *testing.T) {
	w := newWorld(t, "2026-10-01T00:00:00Z", strings.Replace(fullPlan, "0.25", "1", 1))
	rehearsed := map[string]string{}
	for _, stage := range []string{"brownout", "retired"} {
		rehearsed[stage] = w.get("/v1/quote", "API-Rehearse", stage).body
	}
	w.setTime("2027-01-12T14:05:00Z")
	if got := w.get("/v1/quote").body; got != rehearsed["brownout"] {
		t.Errorf("got %s, rehearsed %s", got, rehearsed["brownout"])
	}
	w.setTime("2027-03-01T00:00:00Z")
	w.keeper.Poll()
	if got := w.get("/v1/quote").body; got != rehearsed["retired"] {
		t.Errorf("got %s, rehearsed %s", got, rehearsed["retired"])
	}
}

func TestRehearsalWithoutAPlan(t *testing.T) {
	w := newWorld(t, "2026-08-01T00:00:00Z", nothingPlanned)
	a := w.get("/v3/quote", "API-Rehearse", "retired")
	if r := a.refusal(t); a.status != http.StatusGone || r.Code != fault.VersionRetired || r.Successor != "" {
		t.Errorf("got %d %+v", a.status, r)
	}
	a = w.get("/v3/quote", "API-Rehearse", "brownout")
	if r := a.refusal(t); a.status != http.StatusGone || r.Code != fault.VersionBrownout || !r.Until.Equal(at("2026-08-01T00:15:00Z")) {
		t.Errorf("got %d %+v", a.status, r)
	}
}

func TestRehearsalOfNonsense(t *testing.T) {
	w := newWorld(t, "2026-08-01T00:00:00Z", fullPlan)
	for name, headers := range map[string][]string{
		"unknown": {"API-Rehearse", "sunset"},
		"empty":   {"API-Rehearse", ""},
		"active":  {"API-Rehearse", "active"},
		"twice":   {"API-Rehearse", "retired", "API-Rehearse", "retired"},
	} {
		a := w.get("/v1/quote", headers...)
		if r := a.refusal(t); a.status != http.StatusBadRequest || r.Code != fault.InvalidParameter || !strings.Contains(r.Message, "API-Rehearse must be") {
			t.Errorf("%s: got %d %+v", name, a.status, r)
		}
		if a.Get("API-Rehearse") != "" {
			t.Errorf("%s: the answer claims to be a rehearsal", name)
		}
	}
	r, _ := http.NewRequest(http.MethodGet, "/", nil)
	if lifecycle.Rehearsing(r) {
		t.Error("a plain request counts as a rehearsal")
	}
	r.Header.Set("api-rehearse", "anything")
	if !lifecycle.Rehearsing(r) {
		t.Error("a request with the header does not count as a rehearsal")
	}
}

func TestDocument(t *testing.T) {
	w := newWorld(t, "2026-10-01T00:00:00Z", fullPlan)
	got, err := json.Marshal(w.keeper.Document())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"release":"1.0.0","plan":"abb36cd5c11a","versions":[` +
		`{"name":"v3","state":"active","brownouts":[],"contract":"/v3/openapi.yaml","gate":null},` +
		`{"name":"v3legacy","state":"active","brownouts":[],"contract":"/v3legacy/openapi.yaml","gate":null},` +
		`{"name":"v1","state":"deprecated","deprecated":"2026-09-01T00:00:00Z","sunset":"2027-03-01T00:00:00Z",` +
		`"brownouts":[{"from":"2027-01-12T14:00:00Z","to":"2027-01-12T14:15:00Z","share":0.25},{"from":"2027-02-10T14:00:00Z","to":"2027-02-10T15:00:00Z","share":0.5}],` +
		`"successor":"/v3/swap/quote","contract":"/v1/openapi.yaml","migration":"https://example.org/migrate-v1","gate":{"holds":false}}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestGuideShowsWhatClientsRead reads the operators' guide, which shows a plan and
// the refusals that clients get under it.
func TestGuideShowsWhatClientsRead(t *testing.T) {
	text, err := os.ReadFile("../../docs/retire.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```json file=plan.json\n")
	plan, _, _ := strings.Cut(rest, "```")
	w := newWorld(t, "2026-10-01T00:00:00Z", plan)
	for _, stage := range []string{"brownout", "retired"} {
		message := w.get("/v1/quote", "API-Rehearse", stage).refusal(t).Message
		if !strings.Contains(string(text), `{"error": "`+message+`"`) {
			t.Errorf("the guide does not show what a client reads: %s", message)
		}
	}
}
