// Command quote asks a gateway for a swap, checks the answer without trusting it, and prints it for a person. With
// -execute it signs and sends the swap too, and with -wait it follows it. With -status it asks what became of a
// swap that was sent.
//
// It exits with 0 if the quote is what was asked for (and was executed, if it should be, and settled, if it was
// followed), with 1 if not, with 2 if it was called wrongly, with 3 if the gateway or the node is unavailable for now,
// and with 4 if the swap was sent and its outcome is not known.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/quotegate/quotegate/cmd/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// command is the whole program; getenv gives it its secrets.
func command(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	stdout = plain{stdout}
	stderr = plain{stderr}
	switch {
	case cli.WantsHelp(args) || slices.Equal(args, []string{"help"}):
		printHelp(stdout)
		return 0
	case slices.Equal(args, []string{"version"}):
		args = []string{"-version"}
	}
	o, err := parseOptions(args, getenv, stderr)
	if err != nil {
		o = &options{json: wantsJSON(args)}
		return o.fail(coded{err, usageCode, exitUsage}, stdout, stderr)
	}
	do := run
	switch {
	case o.showVersion:
		do = tellVersion
	case o.status != nil:
		do = tellStatus
	case o.pairs:
		do = tellPairs
	}
	err = do(ctx, o, stdout, stderr)
	if err == nil {
		return 0
	}
	return o.fail(err, stdout, stderr)
}

// fail tells of an error, and gives the exit code.
func (o *options) fail(err error, stdout, stderr io.Writer) int {
	fmt.Fprintf(stderr, "quote: %v\n", err)
	f, exit := describe(err)
	if o.json && !o.printed {
		if err := o.print(stdout, f); err != nil {
			fmt.Fprintf(stderr, "quote: %v\n", err)
		}
	}
	return exit
}
