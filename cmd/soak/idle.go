package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"

	"github.com/quotegate/quotegate/cmd/internal/load"
)

const (
	idlers      = 5000      // more than the gateway accepts at a time
	idleLimit   = 192 << 20 // what it may come to with so many
	askedByRest = 200       // requests of others meanwhile
)

// idle has thousands of clients ask once and stay connected. Whoever comes next
// is answered all the same, and memory stays bounded.
func (w *world) idle(ctx context.Context, raced bool, tell func(string, ...any)) error {
	var mu sync.Mutex
	var conns []*load.Conn
	defer func() {
		for _, conn := range conns {
			conn.Close()
		}
	}()
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(17, uint64(i)))
			for range idlers / workers {
				conn, err := load.Dial(w.gateway.Addr)
				if err == nil {
					err = w.ask(conn, w.question(rng), load.ClientAddress(rng.IntN(crowdSize)))
				}
				if err != nil {
					w.tally.fail("a client that stays connected: %v", err)
					return
				}
				mu.Lock()
				conns = append(conns, conn)
				mu.Unlock()
			}
		})
	}
	all.Wait()
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
	tell("%d clients stay connected: %.1f MiB at most", len(conns), mib(peak))
	if !raced && peak > idleLimit {
		return fmt.Errorf("with %d idle clients the gateway came to %.1f MiB, and may not exceed %.0f",
			len(conns), mib(peak), mib(idleLimit))
	}
	return ctx.Err()
}
