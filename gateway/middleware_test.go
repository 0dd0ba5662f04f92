package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/version"
)

// broken is a version whose every route fails in its own way.
func broken() version.Module {
	return version.Module{
		Name: "broken", Prefixes: []string{"/broken/"}, MapFault: api.MapFault,
		Revision: version.Revision{Path: "/v3/swap/quote", Names: []string{"broken"}, Serves: "/broken/panic"},
		Routes: []version.Route{
			{Path: "/broken/panic", Handle: func(http.ResponseWriter, *version.Request) error { panic("secret of the stack") }},
			{Path: "/broken/foreign", Handle: func(http.ResponseWriter, *version.Request) error { return errors.New("dial tcp: secret") }},
			{Path: "/broken/late", Handle: func(w http.ResponseWriter, _ *version.Request) error {
				_ = version.JSON(w, http.StatusOK, "half")
				return errors.New("after the answer: secret")
			}},
			{Path: "/broken/unencodable", Handle: func(w http.ResponseWriter, _ *version.Request) error {
				return version.JSON(w, http.StatusOK, func() {})
			}},
			{Path: "/broken/unavailable", Handle: func(http.ResponseWriter, *version.Request) error {
				e := fault.New(fault.IntegratorUnverified, "Not now").Because(errors.New("node: secret"))
				e.RetryAfter = 1500e6
				return e
			}},
		},
	}
}

// TestEveryAnswerHasOneEvent: whatever is asked and whoever answers it, observers are told
// once, and the answer has the headers of every response.
func TestEveryAnswerHasOneEvent(t *testing.T) {
	seen := &events{}
	former := gateway.RetiredVersion{Name: "v0", Prefixes: []string{"/v0/"}, Successor: "/v3/swap/quote"}
	gw := mount(t, setup{modules: append(modules(), broken()), retired: []gateway.RetiredVersion{former}, observers: []event.Observer{seen}})
	long := "/v3/swap/quote?a=" + strings.Repeat("x", 4096)
	for _, tt := range []struct {
		method, target, header string
		status                 int
		version, route         string
		code                   fault.Code
	}{
		{"GET", "/v3/swap/quote" + goodQuote, "", 200, "v3", "/v3/swap/quote", ""},
		{"HEAD", "/v1/quote" + someQuote, "", 200, "v1", "/v1/quote", ""},
		{"GET", "/v3/swap/quote", "", 400, "v3", "/v3/swap/quote", fault.MissingParameter},
		{"GET", "/v3/swap/quote", "API-Rehearse: retired", 410, "v3", "/v3/swap/quote", fault.VersionRetired},
		{"GET", "/versions", "", 200, "", "", ""},
		{"GET", "/versions/mine", "", 401, "", "", fault.UnknownKey},
		{"GET", "/nothing", "", 404, "", "", fault.NotFound},
		{"GET", "/v1/nothing", "", 404, "v1", "", fault.NotFound},
		{"GET", "/v3/swap%2fquote" + goodQuote, "", 404, "v3", "", fault.NotFound},
		{"POST", "/v3/swap/quote", "", 405, "v3", "", fault.MethodNotAllowed},
		{"POST", "/v3/swap/quote", "API-Revision: broken", 405, "broken", "", fault.MethodNotAllowed},
		{strings.Repeat("LONG", 1000), "/v3/swap/quote", "", 405, "v3", "", fault.MethodNotAllowed},
		{"OPTIONS", "/v3/swap/quote", "", 204, "v3", "", ""},
		{"OPTIONS", "/v3/swap/quote", "Access-Control-Request-Method: GET", 204, "", "", ""},
		{"GET", "/v0/quote", "", 410, "v0", "", fault.VersionRetired},
		{"GET", long, "", 400, "v3", "", fault.InvalidParameter},
		{"GET", "/broken/panic", "", 500, "broken", "/broken/panic", fault.Internal},
		{"GET", "/broken/late", "", 200, "broken", "/broken/late", fault.Internal},
	} {
		before := len(seen.all)
		r := newRequest(tt.method, tt.target, "Origin", "https://app.example",
			"Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
		if name, value, ok := strings.Cut(tt.header, ": "); ok {
			r.Header.Set(name, value)
		}
		w := send(gw, r)
		method := tt.method[:min(len(tt.method), 16)] // whatever a client sends, this is all that is logged
		what := method + " " + tt.target[:min(len(tt.target), 40)] + " " + tt.header
		if len(seen.all) != before+1 {
			t.Errorf("%s: %d events", what, len(seen.all)-before)
			continue
		}
		e := seen.last()
		if w.Code != tt.status || e.Status != tt.status || e.Version != tt.version || e.Route != tt.route || e.Code != tt.code || e.Method != method {
			t.Errorf("%s: answered %d, and the event is %+v; want %+v", what, w.Code, e, tt)
		}
		if e.Caller.Origin != "https://app.example" && w.Header().Get("Access-Control-Allow-Methods") == "" {
			t.Errorf("%s: the event does not say who called: %+v", what, e.Caller)
		}
		h := w.Header()
		if h.Get("X-Request-Id") != e.RequestID || len(e.RequestID) != 32 || e.TraceID != "4bf92f3577b34da6a3ce929d0e0e4736" {
			t.Errorf("%s: request ID %q, trace ID %q and headers %v", what, e.RequestID, e.TraceID, h)
		}
		if h.Get("Cache-Control") != "no-store" || !slices.Equal(h["Vary"][:2], []string{"API-Revision", "Origin"}) {
			t.Errorf("%s: got headers %v", what, h)
		}
	}
}

// TestPanickingObservers: the answer does not depend on who observes it.
func TestPanickingObservers(t *testing.T) {
	var logs bytes.Buffer
	gw := one(t, setup{logs: &logs, observers: []event.Observer{panicking{}}}, func(w http.ResponseWriter, _ *version.Request) error {
		return version.JSON(w, http.StatusOK, "fine")
	})
	if w := ask(gw, "/v3/test"); w.Code != 200 || w.Body.String() != "\"fine\"\n" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if !strings.Contains(logs.String(), "an observer is broken") {
		t.Errorf("the log does not say what panicked: %s", &logs)
	}
}

type panicking struct{}

func (panicking) Observe(*event.Event) { panic("an observer is broken") }

// TestContextOfARequest: where nodes may be asked it has a deadline, ends with the request, and ends when the client has
// left, which is not our fault.
func TestContextOfARequest(t *testing.T) {
	var ctx context.Context
	var logs bytes.Buffer
	module := current()
	module.Routes = []version.Route{{Path: "/v3/test", ReadsNodes: true, Handle: func(_ http.ResponseWriter, r *version.Request) error {
		ctx = r.Context()
		if at, ok := ctx.Deadline(); !ok || time.Until(at) > 10*time.Second {
			t.Errorf("got the deadline %v, %t; want one within 10 seconds", at, ok)
		}
		return ctx.Err()
	}}}
	gw := mount(t, setup{logs: &logs, level: slog.LevelInfo, modules: []version.Module{module}})
	left, leave := context.WithCancel(t.Context())
	leave()
	for _, tt := range []struct {
		client context.Context
		status int
	}{{t.Context(), 200}, {left, 500}} {
		w := send(gw, newRequest(http.MethodGet, "/v3/test").WithContext(tt.client))
		if w.Code != tt.status || !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("got %d, and afterwards the context has %v; want %d and a context that has ended", w.Code, ctx.Err(), tt.status)
		}
	}
	if !strings.Contains(logs.String(), "context canceled") || strings.Contains(logs.String(), "ERROR") {
		t.Errorf("a client that has left should be logged, and not as an error:\n%s", &logs)
	}
}

// TestDeadlineOfQuotes: a quote that reads an account has one.
func TestDeadlineOfQuotes(t *testing.T) {
	gw := mount(t, setup{})
	for query, want := range map[string]bool{
		"":                                  false,
		"&integratorId=" + partner:          false, // the registry sets its own when it has to ask
		"&include=details&from=" + somebody: true,
	} {
		w := ask(gw, "/v3/swap/quote"+goodQuote+query)
		deadline := *core.deadline.Load()
		if within := time.Until(deadline); w.Code != 200 || deadline.IsZero() == want || within > 10*time.Second {
			t.Errorf("%s: got %d and a deadline in %s, want one: %t", query, w.Code, within, want)
		}
	}
}

// TestAbortedAnswers: http.ErrAbortHandler is for net/http, which closes the connection.
func TestAbortedAnswers(t *testing.T) {
	var logs bytes.Buffer
	gw := one(t, setup{logs: &logs}, func(http.ResponseWriter, *version.Request) error { panic(http.ErrAbortHandler) })
	defer func() {
		if p := recover(); p != http.ErrAbortHandler || logs.Len() != 0 {
			t.Errorf("got the panic %v and the log %s", p, &logs)
		}
	}()
	ask(gw, "/v3/test")
}

// TestResponseWriter: handlers may flush, write without a header, or write nothing.
func TestResponseWriter(t *testing.T) {
	for name, tt := range map[string]struct {
		handle version.Handler
		status int // of the event
		body   string
	}{
		"nothing":   {func(http.ResponseWriter, *version.Request) error { return nil }, 0, ""},
		"no header": {func(w http.ResponseWriter, _ *version.Request) error { _, err := io.WriteString(w, "a"); return err }, 200, "a"},
		"two headers": {func(w http.ResponseWriter, _ *version.Request) error {
			w.WriteHeader(202)
			w.WriteHeader(203)
			return nil
		}, 202, ""},
		"an error too late": {func(w http.ResponseWriter, _ *version.Request) error {
			_, _ = io.WriteString(w, "a")
			return errors.New("too late")
		}, 200, "a"},
		"a flush": {func(w http.ResponseWriter, _ *version.Request) error {
			_, _ = io.WriteString(w, "a")
			return http.NewResponseController(w).Flush()
		}, 200, "a"},
	} {
		seen := &events{}
		w := ask(one(t, setup{observers: []event.Observer{seen}}, tt.handle), "/v3/test")
		if got := seen.last().Status; got != tt.status || w.Body.String() != tt.body || w.Flushed != (name == "a flush") {
			t.Errorf("%s: got status %d, body %q, flushed %t; want %d, %q", name, got, w.Body, w.Flushed, tt.status, tt.body)
		}
	}
}

// TestLongURLs: 4,096 bytes are read, and no more.
func TestLongURLs(t *testing.T) {
	gw := mount(t, setup{})
	for extra, code := range map[int]string{0: "", 1: "INVALID_PARAMETER"} {
		target := "/v1/quote" + someQuote + "&a="
		target += strings.Repeat("x", 4096-len(target)+extra)
		if w := ask(gw, target); w.Fault.Code != code {
			t.Errorf("%d bytes: got %s, want %q", len(target), w.Body, code)
		}
	}
}

// TestFailuresAreAnsweredAndLoggedOnce, in JSON, without the cause.
func TestFailuresAreAnsweredAndLoggedOnce(t *testing.T) {
	for _, tt := range []struct {
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
	} {
		var logs bytes.Buffer
		w := ask(mount(t, setup{modules: append(modules(), broken()), logs: &logs}), tt.path)
		h := w.Header()
		if w.Code != tt.status || w.Fault.Code != string(tt.code) || w.Fault.Error == "" || w.Fault.RequestID == "" ||
			h.Get("X-Request-ID") != w.Fault.RequestID || h.Get("Retry-After") != tt.retryAfter {
			t.Errorf("%s: got %d %s with %v, want %+v", tt.path, w.Code, w.Body, h, tt)
		}
		if strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: the answer leaks the cause: %s", tt.path, w.Body)
		}
		if !strings.Contains(logs.String(), tt.logged) || strings.Count(logs.String(), `"level":"ERROR"`) != 1 ||
			!strings.Contains(logs.String(), w.Fault.RequestID) {
			t.Errorf("%s: the log should say %q in one line at error level, with the request:\n%s", tt.path, tt.logged, &logs)
		}
	}
}

// TestTheLogNamesTheClientAndNoSecrets reads the line of a quote and that of a
// path that does not exist, at info and at debug.
func TestTheLogNamesTheClientAndNoSecrets(t *testing.T) {
	target := "/v3/swap/quote" + goodQuote
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
	server := httptest.NewServer(mount(t, setup{}))
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
			var got reply
			if err := json.Unmarshal(body, &got.Fault); err != nil || got.Fault.Error == "" || got.Fault.Code == "" || got.Fault.RequestID == "" {
				t.Errorf("%s %s: got %d %q, want an error in JSON", method, target, res.StatusCode, body)
			}
			if res.StatusCode < 400 || res.StatusCode >= 500 {
				t.Errorf("%s %s: got status %d", method, target, res.StatusCode)
			}
		}
	}
}

// TestCallersHaveANetwork: what asks the nodes for a request knows the network that it
// comes from, an IPv4 /24 or an IPv6 /48, and nothing else of its caller.
func TestCallersHaveANetwork(t *testing.T) {
	module := current()
	module.Routes = append(module.Routes, version.Route{
		Path: "/v3/test", ReadsNodes: true, Handle: func(_ http.ResponseWriter, r *version.Request) error {
			core.network.Store(new(r.Caller.String()))
			return nil
		},
	})
	gw := mount(t, setup{modules: []version.Module{module}})
	for addr, want := range map[string]string{
		"203.0.113.9:1": "203.0.113.0/24", "[2001:db8:1:2::3]:1": "2001:db8:1::/48",
		"[::ffff:203.0.113.9]:1": "203.0.113.0/24", "@": "invalid Prefix",
	} {
		for _, target := range []string{
			"/v3/test", quotePath(module) + goodQuote + "&integratorId=" + partner,
			quotePath(module) + goodQuote + "&include=details&from=" + somebody,
		} {
			core.network.Store(new("nothing"))
			r := newRequest(http.MethodGet, target)
			r.RemoteAddr = addr
			send(gw, r)
			if got := *core.network.Load(); got != want {
				t.Errorf("%s of %s: got %s, want %s", target, addr, got, want)
			}
		}
	}
}
