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

// reading is the answer of one endpoint, or why there is none.
type reading struct {
	registration
	endpoint int          // its place in the configuration
	invalid  *rpc.Failure // the contract reverts or returns no registration, which is an answer too
	failure  *rpc.Failure // the endpoint did not answer
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

// same reports whether two answers are equal.
func (w reading) same(other reading) bool {
	if w.invalid != nil || other.invalid != nil {
		return w.invalid != nil && other.invalid != nil && w.invalid.Reason == other.invalid.Reason
	}
	return w.active == other.active && w.Wallet == other.Wallet && w.FeeBPS == other.FeeBPS
}

// isOurs reports whether a read failed through no fault of the endpoint.
func isOurs(f *rpc.Failure) bool {
	return f.Reason == rpc.Busy || f.Reason == rpc.Closed || f == errPanicked
}

// verdict is the result of several readings.
type verdict struct {
	registration
	unconfirmed bool         // the answer of one endpoint, which others should have confirmed
	failure     *rpc.Failure // why there is no registration
}

// decide is the verdict on the readings so far; false if another one may change it. An answer
// that two endpoints give is final. That of one endpoint is used only if all others failed.
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
		return verdict{failure: nameAll(ours, readings)}, true
	case len(answers) == 0: // the caller may retry when the first of them may answer
		return verdict{failure: nameAll(failure, readings)}, true
	case len(answers) > 1:
		return verdict{failure: errDisagree}, true
	}
	one := answers[0]
	return verdict{registration: one.registration, failure: one.invalid, unconfirmed: endpoints > 1}, true
}

// nameAll is a failure with the text of every endpoint that did not answer.
func nameAll(f *rpc.Failure, readings []reading) *rpc.Failure {
	var texts []string
	for _, w := range byEndpoint(readings) {
		if w.failure != nil {
			texts = append(texts, rpc.NameEndpoint(w.endpoint, w.failure.Text))
		}
	}
	all := *f
	all.Text = rpc.Details(texts)
	return &all
}

func byEndpoint(readings []reading) []reading {
	return slices.SortedFunc(slices.Values(readings), func(a, b reading) int { return a.endpoint - b.endpoint })
}

// readAll reads from all endpoints at once, until the verdict is known. Differences are
// reported when the last one has answered, which may be later.
func (r *Registry) readAll(q rpc.Question, id calldata.IntegratorID) verdict {
	all := r.chains.Endpoints(q.Network)
	answers := make(chan reading, all)
	for place := 1; place <= all; place++ {
		w := reading{endpoint: place, failure: errPanicked}
		if f := r.probes.skip(q.Network, place, all); f != nil {
			w.failure = f
			answers <- w
			continue
		}
		one := q
		one.Endpoint = place
		safego.Go(r.log, "reading a registry", func() {
			defer func() { answers <- w }()
			w = r.read(one, id)
			r.watch(one, w)
		})
	}
	decided := make(chan verdict, 1)
	safego.Go(r.log, "comparing registries", func() {
		var readings []reading
		known := false
		for range all {
			readings = append(readings, <-answers)
			if v, ok := decide(readings, all); ok && !known {
				known = true
				decided <- v
			}
		}
		if differing(readings) {
			r.differ(key{q.Network, id}, readings)
		}
	})
	return <-decided
}

// differing reports whether two endpoints give different answers.
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
			if latest.TooOld(q.Network, askedAt) { // the registration may have changed since
				return r.chains.Behind(q.Network, &latest, askedAt)
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

// probes are the endpoints that have failed. No lookup waits for them until a probe has
// succeeded.
type probes struct {
	mu   sync.Mutex
	down map[probed]string // for what they failed
}

type probed struct {
	network  chain.ID
	endpoint int
}

// begin is false if the endpoint, which failed, is being probed already.
func (p *probes) begin(key probed, f *rpc.Failure) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, isDown := p.down[key]; isDown {
		return false
	}
	p.down[key] = f.Text
	return true
}

func (p *probes) end(key probed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.down, key)
}

// skip is why a lookup skips an endpoint; nil if it does not. If all are down, it skips none.
func (p *probes) skip(network chain.ID, endpoint, all int) *rpc.Failure {
	p.mu.Lock()
	defer p.mu.Unlock()
	down := 0
	for place := 1; place <= all; place++ {
		if _, isDown := p.down[probed{network, place}]; isDown {
			down++
		}
	}
	why, isDown := p.down[probed{network, endpoint}]
	if !isDown || down == all {
		return nil
	}
	return &rpc.Failure{Reason: rpc.Resting, Text: why + " (no probe has succeeded since)", RetryAfter: time.Second}
}

// watch starts to probe an endpoint that failed, if there are others. One that rate limits
// fails fast and recovers by itself, so it needs no probe.
func (r *Registry) watch(q rpc.Question, w reading) {
	f := w.failure
	if f == nil || isOurs(f) || f.Reason == rpc.Limited || f.Reason == rpc.Resting {
		return
	}
	if r.chains.Endpoints(q.Network) > 1 && r.probes.begin(probed{q.Network, q.Endpoint}, f) {
		q.Caller = netip.Prefix{}
		r.probeAfter(f.RetryAfter, q)
	}
}

func (r *Registry) probeAfter(pause time.Duration, q rpc.Question) {
	safego.After(pause, r.log, "probing a registry", func() { r.probe(q) })
}

// probe calls an endpoint that has failed, repeatedly until it answers or the client is
// closed.
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
