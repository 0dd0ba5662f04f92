package main

import (
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSoak is the short form of the command, in which each thing goes wrong once. It is skipped where a program is
// missing, except on CI.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it builds a gateway and loads it for seconds; make test-all runs it")
	}
	much := size{8 * time.Second, 5000, 100, 192, false}
	info, ok := debug.ReadBuildInfo()
	if ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) { // slow, and takes memory
		much = size{8 * time.Second, 500, math.Inf(1), math.Inf(1), true}
	}
	t.Chdir("../../..")
	err := soak(t.Context(), much, t.Output())
	if missing := errors.Is(err, exec.ErrNotFound) || errors.Is(err, postgres.ErrNone); missing && os.Getenv("CI") == "" {
		t.Skip("SKIPPED, NOT TESTED: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestNotices has the soak meet a gateway that goes wrong: in an answer, in its log, or by not answering.
func TestNotices(t *testing.T) {
	health := healthQuestion
	wrong := question{target: "/", code: "C"}
	busy := question{target: "/", code: "CHAIN_UNAVAILABLE"}
	header := http.Header{"X-Request-Id": {"1"}, "Content-Type": {"application/json"}}
	for _, tt := range []struct {
		q      question
		status int
		body   string
		right  bool
	}{
		{health, 200, `{"status":"ok"}`, true},
		{health, 200, `{"status":"draining"}`, false},
		{health, 200, `{"status":"ok"`, false},
		{wrong, 200, `{"status":"ok"}`, false},
		{wrong, 400, `{"error":"e","code":"C","requestId":"1"}`, true},
		{wrong, 404, `{"error":"e","code":"C","requestId":"1"}`, false},
		{wrong, 400, `{"error":"e","code":"D","requestId":"1"}`, false},
		{wrong, 400, `{"error":"e","code":"C","requestId":"2"}`, false},
		{wrong, 400, `{"error":"` + secret + `","code":"C","requestId":"1"}`, false},
		{busy, 503, `{"error":"e","code":"CHAIN_UNAVAILABLE","requestId":"1"}`, false}, // without Retry-After
	} {
		err := (&world{}).check(tt.q, child.Answer{Status: tt.status, Header: header, Body: []byte(tt.body)})
		if (err == nil) != tt.right {
			t.Errorf("%d %s: got %v", tt.status, tt.body, err)
		}
	}
	for _, line := range []string{"WARNING: DATA RACE", "panic: oops", "fatal error: all asleep", `{"url":"/` + secret} {
		w := newWorld(t.Context())
		_, _ = w.tally.Write([]byte(line))
		if w.ctx.Err() == nil {
			t.Errorf("%s: not noticed", line)
		}
	}
	for _, handler := range []http.HandlerFunc{
		func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		func(http.ResponseWriter, *http.Request) {},
	} {
		server := httptest.NewServer(handler)
		w := newWorld(t.Context())
		w.gateway = &child.Server{Addr: server.Listener.Addr().String()}
		_, err := w.askOnce(health)
		if w.ctx.Err() == nil {
			t.Errorf("got %v; a wrong or missing answer is not noticed", err)
		}
		server.Close()
	}
}
