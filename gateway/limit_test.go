package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/testdata/golden"
)

// TestOneBudgetForAllVersions spends a budget across every version and finds
// it spent in all of them, in JSON, while what is free stays free.
func TestOneBudgetForAllVersions(t *testing.T) {
	const budget = 7
	gw := mount(t, setup{budget: limit.Config{PerMinute: budget}})
	limited, free := []string{}, []string{"/versions"}
	for _, m := range modules() {
		for _, route := range m.Routes {
			switch {
			case route.Free:
				free = append(free, route.Path)
			case route.Polled == nil && !route.Listing && route.Revision == "":
				limited = append(limited, route.Path)
			}
		}
	}
	for _, path := range []string{"/v3/swap/healthcheck", "/v3/verify.js", "/v3/openapi.yaml", "/"} {
		if !slices.Contains(free, path) {
			t.Errorf("%s is not free", path)
		}
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
	other := httptest.NewRequest("GET", "/v3/swap/quote", nil)
	other.RemoteAddr = "198.51.100.9:1234"
	w := httptest.NewRecorder()
	gw.ServeHTTP(w, other)
	if w.Code != http.StatusBadRequest {
		t.Errorf("another client got %d", w.Code)
	}
}

// TestStatusHasABudgetOfItsOwn: a burst of quotes does not lock status out, nor the
// other way round.
func TestStatusHasABudgetOfItsOwn(t *testing.T) {
	gw := mount(t, setup{budget: limit.Config{PerMinute: 30}})
	for path, want := range map[string]int{"/v3/swap/quote": 30, "/v3/swap/status": 15} {
		passed := 0
		for range 40 {
			if w := ask(gw, path); w.Code != http.StatusTooManyRequests {
				passed++
			}
		}
		if passed != want {
			t.Errorf("%s: %d of 40 passed, want %d", path, passed, want)
		}
	}
}

// TestListingsHaveABudgetOfTheirOwn: all listings of all versions share one of ten times
// the limit, whether they are answered whole or with 304, and their headers and refusals
// keep the contract of each version.
func TestListingsHaveABudgetOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // all of it within a minute
		const budget = 10 * 3
		gw := mount(t, setup{budget: limit.Config{PerMinute: 3}})
		var listings []string
		for _, m := range modules() {
			for _, route := range m.Routes {
				if route.Listing {
					listings = append(listings, route.Path)
				}
			}
		}
		for _, path := range []string{"/v3/app/routers", "/v3/app/pairs"} {
			if !slices.Contains(listings, path) {
				t.Errorf("%s is not a listing", path)
			}
		}
		tags := map[string]string{}
		for i := range budget {
			path := listings[i%len(listings)]
			w := askWith(gw, path, "If-None-Match", tags[path])
			want := http.StatusOK
			if tags[path] != "" {
				want = http.StatusNotModified
			}
			tags[path] = w.Header().Get("ETag")
			if w.Code != want || w.Header().Get("RateLimit-Limit") != strconv.Itoa(budget) || w.Header().Get("RateLimit-Remaining") != strconv.Itoa(budget-1-i) {
				t.Fatalf("%s: got %d and headers %v, want %d and %d remaining", path, w.Code, w.Header(), want, budget-1-i)
			}
		}
		for _, m := range modules() {
			for _, route := range m.Routes {
				if !route.Listing {
					continue
				}
				r := httptest.NewRequest("GET", route.Path, nil)
				w := httptest.NewRecorder()
				gw.ServeHTTP(w, r)
				golden.ReadContract(t, gw, m.Name).Check(t, r, w)
				retry := w.Header().Get("Retry-After")
				if w.Code != http.StatusTooManyRequests || retry == "" || retry != w.Header().Get("RateLimit-Reset") || w.Header().Get("RateLimit-Remaining") != "0" {
					t.Errorf("%s: got %d and headers %v, want 429", route.Path, w.Code, w.Header())
				}
			}
		}
		if w := ask(gw, quotePath(current())); w.Code == http.StatusTooManyRequests {
			t.Error("listings have used up the budget of quotes")
		}
	})
}

// TestCallersHaveANetwork: what asks the nodes for a request knows the network that it
// comes from, an IPv4 /24 or an IPv6 /48, and nothing else of its caller.
func TestCallersHaveANetwork(t *testing.T) {
	var got any
	module := current()
	module.Routes = []web.Route{{Path: "/v3/test", Free: true, Handle: func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		got = ctx.Value(rpc.CallerNetwork{})
		return nil
	}}}
	gw := mount(t, setup{modules: []web.Module{module}})
	for addr, want := range map[string]string{
		"203.0.113.9:1": "203.0.113.0/24", "[2001:db8:1:2::3]:1": "2001:db8:1::/48", "[::ffff:203.0.113.9]:1": "203.0.113.0/24", "@": "invalid Prefix",
	} {
		r := httptest.NewRequest("GET", "/v3/test", nil)
		r.RemoteAddr = addr
		gw.ServeHTTP(httptest.NewRecorder(), r)
		if fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, want %s", addr, got, want)
		}
	}
}

// TestRehearsalsCountAgainstTheBudget like the quotes that they stand for.
func TestRehearsalsCountAgainstTheBudget(t *testing.T) {
	gw := mount(t, setup{budget: limit.Config{PerMinute: 3}})
	for i, want := range []int{410, 410, 410, 429} {
		if w := askWith(gw, quotePath(current()), "API-Rehearse", "retired"); w.Code != want {
			t.Errorf("rehearsal %d: got %d, want %d", i+1, w.Code, want)
		}
	}
}

// TestForwardedAddressesAreNotBelieved: without trusted proxies a header
// cannot buy a second budget.
func TestForwardedAddressesAreNotBelieved(t *testing.T) {
	gw := mount(t, setup{budget: limit.Config{PerMinute: 1}})
	ask(gw, "/v3/swap/quote")
	r := httptest.NewRequest("GET", "/v3/swap/quote", nil)
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
