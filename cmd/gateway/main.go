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
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // or the process would end with the reader of its log
	err := execute(ctx, invocation{os.Args[1:], newEnvironment(os.Environ()), os.Stdout, os.Stderr})
	if err == nil {
		return
	}
	complain(err)
	var usage usageError
	if errors.As(err, &usage) {
		os.Exit(2)
	}
	os.Exit(1)
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
