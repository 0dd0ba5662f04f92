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
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/quotegate/quotegate/cmd/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := command(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// command is the whole program; getenv gives it its secrets.
func command(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	o := &options{stdout: plain{stdout}, stderr: plain{stderr}}
	switch strings.Join(args, " ") {
	case "help":
		args = []string{"-help"}
	case "version", "-version", "--version":
		fmt.Fprintln(stdout, cli.Version("quote"))
		return 0
	}
	err := o.parse(args, getenv)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		o.json = slices.Contains(args, "-json") || slices.Contains(args, "--json") // it may stand after the mistake
		return o.finish(nil, notAsked(err))
	}
	return o.finish(o.run(ctx))
}

// run does what was asked for, and gives what to print as JSON, also after an error.
func (o *options) run(ctx context.Context) (any, error) {
	switch {
	case o.status != "":
		return o.tellStatus(ctx)
	case o.pairs:
		return o.tellPairs(ctx)
	}
	return o.quote(ctx)
}

// finish tells of an error, prints the one JSON object, and gives the exit code.
func (o *options) finish(value any, err error) int {
	exit := 0
	if err != nil {
		var f *failure
		f, exit = describe(err)
		o.say("quote: %v", err)
		switch r := value.(type) {
		case nil:
			value = f
		case *result:
			r.failure = f
		}
	}
	if !o.json || value == nil {
		return exit
	}
	if err := json.NewEncoder(o.stdout).Encode(value); err != nil {
		o.say("quote: %v", err)
		exit = max(exit, exitRefused)
	}
	return exit
}
