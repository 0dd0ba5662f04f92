// Command soak loads a real gateway process while everything it depends on fails: nodes hang, hang up and send HTML,
// Redis and PostgreSQL die, callers leave, the fee service lies, the plan is rewritten, and in the end it is told to
// stop under load. Every answer is compared with one worked out independently. It exits 0 only if no answer was wrong,
// not JSON or missing, and nothing was left behind.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/cli"
)

func main() {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	duration := flags.Duration("duration", 2*time.Minute, "length of the outages; the rest takes a minute")
	race := flags.Bool("race", false, "build the gateway with the race detector")
	err := cli.Parse(flags, os.Args[1:], "Loads a gateway while everything it depends on fails.", os.Stdout)
	os.Exit(cli.Run("soak", err, func(ctx context.Context) error { return run(ctx, *duration, *race) }, os.Stderr))
}

// size is how much a soak does, and what memory the gateway may come to meanwhile.
type size struct {
	duration time.Duration // of the outages together
	clients  int           // that ask once, each from a network of its own: memory grows with those
	burst    int           // requests while nodes hang up
	idlers   int           // clients that stay connected: more than the gateway accepts at a time
	limit    int64         // bytes, with hundreds of requests waiting for nodes that hang
	idle     int64         // bytes, with thousands of idle clients
}

// sizeOf is what a soak does in so long. The race detector is slow and has memory of its own.
func sizeOf(duration time.Duration, race bool) size {
	switch {
	case race:
		return size{duration, crowdSize / 16, 4000, 500, math.MaxInt64, math.MaxInt64}
	case duration < time.Minute:
		return size{duration, crowdSize / 4, 6000, 5000, 100 << 20, 192 << 20}
	}
	return size{duration, crowdSize, 30_000, 5000, 120 << 20, 192 << 20}
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
	binary, err := child.Build(ctx, dir, fmt.Sprintf("-race=%t", race))
	if err != nil {
		return err
	}
	if err := soak(ctx, root, binary, sizeOf(duration, race), os.Stdout); err != nil {
		return err
	}
	fmt.Println("not one wrong answer, and nothing left behind")
	return nil
}
