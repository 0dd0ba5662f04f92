package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/load"
)

// TestMain lets the test binary be the bare handler, as the command is.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-bare" {
		if err := serveBare(os.Args[2], os.Stdin); err != nil {
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

const root = "../../.."

// TestCompare runs the whole comparison for a moment, against the real gateway, which must answer every mix as the
// client works it out. Fastify takes part where make bench has installed it.
func TestCompare(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it builds a gateway and loads it for seconds; make test-all runs it")
	}
	_, notInstalled := os.Stat(root + "/.scratch/bench/fastify/node_modules/fastify")
	o := options{duration: 50 * time.Millisecond, rounds: 2, clients: true, fastify: notInstalled == nil, root: root}
	r, err := compare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r.notes = 1000
	var out bytes.Buffer
	describeMachine(&out)
	r.print(&out)
	wants := []string{
		" cores, go1", "| v3 direct | gateway | 1000000 |", "cached integrator over none | ≤ 10 % |",
		"makes 1000 shield notes",
	}
	if os.Getenv("CI") != "" {
		wants = append(wants, theShared)
	}
	for _, mix := range append(order, pairs) {
		wants = append(wants, "| "+mix+" | gateway |", "| "+mix+" | bare net/http |")
	}
	for _, want := range wants {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from:\n%s", want, &out)
		}
	}
}

// TestWrongAnswers measures a server that gives all requests the answer of the first.
func TestWrongAnswers(t *testing.T) {
	f, err := newFleet(t.Context(), options{root: root, gateway: "not started"})
	defer f.stop()
	if err != nil {
		t.Fatal(err)
	}
	f.mixes = map[string][]exchange{direct: {{target: "/1", body: []byte("1")}, {target: "/2", body: []byte("2")}}}
	bare := f.bare(direct)
	if f.err != nil {
		t.Fatal(f.err)
	}
	bare.exchanges = f.mixes[direct]
	err = measure(t.Context(), []*row{bare}, 1, time.Minute, false)
	if err == nil || !strings.Contains(err.Error(), "want 200") {
		t.Errorf("got %v", err)
	}
	e := exchange{target: "/", body: []byte(`{"a":"..","b":1}`), from: 6, to: 8}
	for body, want := range map[string]bool{
		`{"a":"..","b":1}`:        true,
		`{"a":"xy","b":1}` + "\n": true,
		`{"b":1,"a":".."}`:        false,
		`{"a":"..","b":2}`:        false,
		`{"c":"..","b":1}`:        false,
		`{"a":"..","b":1`:         false,
		``:                        false,
	} {
		a := load.Answer{Status: 200, Body: []byte(body)}
		if got := e.judge(a, nil) == nil; got != want {
			t.Errorf("%s: got %t", body, got)
		}
		a.Status = 429
		if e.judge(a, nil) == nil {
			t.Error("a refusal is not noticed")
		}
	}
}

func TestTargets(t *testing.T) {
	took := func(micros ...time.Duration) (all []sample) {
		for _, m := range micros {
			all = append(all, sample{m * time.Microsecond, time.Second, []time.Duration{time.Millisecond}})
		}
		return all
	}
	of := func(mix, name string, micros ...time.Duration) *row {
		return &row{name: name, mix: mix, clients: many, samples: took(micros...)}
	}
	r := report{rows: []*row{
		of(direct, theGateway, 36, 360, 36), of(direct, theBare, 20, 200, 15), // the second round was disturbed
		of(direct, theShared, 63, 630, 63), of(direct, theFastify, 200, 2000, 200), of(integrator, theGateway, 39, 390, 39),
	}}
	var out bytes.Buffer
	r.print(&out)
	for _, want := range []string{
		"| ≤ 2.2 × | 1.80 × | met |", "| ≥ 7 × | 5.56 × | **missed** |", "| ≤ 1.6 × | 1.75 × | **missed** |",
		"| ≤ 10 % | 8.33 % | met |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from:\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "tuned") || strings.Contains(out.String(), "NaN ×") {
		t.Errorf("a server has a target that was not measured:\n%s", &out)
	}
}
