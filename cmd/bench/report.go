package main

import (
	"bytes"
	"cmp"
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
type report struct {
	rows   []*row // mix by mix
	crowds []*row // with 10 to a million clients
	engine *engine
}

// find gives the rounds of a server under a mix, none where it was not measured.
func find(rows []*row, mix, server string, clients int) []sample {
	for _, r := range rows {
		if r.mix == mix && r.name == server && r.clients == clients {
			return r.samples
		}
	}
	return nil
}

// ratio compares the CPU time of a request, round by round, since what disturbs the machine disturbs neighbours alike,
// and gives the median; NaN where one of them was not measured.
func ratio(a, b []sample) float64 {
	if len(a) == 0 || len(a) != len(b) {
		return math.NaN()
	}
	rounds := make([]float64, len(a))
	for i := range a {
		rounds[i] = a[i].micros() / b[i].micros()
	}
	return median(rounds, func(times float64) float64 { return times })
}

// sorted gives a measure of all samples in order.
func sorted[S any, M cmp.Ordered](all []S, measure func(S) M) []M {
	values := make([]M, len(all))
	for i, s := range all {
		values[i] = measure(s)
	}
	slices.Sort(values)
	return values
}

func median[S any, M cmp.Ordered](all []S, measure func(S) M) M {
	return sorted(all, measure)[len(all)/2]
}

// percentile is the median of all rounds.
func percentile(all []sample, percent int) time.Duration {
	return median(all, func(s sample) time.Duration { return s.percentile(percent) })
}

// cost gives the CPU time of a request, how that compares with the bare handler, and how many there were.
func (r *row) cost(rows []*row) (micros string, times float64, requests int) {
	all := sorted(r.samples, sample.micros)
	for _, s := range r.samples {
		requests += len(s.latencies)
	}
	micros = fmt.Sprintf("**%.1f** (%.1f–%.1f)", all[len(all)/2], all[0], all[len(all)-1])
	return micros, ratio(r.samples, find(rows, r.mix, theBare, many)), requests
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func (r *report) print(w io.Writer) {
	fmt.Fprintln(w, "| requests | server | CPU µs a request (least–most) | × bare | requests/s | p50 | p99 | checked |")
	fmt.Fprintln(w, "| --- | --- | --: | --: | --: | --: | --: | --: |")
	for _, row := range r.rows {
		micros, times, requests := row.cost(r.rows)
		fmt.Fprintf(w, "| %s | %s | %s | %.2f | %.0f | %s | %s | %d |\n", row.mix, row.name, micros, times,
			median(row.samples, sample.perSecond), percentile(row.samples, 50), percentile(row.samples, 99), requests)
	}
	if len(r.crowds) > 0 {
		fmt.Fprintln(w, "\n| requests | server | distinct clients | CPU µs a request (least–most) | × bare | "+
			"peak memory | checked |")
		fmt.Fprintln(w, "| --- | --- | --: | --: | --: | --: | --: |")
	}
	for _, row := range r.crowds {
		micros, times, requests := row.cost(r.crowds)
		fmt.Fprintf(w, "| %s | %s | %d | %s | %.2f | %.1f MiB | %d |\n",
			row.mix, row.name, row.clients, micros, times, mib(row.peak), requests)
	}
	if shields := r.shieldsPerNote(); !math.IsNaN(shields) {
		fmt.Fprintf(w, "\nThe public RAILGUN engine made %.0f shield notes in a second of CPU time "+
			"(%d in %.1f s, on all cores); the gateway serves %.0f shield quotes in one.\n",
			r.engine.perCPUSecond(), r.engine.Notes, r.engine.Seconds, shields*r.engine.perCPUSecond())
	}
	fmt.Fprint(w, "\n| target | aim | measured | |\n| --- | --- | --: | --- |\n")
	for _, t := range r.targets() {
		t.print(w)
	}
}

// shieldsPerNote is how many shield quotes the gateway serves in the CPU time of one note of the public engine.
func (r *report) shieldsPerNote() float64 {
	shields := find(r.rows, shield, theGateway, many)
	if r.engine == nil || len(shields) == 0 {
		return math.NaN()
	}
	return 1e6 / median(shields, sample.micros) / r.engine.perCPUSecond()
}

// target is a figure beside what was aimed for.
type target struct {
	what     string
	aim      float64
	least    bool // the aim is the least, not the most
	unit     string
	measured float64 // NaN where it was not
}

func (t target) print(w io.Writer) {
	if math.IsNaN(t.measured) {
		return
	}
	sign := "≤"
	if t.least {
		sign = "≥"
	}
	verdict := "met"
	if t.least && t.measured < t.aim || !t.least && t.measured > t.aim {
		verdict = "**missed**"
	}
	fmt.Fprintf(w, "| %s | %s %g%s | %.2f%s | %s |\n", t.what, sign, t.aim, t.unit, t.measured, t.unit, verdict)
}

// targets are what the figures are held to. What few clients and many cost is compared among the crowds, or among the
// mixes where those were not measured.
func (r *report) targets() []target {
	mixed := func(mix, server string) []sample { return find(r.rows, mix, server, many) }
	crowd := r.crowds
	if len(crowd) == 0 {
		crowd = r.rows
	}
	toBare := func(mix string) float64 {
		return ratio(find(crowd, mix, theGateway, many), find(crowd, mix, theBare, many))
	}
	percentOver := func(a, b []sample) float64 { return 100 * (ratio(a, b) - 1) }
	overFew := func(clients int) float64 {
		return percentOver(find(crowd, direct, theGateway, clients), find(crowd, direct, theGateway, few))
	}
	peak := math.NaN()
	if len(r.crowds) > 0 {
		peak = slices.Max(sorted(r.crowds, func(r *row) float64 { return mib(r.peak) }))
	}
	own := mixed(direct, theGateway)
	listing := ratio(mixed(pairs, theGateway), mixed(pairs, theBare))
	return []target{
		{"CPU of a v3 direct quote to the bare handler's, 65,536 clients", 2.2, false, " ×", toBare(direct)},
		{"CPU of a v1 direct quote to the bare handler's, 65,536 clients", 2.4, false, " ×", toBare(v1)},
		{"v3 direct, 65,536 clients over 10", 10, false, " %", overFew(many)},
		{"v3 direct, 1,000,000 clients over 10", 10, false, " %", overFew(flood)},
		{"memory of a gateway, 10 to 1,000,000 clients", 80, false, " MiB", peak},
		{"CPU of the Fastify service's direct quote to ours", 7, true, " ×", ratio(mixed(direct, theFastify), own)},
		{"shield quotes to the public engine's notes", 8, true, " ×", r.shieldsPerNote()},
		{"cached integrator over none", 10, false, " %", percentOver(mixed(integrator, theGateway), own)},
		{"a direct quote with details to one without", 1.6, false, " ×", ratio(mixed(details, theGateway), own)},
		{"the listing of pairs to the bare handler's", 1.3, false, " ×", listing},
		{"CPU of a direct v3 quote with Redis to without", 1.6, false, " ×", ratio(mixed(direct, theShared), own)},
	}
}

// describeMachine says what the figures were taken on, and how busy it was.
func describeMachine(w io.Writer) {
	node, _ := exec.Command("node", "--version").Output() // empty where there is none
	system, _ := exec.Command("uname", "-srm").Output()
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Fprintf(w, "%s, %d cores, %s, Node.js %s; %s; load average before the run: %.4s.\n\n",
		bytes.TrimSpace(system), runtime.NumCPU(), runtime.Version(), bytes.TrimSpace(node),
		time.Now().UTC().Format(time.DateOnly), load)
}
