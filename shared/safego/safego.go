// Package safego keeps a panic from ending more than it must: it ends one piece of
// work, is logged with its stack, and is counted.
//
// It is the only place of the service that starts goroutines; a test of the source
// refuses any other.
//
// A nil log is the default one.
package safego

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
)

// total counts the panics of the whole process.
var total atomic.Uint64

// Panics is how many panics were caught since the process started.
func Panics() uint64 { return total.Load() }

// Do runs work and returns when it is done, or has panicked. what names the work
// in the log.
func Do(log *slog.Logger, what string, work func()) {
	_ = Try(log, what, func() error {
		work()
		return nil
	})
}

// Try runs work as Do does. A panic is an error, whose text says no more than what
// panicked.
func Try(log *slog.Logger, what string, work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			report(log, what, p)
			err = fmt.Errorf("internal error: %s panicked; see the log", what)
		}
	}()
	return work()
}

// report logs and counts a panic, also if the log panics too.
func report(log *slog.Logger, what string, p any) {
	defer func() { _ = recover() }()
	cause := PanicError(p)
	cmp.Or(log, slog.Default()).Error("panic", "in", what, "cause", cause)
}

// PanicError counts a panic that the caller has recovered from, and describes it with
// the stack of the goroutine.
func PanicError(p any) error {
	total.Add(1)
	return fmt.Errorf("panic: %v\n%s", p, debug.Stack())
}

// Go runs work in a goroutine of its own, as Do does.
func Go(log *slog.Logger, what string, work func()) {
	go Do(log, what, work)
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

// After runs work once, after a pause, unless the timer is stopped before.
func After(pause time.Duration, log *slog.Logger, what string, work func()) *time.Timer {
	return time.AfterFunc(pause, func() { Do(log, what, work) })
}

// WhenDone runs work once ctx has ended, unless stop is called before. It is
// context.AfterFunc.
func WhenDone(ctx context.Context, log *slog.Logger, what string, work func()) (stop func() bool) {
	return context.AfterFunc(ctx, func() { Do(log, what, work) })
}

// Group is a group of goroutines that are waited for together. Its zero value is
// ready for use.
type Group struct{ running sync.WaitGroup }

// Go runs work in a goroutine of the group, as Do does.
func (g *Group) Go(log *slog.Logger, what string, work func()) {
	g.running.Go(func() { Do(log, what, work) })
}

// Wait waits until all work of the group is done, or has panicked.
func (g *Group) Wait() { g.running.Wait() }

// Singleflight answers a question once for all callers that ask it at the same time. A
// caller that gives up does not end it for the others. Its zero value is ready for
// use.
type Singleflight[V any] struct{ group singleflight.Group }

// Ask waits for the answer to the question that key stands for, until ctx ends. If
// the question is not under way, ask answers it, as Try does.
func (f *Singleflight[V]) Ask(
	ctx context.Context, log *slog.Logger, what, key string, ask func() (V, error),
) (v V, err error) {
	select {
	case got := <-f.Start(log, what, key, ask):
		v, _ = got.Val.(V)
		return v, got.Err
	case <-ctx.Done():
		return v, ctx.Err()
	}
}

// Start is Ask without waiting.
func (f *Singleflight[V]) Start(log *slog.Logger, what, key string, ask func() (V, error)) <-chan singleflight.Result {
	return f.group.DoChan(key, func() (any, error) {
		var answer V
		err := Try(log, what, func() (err error) {
			answer, err = ask()
			return err
		})
		return answer, err
	})
}
