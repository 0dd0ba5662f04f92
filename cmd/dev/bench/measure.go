package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/load"
)

// row is a server of its own that so many sources ask a mix, and what each round of that came to.
type row struct {
	mix, server string
	sources     int
	procs       int // GOMAXPROCS of the server; 0 for its default

	child     *child.Server
	exchanges []exchange
	asked     int           // requests so far
	used      time.Duration // CPU time after the last load

	samples []sample
	peak    float64 // MiB of memory
}

// Numbers of sources.
const (
	few  = 10
	many = 1 << 16
)

const (
	usualLimit = 30   // requests a minute of one source, the default
	mostLimit  = 1000 // the most that the gateway can be set to
)

// limit is the limit of a source. Few sources, and those that many processors serve, come to the usual one in no time.
func (r *row) limit() int {
	if r.sources == few || r.procs > 0 {
		return mostLimit
	}
	return usualLimit
}

func (r *row) goMaxProcs() []string {
	if r.procs == 0 {
		return nil
	}
	return []string{fmt.Sprint("GOMAXPROCS=", r.procs)}
}

// allRows are the servers under each mix, and then the bare handler and the gateway on 1, 2, 4 and so on of the
// processors.
func allRows() []*row {
	rows := []*row{
		{mix: direct, server: bare, sources: many},
		{mix: direct, server: plain, sources: many},
		{mix: direct, server: gateway, sources: many},
		{mix: direct, server: gateway, sources: few},
		{mix: direct, server: withRedis, sources: many},
	}
	for _, mix := range []string{directV1, integrator, details} {
		rows = append(rows, &row{mix: mix, server: bare, sources: many}, &row{mix: mix, server: gateway, sources: many})
	}
	for procs := 1; procs <= runtime.NumCPU(); procs *= 2 {
		for _, server := range []string{bare, gateway} {
			rows = append(rows, &row{mix: direct, server: server, sources: many, procs: procs})
		}
	}
	return rows
}

// sample is one round of one row.
type sample struct {
	cpu, elapsed time.Duration
	answers      int
}

// micros is the CPU time of one request in microseconds.
func (s sample) micros() float64 { return float64(s.cpu.Microseconds()) / float64(s.answers) }

func (s sample) perSecond() float64 { return float64(s.answers) / s.elapsed.Seconds() }

// turns of each row within a round: the speed of a machine changes within seconds, and all get their part of that.
const turns = 10

// measure starts the servers of the rows, warms them up, and loads them in turn, round by round. It gives the rows that
// were measured: Redis may be missing.
func (f *fleet) measure(rows []*row) (measured []*row, err error) {
	for _, r := range rows {
		r.exchanges = f.exchanges[r.mix]
		if r.server == bare {
			r.exchanges = r.exchanges[:1]
		}
		r.child, err = f.start(r)
		if errors.Is(err, exec.ErrNotFound) {
			progress("SKIPPED, NOT MEASURED: %s: %v", r.server, err)
			continue
		}
		if err == nil {
			_, err = r.load(f.ctx, time.Hour, f.warmup)
		}
		if err != nil {
			return nil, err
		}
		measured = append(measured, r)
	}
	for round := range f.rounds {
		progress("round %d of %d", round+1, f.rounds)
		if err := f.round(measured); err != nil {
			return nil, err
		}
	}
	for _, r := range measured {
		peak, err := r.child.PeakMemory()
		if err != nil {
			return nil, err
		}
		r.peak = float64(peak) / (1 << 20)
	}
	return measured, nil
}

// round adds a sample to each row.
func (f *fleet) round(rows []*row) error {
	for _, r := range rows {
		r.samples = append(r.samples, sample{})
	}
	for n := range turns * len(rows) {
		r := rows[(n+n/len(rows))%len(rows)] // another one begins each time
		s, err := r.load(f.ctx, f.duration/turns, 0)
		if err != nil {
			return err
		}
		total := &r.samples[len(r.samples)-1]
		total.cpu += s.cpu
		total.elapsed += s.elapsed
		total.answers += s.answers
	}
	return nil
}

// connections is how many a load comes over.
const connections = 16

// load loads one row until the time is over or so many were asked, if that is not 0. What the gateway does between the
// loads counts in v1, whose calls it writes to its database then. Elsewhere that is next to nothing.
func (r *row) load(ctx context.Context, length time.Duration, requests int) (s sample, err error) {
	before, err := r.child.CPU()
	if err != nil {
		return s, err
	}
	if r.mix == directV1 {
		before = r.used
	}
	limited, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	first := r.asked
	start := time.Now()
	s.answers, err = load.Run(limited, r.child.Addr, connections, requests, func(n int) load.Request {
		return r.request(first + n)
	})
	s.elapsed = time.Since(start)
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return s, fmt.Errorf("%s, %s, %d sources: %w", r.mix, r.server, r.sources, err)
	}
	r.asked += s.answers
	r.used, err = r.child.CPU()
	s.cpu = r.used - before
	return s, err
}

// request is number n of all that the server gets. Few sources are replaced before they come to their limit.
func (r *row) request(n int) load.Request {
	source := n % r.sources
	if r.sources == few {
		source += n / (few * (mostLimit - 10)) * few
	}
	e := &r.exchanges[n%len(r.exchanges)]
	return load.Request{Target: e.target, Client: source, Judge: e.judge}
}
