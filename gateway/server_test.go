package gateway_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/wire"
)

// broken is a version whose every route fails in its own way.
func broken() web.Module {
	return web.Module{
		Name: "broken", Prefixes: []string{"/broken/"}, MapFault: wire.MapFault,
		Routes: []web.Route{
			{Path: "/broken/panic", Handle: func(http.ResponseWriter, *http.Request) error { panic("secret of the stack") }},
			{Path: "/broken/foreign", Handle: func(http.ResponseWriter, *http.Request) error { return errors.New("dial tcp: secret") }},
			{Path: "/broken/late", Handle: func(w http.ResponseWriter, _ *http.Request) error {
				_ = web.JSON(w, http.StatusOK, "half")
				return errors.New("after the answer: secret")
			}},
			{Path: "/broken/unencodable", Handle: func(w http.ResponseWriter, _ *http.Request) error {
				return web.JSON(w, http.StatusOK, func() {})
			}},
			{Path: "/broken/unavailable", Handle: func(http.ResponseWriter, *http.Request) error {
				e := fault.New(fault.IntegratorUnverified, "Not now").Because(errors.New("node: secret"))
				e.RetryAfter = 1500e6
				return e
			}},
		},
	}
}

func TestFailuresAreAnsweredAndLoggedOnce(t *testing.T) {
	tests := []struct {
		path       string
		status     int
		code       fault.Code
		logged     string
		retryAfter string
	}{
		{"/broken/panic", 500, fault.Internal, "goroutine", ""},
		{"/broken/foreign", 500, fault.Internal, "dial tcp: secret", ""},
		{"/broken/unencodable", 500, fault.Internal, "unsupported type", ""},
		{"/broken/unavailable", 503, fault.IntegratorUnverified, "node: secret", "2"},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			var logs bytes.Buffer
			gw := mount(t, setup{modules: []web.Module{broken()}, current: "broken", logs: &logs})
			w := ask(gw, tt.path)

			var body struct {
				Error     string
				Code      fault.Code
				RequestID string
			}
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
				t.Fatalf("not JSON: %s", w.Body)
			}
			if w.Code != tt.status || body.Code != tt.code || body.Error == "" {
				t.Errorf("got %d %+v, want %d %s", w.Code, body, tt.status, tt.code)
			}
			if got := w.Header().Get("X-Request-ID"); got == "" || got != body.RequestID {
				t.Errorf("got request ID %q in the header and %q in the body", got, body.RequestID)
			}
			if got := w.Header().Get("Retry-After"); got != tt.retryAfter {
				t.Errorf("got Retry-After %q, want %q", got, tt.retryAfter)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("the answer leaks the cause: %s", w.Body)
			}
			if !strings.Contains(logs.String(), tt.logged) || strings.Count(logs.String(), `"level":"ERROR"`) != 1 {
				t.Errorf("the log should say %q in one line at error level:\n%s", tt.logged, &logs)
			}
			if !strings.Contains(logs.String(), body.RequestID) {
				t.Errorf("the log does not name the request:\n%s", &logs)
			}
		})
	}
}

// TestTheLogNamesTheClientAndNoSecrets reads the line of a quote and that of a
// path that does not exist, at info and at debug.
func TestTheLogNamesTheClientAndNoSecrets(t *testing.T) {
	target := "/v3/swap/quote" + someQuote + "&recipient=" + somebody
	for level, tellsAll := range map[slog.Level]bool{slog.LevelInfo: false, slog.LevelDebug: true} {
		var logs bytes.Buffer
		gw := mount(t, setup{logs: &logs, level: level})
		ask(gw, target)
		ask(gw, "/v3/nothing")
		if got := strings.Count(logs.String(), `"client":"client agent"`); got != 2 {
			t.Errorf("at %s the client is named in %d of 2 lines:\n%s", level, got, &logs)
		}
		for _, secret := range []string{somebody, "100000000"} {
			if strings.Contains(logs.String(), secret) != tellsAll {
				t.Errorf("at %s, that %s is in the log should be %v:\n%s", level, secret, tellsAll, &logs)
			}
		}
	}
}

// TestOddRequestsOverARealConnection sends what no client library would.
func TestOddRequestsOverARealConnection(t *testing.T) {
	server := httptest.NewServer(newGateway(t))
	defer server.Close()
	for _, target := range []string{
		"/v3/swap/quote?", "/v3/swap/quote?&&&=&=1", "/v3/swap/quote?%00=%ff", "/v3/swap/quote?amount=%00",
		"/v3/swap/quote?srcToken=0x&dstToken=0x&amount=1&srcChain=1&dstChain=369&recipient=0zk",
		"/%2e%2e/v3/swap/quote", "//v3//swap/quote", "/v3/swap/quote/", "/v3/swap%2fquote", "/" + strings.Repeat("a", 3000),
	} {
		for _, method := range []string{"GET", "POST", "DELETE", "OPTIONS", "PATCH", "BREW"} {
			req, err := http.NewRequest(method, server.URL+target, nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if method == "OPTIONS" && res.StatusCode == http.StatusNoContent && res.Header.Get("Allow") == "GET, HEAD, OPTIONS" && len(body) == 0 {
				continue // the path is one of ours
			}
			var read struct{ Error, Code, RequestID string }
			if err := json.Unmarshal(body, &read); err != nil || read.Error == "" || read.Code == "" || read.RequestID == "" {
				t.Errorf("%s %s: got %d %q, want an error in JSON", method, target, res.StatusCode, body)
			}
			if res.StatusCode < 400 || res.StatusCode >= 500 {
				t.Errorf("%s %s: got status %d", method, target, res.StatusCode)
			}
		}
	}
}
