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
)

// soak breaks what the gateway depends on, one thing at a time, and stops the gateway under load. Progress and figures
// go to out. It ends soon after something went wrong; the error lists all that did.
func soak(ctx context.Context, root, binary string, much size, out io.Writer) error {
	start := time.Now()
	w, err := newWorld(ctx, root, binary, func(format string, args ...any) {
		fmt.Fprintf(out, "%6.1fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	})
	defer w.close()
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context, size){w.live, w.idle, w.end} {
		if w.isWell(ctx) {
			step(ctx, much)
		}
	}
	if w.isWell(ctx) {
		w.tally.verdict()
	}
	fmt.Fprint(out, &w.tally)
	if err := errors.Join(w.tally.err(), ctx.Err()); err != nil {
		return fmt.Errorf("%w\nthe log of the gateway ends with:\n%s", err, w.log.Tail())
	}
	fmt.Fprintln(out, "not one wrong answer, and nothing left behind")
	return nil
}

// live takes the gateway through all that can go wrong, and sees it well again.
func (w *world) live(ctx context.Context, much size) {
	warm, cancel := context.WithTimeout(ctx, min(much.duration/4, 2*time.Second))
	defer cancel()
	w.drive(warm)
	before := w.quiet(ctx)
	w.tell("warmed up: %v", before)
	w.askFromEverywhere(ctx, much.clients)
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
	loads.Go(func() { w.harass(ctx) })
	w.breakThings(ctx, much.duration)
	w.eventually(ctx, "integrators are verified again", func() bool {
		answer, _ := w.ask(w.heldQuestion(), w.newClient())
		return answer.Status == http.StatusOK
	})
	unload()
	loads.Wait()
	w.memory("under load", much.limit) // now, since the profiles that settle asks for take some memory themselves
	w.tell("afterwards: %v", w.settle(ctx, before))
}

// memory tells what the gateway has come to so far, and holds it to a limit, in MiB.
func (w *world) memory(when string, limit float64) {
	bytes, err := w.gateway.PeakMemory()
	w.tally.note(err)
	peak := float64(bytes) / (1 << 20)
	w.tell("%s: %.1f MiB at most", when, peak)
	if peak > limit {
		w.tally.fail("%s the gateway came to %.1f MiB, and may not exceed %.0f", when, peak, limit)
	}
}

// callers is how many connections a load comes over.
const callers = 8

// drive asks all kinds of questions until ctx ends, or until the gateway stops as it was told to.
func (w *world) drive(ctx context.Context) { w.crowd(ctx, callers, 0, w.question, 50) }

// rush asks what a node is needed for, each time on another connection, until ctx ends or so many have asked.
func (w *world) rush(ctx context.Context, requests int) {
	w.crowd(ctx, 2*callers, requests, w.slowQuestion, 1)
}

// crowd asks. One in so many requests is the last of its connection, and half of those are given up within 20 ms.
func (w *world) crowd(ctx context.Context, callers, requests int, ask func(*rand.Rand) question, last int) {
	next := func(int) load.Request {
		rng := newRand()
		q := ask(rng)
		request := w.request(q, rng.IntN(crowdSize))
		request.Last = rng.IntN(last) == 0
		if request.Last && rng.IntN(2) == 0 {
			request.Leave = time.Duration(1+rng.IntN(20)) * time.Millisecond
			if q.asksForQuote() {
				w.tally.count(givenUp, 1)
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
		q := w.quoteQuestion(overTheLimit, "v3", newRand(), isPlain)
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
func (w *world) askFromEverywhere(ctx context.Context, clients int) {
	for _, version := range []string{"v3", w.retiring} {
		asked := w.quoteQuestion(version, version, newRand(), isPlain)
		checked, err := w.ask(asked, w.newClient())
		w.tally.note(err)
		q := question{kind: version, target: asked.target, part: string(checked.Body)}
		next := func(n int) load.Request { return w.request(q, n) }
		_, _ = load.Run(ctx, w.gateway.Addr, callers, clients, next) // errors are in the tally
	}
	w.tell("asked from %d addresses", clients)
}

// idle has thousands of clients ask once and stay connected. Others are answered all the same, and memory is bounded.
func (w *world) idle(ctx context.Context, much size) {
	rng := newRand()
	for range much.idlers {
		conn := load.Conn{Addr: w.gateway.Addr}
		defer conn.Close()
		_, err := conn.Ask(w.request(w.plainQuestion(rng), rng.IntN(crowdSize)))
		if err != nil || ctx.Err() != nil {
			return
		}
	}
	for range 200 {
		_, _ = w.ask(healthQuestion, w.newClient()) // an error is in the tally
	}
	w.memory(fmt.Sprintf("with %d clients that stay connected", much.idlers), much.idle)
}

// end stops the gateway while it is loaded and some requests wait for a node. They are answered, and later ones are
// refused in order.
func (w *world) end(ctx context.Context, _ size) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var asking sync.WaitGroup
	w.setNodes(hung)
	for range 4 {
		q := w.heldQuestion()
		asking.Go(func() { _, _ = w.ask(q, w.newClient()) }) // an error is in the tally
		w.eventually(ctx, "a request reaches a node", func() bool {
			_, waits := w.held.Load(q.swap.Integrator)
			return waits
		})
	}
	asking.Go(func() { w.drive(ctx) })
	pause(ctx, 100*time.Millisecond)
	w.stopping.Store(true)
	w.tally.note(w.gateway.Signal(syscall.SIGTERM))
	w.eventually(ctx, "new connections are refused", func() bool {
		conn, err := net.Dial("tcp", w.gateway.Addr)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	w.setNodes(working)
	asking.Wait()
	w.tally.note(w.gateway.Wait())
	if w.issuer.asked.Load() < 2 {
		w.tally.fail("the fee service was not asked")
	}
	w.tell("ended under load, with requests waiting for a node")
}
