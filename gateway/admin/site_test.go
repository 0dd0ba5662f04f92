package admin

import (
	"net/http"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/safego"
)

// TestOtherSites: a page in the operator's browser can make requests to this
// listener, and gets no answer.
func TestOtherSites(t *testing.T) {
	r := serve(t, "")
	own := "http://" + r.Listener.Addr().String()
	link := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	for name, tt := range map[string]struct {
		method, path string
		headers      []string
		want         int
	}{
		"curl":                       {"GET", "/metrics", nil, 200},
		"an address typed":           {"GET", "/metrics", []string{"Sec-Fetch-Site", "none"}, 200},
		"a page of this listener":    {"GET", "/metrics", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		"a page elsewhere":           {"GET", "/metrics", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"a page on a sibling domain": {"GET", "/metrics", []string{"Sec-Fetch-Site", "same-site"}, 403},
		"a link in a runbook":        {"GET", "/", link, 200},
		"a link with no such page":   {"GET", "/clinets", link, 403},
		"a link to a list":           {"GET", "/admin/usage.csv", link, 403},
		"a link to a profile":        {"GET", "/debug/pprof/cmdline", link, 403},
		"a page as a picture":        {"GET", "/clients", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, 403},
		"a page in a frame":          {"GET", "/clients", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		"without TLS, a link":        {"GET", "/", []string{"User-Agent", "Mozilla/5.0", "Referer", "http://wiki.example/runbook"}, 200},
		"without TLS, a fetch":       {"GET", "/clients", []string{"User-Agent", "Mozilla/5.0", "Origin", "http://wiki.example"}, 403},
		"without TLS, a profile":     {"GET", "/debug/pprof/cmdline", []string{"User-Agent", "Mozilla/5.0"}, 403},
		"without TLS, from evil":     {"GET", "/admin/usage", []string{"User-Agent", "Mozilla/5.0", "Referer", "http://evil.example/"}, 403},
		"without TLS, our own link":  {"GET", "/admin/usage", []string{"User-Agent", "Mozilla/5.0", "Referer", own + "/clients"}, 200},
		"a level set from here":      {"PUT", "/admin/log-level", []string{"Origin", own}, 200},
		"a level set from elsewhere": {"PUT", "/admin/log-level", []string{"Origin", "http://evil.example"}, 403},
		"a level set from no origin": {"PUT", "/admin/log-level", []string{"Origin", "null"}, 403},
		"a level set by curl":        {"PUT", "/admin/log-level", nil, 200},
		"a profile from elsewhere":   {"GET", "/debug/pprof/cmdline", []string{"Origin", "http://evil.example"}, 403},
		"a probe from anywhere":      {"GET", "/livez", []string{"Sec-Fetch-Site", "cross-site"}, 200},
	} {
		if got, body, _ := r.ask(t, tt.method, tt.path, "info", tt.headers...); got != tt.want {
			t.Errorf("%s: got %d %s, want %d", name, got, body, tt.want)
		}
	}
}

func TestPanicsAreAnsweredAndCounted(t *testing.T) {
	r := serve(t, "")
	before := safego.Panics()
	h := r.Config.Handler.(*handler)
	h.get("/admin/broken", "a bug", func(http.ResponseWriter, *http.Request) { panic("a bug") })
	status, body, _ := r.ask(t, "GET", "/admin/broken", "")
	if status != 500 || strings.Contains(body, "a bug") || safego.Panics() != before+1 {
		t.Errorf("got %d %s, and %d panics", status, body, safego.Panics()-before)
	}
	if log := r.log.String(); !strings.Contains(log, "a bug") || !strings.Contains(log, "site_test.go") {
		t.Errorf("the log has no cause or no stack: %s", log)
	}
}
