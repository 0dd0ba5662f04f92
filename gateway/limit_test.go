package gateway_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/web"
)

// TestOneBudgetForAllVersions spends a budget across every version and finds
// it spent in all of them, in JSON, while what is free stays free.
func TestOneBudgetForAllVersions(t *testing.T) {
	const budget = 7
	gw := mount(t, setup{budget: limit.Config{PerMinute: budget}})
	limited := []string{"/v3/app/routers"}
	free := []string{"/v3/swap/healthcheck", "/versions"}
	for _, m := range modules() {
		limited = append(limited, quotePath(m))
		free = append(free, "/"+m.Name+"/openapi.yaml")
	}
	for i := range budget {
		w := ask(gw, limited[i%len(limited)])
		if w.Code == http.StatusTooManyRequests {
			t.Fatalf("request %d of %d was refused", i+1, budget)
		}
		if got := w.Header().Get("RateLimit-Remaining"); got != strconv.Itoa(budget-1-i) {
			t.Errorf("after request %d: got RateLimit-Remaining %q, want %d", i+1, got, budget-1-i)
		}
	}
	for _, path := range limited {
		w := ask(gw, path)
		var body struct{ Error, Code, RequestID string }
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Code != "RATE_LIMITED" || body.Error == "" || body.RequestID == "" {
			t.Errorf("%s: got %s, want RATE_LIMITED in JSON", path, w.Body)
		}
		retry, err := strconv.Atoi(w.Header().Get("Retry-After"))
		if w.Code != http.StatusTooManyRequests || err != nil || retry < 1 || retry > 60 {
			t.Errorf("%s: got %d with Retry-After %q", path, w.Code, w.Header().Get("Retry-After"))
		}
	}
	for _, path := range free {
		if w := ask(gw, path); w.Code != http.StatusOK || w.Header().Get("RateLimit-Limit") != "" {
			t.Errorf("%s: got %d and RateLimit-Limit %q, want it free", path, w.Code, w.Header().Get("RateLimit-Limit"))
		}
	}
	other := httptest.NewRequest("GET", "/v3/app/routers", nil)
	other.RemoteAddr = "198.51.100.9:1234"
	w := httptest.NewRecorder()
	gw.ServeHTTP(w, other)
	if w.Code != http.StatusOK {
		t.Errorf("another client got %d", w.Code)
	}
}

// TestPolledRoutesLeaveHalfOfTheBudget: a client that polls can still quote.
func TestPolledRoutesLeaveHalfOfTheBudget(t *testing.T) {
	all := modules()
	all[0].Routes = append(all[0].Routes, web.Route{Path: "/v3/polled", Polled: true, Handle: func(w http.ResponseWriter, _ *http.Request) error {
		return web.JSON(w, http.StatusOK, "not yet")
	}})
	gw := mount(t, setup{modules: all, budget: limit.Config{PerMinute: 6}})
	got := map[string]int{}
	for range 10 {
		got["polled"] += 1 - ask(gw, "/v3/polled").Code/http.StatusTooManyRequests
	}
	for range 10 {
		got["others"] += 1 - ask(gw, "/v3/app/routers").Code/http.StatusTooManyRequests
	}
	if got["polled"] != 3 || got["others"] != 3 {
		t.Errorf("got %v, want 3 of each", got)
	}
}

// TestForwardedAddressesAreNotBelieved: without trusted proxies a header
// cannot buy a second budget.
func TestForwardedAddressesAreNotBelieved(t *testing.T) {
	gw := mount(t, setup{budget: limit.Config{PerMinute: 1}})
	ask(gw, "/v3/app/routers")
	r := httptest.NewRequest("GET", "/v3/app/routers", nil)
	for _, name := range []string{"X-Forwarded-For", "X-Real-IP", "True-Client-IP", "Forwarded"} {
		r.Header.Set(name, "203.0.113.7")
	}
	w := httptest.NewRecorder()
	gw.ServeHTTP(w, r)
	if w.Code != http.StatusTooManyRequests {
		t.Errorf("got %d, want 429", w.Code)
	}
}

func ask(h http.Handler, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
	return w
}
