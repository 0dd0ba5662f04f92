package integrator

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/calldata"
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
func (r *Registry) settle(q rpc.Question, id calldata.IntegratorID) verdict {
	all := r.chains.Endpoints(q.Network)
	answers := make(chan reading, all)
	for place := 1; place <= all; place++ {
		w := reading{endpoint: place, failure: errPanicked}
		if r.probes.skip(q.Network, place, all) {
			w.failure = errResting
			answers <- w
			continue
		}
		q := q
		q.Endpoint = place
		safego.Go(r.log, "asking a registry", func() {
			defer func() { answers <- w }()
			w = r.read(q, id)
			r.watch(q, w)
		})
	}
	settled := make(chan verdict, 1)
	safego.Go(r.log, "comparing registries", func() {
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
			r.differ(key{q.Network, id}, readings)
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

// read reads a registration from the endpoint that q names. It does not end with a caller;
// rpc bounds its time.
func (r *Registry) read(q rpc.Question, id calldata.IntegratorID) reading {
	w := reading{endpoint: q.Endpoint}
	err := r.chains.Ask(context.Background(), q, func(ctx context.Context, e *rpc.Endpoint) error {
		askedAt := r.now()
		var output hexutil.Bytes
		var latest rpc.Block
		registry := r.deployment.Registry(q.Network).Address
		reads := []rpc.Read{rpc.ReadContract(registry, getIntegrator(id), &output)}
		if r.chains.Endpoints(q.Network) > 1 {
			reads = append(reads, rpc.ReadLatest(&latest))
		}
		if err := e.Batch(ctx, reads); err != nil {
			return err
		}
		if len(reads) > 1 {
			if reads[1].Err != nil {
				return reads[1].Err
			}
			if latest.TooOld(q.Network, askedAt) { // what it says may have changed since
				return &rpc.Failure{Reason: rpc.Behind, Text: fmt.Sprintf("its latest block is of %v", latest.At())}
			}
		}
		switch f := reads[0].Err; {
		case f == nil:
			w.registration, w.invalid = decode(id, output)
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

// probes are the endpoints that have failed, and that no lookup waits for until a probe
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

// skip tells whether a lookup goes without that endpoint of so many. If all are down,
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
func (r *Registry) watch(q rpc.Question, w reading) {
	f := w.failure
	if f == nil || isOurs(f) || f.Reason == rpc.Limited || f.Reason == rpc.Resting {
		return
	}
	if r.chains.Endpoints(q.Network) > 1 && r.probes.begin(probed{q.Network, q.Endpoint}) {
		q.Caller = netip.Prefix{}
		r.probeAfter(f.RetryAfter, q)
	}
}

func (r *Registry) probeAfter(pause time.Duration, q rpc.Question) {
	safego.After(pause, r.log, "probing a registry", func() { r.probe(q) })
}

// probe asks an endpoint that has failed, again and again until it answers. It ends when
// the endpoints are closed.
func (r *Registry) probe(q rpc.Question) {
	f := errPanicked
	defer func() {
		if f == nil || f.Reason == rpc.Closed {
			r.probes.end(probed{q.Network, q.Endpoint})
		} else {
			r.probeAfter(f.RetryAfter, q)
		}
	}()
	f = r.read(q, probeID).failure
}
