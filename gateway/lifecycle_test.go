package gateway_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway"
)

// TestAVersionIsWalkedOut takes a version from active to gone, and looks at every kind of
// answer it gives on the way.
func TestAVersionIsWalkedOut(t *testing.T) {
	all := oldVersions(t)
	m := all[len(all)-1]
	var now time.Time
	gw := mount(t, setup{
		Config: planOf(t, m.Name, "origin:https://partner.example"),
		now:    func() time.Time { return now },
	})
	const (
		deprecated = "2026-10-01T00:00:00Z"
		brownout   = "2026-11-01T12:05:00Z"
		between    = "2026-11-01T12:15:00Z"
		sunset     = "2026-12-01T00:00:00Z"
		exempt     = "https://partner.example"
	)
	quotes, contract, nothing := quotePath(m)+goodQuote, "/"+m.Name+"/openapi.yaml", m.Prefixes[0]+"nothing"
	for _, tt := range []struct {
		at, method, path, origin string
		status                   int
		code                     string
	}{
		{deprecated, "GET", quotes, "", 200, ""},
		{deprecated, "GET", quotePath(m), "", 400, "MISSING_PARAMETER"},
		{deprecated, "GET", nothing, "", 404, "NOT_FOUND"},
		{deprecated, "POST", quotePath(m), "", 405, "METHOD_NOT_ALLOWED"},
		{deprecated, "GET", quotes + "&x=" + strings.Repeat("x", 4096), "", 400, "INVALID_PARAMETER"},
		{deprecated, "GET", contract, "", 200, ""},
		{brownout, "GET", quotes, "", 410, "VERSION_BROWNOUT"},
		{brownout, "GET", quotes, exempt, 200, ""},
		{between, "GET", quotes, "", 200, ""},
		{sunset, "GET", quotes, "", 410, "VERSION_RETIRED"},
		{sunset, "GET", quotes, exempt, 410, "VERSION_RETIRED"},
		{sunset, "GET", nothing, "", 410, "VERSION_RETIRED"},
		{sunset, "GET", contract, "", 200, ""}, // it can still be read
	} {
		now, _ = time.Parse(time.RFC3339, tt.at)
		w := send(gw, newRequest(tt.method, tt.path, "Origin", tt.origin))
		if w.Code != tt.status || w.Fault.Code != tt.code {
			t.Errorf("%s %s %.60s: got %d %s, want %d %s", tt.at, tt.method, tt.path, w.Code, w.Body, tt.status, tt.code)
		}
		if tt.status == 410 && (w.Fault.Successor != quotePath(current()) || w.Fault.Error == "" || w.Fault.RequestID == "") {
			t.Errorf("%s %.60s: got %s, want the way out", tt.at, tt.path, w.Body)
		}
		want := [3]string{"@1788220800", "Tue, 01 Dec 2026 00:00:00 GMT", `<https://example.org/migrate>; rel="deprecation", ` +
			`<https://example.org/migrate>; rel="sunset", <` + quotePath(current()) + `>; rel="successor-version"`}
		if h := w.Header(); [3]string{h.Get("Deprecation"), h.Get("Sunset"), h.Get("Link")} != want {
			t.Errorf("%s %s %.60s: got headers %q, want %q", tt.at, tt.method, tt.path, h, want)
		}
		if w := ask(gw, quotePath(current())+goodQuote); w.Code != 200 || w.Header().Get("Deprecation") != "" {
			t.Errorf("%s: the current version got %d and %v", tt.at, w.Code, w.Header())
		}
	}
}

// TestRehearsal gives any client, in any stage, the answer of a later one, which no cache
// keeps and which counts like the quote that it stands for. Without a plan, the older
// versions send to the current one.
func TestRehearsal(t *testing.T) {
	all, current := modules(), current()
	gw := mount(t, setup{perMinute: len(all)})
	for _, m := range all {
		w := ask(gw, "/"+m.Name+"/openapi.yaml")
		if got := w.Header().Get("Cache-Control"); got != "public, max-age=300" {
			t.Errorf("%s: got Cache-Control %q", m.Name, got)
		}
		w = ask(gw, "/"+m.Name+"/openapi.yaml", "API-Rehearse", "brownout")
		if got := w.Header().Get("Cache-Control"); w.Code != http.StatusOK || got != "no-store" {
			t.Errorf("%s, rehearsed: got %d, Cache-Control %q", m.Name, w.Code, got)
		}
		successor := quotePath(current)
		if m.Name == current.Name {
			successor = ""
		}
		w = ask(gw, quotePath(m)+goodQuote, "API-Rehearse", "retired")
		if w.Code != http.StatusGone || w.Fault.Code != "VERSION_RETIRED" || w.Fault.Successor != successor {
			t.Errorf("%s: got %d %s, want the successor %q", m.Name, w.Code, w.Body, successor)
		}
	}
	if w := ask(gw, quotePath(current), "API-Rehearse", "retired"); w.Code != http.StatusTooManyRequests {
		t.Errorf("got %d when the limit is used up by rehearsals", w.Code)
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
		ask(mount(t, setup{logs: &logs}), "/v3/swap/quote"+goodQuote, tt.header, tt.value)
		if strings.Contains(logs.String(), tt.want) != tt.logged {
			t.Errorf("%s: that %s is logged should be %v:\n%s", name, tt.want, tt.logged, &logs)
		}
	}
}

// TestRetiredVersions: a version that is gone says so at every path of its own and wherever its
// revision is named, by header or by host, and nobody else is told so. `make deletable`
// runs it with each older version deleted.
func TestRetiredVersions(t *testing.T) {
	made := gateway.RetiredVersion{
		Name: "v2", Prefixes: []string{"/v2/", "/swap/v2/"}, Revision: "second", Successor: "/v3/swap/quote",
	}
	retired := append(slices.Clone(gateway.RetiredVersions), made)
	gw := mount(t, setup{retired: retired, Config: gateway.Config{LegacyHosts: []string{"legacy.example"}}})
	for _, f := range retired {
		gone := func(w reply) {
			t.Helper()
			if w.Code != http.StatusGone || w.Fault.Code != "VERSION_RETIRED" || w.Fault.Successor != f.Successor ||
				w.Fault.RequestID == "" || !strings.HasPrefix(w.Fault.Error, f.Name+" was retired") ||
				!strings.Contains(w.Header().Get("Link"), f.Successor) {
				t.Errorf("%s: got %d %s", f.Name, w.Code, w.Body)
			}
		}
		for _, prefix := range f.Prefixes {
			for _, path := range []string{"quote" + goodQuote, "swap/quote" + goodQuote, "app/routers", "openapi.yaml", ""} {
				gone(ask(gw, prefix+path))
			}
		}
		if f.Revision != "" {
			gone(ask(gw, f.Successor+goodQuote, "API-Revision", f.Revision))
			unknown := ask(gw, f.Successor+goodQuote, "API-Revision", "a slip of "+f.Revision)
			if unknown.Code != http.StatusBadRequest || unknown.Fault.Param != "API-Revision" {
				t.Errorf("%s: got %d %s for an unknown revision", f.Name, unknown.Code, unknown.Body)
			}
		}
		if f.Revision == "legacy" {
			gone(ask(gw, "http://legacy.example"+f.Successor+goodQuote))
			if w := ask(gw, "http://legacy.example/v3/app/routers"); w.Code != http.StatusOK {
				t.Errorf("the listing, which had no revision: got %d", w.Code)
			}
		}
	}
	for _, path := range []string{"/v3/swap/quote" + goodQuote, "/v3/swap/healthcheck", "http://legacy.example/v3/swap/healthcheck", "/versions"} {
		if w := ask(gw, path); w.Code != http.StatusOK {
			t.Errorf("%s: got %d", path, w.Code)
		}
	}
}
