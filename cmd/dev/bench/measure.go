package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/load"
)

// server is one of those that are compared.
type server struct {
	*child.Server
	asked  int           // requests so far, by all clients
	booked time.Duration // CPU time after the last load
}

// row is a server that so many clients ask a mix, and what each round of that came to.
type row struct {
	*server
	name      string // of the server
	mix       string
	exchanges []exchange
	clients   int

	samples []sample
	peak    float64 // MiB of memory
}

// sample is one round of one row.
type sample struct {
	cpu, elapsed time.Duration
	latencies    []time.Duration
}

// micros is the CPU time of one request in microseconds.
func (s sample) micros() float64 { return float64(s.cpu.Microseconds()) / float64(len(s.latencies)) }

func (s sample) perSecond() float64 { return float64(len(s.latencies)) / s.elapsed.Seconds() }

// percentile gives the latency that so many of a hundred answers keep.
func percentile(percent int) func(sample) time.Duration {
	return func(s sample) time.Duration {
		return slices.Sorted(slices.Values(s.latencies))[len(s.latencies)*percent/100].Round(10 * time.Microsecond)
	}
}

// callers is how many connections a load comes over.
const callers = 16

// turns of each row within a round: the speed of a machine changes within seconds, and all get their part of that.
const turns = 10

// measure loads the rows in turn, round by round, so that what disturbs the machine for a while disturbs them all. The
// first round only warms up. With background, what a server does between its turns counts too, such as writes to its
// database.
func measure(ctx context.Context, rows []*row, rounds int, length time.Duration, background bool) error {
	for round := range rounds + 1 {
		progress("round %d of %d", round, rounds)
		for _, r := range rows {
			r.samples = append(r.samples, sample{})
		}
		for n := range turns * len(rows) {
			r := rows[(n+n/len(rows))%len(rows)] // another one begins each time
			if err := r.load(ctx, length/turns, background); err != nil {
				return fmt.Errorf("%s, %s, %d clients: %w", r.mix, r.name, r.clients, err)
			}
		}
	}
	for _, r := range rows {
		r.samples = r.samples[1:]
		peak, err := r.PeakMemory()
		if err != nil {
			return err
		}
		r.peak = float64(peak) / (1 << 20)
	}
	return nil
}

// load loads one row, and adds what that came to to its last sample.
func (r *row) load(ctx context.Context, length time.Duration, background bool) error {
	before, err := r.CPU()
	if err != nil {
		return err
	}
	if background {
		before = r.booked
	}
	limited, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	first := r.asked
	start := time.Now()
	latencies, err := load.Run(limited, r.Addr, callers, 0, func(n int) load.Request { return r.request(first + n) })
	elapsed := time.Since(start)
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return err
	}
	if r.booked, err = r.CPU(); err != nil {
		return err
	}
	r.asked += len(latencies)
	s := &r.samples[len(r.samples)-1]
	s.cpu += r.booked - before
	s.elapsed += elapsed
	s.latencies = append(s.latencies, latencies...)
	return nil
}

// request is number n of all that the server gets.
func (r *row) request(n int) load.Request {
	e := &r.exchanges[n%len(r.exchanges)]
	return load.Request{Target: e.target, Client: r.client(n), Judge: e.judge}
}

// client is who makes request n. Few clients are replaced before they reach their rate limit.
func (r *row) client(n int) int {
	first := 0
	if r.clients == few {
		first = n / (few * (fewLimit - 10)) * few
	}
	return first + n%r.clients
}
