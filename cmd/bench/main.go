// Command bench measures the gateway as it is served: the real process with all that production has, alone and with its
// budgets in Redis, beside a bare net/http handler that returns the same bytes, which is the limit, and beside the same
// quote served by Fastify and viem, which is what a team would write otherwise. Then gateways are compared that 10,
// 65,536 and a million clients ask, for long enough that what they write to their databases counts. All run on the
// loopback and are loaded one after the other, with every answer checked. It prints Markdown.
//
// What counts is the CPU time the kernel books for the server's process. Other work on the machine adds little to it,
// while throughput and latency depend on it wholly.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/cli"
	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/shared/testkit/referee"
)

type options struct {
	duration, long   time.Duration
	rounds, conns    int
	mixes            []string
	fastify, railgun bool
	clients          bool
	gateway          string
}

const about = `Measures the gateway as it is served, beside a bare handler and the same quote served by
Fastify and viem, and prints Markdown. For a quick look: -rounds 3 -fastify=false -railgun=false
-mixes "v3 direct,v1 direct".`

func main() {
	o, bare, err := parseOptions(os.Args[1:], os.Stdout)
	os.Exit(cli.Run("bench", err, func(ctx context.Context) error {
		if bare != "" {
			return serveBare(bare, os.Stdin)
		}
		return run(ctx, o)
	}, os.Stderr))
}

// parseOptions reads the flags. If bare is not empty, this process is to be the bare
// handler at that address.
func parseOptions(args []string, stdout io.Writer) (o options, bare string, err error) {
	var mixes string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.DurationVar(&o.duration, "duration", time.Second, "length of one load")
	flags.DurationVar(&o.long, "long", 4*time.Second, "length of the loads of one round with 10 to a million clients; "+
		"six writes to the database must fall into all of them")
	flags.IntVar(&o.rounds, "rounds", 7, "how often every load is repeated; the median counts")
	flags.IntVar(&o.conns, "conns", 16, "connections, each with one request under way")
	flags.BoolVar(&o.fastify, "fastify", true, "measure the Fastify service too; needs npm")
	flags.BoolVar(&o.railgun, "railgun", true, "measure the public RAILGUN engine too; needs npm")
	flags.BoolVar(&o.clients, "clients", true, "measure 10 to a million distinct clients")
	flags.StringVar(&o.gateway, "gateway", "", "a built gateway to use instead of the one in this tree")
	flags.StringVar(&mixes, "mixes", strings.Join(order, ","), "the kinds of requests to measure")
	flags.StringVar(&bare, "bare", "", "be the bare handler at this address, with its answer on standard input")
	if err := cli.Parse(flags, args, about, stdout); err != nil {
		return o, "", err
	}
	o.mixes = strings.Split(mixes, ",")
	if o.rounds < 1 || o.conns < 1 || o.duration <= 0 || o.long <= 0 {
		return o, "", errors.New("-rounds, -conns, -duration and -long must be positive")
	}
	if slices.ContainsFunc(o.mixes, func(name string) bool { return !slices.Contains(order, name) }) {
		return o, "", fmt.Errorf("the mixes are %q", order)
	}
	return o, bare, nil
}

func run(ctx context.Context, o options) error {
	root, err := child.Root()
	if err != nil {
		return err
	}
	scratch := filepath.Join(root, ".scratch", "bench")
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return err
	}
	if o.gateway == "" {
		progress("building the gateway")
		if o.gateway, err = child.Build(ctx, scratch); err != nil {
			return err
		}
	}
	judge, err := referee.New(root)
	if err != nil {
		return err
	}
	mixes, err := newMixes(judge, root)
	if err != nil {
		return err
	}
	var report report
	describeMachine(os.Stdout)
	if report.rows, err = measureMixes(ctx, o, root, scratch, mixes); err != nil {
		return err
	}
	if o.clients {
		if report.crowds, err = measureClients(ctx, o, mixes); err != nil {
			return err
		}
	}
	if o.railgun {
		if report.engine, err = measureEngine(ctx, root, scratch); err != nil {
			return err
		}
	}
	report.print(os.Stdout)
	return nil
}

// measureMixes compares the servers, mix by mix.
func measureMixes(
	ctx context.Context, o options, root, scratch string, mixes map[string][]load.Case,
) (rows []*row, err error) {
	f, err := newFleet(o.gateway)
	if err != nil {
		return nil, err
	}
	defer f.stop()
	gateway, err := f.gateway(ctx, theGateway, usualLimit, "")
	if err != nil {
		return nil, err
	}
	var fastify []*row
	if o.fastify && haveNode(theFastify) {
		if fastify, err = f.fastifyRows(ctx, root, scratch, mixes); err != nil {
			return nil, err
		}
	}
	for _, mix := range o.mixes {
		rows = append(rows, &row{server: gateway, mix: mix, cases: mixes[mix], clients: many})
		if mix == direct {
			shared, err := f.shared(ctx)
			if err != nil {
				return nil, err
			}
			if shared != nil {
				rows = append(rows, &row{server: shared, mix: mix, cases: mixes[mix], clients: many})
			}
		}
		bare, err := f.bare(ctx, mix, mixes[mix])
		if err != nil {
			return nil, err
		}
		rows = append(rows, bare)
		for _, r := range fastify {
			if r.mix == mix {
				rows = append(rows, r)
			}
		}
	}
	plan := schedule{rounds: o.rounds, conns: o.conns, length: o.duration, turns: 1}
	return rows, plan.measure(ctx, rows)
}

// measureClients finds out what a request costs, and what memory comes to, when few clients ask and when very many do.
func measureClients(ctx context.Context, o options, mixes map[string][]load.Case) (rows []*row, err error) {
	f, err := newFleet(o.gateway)
	if err != nil {
		return nil, err
	}
	defer f.stop()
	for _, mix := range []string{direct, v1} {
		bare, err := f.bare(ctx, mix, mixes[mix])
		if err != nil {
			return nil, err
		}
		rows = append(rows, bare)
	}
	for _, c := range []struct {
		mix            string
		clients, limit int
	}{
		{direct, few, fewLimit},
		{direct, many, usualLimit},
		{direct, flood, usualLimit},
		{v1, many, usualLimit},
	} {
		gateway, err := f.gateway(ctx, theGateway, c.limit, "")
		if err != nil {
			return nil, err
		}
		rows = append(rows, &row{server: gateway, mix: c.mix, cases: mixes[c.mix], clients: c.clients})
	}
	// How fast a machine is changes within seconds. With ten turns a round all get their part of each change.
	plan := schedule{rounds: o.rounds, conns: o.conns, length: o.long / 10, turns: 10, between: true}
	return rows, plan.measure(ctx, rows)
}

// progress tells the person who waits, apart from the results.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
