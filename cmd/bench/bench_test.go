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
	"github.com/quotegate/quotegate/shared/testkit/referee"
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

func setUp(t *testing.T) (root string, mixes map[string][]load.Case) {
	t.Helper()
	root, err := child.Root()
	if err != nil {
		t.Fatal(err)
	}
	judge, err := referee.New(root)
	if err != nil {
		t.Fatal(err)
	}
	if mixes, err = newMixes(judge, root); err != nil {
		t.Fatal(err)
	}
	return root, mixes
}

// TestMeasure runs the whole comparison for a moment, against the real gateway, which must answer every mix as the
// referee says. Fastify takes part where make bench has installed it.
func TestMeasure(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it builds a gateway and loads it for seconds; make test-all runs it")
	}
	root, mixes := setUp(t)
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
		duration: 100 * time.Millisecond,
		long:     100 * time.Millisecond,
		rounds:   2,
		conns:    2,
		mixes:    order,
		fastify:  notInstalled == nil,
		gateway:  binary,
	}
	var rep report
	if rep.rows, err = measureMixes(t.Context(), o, root, scratch, mixes); err != nil {
		t.Fatal(err)
	}
	if rep.crowds, err = measureClients(t.Context(), o, mixes); err != nil {
		t.Fatal(err)
	}
	for _, r := range append(rep.rows, rep.crowds...) {
		if len(r.samples) != o.rounds || r.samples[0].Requests == 0 || r.peak == 0 {
			t.Errorf("%s, %s: got %+v", r.mix, r.name, r.samples)
		}
	}
	var out bytes.Buffer
	describeMachine(&out)
	rep.print(&out)
	wants := []string{" cores, Linux ", "| gateway |", "| v3 direct | gateway | 1000000 |", "cached integrator over none | ≤ 10 % |"}
	for _, mix := range order {
		wants = append(wants, "| "+mix+" | gateway |", "| "+mix+" | bare net/http |")
	}
	for _, want := range wants {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from:\n%s", want, &out)
		}
	}
}

func TestAWrongAnswerEndsTheMeasurement(t *testing.T) {
	_, mixes := setUp(t)
	f, err := newFleet("")
	if err != nil {
		t.Fatal(err)
	}
	defer f.stop()
	bare, err := f.bare(t.Context(), direct, mixes[direct])
	if err != nil {
		t.Fatal(err)
	}
	bare.cases = mixes[direct] // it gives all requests the answer of the first
	err = schedule{conns: 1, length: time.Minute, turns: 1}.measure(t.Context(), []*row{bare})
	if err == nil || !strings.Contains(err.Error(), "want 200") {
		t.Errorf("got %v", err)
	}
	if _, err := sameMeaning(bare.Addr, bare.cases); err == nil {
		t.Error("other answers are said to mean the same")
	}
	if own, err := sameMeaning(bare.Addr, bare.cases[:1]); err != nil || len(own) != 1 {
		t.Errorf("the same answer is said to differ: %v", err)
	}
}

func took(micros ...time.Duration) (all []sample) {
	for _, m := range micros {
		all = append(all, sample{load.Result{Requests: 1, Elapsed: time.Second, P99: time.Millisecond}, m * time.Microsecond})
	}
	return all
}

func TestRatioGoesByRounds(t *testing.T) {
	// The second round was disturbed, for both alike.
	if got, ok := ratio(took(30, 300, 30), took(20, 200, 15)); !ok || got != 1.5 {
		t.Errorf("got %v, %v, want 1.5", got, ok)
	}
	if _, ok := ratio(took(1), nil); ok {
		t.Error("one round can be compared with none")
	}
}

func TestTargets(t *testing.T) {
	of := func(mix, name string, clients int, micros time.Duration, memory int64, writes int) *row {
		s := &server{name: name}
		return &row{server: s, mix: mix, clients: clients, samples: took(micros), peak: memory << 20, writes: writes}
	}
	rep := report{
		engine: &engine{Notes: 1000, Seconds: 2, CPUSeconds: 1},
		crowds: []*row{
			of(direct, theBare, many, 20, 20, 0), of(v1, theBare, many, 20, 20, 0),
			of(direct, theGateway, few, 34, 50, 7), of(direct, theGateway, many, 36, 51, 7),
			of(direct, theGateway, flood, 40, 81, 6), of(v1, theGateway, many, 50, 52, 5),
		},
		rows: []*row{
			of(direct, theGateway, many, 36, 0, 0), of(direct, theShared, many, 63, 0, 0),
			of(direct, theBare, many, 20, 0, 0), of(direct, theFastify, many, 200, 0, 0),
			of(integrator, theGateway, many, 39, 0, 0), of(shield, theGateway, many, 125, 0, 0),
		},
	}
	var out bytes.Buffer
	rep.printTargets(&out)
	for _, want := range []string{
		"| ≤ 2.2 × | 1.80 × | met |", "| ≥ 7 × | 5.6 × | **missed** |", "| ≥ 8 × | 8.0 × | met |",
		"| ≤ 1.6 × | 1.75 × | **missed** |", "| 1.00 ×, 1ms and 1ms | |", "| ≤ 10 % | +8.3 % | met |",
		"| ≤ 2.4 × | 2.50 × | **missed** |", "65536 clients | flat: ≤ 10 % | +5.9 % | met |",
		"1000000 clients | flat: ≤ 10 % | +17.6 % | **missed** |",
		"| ≤ 80 MiB | 81.0 MiB | **missed** |", "| ≥ 6 | 5 | **missed** |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from:\n%s", want, &out)
		}
	}
}
