// Command quote asks a gateway for a swap, verifies the quote without trusting the gateway, and prints it. With
// -execute it signs and sends the swap too, and with -wait it tracks it. "quote status" asks what became of a swap that
// was sent, and "quote pairs" what can be swapped.
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
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program; getenv gives it its secrets.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	o := &options{stdout: plain{stdout}, stderr: plain{stderr}, getenv: getenv}
	value, err := o.dispatch(ctx, args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	o.json = o.json || slices.Contains(args, "-json") || slices.Contains(args, "--json") // it may follow a mistake
	return o.finish(value, err)
}

// dispatch runs the command that the first argument names. It gives what to print as JSON, also after an error.
func (o *options) dispatch(ctx context.Context, args []string) (any, error) {
	name := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name = args[0]
		args = args[1:]
	}
	switch {
	case name == "help":
		return nil, o.help(args)
	case name == "version", slices.Equal(args, []string{"-version"}), slices.Equal(args, []string{"--version"}):
		fmt.Fprintln(o.stdout, cli.Version("quote"))
		return nil, nil
	}
	c, found := findCommand(name)
	if !found {
		return nil, usageError("%q is not a command: see quote help", name)
	}
	if err := c.parse(o, args); err != nil {
		return nil, err
	}
	return c.run(o, ctx)
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
