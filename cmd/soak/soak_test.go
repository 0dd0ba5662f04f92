package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/cmd/internal/child"
)

// scratch is a folder for all tests.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "soak-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "the tests leave something behind:", err)
		code = 1
	}
	os.RemoveAll(scratch)
	os.Exit(code)
}

// gatewayBinary builds the gateway once, with the race detector if the tests
// have it.
var gatewayBinary = sync.OnceValues(func() (string, error) {
	return build(context.Background(), scratch, isRaced())
})

func isRaced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// setUp gives what every test of this package needs.
func setUp(t *testing.T) (root, binary string) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it builds a gateway and loads it for seconds; make test-all runs it")
	}
	root, err := child.Root()
	if err != nil {
		t.Fatal(err)
	}
	if binary, err = gatewayBinary(); err != nil {
		t.Fatal(err)
	}
	return root, binary
}

// startWorld starts everything, until the test ends.
func startWorld(t *testing.T) *world {
	t.Helper()
	root, binary := setUp(t)
	w, err := newWorld(t.Context(), root, binary, false, t.Logf)
	t.Cleanup(w.close)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestSoak is the short form of the command, in which each thing goes wrong once. Fewer clients may take less
// memory. Without Redis or PostgreSQL it tests the rest, except on CI.
func TestSoak(t *testing.T) {
	t.Parallel()
	root, binary := setUp(t)
	much := size{
		duration: 5 * time.Second, clients: crowdSize / 4, burst: 6000, idlers: tooMany, limit: 100 << 20, idle: 192 << 20,
	}
	if isRaced() {
		much = raced(much.duration)
		much.burst = 4000
		much.idlers = 500 // too many are tested without the race detector
	}
	var out bytes.Buffer
	if err := soak(t.Context(), root, binary, much, io.MultiWriter(&out, t.Output())); err != nil {
		t.Error(err)
	}
	for _, missing := range []string{"NOT TESTED: Redis", "NOT TESTED: PostgreSQL"} {
		if os.Getenv("CI") != "" && strings.Contains(out.String(), missing) {
			t.Errorf("CI is set, and %s", missing)
		}
	}
}

// TestNotices has the soak meet a gateway that goes wrong, in an answer or in its log.
func TestNotices(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"no answer":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"wrong answer": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"status":"draining"}`) },
		"no JSON":      func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") },
	} {
		server := httptest.NewServer(handler)
		w := &world{gateway: &child.Server{Addr: server.Listener.Addr().String()}}
		w.askAlone(w.healthQuestion(), 1)
		if w.tally.err() == nil {
			t.Errorf("%s: not noticed", name)
		}
		server.Close()
	}
	for _, line := range []string{"WARNING: DATA RACE", "panic: oops", "fatal error: all asleep", `{"url":"/hunter2"}`} {
		var tally tally
		tally.see([]byte(line))
		if tally.err() == nil {
			t.Errorf("%s: not noticed", line)
		}
	}
}
