package gateway_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/fault"
)

// slogged is the line as slog writes it.
func slogged(t interface{ Fatal(...any) }, handler slog.Handler, e *event.Event) {
	record := slog.NewRecord(e.Time, slog.LevelInfo, "request", 0)
	record.AddAttrs(
		slog.String("requestId", e.RequestID), slog.String("version", e.Version), slog.String("route", e.Route),
		slog.String("method", e.Method), slog.Int("status", e.Status), slog.String("code", string(e.Code)),
		slog.Float64("durationMs", float64(e.Took.Microseconds())/1000), slog.String("client", e.Client))
	if e.Caller.Addr.IsValid() {
		record.AddAttrs(slog.String("address", e.Caller.Addr.String()))
	}
	if e.TraceID != "" {
		record.AddAttrs(slog.String("traceId", e.TraceID))
	}
	if e.Rehearsal {
		record.AddAttrs(slog.Bool("rehearsal", true))
	}
	if err := handler.Handle(context.Background(), record); err != nil {
		t.Fatal(err)
	}
}

// TestAccessLogIsWhatSlogWrites holds both formats to slog's, whatever a method and a
// client's name are made of: a method is an HTTP token, and all texts are
// printable ASCII by the time they come here. Addresses are shown only if told to.
func TestAccessLogIsWhatSlogWrites(t *testing.T) {
	printable := rapid.StringMatching(`[ -~]{0,40}`)
	rapid.Check(t, func(t *rapid.T) {
		line := &event.Event{
			Time: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).
				In(time.FixedZone("", rapid.IntRange(-12, 14).Draw(t, "zone")*3600)),
			RequestID: printable.Draw(t, "id"),
			Version:   rapid.SampledFrom([]string{"", "v1", "v3"}).Draw(t, "version"),
			Route:     rapid.SampledFrom([]string{"", "/v3/swap/quote"}).Draw(t, "route"),
			Method:    rapid.StringMatching("[!#$%&'*+.^_`|~0-9A-Za-z-]{1,12}").Draw(t, "method"),
			Status:    rapid.IntRange(0, 599).Draw(t, "status"),
			Code:      rapid.SampledFrom([]fault.Code{"", fault.RateLimited}).Draw(t, "code"),
			Took:      time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "took")),
			Client:    printable.Draw(t, "client"),
			TraceID:   rapid.SampledFrom([]string{"", "4bf92f3577b34da6a3ce929d0e0e4736"}).Draw(t, "trace"),
			Rehearsal: rapid.Bool().Draw(t, "rehearsal"),
		}
		for format, handler := range map[string]func(io.Writer) slog.Handler{
			"json": func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
			"text": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
		} {
			for _, addr := range []string{"203.0.113.9", "2001:db8::1", ""} { // a peer may have none
				line.Caller.Addr, _ = netip.ParseAddr(addr)
				var shown, hidden, want bytes.Buffer
				gateway.NewAccessLog(&shown, format, slog.LevelInfo, true).Observe(line)
				gateway.NewAccessLog(&hidden, format, slog.LevelInfo, false).Observe(line)
				slogged(t, handler(&want), line)
				if shown.String() != want.String() {
					t.Fatalf("%s: got\n%swant\n%s", format, &shown, &want)
				}
				if addr != "" && strings.Contains(hidden.String(), addr) {
					t.Fatalf("%s: the address is in\n%s", format, &hidden)
				}
			}
		}
	})
}

// TestAccessLogKeepsUnprintableTextInItsLine keeps a text that should never come here from breaking a line.
func TestAccessLogKeepsUnprintableTextInItsLine(t *testing.T) {
	for format, want := range map[string]string{"json": `"client":"a\nb\ufffd"}`, "text": `client="a\nb\xff"`} {
		var out bytes.Buffer
		gateway.NewAccessLog(&out, format, slog.LevelInfo, false).Observe(&event.Event{Client: "a\nb\xff"})
		if got := out.String(); !strings.HasSuffix(got, want+"\n") || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: got %q, want it to end in %s", format, got, want)
		}
	}
}

func TestAccessLogLevel(t *testing.T) {
	var out bytes.Buffer
	level := new(slog.LevelVar)
	log := gateway.NewAccessLog(&out, "json", level, false)
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

// BenchmarkAccessLog compares our line with the same by slog.
func BenchmarkAccessLog(b *testing.B) {
	line := &event.Event{
		Time: time.Now(), RequestID: "1f2e3d4c5b6a7988-123456", Version: "v3", Route: "/v3/swap/quote", Method: "GET",
		Status: 200, Took: 123456, Client: "agent wallet #0123456789abcdef",
	}
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		log := gateway.NewAccessLog(io.Discard, "json", slog.LevelInfo, false)
		for b.Loop() {
			log.Observe(line)
		}
	})
	b.Run("slog", func(b *testing.B) {
		b.ReportAllocs()
		handler := slog.NewJSONHandler(io.Discard, nil)
		for b.Loop() {
			slogged(b, handler, line)
		}
	})
}

// TestRefusalsDoNotFillTheLog: a client that is refused a thousand times a second gets a
// few lines of it, and the log says how many requests have none.
func TestRefusalsDoNotFillTheLog(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		log := gateway.NewAccessLog(&out, format, slog.LevelInfo, false)
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
