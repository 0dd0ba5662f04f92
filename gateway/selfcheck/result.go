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
	"strings"

	"github.com/quotegate/quotegate/shared/chain"
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
	text := strings.ToUpper(r.Name[:1]) + r.Name[1:]
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	return text
}
