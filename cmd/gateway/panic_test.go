package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/testkit/journal"
)

// brokenConn panics in all methods that the bookkeeping of connections calls.
type brokenConn struct{ net.Conn }

func (brokenConn) RemoteAddr() net.Addr { panic("a bug in RemoteAddr") }

// brokenListener panics in the method that a server calls first.
type brokenListener struct{ net.Listener }

func (brokenListener) Accept() (net.Conn, error) { panic("a bug in Accept") }
func (brokenListener) Close() error              { return nil }

// brokenWriter is a log writer that panics.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { panic("a bug in Write") }

// Each background task of this package panics, and the process continues. Periodic tasks run
// again. Those of other packages have such a test there.
func TestBackgroundWorkSurvivesPanics(t *testing.T) {
	for name, tt := range map[string]struct {
		panics uint64
		start  func(t *testing.T, log *slog.Logger)
	}{
		"counting connections": {2, func(t *testing.T, log *slog.Logger) {
			c := newConnections(&config{MaxConnections: 16}, log)
			server := &http.Server{}
			c.watch(t.Context(), server)
			server.ConnState(brokenConn{}, http.StateNew)
			server.ConnState(brokenConn{}, http.StateClosed)
			if c.Open() != 0 {
				t.Errorf("%d connections are open", c.Open())
			}
		}},
		"watching the connections": {2, func(t *testing.T, log *slog.Logger) {
			c := &connections{max: 16, log: log}
			c.watchIdle(t.Context(), time.Millisecond, func(bool) { panic("a bug in SetKeepAlivesEnabled") })
		}},
		"serving": {1, func(t *testing.T, log *slog.Logger) {
			ended := make(chan error, 1)
			(&service{log: log}).serve(&http.Server{}, brokenListener{}, ended)
			if err := <-ended; err == nil || strings.Contains(err.Error(), "a bug") {
				t.Errorf("got %v, want an error without the panic's text", err)
			}
		}},
		"reloading": {2, func(t *testing.T, log *slog.Logger) {
			s := &service{log: log} // which has nothing to reload
			s.reloadOnHangup(t.Context(), nil)
			for before := safego.Panics(); safego.Panics() < before+2; time.Sleep(time.Millisecond) {
				hangUp(t)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var log journal.Journal
			before := safego.Panics()
			tt.start(t, slog.New(slog.NewTextHandler(&log, nil)))
			eventually(t, "the panics", func() bool { return safego.Panics() >= before+tt.panics })
			eventually(t, "their lines in the log", func() bool { return log.Count("a bug")+log.Count("nil pointer") > 0 })
			wantContains(t, log.String(), "in=", name)
		})
	}
}

// A writer of the log that panics loses its line, and is called again.
func TestLogWriterThatPanics(t *testing.T) {
	q := &logQueue{out: brokenWriter{}, direct: quiet}
	for range 2 {
		before := safego.Panics()
		_, _ = io.WriteString(q, "a line\n") // never fails
		eventually(t, "the panic", func() bool { return safego.Panics() > before })
	}
	q.Close(time.Minute)
}

// What a reload replaced is closed in the background. If that panics, the service still closes.
func TestClosingTheOldCorePanics(t *testing.T) {
	file := tempFile(t, string(chain.ReferenceFile()))
	cfg, err := readConfig(t.Context(), environment{"DEPLOYMENT_FILE": file})
	if err != nil {
		t.Fatal(err)
	}
	var journal journal.Journal
	log := newLogs(cfg, &journal)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := newService(ctx, cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	first := s.core.Load()
	first.stopChecks = func() { panic("a bug in stopChecks") }
	writeFile(t, file, strings.Replace(string(chain.ReferenceFile()), `"name": "reference`, `"name": "another`, 1))
	s.reload(ctx, cfg)
	if s.core.Load() == first {
		t.Fatal("the reload made nothing, so that nothing was tested")
	}
	before := safego.Panics()
	if err := s.close(); err != nil {
		t.Error(err)
	}
	log.queue.Close(time.Minute)
	if safego.Panics() != before+1 || journal.Count("a bug in stopChecks") != 1 {
		t.Errorf("got %d panics and\n%s", safego.Panics()-before, journal.String())
	}
	first.stopChecks = nil
	first.close(s.core.Load())
}
