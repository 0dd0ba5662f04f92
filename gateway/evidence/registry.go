package evidence

import (
	"context"
	"sync"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

const (
	askEvery  = 24 * time.Hour   // how often a registry is asked about an integrator
	askAgain  = 10 * time.Minute // if it did not answer
	askLimit  = 2 * time.Second  // for all questions of one reading
	maxAsked  = 10_000           // integrators that are remembered
	askAtOnce = 20               // integrators that are asked about for one reading
)

// registry remembers which integrators are registered.
type registry struct {
	mu    sync.Mutex
	known map[string]registration
}

type registration struct {
	registered, asked bool
	until             time.Time // then it is asked again
}

// asking is a number of questions to a registry that take a bounded time.
type registryQuery struct {
	*registry
	ask    func(ctx context.Context, id string) (bool, error)
	ctx    context.Context
	end    func()
	budget int // of questions; 0: nobody can be asked, or nobody needs to be
}

func (r *registry) begin(ask func(context.Context, string) (bool, error), need bool) *registryQuery {
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	a := &registryQuery{registry: r, ask: ask, ctx: ctx, end: cancel}
	if need && ask != nil {
		a.budget = askAtOnce
	}
	return a
}

// vouches reports whether an integrator is registered, and counts it. One that nobody
// could be asked about is taken to be.
func (a *registryQuery) vouches(id string, now time.Time, e *lifecycle.Evidence) bool {
	registered, asked := a.has(id, now)
	if !asked {
		e.Unasked++
	} else if !registered {
		return false
	}
	e.Registered++
	return true
}

// has reports whether an integrator is registered, and whether that is known.
func (a *registryQuery) has(id string, now time.Time) (registered, asked bool) {
	a.mu.Lock()
	got, kept := a.known[id]
	a.mu.Unlock()
	if kept && now.Before(got.until) || a.budget == 0 {
		return got.registered, got.asked
	}
	a.budget--
	is, err := a.ask(a.ctx, id)
	if err == nil {
		got = registration{is, true, now.Add(askEvery)}
	} else {
		got.until = now.Add(askAgain) // what was known before still counts
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= maxAsked {
		a.known = map[string]registration{}
	}
	a.known[id] = got
	return got.registered, got.asked
}
