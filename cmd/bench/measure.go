package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/load"
)

// server is one of those that are compared.
type server struct {
	*child.Server
	name   string
	db     string // the database of a gateway, as a file
	asked  int    // so far, by all clients
	booked time.Duration
}

// row is a server that so many clients ask a mix, and what each round of that came to.
type row struct {
	*server
	mix     string
	cases   []load.Case
	clients int
	samples []sample
	peak    int64     // bytes of memory
	writes  int       // to the database
	written time.Time // last
}

// sample is one round of one row.
type sample struct {
	load.Result
	cpu time.Duration
}

// micros is the CPU time of one request in microseconds.
func (s sample) micros() float64 { return float64(s.cpu.Microseconds()) / float64(s.Requests) }

// schedule says how rows take turns.
type schedule struct {
	rounds, conns int
	length        time.Duration // of one load
	turns         int           // of each row within a round
	// between has the CPU time count that a server takes while others are asked, as for writes to its database.
	between bool
}

// measure loads the rows in turn, round by round, so that what disturbs the machine for a while disturbs them all.
// The first round only warms up.
func (plan schedule) measure(ctx context.Context, rows []*row) error {
	for _, r := range rows {
		r.written = time.Now()
	}
	for round := range plan.rounds + 1 {
		progress("round %d of %d", round, plan.rounds)
		samples := make([]sample, len(rows))
		for n := range plan.turns * len(rows) {
			i := (n + n/len(rows)) % len(rows) // another one begins each time
			if err := plan.load(ctx, rows[i], &samples[i]); err != nil {
				return fmt.Errorf("%s, %s, %d clients: %w", rows[i].mix, rows[i].name, rows[i].clients, err)
			}
			for _, r := range rows {
				r.countWrite()
			}
		}
		for i, r := range rows {
			if round > 0 {
				r.samples = append(r.samples, samples[i])
			}
		}
	}
	for _, r := range rows {
		var err error
		if _, r.peak, err = r.Memory(); err != nil {
			return err
		}
	}
	return nil
}

// load loads one row, and adds what that came to.
func (plan schedule) load(ctx context.Context, r *row, sum *sample) error {
	before, err := r.CPU()
	if err != nil {
		return err
	}
	if plan.between && r.booked > 0 {
		before = r.booked
	}
	options := load.Options{Conns: plan.conns, Duration: plan.length, Clients: r.clients, Start: r.asked}
	if r.clients == few {
		options.Turn = few * (fewLimit - 10)
	}
	result, err := load.Run(ctx, r.Addr, r.cases, options)
	if err != nil {
		return err
	}
	r.booked, err = r.CPU()
	r.asked += result.Requests
	sum.cpu += r.booked - before
	result.Requests += sum.Requests
	result.Elapsed += sum.Elapsed
	sum.Result = result
	return err
}

// countWrite looks whether the database was written. What is written within a second is one write.
func (r *row) countWrite() {
	for _, name := range []string{r.db, r.db + "-wal"} {
		info, err := os.Stat(name) // a bare handler has none
		if err == nil && info.ModTime().Sub(r.written) > time.Second {
			r.written = info.ModTime()
			r.writes++
		}
	}
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
