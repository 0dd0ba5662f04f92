package integrator

import (
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

// Options of a Registry. All are optional.
type Options struct {
	Hooks Hooks
	Now   func() time.Time // nil for time.Now
}

// Hooks are called during look-ups, for metrics. Many goroutines call them, and
// they must be quick. A nil hook is not called.
type Hooks struct {
	Hit     func(network chain.ID)                    // a look-up was answered from the cache
	Miss    func(network chain.ID)                    // a look-up was not answered from the cache
	Failure func(network chain.ID, reason rpc.Reason) // asking the chain failed; once for all look-ups that waited for it
	Latency func(network chain.ID, d time.Duration)   // of asking the chain, including the wait for a turn, also if it failed
}

// New prepares to read the registries of d through the endpoints of chains. Once
// chains is closed, only look-ups that are in the cache succeed.
func New(cfg Config, d *chain.Deployment, chains *rpc.Client, opts Options) (*Registry, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	cache, err := newCache(cfg.CacheSize, cfg.CacheTTL, opts.Now)
	if err != nil {
		return nil, err
	}
	return &Registry{deployment: d, chains: chains, cache: cache, hooks: opts.Hooks, now: opts.Now}, nil
}

func (o Options) withDefaults() Options {
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
		o.Hooks.Failure = func(chain.ID, rpc.Reason) {}
	}
	if o.Hooks.Latency == nil {
		o.Hooks.Latency = func(chain.ID, time.Duration) {}
	}
	return o
}
