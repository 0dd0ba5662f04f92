package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/testdata/referee"
)

// workers is how many connections the crowd comes over.
const workers = 8

// drive keeps the gateway busy until ctx ends, or until it stops as it was told
// to.
func (w *world) drive(ctx context.Context) {
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() { w.work(ctx, rand.New(rand.NewPCG(uint64(i), uint64(time.Now().UnixNano())))) })
	}
	all.Wait()
}

// work asks one question after the other.
func (w *world) work(ctx context.Context, rng *rand.Rand) {
	var conn *load.Conn
	defer func() {
		if conn != nil {
			conn.Close()
		}
	}()
	for ctx.Err() == nil {
		if conn == nil {
			var err error
			if conn, err = load.Dial(w.gateway.Addr); err != nil {
				if !w.stopping.Load() {
					w.tally.fail("connecting: %v", err)
				}
				return
			}
		}
		q := w.question(rng)
		client := load.ClientAddress(rng.IntN(crowdSize))
		if rng.IntN(50) == 0 {
			w.abandon(q, client, 0)
			continue
		}
		if err := w.ask(conn, q, client); err != nil {
			conn.Close()
			conn = nil
			if w.stopping.Load() && errors.Is(err, load.ErrUnanswered) {
				w.tally.refused.Add(1)
				return
			}
			w.tally.fail("%s %s: %v", q.method, q.target, err)
		} else if rng.IntN(200) == 0 { // connections come and go
			conn.Close()
			conn = nil
		}
	}
}

// ask asks and judges. The error is about the connection; a wrong answer is
// tallied.
func (w *world) ask(conn *load.Conn, q question, client netip.Addr) error {
	start := time.Now()
	answer, err := conn.Ask(q.request(w.gateway.Addr, client), askTimeout)
	if err != nil {
		return err
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

func (q question) request(host string, client netip.Addr) []byte {
	request := load.AppendRequest(nil, host, q.target, client)
	return append([]byte(q.method), request[len("GET"):]...)
}

// abandon asks and leaves after a while.
func (w *world) abandon(q question, client netip.Addr, after time.Duration) {
	conn, err := load.Dial(w.gateway.Addr)
	if err != nil {
		return // the next one notices
	}
	if quotes(q.target) {
		w.tally.abandoned.Add(1)
	}
	conn.Send(q.request(w.gateway.Addr, client))
	time.Sleep(after)
	conn.Close()
}

// leavers is how many connections those come over who do not wait for their answer.
const leavers = 8

// leaveAtOnce is how many callers leave before one waits for its answer. Without that,
// more and more would be under way on a machine that is slower than they are.
const leaveAtOnce = 8

// leave has callers ask what a node is needed for, and leave within 20 milliseconds,
// until ctx ends.
func (w *world) leave(ctx context.Context) {
	var all sync.WaitGroup
	for i := range leavers {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(100+i), uint64(time.Now().UnixNano())))
			for n := 1; ctx.Err() == nil; n++ {
				after := time.Duration(rng.IntN(21)) * time.Millisecond
				w.abandon(w.slowQuestion(rng), load.ClientAddress(rng.IntN(crowdSize)), after)
				if n%leaveAtOnce == 0 {
					_, _ = w.askOnce("/v3/swap/healthcheck") // whatever it says; others judge that
				}
			}
		})
	}
	all.Wait()
}

// issuerRates are those that a burn may be quoted with.
func (w *world) issuerRates(s *referee.Swap) []*big.Rat {
	if !s.Burn {
		return nil
	}
	return w.issuer.rates(w.judge.BuiltInBPS(s.Src), w.judge.Domain(s.Src))
}

// overdraw asks more than one client may until ctx ends, and holds the gateway
// to its word: a minute has perMinute answers and not one more, and whoever
// has some left is not refused.
func (w *world) overdraw(ctx context.Context) {
	const pause = 150 * time.Millisecond // after a refusal: more would be over the limit for everything
	type span struct{ sent, answered time.Time }
	var granted []span
	rng := rand.New(rand.NewPCG(7, 7))
	pair, err := w.judge.Find("USDC", 1, "USDC", 369)
	if err != nil {
		w.tally.fail("%v", err)
		return
	}
	for ctx.Err() == nil {
		swap := w.judge.RandomSwap(rng, pair)
		sent := time.Now()
		refused := false
		q := question{"over the limit", "GET", swap.Target("v3"), func(a load.Answer) error {
			if a.Status == http.StatusTooManyRequests {
				refused = true
				if a.Header("Retry-After") == "" {
					return fmt.Errorf("a 429 does not say when to come back: %s", a.Head)
				}
				if len(granted) < perMinute {
					return fmt.Errorf("refused after %d requests of %d", len(granted), perMinute)
				}
				return isFault(a, http.StatusTooManyRequests, "RATE_LIMITED")
			}
			granted = append(granted, span{sent, time.Now()})
			n := len(granted) - 1 - perMinute
			if n >= 0 && granted[n+perMinute].answered.Sub(granted[n].sent) < time.Minute {
				return fmt.Errorf("%d requests were granted within a minute", perMinute+1)
			}
			return w.isQuote(a, "v3", swap, 0)
		}}
		if !w.askAlone(q, load.ClientAddress(overLimit)) {
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

// askAlone asks on a connection of its own, and tells whether that worked.
func (w *world) askAlone(q question, client netip.Addr) bool {
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
