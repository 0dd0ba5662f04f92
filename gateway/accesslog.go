package gateway

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/fault"
)

// AccessLog writes one line for every answered request, at level info, but for those
// refused because of their rate: of these it writes so many a second, and the next line
// says how many have none. So nobody fills the log by asking too often. It writes JSON
// itself, byte for byte as slog does, because slog takes four to five times
// as long (BenchmarkAccessLog), more than pricing and encoding a quote. The text
// format is written by slog.
type AccessLog struct {
	out       io.Writer
	level     slog.Leveler
	addresses bool
	text      slog.Handler // nil: JSON

	second   atomic.Int64  // in which refusals are counted
	refusals atomic.Int64  // of that second
	unlogged atomic.Uint64 // requests without a line, since the last line
}

// refusalsPerSecond is how many lines a second tell of a 429.
const refusalsPerSecond = 20

// NewAccessLog makes a log that writes each line in one call. Many goroutines may
// write at the same time. A line has the client's address only if addresses is
// true.
func NewAccessLog(out io.Writer, format string, level slog.Leveler, addresses bool) *AccessLog {
	l := &AccessLog{out: out, level: level, addresses: addresses}
	if format == "text" {
		l.text = slog.NewTextHandler(out, nil)
	}
	return l
}

func (l *AccessLog) Observe(e *event.Event) {
	if l.level.Level() > slog.LevelInfo {
		return
	}
	if e.Code == fault.RateLimited && l.tooMany(e.Time) {
		l.unlogged.Add(1)
		return
	}
	unlogged := l.unlogged.Load()
	if unlogged > 0 {
		unlogged = l.unlogged.Swap(0)
	}
	if l.text != nil {
		// There is nowhere left to report a failed log write.
		_ = l.text.Handle(context.Background(), record(e, l.addresses, unlogged))
		return
	}
	line := lines.Get().(*[]byte)
	*line = appendJSON((*line)[:0], e, l.addresses, unlogged)
	_, _ = l.out.Write(*line) // as above
	lines.Put(line)
}

// tooMany counts a refusal, and tells whether its second has had enough lines. At the
// turn of a second a few more may pass.
func (l *AccessLog) tooMany(at time.Time) bool {
	now := at.Unix()
	if before := l.second.Load(); before != now && l.second.CompareAndSwap(before, now) {
		l.refusals.Store(0)
	}
	return l.refusals.Add(1) > refusalsPerSecond
}

var lines = sync.Pool{New: func() any {
	line := make([]byte, 0, 512)
	return &line
}}

func record(e *event.Event, addresses bool, unlogged uint64) slog.Record {
	record := slog.NewRecord(e.Time, slog.LevelInfo, "request", 0)
	record.AddAttrs(
		slog.String("requestId", e.RequestID), slog.String("version", e.Version), slog.String("route", e.Route),
		slog.String("method", e.Method), slog.Int("status", e.Status), slog.String("code", string(e.Code)),
		slog.Float64("durationMs", millis(e)), slog.String("client", e.Client))
	if addresses && e.Caller.Addr.IsValid() {
		record.AddAttrs(slog.String("address", e.Caller.Addr.String()))
	}
	if e.TraceID != "" {
		record.AddAttrs(slog.String("traceId", e.TraceID))
	}
	if e.Rehearsal {
		record.AddAttrs(slog.Bool("rehearsal", true))
	}
	if unlogged > 0 {
		record.AddAttrs(slog.Uint64("unlogged", unlogged))
	}
	return record
}

// millis is the duration to a thousandth of a millisecond.
func millis(e *event.Event) float64 { return float64(e.Took.Microseconds()) / 1000 }

func appendJSON(b []byte, e *event.Event, addresses bool, unlogged uint64) []byte {
	b = append(b, `{"time":"`...)
	b = e.Time.AppendFormat(b, time.RFC3339Nano)
	b = appendField(b, `","level":"INFO","msg":"request","requestId":`, e.RequestID)
	b = appendField(b, `,"version":`, e.Version)
	b = appendField(b, `,"route":`, e.Route)
	b = appendField(b, `,"method":`, e.Method)
	b = strconv.AppendInt(append(b, `,"status":`...), int64(e.Status), 10)
	b = appendField(b, `,"code":`, string(e.Code))
	b = strconv.AppendFloat(append(b, `,"durationMs":`...), millis(e), 'f', -1, 64)
	b = appendField(b, `,"client":`, e.Client)
	if addresses && e.Caller.Addr.IsValid() {
		b = append(b, `,"address":"`...)
		b = append(e.Caller.Addr.AppendTo(b), '"')
	}
	if e.TraceID != "" {
		b = appendField(b, `,"traceId":`, e.TraceID)
	}
	if e.Rehearsal {
		b = append(b, `,"rehearsal":true`...)
	}
	if unlogged > 0 {
		b = strconv.AppendUint(append(b, `,"unlogged":`...), unlogged, 10)
	}
	return append(b, "}\n"...)
}

// appendField adds a text, quoted for JSON, after its name. Most texts need no escapes.
func appendField(b []byte, name, text string) []byte {
	b = append(b, name...)
	escapes := false
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c > '~' {
			quoted, _ := json.Marshal(text) // a string always has a JSON form
			return append(b, quoted...)
		}
		escapes = escapes || c == '"' || c == '\\'
	}
	if escapes {
		return strconv.AppendQuote(b, text) // for printable ASCII the same as JSON's
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}
