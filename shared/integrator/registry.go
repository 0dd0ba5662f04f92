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
	mu      sync.Mutex // guards closed, and running.Add
	closed  bool
	running sync.WaitGroup
}

// Lookup returns the integrator with that ID from the registry on a network.
// The error is a fault: IntegratorUnregistered, IntegratorInactive, or
// IntegratorUnverified if no answer came, or none before ctx ended.
func (r *Registry) Lookup(ctx context.Context, network chain.ID, id ID) (Partner, error) {
	k := lookupKey{network, id}
	if reg, ok := r.cache.get(k); ok {
		r.hooks.Hit(network)
		return reg.result(network)
	}
	r.hooks.Miss(network)
	select {
	case flight := <-r.flights.DoChan(k.text(), func() (any, error) { return r.fetch(k), nil }):
		o := flight.Val.(outcome)
		if o.failure != nil {
			return Partner{}, o.failure.fault(network)
		}
		return o.registration.result(network)
	case <-ctx.Done():
		return Partner{}, unverified(fmt.Errorf("the caller gave up: %w", ctx.Err()), shortRetry,
			"The integrator was not verified on chain %s in time, and no quote is given without that; try again shortly", network)
	}
}

// outcome is a failure or, if that is nil, a registration.
type outcome struct {
	registration registration
	failure      *failure
}

// fetch reads a registration from the chain and caches it. It runs once for all
// look-ups of the same key at the same time, and not in a caller's context.
func (r *Registry) fetch(k lookupKey) outcome {
	if !r.begin() {
		return outcome{failure: errClosed}
	}
	defer r.running.Done()
	// The previous fetch may have ended between this look-up's first check of
	// the cache and now.
	if reg, ok := r.cache.get(k); ok {
		return outcome{registration: reg}
	}
	reg, f := r.ask(k)
	if f != nil {
		r.hooks.Failure(k.network, f.reason)
		return outcome{failure: f}
	}
	r.cache.add(k, reg)
	return outcome{registration: reg}
}

// ask asks the chain, and refuses a fee above MaxFeeBPS.
func (r *Registry) ask(k lookupKey) (registration, *failure) {
	i := slices.IndexFunc(r.networks, func(n *network) bool { return n.id == k.network })
	if i < 0 || len(r.networks[i].endpoints) == 0 {
		return registration{}, &failure{Unconfigured, "no RPC endpoint", longRetry}
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.limits.lookup)
	defer cancel()
	start := r.now()
	reg, f := r.networks[i].ask(ctx, k.id, r.cache.wasPartner(k))
	r.hooks.Latency(k.network, r.now().Sub(start))
	if f == nil && reg.standing == active && reg.partner.FeeBPS > MaxFeeBPS {
		return registration{}, &failure{Misconfigured, fmt.Sprintf("the registry states a fee of %d bps, above %d, for the ID %s", reg.partner.FeeBPS, MaxFeeBPS, k.id), longRetry}
	}
	return reg, f
}

// begin registers a fetch that Close must wait for. It is false once the
// registry is closed.
func (r *Registry) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.running.Add(1)
	return true
}

// Close cancels the running calls and waits for them. From then on, look-ups
// that are not in the cache fail.
func (r *Registry) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop(errClosed)
	r.running.Wait()
	r.http.CloseIdleConnections()
}
