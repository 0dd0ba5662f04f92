package gateway_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway"
)

// TestFormers: a version that is gone says so at every path of its own and wherever its
// revision is named, by header or by host, and nobody else is told so. `make deletable`
// runs it with each older version deleted.
func TestFormers(t *testing.T) {
	made := gateway.Former{Name: "v2", Prefixes: []string{"/v2/", "/swap/v2/"}, Revision: "second", Successor: "/v3/swap/quote"}
	formers := append(slices.Clone(gateway.Formers), made)
	gw := mount(t, setup{formers: formers, Config: gateway.Config{LegacyHosts: []string{"legacy.example"}}})
	const query = "?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369&recipient=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	for _, f := range formers {
		for _, prefix := range f.Prefixes {
			for _, path := range []string{"quote" + query, "swap/quote" + query, "app/routers", "openapi.yaml", ""} {
				checkFormer(t, f, ask(gw, prefix+path))
			}
		}
		if f.Revision != "" {
			checkFormer(t, f, askWith(gw, f.Successor+query, "API-Revision", f.Revision))
		}
		if f.Revision == "legacy" {
			checkFormer(t, f, ask(gw, "http://legacy.example"+f.Successor+query))
			if w := ask(gw, "http://legacy.example/v3/app/routers"); w.Code != http.StatusOK {
				t.Errorf("the listing, which had no revision: got %d", w.Code)
			}
		}
	}
	for _, path := range []string{"/v3/swap/quote" + query, "/v3/swap/healthcheck", "/versions"} {
		if w := ask(gw, path); w.Code != http.StatusOK {
			t.Errorf("%s: got %d", path, w.Code)
		}
	}
}

func checkFormer(t *testing.T, f gateway.Former, w *httptest.ResponseRecorder) {
	t.Helper()
	var body struct{ Error, Code, Successor, RequestID string }
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if w.Code != http.StatusGone || body.Code != "VERSION_RETIRED" || body.Successor != f.Successor || body.RequestID == "" ||
		!strings.HasPrefix(body.Error, f.Name+" was retired") || !strings.Contains(w.Header().Get("Link"), f.Successor) {
		t.Errorf("%s: got %d %s", f.Name, w.Code, w.Body)
	}
}
