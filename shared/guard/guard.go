// Package guard keeps a panic from ending more than it must. Every goroutine
// that the service starts runs its work through Do: a panic there ends that piece
// of work, is logged with its stack, and is counted.
package guard

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// total counts the panics of the whole process.
var total atomic.Uint64

// Total is how many panics were caught since the process started.
func Total() uint64 { return total.Load() }

// Do runs work and returns when it is done, or has panicked. what names the work
// in the log.
func Do(log *slog.Logger, what string, work func()) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic", "in", what, "cause", Caught(p))
		}
	}()
	work()
}

// Every runs work again and again, with a pause before each time, until ctx ends.
func Every(ctx context.Context, pause time.Duration, log *slog.Logger, what string, work func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
			Do(log, what, work)
		}
	}
}

// Caught counts a panic that the caller has recovered from, and describes it with
// the stack of the goroutine.
func Caught(p any) error {
	total.Add(1)
	return fmt.Errorf("panic: %v\n%s", p, debug.Stack())
}
