package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/load"
)

// workers is how many connections the crowd comes over.
const workers = 8

// each runs n of them at once, each with random numbers of its own, until all have ended.
func each(n int, run func(i int, rng *rand.Rand)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { run(i, rand.New(rand.NewPCG(uint64(i), uint64(time.Now().UnixNano())))) })
	}
	all.Wait()
}

// drive keeps the gateway busy until ctx ends, or until it stops as it was told to.
func (w *world) drive(ctx context.Context) {
	each(workers, func(_ int, rng *rand.Rand) { w.work(ctx, rng) })
}

// work asks one question after the other. Connections come and go.
func (w *world) work(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		conn, err := load.Dial(w.gateway.Addr)
		if err != nil {
			if !w.stopping.Load() {
				w.tally.fail("connecting: %v", err)
			}
			return
		}
		err = w.converse(ctx, conn, rng)
		conn.Close()
		if err == nil {
			continue
		}
		if w.stopping.Load() && errors.Is(err, load.ErrUnanswered) {
			return
		}
		w.tally.fail("%v", err)
	}
}

// converse asks on one connection, about 200 questions.
func (w *world) converse(ctx context.Context, conn *load.Conn, rng *rand.Rand) error {
	for ctx.Err() == nil && rng.IntN(200) != 0 {
		q := w.question(rng)
		client := rng.IntN(crowdSize)
		if rng.IntN(50) == 0 {
			w.abandon(q, client, 0)
			continue
		}
		if err := w.ask(conn, q, client); err != nil {
			return err
		}
	}
	return nil
}

// ask asks as a client, by its number, and judges. The error is about the connection; a wrong answer is tallied.
func (w *world) ask(conn *load.Conn, q question, client int) error {
	start := time.Now()
	answer, err := conn.Ask(q.request(w.gateway.Addr, client), askTimeout)
	if err != nil {
		return fmt.Errorf("%s %s: %w", q.method, q.target, err)
	}
	w.tally.answered(q.kind, answer.Status, time.Since(start))
	if q.method == "GET" && quotes(q.target) { // any other method reaches no route, and the log names none
		w.tally.quoting.Add(1)
	}
	if err := q.judge(answer); err != nil {
		w.tally.fail("%s %s\n%v", q.method, q.target, err)
	}
	return nil
}

// askAlone asks on a connection of its own, and tells whether that worked.
func (w *world) askAlone(q question, client int) bool {
	conn, err := load.Dial(w.gateway.Addr)
	if err == nil {
		defer conn.Close()
		err = w.ask(conn, q, client)
	}
	if err != nil && !w.stopping.Load() {
		w.tally.fail("%s: %v", q.kind, err)
	}
	return err == nil
}

// abandon asks and leaves after a while.
func (w *world) abandon(q question, client int, after time.Duration) {
	conn, err := load.Dial(w.gateway.Addr)
	if err != nil {
		return // the next one notices
	}
	defer conn.Close()
	if quotes(q.target) {
		w.tally.abandoned.Add(1)
	}
	_, _ = conn.Write(q.request(w.gateway.Addr, client)) // nobody will read the answer
	time.Sleep(after)
}

// leaveAtOnce is how many callers leave before one waits for its answer. Without that,
// more and more would be under way on a machine that is slower than they are.
const leaveAtOnce = 8

// rush has callers ask what a node is needed for, each on a connection of its own, until ctx or the gateway ends or so
// many have asked. Half of them leave within 20 milliseconds, the others wait for their answer, which is judged.
func (w *world) rush(ctx context.Context, requests int64) {
	var asked atomic.Int64
	each(2*workers, func(i int, rng *rand.Rand) {
		for n := 1; ctx.Err() == nil && asked.Add(1) <= requests; n++ {
			client := rng.IntN(crowdSize)
			lives := true
			switch {
			case i%2 != 0:
				lives = w.askAlone(w.slowQuestion(rng), client)
			case n%leaveAtOnce == 0:
				lives = w.askAlone(w.healthQuestion(), client)
			default:
				w.abandon(w.slowQuestion(rng), client, time.Duration(rng.IntN(21))*time.Millisecond)
			}
			if !lives {
				return
			}
		}
	})
}

// overdraw asks more than one client may until ctx ends, and holds the gateway
// to its word: a minute has perMinute answers and not one more, and whoever
// has some left is not refused.
func (w *world) overdraw(ctx context.Context) {
	const pause = 150 * time.Millisecond // after a refusal: more would be over the limit for everything
	type span struct{ sent, answered time.Time }
	var granted []span
	rng := rand.New(rand.NewPCG(7, 7))
	for ctx.Err() == nil {
		swap := w.judge.RandomSwap(rng, w.plainPair)
		sent := time.Now()
		refused := false
		q := question{"over the limit", "GET", swap.Target("v3"), func(a load.Answer) error {
			if a.Status == http.StatusTooManyRequests {
				refused = true
				if len(granted) < perMinute {
					return fmt.Errorf("refused after %d requests of %d", len(granted), perMinute)
				}
				return isRetryable(a, http.StatusTooManyRequests, "RATE_LIMITED")
			}
			granted = append(granted, span{sent, time.Now()})
			n := len(granted) - 1 - perMinute
			if n >= 0 && granted[n+perMinute].answered.Sub(granted[n].sent) < time.Minute {
				return fmt.Errorf("%d requests were granted within a minute", perMinute+1)
			}
			return w.isQuote(a, "v3", swap, 0)
		}}
		if !w.askAlone(q, overLimit) {
			return
		}
		if !refused {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

const (
	tooMany     = 5000 // more than the gateway accepts at a time
	askedByRest = 200  // requests of others meanwhile
)

// idle has thousands of clients ask once and stay connected. Whoever comes next
// is answered all the same, and memory stays bounded.
func (w *world) idle(ctx context.Context, idlers int, limit int64) error {
	conns := make(chan *load.Conn, idlers)
	each(workers, func(_ int, rng *rand.Rand) {
		for range idlers / workers {
			conn, err := load.Dial(w.gateway.Addr)
			if err == nil {
				conns <- conn
				err = w.ask(conn, w.question(rng), rng.IntN(crowdSize))
			}
			if err != nil {
				w.tally.fail("a client that stays connected: %v", err)
				return
			}
		}
	})
	close(conns)
	defer func() {
		for conn := range conns {
			conn.Close()
		}
	}()
	for range askedByRest {
		answer, err := w.askOnce("/v3/swap/healthcheck")
		if err != nil || answer.Status != http.StatusOK {
			return fmt.Errorf("a client that came after %d idle ones got %d (%v)", len(conns), answer.Status, err)
		}
	}
	_, peak, err := w.gateway.Memory()
	if err != nil {
		return err
	}
	w.tell("%d clients stay connected: %.1f MiB at most", len(conns), mib(peak))
	if peak > limit {
		return fmt.Errorf("with %d idle clients the gateway came to %.1f MiB, and may not exceed %.0f",
			len(conns), mib(peak), mib(limit))
	}
	return ctx.Err()
}
