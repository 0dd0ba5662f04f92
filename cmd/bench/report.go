package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
)

// report is everything that was measured.
type report struct {
	rows   []row
	memory []memory
	crowds []crowd
	engine *engine
}

// row is one server under one mix, round by round.
type row struct {
	mix, server string
	samples     []sample
}

type memory struct {
	server string
	peak   int64
}

func (r *report) add(mix, server string, all []sample) {
	r.rows = append(r.rows, row{mix, server, all})
}

// find gives the loads of a server under a mix, none where it was not measured.
func (r *report) find(mix, server string) []sample {
	for _, row := range r.rows {
		if row.mix == mix && row.server == server {
			return row.samples
		}
	}
	return nil
}

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

func (r *report) print(w io.Writer) {
	fmt.Fprintln(w, "| requests | server | CPU µs a request (least–most) | × bare | requests/s | p50 | p99 | checked |")
	fmt.Fprintln(w, "| --- | --- | --: | --: | --: | --: | --: | --: |")
	for _, row := range r.rows {
		micros := sorted(row.samples, sample.micros)
		times, _ := ratio(row.samples, r.find(row.mix, theBare))
		requests := 0
		for _, s := range row.samples {
			requests += s.Requests
		}
		fmt.Fprintf(w, "| %s | %s | **%.1f** (%.1f–%.1f) | %.2f | %.0f | %s | %s | %d |\n",
			row.mix, row.server, micros[len(micros)/2], micros[0], micros[len(micros)-1], times,
			median(row.samples, sample.PerSecond),
			median(row.samples, func(s sample) time.Duration { return s.P50 }).Round(10*time.Microsecond),
			median(row.samples, func(s sample) time.Duration { return s.P99 }).Round(10*time.Microsecond), requests)
	}
	fmt.Fprint(w, "\n| server | peak memory |\n| --- | --: |\n")
	for _, m := range r.memory {
		fmt.Fprintf(w, "| %s | %.1f MiB |\n", m.server, mib(m.peak))
	}
	if len(r.crowds) > 0 {
		fmt.Fprintln(w, "\n| requests | server | distinct clients | CPU µs a request (least–most) | × bare | "+
			"peak memory | writes to the database | requests made |")
		fmt.Fprintln(w, "| --- | --- | --: | --: | --: | --: | --: | --: |")
		for _, c := range r.crowds {
			micros := sorted(c.samples, sample.micros)
			times, _ := ratio(c.samples, r.crowd(c.mix, theBare, many))
			requests := 0
			for _, s := range c.samples {
				requests += s.Requests
			}
			fmt.Fprintf(w, "| %s | %s | %d | **%.1f** (%.1f–%.1f) | %.2f | %.1f MiB | %d | %d |\n",
				c.mix, c.server, c.clients, micros[len(micros)/2], micros[0], micros[len(micros)-1],
				times, mib(c.peak), c.writes, requests)
		}
	}
	if shields := r.find(shield, theGateway); r.engine != nil && shields != nil {
		fmt.Fprintf(w, "\nThe public RAILGUN engine made %.0f shield notes in a second of CPU time "+
			"(%d in %.1f s, on all cores); the gateway serves %.0f shield quotes in one.\n",
			r.engine.perCPUSecond(), r.engine.Notes, r.engine.Seconds, 1e6/median(shields, sample.micros))
	}
	r.printTargets(w)
}

// printTargets holds the figures to what was aimed for.
func (r *report) printTargets(w io.Writer) {
	fmt.Fprint(w, "\n| target | aim | measured | |\n| --- | --- | --: | --- |\n")
	line := func(what, aim, measured string, met bool) {
		verdict := "met"
		if !met {
			verdict = "**missed**"
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", what, aim, measured, verdict)
	}
	own := r.find(direct, theGateway)
	r.targetsOfClients(line)
	if times, ok := ratio(r.find(direct, theFastify), own); ok {
		line("CPU of the Fastify service's direct quote to ours", "≥ 7 ×", fmt.Sprintf("%.1f ×", times), times >= 7)
	}
	if times, ok := ratio(r.find(direct, theTuned), own); ok {
		fmt.Fprintf(w, "| the same, of the tuned one | | %.1f × | |\n", times)
	}
	if shields := r.find(shield, theGateway); r.engine != nil && shields != nil {
		times := 1e6 / median(shields, sample.micros) / r.engine.perCPUSecond()
		line("shield quotes to the public engine's notes", "≥ 8 ×", fmt.Sprintf("%.1f ×", times), times >= 8)
	}
	if times, ok := ratio(r.find(integrator, theGateway), own); ok {
		line("cached integrator over none", "≤ 10 %", fmt.Sprintf("%+.1f %%", 100*(times-1)), times <= 1.10)
	}
	if times, ok := ratio(r.find(details, theGateway), own); ok {
		line("a direct quote with details to one without", "≤ 1.6 ×", fmt.Sprintf("%.2f ×", times), times <= 1.6)
	}
	if times, ok := ratio(r.find(pairs, theGateway), r.find(pairs, theBare)); ok {
		line("the listing of pairs to the bare handler's", "≤ 1.3 ×", fmt.Sprintf("%.2f ×", times), times <= 1.3)
	}
	if shared := r.find(direct, theShared); len(shared) > 0 && len(own) > 0 {
		times, _ := ratio(shared, own)
		const what = "CPU of a direct v3 quote with Redis to without"
		line(what, "≤ 1.6 ×", fmt.Sprintf("%.2f ×", times), times <= 1.6)
		p99 := func(s sample) time.Duration { return s.P99 }
		fmt.Fprintf(w, "| its throughput, and p99 with and without | | %.2f ×, %s and %s | |\n",
			median(shared, sample.PerSecond)/median(own, sample.PerSecond),
			median(shared, p99).Round(10*time.Microsecond), median(own, p99).Round(10*time.Microsecond))
	}
}

// targetsOfClients are those of the gateways that 10 to a million clients ask, or of
// the mixes alone where those were not measured.
func (r *report) targetsOfClients(line func(what, aim, measured string, met bool)) {
	for _, t := range []struct {
		mix string
		aim float64
	}{{direct, 2.2}, {v1, 2.4}} {
		gateway, bare := r.crowd(t.mix, theGateway, many), r.crowd(t.mix, theBare, many)
		if len(r.crowds) == 0 {
			gateway, bare = r.find(t.mix, theGateway), r.find(t.mix, theBare)
		}
		if times, ok := ratio(gateway, bare); ok {
			what := "CPU of a " + t.mix + " quote to the bare handler's, 65,536 clients"
			line(what, fmt.Sprintf("≤ %.1f ×", t.aim), fmt.Sprintf("%.2f ×", times), times <= t.aim)
		}
	}
	if len(r.crowds) == 0 {
		return
	}
	for _, clients := range []int{many, flood} {
		if times, ok := ratio(r.crowd(direct, theGateway, clients), r.crowd(direct, theGateway, few)); ok {
			what := fmt.Sprintf("cost of a v3 direct quote, 10 to %d clients", clients)
			line(what, "flat: ≤ 10 %", fmt.Sprintf("%+.1f %%", 100*(times-1)), times <= 1.10)
		}
	}
	most := int64(0)
	writes := math.MaxInt // of the gateway that wrote least
	for _, c := range r.crowds {
		if c.server == theGateway {
			most = max(most, c.peak)
			writes = min(writes, c.writes)
		}
	}
	memory := fmt.Sprintf("%.1f MiB", mib(most))
	line("memory of a gateway, 10 to 1,000,000 clients", "≤ 80 MiB", memory, most <= 80<<20)
	line("writes of each gateway to its database meanwhile", "≥ 6", strconv.Itoa(writes), writes >= 6)
}

// crowd gives the rounds of a server with so many clients.
func (r *report) crowd(mix, server string, clients int) []sample {
	for _, c := range r.crowds {
		if c.mix == mix && c.server == server && c.clients == clients {
			return c.samples
		}
	}
	return nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
