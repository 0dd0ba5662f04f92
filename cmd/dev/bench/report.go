package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"
)

// report is everything that was measured.
type report struct{ rows []*row }

// find gives the row of a mix with as many sources as usual, nil where it was not measured.
func (r *report) find(mix, server string, procs int) *row {
	for _, row := range r.rows {
		if row.mix == mix && row.server == server && row.sources == many && row.procs == procs {
			return row
		}
	}
	return nil
}

// ratio compares the CPU time of a request, round by round, since what disturbs the machine disturbs neighbours alike,
// and gives the median; NaN where one of them was not measured.
func ratio(a, b *row) figure {
	if a == nil || b == nil {
		return figure(math.NaN())
	}
	rounds := make([]float64, len(a.samples))
	for i := range rounds {
		rounds[i] = a.samples[i].micros() / b.samples[i].micros()
	}
	slices.Sort(rounds)
	return figure(rounds[len(rounds)/2])
}

// figure is a number that may not have been measured: NaN.
type figure float64

func (f figure) String() string {
	if math.IsNaN(float64(f)) {
		return "–"
	}
	return fmt.Sprintf("%.2f", float64(f))
}

// sorted gives a measure of all rounds in order. The median is in the middle.
func (r *row) sorted(measure func(sample) float64) []float64 {
	var values []float64
	for _, s := range r.samples {
		values = append(values, measure(s))
	}
	slices.Sort(values)
	return values
}

func (r *row) median(measure func(sample) float64) float64 {
	values := r.sorted(measure)
	return values[len(values)/2]
}

// describeMachine says what the figures were taken on, and how busy it was.
func describeMachine(w io.Writer) {
	system, _ := exec.Command("uname", "-srm").Output()
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Fprintf(w, "%s, %d cores, %s; %s; load average before the run: %.4s.\n\n",
		bytes.TrimSpace(system), runtime.NumCPU(), runtime.Version(), time.Now().UTC().Format(time.DateOnly), load)
}

const meaning = `**CPU µs** is the CPU time of the server's process for one request: median, least and most of the
rounds. Ratios compare rows of one round, and only they can be compared with another run or another machine.
**× bare** is how much more than a handler that writes the same bytes: 1 is the least that a Go server costs.
**× plain** is how much more than one route of chi, httprate, slog, abi and encoding/json for the same quotes:
below 1, a service made of those alone costs more.

| requests | server | sources | CPU µs | × bare | × plain | requests/s | peak memory |
| --- | --- | --: | --: | --: | --: | --: | --: |
`

const scaling = `
The same on a part of the cores. The load generator takes those that are left, or its share.

| GOMAXPROCS | bare, requests/s | gateway, requests/s | gateway, CPU µs | × bare |
| --: | --: | --: | --: | --: |
`

func (r *report) print(w io.Writer) {
	fmt.Fprint(w, meaning)
	for _, row := range r.rows {
		if row.procs > 0 {
			continue
		}
		micros := row.sorted(sample.micros)
		fmt.Fprintf(w, "| %s | %s | %d | %.1f (%.1f–%.1f) | %s | %s | %.0f | %.1f MiB |\n",
			row.mix, row.server, row.sources, micros[len(micros)/2], micros[0], micros[len(micros)-1],
			ratio(row, r.find(row.mix, bare, 0)), ratio(row, r.find(row.mix, plain, 0)),
			row.median(sample.perSecond), row.peak)
	}
	fmt.Fprint(w, scaling)
	for _, row := range r.rows {
		if row.procs > 0 && row.server == gateway {
			least := r.find(direct, bare, row.procs)
			fmt.Fprintf(w, "| %d | %.0f | %.0f | %.1f | %s |\n", row.procs, least.median(sample.perSecond),
				row.median(sample.perSecond), row.median(sample.micros), ratio(row, least))
		}
	}
	r.printTargets(w)
}

// printTargets tells which of the targets are met. What was not measured is not.
func (r *report) printTargets(w io.Writer) {
	own := r.find(direct, gateway, 0)
	fmt.Fprint(w, "\n| target | at most | measured | |\n| --- | --: | --: | --- |\n")
	for _, t := range []struct {
		what     string
		most     float64
		measured figure
	}{
		{"v3 direct × bare", 3, ratio(own, r.find(direct, bare, 0))},
		{"v3 direct × plain", 1, ratio(own, r.find(direct, plain, 0))},
		{"v3 direct with Redis × without", 1.6, ratio(r.find(direct, withRedis, 0), own)},
		{"MiB of memory with 65,536 sources", 80, figure(own.peak)},
	} {
		verdict := "**missed**"
		if float64(t.measured) <= t.most {
			verdict = "met"
		}
		fmt.Fprintf(w, "| %s | %.2f | %s | %s |\n", t.what, t.most, t.measured, verdict)
	}
}
