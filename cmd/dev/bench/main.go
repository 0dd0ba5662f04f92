// Command bench measures the gateway as it is served, with all that production has, beside a bare net/http handler that
// returns the same bytes and beside the same quote served by Fastify and viem; then with 10, 65,536 and a million
// clients. Servers are loaded one after the other, every answer is checked, and the figures are printed as Markdown.
//
// What counts is the CPU time of the server's process. Other work on the machine adds little to it, but changes
// throughput and latency much.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/cli"
)

type options struct {
	duration         time.Duration // of the load of one row in one round; four times that with 10 to a million clients
	rounds           int
	fastify, railgun bool
	clients          bool
	gateway          string // its binary; built if empty
	root             string // of the repository, which is the working directory of the command
}

const about = `Measures the gateway as it is served, beside a bare handler and the same quote served by
Fastify and viem, and prints Markdown. For a quick look: -rounds 2 -fastify=false -railgun=false -clients=false.`

func main() {
	o := options{duration: time.Second, root: "."}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 7, "how often every load is repeated; the median counts")
	flags.BoolVar(&o.fastify, "fastify", true, "measure the Fastify service too; needs npm")
	flags.BoolVar(&o.railgun, "railgun", true, "measure the public RAILGUN engine too; needs npm")
	flags.BoolVar(&o.clients, "clients", true, "measure 10 to a million distinct clients")
	flags.StringVar(&o.gateway, "gateway", "", "a built gateway to use instead of the one in this tree")
	bare := flags.String("bare", "", "be the bare handler at this address, with its answer on standard input")
	err := cli.Parse(flags, os.Args[1:], about, os.Stdout)
	if err == nil && o.rounds < 1 {
		err = errors.New("-rounds must be positive")
	}
	os.Exit(cli.Run("bench", err, func(ctx context.Context) error {
		if *bare != "" {
			return serveBare(*bare, os.Stdin)
		}
		return run(ctx, o)
	}, os.Stderr))
}

func run(ctx context.Context, o options) error {
	describeMachine(os.Stdout)
	r, err := compare(ctx, o)
	if err == nil && o.railgun {
		r.notes, err = measureEngine(ctx, o.root)
	}
	if err != nil {
		return err
	}
	r.print(os.Stdout)
	return nil
}

// compare measures the servers mix by mix, and then gateways that few clients ask and very many.
func compare(ctx context.Context, o options) (r report, err error) {
	f, err := newFleet(ctx, o)
	defer f.stop()
	if err == nil {
		err = f.learn()
	}
	if err != nil {
		return r, err
	}
	if r.rows, err = f.mixRows(); err == nil {
		err = measure(ctx, r.rows, o.rounds, o.duration, false)
	}
	if err != nil || !o.clients {
		return r, err
	}
	if r.crowds, err = f.crowdRows(); err == nil {
		err = measure(ctx, r.crowds, o.rounds, 4*o.duration, true)
	}
	return r, err
}

// progress tells the person who waits, apart from the results.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
