package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/testdata/referee"
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

// TestMeasure runs the whole comparison for a moment, against the real gateway,
// which must answer every mix as the referee says.
func TestMeasure(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it builds a gateway and loads it for seconds; make test-all runs it")
	}
	root, err := child.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	binary, err := child.Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	mixes := newTestMixes(t, root)
	var rep report
	o := options{duration: 100 * time.Millisecond, long: 100 * time.Millisecond, rounds: 2, conns: 2, mixes: order, gateway: binary}
	if err := measureServed(t.Context(), o, root, dir, mixes, &rep); err != nil {
		t.Fatal(err)
	}
	if err := measureClients(t.Context(), o, mixes, &rep); err != nil {
		t.Fatal(err)
	}
	for _, clients := range []int{few, many, flood} {
		if got := rep.crowd(direct, theGateway, clients); len(got) != o.rounds || got[0].Requests == 0 || got[0].cpu <= 0 {
			t.Errorf("%d clients: got %+v", clients, got)
		}
	}
	if _, err := exec.LookPath("redis-server"); err == nil {
		if got := rep.find(direct, theShared); len(got) != o.rounds || got[0].Requests == 0 {
			t.Errorf("%s: got %+v", theShared, got)
		}
	} else if os.Getenv("CI") != "" {
		t.Error("CI is set, and there is no redis-server: install the package redis-server")
	}
	for _, mix := range order {
		for _, name := range []string{theGateway, theBare} {
			if got := rep.find(mix, name); len(got) != o.rounds || got[0].Requests == 0 {
				t.Errorf("%s, %s: got %+v", mix, name, got)
			}
		}
	}
	var out bytes.Buffer
	rep.print(&out)
	for _, want := range []string{"| v3 shield | gateway |", "| gateway |", "| cached integrator over none | ≤ 10 % |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from:\n%s", want, &out)
		}
	}
}

func newTestMixes(t *testing.T, root string) map[string][]load.Case {
	t.Helper()
	judge, err := referee.New(root)
	if err != nil {
		t.Fatal(err)
	}
	mixes, err := newMixes(judge, root)
	if err != nil {
		t.Fatal(err)
	}
	return mixes
}

func TestAWrongAnswerEndsTheMeasurement(t *testing.T) {
	root, err := child.Root()
	if err != nil {
		t.Fatal(err)
	}
	cases := newTestMixes(t, root)[direct]
	s, _, err := startBare(t.Context(), cases)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	// The bare handler gives all requests the answer of the first.
	_, err = loadOnce(t.Context(), &server{name: theBare, Server: s}, cases, load.Options{Conns: 1, Duration: time.Minute, Clients: 1})
	if err == nil || !strings.Contains(err.Error(), "want 200") {
		t.Errorf("got %v", err)
	}
	if _, err := sameMeaning(s.Addr, cases); err == nil {
		t.Error("other answers are said to mean the same")
	}
	if own, err := sameMeaning(s.Addr, cases[:1]); err != nil || len(own) != 1 {
		t.Errorf("the same answer is said to differ: %v", err)
	}
}

func TestRatioGoesByRounds(t *testing.T) {
	took := func(micros ...time.Duration) (all []sample) {
		for _, m := range micros {
			all = append(all, sample{load.Result{Requests: 1}, m * time.Microsecond})
		}
		return all
	}
	// The second round was disturbed, for both alike.
	if got, ok := ratio(took(30, 300, 30), took(20, 200, 15)); !ok || got != 1.5 {
		t.Errorf("got %v, %v, want 1.5", got, ok)
	}
	for _, unlike := range [][2][]sample{{nil, nil}, {took(1), nil}, {nil, took(1)}} {
		if _, ok := ratio(unlike[0], unlike[1]); ok {
			t.Errorf("%v can be compared", unlike)
		}
	}
}

func TestTargets(t *testing.T) {
	one := func(micros time.Duration) []sample {
		return []sample{{load.Result{Requests: 1, Elapsed: time.Second, P99: time.Millisecond}, micros * time.Microsecond}}
	}
	rep := report{
		engine: &engine{Notes: 1000, Seconds: 2, CPUSeconds: 1},
		crowds: []crowd{
			{direct, theBare, many, one(20), 20 << 20, 0}, {v1, theBare, many, one(20), 20 << 20, 0},
			{direct, theGateway, few, one(34), 50 << 20, 7}, {direct, theGateway, many, one(36), 51 << 20, 7},
			{direct, theGateway, flood, one(40), 81 << 20, 6}, {v1, theGateway, many, one(50), 52 << 20, 5},
		},
	}
	add := func(mix, server string, micros time.Duration) { rep.add(mix, server, one(micros)) }
	add(direct, theGateway, 36)
	add(direct, theShared, 63)
	add(direct, theBare, 20)
	add(direct, theFastify, 200)
	add(integrator, theGateway, 39)
	add(shield, theGateway, 125)
	var out bytes.Buffer
	rep.printTargets(&out)
	for _, want := range []string{
		"| ≤ 2.2 × | 1.80 × | met |", "| ≥ 7 × | 5.6 × | **missed** |", "| ≥ 8 × | 8.0 × | met |",
		"| ≤ 1.6 × | 1.75 × | **missed** |", "| 1.00 ×, 1ms and 1ms | |", "| ≤ 10 % | +8.3 % | met |",
		"| ≤ 2.4 × | 2.50 × | **missed** |", "65536 clients | flat: ≤ 10 % | +5.9 % | met |", "1000000 clients | flat: ≤ 10 % | +17.6 % | **missed** |",
		"| ≤ 80 MiB | 81.0 MiB | **missed** |", "| ≥ 6 | 5 | **missed** |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from:\n%s", want, &out)
		}
	}
}

func TestMachine(t *testing.T) {
	var out bytes.Buffer
	describeMachine(&out)
	if !strings.Contains(out.String(), " cores, Linux ") || strings.Contains(out.String(), "unknown") {
		t.Errorf("got %s", &out)
	}
}

// TestFastify holds the service we compare with to the gateway's answers, where
// it has been installed by the benchmark.
func TestFastify(t *testing.T) {
	root, err := child.Root()
	if err != nil {
		t.Fatal(err)
	}
	scratch := filepath.Join(root, ".scratch/bench")
	if _, err := os.Stat(filepath.Join(scratch, "fastify/node_modules/fastify")); err != nil {
		t.Skip("SKIPPED, NOT TESTED: the Fastify service is not installed; make bench installs it")
	}
	mixes := newTestMixes(t, root)
	for _, tuned := range []bool{false, true} {
		s, err := startFastify(t.Context(), root, filepath.Join(scratch, "fastify"), tuned)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Kill()
		for _, mix := range []string{direct, burn} {
			if _, err := sameMeaning(s.Addr, mixes[mix][:100]); err != nil {
				t.Error(err)
			}
		}
	}
}
