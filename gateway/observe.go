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

	"github.com/quotegate/quotegate/gateway/client"
	"github.com/quotegate/quotegate/shared/fault"
)

// trace is what is known of a request by the time it has been answered. It is
// the request's context and its response writer, so that both are at hand
// wherever the request is.
type trace struct {
	deadline
	http.ResponseWriter
	id      string
	start   time.Time
	client  client.Identity
	version string // empty for a path of no version
	route   string // the path as mounted, never as the client wrote it
	status  int
	code    fault.Code // empty for a success
}

func (t *trace) WriteHeader(status int) {
	if t.status == 0 {
		t.status = status
	}
	t.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (t *trace) Unwrap() http.ResponseWriter { return t.ResponseWriter }

type traceKey struct{}

// Value finds the trace itself.
func (t *trace) Value(key any) any {
	if key == (traceKey{}) {
		return t
	}
	return t.deadline.Value(key)
}

func traceOf(r *http.Request) *trace { return r.Context().Value(traceKey{}).(*trace) }

// observe gives a request its ID, and tells log and metrics what came of it.
func (g *Gateway) observe(next http.Handler) http.Handler {
	newID := requestIDs()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := &trace{ResponseWriter: w, id: newID(), start: time.Now()}
		t.deadline = deadline{Context: r.Context(), at: t.start.Add(requestTimeout)}
		defer t.deadline.release()
		h := w.Header()
		h["X-Request-Id"] = []string{t.id}
		h["Cache-Control"] = noStore
		h["Vary"] = varies
		next.ServeHTTP(t, r.WithContext(t))
		took := time.Since(t.start)
		g.metrics.Observe(t.version, t.route, t.status, t.code, took)
		g.log.LogAttrs(t, slog.LevelInfo, "request",
			slog.String("requestId", t.id),
			slog.String("version", t.version),
			slog.String("route", t.route),
			slog.String("method", r.Method),
			slog.Int("status", t.status),
			slog.String("code", string(t.code)),
			slog.Float64("durationMs", float64(took.Microseconds())/1000),
			slog.String("client", g.clientName(t)),
		)
		if g.log.Enabled(t, slog.LevelDebug) { // tells amounts and recipients, so never above
			g.log.LogAttrs(t, slog.LevelDebug, "query", slog.String("requestId", t.id), slog.String("query", r.URL.RawQuery))
		}
	})
}

// Headers that are the same in every answer, under their canonical names.
var (
	noStore = []string{"no-store"}     // a quote is for one caller, at one time
	varies  = []string{"API-Revision"} // the Host is part of every cache's key already
)

// clientName is how the log calls whoever sent a request to a version.
func (g *Gateway) clientName(t *trace) string {
	if t.version == "" || !g.log.Enabled(t, slog.LevelInfo) {
		return ""
	}
	return g.usage.Name(t.client)
}

// requestIDs makes IDs that no other process makes: a random part for this
// one and a count.
func requestIDs() func() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails: it would end the program
	prefix := hex.EncodeToString(random[:]) + "-"
	var count atomic.Uint64
	return func() string { return prefix + strconv.FormatUint(count.Add(1), 10) }
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
