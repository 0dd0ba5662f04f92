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

// turns are the turns of a lane on one chain.
type turns struct {
	limits Limits
	all    *queue

	mu     sync.Mutex              // of all that is counted here
	shares map[netip.Prefix]*queue // of the networks that have questions here
}

// queue limits how many questions are under way at a time, and how many more wait.
type queue struct {
	calls      *semaphore.Weighted // questions under way
	inIt, most int64               // questions under way and waiting
}

func newQueue(calls, waiting int64) *queue {
	return &queue{calls: semaphore.NewWeighted(calls), most: calls + waiting}
}

func newTurns(l Limits) *turns {
	return &turns{limits: l, all: newQueue(l.Calls, l.Waiting), shares: make(map[netip.Prefix]*queue)}
}

// enter waits for a turn: first within its network, then among all. So no network has
// more than its share stand in the way of others. It fails if too many wait already.
// After a turn, leave must be called.
func (t *turns) enter(ctx context.Context) (leave func(), f *Failure) {
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
	if t.all.calls.Acquire(ctx, 1) != nil {
		own.calls.Release(1)
		t.part(network, own)
		return nil, late
	}
	return func() {
		t.all.calls.Release(1)
		own.calls.Release(1)
		t.part(network, own)
	}, nil
}

// join takes a place in the queue of all and in that of the network, which is returned. It
// is nil if one of them is full. Questions of no network have no other limit than all.
func (t *turns) join(network netip.Prefix) *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.shares[network]
	switch {
	case own == nil && network.IsValid():
		own = newQueue(max(1, t.limits.Calls/shareOfLane), t.limits.Waiting/shareOfLane)
	case own == nil:
		own = newQueue(t.limits.Calls, t.limits.Waiting)
	}
	if t.all.inIt >= t.all.most || own.inIt >= own.most {
		return nil
	}
	t.all.inIt++
	own.inIt++
	t.shares[network] = own
	return own
}

// part gives the place back. A network without questions is forgotten.
func (t *turns) part(network netip.Prefix, own *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all.inIt--
	own.inIt--
	if own.inIt == 0 {
		delete(t.shares, network)
	}
}
