package integrator

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
)

// network is the registry of one chain and the endpoints to ask it through.
type network struct {
	id        chain.ID
	registry  chain.Address
	endpoints []*endpoint // in the order in which they are tried
	limits    limits

	// Partners and strangers do not share a lane, so that strangers, however
	// many are invented, cannot keep a partner's entry from being renewed.
	partners, strangers lane

	state atomic.Value // of type State
}

// ask gets the registry's answer from the first endpoint that gives one.
func (n *network) ask(ctx context.Context, id ID, known bool) (answer, *failure) {
	l := n.strangers
	if known {
		l = n.partners
	}
	if f := l.enter(ctx); f != nil {
		return answer{}, f
	}
	defer l.leave()

	reason, details := Resting, make([]string, 0, len(n.endpoints))
	for i, e := range n.endpoints {
		if rest := e.resting(); rest > 0 {
			details = append(details, fmt.Sprintf("endpoint %d: rests for %v", i+1, rest.Round(time.Millisecond)))
			continue
		}
		a, f := n.try(ctx, e, id)
		if f == nil {
			n.state.Store(Working)
			return a, nil
		}
		if closed(ctx) {
			return answer{}, errClosed
		}
		reason, details = f.reason, append(details, fmt.Sprintf("endpoint %d: %s", i+1, f.text))
		if ctx.Err() != nil {
			break
		}
	}
	if reason.blamesEndpoint() {
		n.state.Store(Failing)
	}
	return answer{}, &failure{reason, strings.Join(details, "; "), n.retryAfter(reason)}
}

// try asks one endpoint and settles whether it is to be skipped from now on. A
// look-up that runs out of its own time proves nothing: the endpoint may not
// have had its share of it.
func (n *network) try(ctx context.Context, e *endpoint, id ID) (answer, *failure) {
	trying, cancel := context.WithTimeout(ctx, n.limits.try)
	defer cancel()
	a, f := e.ask(trying, n.registry.Address, id)
	switch {
	case f == nil:
		e.worked()
	case ctx.Err() == nil && f.reason.blamesEndpoint():
		e.failed(f)
	}
	return a, f
}

func (n *network) retryAfter(reason Reason) time.Duration {
	if reason == Reverted || reason == Misconfigured {
		return longRetry
	}
	soonest := longRetry
	for _, e := range n.endpoints {
		soonest = min(soonest, e.resting())
	}
	return max(shortRetry, soonest)
}
