// Command soak keeps a real gateway process busy while everything it depends on
// fails: nodes hang, hang up and send HTML, Redis and PostgreSQL die, callers leave, the
// fee service lies, the plan is rewritten, and in the end it is told to stop under load.
// Every answer is compared with one worked out independently. It exits 0 only if there
// was not one wrong answer, not one that was no JSON, none missing, and nothing left
// behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/cli"
)

func main() {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	duration := flags.Duration("duration", 2*time.Minute,
		"how long things go wrong; starting and ending take some seconds more")
	race := flags.Bool("race", false, "build the gateway with the race detector")
	err := cli.Parse(flags, os.Args[1:], "Keeps a gateway busy while everything it depends on fails.", os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "soak: %v\n", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *duration, *race); err != nil {
		fmt.Fprintf(os.Stderr, "soak: %v\n", err)
		os.Exit(1)
	}
	fmt.Println("not one wrong answer, and nothing left behind")
}

func run(ctx context.Context, duration time.Duration, race bool) error {
	root, err := child.Root()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := buildGateway(ctx, dir, race)
	if err != nil {
		return err
	}
	return soak(ctx, root, binary, duration, race, os.Stdout)
}

func buildGateway(ctx context.Context, dir string, race bool) (string, error) {
	var flags []string
	if race {
		flags = append(flags, "-race")
	}
	return child.Build(ctx, dir, flags...)
}
