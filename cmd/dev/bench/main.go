// Command bench measures the gateway as it is served, with all that production has, beside two other servers: a bare
// net/http handler that returns the same bytes, and one plain route of chi, httprate, log/slog, go-ethereum's abi and
// encoding/json that gives the same quotes. Every answer is checked, and the figures are printed as Markdown.
//
// What counts is the CPU time of the server's process, and the ratios within one run. Other work on the machine adds
// little to the former, but changes throughput much.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/cli"
)

type options struct {
	rounds   int
	duration time.Duration // of the load of one row in one round
	warmup   int           // requests to each row before the first round
	gateway  string        // its binary; built if empty
	root     string        // of the repository, which is the working directory of the command
}

const about = `Measures the gateway beside a bare handler and beside one plain route of well-known
libraries, and prints Markdown. For a quick look: -rounds 2.`

func main() {
	serveIfAsked(os.Args)
	o := options{duration: 2 * time.Second, warmup: many, root: "."}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 7, "how often every load is repeated; the median counts")
	flags.StringVar(&o.gateway, "gateway", "", "a built gateway to use instead of the one in this tree")
	err := cli.Parse(flags, os.Args[1:], about, os.Stdout)
	if err == nil && o.rounds < 1 {
		err = errors.New("-rounds must be positive")
	}
	os.Exit(cli.Run("bench", err, func(ctx context.Context) error {
		describeMachine(os.Stdout)
		r, err := compare(ctx, o)
		if err == nil {
			r.print(os.Stdout)
		}
		return err
	}, os.Stderr))
}

// serveIfAsked makes this program one of the servers that it starts, which never returns, if its arguments are the name
// of one and an address.
func serveIfAsked(args []string) {
	if len(args) != 3 {
		return
	}
	server := http.Server{Addr: args[2]}
	var err error
	switch args[1] {
	case bare:
		server.Handler, err = newBare(os.Stdin)
	case plain:
		server.ReadTimeout = 5 * time.Second // what a server on the Internet has, and the gateway too
		server.WriteTimeout = 20 * time.Second
		server.IdleTimeout = 75 * time.Second
		server.Handler, err = newPlain(os.Stderr)
	default:
		return
	}
	if err == nil {
		err = server.ListenAndServe()
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func compare(ctx context.Context, o options) (report, error) {
	f, err := newFleet(ctx, o)
	defer f.stop()
	if err != nil {
		return report{}, err
	}
	rows, err := f.measure(allRows())
	return report{rows}, err
}

// progress tells the person who waits, apart from the results.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
