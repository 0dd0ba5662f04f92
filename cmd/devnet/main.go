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
	"os/signal"
	"syscall"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/wallet"
	"github.com/quotegate/quotegate/shared/chain"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parseOptions(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2) // it has been said why
	}
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "devnet: %v\n", err)
		os.Exit(1)
	}
}

// options are what can be chosen.
type options struct {
	listen  string
	page    string
	rpcPort int
	demo    *wallet.Swap // nil for none
	logs    io.Writer    // of the gateway

	// Unhappy days.
	settleAfter   time.Duration
	confirmations uint64
	failing       chain.ID // 0 for none
}

func parseOptions(args []string, output io.Writer) (options, error) {
	o := options{logs: io.Discard}
	flags := flag.NewFlagSet("devnet", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8080", "`address` of the gateway; another port is taken if this one is not free")
	flags.StringVar(&o.page, "page", "127.0.0.1:8081", "`address` of the gateway's page with a test wallet; another port is taken if this one is not free")
	flags.IntVar(&o.rpcPort, "rpc-port", 18600, "`port` of the first chain's JSON-RPC, the others follow; others are taken where one is not free, or for 0")
	from := flags.String("from", "USDC@1", "where the demonstration swaps from: `token@chain`")
	to := flags.String("to", "USDC@369", "where it swaps to: `token@chain`")
	amount := flags.String("amount", "100", "how much it swaps, in whole `tokens`; empty for no demonstration")
	flags.DurationVar(&o.settleAfter, "settle-after", 0, "how long the operator waits before it settles a swap, such as `30s`")
	flags.Uint64Var(&o.confirmations, "confirmations", 1, "how many `blocks` the gateway demands of a transaction; a chain makes one every three seconds")
	failing := flags.Uint64("failing-chain", 0, "ID of a `chain` whose endpoint the gateway cannot reach; 0 for none")
	verbose := flags.Bool("v", false, "show the gateway's log")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if *verbose {
		o.logs = output
	}
	o.failing = chain.ID(*failing)
	var err error
	if flags.NArg() > 0 {
		err = fmt.Errorf("%q is not a flag: see devnet -help", flags.Arg(0))
	} else if _, known := chain.FindNetwork(chain.ID(*failing)); *failing != 0 && (!known || chain.ID(*failing).Private()) {
		err = fmt.Errorf("-failing-chain: %d is not the ID of a chain", *failing)
	} else if o.confirmations < 1 || o.confirmations > 10_000 || o.settleAfter < 0 {
		err = errors.New("-confirmations is between 1 and 10000, and -settle-after is not below zero")
	} else if *amount != "" {
		o.demo, err = demoSwap(*from, *to, *amount)
	}
	if err != nil {
		fmt.Fprintf(output, "devnet: %v\n", err)
	}
	return o, err
}
