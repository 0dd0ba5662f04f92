package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
)

// TestMain lets the test binary be the servers that it starts, as the command is.
func TestMain(m *testing.M) {
	serveIfAsked(os.Args)
	os.Exit(m.Run())
}

// TestCompare runs the whole comparison for a moment, against the real gateway, which must answer every mix as the
// client works it out. The plain route must give the same bytes.
func TestCompare(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it builds a gateway and loads it for seconds; make test-all runs it")
	}
	t.Chdir("../../..")
	r, err := compare(t.Context(), options{duration: 50 * time.Millisecond, rounds: 2, warmup: mixSize})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	describeMachine(&out)
	r.print(&out)
	wants := []string{
		" cores, go1", "| v3 direct | plain route | 65536 |", "| v3 direct | gateway | 10 |", "\n| 1 |",
		"| MiB of memory with 65,536 sources | 80.00 |",
	}
	if os.Getenv("CI") != "" {
		wants = append(wants, withRedis)
	}
	for _, mix := range []string{direct, directV1, integrator, details} {
		wants = append(wants, "| "+mix+" | gateway | 65536 |", "| "+mix+" | bare net/http | 65536 |")
	}
	for _, want := range wants {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from:\n%s", want, &out)
		}
	}
}

// TestJudge notices every answer that is not the one that was learnt.
func TestJudge(t *testing.T) {
	e := exchange{target: "/", body: []byte(`{"a":"..","b":1}`), from: 6, to: 8}
	if err := e.judge(child.Answer{Status: 200, Body: []byte(`{"a":"xy","b":1}`)}, nil); err != nil {
		t.Error(err)
	}
	for _, body := range []string{`{"b":1,"a":".."}`, `{"a":"..","b":2}`, `{"c":"..","b":1}`, `{"a":"..","b":1`, ``} {
		if e.judge(child.Answer{Status: 200, Body: []byte(body)}, nil) == nil {
			t.Errorf("%s: not noticed", body)
		}
	}
	if e.judge(child.Answer{Status: 429, Body: e.body}, nil) == nil {
		t.Error("a refusal is not noticed")
	}
}

func TestTargets(t *testing.T) {
	of := func(server string, micros ...float64) *row {
		return &row{mix: direct, server: server, sources: many, peak: 79, micros: micros, perSecond: micros}
	}
	r := report{
		of(bare, 20, 200, 15), of(plain, 35, 350, 35), of(gateway, 36, 360, 36), // the second round was disturbed
	}
	var out bytes.Buffer
	r.print(&out)
	for _, want := range []string{
		"| v3 direct | gateway | 65536 | 36.0 (36.0–360.0) | 1.80 | 1.03 |",
		"| 3.00 | 1.80 | met |", "| 1.00 | 1.03 | **missed** |", "| 1.60 | – | **missed** |", "| 80.00 | 79.00 | met |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from:\n%s", want, &out)
		}
	}
}
