// Command devnet runs the reference deployment on this machine: a simulated chain for every network, the contracts, the
// gateway wired to them, and an operator who settles. It shows one swap from the question to the money, then stays up
// for others until Ctrl-C. It needs only Go, and a working directory within the module.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/cli"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
)

func main() { os.Exit(start(os.Args[1:], "")) }

// start runs the devnet around a built gateway, or builds one, and gives the exit code.
func start(args []string, gateway string) int {
	o, err := parseOptions(args, os.Stdout, os.Stderr)
	o.gateway = gateway
	return cli.Run("devnet", err, func(ctx context.Context) error { return run(ctx, o, os.Stdout) }, os.Stderr)
}

type options struct {
	gateway string // a built gateway; empty to build one
	listen  string
	page    string
	rpcPort int
	demo    *swap.Swap // nil for none
	logs    io.Writer  // of the gateway

	// Problems to simulate.
	settleAfter   time.Duration
	confirmations uint64
	failing       chain.ID // 0 for none
}

const about = `Runs the reference deployment on this machine: a simulated chain for every network, the
contracts, a gateway, and an operator who settles. It shows one swap, then stays up until Ctrl-C.`

func parseOptions(args []string, stdout, stderr io.Writer) (options, error) {
	o := options{logs: io.Discard}
	var from, to, amount string
	var failing uint64
	var verbose bool
	flags := flag.NewFlagSet("devnet", flag.ContinueOnError)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8080",
		"`address` of the gateway; another port is taken if this one is not free")
	flags.StringVar(&o.page, "page", "127.0.0.1:8081",
		"`address` of the gateway's page with a test wallet; another port is taken if this one is not free")
	flags.IntVar(&o.rpcPort, "rpc-port", 18600, "`port` of the first chain's JSON-RPC, the others follow; "+
		"others are taken where one is not free, or for 0")
	flags.StringVar(&from, "from", "USDC@1", "where the demonstration swaps from: `token@chain`")
	flags.StringVar(&to, "to", "USDC@369", "where it swaps to: `token@chain`")
	flags.StringVar(&amount, "amount", "100", "how much it swaps, in whole `tokens`; empty for no demonstration")
	flags.DurationVar(&o.settleAfter, "settle-after", 0,
		"how long the operator waits before it settles a swap, such as `30s`")
	flags.Uint64Var(&o.confirmations, "confirmations", 1,
		"how many `blocks` the gateway demands of a transaction; a chain makes one every three seconds")
	flags.Uint64Var(&failing, "failing-chain", 0,
		"ID of a `chain` whose endpoint the gateway cannot reach; 0 for none")
	flags.BoolVar(&verbose, "v", false, "show the gateway's log")
	if err := cli.Parse(flags, args, about, stdout); err != nil {
		return o, err
	}
	if verbose {
		o.logs = stderr
	}
	o.failing = chain.ID(failing)
	if _, known := chain.FindNetwork(o.failing); failing != 0 && (!known || o.failing.Private()) {
		return o, fmt.Errorf("-failing-chain: %d is not the ID of a chain", failing)
	}
	if o.confirmations < 1 || o.confirmations > 10_000 || o.settleAfter < 0 {
		return o, errors.New("-confirmations is between 1 and 10000, and -settle-after is not below zero")
	}
	if amount == "" {
		return o, nil
	}
	demo, err := demoSwap(from, to, amount)
	o.demo = demo
	return o, err
}
