package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
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
)

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
	ask := func(want int, headers ...string) (mine lifecycle.Mine, w *httptest.ResponseRecorder) {
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
	if !strings.Contains(w.Body.String(), "only a key proves whose they are") || w.Header().Get("WWW-Authenticate") == "" || w.Header().Get("RateLimit-Remaining") != "2" {
		t.Errorf("got %s, %v", w.Body, w.Header())
	}
	ask(http.StatusUnauthorized, "Origin", "https://acme.example")
	ask(http.StatusUnauthorized, "API-Key", unknown)
	ask(http.StatusTooManyRequests, "API-Key", unknown)
	if w := askWith(newGateway(t), "/versions/mine", "API-Key", acme); w.Code != http.StatusUnauthorized {
		t.Errorf("got %d where no key was given out, want 401", w.Code)
	}
}
