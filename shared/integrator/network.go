package integrator

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
)

// network is the registry of one chain and the endpoints to read it through.
type network struct {
	id        chain.ID
	registry  chain.Address
	endpoints []*endpoint // in the order in which they are tried
	limits    limits

	// Known partners have a lane of their own, so that look-ups of invented IDs
	// cannot delay the renewal of a partner's registration.
	partners, others lane

	state atomic.Value // of type RPCState
}

// ask tries the endpoints in order until one answers.
func (n *network) ask(ctx context.Context, id ID, partner bool) (registration, *failure) {
	l := n.others
	if partner {
		l = n.partners
	}
	if f := l.enter(ctx); f != nil {
		return registration{}, f
	}
	defer l.leave()

	reason, details := Resting, make([]string, 0, len(n.endpoints))
	for i, e := range n.endpoints {
		if rest := e.resting(); rest > 0 {
			details = append(details, fmt.Sprintf("endpoint %d: rests for %v", i+1, rest.Round(time.Millisecond)))
			continue
		}
		reg, f := n.try(ctx, e, id)
		if f == nil {
			n.state.Store(Working)
			return reg, nil
		}
		if closed(ctx) {
			return registration{}, errClosed
		}
		reason, details = f.reason, append(details, fmt.Sprintf("endpoint %d: %s", i+1, f.text))
		if ctx.Err() != nil {
			break
		}
	}
	if reason.skipsEndpoint() {
		n.state.Store(Failing)
	}
	return registration{}, &failure{reason, strings.Join(details, "; "), n.retryAfter(reason)}
}

// try asks one endpoint and decides whether it is skipped from now on. If the
// look-up itself ran out of time, it is not: the endpoint may have had too
// little of that time.
func (n *network) try(ctx context.Context, e *endpoint, id ID) (registration, *failure) {
	trying, cancel := context.WithTimeout(ctx, n.limits.try)
	defer cancel()
	reg, f := e.ask(trying, n.registry.Address, id)
	switch {
	case f == nil:
		e.worked()
	case ctx.Err() == nil && f.reason.skipsEndpoint():
		e.failed(f)
	}
	return reg, f
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
