package main

import (
	"bytes"
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
	w, err := newWorld(ctx, root, binary, true, func(format string, args ...any) {
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
	return errors.Join(w.verdict(), w.tally.err())
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
	w.setNodes(hangingUp)
	w.rush(ctx, much.burst)
	w.setNodes(working)
	w.tell("asked %d times for what a node is needed, while nodes hang up", much.burst)

	loaded, unload := context.WithCancel(ctx)
	defer unload()
	var loads sync.WaitGroup
	loads.Go(func() { w.drive(loaded) })
	loads.Go(func() { w.rush(loaded, 0) })
	loads.Go(func() { w.overdraw(loaded) })
	err = w.breakThings(ctx, much.duration)
	if err == nil {
		err = w.recovered(ctx)
	}
	unload()
	loads.Wait()
	if err != nil {
		return err
	}
	peak, err := w.gateway.PeakMemory() // now, since the profiles that settle asks for take some themselves
	if err != nil {
		return err
	}
	after, err := w.settle(ctx, before)
	w.tell("all well again: %v; under load %.1f MiB at most", after, mib(peak))
	if err == nil && peak > much.limit {
		err = fmt.Errorf("the gateway came to %.1f MiB, and may not exceed %.0f", mib(peak), mib(much.limit))
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

// crowd asks. One in so many requests is the last of its connection, and one in so many is not waited for.
func (w *world) crowd(
	ctx context.Context, callers, requests int, ask func(*rand.Rand) question, last, leaves int,
) {
	next := func(int) load.Request {
		rng := newRand()
		request := w.request(ask(rng), rng.IntN(crowdSize))
		request.Last = rng.IntN(last) == 0
		if rng.IntN(leaves) == 0 {
			return w.leave(request, rng)
		}
		return request
	}
	l := load.Load{Addr: w.gateway.Addr, Callers: callers, Requests: requests, Next: next}
	_, _ = l.Run(ctx) // errors are in the tally
}

// overdraw asks more than one client may until ctx ends, and holds the gateway to its limit: a minute has perMinute
// answers and not one more, and a client that has some left is not refused.
func (w *world) overdraw(ctx context.Context) {
	type span struct{ sent, answered time.Time }
	var granted []span
	for ctx.Err() == nil {
		swap := w.judge.RandomSwap(newRand(), w.plainPair)
		sent := time.Now()
		answer, err := w.ask(question{"over the limit", "", swap.Target("v3"), func(a load.Answer) error {
			if a.Status == http.StatusTooManyRequests {
				if len(granted) < perMinute {
					return fmt.Errorf("refused after %d requests of %d", len(granted), perMinute)
				}
				return isFault(a, http.StatusTooManyRequests, "RATE_LIMITED")
			}
			granted = append(granted, span{sent, time.Now()})
			first := len(granted) - 1 - perMinute
			if first >= 0 && granted[first+perMinute].answered.Sub(granted[first].sent) < time.Minute {
				return fmt.Errorf("%d requests were granted within a minute", perMinute+1)
			}
			return w.isQuote(a, "v3", swap, 0)
		}}, overLimit)
		if err != nil {
			return
		}
		if answer.Status == http.StatusTooManyRequests {
			pause(ctx, 150*time.Millisecond) // more would be over the limit for everything
		}
	}
}

// askFromEverywhere has so many clients ask the current version for a quote, and then the one that retires, each from a
// network of its own.
func (w *world) askFromEverywhere(ctx context.Context, clients int) error {
	swap := w.judge.RandomSwap(newRand(), w.plainPair)
	for _, version := range []string{"v3", w.retiring} {
		if version == "" {
			continue
		}
		body, err := w.judge.Body(version, swap, referee.Terms{}, nil)
		if err != nil {
			return err
		}
		q := question{version, "", swap.Target(version), func(a load.Answer) error {
			if a.Status != http.StatusOK || !bytes.Equal(a.Body, body) {
				return fmt.Errorf("got %d %s\nwant %s", a.Status, a.Body, body)
			}
			return nil
		}}
		next := func(n int) load.Request { return w.request(q, n) }
		_, err = load.Load{Addr: w.gateway.Addr, Callers: callers, Requests: clients, Next: next}.Run(ctx)
		if err != nil {
			return fmt.Errorf("%s from %d addresses: %w", version, clients, err)
		}
	}
	peak, err := w.gateway.PeakMemory()
	w.tell("asked from %d addresses: %.1f MiB at most", clients, mib(peak))
	return err
}

// recovered waits until integrators can be verified again.
func (w *world) recovered(ctx context.Context) error {
	rng := newRand()
	err := eventually(ctx, func() (bool, error) {
		answer, err := w.ask(w.heldQuestion(randomIntegrator(rng, active)), w.newClient())
		return answer.Status == http.StatusOK, err
	})
	if err != nil {
		return fmt.Errorf("integrators are still not verified after the nodes recovered: %w", err)
	}
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
		request := w.request(w.quoteQuestion(rng), rng.IntN(crowdSize))
		answer, err := conn.Ask(request)
		if err := request.Judge(answer, err); err != nil {
			return fmt.Errorf("a client that stays connected: %w", err)
		}
	}
	for range 200 {
		if _, err := w.ask(w.healthQuestion(), w.newClient()); err != nil {
			return fmt.Errorf("a client that came after %d idle ones: %w", much.idlers, err)
		}
	}
	peak, err := w.gateway.PeakMemory()
	if err != nil {
		return err
	}
	w.tell("%d clients stay connected: %.1f MiB at most", much.idlers, mib(peak))
	if peak > much.idle {
		return fmt.Errorf("with %d idle clients the gateway came to %.1f MiB, and may not exceed %.0f",
			much.idlers, mib(peak), mib(much.idle))
	}
	return ctx.Err()
}

// end stops the gateway while it is loaded and some requests wait for a node. They are answered, and later ones are
// refused in order.
func (w *world) end(ctx context.Context, _ size) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var asking sync.WaitGroup
	w.setNodes(hung)
	for range 4 {
		integrator := randomIntegrator(newRand(), active)
		asking.Go(func() { _, _ = w.ask(w.heldQuestion(integrator), w.newClient()) }) // an error is in the tally
		err := eventually(ctx, func() (bool, error) {
			_, waits := w.held.Load(integrator)
			return waits, nil
		})
		if err != nil {
			return fmt.Errorf("a request does not reach a node: %w", err)
		}
	}
	asking.Go(func() { w.drive(ctx) })
	pause(ctx, 100*time.Millisecond)
	w.stopping.Store(true)
	if err := w.gateway.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := eventually(ctx, func() (bool, error) {
		conn, err := net.Dial("tcp", w.gateway.Addr)
		if err != nil {
			return true, nil
		}
		return false, conn.Close()
	})
	if err != nil {
		return fmt.Errorf("new connections are still accepted: %w", err)
	}
	w.setNodes(working)
	asking.Wait()
	select {
	case <-w.gateway.Done():
	case <-ctx.Done():
		return errors.New("the gateway does not end after SIGTERM")
	}
	w.tell("ended under load, with requests waiting for a node")
	if err := w.gateway.Wait(); err != nil {
		return fmt.Errorf("got %w after SIGTERM, want exit code 0", err)
	}
	return nil
}

// verdict finds what the judges of single answers cannot see.
func (w *world) verdict() error {
	var wrong []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	t := &w.tally
	logged, dropped := t.logged.Load(), t.dropped.Load()
	answered, abandoned := t.quoting.Load(), t.abandoned.Load()
	need(logged+dropped >= answered && logged <= answered+abandoned, "the log knows of %d requests for a quote "+
		"and dropped %d lines, while %d were answered and %d given up", logged, dropped, answered, abandoned)
	for _, kind := range []string{"integrator", "checks", "simulation", "status"} {
		need(t.count(kind, http.StatusOK) > 0, "nobody was answered about %s", kind)
	}
	for _, kind := range []string{"integrator", "status"} {
		need(t.count(kind, http.StatusServiceUnavailable) > 0, "the outages of the nodes did not show in %s", kind)
	}
	need(t.unchecked.Load() > 0 && t.checkedAccounts.Load() > 0, "the outages of the nodes did not show in accounts")
	need(w.issuer.asked >= 2 && len(w.issuer.stated) > 0, "the fee service was asked %d times", w.issuer.asked)
	need(w.retiring == "" || t.count(w.retiring, http.StatusGone) > 0, "the plan had no effect")
	return errors.Join(wrong...)
}
