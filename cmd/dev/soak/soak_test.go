package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
	"github.com/quotegate/quotegate/shared/testkit/quotecheck"
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

// gatewayBinary builds the gateway once, with the race detector if the tests have it.
var gatewayBinary = sync.OnceValues(func() (string, error) {
	return child.Build(context.Background(), scratch, fmt.Sprintf("-race=%t", isRaced()))
})

func isRaced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

const root = "../../.."

func build(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it builds a gateway and loads it for seconds; make test-all runs it")
	}
	binary, err := gatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// check skips a test where a program is missing, except on CI.
func check(t *testing.T, err error) {
	t.Helper()
	if missing := errors.Is(err, exec.ErrNotFound) || errors.Is(err, postgres.ErrNone); missing && os.Getenv("CI") == "" {
		t.Skip("SKIPPED, NOT TESTED: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// startWorld starts everything, until the test ends.
func startWorld(t *testing.T) *world {
	t.Helper()
	w, err := newWorld(t.Context(), root, build(t), t.Logf)
	t.Cleanup(w.close)
	check(t, err)
	return w
}

// TestSoak is the short form of the command, in which each thing goes wrong once.
func TestSoak(t *testing.T) {
	t.Parallel()
	much := size{5 * time.Second, crowdSize / 4, 6000, 5000, 100 << 20, 192 << 20}
	if isRaced() { // which is slow and takes memory of its own
		much = size{5 * time.Second, crowdSize / 16, 4000, 500, math.MaxUint64, math.MaxUint64}
	}
	check(t, soak(t.Context(), root, build(t), much, t.Output()))
}

// TestQuotes asks a real process for every pair in every version, from the least amount to the most, and checks each
// quote. More in never gives less out, but for one unit with an integrator: each of the two fees is rounded down.
func TestQuotes(t *testing.T) {
	if isRaced() {
		t.Skip("the amounts are tested without the race detector: make long")
	}
	t.Parallel()
	w := startWorld(t)
	rng := newRand()
	one := big.NewInt(1)
	for _, pair := range w.checker.Pairs {
		for _, version := range w.versions {
			if !quotecheck.Serves(version, pair) {
				continue
			}
			q := w.quoteQuestion(version, version, pair, rng)
			if version == "v3" && pair.FeeChain == 369 && rng.IntN(2) == 0 {
				q.swap.Integrator = activeIntegrator(rng)
			}
			last := new(big.Int)
			for _, amount := range []*big.Int{pair.Min, q.swap.Amount, new(big.Int).Sub(pair.Max, one), pair.Max} {
				q.swap.Amount = amount
				q = q.about(q.swap)
				answer, err := w.ask(q, w.newClient())
				check(t, errors.Join(err, w.tally.err()))
				if answer.Status != http.StatusOK {
					continue // as it may: the tally has judged it
				}
				checked, err := w.checker.Check(version, q.swap, q.terms(), answer.Body)
				if err != nil {
					t.Fatalf("%s, %+v: %v", version, q.swap, err)
				}
				if checked.Dest.Cmp(last) < 0 {
					t.Errorf("%s, %+v: it gives %s, less than a smaller amount", version, q.swap, checked.Dest)
				}
				last.Sub(checked.Dest, one)
			}
		}
	}
	if quoted := w.tally.answers["200 v3"]; quoted < 3*len(w.checker.Pairs) {
		t.Errorf("v3 gave %d quotes for %d pairs", quoted, len(w.checker.Pairs))
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
		{health, 200, `"status":"ok"`, false},
		{health, 200, `{"status":"ok"`, false},
		{wrong, 400, `{"error":"e","code":"C","requestId":"1"}`, true},
		{wrong, 404, `{"error":"e","code":"C","requestId":"1"}`, false},
		{wrong, 400, `{"error":"e","code":"D","requestId":"1"}`, false},
		{wrong, 400, `{"error":"e","code":"C","requestId":"2"}`, false},
		{wrong, 400, `{"error":"` + secret + `","code":"C","requestId":"1"}`, false},
		{wrong, 400, `{"error":"e","code":"C","requestId":"1"} and so`, false},
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
