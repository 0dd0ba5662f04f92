package integrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/cache"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/safego"
)

// reading is what one endpoint says, or why it says nothing.
type reading struct {
	registration
	endpoint int          // its place in the configuration
	invalid  *rpc.Failure // the contract reverts, or returns no registration: what it says, too
	failure  *rpc.Failure // the endpoint says nothing
}

func (w reading) String() string {
	switch {
	case w.failure != nil:
		return fmt.Sprintf("endpoint %d: no answer (%s)", w.endpoint, w.failure.Reason)
	case w.invalid != nil:
		return fmt.Sprintf("endpoint %d: the contract's answer is invalid (%s)", w.endpoint, w.invalid.Reason)
	}
	return fmt.Sprintf("endpoint %d: %d basis points, active %t", w.endpoint, w.FeeBPS, w.active)
}

// same tells whether two endpoints that answered say the same.
func (w reading) same(other reading) bool {
	if w.invalid != nil || other.invalid != nil {
		return w.invalid != nil && other.invalid != nil && w.invalid.Reason == other.invalid.Reason
	}
	return w.active == other.active && w.Wallet == other.Wallet && w.FeeBPS == other.FeeBPS
}

// isOurs tells whether a question failed through no fault of the endpoint.
func isOurs(f *rpc.Failure) bool {
	return f.Reason == rpc.Busy || f.Reason == rpc.Closed || f == errPanicked
}

// verdict is what several readings come to.
type verdict struct {
	registration
	alone   bool         // one endpoint said so, and others should have confirmed it
	failure *rpc.Failure // why no registration stands
}

// decide is the verdict on the readings so far; false if another one may change it. What
// two endpoints say stands. What one says stands only if all others have failed.
func decide(readings []reading, endpoints int) (verdict, bool) {
	var answers []reading
	var ours, failure *rpc.Failure
	for _, w := range readings {
		switch {
		case w.failure == nil && slices.ContainsFunc(answers, w.same):
			return verdict{registration: w.registration, failure: w.invalid}, true
		case w.failure == nil:
			answers = append(answers, w)
			continue
		case isOurs(w.failure):
			ours = w.failure
		}
		if failure == nil || w.failure.RetryAfter < failure.RetryAfter {
			failure = w.failure
		}
	}
	switch {
	case len(readings) < endpoints:
		return verdict{}, false
	case ours != nil:
		return verdict{failure: ours}, true
	case len(answers) == 0: // it is worth asking again when the first of them may answer
		return verdict{failure: failure}, true
	case len(answers) > 1:
		return verdict{failure: errDisagree}, true
	}
	one := answers[0]
	return verdict{registration: one.registration, failure: one.invalid, alone: endpoints > 1}, true
}

// settle asks all endpoints at once, until the verdict is known. That two of them differ is
// told when the last one has answered, which may be later.
func (r *Registry) settle(ctx context.Context, k cache.Key, lane rpc.Lane) verdict {
	all := r.chains.Endpoints(k.Network)
	answers := make(chan reading, all)
	for place := 1; place <= all; place++ {
		w := reading{endpoint: place, failure: errPanicked}
		if r.probes.skip(k.Network, place, all) {
			w.failure = errResting
			answers <- w
			continue
		}
		safego.Go(r.Log, "asking a registry", func() {
			defer func() { answers <- w }()
			w = r.read(ctx, k, lane, place)
			r.watch(k.Network, lane, w)
		})
	}
	settled := make(chan verdict, 1)
	safego.Go(r.Log, "comparing registries", func() {
		var readings []reading
		known := false
		for range all {
			readings = append(readings, <-answers)
			if v, ok := decide(readings, all); ok && !known {
				known = true
				settled <- v
			}
		}
		if differing(readings) {
			r.differ(k, readings)
		}
	})
	return <-settled
}

var errResting = &rpc.Failure{Reason: rpc.Resting, Text: "no probe has succeeded yet", RetryAfter: time.Second}

// differing tells whether two endpoints say different things.
func differing(readings []reading) bool {
	answers := slices.DeleteFunc(slices.Clone(readings), func(w reading) bool { return w.failure != nil })
	return slices.ContainsFunc(answers, func(w reading) bool { return !w.same(answers[0]) })
}

// read reads a registration from one endpoint.
func (r *Registry) read(ctx context.Context, k cache.Key, lane rpc.Lane, endpoint int) reading {
	w := reading{endpoint: endpoint}
	err := r.chains.AskOne(ctx, k.Network, endpoint, lane, func(ctx context.Context, e *rpc.Endpoint) error {
		askedAt := r.Now()
		var output hexutil.Bytes
		var latest rpc.Block
		registry := r.deployment.Registry(k.Network).Address
		reads := []rpc.Read{rpc.ReadContract(registry, getIntegrator(k.Name), &output)}
		if r.chains.Endpoints(k.Network) > 1 {
			reads = append(reads, rpc.ReadLatest(&latest))
		}
		if err := e.Batch(ctx, reads); err != nil {
			return err
		}
		if len(reads) > 1 {
			if reads[1].Err != nil {
				return reads[1].Err
			}
			if latest.TooOld(k.Network, askedAt) { // what it says may have changed since
				return &rpc.Failure{Reason: rpc.Behind, Text: fmt.Sprintf("its latest block is of %v", latest.At())}
			}
		}
		switch f := reads[0].Err; {
		case f == nil:
			w.registration, w.invalid = decode(k.Name, output)
			w.CheckedAt = askedAt
		case f.Reason == rpc.Reverted:
			w.invalid = &rpc.Failure{Reason: rpc.Reverted, Text: f.Text, RetryAfter: time.Minute}
		default:
			return f
		}
		return nil
	})
	errors.As(err, &w.failure)
	return w
}

// probes are the endpoints that have failed, and that no look-up waits for until a probe
// has succeeded.
type probes struct {
	mu   sync.Mutex
	down map[probed]bool
}

type probed struct {
	network  chain.ID
	endpoint int
}

// begin is false if the endpoint is probed already.
func (p *probes) begin(key probed) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down[key] {
		return false
	}
	p.down[key] = true
	return true
}

func (p *probes) end(key probed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.down, key)
}

// skip tells whether a look-up goes without that endpoint of so many. If all are down,
// it asks them all the same.
func (p *probes) skip(network chain.ID, endpoint, all int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	down := 0
	for place := 1; place <= all; place++ {
		if p.down[probed{network, place}] {
			down++
		}
	}
	return down < all && p.down[probed{network, endpoint}]
}

// watch has an endpoint probed that failed, if there are others. One that is over its quota
// says so at once, and answers again when its time is over.
func (r *Registry) watch(network chain.ID, lane rpc.Lane, w reading) {
	f := w.failure
	if f == nil || isOurs(f) || f.Reason == rpc.Limited || f.Reason == rpc.Resting || r.chains.Endpoints(network) < 2 {
		return
	}
	key := probed{network, w.endpoint}
	if r.probes.begin(key) {
		r.probeAfter(f.RetryAfter, key, lane)
	}
}

func (r *Registry) probeAfter(pause time.Duration, key probed, lane rpc.Lane) {
	safego.After(pause, r.Log, "probing a registry", func() { r.probe(key, lane) })
}

// probe asks an endpoint that has failed, again and again until it answers. It ends when
// the endpoints are closed.
func (r *Registry) probe(key probed, lane rpc.Lane) {
	f := errPanicked
	defer func() {
		if f == nil || f.Reason == rpc.Closed {
			r.probes.end(key)
		} else {
			r.probeAfter(f.RetryAfter, key, lane)
		}
	}()
	k := cache.Key{Network: key.network, Name: probeID}
	f = r.read(context.Background(), k, lane, key.endpoint).failure
}
