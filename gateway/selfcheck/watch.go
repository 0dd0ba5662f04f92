package selfcheck

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/rpc"
)

// every is how often a running service tests itself.
const every = 10 * time.Minute

// Watch tests the deployment of a running service. It is safe for concurrent use.
type Watch struct {
	deployment *chain.Deployment
	chains     *rpc.Client
	log        *slog.Logger
	last       atomic.Pointer[[]Result] // of the last round
}

// NewWatch prepares to test. Run does it.
func NewWatch(d *chain.Deployment, chains *rpc.Client, log *slog.Logger) *Watch {
	w := &Watch{deployment: d, chains: chains, log: log}
	w.last.Store(&[]Result{})
	return w
}

// Run tests now and every ten minutes, until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	const what = "testing the deployment"
	round := func() { w.round(ctx) }
	guard.Do(w.log, what, round)
	guard.Every(ctx, every, w.log, what, round)
}

// Results are those of the last round, none before the first has ended. A test
// that has failed and cannot be repeated counts as failed until it can.
func (w *Watch) Results() []Result { return *w.last.Load() }

// Problems are the failed tests as sentences. It is nil if none has failed.
func (w *Watch) Problems() (sentences []string) {
	for _, r := range w.Results() {
		if r.Outcome == Failed {
			sentences = append(sentences, r.String())
		}
	}
	return sentences
}

// round tests everything once, and logs what has changed.
func (w *Watch) round(ctx context.Context) {
	results := OnChain(ctx, w.deployment, w.chains, w.log)
	if ctx.Err() != nil {
		return // the tests were given up
	}
	before := make(map[string]Result)
	for _, r := range w.Results() {
		before[r.Name] = r
	}
	for i, r := range results {
		known := before[r.Name]
		switch {
		case r.Outcome == NotTested && known.Outcome == Failed:
			results[i] = known
		case r.Outcome == Failed && known != r:
			w.log.Warn("self-check: a test fails", "what", r.Name, "detail", r.Detail)
		case r.Outcome == OK && known.Outcome == Failed:
			w.log.Info("self-check: a test that failed passes now", "what", r.Name)
		}
	}
	w.last.Store(&results)
}
