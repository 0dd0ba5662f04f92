package rpc

import (
	"context"
	"net/netip"
	"sync"

	"golang.org/x/sync/semaphore"
)

// CallerNetwork is the key of a context's value, a netip.Prefix: the network on whose
// behalf a question is asked. The questions of one network hold at most a quarter of
// a lane, so that nobody can take all of it. A question without one counts for no
// network.
type CallerNetwork struct{}

func callerNetwork(ctx context.Context) netip.Prefix {
	network, _ := ctx.Value(CallerNetwork{}).(netip.Prefix)
	return network
}

// OnBehalf is a context for questions that go on when the caller has left: it never
// ends, and has the caller's network.
func OnBehalf(caller context.Context) context.Context {
	return context.WithValue(context.Background(), CallerNetwork{}, callerNetwork(caller))
}

// shareOfLane is the part of a lane that one network can hold: a quarter.
const shareOfLane = 4

// slots limit how many questions are under way at a time, and how many more wait; in
// all, and of one network.
type slots struct {
	limits Limits
	calls  *semaphore.Weighted // questions under way

	mu     sync.Mutex
	places int64                   // questions under way and waiting
	shares map[netip.Prefix]*share // of the networks that have questions here
}

// share is what one network holds of a lane.
type share struct {
	limits Limits
	calls  *semaphore.Weighted
	places int64
}

func newTurns(l Limits) *slots {
	return &slots{limits: l, calls: semaphore.NewWeighted(l.Calls), shares: map[netip.Prefix]*share{}}
}

// enter waits for a turn: first within its network, then among all. So no network has
// more than its share stand in the way of others. It fails if too many wait already.
// After a turn, leave must be called.
func (t *slots) enter(ctx context.Context) (leave func(), f *Failure) {
	network := callerNetwork(ctx)
	own := t.join(network)
	if own == nil {
		return nil, &Failure{Reason: Busy, Text: "too many requests are queued", RetryAfter: shortRetry}
	}
	late := &Failure{Reason: Busy, Text: "timed out in the queue", RetryAfter: shortRetry}
	if own.calls.Acquire(ctx, 1) != nil {
		t.part(network, own)
		return nil, late
	}
	if t.calls.Acquire(ctx, 1) != nil {
		own.calls.Release(1)
		t.part(network, own)
		return nil, late
	}
	return func() {
		t.calls.Release(1)
		own.calls.Release(1)
		t.part(network, own)
	}, nil
}

// join takes a place. It returns nil if there is none, in the lane or in the share of
// the network.
func (t *slots) join(network netip.Prefix) *share {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.shares[network]
	if own == nil {
		own = newShare(t.limits, network)
	}
	if t.places >= t.limits.Calls+t.limits.Waiting || own.places >= own.limits.Calls+own.limits.Waiting {
		return nil
	}
	t.places++
	own.places++
	t.shares[network] = own
	return own
}

// newShare is a quarter for a network, and the whole lane for those of no network.
func newShare(l Limits, network netip.Prefix) *share {
	if network.IsValid() {
		l.Calls = max(1, l.Calls/shareOfLane)
		l.Waiting /= shareOfLane
	}
	return &share{limits: l, calls: semaphore.NewWeighted(l.Calls)}
}

// part gives the place back. A network without questions is forgotten.
func (t *slots) part(network netip.Prefix, own *share) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.places--
	own.places--
	if own.places == 0 {
		delete(t.shares, network)
	}
}
