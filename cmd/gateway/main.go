// Command gateway serves swap quotes. Environment variables configure it, and all
// are optional: see docs/operate. `gateway help` lists the commands beside it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/quotegate/quotegate/shared/guard"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // or the process would end with the reader of its log
	err := execute(ctx, invocation{
		args:   os.Args[1:],
		env:    newEnvironment(os.Environ()),
		stdout: os.Stdout,
		stderr: os.Stderr,
	})
	if err == nil {
		return
	}
	code := 1
	if _, wrong := errors.AsType[usageError](err); wrong {
		code = 2
	}
	guard.After(logTimeout, nil, "ending, although nobody reads why", func() { os.Exit(code) })
	fmt.Fprintf(os.Stderr, "gateway: %v\n", err)
	os.Exit(code)
}
