package gateway_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/shared/web"
)

const someQuote = "?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369"

// old is a version to retire: the last of those there are.
func old(t *testing.T) web.Module {
	t.Helper()
	all := modules()
	if len(all) < 2 {
		t.Skip("there is no old version left to retire")
	}
	return all[len(all)-1]
}

// writePlan retires a version over the autumn of 2026.
func writePlan(t *testing.T, version string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.json")
	plan := `{"versions": {"` + version + `": {
		"deprecated": "2026-09-01T00:00:00Z", "sunset": "2026-12-01T00:00:00Z",
		"successor": "/v3/swap/quote", "docs": "https://example.org/migrate",
		"brownouts": [{"from": "2026-11-01T12:00:00Z", "to": "2026-11-01T12:15:00Z", "share": 1}],
		"exempt": ["origin:https://partner.example"]}}}`
	if err := os.WriteFile(path, []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAVersionIsWalkedOut takes a version from active to gone over a real
// connection, and looks at every kind of answer it gives on the way.
func TestAVersionIsWalkedOut(t *testing.T) {
	m := old(t)
	var clock atomic.Pointer[time.Time]
	set := func(text string) {
		now, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		clock.Store(&now)
	}
	set("2026-10-01T00:00:00Z")
	server := httptest.NewServer(mount(t, setup{
		Config: gateway.Config{LifecycleFile: writePlan(t, m.Name)},
		now:    func() time.Time { return *clock.Load() },
	}))
	defer server.Close()

	quotes := quotePath(m) + someQuote + "&recipient=" + somebody
	tests := []struct {
		name, at, method, path, origin string
		status                         int
		code                           string
		announced                      bool
	}{
		{"deprecated: a quote", "2026-10-01T00:00:00Z", "GET", quotes, "", 200, "", true},
		{"deprecated: a bad request", "2026-10-01T00:00:00Z", "GET", quotePath(m), "", 400, "MISSING_PARAMETER", true},
		{"deprecated: nothing there", "2026-10-01T00:00:00Z", "GET", m.Prefixes[0] + "nothing", "", 404, "NOT_FOUND", true},
		{"deprecated: wrong method", "2026-10-01T00:00:00Z", "POST", quotePath(m), "", 405, "METHOD_NOT_ALLOWED", true},
		{"deprecated: a URL too long", "2026-10-01T00:00:00Z", "GET", quotes + "&x=" + strings.Repeat("x", 4096), "", 400, "INVALID_PARAMETER", true},
		{"deprecated: the contract", "2026-10-01T00:00:00Z", "GET", "/" + m.Name + "/openapi.yaml", "", 200, "", true},
		{"the current version hears nothing", "2026-10-01T00:00:00Z", "GET", "/v3/swap/healthcheck", "", 200, "", false},
		{"brownout", "2026-11-01T12:05:00Z", "GET", quotes, "", 410, "VERSION_BROWNOUT", true},
		{"brownout: exempt", "2026-11-01T12:05:00Z", "GET", quotes, "https://partner.example", 200, "", true},
		{"after the brownout", "2026-11-01T12:15:00Z", "GET", quotes, "", 200, "", true},
		{"retired", "2026-12-01T00:00:00Z", "GET", quotes, "", 410, "VERSION_RETIRED", true},
		{"retired: exempt no longer", "2026-12-01T00:00:00Z", "GET", quotes, "https://partner.example", 410, "VERSION_RETIRED", true},
		{"retired: nothing there either", "2026-12-01T00:00:00Z", "GET", m.Prefixes[0] + "nothing", "", 410, "VERSION_RETIRED", true},
		{"retired: the contract can still be read", "2026-12-01T00:00:00Z", "GET", "/" + m.Name + "/openapi.yaml", "", 200, "", true},
		{"the current version goes on", "2026-12-01T00:00:00Z", "GET", "/v3/swap/quote" + someQuote + "&recipient=" + somebody, "", 200, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set(tt.at)
			req, err := http.NewRequest(tt.method, server.URL+tt.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.origin != "" {
				req.Header.Set("Origin", tt.origin)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			var body bytes.Buffer
			if _, err := body.ReadFrom(res.Body); err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != tt.status || !strings.Contains(body.String(), tt.code) {
				t.Errorf("got %d %s, want %d %s", res.StatusCode, &body, tt.status, tt.code)
			}
			want := [3]string{}
			if tt.announced {
				want = [3]string{"@1788220800", "Tue, 01 Dec 2026 00:00:00 GMT",
					`<https://example.org/migrate>; rel="deprecation", <https://example.org/migrate>; rel="sunset", </v3/swap/quote>; rel="successor-version"`}
			}
			if got := [3]string{res.Header.Get("Deprecation"), res.Header.Get("Sunset"), res.Header.Get("Link")}; got != want {
				t.Errorf("got headers %q, want %q", got, want)
			}
			if tt.status == 410 {
				var refusal struct{ Error, RequestID, Successor string }
				if err := json.Unmarshal(body.Bytes(), &refusal); err != nil || refusal.Successor != "/v3/swap/quote" || refusal.Error == "" || refusal.RequestID == "" {
					t.Errorf("got %s, want the way out", &body)
				}
			}
		})
	}
}

// TestRehearsal gives any client, in any stage, the answer of a later one.
func TestRehearsal(t *testing.T) {
	gw := newGateway(t)
	for _, m := range modules() {
		r := httptest.NewRequest("GET", quotePath(m)+someQuote+"&recipient="+somebody, nil)
		r.Header.Set("API-Rehearse", "retired")
		w := httptest.NewRecorder()
		gw.ServeHTTP(w, r)
		if w.Code != http.StatusGone || !strings.Contains(w.Body.String(), "VERSION_RETIRED") {
			t.Errorf("%s: got %d %s", m.Name, w.Code, w.Body)
		}
		// Without a plan, the older versions send to the current one.
		current := current()
		if named := strings.Contains(w.Body.String(), `"successor":"`+quotePath(current)+`"`); named != (m.Name != current.Name) {
			t.Errorf("%s: got %s", m.Name, w.Body)
		}
	}
}

// TestVersionsDocument lists every version, free of the budget.
func TestVersionsDocument(t *testing.T) {
	_, body := get(t, newGateway(t), "/versions")
	var document struct {
		Versions []struct{ Name, State, Contract string }
	}
	if err := json.Unmarshal(body, &document); err != nil {
		t.Fatal(err)
	}
	all := modules()
	if len(document.Versions) != len(all) {
		t.Fatalf("got %s, want %d versions", body, len(all))
	}
	for i, v := range document.Versions {
		if v.Name != all[i].Name || v.State != "active" || v.Contract != "/"+v.Name+"/openapi.yaml" {
			t.Errorf("got %+v for %s", v, all[i].Name)
		}
	}
}

// TestRehearsalsAreCachedByNobody, not even those of a document that everyone
// may cache.
func TestRehearsalsAreCachedByNobody(t *testing.T) {
	gw := newGateway(t)
	for _, m := range modules() {
		r := httptest.NewRequest("GET", "/"+m.Name+"/openapi.yaml", nil)
		w := httptest.NewRecorder()
		gw.ServeHTTP(w, r)
		if got := w.Header().Get("Cache-Control"); got != "public, max-age=300" {
			t.Errorf("%s: got Cache-Control %q", m.Name, got)
		}
		r.Header.Set("API-Rehearse", "brownout")
		w = httptest.NewRecorder()
		gw.ServeHTTP(w, r)
		if got := w.Header().Get("Cache-Control"); w.Code != http.StatusOK || got != "no-store" {
			t.Errorf("%s, rehearsed: got %d, Cache-Control %q", m.Name, w.Code, got)
		}
	}
}

// TestTheLogTellsTracesAndRehearsals of those requests that have them.
func TestTheLogTellsTracesAndRehearsals(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	for name, tt := range map[string]struct {
		header, value, want string
		logged              bool
	}{
		"a trace":             {"Traceparent", "00-" + id + "-00f067aa0ba902b7-01", `"traceId":"` + id + `"`, true},
		"a later version":     {"Traceparent", "01-" + id + "-00f067aa0ba902b7-01-more", `"traceId":"` + id + `"`, true},
		"a trace cut off":     {"Traceparent", "00-" + id, "traceId", false},
		"a trace in capitals": {"Traceparent", "00-" + strings.ToUpper(id) + "-00f067aa0ba902b7-01", "traceId", false},
		"a rehearsal":         {"API-Rehearse", "retired", `"rehearsal":true`, true},
		"neither":             {"Accept", "*/*", "rehearsal", false},
	} {
		var logs bytes.Buffer
		gw := mount(t, setup{logs: &logs})
		r := httptest.NewRequest("GET", "/v3/swap/quote"+someQuote+"&recipient="+somebody, nil)
		r.Header.Set(tt.header, tt.value)
		gw.ServeHTTP(httptest.NewRecorder(), r)
		if strings.Contains(logs.String(), tt.want) != tt.logged {
			t.Errorf("%s: that %s is logged should be %v:\n%s", name, tt.want, tt.logged, &logs)
		}
	}
}
