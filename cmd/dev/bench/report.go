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
	"strings"
	"time"
)

// report is everything that was measured.
type report []*row

// find gives the row of a mix with as many sources as usual, nil where it was not measured.
func (r report) find(mix, server string, procs int) *row {
	for _, row := range r {
		if row.mix == mix && row.server == server && row.sources == many && row.procs == procs {
			return row
		}
	}
	return nil
}

// ratio compares the CPU time of a request, round by round, since what disturbs the machine disturbs neighbours alike,
// and gives the median; NaN where one of them was not measured.
func ratio(a, b *row) float64 {
	if a == nil || b == nil {
		return math.NaN()
	}
	rounds := make([]float64, len(a.micros))
	for i := range rounds {
		rounds[i] = a.micros[i] / b.micros[i]
	}
	return median(rounds)
}

func median(rounds []float64) float64 { return slices.Sorted(slices.Values(rounds))[len(rounds)/2] }

// describeMachine says what the figures were taken on, and how busy it was.
func describeMachine(w io.Writer) {
	system, _ := exec.Command("uname", "-sm").Output()
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

// print writes the tables. What was not measured is a dash there, and meets no target.
func (r report) print(out io.Writer) {
	w := &strings.Builder{}
	w.WriteString(meaning)
	for _, row := range r {
		if row.procs > 0 {
			continue
		}
		fmt.Fprintf(w, "| %s | %s | %d | %.1f (%.1f–%.1f) | %.2f | %.2f | %.0f | %.1f MiB |\n",
			row.mix, row.server, row.sources, median(row.micros), slices.Min(row.micros), slices.Max(row.micros),
			ratio(row, r.find(row.mix, bare, 0)), ratio(row, r.find(row.mix, plain, 0)),
			median(row.perSecond), row.peak)
	}
	w.WriteString(scaling)
	for _, row := range r {
		if row.procs > 0 && row.server == gateway {
			least := r.find(direct, bare, row.procs)
			fmt.Fprintf(w, "| %d | %.0f | %.0f | %.1f | %.2f |\n", row.procs, median(least.perSecond),
				median(row.perSecond), median(row.micros), ratio(row, least))
		}
	}
	w.WriteString("\n| target | at most | measured | |\n| --- | --: | --: | --- |\n")
	own := r.find(direct, gateway, 0)
	for _, t := range []struct {
		what           string
		most, measured float64
	}{
		{"v3 direct × bare", 3, ratio(own, r.find(direct, bare, 0))},
		{"v3 direct × plain", 1, ratio(own, r.find(direct, plain, 0))},
		{"v3 direct with Redis × without", 1.6, ratio(r.find(direct, withRedis, 0), own)},
		{"MiB of memory with 65,536 sources", 80, own.peak},
	} {
		verdict := "**missed**"
		if t.measured <= t.most {
			verdict = "met"
		}
		fmt.Fprintf(w, "| %s | %.2f | %.2f | %s |\n", t.what, t.most, t.measured, verdict)
	}
	_, _ = io.WriteString(out, strings.ReplaceAll(w.String(), "NaN", "–"))
}
