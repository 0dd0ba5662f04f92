package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/journal"
	"github.com/quotegate/quotegate/shared/web"
)

// TestOneLimitForAllVersions: quotes of every version, and HEAD, count together. What does
// not quote costs nothing of it.
func TestOneLimitForAllVersions(t *testing.T) {
	const perMinute = 7
	gw := mount(t, setup{budget: limit.Config{PerMinute: perMinute}})
	quoting, others := []string{"/versions/mine"}, []string{"/versions"}
	for _, m := range modules() {
		for _, route := range m.Routes {
			switch {
			case route.Quotes && route.Revision == "":
				quoting = append(quoting, route.Path)
			case !route.Quotes && !route.ReadsNodes:
				others = append(others, route.Path)
			}
		}
	}
	for _, path := range []string{"/v3/swap/healthcheck", "/v3/verify.js", "/v3/openapi.yaml", "/v3/app/pairs", "/"} {
		if !slices.Contains(others, path) {
			t.Errorf("%s counts as a quote", path)
		}
	}
	for i := range perMinute {
		method := []string{http.MethodGet, http.MethodHead}[i%2]
		w := httptest.NewRecorder()
		gw.ServeHTTP(w, httptest.NewRequest(method, quoting[i%len(quoting)], nil))
		if got := w.Header().Get("RateLimit-Remaining"); w.Code == 429 || got != strconv.Itoa(perMinute-1-i) {
			t.Errorf("request %d: got %d and RateLimit-Remaining %q, want %d", i+1, w.Code, got, perMinute-1-i)
		}
	}
	for _, path := range quoting {
		w := ask(gw, path)
		var body struct{ Error, Code, RequestID string }
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Code != "RATE_LIMITED" || body.RequestID == "" {
			t.Errorf("%s: got %s, want RATE_LIMITED in JSON", path, w.Body)
		}
		retry := w.Header().Get("Retry-After")
		want := "Rate limit exceeded: 7 requests per minute. Retry in " + retry + " seconds."
		if w.Code != http.StatusTooManyRequests || body.Error != want {
			t.Errorf("%s: got %d and %q, want %q", path, w.Code, body.Error, want)
		}
	}
	for _, path := range others {
		if w := ask(gw, path); w.Code != http.StatusOK || w.Header().Get("RateLimit-Limit") != "" {
			t.Errorf("%s: got %d and headers %v, want it not to count", path, w.Code, w.Header())
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

// TestTheLimitForEverything: an address has 300 requests a minute, whatever it asks for.
// The rest is refused in the format of each version, and writes few lines.
func TestTheLimitForEverything(t *testing.T) {
	var logs journal.Journal
	var seen events
	gw := mount(t, setup{budget: limit.Config{PerMinute: 30}, logs: &logs, observers: []event.Observer{&seen}})
	server := httptest.NewServer(gw)
	defer server.Close()
	began := time.Now()
	paths := []string{"/nothing/here", "/v3/swap/healthcheck", "/v1/nothing", "/v3/openapi.yaml", "/v3/app/pairs", "/versions", "/"}
	for _, m := range modules() {
		paths = append(paths, web.ContractPath(m.Name), quotePath(m))
	}
	const asked = 1500
	byStatus := map[string]int{}
	for i := range asked {
		method, path := http.MethodGet, paths[i%len(paths)]
		if i%10 == 9 {
			method = []string{http.MethodHead, http.MethodPost, "SPY", http.MethodOptions}[i/10%4]
		}
		if i == 7 {
			path = "/" + strings.Repeat("x", 5000)
		}
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for name := range res.Header {
			if strings.HasPrefix(name, "X-Ratelimit") {
				t.Errorf("%s %s: got the header %s", method, path, name)
			}
		}
		refused := res.StatusCode == http.StatusTooManyRequests && res.Header.Get("RateLimit-Limit") == ""
		if !refused {
			byStatus["passed"]++
			continue
		}
		byStatus["refused"]++
		var told struct{ Error, Code, RequestID string }
		retry := res.Header.Get("Retry-After")
		if method != http.MethodHead && json.Unmarshal(body, &told) != nil || retry == "" {
			t.Errorf("%s %s: got %d, Retry-After %q and %s", method, path, res.StatusCode, retry, body)
		}
		want := "Rate limit exceeded: 300 requests of any kind per minute. Retry in " + retry + " second"
		if method != http.MethodHead && (told.Code != "RATE_LIMITED" || told.RequestID == "" || !strings.HasPrefix(told.Error, want)) {
			t.Errorf("%s %s: got %s, want %q", method, path, body, want)
		}
	}
	server.Close() // ends when the last line is written
	minutes := int(time.Since(began)/time.Minute) + 2
	if byStatus["passed"] < 300 || byStatus["passed"] > 300*minutes {
		t.Errorf("got %v, want 300 passed a minute", byStatus)
	}
	seconds := int(time.Since(began)/time.Second) + 2
	lines := strings.Count(logs.String(), `"msg":"request"`)
	if most := byStatus["passed"] + 20*seconds; lines > most {
		t.Errorf("got %d lines for %d requests, want %d at most", lines, asked, most)
	}
	for _, e := range seen.all {
		if e.Code == fault.RateLimited && (e.Status != http.StatusTooManyRequests || e.Quotes && e.Route == "") {
			t.Errorf("got the event %+v", e)
		}
	}
}

// TestTheLimitForEverythingPerVersion: its refusal keeps the contract of every version,
// and of no version says more than the limit.
func TestTheLimitForEverythingPerVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // all of it within a minute
		gw := mount(t, setup{budget: limit.Config{PerMinute: 30}})
		for range 300 {
			if w := ask(gw, "/nothing/here"); w.Code != http.StatusNotFound {
				t.Fatalf("got %d, want 404", w.Code)
			}
		}
		for _, m := range modules() {
			contract := golden.ReadContract(t, mount(t, setup{}), m.Name)
			for _, route := range m.Routes {
				r := httptest.NewRequest("GET", route.Path, nil)
				w := httptest.NewRecorder()
				gw.ServeHTTP(w, r)
				if w.Code != http.StatusTooManyRequests {
					t.Errorf("%s: got %d, want 429", route.Path, w.Code)
				}
				script := strings.HasSuffix(route.Path, ".js") || strings.HasSuffix(route.Path, ".ts")
				if !script && route.Path != "/" { // which are in no contract
					contract.Check(t, r, w)
				}
			}
		}
	})
}

// TestWhoPassesTheLimitForEverything: preflights, peers without an address, others, and
// everybody where RATE_LIMIT is 0.
func TestWhoPassesTheLimitForEverything(t *testing.T) {
	for name, tt := range map[string]struct {
		perMinute int
		method    string
		headers   []string
		peer      string
		want      int
	}{
		"a preflight": {30, http.MethodOptions,
			[]string{"Origin", "https://app.example", "Access-Control-Request-Method", "GET"}, "203.0.113.1:1", 200},
		"a peer without an address": {30, http.MethodGet, nil, "@", 404},
		"another address":           {30, http.MethodGet, nil, "203.0.113.2:1", 404},
		"no limit":                  {0, http.MethodGet, nil, "203.0.113.1:1", 404},
		"the address itself":        {30, http.MethodGet, nil, "203.0.113.1:1", 429},
		"from a page":               {30, http.MethodGet, []string{"Origin", "https://app.example"}, "203.0.113.1:1", 429},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gw := mount(t, setup{budget: limit.Config{PerMinute: tt.perMinute}})
				request := func(method, peer string, headers ...string) *httptest.ResponseRecorder {
					r := httptest.NewRequest(method, "/nothing/here", nil)
					r.RemoteAddr = peer
					for i := 0; i < len(headers); i += 2 {
						r.Header.Set(headers[i], headers[i+1])
					}
					w := httptest.NewRecorder()
					gw.ServeHTTP(w, r)
					return w
				}
				for range 400 {
					request(http.MethodGet, "203.0.113.1:1")
					if tt.peer == "@" {
						request(http.MethodGet, "@")
					}
				}
				w := request(tt.method, tt.peer, tt.headers...)
				if w.Code != tt.want {
					t.Errorf("got %d, want %d", w.Code, tt.want)
				}
				if origin := w.Header().Get("Access-Control-Allow-Origin"); (origin == "*") != (tt.headers != nil) {
					t.Errorf("got Access-Control-Allow-Origin %q", origin)
				}
			})
		})
	}
}

// TestAKeyHasItsOwnLimitForEverything: ten times its own limit.
func TestAKeyHasItsOwnLimitForEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key, hash := caller.NewKey()
		clients := writeClients(t, `{"clients": [{"name": "Acme", "keys": ["`+hash+`"], "perMinute": 50}]}`)
		gw := mount(t, setup{budget: limit.Config{PerMinute: 30}, clients: clients})
		for _, tt := range []struct {
			headers []string
			want    int
		}{{nil, 300}, {[]string{"API-Key", key}, 500}} {
			passed := 0
			for range 600 {
				if askWith(gw, "/versions", tt.headers...).Code == http.StatusOK {
					passed++
				}
			}
			if passed != tt.want {
				t.Errorf("%v: got %d passed, want %d", tt.headers, passed, tt.want)
			}
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
