// Command gateway serves swap quotes. It is configured by environment variables, all of them
// optional: see docs/operate. `gateway help` lists its other commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	_ "golang.org/x/crypto/x509roots/fallback" // for an image without system certificates

	"github.com/quotegate/quotegate/shared/safego"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	safego.WhenDone(ctx, nil, "taking a second signal", stop) // which then ends the process at once
	signal.Ignore(syscall.SIGPIPE)                            // or the process would end with the reader of its log
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
	safego.After(logTimeout, nil, "forced exit: the log writer is blocked", func() { os.Exit(code) })
	fmt.Fprintf(os.Stderr, "gateway: %v\n", err)
	os.Exit(code)
}
