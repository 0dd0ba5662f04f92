// Command gateway serves swap quotes. Environment variables configure it, and all
// are optional: see the README.
//
//	gateway                                serves
//	gateway plan check FILE [-at TIME]     checks a retirement plan and shows its timeline
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/chain"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // or the process would end with the reader of its log
	if err := command(ctx, os.Args[1:]); err != nil {
		complain(err)
		os.Exit(1)
	}
}

// complain says why the command ends, unless nobody reads that.
func complain(err error) {
	said := make(chan struct{})
	go func() {
		fmt.Fprintf(os.Stderr, "gateway: %v\n", err)
		close(said)
	}()
	select {
	case <-said:
	case <-time.After(logTimeout):
	}
}

func command(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0:
		defer holdSpareHeap()()
		return run(ctx, newEnvironment(os.Environ()), os.Stderr, func(string, string) {})
	case len(args) >= 2 && args[0] == "plan" && args[1] == "check":
		versions := gateway.Names(gateway.Modules(gateway.Core{Deployment: chain.Reference()}))
		return lifecycle.CheckCommand(args[2:], versions, os.Stdout, time.Now())
	}
	return errors.New("unknown command; `gateway` serves, `gateway plan check FILE [-at TIME]` checks a retirement plan")
}

// version is the one that Go has stamped into the program: a module version, or
// the commit of a checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}
