// Package access writes the access log: one line for every request, the very
// line that slog would write. It is written by hand because slog, which finds
// out about its caller, its attributes and their kinds anew each time, takes
// four to five times as long (BenchmarkWrite): more than pricing and encoding a
// quote does.
package access

import (
	"encoding/json"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
)

// Line is what is told of a request.
type Line struct {
	Time      time.Time
	RequestID string
	Version   string // empty for a path of no version
	Route     string // as mounted
	Method    string
	Status    int
	Code      fault.Code // empty for a success
	Took      time.Duration
	Client    string // never by address
}

// Log writes lines, in the format of slog's JSON or text handler.
type Log struct {
	out   io.Writer
	level slog.Leveler
	text  bool
}

// New makes a log. Everything that is written comes at level info, one whole
// line in one call, from many goroutines at once.
func New(out io.Writer, format string, level slog.Leveler) *Log {
	return &Log{out: out, level: level, text: format == "text"}
}

// Write writes a line, if the level lets it.
func (l *Log) Write(line *Line) {
	if l.level.Level() > slog.LevelInfo {
		return
	}
	b := buffers.Get().(*[]byte)
	if l.text {
		*b = line.appendText((*b)[:0])
	} else {
		*b = line.appendJSON((*b)[:0])
	}
	_, _ = l.out.Write(*b) // whom would we tell?
	buffers.Put(b)
}

var buffers = sync.Pool{New: func() any {
	b := make([]byte, 0, 512)
	return &b
}}

func (l *Line) appendJSON(b []byte) []byte {
	b = append(b, `{"time":"`...)
	b = l.Time.AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","level":"INFO","msg":"request","requestId":`...)
	b = appendJSON(b, l.RequestID)
	b = append(b, `,"version":`...)
	b = appendJSON(b, l.Version)
	b = append(b, `,"route":`...)
	b = appendJSON(b, l.Route)
	b = append(b, `,"method":`...)
	b = appendJSON(b, l.Method)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(l.Status), 10)
	b = append(b, `,"code":`...)
	b = appendJSON(b, string(l.Code))
	b = append(b, `,"durationMs":`...)
	b = l.appendMillis(b)
	b = append(b, `,"client":`...)
	b = appendJSON(b, l.Client)
	return append(b, "}\n"...)
}

func (l *Line) appendText(b []byte) []byte {
	b = append(b, "time="...)
	b = l.Time.AppendFormat(b, "2006-01-02T15:04:05.000Z07:00")
	b = append(b, " level=INFO msg=request requestId="...)
	b = appendText(b, l.RequestID)
	b = append(b, " version="...)
	b = appendText(b, l.Version)
	b = append(b, " route="...)
	b = appendText(b, l.Route)
	b = append(b, " method="...)
	b = appendText(b, l.Method)
	b = append(b, " status="...)
	b = strconv.AppendInt(b, int64(l.Status), 10)
	b = append(b, " code="...)
	b = appendText(b, string(l.Code))
	b = append(b, " durationMs="...)
	b = l.appendMillis(b)
	b = append(b, " client="...)
	b = appendText(b, l.Client)
	return append(b, '\n')
}

// appendMillis writes the duration to a thousandth of a millisecond.
func (l *Line) appendMillis(b []byte) []byte {
	return strconv.AppendFloat(b, float64(l.Took.Microseconds())/1000, 'f', -1, 64)
}

// appendJSON quotes a text. Hardly any needs escapes.
func appendJSON(b []byte, text string) []byte {
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

// appendText quotes a text that could be taken for more than one value.
func appendText(b []byte, text string) []byte {
	quote := text == ""
	for i := range len(text) {
		c := text[i]
		quote = quote || c <= ' ' || c > '~' || c == '"' || c == '='
	}
	if quote {
		return strconv.AppendQuote(b, text)
	}
	return append(b, text...)
}
