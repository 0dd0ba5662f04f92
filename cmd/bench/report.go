package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
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

func (r *report) find(mix, server string) []sample { return find(r.rows, mix, server, many) }

// ratio compares the CPU time of a request, round by round, since what
// disturbs the machine disturbs neighbours alike, and gives the median.
func ratio(a, b []sample) (times float64, ok bool) {
	if len(a) == 0 || len(a) != len(b) {
		return 0, false
	}
	rounds := make([]float64, len(a))
	for i := range a {
		rounds[i] = a[i].micros() / b[i].micros()
	}
	slices.Sort(rounds)
	return rounds[len(rounds)/2], true
}

// cost gives the CPU time of a request, how that compares with the bare handler, and how many there were.
func (r *row) cost(rows []*row) (micros, times string, requests int) {
	all := sorted(r.samples, sample.micros)
	for _, s := range r.samples {
		requests += s.Requests
	}
	bare, _ := ratio(r.samples, find(rows, r.mix, theBare, many))
	micros = fmt.Sprintf("**%.1f** (%.1f–%.1f)", all[len(all)/2], all[0], all[len(all)-1])
	return micros, fmt.Sprintf("%.2f", bare), requests
}

func p50(s sample) time.Duration { return s.P50.Round(10 * time.Microsecond) }
func p99(s sample) time.Duration { return s.P99.Round(10 * time.Microsecond) }

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

func (r *report) print(w io.Writer) {
	fmt.Fprintln(w, "| requests | server | CPU µs a request (least–most) | × bare | requests/s | p50 | p99 | checked |")
	fmt.Fprintln(w, "| --- | --- | --: | --: | --: | --: | --: | --: |")
	for _, row := range r.rows {
		micros, times, requests := row.cost(r.rows)
		fmt.Fprintf(w, "| %s | %s | %s | %s | %.0f | %s | %s | %d |\n", row.mix, row.name, micros, times,
			median(row.samples, sample.PerSecond), median(row.samples, p50), median(row.samples, p99), requests)
	}
	fmt.Fprint(w, "\n| server | peak memory |\n| --- | --: |\n")
	shown := map[string]bool{} // the bare handlers are all alike
	for _, row := range r.rows {
		if !shown[row.name] {
			fmt.Fprintf(w, "| %s | %s |\n", row.name, mib(row.peak))
		}
		shown[row.name] = true
	}
	if len(r.crowds) > 0 {
		fmt.Fprintln(w, "\n| requests | server | distinct clients | CPU µs a request (least–most) | × bare | "+
			"peak memory | writes to the database | requests made |")
		fmt.Fprintln(w, "| --- | --- | --: | --: | --: | --: | --: | --: |")
	}
	for _, row := range r.crowds {
		micros, times, requests := row.cost(r.crowds)
		fmt.Fprintf(w, "| %s | %s | %d | %s | %s | %s | %d | %d |\n",
			row.mix, row.name, row.clients, micros, times, mib(row.peak), row.writes, requests)
	}
	if shields := r.find(shield, theGateway); r.engine != nil && shields != nil {
		fmt.Fprintf(w, "\nThe public RAILGUN engine made %.0f shield notes in a second of CPU time "+
			"(%d in %.1f s, on all cores); the gateway serves %.0f shield quotes in one.\n",
			r.engine.perCPUSecond(), r.engine.Notes, r.engine.Seconds, 1e6/median(shields, sample.micros))
	}
	r.printTargets(w)
}

// targets prints figures beside what was aimed for.
type targets struct{ w io.Writer }

func (t targets) line(what, aim, measured string, met bool) {
	verdict := "met"
	if !met {
		verdict = "**missed**"
	}
	fmt.Fprintf(t.w, "| %s | %s | %s | %s |\n", what, aim, measured, verdict)
}

// atMost aims for a cost of so many times another.
func (t targets) atMost(what string, aim float64, a, b []sample) {
	if times, ok := ratio(a, b); ok {
		t.line(what, fmt.Sprintf("≤ %.1f ×", aim), fmt.Sprintf("%.2f ×", times), times <= aim)
	}
}

// tenPercent aims for a cost that is hardly higher than another.
func (t targets) tenPercent(what, aim string, a, b []sample) {
	if times, ok := ratio(a, b); ok {
		t.line(what, aim, fmt.Sprintf("%+.1f %%", 100*(times-1)), times <= 1.10)
	}
}

// printTargets holds the figures to what was aimed for.
func (r *report) printTargets(w io.Writer) {
	fmt.Fprint(w, "\n| target | aim | measured | |\n| --- | --- | --: | --- |\n")
	t := targets{w}
	r.printTargetsOfClients(t)
	own := r.find(direct, theGateway)
	if times, ok := ratio(r.find(direct, theFastify), own); ok {
		t.line("CPU of the Fastify service's direct quote to ours", "≥ 7 ×", fmt.Sprintf("%.1f ×", times), times >= 7)
	}
	if times, ok := ratio(r.find(direct, theTuned), own); ok {
		fmt.Fprintf(w, "| the same, of the tuned one | | %.1f × | |\n", times)
	}
	if shields := r.find(shield, theGateway); r.engine != nil && shields != nil {
		times := 1e6 / median(shields, sample.micros) / r.engine.perCPUSecond()
		t.line("shield quotes to the public engine's notes", "≥ 8 ×", fmt.Sprintf("%.1f ×", times), times >= 8)
	}
	t.tenPercent("cached integrator over none", "≤ 10 %", r.find(integrator, theGateway), own)
	t.atMost("a direct quote with details to one without", 1.6, r.find(details, theGateway), own)
	t.atMost("the listing of pairs to the bare handler's", 1.3, r.find(pairs, theGateway), r.find(pairs, theBare))
	shared := r.find(direct, theShared)
	t.atMost("CPU of a direct v3 quote with Redis to without", 1.6, shared, own)
	if len(shared) > 0 {
		fmt.Fprintf(w, "| its throughput, and p99 with and without | | %.2f ×, %s and %s | |\n",
			median(shared, sample.PerSecond)/median(own, sample.PerSecond), median(shared, p99), median(own, p99))
	}
}

// printTargetsOfClients prints those of the gateways that 10 to a million clients ask, or of the mixes alone where
// those were not measured.
func (r *report) printTargetsOfClients(t targets) {
	rows := r.crowds
	if len(rows) == 0 {
		rows = r.rows
	}
	againstBare := func(mix string, aim float64) {
		what := "CPU of a " + mix + " quote to the bare handler's, 65,536 clients"
		t.atMost(what, aim, find(rows, mix, theGateway, many), find(rows, mix, theBare, many))
	}
	againstBare(direct, 2.2)
	againstBare(v1, 2.4)
	if len(r.crowds) == 0 {
		return
	}
	for _, clients := range []int{many, flood} {
		what := fmt.Sprintf("cost of a v3 direct quote, 10 to %d clients", clients)
		t.tenPercent(what, "flat: ≤ 10 %", find(rows, direct, theGateway, clients), find(rows, direct, theGateway, few))
	}
	most := int64(0)
	writes := math.MaxInt // of the gateway that wrote least
	for _, row := range rows {
		if row.name == theGateway {
			most = max(most, row.peak)
			writes = min(writes, row.writes)
		}
	}
	t.line("memory of a gateway, 10 to 1,000,000 clients", "≤ 80 MiB", mib(most), most <= 80<<20)
	t.line("writes of each gateway to its database meanwhile", "≥ 6", strconv.Itoa(writes), writes >= 6)
}

// describeMachine says what the figures were taken on, and how busy it was.
func describeMachine(w io.Writer) {
	node, _ := exec.Command("node", "--version").Output() // empty where there is none
	fmt.Fprintf(w, "%s, %d cores, Linux %s, %s, Node.js %s; %s; load average before the run: %s.\n\n",
		cpuModel(), runtime.NumCPU(), firstWord("/proc/sys/kernel/osrelease"), runtime.Version(),
		strings.TrimSpace(string(node)), time.Now().UTC().Format("2006-01-02"), firstWord("/proc/loadavg"))
}

func cpuModel() string {
	data, _ := os.ReadFile("/proc/cpuinfo") // where there is none, the model is unknown
	_, model, _ := strings.Cut(string(data), "model name\t: ")
	model, _, found := strings.Cut(model, "\n")
	if !found {
		return "unknown processor, " + runtime.GOARCH
	}
	return model
}

func firstWord(path string) string {
	data, _ := os.ReadFile(path)
	word, _, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	return word
}
