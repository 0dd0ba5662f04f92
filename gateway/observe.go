package gateway

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/quotegate/quotegate/gateway/access"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/web"
)

// trace is what is known of a request by the time it has been answered. It is
// the request's context, its response writer and its place in the router, so
// that whoever has the request has them all, and the request is copied once.
type trace struct {
	deadline
	http.ResponseWriter
	routing chi.Context

	id       [1]string // as a header has it
	vary     [2]string // as a header has it, with room for CORS
	patterns [1]string // for the routing

	start   time.Time
	version string // empty for a path of no version
	route   string // the path as mounted, never as the client wrote it
	caller  caller.Caller
	client  caller.Identity
	name    string // of the client, once somebody has asked
	status  int
	code    fault.Code // empty for a success
}

// enter notes what a request to a version is.
func (t *trace) enter(m *web.Module, route string, who caller.Caller) {
	t.version, t.route, t.caller, t.client = m.Name, route, who, who.Identity()
}

func (t *trace) WriteHeader(status int) {
	if t.status == 0 {
		t.status = status
	}
	t.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (t *trace) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// Value gives chi its place, which spares it a copy of the request.
func (t *trace) Value(key any) any {
	if key == chi.RouteCtxKey {
		return &t.routing
	}
	return t.deadline.Value(key)
}

func traceOf(r *http.Request) *trace { return r.Context().(*trace) }

// observe gives a request its ID, and tells log and metrics what came of it.
func (g *Gateway) observe(next http.Handler) http.Handler {
	newID := requestIDs()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := &trace{ResponseWriter: w, id: [1]string{newID()}, vary: varies, start: time.Now()}
		t.routing.RoutePatterns = t.patterns[:0]
		t.deadline = deadline{Context: r.Context(), at: t.start.Add(requestTimeout)}
		defer t.deadline.release()
		h := w.Header()
		h["X-Request-Id"] = t.id[:]
		h["Cache-Control"] = noStore
		h["Vary"] = t.vary[:1]
		next.ServeHTTP(t, r.WithContext(t))
		took := time.Since(t.start)
		g.metrics.Observe(t.version, t.route, t.status, t.code, took)
		g.access.Write(&access.Line{
			Time: t.start.Add(took), RequestID: t.id[0], Version: t.version, Route: t.route, Method: r.Method,
			Status: t.status, Code: t.code, Took: took, Client: g.clientName(t),
		})
		if g.log.Enabled(t, slog.LevelDebug) { // tells amounts and recipients, so never above
			g.log.LogAttrs(t, slog.LevelDebug, "query", slog.String("requestId", t.id[0]), slog.String("query", r.URL.RawQuery))
		}
	})
}

// What every answer says.
var (
	noStore = []string{"no-store"}      // a quote is for one caller, at one time
	varies  = [2]string{"API-Revision"} // the Host is part of every cache's key already
)

// clientName is how log and survey call whoever sent a request to a version.
func (g *Gateway) clientName(t *trace) string {
	if t.name == "" && t.version != "" {
		t.name = g.usage.Name(t.client)
	}
	return t.name
}

// requestIDs makes IDs that no other process makes: a random part for this
// one and a count.
func requestIDs() func() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails: it would end the program
	prefix := hex.EncodeToString(random[:]) + "-"
	var count atomic.Uint64
	return func() string {
		var room [40]byte
		return string(strconv.AppendUint(append(room[:0], prefix...), count.Add(1), 10))
	}
}

// recover turns a panic into an answer and a logged stack.
func (g *Gateway) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler {
				panic(p)
			}
			g.fail(w, r, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}()
		next.ServeHTTP(w, r)
	})
}
