package gateway_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
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
		w := askWith(gw, quotePath(m)+someQuote+"&recipient="+somebody, "API-Rehearse", "retired")
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

// TestRehearsalsAreCachedByNobody, not even those of a document that everyone
// may cache.
func TestRehearsalsAreCachedByNobody(t *testing.T) {
	gw := newGateway(t)
	for _, m := range modules() {
		w := ask(gw, "/"+m.Name+"/openapi.yaml")
		if got := w.Header().Get("Cache-Control"); got != "public, max-age=300" {
			t.Errorf("%s: got Cache-Control %q", m.Name, got)
		}
		w = askWith(gw, "/"+m.Name+"/openapi.yaml", "API-Rehearse", "brownout")
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
		askWith(gw, "/v3/swap/quote"+someQuote+"&recipient="+somebody, tt.header, tt.value)
		if strings.Contains(logs.String(), tt.want) != tt.logged {
			t.Errorf("%s: that %s is logged should be %v:\n%s", name, tt.want, tt.logged, &logs)
		}
	}
}

// TestFormers: a version that is gone says so at every path of its own and wherever its
// revision is named, by header or by host, and nobody else is told so. `make deletable`
// runs it with each older version deleted.
func TestFormers(t *testing.T) {
	made := gateway.RetiredVersion{Name: "v2", Prefixes: []string{"/v2/", "/swap/v2/"}, Revision: "second", Successor: "/v3/swap/quote"}
	formers := append(slices.Clone(gateway.RetiredVersions), made)
	gw := mount(t, setup{formers: formers, Config: gateway.Config{LegacyHosts: []string{"legacy.example"}}})
	const query = "?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369&recipient=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	for _, f := range formers {
		for _, prefix := range f.Prefixes {
			for _, path := range []string{"quote" + query, "swap/quote" + query, "app/routers", "openapi.yaml", ""} {
				checkFormer(t, f, ask(gw, prefix+path))
			}
		}
		if f.Revision != "" {
			checkFormer(t, f, askWith(gw, f.Successor+query, "API-Revision", f.Revision))
		}
		if f.Revision == "legacy" {
			checkFormer(t, f, ask(gw, "http://legacy.example"+f.Successor+query))
			if w := ask(gw, "http://legacy.example/v3/app/routers"); w.Code != http.StatusOK {
				t.Errorf("the listing, which had no revision: got %d", w.Code)
			}
		}
	}
	for _, path := range []string{"/v3/swap/quote" + query, "/v3/swap/healthcheck", "/versions"} {
		if w := ask(gw, path); w.Code != http.StatusOK {
			t.Errorf("%s: got %d", path, w.Code)
		}
	}
}

func checkFormer(t *testing.T, f gateway.RetiredVersion, w *httptest.ResponseRecorder) {
	t.Helper()
	var body struct{ Error, Code, Successor, RequestID string }
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if w.Code != http.StatusGone || body.Code != "VERSION_RETIRED" || body.Successor != f.Successor || body.RequestID == "" ||
		!strings.HasPrefix(body.Error, f.Name+" was retired") || !strings.Contains(w.Header().Get("Link"), f.Successor) {
		t.Errorf("%s: got %d %s", f.Name, w.Code, w.Body)
	}
}
