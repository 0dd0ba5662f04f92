package integrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/rpc"
)

// Registry reads the integrator registries of a deployment. It is safe for
// concurrent use.
type Registry struct {
	deployment *chain.Deployment
	chains     *rpc.Client
	cache      *cache
	flights    singleflight.Group
	hooks      Hooks
	now        func() time.Time
}

// When a refused client should try again.
const (
	shortRetry = time.Second
	longRetry  = time.Minute // when a person may have changed something
)

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
			return Partner{}, faultOf(o.failure, network)
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
	failure      *rpc.Failure
}

// fetch reads a registration from the chain and caches it. It runs once for all
// look-ups of the same key at the same time, and not in a caller's context.
func (r *Registry) fetch(k lookupKey) (o outcome) {
	defer func() {
		if p := recover(); p != nil { // singleflight would end the process
			o = outcome{failure: &rpc.Failure{Reason: rpc.Undecodable, Text: guard.Caught(p).Error(), RetryAfter: longRetry}}
		}
	}()
	// The previous fetch may have ended between this look-up's first check of
	// the cache and now.
	if reg, ok := r.cache.get(k); ok {
		return outcome{registration: reg}
	}
	reg, f := r.ask(k)
	if f != nil {
		r.hooks.Failure(k.network, f.Reason)
		return outcome{failure: f}
	}
	r.cache.add(k, reg)
	return outcome{registration: reg}
}

// ask asks the chain, and refuses a fee above MaxFeeBPS.
func (r *Registry) ask(k lookupKey) (registration, *rpc.Failure) {
	registry := r.deployment.Registry(k.network)
	if registry == (chain.Address{}) {
		return registration{}, &rpc.Failure{Reason: rpc.Unconfigured, Text: "no registry", RetryAfter: longRetry}
	}
	lane := rpc.Strangers
	if r.cache.wasPartner(k) {
		lane = rpc.Partners
	}
	var reg registration
	start := r.now()
	err := r.chains.Ask(context.Background(), k.network, lane, func(ctx context.Context, e *rpc.Endpoint) error {
		askedAt := r.now()
		output, err := e.Call(ctx, registry.Address, getIntegrator(k.id))
		if err != nil {
			return err
		}
		var f *rpc.Failure
		if reg, f = decode(k.id, output); f != nil {
			return f
		}
		reg.partner.CheckedAt, reg.partner.FreshUntil = askedAt, askedAt.Add(r.cache.ttl)
		return nil
	})
	var f *rpc.Failure
	if errors.As(err, &f) && f.Reason == rpc.Unconfigured {
		return registration{}, f
	}
	r.hooks.Latency(k.network, r.now().Sub(start))
	if f != nil {
		return registration{}, f
	}
	if reg.standing == active && reg.partner.FeeBPS > MaxFeeBPS {
		text := fmt.Sprintf("the registry states a fee of %d bps, above %d, for the ID %s", reg.partner.FeeBPS, MaxFeeBPS, k.id)
		return registration{}, &rpc.Failure{Reason: rpc.Misconfigured, Text: text, RetryAfter: longRetry}
	}
	return reg, nil
}
