// Command quote asks a gateway for a swap, checks the answer without trusting it, and prints it for a person. With
// -execute it signs and sends the swap too, and with -wait it follows it. With -status it asks what became of a
// swap that was sent.
//
// It exits with 0 if the quote is what was asked for (and was executed, if it should be, and settled, if it was
// followed), with 1 if not, with 2 if it was called wrongly, with 3 if all is right that could be checked and the
// note for a 0zk recipient could not, and with 4 if the swap was sent and whether it is settled is not known.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/quotegate/quotegate/cmd/internal/cli"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/v3/client/send"
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
		fmt.Fprintf(stderr, "quote: %v\n", err)
		return 2
	}
	do := run
	switch {
	case o.showVersion:
		do = tellVersion
	case o.status != nil:
		do = tellStatus
	}
	err = do(ctx, o, stdout, stderr)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "quote: %v\n", err)
	switch {
	case errors.Is(err, errNote):
		return 3
	case errors.Is(err, swap.ErrUnknown) || hasCode(err, send.Unknown):
		return 4
	}
	return 1
}
