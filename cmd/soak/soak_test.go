package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/big"
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
	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/shared/testkit/referee"
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

const root = "../.."

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

// startWorld starts everything, until the test ends.
func startWorld(t *testing.T) *world {
	t.Helper()
	w, err := newWorld(t.Context(), root, build(t), false, t.Logf)
	t.Cleanup(w.close)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestSoak is the short form of the command, in which each thing goes wrong once. Fewer clients may take less memory.
// Without Redis or PostgreSQL it tests the rest, except on CI.
func TestSoak(t *testing.T) {
	t.Parallel()
	binary := build(t)
	much := size{
		duration: 5 * time.Second, clients: crowdSize / 4, burst: 6000, idlers: tooMany, limit: 100 << 20, idle: 192 << 20,
	}
	if isRaced() {
		much = sizeOf(much.duration, true)
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

// TestQuotes asks a real process for every pair in every version, from the least amount to the most. A quote is the
// referee's, and in v3 the client, which decodes the calls, would sign it. More in never gives less out, but for one
// unit with an integrator: each of the two fees is rounded down.
func TestQuotes(t *testing.T) {
	if isRaced() {
		t.Skip("the amounts are tested without the race detector: make long")
	}
	t.Parallel()
	w := startWorld(t)
	rng := newRand()
	quoted := 0
	for _, pair := range w.pairs {
		for _, version := range w.versions {
			if !referee.Knows(version, pair) {
				continue
			}
			swap := w.judge.RandomSwap(rng, pair)
			bps := int64(0)
			if version == "v3" && pair.FeeChain() == 369 && rng.IntN(2) == 0 {
				integrator := randomIntegrator(rng, active)
				swap.Integrator = integrator.Hex()
				bps = feeBPS(integrator)
			}
			least, most := pair.Limits()
			last := new(big.Int)
			for _, amount := range []*big.Int{least, before(swap.Amount), swap.Amount, before(most), most} {
				swap.Amount = amount
				answer, err := w.get(swap.Target(version))
				if err == nil {
					err = w.isQuote(answer, version, swap, bps)
				}
				if err == nil && w.isSuspended(answer, swap) { // the issuer has stated an absurd fee for this source
					continue
				}
				if err == nil && version == "v3" {
					err = w.wouldSign(swap, answer.Body)
				}
				if err != nil {
					t.Fatalf("%s, %v: %v", version, pair, err)
				}
				quoted++
				out := swap.Split(bps).Net // as the quote says
				if out.Cmp(last) < 0 {
					t.Errorf("%s, %v: %s gives %s, less than a smaller amount", version, pair, amount, out)
				}
				last = out
				if bps > 0 {
					last = before(out)
				}
			}
		}
	}
	if quoted < 4*len(w.pairs) {
		t.Errorf("got %d quotes for %d pairs", quoted, len(w.pairs))
	}
}

func before(amount *big.Int) *big.Int { return new(big.Int).Sub(amount, big.NewInt(1)) }

// TestNotices has the soak meet a gateway that goes wrong, in an answer or in its log.
func TestNotices(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"no answer":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"wrong answer": tells(`{"status":"draining"}`),
		"no JSON":      tells("ok"),
		"half JSON":    tells(`{"status":"ok"`),
	} {
		server := httptest.NewServer(handler)
		w := &world{gateway: &child.Server{Addr: server.Listener.Addr().String()}}
		if _, err := w.ask(w.healthQuestion(), 1); w.tally.err() == nil || (err != nil) != (name == "no answer") {
			t.Errorf("%s: not noticed, or %v", name, err)
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
	header := http.Header{"X-Request-Id": {"1"}, "Content-Type": {"application/json"}}
	for body, want := range map[string]bool{
		`{"error":"e","code":"C","requestId":"1"}`:        true,
		`{"error":"e","code":"C","requestId":"2"}`:        false,
		`{"error":"e","code":"D","requestId":"1"}`:        false,
		`{"error":"hunter2","code":"C","requestId":"1"}`:  false,
		`{"error":"e","code":"C","requestId":"1"} and so`: false,
	} {
		if err := isFault(load.Answer{Status: 400, Header: header, Body: []byte(body)}, 400, "C"); (err == nil) != want {
			t.Errorf("%s: got %v", body, err)
		}
		if isFault(load.Answer{Status: 503, Header: header, Body: []byte(body)}, 503, "C") == nil {
			t.Error("a temporary error without Retry-After is not noticed")
		}
	}
}
