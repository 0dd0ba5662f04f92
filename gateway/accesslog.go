package gateway

import (
	"context"
	"log/slog"
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/fault"
)

// AccessLog writes one line for every answered request, at level info. Of requests that
// were refused because of their rate it writes at most 20 a second, and the next line says how
// many were left out.
type AccessLog struct {
	handler   slog.Handler
	addresses bool
	refusals  *rate.Limiter
	unlogged  atomic.Uint64 // refusals since the last line
}

// NewAccessLog makes a log whose lines the handler writes. They have the client's address only
// if addresses is true.
func NewAccessLog(handler slog.Handler, addresses bool) *AccessLog {
	return &AccessLog{handler: handler, addresses: addresses, refusals: rate.NewLimiter(10, 10)}
}

func (l *AccessLog) Observe(e *event.Event) {
	ctx := context.Background()
	if e.Preflight || !l.handler.Enabled(ctx, slog.LevelInfo) {
		return
	}
	if e.Code == fault.RateLimited && !l.refusals.AllowN(e.Time, 1) {
		l.unlogged.Add(1)
		return
	}
	fields := append(make([]slog.Attr, 0, 12),
		slog.String("requestId", e.RequestID),
		slog.String("version", e.Version),
		slog.String("route", e.Route),
		slog.String("method", e.Method),
		slog.Int("status", e.Status),
		slog.String("code", string(e.Code)),
		slog.Float64("durationMs", float64(e.Took.Microseconds())/1000),
		slog.String("client", e.Client),
	)
	if l.addresses && e.Caller.Addr.IsValid() {
		fields = append(fields, slog.String("address", e.Caller.Addr.String()))
	}
	if e.TraceID != "" {
		fields = append(fields, slog.String("traceId", e.TraceID))
	}
	if e.Rehearsal {
		fields = append(fields, slog.Bool("rehearsal", true))
	}
	if n := l.unlogged.Swap(0); n > 0 {
		fields = append(fields, slog.Uint64("unlogged", n))
	}
	line := slog.NewRecord(e.Time, slog.LevelInfo, "request", 0)
	line.AddAttrs(fields...)
	_ = l.handler.Handle(ctx, line) // there is nowhere left to report a failed log write
}
