package admin_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/admin"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/metrics"
	"github.com/quotegate/quotegate/gateway/usage"
)

// TestTogether shows what the packages are for: calls go in on one side, and
// an operator reads them on the other.
func TestTogether(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	census, err := usage.New(t.Context(), usage.Config{}, usage.Options{Versions: []string{"v3", "v1"}, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer census.Close(t.Context())
	m := metrics.New()
	requests := m.Requests([]metrics.Route{{Version: "v1", Path: "/v1/quote"}})
	m.Watch(metrics.Sources{Usage: func() (all []metrics.Usage) {
		for _, v := range census.Report().Versions {
			all = append(all,
				metrics.Usage{Version: v.Version, Window: "hour", Clients: v.Hour.Clients, Calls: v.Hour.Calls},
				metrics.Usage{Version: v.Version, Window: "day", Clients: v.Day.Clients, Calls: v.Day.Calls},
				metrics.Usage{Version: v.Version, Window: "week", Clients: v.Week.Clients, Calls: v.Week.Calls})
		}
		return all
	}})
	server := httptest.NewServer(admin.Handler(admin.Options{
		Metrics: m.Handler(quiet),
		Usage:   func() any { return census.Report() },
		Log:     quiet,
	}))
	defer server.Close()

	for range 3 {
		requests.Observe("v1", "/v1/quote", 200, "", 100*time.Microsecond)
		census.Record("v1", caller.Identity{Kind: caller.Origin, Text: "https://wallet.example"}, time.Now())
	}

	var report usage.Report
	if err := json.Unmarshal([]byte(get(t, server.URL+"/admin/usage")), &report); err != nil {
		t.Fatal(err)
	}
	if got := report.Versions[1]; got.Day != (usage.Count{Calls: 3, Clients: 1}) || got.Clients[0].Client != "origin https://wallet.example" {
		t.Errorf("got %+v, want 3 calls of one client", got)
	}
	exposition := get(t, server.URL+"/metrics")
	for _, want := range []string{
		`quotegate_http_requests_total{code="none",route="/v1/quote",status="200",version="v1"} 3`,
		`quotegate_usage_clients{version="v1",window="day"} 1`,
		`quotegate_usage_calls{version="v3",window="week"} 0`,
	} {
		if !strings.Contains(exposition, want+"\n") {
			t.Errorf("the exposition lacks %s", want)
		}
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %d %s, %v", url, res.StatusCode, body, err)
	}
	return string(body)
}
