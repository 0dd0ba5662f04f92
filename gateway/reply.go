package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/web"
)

// fail is the only place that replies to an error and logs its cause.
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := fault.From(err)
	t := traceOf(r)
	t.event.Code = e.Code
	m, _ := g.module(r)
	status, body := m.MapFault(e, t.id[0])
	g.logFault(r, t, e, status)
	if t.event.Status != 0 {
		return // a response was already started
	}
	if e.RetryAfter > 0 {
		seconds := (e.RetryAfter + time.Second - 1) / time.Second // rounded up, so that the retry passes
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	w.Header().Set("Cache-Control", "no-store")
	_ = web.JSON(w, status, body) // an error body has only text fields, so encoding cannot fail
}

// logFault logs the cause: at error level if the fault is ours, at info level if
// it is the client's, if the client has disconnected, or if the answer is that we
// do not do such a thing.
func (g *Gateway) logFault(r *http.Request, t *trace, e *fault.Error, status int) {
	level := slog.LevelInfo
	if status >= 500 && status != http.StatusNotImplemented && !errors.Is(r.Context().Err(), context.Canceled) {
		level = slog.LevelError
	}
	if cause := errors.Unwrap(e); cause != nil {
		g.Log.LogAttrs(r.Context(), level, "fault",
			slog.String("requestId", t.id[0]), slog.String("code", string(e.Code)), slog.Any("cause", cause))
	}
}
