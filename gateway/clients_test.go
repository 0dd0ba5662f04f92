package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/testkit/journal"
)

func writeClients(t *testing.T, text string) *caller.Clients {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clients.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	clients, err := caller.NewClients(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

func askWith(h http.Handler, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// withKey has one client, whose key is not in use here.
func withKey(t *testing.T) *caller.Clients {
	t.Helper()
	_, hash := caller.NewKey()
	return writeClients(t, `{"clients": [{"name": "Acme", "keys": ["`+hash+`"]}]}`)
}

// TestUnknownKeys asks every route of every version, and holds the answers to the
// contracts. A key that is not known is refused where keys were given out, except on
// free routes; elsewhere the header means nothing.
func TestUnknownKeys(t *testing.T) {
	unknown, _ := caller.NewKey()
	for title, tt := range map[string]struct {
		clients *caller.Clients
		keys    bool
	}{
		"no file":      {nil, false},
		"without keys": {writeClients(t, `{"clients": [{"name": "Acme", "match": ["agent:acme"]}]}`), false},
		"with keys":    {withKey(t), true},
	} {
		gw := mount(t, setup{clients: tt.clients})
		for _, m := range modules() {
			var contract golden.Contract
			if tt.keys {
				contract = golden.ReadContract(t, gw, m.Name)
			}
			for _, route := range m.Routes {
				headers := []string{"API-Key", unknown}
				if route.Revision != "" {
					headers = append(headers, "API-Revision", route.Revision)
				}
				w := askWith(gw, route.Path, headers...)
				if !tt.keys || !route.Quotes && !route.ReadsNodes {
					if want := askWith(gw, route.Path, headers[2:]...); w.Code != want.Code || w.Code == http.StatusUnauthorized {
						t.Errorf("%s, %s: got %d, want %d as without a key", title, route.Path, w.Code, want.Code)
					}
					continue
				}
				var body struct{ Error, Code, RequestID string }
				if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != http.StatusUnauthorized || body.Code != "UNKNOWN_KEY" || body.Error == "" || body.RequestID == "" {
					t.Errorf("%s, %s: got %d %.200s", title, route.Path, w.Code, w.Body)
				}
				if got := w.Header(); got.Get("WWW-Authenticate") == "" || got.Get("Cache-Control") != "no-store" {
					t.Errorf("%s, %s: got headers %v", title, route.Path, got)
				}
				contract.Check(t, httptest.NewRequest("GET", route.Path, nil), w)
			}
		}
	}
}

// TestGuessingKeysIsLimited: a key that is not known counts against the budget of
// its address.
func TestGuessingKeysIsLimited(t *testing.T) {
	gw := mount(t, setup{budget: limit.Config{PerMinute: 5}, clients: withKey(t)})
	for i, want := range []int{401, 401, 401, 401, 401, 429, 429} {
		unknown, _ := caller.NewKey()
		path := []string{"/v3/swap/quote", "/v3/swap/status"}[i%2]
		if w := askWith(gw, path, "API-Key", unknown); w.Code != want {
			t.Errorf("guess %d: got %d, want %d", i+1, w.Code, want)
		}
	}
}

// TestAKeyHasItsOwnBudget: neither the address nor another key uses it up.
func TestAKeyHasItsOwnBudget(t *testing.T) {
	rich, richHash := caller.NewKey()
	poor, poorHash := caller.NewKey()
	gw := mount(t, setup{
		budget:  limit.Config{PerMinute: 3},
		clients: writeClients(t, `{"clients": [{"name": "Rich", "keys": ["`+richHash+`"], "perMinute": 8}, {"name": "Poor", "keys": ["`+poorHash+`"]}]}`),
	})
	passed := func(headers ...string) (n int) {
		for range 10 {
			if askWith(gw, "/v3/swap/quote", headers...).Code == http.StatusBadRequest {
				n++
			}
		}
		return n
	}
	for _, tt := range []struct {
		headers []string
		want    int
	}{{nil, 3}, {[]string{"API-Key", rich}, 8}, {[]string{"API-Key", poor}, 3}, {nil, 0}, {[]string{"API-Key", rich}, 0}} {
		if got := passed(tt.headers...); got != tt.want {
			t.Errorf("%d of 10 passed, want %d", got, tt.want)
		}
	}
	w := askWith(gw, "/v3/swap/quote", "API-Key", rich)
	if got := w.Header().Get("RateLimit-Limit"); got != "8" || !strings.Contains(w.Body.String(), "Rate limit exceeded: 8 requests per minute.") {
		t.Errorf("got a limit of %s and %s", got, w.Body)
	}
}

// TestKeysAreNeverLogged sends known and unknown keys to good and bad targets, with
// the log at its most talkative.
func TestKeysAreNeverLogged(t *testing.T) {
	known, hash := caller.NewKey()
	unknown, _ := caller.NewKey()
	clients := writeClients(t, `{"clients": [{"name": "Acme", "keys": ["`+hash+`"]}]}`)
	var logs journal.Journal
	gw := mount(t, setup{clients: clients, logs: &logs, level: slog.LevelDebug, budget: limit.Config{PerMinute: 20}})
	var answers strings.Builder
	targets := []string{"/v3/app/routers", "/v3/swap/quote?amount=x", "/nowhere", "/v3/nowhere"}
	for _, m := range modules() {
		targets = append(targets, quotePath(m))
	}
	for _, key := range []string{known, unknown, known + known} {
		for _, target := range targets {
			w := askWith(gw, target, "API-Key", key)
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

// TestAPreflightAllowsTheKey, so that a web page may send one.
func TestAPreflightAllowsTheKey(t *testing.T) {
	r := httptest.NewRequest("OPTIONS", "/v3/swap/quote", nil)
	r.Header.Set("Origin", "https://wallet.example")
	r.Header.Set("Access-Control-Request-Method", "GET")
	r.Header.Set("Access-Control-Request-Headers", "api-key")
	w := httptest.NewRecorder()
	newGateway(t).ServeHTTP(w, r)
	if got := w.Header().Get("Access-Control-Allow-Headers"); !strings.EqualFold(got, "api-key") {
		t.Errorf("got %q, want API-Key allowed", got)
	}
}

// owns are the counts of some clients.
type owns map[string][]lifecycle.Own

func (o owns) Own(_ context.Context, client string) ([]lifecycle.Own, error) {
	if client == "Broken" {
		return nil, errors.New("the database is away")
	}
	return o[client], nil
}

// A client with a key is told about its own calls, its next window and its exemption,
// and about nobody else, at the cost of one request of its key's budget.
func TestMyVersions(t *testing.T) {
	acme, acmeHash := caller.NewKey()
	spared, sparedHash := caller.NewKey()
	broken, brokenHash := caller.NewKey()
	unknown, _ := caller.NewKey()
	clients := writeClients(t, `{"clients": [{"name": "Acme", "keys": ["`+acmeHash+`"], "perMinute": 3}, {"name": "Spared", "keys": ["`+sparedHash+`"]}, {"name": "Broken", "keys": ["`+brokenHash+`"]},
		{"name": "By origin", "match": ["origin:https://acme.example"]}]}`)
	last := old(t).Name
	counts := owns{
		"Acme": {{Version: last, LastSeen: time.Date(2027, 1, 5, 9, 0, 0, 0, time.UTC), Days: []lifecycle.OwnDay{{Day: "2027-01-05", Served: 7, Refused: 2}}, Compared: "2027-01-05",
			Findings: []lifecycle.OwnFinding{{Outcome: "refused", Code: "MISSING_PARAMETER", Param: "recipient", Calls: 7, Says: "7 calls would be refused."}}}},
		"By origin": {{Version: last, Days: []lifecycle.OwnDay{{Day: "2027-01-05", Served: 1}}}},
	}
	now := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	plan := filepath.Join(t.TempDir(), "plan.json")
	text := `{"versions": {"` + last + `": {"deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z", "successor": "/v3/swap/quote", "docs": "https://example.org/m",
		"brownouts": [{"from": "2027-01-12T14:00:00Z", "to": "2027-01-12T14:15:00Z", "share": 1}], "exempt": ["client:Spared"]}}}`
	if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	gw := mount(t, setup{Config: gateway.Config{LifecycleFile: plan}, clients: clients, budget: limit.Config{PerMinute: 3}, own: counts, now: func() time.Time { return now }})
	contract := golden.ReadContract(t, gw, gateway.Current)
	ask := func(want int, headers ...string) (mine lifecycle.OwnUsage, w *httptest.ResponseRecorder) {
		t.Helper()
		r := httptest.NewRequest("GET", "/versions/mine", nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Add(headers[i], headers[i+1])
		}
		w = httptest.NewRecorder()
		gw.ServeHTTP(w, r)
		contract.Check(t, r, w)
		if w.Code != want {
			t.Errorf("%v: got %d %s, want %d", headers, w.Code, w.Body, want)
		}
		_ = json.Unmarshal(w.Body.Bytes(), &mine)
		return mine, w
	}
	mine, w := ask(http.StatusOK, "API-Key", acme)
	v := mine.Versions[len(mine.Versions)-1]
	if mine.Client != "Acme" || v.Name != last || v.Exempt || v.Window == nil || !v.Window.Refused || len(v.Days) != 1 || v.Days[0].Served != 7 || len(v.Findings) != 1 || strings.Contains(w.Body.String(), "By origin") {
		t.Errorf("got %s", w.Body)
	}
	if w.Header().Get("RateLimit-Remaining") != "2" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("got %v, want it to cost the key's budget, and no cache to keep it", w.Header())
	}
	mine, _ = ask(http.StatusOK, "API-Key", spared)
	if v := mine.Versions[len(mine.Versions)-1]; !v.Exempt || v.Window.Refused || len(v.Days) != 0 {
		t.Errorf("got %+v, want the exempt client to be spared, without calls", v)
	}
	ask(http.StatusInternalServerError, "API-Key", broken)
	for range 2 {
		ask(http.StatusOK, "API-Key", acme)
	}
	ask(http.StatusTooManyRequests, "API-Key", acme)
	// Who only looks like a client is told nothing, at the cost of its address.
	_, w = ask(http.StatusUnauthorized)
	if !strings.Contains(w.Body.String(), "requires its API key") || w.Header().Get("WWW-Authenticate") == "" || w.Header().Get("RateLimit-Remaining") != "2" {
		t.Errorf("got %s, %v", w.Body, w.Header())
	}
	ask(http.StatusUnauthorized, "Origin", "https://acme.example")
	ask(http.StatusUnauthorized, "API-Key", unknown)
	ask(http.StatusTooManyRequests, "API-Key", unknown)
	if w := askWith(newGateway(t), "/versions/mine", "API-Key", acme); w.Code != http.StatusUnauthorized {
		t.Errorf("got %d where no key was given out, want 401", w.Code)
	}
}
