package gateway

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/fault"
)

// AccessLog writes one line for every answered request, at level info. Of requests that
// were refused because of their rate it writes at most 20 a second, and the next line says how
// many were left out. It writes JSON itself, as slog does, because slog takes four times
// as long (BenchmarkAccessLog). The text format is written by slog.
type AccessLog struct {
	out       io.Writer
	level     slog.Leveler
	addresses bool
	text      slog.Handler // nil: JSON
	refusals  *limit.LogSampler
}

// NewAccessLog makes a log that writes each line in one call. Many goroutines may
// write at the same time. A line has the client's address only if addresses is true.
func NewAccessLog(out io.Writer, format string, level slog.Leveler, addresses bool) *AccessLog {
	l := &AccessLog{out: out, level: level, addresses: addresses, refusals: limit.NewLogSampler()}
	if format == "text" {
		l.text = slog.NewTextHandler(out, nil)
	}
	return l
}

func (l *AccessLog) Observe(e *event.Event) {
	if e.Preflight || l.level.Level() > slog.LevelInfo {
		return
	}
	if e.Code == fault.RateLimited && l.refusals.Skip(e.Time) {
		return
	}
	var room [12]slog.Attr
	fields := l.appendFields(room[:0], e, l.refusals.LeftOut())
	if l.text != nil {
		record := slog.NewRecord(e.Time, slog.LevelInfo, "request", 0)
		record.AddAttrs(fields...)
		_ = l.text.Handle(context.Background(), record) // there is nowhere left to report a failed log write
		return
	}
	line := lines.Get().(*[]byte)
	*line = appendJSON((*line)[:0], e.Time, fields)
	_, _ = l.out.Write(*line) // as above
	lines.Put(line)
}

// lines are the buffers of JSON lines.
var lines = sync.Pool{New: func() any { return new([]byte) }}

func (l *AccessLog) appendFields(fields []slog.Attr, e *event.Event, unlogged uint64) []slog.Attr {
	fields = append(fields,
		slog.String("requestId", e.RequestID), slog.String("version", e.Version), slog.String("route", e.Route),
		slog.String("method", e.Method), slog.Int("status", e.Status), slog.String("code", string(e.Code)),
		slog.Float64("durationMs", float64(e.Took.Microseconds())/1000), slog.String("client", e.Client))
	if l.addresses && e.Caller.Addr.IsValid() {
		fields = append(fields, slog.String("address", e.Caller.Addr.String()))
	}
	if e.TraceID != "" {
		fields = append(fields, slog.String("traceId", e.TraceID))
	}
	if e.Rehearsal {
		fields = append(fields, slog.Bool("rehearsal", true))
	}
	if unlogged > 0 {
		fields = append(fields, slog.Uint64("unlogged", unlogged))
	}
	return fields
}

func appendJSON(b []byte, at time.Time, fields []slog.Attr) []byte {
	b = append(b, `{"time":"`...)
	b = at.AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","level":"INFO","msg":"request"`...)
	for _, field := range fields {
		b = append(b, `,"`...)
		b = append(b, field.Key...) // a constant
		b = append(b, `":`...)
		switch v := field.Value; v.Kind() {
		case slog.KindInt64:
			b = strconv.AppendInt(b, v.Int64(), 10)
		case slog.KindUint64:
			b = strconv.AppendUint(b, v.Uint64(), 10)
		case slog.KindFloat64:
			b = strconv.AppendFloat(b, v.Float64(), 'f', -1, 64)
		case slog.KindBool:
			b = strconv.AppendBool(b, v.Bool())
		default:
			b = api.AppendText(b, v.String())
		}
	}
	return append(b, "}\n"...)
}
