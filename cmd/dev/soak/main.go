// Command soak loads a real gateway process while everything it depends on fails: nodes hang, hang up and send HTML,
// Redis and PostgreSQL die, callers leave, the fee service lies, the plan is rewritten, and in the end it is told to
// stop under load. Every answer is checked, quotes by the Go client. It exits 0 only if no answer was wrong,
// not JSON or missing, and nothing was left behind.
package main

import (
	"context"
	"flag"
	"os"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/cli"
)

// size is how much a soak does, and what memory the gateway may come to meanwhile.
type size struct {
	duration time.Duration // of the outages together
	clients  int           // that ask once, each from a network of its own: memory grows with those
	burst    int           // requests while nodes hang up
	idlers   int           // clients that stay connected: more than the gateway accepts at a time
	limit    float64       // MiB, with hundreds of requests waiting for nodes that hang
	idle     float64       // MiB, with thousands of idle clients
}

func main() {
	much := size{clients: crowdSize, burst: 30_000, idlers: 5000, limit: 120, idle: 192}
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.DurationVar(&much.duration, "duration", 2*time.Minute, "length of the outages; the rest takes a minute")
	err := cli.Parse(flags, os.Args[1:], "Loads a gateway while everything it depends on fails.", os.Stdout)
	os.Exit(cli.Run("soak", err, func(ctx context.Context) error {
		dir, err := os.MkdirTemp("", "soak-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		binary, err := child.Build(ctx, dir)
		if err != nil {
			return err
		}
		return soak(ctx, ".", binary, much, os.Stdout)
	}, os.Stderr))
}
