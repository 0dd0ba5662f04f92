package integrator

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/quotegate/quotegate/shared/chain"
)

// Registry reads the integrator registries of a deployment. It is safe for
// concurrent use.
type Registry struct {
	networks []*network // every chain with a registry, by ID
	cache    *cache
	flights  singleflight.Group
	hooks    Hooks
	now      func() time.Time
	limits   limits
	http     *http.Client

	ctx     context.Context // of every call
	stop    context.CancelCauseFunc
	mu      sync.Mutex // of closed, and of running while it is not
	closed  bool
	running sync.WaitGroup
}

// Lookup gives the integrator of that ID as the registry on a network knows it.
// Otherwise the error is a fault: IntegratorUnregistered, IntegratorInactive, or
// IntegratorUnverified when there was no answer, or none before ctx ended.
func (r *Registry) Lookup(ctx context.Context, network chain.ID, id ID) (Partner, error) {
	k := key{network, id}
	if a, ok := r.cache.get(k); ok {
		r.hooks.Hit(network)
		return a.result(network)
	}
	r.hooks.Miss(network)
	select {
	case flight := <-r.flights.DoChan(k.text(), func() (any, error) { return r.fly(k), nil }):
		o := flight.Val.(outcome)
		if o.failure != nil {
			return Partner{}, o.failure.fault(network)
		}
		return o.answer.result(network)
	case <-ctx.Done():
		return Partner{}, unverified(fmt.Errorf("the caller gave up: %w", ctx.Err()), shortRetry,
			"The integrator was not verified on chain %s in time, and no quote is given without that; try again shortly", network)
	}
}

// outcome is an answer or, when failure is not nil, none.
type outcome struct {
	answer  answer
	failure *failure
}

// fly gets an answer from the chain and remembers it. It runs once for all who
// want the same key at the same time, and in no caller's context.
func (r *Registry) fly(k key) outcome {
	if !r.begin() {
		return outcome{failure: errClosed}
	}
	defer r.running.Done()
	// Whoever looked before an answer was remembered, and came here after its
	// flight had ended, finds it now.
	if a, ok := r.cache.get(k); ok {
		return outcome{answer: a}
	}
	a, f := r.ask(k)
	if f != nil {
		r.hooks.Failure(k.network, f.reason)
		return outcome{failure: f}
	}
	r.cache.add(k, a)
	return outcome{answer: a}
}

// ask asks the chain, and refuses a fee that nobody can mean.
func (r *Registry) ask(k key) (answer, *failure) {
	i := slices.IndexFunc(r.networks, func(n *network) bool { return n.id == k.network })
	if i < 0 || len(r.networks[i].endpoints) == 0 {
		return answer{}, &failure{Unconfigured, "no RPC endpoint", longRetry}
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.limits.whole)
	defer cancel()
	start := r.now()
	a, f := r.networks[i].ask(ctx, k.id, r.cache.known(k))
	r.hooks.Latency(k.network, r.now().Sub(start))
	if f == nil && a.standing == active && a.partner.FeeBPS > MaxFeeBPS {
		return answer{}, &failure{Misconfigured, fmt.Sprintf("the registry states a fee of %d bps, above %d, for the ID %s", a.partner.FeeBPS, MaxFeeBPS, k.id), longRetry}
	}
	return a, f
}

// begin counts a flight in, unless the registry is closed.
func (r *Registry) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.running.Add(1)
	return true
}

// Close ends the calls under way and waits for them. Look-ups that would need a
// call fail from then on.
func (r *Registry) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop(errClosed)
	r.running.Wait()
	r.http.CloseIdleConnections()
}
