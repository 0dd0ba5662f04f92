package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/shared/testkit/referee"
)

// soak breaks what the gateway depends on, one thing at a time, and stops the gateway under load. Progress and figures
// go to out. The error lists all that went wrong.
func soak(ctx context.Context, root, binary string, much size, out io.Writer) error {
	start := time.Now()
	w, err := newWorld(ctx, root, binary, func(format string, args ...any) {
		fmt.Fprintf(out, "%6.1fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	})
	defer w.close()
	for _, step := range []func(context.Context, size) error{w.live, w.idle, w.end} {
		if err == nil {
			err = step(ctx, much)
		}
	}
	fmt.Fprint(out, &w.tally)
	if err != nil {
		return errors.Join(err, w.tally.err(), fmt.Errorf("the log of the gateway ends with:\n%s", w.log.Tail()))
	}
	return w.verdict()
}

// live takes the gateway through all that can go wrong, and sees it well again.
func (w *world) live(ctx context.Context, much size) error {
	warm, cancel := context.WithTimeout(ctx, min(much.duration/4, 2*time.Second))
	defer cancel()
	w.drive(warm)
	before, err := w.quiet(ctx)
	if err != nil {
		return err
	}
	w.tell("warmed up: %v", before)
	if err := w.askFromEverywhere(ctx, much.clients); err != nil {
		return err
	}
	// What goes wrong between an answer and the end of its request does so once in thousands of answers.
	err = w.setNodes(hangingUp)
	w.rush(ctx, much.burst)
	if err := errors.Join(err, w.setNodes(working)); err != nil {
		return err
	}
	w.tell("asked %d times for what a node is needed, while nodes hang up", much.burst)

	loaded, unload := context.WithCancel(ctx)
	defer unload()
	var loads sync.WaitGroup
	loads.Go(func() { w.drive(loaded) })
	loads.Go(func() { w.rush(loaded, 0) })
	loads.Go(func() { w.overdraw(loaded) })
	err = w.breakThings(ctx, much.duration)
	if err == nil {
		err = eventually(ctx, "integrators are verified again", func() (bool, error) {
			answer, err := w.ask(w.heldQuestion(activeIntegrator(newRand())), w.newClient())
			return answer.Status == http.StatusOK, err
		})
	}
	unload()
	loads.Wait()
	if err == nil { // now, since the profiles that settle asks for take some memory themselves
		err = w.memory("under load", much.limit)
	}
	if err != nil {
		return err
	}
	after, err := w.settle(ctx, before)
	w.tell("afterwards: %v", after)
	return err
}

// memory tells what the gateway has come to so far, and holds it to a limit.
func (w *world) memory(when string, limit int64) error {
	peak, err := w.gateway.PeakMemory()
	w.tell("%s: %.1f MiB at most", when, mib(peak))
	if err == nil && peak > limit {
		err = fmt.Errorf("%s the gateway came to %.1f MiB, and may not exceed %.0f", when, mib(peak), mib(limit))
	}
	return err
}

// callers is how many connections a load comes over.
const callers = 8

// drive asks all kinds of questions until ctx ends, or until the gateway stops as it was told to.
func (w *world) drive(ctx context.Context) { w.crowd(ctx, callers, 0, w.question, 200, 50) }

// rush asks what a node is needed for, each time on another connection, until ctx ends or so many have asked. Half of
// the callers leave.
func (w *world) rush(ctx context.Context, requests int) {
	w.crowd(ctx, 2*callers, requests, w.slowQuestion, 1, 2)
}

// crowd asks. One in so many requests is the last of its connection, and one in so many is given up within 20 ms.
func (w *world) crowd(
	ctx context.Context, callers, requests int, ask func(*rand.Rand) question, last, leaves int,
) {
	next := func(int) load.Request {
		rng := newRand()
		q := ask(rng)
		request := w.request(q, rng.IntN(crowdSize))
		request.Last = rng.IntN(last) == 0
		if rng.IntN(leaves) == 0 {
			request.Leave = time.Duration(1+rng.IntN(20)) * time.Millisecond
			if q.asksForQuote() {
				w.tally.abandoned.Add(1)
			}
		}
		return request
	}
	_, _ = load.Run(ctx, w.gateway.Addr, callers, requests, next) // errors are in the tally
}

// overdraw asks more than one client may until ctx ends, and holds the gateway to its limit: a minute has perMinute
// answers and not one more, and a client that has some left is not refused.
func (w *world) overdraw(ctx context.Context) {
	type span struct{ sent, answered time.Time }
	var granted []span
	for ctx.Err() == nil {
		sent := time.Now()
		q := quoteQuestion(overTheLimit, "v3", w.judge.RandomSwap(newRand(), w.plainPair))
		answer, err := w.ask(q, overLimit)
		if err != nil {
			return
		}
		if answer.Status == http.StatusTooManyRequests {
			if len(granted) < perMinute {
				w.tally.fail("refused after %d requests of %d", len(granted), perMinute)
			}
			pause(ctx, 150*time.Millisecond) // more would be over the limit for everything
			continue
		}
		granted = append(granted, span{sent, time.Now()})
		first := len(granted) - 1 - perMinute
		if first >= 0 && granted[first+perMinute].answered.Sub(granted[first].sent) < time.Minute {
			w.tally.fail("%d requests were granted within a minute", perMinute+1)
		}
	}
}

// askFromEverywhere has so many clients ask the current version for a quote, and then the one that retires, each from a
// network of its own.
func (w *world) askFromEverywhere(ctx context.Context, clients int) error {
	swap := w.judge.RandomSwap(newRand(), w.plainPair)
	for _, version := range []string{"v3", w.retiring} {
		body, err := w.judge.Body(version, swap, referee.Terms{}, nil)
		if err != nil {
			return err
		}
		q := question{kind: version, target: swap.Target(version), part: string(body)}
		next := func(n int) load.Request { return w.request(q, n) }
		if _, err := load.Run(ctx, w.gateway.Addr, callers, clients, next); err != nil {
			return fmt.Errorf("%s from %d addresses: %w", version, clients, err)
		}
	}
	w.tell("asked from %d addresses", clients)
	return nil
}

// idle has thousands of clients ask once and stay connected. Others are answered all the same, and memory is bounded.
func (w *world) idle(ctx context.Context, much size) error {
	rng := newRand()
	for range much.idlers {
		conn, err := load.Dial(w.gateway.Addr)
		if err != nil {
			return err
		}
		defer conn.Close()
		request := w.request(w.plainQuestion(rng), rng.IntN(crowdSize))
		answer, err := conn.Ask(request)
		if err := errors.Join(request.Judge(answer, err), ctx.Err()); err != nil {
			return fmt.Errorf("a client that stays connected: %w", err)
		}
	}
	for range 200 {
		if _, err := w.ask(healthQuestion, w.newClient()); err != nil {
			return fmt.Errorf("a client that came after %d idle ones: %w", much.idlers, err)
		}
	}
	return w.memory(fmt.Sprintf("with %d clients that stay connected", much.idlers), much.idle)
}

// end stops the gateway while it is loaded and some requests wait for a node. They are answered, and later ones are
// refused in order.
func (w *world) end(ctx context.Context, _ size) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var asking sync.WaitGroup
	if err := w.setNodes(hung); err != nil {
		return err
	}
	for range 4 {
		integrator := activeIntegrator(newRand())
		asking.Go(func() { _, _ = w.ask(w.heldQuestion(integrator), w.newClient()) }) // an error is in the tally
		if err := eventually(ctx, "a request reaches a node", func() (bool, error) {
			_, waits := w.held.Load(integrator)
			return waits, nil
		}); err != nil {
			return err
		}
	}
	asking.Go(func() { w.drive(ctx) })
	pause(ctx, 100*time.Millisecond)
	w.stopping.Store(true)
	if err := w.gateway.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := eventually(ctx, "new connections are refused", func() (bool, error) {
		conn, err := net.Dial("tcp", w.gateway.Addr)
		if err != nil {
			return true, nil
		}
		return false, conn.Close()
	})
	err = errors.Join(err, w.setNodes(working))
	asking.Wait()
	select {
	case <-w.gateway.Done():
	case <-ctx.Done():
		return errors.New("the gateway does not end after SIGTERM")
	}
	w.tell("ended under load, with requests waiting for a node")
	if err := errors.Join(err, w.gateway.Wait()); err != nil {
		return fmt.Errorf("got %w after SIGTERM, want exit code 0", err)
	}
	return nil
}

// verdict finds what the judges of single answers cannot see, and adds it to what those found.
func (w *world) verdict() error {
	t := &w.tally
	logged, dropped := t.logged.Load(), t.dropped.Load()
	answered, abandoned := t.quoting.Load(), t.abandoned.Load()
	if logged+dropped < answered || logged > answered+abandoned {
		t.fail("the log knows of %d requests for a quote and dropped %d lines, while %d were answered and %d given up",
			logged, dropped, answered, abandoned)
	}
	for _, kind := range []string{aboutIntegrator, aboutStatus} {
		if t.answers["200 "+kind] == 0 || t.answers["503 "+kind] == 0 {
			t.fail("questions about %s did not show whether nodes fail", kind)
		}
	}
	if t.read.Load() == 0 || t.unread.Load() == 0 {
		t.fail("questions about accounts did not show whether nodes fail")
	}
	if w.issuer.asked < 2 {
		t.fail("the fee service was not asked")
	}
	return t.err()
}
