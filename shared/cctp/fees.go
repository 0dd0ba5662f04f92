// Package cctp knows what a fast transfer over the issuer's network costs: the
// rate of each source chain, and the fee and maxFee of an amount.
//
// A rate is always given, and soon. It comes from the issuer's fee service
// while that answers, and is good for five minutes. When the service is down,
// slow, blocking us or talking nonsense, the last good rate serves. Once that
// is a day old, so is all we know, and the higher of it and the built-in table
// serves: a burn whose maxFee is too low is refused, or held back until the
// source chain is final, while one that is too high still pays only the fee of
// the day. Where there is no last good rate, or no service configured, the
// built-in table serves.
//
// The service sees one request at a time, each bounded in time, and no more
// than six in any minute, whatever the number of callers and however it fails.
// A route is looked up again ahead of its expiry if anybody asked for it since
// the last time.
package cctp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
)

const (
	fresh   = 5 * time.Minute // so long a rate is given out before it is thought about again
	refresh = 4 * time.Minute // so old a live rate is looked up again
	keep    = 24 * time.Hour  // so long the last good rate counts alone

	// patience is how long callers are held up by a look-up, counted from the
	// first of them.
	patience = time.Second
)

// Fees gives the rates of all routes into one settlement chain. It is safe for
// concurrent use.
type Fees struct {
	client *client // nil: the built-in table only
	log    *slog.Logger
	routes []*route // by chain
	bySrc  map[chain.ID]*route

	ctx  context.Context // of the background work
	stop context.CancelFunc
	work sync.WaitGroup
	wake chan struct{}

	mu     sync.Mutex // guards what follows, and the routes where they say so
	budget budget
	hold   time.Time // the service asked for no request before this
	held   error     // and this is how it said so
}

// New starts to give rates for burns that are minted on the settlement chain.
// Requests go through transport, or through one of its own if that is nil.
// Close ends the background work.
func New(cfg Config, to chain.Settlement, log *slog.Logger, transport http.RoundTripper) (*Fees, error) {
	base, err := cfg.base()
	if err != nil {
		return nil, err
	}
	f := &Fees{log: log, bySrc: make(map[chain.ID]*route), wake: make(chan struct{}, 1)}
	for _, pair := range chain.Pairs() {
		if pair.Route != chain.CCTPInbound {
			continue
		}
		network, _ := chain.FindNetwork(pair.Src)
		builtIn, err := FromMilliBPS(network.CCTP.FastFeeMilliBPS)
		if err != nil {
			return nil, fmt.Errorf("built-in fee of chain %s %w", pair.Src, err)
		}
		r := &route{source: pair.Src, domain: network.CCTP.Domain, builtIn: builtIn, told: Live}
		f.routes = append(f.routes, r)
		f.bySrc[pair.Src] = r
	}
	slices.SortFunc(f.routes, bySource)
	f.ctx, f.stop = context.WithCancel(context.Background())
	if base != nil {
		f.client = newClient(base, to.Domain, transport)
		f.work.Go(f.run)
	}
	return f, nil
}

// Close ends the background work and waits until it has. Rates are given as
// before, but nothing is looked up any more.
func (f *Fees) Close() {
	f.stop()
	f.work.Wait()
	if f.client != nil {
		f.client.http.CloseIdleConnections() // and attempts to connect that nobody waits for any more
	}
}

// Rate is the fast-transfer fee of burns on source. It takes a second at most,
// and that only when nothing is known that is fresh and the service can be
// asked right now; ctx can cut the wait short. For a chain that is not the
// source of a burn it is the highest rate there is, which is safe.
func (f *Fees) Rate(ctx context.Context, source chain.ID) Rate {
	r := f.bySrc[source]
	switch {
	case r == nil:
		return highest
	case f.client == nil:
		return r.builtIn
	}
	if a := r.answer.Load(); a != nil && time.Now().Before(a.until) {
		if !r.asked.Load() {
			f.ask(r)
		}
		return a.rate
	}
	return f.miss(ctx, r)
}

// ask has the route looked up when that is due.
func (f *Fees) ask(r *route) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.want(r)
}

// want is ask with the lock held.
func (f *Fees) want(r *route) {
	if r.asked.Load() {
		return
	}
	r.asked.Store(true)
	select {
	case f.wake <- struct{}{}:
	default: // already about to look
	}
}

// miss gives the rate of a route for which no fresh answer is at hand.
func (f *Fees) miss(ctx context.Context, r *route) Rate {
	f.mu.Lock()
	now := time.Now()
	f.want(r)
	if !r.busy && f.earliest(r).After(now) {
		if r.err == nil && now.Before(f.hold) {
			r.err, r.errAt = f.held, now
		}
		rate, change := r.settle(now)
		f.mu.Unlock()
		f.report(change)
		return rate
	}
	if r.waiting == nil {
		r.waiting, r.since = make(chan struct{}), now
	}
	waiting, left := r.waiting, r.since.Add(patience).Sub(now)
	f.mu.Unlock()

	if left > 0 {
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case <-waiting:
		case <-timer.C:
		case <-ctx.Done():
		case <-f.ctx.Done():
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	rate, _ := r.best(time.Now())
	return rate
}

// State is what each route serves now, by chain.
func (f *Fees) State() []State {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	states := make([]State, len(f.routes))
	for i, r := range f.routes {
		states[i] = r.state(now)
	}
	return states
}

// report logs that a route serves from another origin than before.
func (f *Fees) report(change *State) {
	if change == nil {
		return
	}
	log := f.log.With("source", change.Source.String(), "bps", change.Rate.String())
	if change.Origin == Live {
		log.Info("issuer fee is live again")
		return
	}
	log = log.With("origin", string(change.Origin), "age", change.Age.String(), "reason", change.Err.Error())
	if cause := errors.Unwrap(change.Err); cause != nil {
		log = log.With("cause", cause.Error())
	}
	log.Warn("issuer fee is not live")
}
