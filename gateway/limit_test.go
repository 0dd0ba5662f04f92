package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	ethrpc "github.com/ethereum/go-ethereum/rpc"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/status"
	"github.com/quotegate/quotegate/shared/testkit/clock"
	"github.com/quotegate/quotegate/shared/testkit/journal"
)

// TestOneLimitForAllVersions: quotes of every version, and HEAD, count together. What does
// not quote costs nothing of it.
func TestOneLimitForAllVersions(t *testing.T) {
	const perMinute = 30
	gw := mount(t, setup{perMinute: perMinute})
	quoting, others := []string{"/versions/mine"}, []string{"/versions"}
	for _, m := range modules() {
		for _, route := range m.Routes {
			switch {
			case route.Quotes:
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
		w := send(gw, newRequest(method, quoting[i%len(quoting)]))
		if got := w.Header().Get("RateLimit-Remaining"); w.Code == 429 || got != strconv.Itoa(perMinute-1-i) {
			t.Errorf("request %d: got %d and RateLimit-Remaining %q, want %d", i+1, w.Code, got, perMinute-1-i)
		}
	}
	for _, path := range quoting {
		w := ask(gw, path)
		retry := w.Header().Get("Retry-After")
		want := "Rate limit exceeded: 30 requests per minute. Retry in " + retry + " seconds."
		if w.Code != http.StatusTooManyRequests || w.Fault.Code != "RATE_LIMITED" || w.Fault.Error != want || w.Fault.RequestID == "" {
			t.Errorf("%s: got %d and %s, want %q", path, w.Code, w.Body, want)
		}
	}
	for _, path := range others {
		if w := ask(gw, path); w.Code != http.StatusOK || w.Header().Get("RateLimit-Limit") != "" {
			t.Errorf("%s: got %d and headers %v, want it not to count", path, w.Code, w.Header())
		}
	}
	other := newRequest(http.MethodGet, "/v3/swap/quote")
	other.RemoteAddr = "198.51.100.9:1234"
	if w := send(gw, other); w.Code != http.StatusBadRequest {
		t.Errorf("another client got %d", w.Code)
	}
}

// TestPreflights: each counts in the limit for everything, is answered as if there were none, and leaves no line in the
// log. The request after them gets a refusal that its page can read.
func TestPreflights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logs bytes.Buffer
		gw := mount(t, setup{perMinute: 30, logs: &logs})
		page := []string{"Origin", "https://app.example"}
		for i := range 301 {
			asked := newRequest(http.MethodOptions, "/v3/swap/quote", append(page, "Access-Control-Request-Method", "GET")...)
			if w := send(gw, asked); w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Allow-Methods") != "GET" {
				t.Fatalf("preflight %d: got %d and headers %v", i+1, w.Code, w.Header())
			}
		}
		if logs.Len() > 0 {
			t.Errorf("got a log of preflights: %.300s", &logs)
		}
		w := send(gw, newRequest(http.MethodGet, "/v3/swap/quote"+goodQuote, page...))
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Access-Control-Allow-Origin") != "*" ||
			w.Header().Get("Retry-After") == "" {
			t.Errorf("got %d and headers %v, want a 429 that a page can read", w.Code, w.Header())
		}
	})
}

// TestTheLimitForEverything: its refusal keeps the contract of every version. Preflights and
// other addresses pass, and holders of a key have a limit of their own.
func TestTheLimitForEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // all of it within a minute
		key, hash := caller.NewKey()
		gw := mount(t, setup{perMinute: 30, clients: clientsOf(t, `{"name": "Acme", "keys": ["`+hash+`"], "perMinute": 50}`)})
		from := func(peer, method string, headers ...string) reply {
			r := newRequest(method, "/nothing/here", headers...)
			r.RemoteAddr = peer
			return send(gw, r)
		}
		const self = "192.0.2.1:1234" // of httptest
		for _, tt := range []struct {
			peer    string
			headers []string
			want    int
		}{{self, nil, 300}, {self, []string{"API-Key", key}, 500}, {"203.0.113.2:1", nil, 300}} {
			passed := 0
			for range 600 {
				if from(tt.peer, http.MethodGet, tt.headers...).Code == http.StatusNotFound {
					passed++
				}
			}
			if passed != tt.want {
				t.Errorf("%s %v: got %d passed, want %d", tt.peer, tt.headers, passed, tt.want)
			}
		}
		page := []string{"Origin", "https://app.example"}
		preflight := append(page, "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "api-key")
		for want, w := range map[int]reply{
			429: from(self, http.MethodGet, page...), 204: from(self, http.MethodOptions, preflight...),
		} {
			h := w.Header()
			if w.Code != want || h.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("got %d and headers %v, want %d", w.Code, h, want)
			}
			if want == 204 && !strings.EqualFold(h.Get("Access-Control-Allow-Headers"), "api-key") {
				t.Errorf("got headers %v, want a page to be allowed to send a key", h)
			}
		}
		for _, m := range modules() {
			contract := golden.ReadContract(t, mount(t, setup{}), m.Name)
			for _, route := range m.Routes {
				r := newRequest(http.MethodGet, route.Path)
				w := send(gw, r)
				if w.Code != http.StatusTooManyRequests {
					t.Errorf("%s: got %d, want 429", route.Path, w.Code)
				}
				script := strings.HasSuffix(route.Path, ".js") || strings.HasSuffix(route.Path, ".ts")
				if !script && route.Path != "/" { // which are in no contract
					contract.Check(t, r, w.ResponseRecorder)
				}
			}
		}
	})
}

// emptyChain is a node of PulseChain that knows no transaction.
type emptyChain struct{ clock *clock.Clock }

func (c emptyChain) height() hexutil.Uint64 { return hexutil.Uint64(c.clock.Now().Unix() / 10) }

func (c emptyChain) ChainId() hexutil.Uint64     { return 369 }
func (c emptyChain) BlockNumber() hexutil.Uint64 { return c.height() }

func (c emptyChain) GetBlockByNumber(string, bool) map[string]any {
	hash := func(n hexutil.Uint64) string { return fmt.Sprintf("0x%064x", uint64(n)) }
	return map[string]any{
		"number": c.height(), "hash": hash(c.height()), "parentHash": hash(c.height() - 1),
		"timestamp": hexutil.Uint64(c.clock.Now().Unix()),
	}
}

func (c emptyChain) GetBlockByHash(hash string, full bool) map[string]any {
	return c.GetBlockByNumber(hash, full)
}
func (c emptyChain) GetTransactionByHash(string) any  { return nil }
func (c emptyChain) GetTransactionReceipt(string) any { return nil }

// TestNodeReadsHaveALimitOfTheirOwn: a status question costs one where it asks the nodes,
// and nothing where the answer is in memory. When they are used up, the last answer is
// given again, and only a transaction that was never asked about is refused. Quotes do
// not count against it, nor the other way round.
func TestNodeReadsHaveALimitOfTheirOwn(t *testing.T) {
	clock := clock.At(time.Now())
	node := ethrpc.NewServer()
	if err := node.RegisterName("eth", emptyChain{clock}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(node)
	t.Cleanup(server.Close)
	core := golden.Core()
	chains, err := rpc.New(rpc.Config{369: {rpc.SecretURL(server.URL)}}, rpc.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chains.Close)
	issuer, err := cctp.New(cctp.Config{}, core.Deployment.Settlement, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	core.Tracker = status.New(chain.Reference(), chains, issuer, status.Options{Now: clock.Now})
	gw := mount(t, setup{modules: gateway.Modules(core), perMinute: 3, now: clock.Now})
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
		clock.Advance(step.after)
		target := "/v3/swap/quote"
		if step.hash != quote {
			target = "/v3/swap/status?srcChain=369&txHash=0x" + strings.Repeat("0", 63) + step.hash
		}
		r := newRequest(http.MethodGet, target)
		w := send(gw, r)
		contract.Check(t, r, w.ResponseRecorder)
		body := read[struct {
			State            string
			NextCheckSeconds int
		}](t, w)
		next := body.NextCheckSeconds
		if retry := w.Header().Get("Retry-After"); retry != "" {
			next, _ = strconv.Atoi(retry)
		}
		if w.Code != step.code || w.Header().Get("RateLimit-Remaining") != step.remaining || next != step.next {
			t.Errorf("step %d: got %d, %v and %s, want %+v", i+1, w.Code, w.Header(), w.Body, step)
		}
		if step.code == 200 && (body.State != "NOT_FOUND" || w.Header().Get("Cache-Control") != "no-store") {
			t.Errorf("step %d: got %s and %v", i+1, w.Body, w.Header())
		}
		if step.code == 429 && (w.Fault.Code != "RATE_LIMITED" || !strings.HasPrefix(w.Fault.Error, "Rate limit exceeded: 3 ")) {
			t.Errorf("step %d: got %s", i+1, w.Body)
		}
	}
}

// TestUnknownKeys asks every route of every version, and holds the answers to the
// contracts. A key that is not known is refused where keys were given out, except on
// free routes; elsewhere the header means nothing.
func TestUnknownKeys(t *testing.T) {
	unknown, _ := caller.NewKey()
	_, hash := caller.NewKey()
	for title, tt := range map[string]struct {
		clients *caller.Clients
		keys    bool
	}{
		"no file":      {nil, false},
		"without keys": {clientsOf(t, `{"name": "Acme", "match": ["agent:acme"]}`), false},
		"with keys":    {clientsOf(t, `{"name": "Acme", "keys": ["`+hash+`"]}`), true},
	} {
		gw := mount(t, setup{clients: tt.clients})
		for _, m := range modules() {
			contract := golden.ReadContract(t, gw, m.Name)
			for _, route := range m.Routes {
				r := newRequest(http.MethodGet, route.Path, "API-Key", unknown)
				w := send(gw, r)
				if !tt.keys || !route.Quotes && !route.ReadsNodes {
					if want := ask(gw, route.Path).Code; w.Code != want || w.Code == http.StatusUnauthorized {
						t.Errorf("%s, %s: got %d, want %d as without a key", title, route.Path, w.Code, want)
					}
					continue
				}
				h := w.Header()
				if w.Code != http.StatusUnauthorized || w.Fault.Code != "UNKNOWN_KEY" || w.Fault.Error == "" ||
					w.Fault.RequestID == "" || h.Get("WWW-Authenticate") == "" || h.Get("Cache-Control") != "no-store" {
					t.Errorf("%s, %s: got %d %.200s with %v", title, route.Path, w.Code, w.Body, h)
				}
				contract.Check(t, r, w.ResponseRecorder)
			}
		}
	}
}

// TestKeysHaveTheirOwnLimits: neither the address nor another key uses one up. A key that
// is not known counts against the limit of its address, so that nobody guesses keys.
func TestKeysHaveTheirOwnLimits(t *testing.T) {
	rich, richHash := caller.NewKey()
	poor, poorHash := caller.NewKey()
	unknown, _ := caller.NewKey()
	for _, path := range []string{"/v3/swap/quote", "/v3/swap/status"} {
		gw := mount(t, setup{perMinute: 3, clients: clientsOf(t,
			`{"name": "Rich", "keys": ["`+richHash+`"], "perMinute": 8}`, `{"name": "Poor", "keys": ["`+poorHash+`"]}`)})
		for i, code := range []int{401, 401, 401, 429} {
			if w := ask(gw, path, "API-Key", unknown); w.Code != code {
				t.Errorf("%s, guess %d: got %d, want %d", path, i+1, w.Code, code)
			}
		}
		for key, want := range map[string]int{rich: 8, poor: 3, "": 0} {
			var headers []string
			if key != "" {
				headers = []string{"API-Key", key}
			}
			passed := 0
			for range 10 {
				w := ask(gw, "/v3/swap/quote", headers...)
				if w.Code == http.StatusBadRequest {
					passed++
				}
				limit := fmt.Sprint(max(want, 3))
				if w.Code == http.StatusTooManyRequests && (w.Header().Get("RateLimit-Limit") != limit ||
					!strings.HasPrefix(w.Fault.Error, "Rate limit exceeded: "+limit+" requests per minute.")) {
					t.Errorf("got %v and %s, want the limit %s", w.Header(), w.Body, limit)
				}
			}
			if passed != want {
				t.Errorf("%d of 10 passed, want %d", passed, want)
			}
		}
	}
}

// TestKeysAreNeverLogged sends known and unknown keys to good and bad targets, with
// the log at its most talkative.
func TestKeysAreNeverLogged(t *testing.T) {
	known, hash := caller.NewKey()
	unknown, _ := caller.NewKey()
	var logs journal.Journal
	gw := mount(t, setup{
		clients: clientsOf(t, `{"name": "Acme", "keys": ["`+hash+`"]}`), logs: &logs, level: slog.LevelDebug, perMinute: 20,
	})
	var answers strings.Builder
	targets := []string{"/v3/app/routers", "/v3/swap/quote?amount=x", "/nowhere", "/v3/nowhere"}
	for _, m := range modules() {
		targets = append(targets, quotePath(m))
	}
	for _, key := range []string{known, unknown, known + known} {
		for _, target := range targets {
			w := ask(gw, target, "API-Key", key)
			_ = w.Result().Header.Write(&answers)
			_, _ = io.Copy(&answers, w.Body)
		}
	}
	if logs.Count(`"msg":"request"`) != 3*len(targets) {
		t.Errorf("got %d lines, want one for each request", logs.Count(`"msg":"request"`))
	}
	for _, secret := range []string{known[3:], unknown[3:], hash[7:]} {
		if strings.Contains(logs.String()+answers.String(), secret[:16]) {
			t.Errorf("a secret is in the log or in an answer:\n%s\n%s", logs.String(), answers.String())
		}
	}
}

// owns are the counts of some clients, of one version.
type owns map[string]usage.OwnVersion

func (o owns) Own(ctx context.Context, client, plan string, all []lifecycle.Standing) (usage.Own, error) {
	if client == "Broken" {
		return usage.Own{}, errors.New("the database is away")
	}
	mine, _ := uncounted{}.Own(ctx, client, plan, all)
	if counts, called := o[client]; called {
		last := &mine.Versions[len(mine.Versions)-1]
		last.Days = counts.Days
		last.Compared = counts.Compared
		last.Both = counts.Both
		last.Findings = append(last.Findings, counts.Findings...)
	}
	return mine, nil
}

// A client with a key is told about its own calls, its next window and its exemption, and
// about nobody else, at the cost of one request of its key's limit. Who only looks like a
// client is told nothing, at the cost of its address. While the counts cannot be read, a client
// is told when to ask again.
func TestOwnUsage(t *testing.T) {
	key := map[string]string{}
	rows := []string{`{"name": "By origin", "match": ["origin:https://acme.example"]}`}
	for _, name := range []string{"Acme", "Spared", "Broken"} {
		made, hash := caller.NewKey()
		key[name] = made
		rows = append(rows, `{"name": "`+name+`", "keys": ["`+hash+`"], "perMinute": 2}`)
	}
	unknown, _ := caller.NewKey()
	old := oldVersions(t)
	last := old[len(old)-1].Name
	counts := owns{
		"Acme": {
			Days: []usage.OwnDay{{Day: "2027-01-05", Served: 7, Refused: 2}}, Compared: "2027-01-05", Both: true,
			Findings: []usage.OwnFinding{{
				Finding: event.Finding{Outcome: "refused", Code: "MISSING_PARAMETER", Param: "recipient", Calls: 7},
				Says:    "7 calls would be refused.",
			}},
		},
		"By origin": {Days: []usage.OwnDay{{Day: "2027-01-05", Served: 1}}},
	}
	now := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	var logged strings.Builder
	gw := mount(t, setup{
		Config: planOf(t, last, "client:Spared"), clients: clientsOf(t, rows...), perMinute: 3, usage: counts,
		now: func() time.Time { return now }, logs: &logged,
	})
	contract := golden.ReadContract(t, gw, gateway.Current)
	away := contract.Doc.Components.Examples["UsageUnavailable"].Value.Value.(map[string]any)
	for i, tt := range []struct {
		headers   []string
		status    int
		remaining string
		days      int // of the answer
		exempt    bool
	}{
		{[]string{"API-Key", key["Acme"]}, 200, "1", 1, false},
		{[]string{"API-Key", key["Spared"]}, 200, "1", 0, true},
		{[]string{"API-Key", key["Broken"]}, 503, "1", 0, false},
		{[]string{"API-Key", key["Acme"]}, 200, "0", 1, false},
		{[]string{"API-Key", key["Acme"]}, 429, "0", 0, false},
		{nil, 401, "2", 0, false},
		{[]string{"Origin", "https://acme.example"}, 401, "1", 0, false},
		{[]string{"API-Key", unknown}, 401, "0", 0, false},
		{[]string{"API-Key", unknown}, 429, "0", 0, false},
	} {
		r := newRequest(http.MethodGet, "/versions/mine", tt.headers...)
		w := send(gw, r)
		contract.Check(t, r, w.ResponseRecorder)
		h := w.Header()
		if w.Code != tt.status || h.Get("RateLimit-Remaining") != tt.remaining || h.Get("Cache-Control") != "no-store" ||
			(h.Get("WWW-Authenticate") != "") != (tt.status == 401) || strings.Contains(w.Body.String(), "By origin") {
			t.Errorf("request %d: got %d %s with %v, want %+v", i+1, w.Code, w.Body, h, tt)
		}
		if tt.status == 503 && (w.Fault.Code != away["code"] || h.Get("Retry-After") != "10" ||
			w.Fault.Error != away["error"] || !strings.Contains(logged.String(), "the database is away")) {
			t.Errorf("got %s with %v, want when to retry; and the cause in the log: %s", w.Body, h, logged.String())
		}
		if tt.status != 200 {
			continue
		}
		mine := read[usage.Own](t, w)
		v := mine.Versions[len(mine.Versions)-1]
		if key[mine.Client] != tt.headers[1] || v.Name != last || len(v.Days) != tt.days || len(v.Findings) != tt.days ||
			v.Exempt != tt.exempt || v.Window == nil || v.Window.Refused == tt.exempt {
			t.Errorf("request %d: got %s", i+1, w.Body)
		}
	}
	w := ask(mount(t, setup{}), "/versions/mine", "API-Key", key["Acme"])
	if w.Code != http.StatusUnauthorized || !strings.Contains(w.Fault.Error, "requires its API key") {
		t.Errorf("got %d %s where no key was given out, want 401", w.Code, w.Body)
	}
}
