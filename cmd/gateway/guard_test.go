package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/testkit/journal"
)

// slipping is a listener that panics once before it accepts.
type slipping struct {
	net.Listener
	slipped atomic.Bool
}

func (l *slipping) Accept() (net.Conn, error) {
	if !l.slipped.Swap(true) {
		panic("a slip")
	}
	return l.Listener.Accept()
}

// TestServerSurvives: panics while accepting, in the callback that counts connections,
// and in a handler are survived, logged and counted, and the server goes on.
func TestServerSurvives(t *testing.T) {
	var log journal.Journal
	logger := slog.New(slog.NewTextHandler(&log, nil))
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slip" {
			panic("a slip")
		}
		io.WriteString(w, "fine")
	}), writeTimeout, logger)
	watching, stop := context.WithCancel(t.Context())
	defer stop()
	var none *connections // counting in it panics
	none.watch(watching, server, logger)
	before := guard.Total()
	ended := make(chan error, 1)
	go func() { ended <- serveOn(server, &slipping{Listener: plain}, logger) }()

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(path string) (string, error) {
		res, err := client.Get("http://" + plain.Addr().String() + path)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return string(text), err
	}
	if _, err := get("/slip"); err == nil {
		t.Error("a handler that panicked has answered")
	}
	if text, err := get("/"); text != "fine" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	if guard.Total() < before+3 {
		t.Errorf("counted %d panics", guard.Total()-before)
	}
	for _, want := range []string{"accepting a connection", "counting connections", "answering a request", "guard_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is missing from the log", want)
		}
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != http.ErrServerClosed {
		t.Errorf("the server ended with %v", err)
	}
}

// TestLogSurvivesAPanickingWriter: the lines count as dropped, and the next are written.
func TestLogSurvivesAPanickingWriter(t *testing.T) {
	w := &panickingWriter{}
	w.panics.Store(true)
	q := newLogQueue(w, testNotice)
	fmt.Fprintln(q, "first")
	eventually(t, "the line that cannot be written is counted", func() bool { return q.Dropped() == 1 })
	w.panics.Store(false)
	fmt.Fprintln(q, "second")
	eventually(t, "the log is written again", func() bool { return strings.Contains(w.String(), "second") })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	q.Close(ctx)
}

type panickingWriter struct {
	journal.Journal
	panics atomic.Bool
}

func (w *panickingWriter) Write(p []byte) (int, error) {
	if w.panics.Load() {
		panic("a slip")
	}
	return w.Journal.Write(p)
}
