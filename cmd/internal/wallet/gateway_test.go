package wallet

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAnswersThatAreNone gives the client everything but an answer.
func TestAnswersThatAreNone(t *testing.T) {
	tests := map[string]struct {
		status int
		body   string
		says   string
	}{
		"a refusal":           {400, `{"error":"Too little","code":"AMOUNT_OUT_OF_RANGE","requestId":"7"}`, "the gateway refused: Too little (AMOUNT_OUT_OF_RANGE, request 7)"},
		"another service":     {404, "<html>not here</html>", "404 and 21 bytes that are no error of a gateway"},
		"JSON of another":     {500, `{"message":"no"}`, "no error of a gateway"},
		"not JSON":            {200, "quote", "is not what it should be"},
		"another form":        {200, `{"to": 7}`, "is not what it should be"},
		"a list":              {200, `[]`, "is not what it should be"},
		"decimals out of all": {200, `{"srcToken":{"decimals":1000}}`, "is not what it should be"},
		"endless":             {200, `{"to":"` + strings.Repeat("0", maxAnswer) + `"}`, "too long"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}))
			defer server.Close()
			g := read(t, "v3", "pair-usdc-1-to-usdc-369")
			_, err := Gateway{URL: server.URL}.Quote(t.Context(), "v3", g.swap)
			wantError(t, err, test.says)
		})
	}
}

// TestEmptyAnswer wants an answer with nothing in it to be refused in full, and not to panic.
func TestEmptyAnswer(t *testing.T) {
	for name, at := range honest {
		if at[0] != "v3" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			g := read(t, at[0], at[1])
			_, err := Check(g.swap, &Quote{Version: g.version}, knowledge(t, g.swap))
			for _, what := range []string{"srcToken:", "destToken:", "to:", "srcAmount:", "destAmount:", "route.type:", "calldata:"} {
				wantError(t, err, what)
			}
		})
	}
}

func TestQuoteURL(t *testing.T) {
	g := read(t, "v3", "integrator-address")
	for version, says := range map[string]string{"v2": `version "v2" is not v3, v3legacy or v1`, "v1": "v1 knows no integrators"} {
		_, err := Gateway{URL: "http://gateway.example"}.QuoteURL(version, g.swap)
		wantError(t, err, says)
	}
	got, err := Gateway{URL: "http://gateway.example/"}.QuoteURL("v3", g.swap)
	if err != nil || !strings.HasPrefix(got, "http://gateway.example/v3/swap/quote?") || !strings.Contains(got, "integratorId=0x") {
		t.Errorf("got %s and %v", got, err)
	}
}
