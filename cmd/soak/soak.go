package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/testdata/referee"
)

// memoryLimit is what a gateway may come to, with hundreds of requests waiting for nodes that hang.
const memoryLimit = 120 << 20

// soak breaks what the gateway depends on, one thing at a time, and stops the
// gateway under load.
// Progress and figures go to out. The error lists all that went wrong.
func soak(ctx context.Context, root, binary string, duration time.Duration, raced bool, out io.Writer) error {
	start := time.Now()
	tell := func(format string, args ...any) {
		fmt.Fprintf(out, "%6.1fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
	w, err := newWorld(ctx, root, binary, true)
	defer w.close()
	if err != nil {
		return err
	}
	if w.redis == nil {
		tell("NOT TESTED: Redis; install the package redis-server")
	}
	if w.postgres == nil {
		tell("NOT TESTED: PostgreSQL; install the package postgresql")
	}
	for _, version := range w.served.unjudged {
		tell("NOT TESTED: %s, which testdata/referee does not know", version)
	}
	switch {
	case w.served.retiring == "":
		tell("NOT TESTED: the plan; no older version is served that it could retire")
	case !w.planned:
		tell("NOT TESTED: this gateway follows no plan: GET /versions is not 200")
	}
	err = w.live(ctx, duration, raced, tell)
	if err == nil {
		err = w.idle(ctx, raced, tell)
	}
	if err == nil {
		err = w.end(ctx, tell)
	}
	fmt.Fprint(out, &w.tally)
	if err == nil {
		err = w.verdict()
	} else {
		err = fmt.Errorf("%w\nthe log of the gateway ends with:\n%s", err, w.log.Tail())
	}
	return errors.Join(append([]error{err}, w.tally.errors()...)...)
}

// live takes the gateway through all that can go wrong, and sees it well again.
func (w *world) live(ctx context.Context, duration time.Duration, raced bool, tell func(string, ...any)) error {
	warm, cancel := context.WithTimeout(ctx, min(duration/4, 2*time.Second))
	defer cancel()
	w.drive(warm)
	before, err := w.quiet(ctx)
	if err != nil {
		return err
	}
	tell("warmed up: %v", before)
	if err := w.askFromEverywhere(ctx, raced, tell); err != nil {
		return err
	}
	if err := w.burst(ctx, raced, tell); err != nil {
		return err
	}

	loaded, unload := context.WithCancel(ctx)
	defer unload()
	var load sync.WaitGroup
	load.Go(func() { w.drive(loaded) })
	load.Go(func() { w.overdraw(loaded) })
	load.Go(func() { w.leave(loaded) })
	err = w.breakThings(ctx, duration, func(name string) { tell("%s", name) })
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
	tell("all well again: %v; under load %.1f MiB at most", after, mib(peak))
	// The race detector's own memory is not the gateway's.
	if err == nil && !raced && peak > memoryLimit {
		err = fmt.Errorf("the gateway came to %.1f MiB, and may not exceed %.0f", mib(peak), mib(memoryLimit))
	}
	return err
}

// askFromEverywhere has every client of the crowd ask the current version for a quote,
// and then the one that retires, each from a network of its own: memory grows with
// those.
func (w *world) askFromEverywhere(ctx context.Context, raced bool, tell func(string, ...any)) error {
	clients := crowdSize
	if raced { // its memory is not judged
		clients /= 16
	}
	pair, err := w.judge.Find("USDC", 1, "USDC", 369)
	if err != nil {
		return err
	}
	swap := w.judge.RandomSwap(rand.New(rand.NewPCG(5, 5)), pair)
	versions := []string{"v3"}
	if w.served.retiring != "" {
		versions = append(versions, w.served.retiring)
	}
	for _, version := range versions {
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
	tell("asked from %d addresses: %.1f MiB at most", clients, mib(peak))
	return err
}

// burst asks what nodes are needed for as fast as it goes, while they hang up and half
// of the callers leave. What goes wrong between an answer and the end of its request
// does so once in thousands of answers.
func (w *world) burst(ctx context.Context, raced bool, tell func(string, ...any)) error {
	requests := int64(30_000)
	if raced {
		requests /= 4
	}
	for _, n := range w.nodes {
		n.set(hangingUp)
	}
	const conns = 16
	var asked atomic.Int64
	var all sync.WaitGroup
	for i := range conns {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(200+i), uint64(time.Now().UnixNano())))
			for ctx.Err() == nil {
				if asked.Add(1) > requests {
					return
				}
				if lives := w.burstOnce(rng, i%2 == 0); !lives {
					return
				}
			}
		})
	}
	all.Wait()
	for _, n := range w.nodes {
		n.set(working)
	}
	select {
	case <-w.gateway.Done():
		return fmt.Errorf("nodes hang up: the gateway has ended after %d answers: %v",
			w.tally.total(), w.gateway.Wait())
	default:
	}
	tell("asked %d times for what a node is needed, while nodes hang up", requests)
	return ctx.Err()
}

// burstOnce asks on a connection of its own, and tells whether the gateway lives. Who
// stays gets an answer, which is judged as all others are.
func (w *world) burstOnce(rng *rand.Rand, leaves bool) bool {
	q := w.slowQuestion(rng)
	client := load.ClientAddress(rng.IntN(crowdSize))
	if leaves {
		w.abandon(q, client, time.Duration(rng.IntN(21))*time.Millisecond)
	} else if !w.askAlone(q, client) {
		return false
	}
	select {
	case <-w.gateway.Done():
		return false
	default:
		return true
	}
}

// recovered waits until integrators can be verified again.
func (w *world) recovered(ctx context.Context) error {
	rng := rand.New(rand.NewPCG(11, 11))
	err := eventually(ctx, func() (bool, error) {
		q, _ := w.heldQuestion(rng)
		answer, err := w.askOnce(q.target)
		return answer.Status == http.StatusOK, err
	})
	if err != nil {
		return fmt.Errorf("integrators are still not verified after the nodes recovered: %w", err)
	}
	return nil
}

// heldQuestion needs an integrator that the gateway has not heard of, so that
// its answer is held up by the node.
func (w *world) heldQuestion(rng *rand.Rand) (question, common.Address) {
	swap := w.judge.RandomSwap(rng, w.pairs[0])
	integrator := randomIntegrator(rng, active)
	swap.Integrator = integrator.Hex()
	return question{"held", "GET", swap.Target("v3"), func(a load.Answer) error {
		return w.judgeIntegrator(a, swap, integrator)
	}}, integrator
}

// held is a request that is kept waiting for word of its integrator.
type held struct {
	integrator common.Address
	answered   atomic.Bool
}

// end stops the gateway while it is loaded and some requests wait for a node.
// They are answered, and what comes later is refused in order.
func (w *world) end(ctx context.Context, tell func(string, ...any)) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var asking sync.WaitGroup
	asking.Go(func() { w.drive(ctx) })
	for _, n := range w.nodes {
		n.set(hung)
	}
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
	for _, n := range w.nodes {
		n.set(working)
	}
	asking.Wait()
	select {
	case <-w.gateway.Done():
	case <-ctx.Done():
		return errors.New("the gateway does not end after SIGTERM")
	}
	tell("ended under load, with %d requests waiting for a node", len(waiting))
	for _, h := range waiting {
		if !h.answered.Load() {
			w.tally.fail("a request under way at SIGTERM was not answered")
		}
	}
	if err := w.gateway.Wait(); err != nil {
		return fmt.Errorf("got %w after SIGTERM, want exit code 0", err)
	}
	return nil
}

// hold asks what nodes are needed for, and returns the requests that wait for one.
func (w *world) hold(ctx context.Context, asking *sync.WaitGroup) (waiting []*held, err error) {
	rng := rand.New(rand.NewPCG(13, uint64(time.Now().UnixNano())))
	all := make([]held, 8)
	for i := range all {
		q, integrator := w.heldQuestion(rng)
		all[i].integrator = integrator
		client := load.ClientAddress(firstOfMany + int(w.newClients.Add(1)))
		asking.Go(func() { all[i].answered.Store(w.askAlone(q, client)) })
	}
	err = eventually(ctx, func() (bool, error) {
		waiting = w.waiting(all)
		return len(waiting) > 0, nil
	})
	if err != nil {
		return nil, fmt.Errorf("no request waits for a node: %w", err)
	}
	return waiting, nil
}

// waiting are those whose question has reached a node that does not answer.
func (w *world) waiting(all []held) (reached []*held) {
	for i := range all {
		for _, n := range w.nodes {
			if n.keptWaiting(all[i].integrator) {
				reached = append(reached, &all[i])
				break
			}
		}
	}
	return reached
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
	if w.planned && w.tally.count(w.served.retiring, http.StatusGone) == 0 {
		add("the plan was not felt")
	}
	return errors.Join(wrong...)
}

func (t *tally) errors() []error {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]error, len(t.failures))
	for i, text := range t.failures {
		all[i] = errors.New(strings.TrimSpace(text))
	}
	return all
}
