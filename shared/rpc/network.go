package rpc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
)

// network is a chain with its endpoints.
type network struct {
	id        chain.ID
	endpoints []*Endpoint // in the order in which they are tried
	limits    *[laneCount]Limits
	turns     [laneCount]turns
}

// ask tries the endpoints in order until one answers.
func (n *network) ask(ctx context.Context, lane Lane, use func(context.Context, *Endpoint) error) *Failure {
	if f := n.turns[lane].enter(ctx); f != nil {
		return f
	}
	defer n.turns[lane].leave()

	reason, details := Resting, make([]string, 0, len(n.endpoints))
	for i, e := range n.endpoints {
		if rest := e.take(lane); rest > 0 {
			details = append(details, fmt.Sprintf("endpoint %d: rests for %v", i+1, rest.Round(time.Millisecond)))
			continue
		}
		f := n.try(ctx, e, lane, use)
		if f == nil {
			return nil
		}
		if closed(ctx) {
			return errClosed
		}
		reason, details = f.Reason, append(details, fmt.Sprintf("endpoint %d: %s", i+1, f.Text))
		if ctx.Err() != nil {
			break
		}
	}
	return &Failure{reason, strings.Join(details, "; "), n.retryAfter(lane, reason)}
}

// try asks one endpoint and decides whether the lane skips it from now on. If
// the question itself ran out of time, it does not: the endpoint may have had
// too little of that time.
func (n *network) try(ctx context.Context, e *Endpoint, lane Lane, use func(context.Context, *Endpoint) error) *Failure {
	trying, cancel := context.WithTimeout(ctx, n.limits[lane].Try)
	defer cancel()
	err := e.checkChain(trying, lane)
	if err == nil {
		err = use(trying, e)
	}
	if err == nil {
		e.worked(lane)
		return nil
	}
	f := classify(err)
	if ctx.Err() == nil && f.Reason.RestsEndpoint() {
		e.failed(lane, f)
	}
	return f
}

// check asks one endpoint, whatever came of earlier questions.
func (n *network) check(ctx context.Context, e *Endpoint, use func(context.Context, *Endpoint) error) *Failure {
	if f := n.turns[Checks].enter(ctx); f != nil {
		return f
	}
	defer n.turns[Checks].leave()
	if rest := e.take(Checks); rest > 0 {
		return &Failure{Limited, "we are over its quota", max(shortRetry, rest)}
	}
	trying, cancel := context.WithTimeout(ctx, n.limits[Checks].Try)
	defer cancel()
	err := e.askChain(trying)
	if err == nil {
		err = use(trying, e)
	}
	if err == nil {
		e.worked(Checks)
		return nil
	}
	if closed(ctx) {
		return errClosed
	}
	f := classify(err)
	if f.Reason == Limited {
		e.failed(Checks, f)
	}
	return &Failure{f.Reason, f.Text, max(shortRetry, f.RetryAfter)}
}

func (n *network) retryAfter(lane Lane, reason Reason) time.Duration {
	if reason == Reverted || reason == Misconfigured {
		return longRetry
	}
	soonest := longRetry
	for _, e := range n.endpoints {
		soonest = min(soonest, e.resting(lane))
	}
	return max(shortRetry, soonest)
}
