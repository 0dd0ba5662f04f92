package gateway_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/fault"
)

// newAccessLog makes an access log in a format, as the service does.
func newAccessLog(out io.Writer, format string, level slog.Leveler, addresses bool) *gateway.AccessLog {
	options := &slog.HandlerOptions{Level: level}
	if format == "text" {
		return gateway.NewAccessLog(slog.NewTextHandler(out, options), addresses)
	}
	return gateway.NewAccessLog(slog.NewJSONHandler(out, options), addresses)
}

// The fields, their names and their order are documented. An address is shown only if the
// operator wants it and the peer has one.
func TestAccessLogLine(t *testing.T) {
	at := time.Date(2026, 11, 19, 8, 30, 0, 123_456_000, time.UTC)
	full := event.Event{
		Time: at, RequestID: "id-1", Version: "v3", Route: "/v3/swap/quote", Method: "GET", Status: 429,
		Code: fault.RateLimited, Took: 1234567 * time.Nanosecond, Client: `agent "x" #01`,
		TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", Rehearsal: true,
	}
	full.Caller.Addr = netip.MustParseAddr("2001:db8::1")
	for _, tt := range []struct {
		name, format string
		addresses    bool
		line         event.Event
		want         string
	}{
		{"least", "json", true, event.Event{Time: at, Method: "GET", Status: 200, Took: 2 * time.Millisecond},
			`{"time":"2026-11-19T08:30:00.123456Z","level":"INFO","msg":"request","requestId":"","version":"","route":"",` +
				`"method":"GET","status":200,"code":"","durationMs":2,"client":""}`},
		{"all", "json", true, full,
			`{"time":"2026-11-19T08:30:00.123456Z","level":"INFO","msg":"request","requestId":"id-1","version":"v3",` +
				`"route":"/v3/swap/quote","method":"GET","status":429,"code":"RATE_LIMITED","durationMs":1.234,` +
				`"client":"agent \"x\" #01","address":"2001:db8::1","traceId":"4bf92f3577b34da6a3ce929d0e0e4736","rehearsal":true}`},
		{"without address", "json", false, full,
			`{"time":"2026-11-19T08:30:00.123456Z","level":"INFO","msg":"request","requestId":"id-1","version":"v3",` +
				`"route":"/v3/swap/quote","method":"GET","status":429,"code":"RATE_LIMITED","durationMs":1.234,` +
				`"client":"agent \"x\" #01","traceId":"4bf92f3577b34da6a3ce929d0e0e4736","rehearsal":true}`},
		{"text", "text", true, full,
			`time=2026-11-19T08:30:00.123Z level=INFO msg=request requestId=id-1 version=v3 route=/v3/swap/quote ` +
				`method=GET status=429 code=RATE_LIMITED durationMs=1.234 client="agent \"x\" #01" address=2001:db8::1 ` +
				`traceId=4bf92f3577b34da6a3ce929d0e0e4736 rehearsal=true`},
	} {
		var out bytes.Buffer
		newAccessLog(&out, tt.format, slog.LevelInfo, tt.addresses).Observe(&tt.line)
		if got := out.String(); got != tt.want+"\n" {
			t.Errorf("%s: got\n%swant\n%s", tt.name, got, tt.want)
		}
	}
}

// TestAccessLogKeepsUnprintableTextInItsLine keeps a text that should never come here from breaking a line.
func TestAccessLogKeepsUnprintableTextInItsLine(t *testing.T) {
	for format, want := range map[string]string{"json": `"client":"a\nb\ufffd"}`, "text": `client="a\nb\xff"`} {
		var out bytes.Buffer
		newAccessLog(&out, format, slog.LevelInfo, false).Observe(&event.Event{Client: "a\nb\xff"})
		if got := out.String(); !strings.HasSuffix(got, want+"\n") || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: got %q, want it to end in %s", format, got, want)
		}
	}
}

func TestAccessLogLevel(t *testing.T) {
	var out bytes.Buffer
	level := new(slog.LevelVar)
	log := newAccessLog(&out, "json", level, false)
	for _, tt := range []struct {
		level slog.Level
		lines int
	}{{slog.LevelInfo, 1}, {slog.LevelWarn, 1}, {slog.LevelDebug, 2}} {
		level.Set(tt.level)
		log.Observe(&event.Event{})
		if got := strings.Count(out.String(), "\n"); got != tt.lines {
			t.Errorf("at %s: got %d lines in all, want %d", tt.level, got, tt.lines)
		}
	}
}

func BenchmarkAccessLog(b *testing.B) {
	line := &event.Event{
		Time: time.Now(), RequestID: "1f2e3d4c5b6a7988-123456", Version: "v3", Route: "/v3/swap/quote", Method: "GET",
		Status: 200, Took: 123456, Client: "agent wallet #0123456789abcdef",
	}
	b.ReportAllocs()
	log := newAccessLog(io.Discard, "json", slog.LevelInfo, false)
	for b.Loop() {
		log.Observe(line)
	}
}

// TestRefusalsDoNotFillTheLog: a client that is refused a thousand times a second gets a
// few lines of it, and the log says how many requests have none.
func TestRefusalsDoNotFillTheLog(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		log := newAccessLog(&out, format, slog.LevelInfo, false)
		start := time.Unix(1_800_000_000, 0)
		const seconds, perSecond = 3, 1000
		for i := range seconds * perSecond {
			log.Observe(&event.Event{Time: start.Add(time.Duration(i) * time.Second / perSecond), Status: 429, Code: fault.RateLimited})
		}
		log.Observe(&event.Event{Time: start.Add(seconds * time.Second), Status: 200})
		lines := strings.Count(out.String(), "\n")
		if lines > seconds*20+1 || lines < seconds+1 {
			t.Errorf("%s: %d lines for %d refusals", format, lines, seconds*perSecond)
		}
		unlogged := 0
		for _, m := range regexp.MustCompile(`unlogged"?[:=](\d+)`).FindAllStringSubmatch(out.String(), -1) {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			unlogged += n
		}
		if lines+unlogged != seconds*perSecond+1 {
			t.Errorf("%s: %d lines and %d without one, want %d together", format, lines, unlogged, seconds*perSecond+1)
		}
	}
}
