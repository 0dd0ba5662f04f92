package gateway

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func newDeadline(parent context.Context, at time.Time) *deadline {
	return &deadline{parent: parent, at: at}
}

// answers are all that a context says of itself, and what one made of it says.
type answers struct {
	deadline     time.Duration // after the one that was asked for
	has          bool
	done         bool
	err, cause   error
	value        any
	child, later error // of children that were made before the end, and after
}

type key struct{}

var errParent = errors.New("the cause of the parent")

// TestDeadline compares with the standard library: whatever ends the context, and
// whatever it was asked before, both say the same.
func TestDeadline(t *testing.T) {
	parents := map[string]func() (context.Context, context.CancelCauseFunc){
		"plain": func() (context.Context, context.CancelCauseFunc) {
			return context.WithCancelCause(context.Background())
		},
		"with a value": func() (context.Context, context.CancelCauseFunc) {
			return context.WithCancelCause(context.WithValue(context.Background(), key{}, "a value"))
		},
		"that ends earlier": func() (context.Context, context.CancelCauseFunc) {
			soon, release := context.WithTimeout(context.Background(), requestTimeout/2)
			context.AfterFunc(soon, release)
			return context.WithCancelCause(soon)
		},
		"that has ended": func() (context.Context, context.CancelCauseFunc) {
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(errParent)
			return ctx, cancel
		},
	}
	ends := map[string]func(release func(), cancel context.CancelCauseFunc){
		"not":                 func(func(), context.CancelCauseFunc) { time.Sleep(requestTimeout/2 - 1) },
		"its time":            func(func(), context.CancelCauseFunc) { time.Sleep(requestTimeout) },
		"the client":          func(_ func(), cancel context.CancelCauseFunc) { cancel(errParent) },
		"the answer":          func(release func(), _ context.CancelCauseFunc) { release(); release() },
		"answer, then client": func(release func(), cancel context.CancelCauseFunc) { release(); cancel(errParent) },
		"client, then answer": func(release func(), cancel context.CancelCauseFunc) { cancel(errParent); release() },
		"time, then answer":   func(release func(), _ context.CancelCauseFunc) { time.Sleep(requestTimeout + 1); release() },
	}
	before := map[string]func(context.Context){
		"nothing":  func(context.Context) {},
		"Done":     func(ctx context.Context) { ctx.Done() },
		"Err":      func(ctx context.Context) { _ = ctx.Err() },
		"Deadline": func(ctx context.Context) { ctx.Deadline() },
		"Value":    func(ctx context.Context) { ctx.Value(key{}) },
	}
	for parentName, parent := range parents {
		for endName, end := range ends {
			for askedName, asked := range before {
				t.Run(parentName+"/ended by "+endName+"/asked "+askedName, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						at := time.Now().Add(requestTimeout)
						ctx, cancel := parent()
						want := interview(ctx, cancel, at, asked, end, func(p context.Context) (context.Context, func()) {
							ctx, release := context.WithDeadline(p, at)
							return ctx, release
						})
						synctest.Wait()
						time.Sleep(requestTimeout) // for timers that nobody stopped
						at = time.Now().Add(requestTimeout)
						ctx, cancel = parent()
						got := interview(ctx, cancel, at, asked, end, func(p context.Context) (context.Context, func()) {
							d := newDeadline(p, at)
							return d, d.release
						})
						if got != want {
							t.Errorf("got %+v, want %+v", got, want)
						}
						time.Sleep(requestTimeout)
					})
				})
			}
		}
	}
}

// interview makes a context, has it end, and asks it everything.
func interview(parent context.Context, cancel context.CancelCauseFunc, at time.Time, asked func(context.Context),
	end func(func(), context.CancelCauseFunc), make func(context.Context) (context.Context, func())) (a answers) {
	defer cancel(nil)
	ctx, release := make(parent)
	defer release()
	asked(ctx)
	early, stop := context.WithCancel(ctx)
	defer stop()
	end(release, cancel)
	synctest.Wait()
	late, stop := context.WithTimeout(ctx, time.Hour)
	defer stop()
	synctest.Wait()
	ends, has := ctx.Deadline()
	a.deadline, a.has = ends.Sub(at), has
	select {
	case <-ctx.Done():
		a.done = true
	default:
	}
	a.err, a.cause, a.value = ctx.Err(), context.Cause(ctx), ctx.Value(key{})
	a.child, a.later = early.Err(), late.Err()
	return a
}

// TestContract derives children before, during and after the end, from many goroutines
// and thousands of times. The standard library panics, where nothing can recover, if it
// finds a context that is done and has no error. It is run with the race detector.
func TestContract(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	for round := range rounds {
		parent, cancel := context.WithCancelCause(context.Background())
		at := time.Now().Add(time.Hour)
		if round%4 == 0 {
			at = time.Now().Add(time.Duration(rand.IntN(200)) * time.Microsecond)
		}
		d := newDeadline(parent, at)
		var all sync.WaitGroup
		begin := make(chan struct{})
		for i := range 4 {
			all.Go(func() {
				if i%2 == 0 {
					<-begin
				}
				for range 8 {
					derive(t, d)
				}
			})
		}
		all.Go(func() {
			<-begin
			if round%3 == 0 {
				cancel(errParent)
			}
			d.release()
		})
		close(begin)
		all.Wait()
		derive(t, d)
		if d.Err() == nil || context.Cause(d) == nil {
			t.Fatalf("after the end: %v, caused by %v", d.Err(), context.Cause(d))
		}
		cancel(nil)
	}
}

// derive makes contexts of every kind of one that may end meanwhile, and sees that
// each ends with it, and not before.
func derive(t *testing.T, ctx context.Context) {
	plain, stop := context.WithCancel(ctx)
	defer stop()
	timed, stop := context.WithTimeout(context.WithValue(ctx, key{}, 1), time.Hour)
	defer stop()
	caused, stopCause := context.WithCancelCause(foreign{ctx}) // one that the standard library watches from a goroutine
	defer stopCause(nil)
	grandchild, stop := context.WithCancel(timed)
	defer stop()
	called := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() { close(called) })
	for _, c := range []context.Context{ctx, plain, timed, caused, grandchild} {
		if c.Err() != nil {
			select {
			case <-c.Done():
			default:
				t.Error("it has an error, and is not done")
			}
		}
		select {
		case <-c.Done():
			if c.Err() == nil || context.Cause(c) == nil {
				t.Errorf("it is done with the error %v and the cause %v", c.Err(), context.Cause(c))
			}
		default:
		}
	}
	select {
	case <-ctx.Done():
		<-plain.Done()
		<-timed.Done()
		<-caused.Done()
		<-grandchild.Done()
		if !unhook() {
			<-called
		}
	default:
		unhook()
	}
}

// foreign hides that a context is one of the standard library's.
type foreign struct{ context.Context }

func (foreign) Value(any) any { return nil }
