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
	rows   []*row  // mix by mix
	crowds []*row  // with 10 to a million clients
	notes  float64 // that the public RAILGUN engine makes in a second of CPU time; 0 if that was not measured
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
	slices.Sort(rounds)
	return rounds[len(rounds)/2]
}

// sorted gives a measure of all rounds in order. The median is in the middle.
func sorted[M cmp.Ordered](rounds []sample, measure func(sample) M) []M {
	var values []M
	for _, s := range rounds {
		values = append(values, measure(s))
	}
	slices.Sort(values)
	return values
}

func median[M cmp.Ordered](rounds []sample, measure func(sample) M) M {
	return sorted(rounds, measure)[len(rounds)/2]
}

func (r *report) print(w io.Writer) {
	printRows(w, r.rows)
	printRows(w, r.crowds)
	if shields := r.shieldsPerNote(); !math.IsNaN(shields) {
		fmt.Fprintf(w, "In a second of CPU time the public RAILGUN engine makes %.0f shield notes, "+
			"and the gateway serves %.0f shield quotes.\n\n", r.notes, r.notes*shields)
	}
	fmt.Fprint(w, "| target | aim | measured | |\n| --- | --- | --: | --- |\n")
	for _, t := range r.targets() {
		t.print(w)
	}
}

func printRows(w io.Writer, rows []*row) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintln(w, "| requests | server | distinct clients | CPU µs a request (least–most) | × bare | requests/s | "+
		"p50 | p99 | peak memory | checked |")
	fmt.Fprintln(w, "| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: |")
	for _, r := range rows {
		micros := sorted(r.samples, sample.micros)
		checked := 0
		for _, s := range r.samples {
			checked += len(s.latencies)
		}
		fmt.Fprintf(w, "| %s | %s | %d | **%.1f** (%.1f–%.1f) | %.2f | %.0f | %s | %s | %.1f MiB | %d |\n",
			r.mix, r.name, r.clients, micros[len(micros)/2], micros[0], micros[len(micros)-1],
			ratio(r.samples, find(rows, r.mix, theBare, many)), median(r.samples, sample.perSecond),
			median(r.samples, percentile(50)), median(r.samples, percentile(99)), r.peak, checked)
	}
	fmt.Fprintln(w)
}

// shieldsPerNote is how many shield quotes the gateway serves in the CPU time of one note of the public engine.
func (r *report) shieldsPerNote() float64 {
	shields := find(r.rows, shield, theGateway, many)
	if len(shields) == 0 || r.notes == 0 {
		return math.NaN()
	}
	return 1e6 / median(shields, sample.micros) / r.notes
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
		peak = slices.MaxFunc(r.crowds, func(a, b *row) int { return cmp.Compare(a.peak, b.peak) }).peak
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
