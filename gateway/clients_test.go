package gateway_test

import (
	"encoding/json"
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
	"github.com/quotegate/quotegate/gateway/event"
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
		if w := askWith(gw, "/v3/swap/quote", "API-Key", unknown); w.Code != want {
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

// TestKnownClientsAreCountedByName, and in a brownout their order and exemption go
// by name as well.
func TestKnownClientsAreCountedByName(t *testing.T) {
	key, hash := caller.NewKey()
	clients := writeClients(t, `{"clients": [
		{"name": "Acme Wallet", "match": ["origin:https://acme.example"], "keys": ["`+hash+`"]},
		{"name": "Other", "match": ["agent:other"]}
	]}`)
	old := old(t)
	plan := filepath.Join(t.TempDir(), "plan.json")
	text := `{"versions": {"` + old.Name + `": {"deprecated": "2026-01-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z", "successor": "/v3/swap/quote", "docs": "https://example.org/migrate",
		"brownouts": [{"from": "2026-02-01T00:00:00Z", "to": "2026-02-02T00:00:00Z", "share": 1}], "exempt": ["client:Acme Wallet", "client:Nobody"]}}}`
	if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var logs journal.Journal
	var last recorded
	gw := mount(t, setup{
		Config: gateway.Config{LifecycleFile: plan}, clients: clients, logs: &logs, observers: []event.Observer{&last},
		now: func() time.Time { return time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC) },
	})
	if got := logs.Count(`the plan exempts clients that CLIENTS_FILE does not have`); got != 1 || !strings.Contains(logs.String(), `"clients":["Nobody"]`) {
		t.Errorf("got %d warnings of unknown clients:\n%s", got, logs.String())
	}
	for _, tt := range []struct {
		headers []string
		client  string
		status  int
	}{
		{[]string{"API-Key", key, "User-Agent", "other/1"}, "client Acme Wallet", 200},
		{[]string{"Origin", "https://acme.example"}, "client Acme Wallet", 200},
		{[]string{"User-Agent", "other/1"}, "client Other", 410},
		{[]string{"User-Agent", "curl/8"}, "agent curl 192.0.2.0/24", 410},
	} {
		w := askWith(gw, quotePath(old)+someQuote+"&recipient="+somebody, tt.headers...)
		if got := last.Caller.Identity().String(); got != tt.client || w.Code != tt.status {
			t.Errorf("got %d for %q, want %d for %q", w.Code, got, tt.status, tt.client)
		}
	}
}

// recorded is the last Event.
type recorded struct{ event.Event }

func (r *recorded) Observe(e *event.Event) { r.Event = *e }

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
