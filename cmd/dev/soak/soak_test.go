package main

import (
	"errors"
	"fmt"
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
	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func isRaced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// TestSoak is the short form of the command, in which each thing goes wrong once. It is skipped where a program is
// missing, except on CI.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it builds a gateway and loads it for seconds; make test-all runs it")
	}
	binary, err := child.Build(t.Context(), t.TempDir(), fmt.Sprintf("-race=%t", isRaced()))
	if err != nil {
		t.Fatal(err)
	}
	much := size{5 * time.Second, crowdSize / 4, 6000, 5000, 100, 192}
	if isRaced() { // which is slow and takes memory of its own
		much = size{5 * time.Second, crowdSize / 16, 4000, 500, math.Inf(1), math.Inf(1)}
	}
	err = soak(t.Context(), "../../..", binary, much, t.Output())
	if missing := errors.Is(err, exec.ErrNotFound) || errors.Is(err, postgres.ErrNone); missing && os.Getenv("CI") == "" {
		t.Skip("SKIPPED, NOT TESTED: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestNotices has the soak meet a gateway that goes wrong, in an answer or in its log.
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
		{wrong, 400, `{"error":"e","code":"C","requestId":"1"}`, true},
		{wrong, 404, `{"error":"e","code":"C","requestId":"1"}`, false},
		{wrong, 400, `{"error":"e","code":"D","requestId":"1"}`, false},
		{wrong, 400, `{"error":"e","code":"C","requestId":"2"}`, false},
		{wrong, 400, `{"error":"` + secret + `","code":"C","requestId":"1"}`, false},
		{busy, 503, `{"error":"e","code":"CHAIN_UNAVAILABLE","requestId":"1"}`, false}, // without Retry-After
	} {
		w := &world{}
		err := w.request(tt.q, 1).Judge(load.Answer{Status: tt.status, Header: header, Body: []byte(tt.body)}, nil)
		if err != nil || (w.tally.err() == nil) != tt.right {
			t.Errorf("%d %s: got %v, %v", tt.status, tt.body, err, w.tally.err())
		}
	}
	for _, line := range []string{"WARNING: DATA RACE", "panic: oops", "fatal error: all asleep", `{"url":"/` + secret} {
		var tally tally
		tally.see([]byte(line))
		if tally.err() == nil {
			t.Errorf("%s: not noticed", line)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer server.Close()
	w := &world{gateway: &child.Server{Addr: server.Listener.Addr().String()}}
	if _, err := w.ask(health, 1); err == nil || w.tally.err() == nil {
		t.Error("a missing answer is not noticed")
	}
}
