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

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/status"
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

func ask(h http.Handler, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
	return w
}

// serveEmptyChain serves a node of PulseChain that knows no transaction.
func serveEmptyChain(t *testing.T, clock *recorded.Clock) *httptest.Server {
	t.Helper()
	type call struct {
		ID     json.RawMessage
		Method string
	}
	result := func(method string) string {
		now := clock.Now().Unix()
		switch method {
		case "eth_chainId":
			return `"0x171"`
		case "eth_getBlockByNumber", "eth_getBlockByHash":
			return fmt.Sprintf(`{"number":"0x%x","hash":"0x%064x","parentHash":"0x%064x","timestamp":"0x%x"}`,
				now/10, now/10, now/10-1, now)
		case "eth_blockNumber":
			return fmt.Sprintf(`"0x%x"`, now/10)
		}
		return "null"
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		batch := strings.HasPrefix(string(body), "[")
		calls := make([]call, 1)
		if batch {
			_ = json.Unmarshal(body, &calls)
		} else {
			_ = json.Unmarshal(body, &calls[0])
		}
		var answers []string
		for _, c := range calls {
			answers = append(answers, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, c.ID, result(c.Method)))
		}
		text := strings.Join(answers, ",")
		if batch {
			text = "[" + text + "]"
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	return server
}

// TestNodeReadsHaveALimitOfTheirOwn: a status question costs one where it asks the nodes,
// and nothing where the answer is in memory. When they are used up, the last answer is
// given again, and only a transaction that was never asked about is refused. Quotes do
// not count against it, nor the other way round.
func TestNodeReadsHaveALimitOfTheirOwn(t *testing.T) {
	clock := recorded.At(time.Now())
	core := golden.Core()
	chains, err := rpc.New(rpc.Config{369: {rpc.SecretURL(serveEmptyChain(t, clock).URL)}}, rpc.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chains.Close)
	issuer, err := cctp.New(cctp.Config{}, core.Deployment.Settlement, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	core.Tracker = status.New(chain.Reference(), chains, issuer, status.Options{Now: clock.Now})
	gw := mount(t, setup{modules: gateway.Modules(core), budget: limit.Config{PerMinute: 3}, now: clock.Now})
	contract := golden.ReadContract(t, gw, "v3") // the version of this route

	const quote = ""
	for i, step := range []struct {
		after     time.Duration
		hash      string // the last digit, or a quote
		code      int
		remaining string // of RateLimit-Remaining; empty if it costs nothing
		next      int    // nextCheckSeconds, or Retry-After of a 429
	}{
		{0, quote, 400, "2", 0},
		{0, quote, 400, "1", 0},
		{0, quote, 400, "0", 0},
		{0, quote, 429, "0", 60},
		{0, "a", 200, "2", 5},
		{time.Second, "a", 200, "", 5}, // from memory
		{5 * time.Second, "a", 200, "1", 5},
		{4 * time.Second, "b", 200, "0", 5},
		{6 * time.Second, "a", 200, "0", 44}, // again
		{0, "b", 200, "0", 44},
		{0, "c", 429, "0", 44},
		{44 * time.Second, "c", 200, "0", 5},
	} {
		clock.Pass(step.after)
		target := "/v3/swap/quote"
		if step.hash != quote {
			target = "/v3/swap/status?srcChain=369&txHash=0x" + strings.Repeat("0", 63) + step.hash
		}
		r := httptest.NewRequest("GET", target, nil)
		w := httptest.NewRecorder()
		gw.ServeHTTP(w, r)
		contract.Check(t, r, w)
		var body struct {
			State, Code, Error string
			NextCheckSeconds   int
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		next := body.NextCheckSeconds
		if retry := w.Header().Get("Retry-After"); retry != "" {
			_, _ = fmt.Sscan(retry, &next)
		}
		if w.Code != step.code || w.Header().Get("RateLimit-Remaining") != step.remaining || next != step.next {
			t.Errorf("step %d: got %d, %v and %s, want %+v", i+1, w.Code, w.Header(), w.Body, step)
		}
		if step.code == 200 && (body.State != "NOT_FOUND" || w.Header().Get("Cache-Control") != "no-store") {
			t.Errorf("step %d: got %s and %v", i+1, w.Body, w.Header())
		}
		if step.code == 429 && (body.Code != "RATE_LIMITED" || !strings.HasPrefix(body.Error, "Rate limit exceeded: 3 ")) {
			t.Errorf("step %d: got %s", i+1, w.Body)
		}
	}
}
