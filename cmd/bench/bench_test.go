package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/load"
)

const root = "../.."

// TestMain lets the test binary be the bare handler, as the command is.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-bare" {
		if err := serveBare(os.Args[2], os.Stdin); err != nil {
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// TestCompare runs the whole comparison for a moment, against the real gateway, which must answer every mix as the
// referee says. Fastify takes part where make bench has installed it.
func TestCompare(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it builds a gateway and loads it for seconds; make test-all runs it")
	}
	if _, err := exec.LookPath("redis-server"); err != nil && os.Getenv("CI") != "" {
		t.Error(child.ErrNoRedis)
	}
	binary, err := child.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	scratch := root + "/.scratch/bench"
	_, notInstalled := os.Stat(scratch + "/fastify/node_modules/fastify")
	o := options{
		duration: 50 * time.Millisecond,
		rounds:   2,
		clients:  true,
		fastify:  notInstalled == nil,
		gateway:  binary,
	}
	var rep report
	if rep.rows, rep.crowds, err = compare(t.Context(), o, root, scratch); err != nil {
		t.Fatal(err)
	}
	for _, r := range append(rep.rows, rep.crowds...) {
		if len(r.samples) != o.rounds || len(r.samples[0].latencies) == 0 || r.peak == 0 {
			t.Errorf("%s, %s: got %d samples and %d bytes", r.mix, r.name, len(r.samples), r.peak)
		}
	}
	var out bytes.Buffer
	describeMachine(&out)
	rep.print(&out)
	wants := []string{" cores, go1", "| v3 direct | gateway | 1000000 |", "cached integrator over none | ≤ 10 % |"}
	for _, mix := range append(order, pairs) {
		wants = append(wants, "| "+mix+" | gateway |", "| "+mix+" | bare net/http |")
	}
	for _, want := range wants {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from:\n%s", want, &out)
		}
	}
}

func TestAWrongAnswerEndsTheMeasurement(t *testing.T) {
	mixes, err := newMixes(root)
	if err != nil {
		t.Fatal(err)
	}
	f := newFleet(t.Context(), "", mixes)
	defer f.stop()
	bare := f.bare(direct)
	if f.err != nil {
		t.Fatal(f.err)
	}
	bare.exchanges = mixes[direct] // it gives all requests the answer of the first
	err = measure(t.Context(), []*row{bare}, 1, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "want 200") {
		t.Errorf("got %v", err)
	}
	if _, err := sameMeaning(bare.Addr, bare.exchanges); err == nil {
		t.Error("other answers are said to mean the same")
	}
	if own, err := sameMeaning(bare.Addr, bare.exchanges[:1]); err != nil || len(own) != 1 {
		t.Errorf("the same answer is said to differ: %v", err)
	}
}

func TestJudge(t *testing.T) {
	e := exchange{target: "/", body: []byte("ab..ef"), from: 2, to: 4}
	for _, tt := range []struct {
		name, body string
		status     int
		right      bool
	}{
		{"right", "ab..ef", 200, true},
		{"other in the part that differs", "abcdef\n", 200, true},
		{"other before it", "xb..ef", 200, false},
		{"other after it", "ab..ex", 200, false},
		{"longer", "ab...ef", 200, false},
		{"empty", "", 200, false},
		{"refused", "ab..ef", 429, false},
	} {
		if err := e.judge(load.Answer{Status: tt.status, Body: []byte(tt.body)}, nil); (err == nil) != tt.right {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
}

func took(micros ...time.Duration) (all []sample) {
	for _, m := range micros {
		all = append(all, sample{m * time.Microsecond, time.Second, []time.Duration{time.Millisecond}})
	}
	return all
}

func TestTargets(t *testing.T) {
	// The second round was disturbed, for both alike.
	if got := ratio(took(30, 300, 30), took(20, 200, 15)); got != 1.5 {
		t.Errorf("got %v, want 1.5", got)
	}
	of := func(mix, name string, clients int, micros time.Duration, memory int64) *row {
		return &row{server: &server{name: name}, mix: mix, clients: clients, samples: took(micros), peak: memory << 20}
	}
	rep := report{
		engine: &engine{Notes: 1000, Seconds: 2, CPUSeconds: 1},
		crowds: []*row{
			of(direct, theBare, many, 20, 20), of(v1, theBare, many, 20, 20),
			of(direct, theGateway, few, 34, 50), of(direct, theGateway, many, 36, 51),
			of(direct, theGateway, flood, 40, 81), of(v1, theGateway, many, 50, 52),
		},
		rows: []*row{
			of(direct, theGateway, many, 36, 0), of(direct, theShared, many, 63, 0),
			of(direct, theBare, many, 20, 0), of(direct, theFastify, many, 200, 0),
			of(integrator, theGateway, many, 39, 0), of(shield, theGateway, many, 125, 0),
		},
	}
	var out bytes.Buffer
	rep.print(&out)
	for _, want := range []string{
		"| ≤ 2.2 × | 1.80 × | met |", "| ≥ 7 × | 5.56 × | **missed** |", "| ≥ 8 × | 8.00 × | met |",
		"| ≤ 1.6 × | 1.75 × | **missed** |", "| ≤ 10 % | 8.33 % | met |", "| ≤ 2.4 × | 2.50 × | **missed** |",
		"65,536 clients over 10 | ≤ 10 % | 5.88 % | met |", "1,000,000 clients over 10 | ≤ 10 % | 17.65 % | **missed** |",
		"| ≤ 80 MiB | 81.00 MiB | **missed** |", "8000 shield quotes in one.",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from:\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "tuned") {
		t.Error("a server has a target that was not measured")
	}
}
