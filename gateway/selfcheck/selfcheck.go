// Package selfcheck tests the configuration against the chains: whether every RPC
// endpoint serves its chain and is up to date, and whether every contract of the
// deployment exists. `gateway check` prints the results; the service repeats the tests.
//
// A contract is not tested while no endpoint of its chain answers. All tests end within
// a minute. Results never contain text from an endpoint or any part of its address.
package selfcheck

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/safego"
)

// What is tested. The list is closed, so that it can label a metric.
type What string

const (
	Endpoint  What = "endpoint"
	Router    What = "router"
	Messenger What = "messenger" // of the issuer; the router of a CCTP source
	Registry  What = "registry"
	Receiver  What = "receiver"
	Token     What = "token"
	Status    What = "status" // whether swaps can be tracked on a chain

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
	// Missing is the address without a contract, if all endpoints that answer agree, and
	// zero otherwise.
	Missing common.Address `json:"-"`
}

// String is the result as a sentence: "Chain 1, endpoint 2: timed out".
func (r Result) String() string {
	return strings.ToUpper(r.Name[:1]) + strings.TrimSuffix(r.Name[1:]+": "+r.Detail, ": ")
}

func (r Result) missing() bool { return r.Missing != common.Address{} }

// Watch tests the deployment of a running service. It is safe for concurrent use.
type Watch struct {
	deployment *chain.Deployment
	chains     *rpc.Client
	log        *slog.Logger
	last       atomic.Pointer[round]
}

// round is the result of testing everything once.
type round struct {
	results []Result
	missing map[place]bool // every quote looks up some
}

// place is the expected location of a contract.
type place struct {
	network chain.ID
	address common.Address
}

func newRound(results []Result) *round {
	missing := make(map[place]bool)
	for _, r := range results {
		if r.missing() {
			missing[place{r.Chain, r.Missing}] = true
		}
	}
	return &round{results, missing}
}

// NewWatch prepares the tests. Run runs them.
func NewWatch(d *chain.Deployment, chains *rpc.Client, log *slog.Logger) *Watch {
	w := &Watch{deployment: d, chains: chains, log: log}
	w.last.Store(newRound(nil))
	return w
}

// Inherit takes over the missing contracts that another watch has found, until this one has
// tested them. It leaves out chains without an endpoint.
func (w *Watch) Inherit(before *Watch) {
	var missing []Result
	for _, r := range before.Results() {
		if r.missing() && w.chains.Endpoints(r.Chain) > 0 {
			missing = append(missing, r)
		}
	}
	w.last.Store(newRound(missing))
}

// Run tests at once and then regularly, until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	for ctx.Err() == nil {
		safego.Do(w.log, "testing the deployment", func() { w.test(ctx) })
		select {
		case <-ctx.Done():
		case <-time.After(w.pause()):
		}
	}
}

// pause is the time between rounds. It is short while a contract is missing, so that warnings
// end soon after the contract exists.
func (w *Watch) pause() time.Duration {
	if len(w.last.Load().missing) > 0 {
		return time.Minute
	}
	return 10 * time.Minute
}

// Missing reports whether a network is known to have no contract at an address: all endpoints
// that answered the last test agreed. It is false for an address that is not tested. It takes
// no lock.
func (w *Watch) Missing(network chain.ID, address common.Address) bool {
	return w.last.Load().missing[place{network, address}]
}

// Results are those of the last round, or the inherited ones before the first has ended. A
// failed test that cannot be repeated counts as failed until it can.
func (w *Watch) Results() []Result { return w.last.Load().results }

// Problems are the failed tests as sentences. It is nil if none has failed.
func (w *Watch) Problems() (sentences []string) {
	for _, r := range w.Results() {
		if r.Outcome == Failed {
			sentences = append(sentences, r.String())
		}
	}
	return sentences
}

// test tests everything once, and logs what has changed.
func (w *Watch) test(ctx context.Context) {
	results := OnChain(ctx, w.deployment, w.chains, w.log)
	if ctx.Err() != nil {
		return // the tests were cancelled
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
	w.last.Store(newRound(results))
}
