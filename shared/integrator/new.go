package integrator

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/quotegate/quotegate/shared/chain"
)

// Options of a Registry. All are optional.
type Options struct {
	Log   *slog.Logger // for endpoints that fail and recover; nil logs nothing
	Hooks Hooks
	Now   func() time.Time // nil for time.Now
}

// Hooks are called during look-ups, for metrics. Many goroutines call them, and
// they must be quick. A nil hook is not called.
type Hooks struct {
	Hit     func(network chain.ID)                  // a look-up was answered from the cache
	Miss    func(network chain.ID)                  // a look-up was not answered from the cache
	Failure func(network chain.ID, reason Reason)   // asking the chain failed; once for all look-ups that waited for it
	Latency func(network chain.ID, d time.Duration) // of asking the chain, including the wait for a turn, also if it failed
}

// New prepares to read the registries of d. It does not call the endpoints yet.
func New(cfg Config, d *chain.Deployment, opts Options) (*Registry, error) {
	return newRegistry(cfg, d, opts, defaultLimits)
}

func newRegistry(cfg Config, d *chain.Deployment, opts Options, l limits) (*Registry, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	cache, err := newCache(cfg.CacheSize, cfg.CacheTTL, opts.Now)
	if err != nil {
		return nil, err
	}
	r := &Registry{cache: cache, hooks: opts.Hooks, now: opts.Now, limits: l, http: newHTTPClient(int(2 * l.calls))}
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	for _, v := range cfg.variables() {
		n := &network{id: v.network, registry: d.Registry(v.network), limits: l, partners: newLane(l), others: newLane(l)}
		n.state.Store(Unused)
		for i, u := range v.urls {
			client, err := rpc.DialOptions(r.ctx, string(u), rpc.WithHTTPClient(r.http), rpc.WithHeaders(repeatable))
			if err != nil {
				return nil, fmt.Errorf("%s: entry %d cannot be used", v.name, i+1) // err would quote the URL
			}
			log := opts.Log.With("chain", v.network, "endpoint", i+1)
			n.endpoints = append(n.endpoints, &endpoint{network: v.network, client: client, now: opts.Now, log: log})
		}
		r.networks = append(r.networks, n)
	}
	return r, nil
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Hooks.Hit == nil {
		o.Hooks.Hit = func(chain.ID) {}
	}
	if o.Hooks.Miss == nil {
		o.Hooks.Miss = func(chain.ID) {}
	}
	if o.Hooks.Failure == nil {
		o.Hooks.Failure = func(chain.ID, Reason) {}
	}
	if o.Hooks.Latency == nil {
		o.Hooks.Latency = func(chain.ID, time.Duration) {}
	}
	return o
}
