// Command soak keeps a real gateway process busy while everything it depends on
// fails: nodes hang, hang up and send HTML, Redis and PostgreSQL die, callers leave, the
// fee service lies, the plan is rewritten, and in the end it is told to stop under load.
// Every answer is compared with one worked out independently. It exits 0 only if there
// was not one wrong answer, not one that was no JSON, none missing, and nothing left
// behind.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
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
	os.Exit(cli.Run("soak", err, func(ctx context.Context) error { return run(ctx, *duration, *race) }, os.Stderr))
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
	binary, err := build(ctx, dir, race)
	if err != nil {
		return err
	}
	much := full(duration)
	if race {
		much = raced(duration)
	}
	if err := soak(ctx, root, binary, much, os.Stdout); err != nil {
		return err
	}
	fmt.Println("not one wrong answer, and nothing left behind")
	return nil
}

func build(ctx context.Context, dir string, race bool) (string, error) {
	return child.Build(ctx, dir, fmt.Sprintf("-race=%t", race))
}
