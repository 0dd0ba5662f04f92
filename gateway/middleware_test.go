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
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/web"
)

// one is a gateway whose current version has one route, at /v3/test.
func one(t *testing.T, s setup, handle web.Handler) *gateway.Gateway {
	t.Helper()
	module := current()
	module.Routes = []web.Route{{Path: "/v3/test", Free: true, Handle: handle}}
	s.modules = []web.Module{module}
	return mount(t, s)
}

// TestEveryAnswerHasOneEvent: whatever is asked and whoever answers it, observers are told
// once, and the answer has the headers of every response.
func TestEveryAnswerHasOneEvent(t *testing.T) {
	seen := &events{}
	former := gateway.RetiredVersion{Name: "v0", Prefixes: []string{"/v0/"}, Successor: "/v3/swap/quote"}
	gw := mount(t, setup{modules: append(modules(), broken()), formers: []gateway.RetiredVersion{former}, observers: []event.Observer{seen}})
	long := "/v3/swap/quote?a=" + strings.Repeat("x", 4096)
	for _, tt := range []struct {
		method, target, header string
		status                 int
		version, route         string
		code                   fault.Code
	}{
		{"GET", "/v3/swap/quote" + someQuote + "&recipient=" + somebody, "", 200, "v3", "/v3/swap/quote", ""},
		{"HEAD", "/v1/quote" + someQuote, "", 200, "v1", "/v1/quote", ""},
		{"GET", "/v3/swap/quote", "", 400, "v3", "/v3/swap/quote", fault.MissingParameter},
		{"GET", "/v3/swap/quote", "API-Rehearse: retired", 410, "v3", "/v3/swap/quote", fault.VersionRetired},
		{"GET", "/versions", "", 200, "", "", ""},
		{"GET", "/versions/mine", "", 401, "", "", fault.UnknownKey},
		{"GET", "/nothing", "", 404, "", "", fault.NotFound},
		{"GET", "/v1/nothing", "", 404, "v1", "", fault.NotFound},
		{"POST", "/v3/swap/quote", "", 405, "v3", "", fault.MethodNotAllowed},
		{"OPTIONS", "/v3/swap/quote", "", 204, "", "", ""},
		{"OPTIONS", "/v3/swap/quote", "Access-Control-Request-Method: GET", 200, "", "", ""},
		{"GET", "/v0/quote", "", 410, "v0", "", fault.VersionRetired},
		{"GET", long, "", 400, "v3", "", fault.InvalidParameter},
		{"GET", "/broken/panic", "", 500, "broken", "/broken/panic", fault.Internal},
		{"GET", "/broken/late", "", 200, "broken", "/broken/late", fault.Internal},
	} {
		before := len(seen.all)
		r := httptest.NewRequest(tt.method, tt.target, nil)
		r.Header.Set("Origin", "https://app.example")
		r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
		if name, value, ok := strings.Cut(tt.header, ": "); ok {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		gw.ServeHTTP(w, r)
		what := tt.method + " " + tt.target[:min(len(tt.target), 40)] + " " + tt.header
		if len(seen.all) != before+1 {
			t.Errorf("%s: %d events", what, len(seen.all)-before)
			continue
		}
		e := seen.last()
		if w.Code != tt.status || e.Status != tt.status || e.Version != tt.version || e.Route != tt.route || e.Code != tt.code || e.Method != tt.method {
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
	gw := one(t, setup{logs: &logs, observers: []event.Observer{panicking{}}}, func(w http.ResponseWriter, _ *http.Request) error {
		return web.JSON(w, http.StatusOK, "fine")
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
	module.Routes = []web.Route{{Path: "/v3/test", ReadsNodes: true, Handle: func(_ http.ResponseWriter, r *http.Request) error {
		ctx = r.Context()
		if at, ok := ctx.Deadline(); !ok || time.Until(at) > 10*time.Second {
			t.Errorf("got the deadline %v, %t; want one within 10 seconds", at, ok)
		}
		return ctx.Err()
	}}}
	gw := mount(t, setup{logs: &logs, level: slog.LevelInfo, modules: []web.Module{module}})
	left, leave := context.WithCancel(t.Context())
	leave()
	for _, tt := range []struct {
		client context.Context
		status int
	}{{t.Context(), 200}, {left, 500}} {
		w := httptest.NewRecorder()
		gw.ServeHTTP(w, httptest.NewRequest("GET", "/v3/test", nil).WithContext(tt.client))
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
	service := golden.Core()
	core := &overheard{Quoter: service.Engine}
	service.Engine = core
	gw := mount(t, setup{modules: gateway.Modules(service)})
	for _, tt := range []struct {
		query string
		want  bool
	}{
		{"", false},
		{"&integratorId=" + partner, false}, // the registry sets its own when it has to ask
		{"&include=details&from=" + somebody, true},
	} {
		w := ask(gw, "/v3/swap/quote"+someQuote+"&recipient="+somebody+tt.query)
		within := time.Until(core.deadline)
		if w.Code != 200 || core.deadline.IsZero() == tt.want || within > 10*time.Second {
			t.Errorf("%s: got %d and a deadline in %s, want one: %t", tt.query, w.Code, within, tt.want)
		}
	}
}

// TestAbortedAnswers: http.ErrAbortHandler is for net/http, which closes the connection.
func TestAbortedAnswers(t *testing.T) {
	var logs bytes.Buffer
	gw := one(t, setup{logs: &logs}, func(http.ResponseWriter, *http.Request) error { panic(http.ErrAbortHandler) })
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
		handle web.Handler
		status int // of the event
		body   string
	}{
		"nothing":     {func(http.ResponseWriter, *http.Request) error { return nil }, 0, ""},
		"no header":   {func(w http.ResponseWriter, _ *http.Request) error { _, err := io.WriteString(w, "a"); return err }, 200, "a"},
		"two headers": {func(w http.ResponseWriter, _ *http.Request) error { w.WriteHeader(202); w.WriteHeader(203); return nil }, 202, ""},
		"an error too late": {func(w http.ResponseWriter, _ *http.Request) error {
			_, _ = io.WriteString(w, "a")
			return errors.New("too late")
		}, 200, "a"},
		"a flush": {func(w http.ResponseWriter, _ *http.Request) error {
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
	gw := newGateway(t)
	for extra, code := range map[int]string{0: "", 1: "INVALID_PARAMETER"} {
		target := "/v1/quote" + someQuote + "&a="
		target += strings.Repeat("x", 4096-len(target)+extra)
		var body struct{ Code, Error string }
		if err := json.Unmarshal(ask(gw, target).Body.Bytes(), &body); err != nil || body.Code != code {
			t.Errorf("%d bytes: got %+v and %v, want %q", len(target), body, err, code)
		}
	}
}
