// Package selfcheck tests whether a configuration is right: whether every RPC
// endpoint serves its chain, and every contract of the deployment is where the
// deployment says. `gateway check` prints the results, and the running service
// tests itself again and again.
//
// What it promises:
//   - A test fails only because of an answer, or the lack of one, to that test. A
//     contract is not tested while no endpoint of its chain answers.
//   - An endpoint whose latest block is too old fails: what it does not know may have
//     happened long ago.
//   - All tests end in less than a minute. Each endpoint is asked one question at
//     a time, and six chains are asked at the same time.
//   - No text from an endpoint, and no part of its address, is in any result.
//     Endpoints are named by their place in the configuration.
package selfcheck

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/rpc"
)

// What is tested. The list is closed, so that it can label a metric.
type What string

const (
	Endpoint  What = "endpoint"
	Router    What = "router"
	Messenger What = "messenger" // of the issuer; the router of a CCTP source
	Registry  What = "registry"
	Receiver  What = "receiver"
	Status    What = "status" // whether swaps can be followed on a chain

	// Only `gateway check` tests these.
	Configuration What = "configuration"
	Deployment    What = "deployment"
	Plan          What = "plan"
	Clients       What = "clients"
	Redis         What = "redis"
	Database      What = "database"
	IssuerFee     What = "issuer fee"
)

// Outcome of a test.
type Outcome string

const (
	OK        Outcome = "ok"
	Failed    Outcome = "failed"
	NotTested Outcome = "not tested"
)

// Result of one test.
type Result struct {
	Name    string   `json:"name"` // such as "chain 1, endpoint 2"
	What    What     `json:"what"`
	Chain   chain.ID `json:"chainId,omitempty"` // a network, or 0 if the test is about none
	Outcome Outcome  `json:"outcome"`
	Detail  string   `json:"detail,omitempty"` // what was found, or why it was not tested
}

// String is the result as a sentence: "Chain 1, endpoint 2: no answer in time".
func (r Result) String() string {
	return strings.ToUpper(r.Name[:1]) + strings.TrimSuffix(r.Name[1:]+": "+r.Detail, ": ")
}

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
	guard.Every(ctx, 10*time.Minute, w.log, what, round)
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
