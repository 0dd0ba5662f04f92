package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/shared/testkit/referee"
)

// size is how much a soak does, and what memory the gateway may come to meanwhile.
type size struct {
	duration time.Duration // of the outages together
	clients  int           // that ask once, each from a network of its own: memory grows with those
	burst    int64         // requests while nodes hang up
	idlers   int           // clients that stay connected
	limit    int64         // bytes, with hundreds of requests waiting for nodes that hang
	idle     int64         // bytes, with thousands of idle clients
}

// full is what the command does.
func full(duration time.Duration) size {
	return size{
		duration: duration, clients: crowdSize, burst: 30_000, idlers: tooMany, limit: 120 << 20, idle: 192 << 20,
	}
}

// raced is what it does with the race detector, which is slow and has memory of its own.
func raced(duration time.Duration) size {
	return size{
		duration: duration, clients: crowdSize / 16, burst: 7500,
		idlers: tooMany, limit: math.MaxInt64, idle: math.MaxInt64,
	}
}

// soak breaks what the gateway depends on, one thing at a time, and stops the
// gateway under load.
// Progress and figures go to out. The error lists all that went wrong.
func soak(ctx context.Context, root, binary string, much size, out io.Writer) error {
	start := time.Now()
	w, err := newWorld(ctx, root, binary, true, func(format string, args ...any) {
		fmt.Fprintf(out, "%6.1fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	})
	defer w.close()
	if err != nil {
		return err
	}
	err = w.live(ctx, much)
	if err == nil {
		err = w.idle(ctx, much.idlers, much.idle)
	}
	if err == nil {
		err = w.end(ctx)
	}
	fmt.Fprint(out, &w.tally)
	if err == nil {
		err = w.verdict()
	} else {
		err = fmt.Errorf("%w\nthe log of the gateway ends with:\n%s", err, w.log.Tail())
	}
	return errors.Join(err, w.tally.err())
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
	if err := w.burst(ctx, much.burst); err != nil {
		return err
	}

	loaded, unload := context.WithCancel(ctx)
	defer unload()
	var load sync.WaitGroup
	load.Go(func() { w.drive(loaded) })
	load.Go(func() { w.overdraw(loaded) })
	load.Go(func() { w.rush(loaded, math.MaxInt64) })
	err = w.breakThings(ctx, much.duration)
	if err == nil {
		err = w.recovered(ctx)
	}
	unload()
	load.Wait()
	if err != nil {
		return err
	}
	_, peak, err := w.gateway.Memory() // now, since the profiles that settle asks for take some themselves
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

// askFromEverywhere has so many clients ask the current version for a quote, and then the
// one that retires, each from a network of its own.
func (w *world) askFromEverywhere(ctx context.Context, clients int) error {
	swap := w.judge.RandomSwap(rand.New(rand.NewPCG(5, 5)), w.plainPair)
	for _, version := range []string{"v3", w.retiring} {
		if version == "" {
			continue
		}
		body, err := w.judge.Body(version, swap, referee.Terms{}, referee.Note())
		if err != nil {
			return err
		}
		cases := []load.Case{{Target: swap.Target(version), Body: body}}
		got, err := load.Run(ctx, w.gateway.Addr, cases, load.Options{
			Conns:    workers,
			Duration: 10 * time.Minute,
			Requests: clients,
			Clients:  clients,
		})
		if err != nil {
			return fmt.Errorf("%s from %d addresses: %w", version, clients, err)
		}
		w.tally.quoting.Add(int64(got.Requests))
	}
	_, peak, err := w.gateway.Memory()
	w.tell("asked from %d addresses: %.1f MiB at most", clients, mib(peak))
	return err
}

// burst asks what nodes are needed for as fast as it goes, while they hang up and half
// of the callers leave. What goes wrong between an answer and the end of its request
// does so once in thousands of answers.
func (w *world) burst(ctx context.Context, requests int64) error {
	w.setNodes(hangingUp)
	w.rush(ctx, requests)
	w.setNodes(working)
	select {
	case <-w.gateway.Done():
		return fmt.Errorf("nodes hang up: the gateway has ended: %v", w.gateway.Wait())
	default:
	}
	w.tell("asked %d times for what a node is needed, while nodes hang up", requests)
	return ctx.Err()
}

// recovered waits until integrators can be verified again.
func (w *world) recovered(ctx context.Context) error {
	rng := rand.New(rand.NewPCG(11, 11))
	err := eventually(ctx, func() (bool, error) {
		answer, err := w.askOnce(w.heldQuestion(randomIntegrator(rng, active)).target)
		return answer.Status == http.StatusOK, err
	})
	if err != nil {
		return fmt.Errorf("integrators are still not verified after the nodes recovered: %w", err)
	}
	return nil
}

// heldQuestion needs an integrator that the gateway has not heard of, so that
// its answer is held up by the node.
func (w *world) heldQuestion(integrator common.Address) question {
	swap := w.judge.RandomSwap(rand.New(rand.NewPCG(13, 13)), w.pairs[0])
	swap.Integrator = integrator.Hex()
	return question{"held", "GET", swap.Target("v3"), func(a load.Answer) error {
		return w.judgeIntegrator(a, swap, integrator)
	}}
}

// end stops the gateway while it is loaded and some requests wait for a node.
// They are answered, and what comes later is refused in order.
func (w *world) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var asking sync.WaitGroup
	asking.Go(func() { w.drive(ctx) })
	w.setNodes(hung)
	waiting, err := w.hold(ctx, &asking)
	if err != nil {
		return err
	}
	w.stopping.Store(true)
	if err := w.gateway.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := eventually(ctx, w.refusesConnections); err != nil {
		return fmt.Errorf("new connections are still accepted: %w", err)
	}
	w.setNodes(working)
	asking.Wait()
	select {
	case <-w.gateway.Done():
	case <-ctx.Done():
		return errors.New("the gateway does not end after SIGTERM")
	}
	w.tell("ended under load, with %d requests waiting for a node", len(waiting))
	for _, answered := range waiting {
		if !answered.Load() {
			w.tally.fail("a request under way at SIGTERM was not answered")
		}
	}
	if err := w.gateway.Wait(); err != nil {
		return fmt.Errorf("got %w after SIGTERM, want exit code 0", err)
	}
	return nil
}

// hold asks what nodes are needed for until a request waits for one, and gives for all that do whether they are
// answered.
func (w *world) hold(ctx context.Context, asking *sync.WaitGroup) (waiting []*atomic.Bool, err error) {
	rng := rand.New(rand.NewPCG(13, uint64(time.Now().UnixNano())))
	all := map[common.Address]*atomic.Bool{}
	for range 8 {
		integrator := randomIntegrator(rng, active)
		answered := new(atomic.Bool)
		all[integrator] = answered
		asking.Go(func() { answered.Store(w.askAlone(w.heldQuestion(integrator), w.newClient())) })
	}
	err = eventually(ctx, func() (bool, error) {
		for integrator, answered := range all {
			if w.keptWaiting(integrator) {
				waiting = append(waiting, answered)
			}
		}
		return len(waiting) > 0, nil
	})
	if err != nil {
		return nil, fmt.Errorf("no request waits for a node: %w", err)
	}
	return waiting, nil
}

// keptWaiting tells whether a question about an integrator has reached a node that does not answer.
func (w *world) keptWaiting(integrator common.Address) bool {
	for _, n := range w.nodes {
		if _, ok := n.asked.Load(integrator); ok {
			return true
		}
	}
	return false
}

func (w *world) refusesConnections() (bool, error) {
	conn, err := net.Dial("tcp", w.gateway.Addr)
	if err != nil {
		return true, nil
	}
	conn.Close()
	return false, nil
}

// verdict finds what the judges of single answers cannot see.
func (w *world) verdict() error {
	var wrong []error
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	logged, dropped := w.tally.logged.Load(), w.tally.dropped.Load()
	answered, abandoned := w.tally.quoting.Load(), w.tally.abandoned.Load()
	if logged+dropped < answered || logged > answered+abandoned {
		add("the gateway's log knows of %d requests for a quote and dropped %d lines, "+
			"while %d were answered and %d given up", logged, dropped, answered, abandoned)
	}
	unavailable := func(kind string) int { return w.tally.count(kind, http.StatusServiceUnavailable) }
	if w.tally.count("integrator", http.StatusOK) == 0 || unavailable("integrator") == 0 {
		add("the nodes' outages were not felt")
	}
	for _, kind := range []string{"checks", "simulation", "status"} {
		if w.tally.count(kind, http.StatusOK) == 0 {
			add("nobody was answered about %s", kind)
		}
	}
	if unavailable("status") == 0 || w.tally.unchecked.Load() == 0 || w.tally.checkedAccounts.Load() == 0 {
		add("the nodes' outages were not felt in the status of swaps, or in what accounts have")
	}
	if truths := len(w.issuer.stated); truths == 0 || w.issuer.asked.Load() < 2 {
		add("the fee service was asked %d times and told the truth about %d domains", w.issuer.asked.Load(), truths)
	}
	if w.retiring != "" && w.tally.count(w.retiring, http.StatusGone) == 0 {
		add("the plan was not felt")
	}
	return errors.Join(wrong...)
}
