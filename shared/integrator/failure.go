package integrator

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

// Reason is why a look-up failed. The list is closed, so that it can label a
// metric.
type Reason string

const (
	Unconfigured  Reason = "unconfigured"  // no RPC endpoint for the chain
	Busy          Reason = "busy"          // too many look-ups were under way
	Resting       Reason = "resting"       // every endpoint failed a moment ago
	Timeout       Reason = "timeout"       // no answer in time
	Unreachable   Reason = "unreachable"   // no connection, or a broken one
	Refused       Reason = "refused"       // an HTTP status or a JSON-RPC error
	WrongChain    Reason = "wrong_chain"   // the endpoint serves another chain
	Undecodable   Reason = "undecodable"   // not JSON-RPC, or not what a registry returns
	Reverted      Reason = "reverted"      // the registry reverted
	Misconfigured Reason = "misconfigured" // the registry's entry cannot be right
	Closed        Reason = "closed"        // the service is shutting down
)

// Reasons lists every reason.
func Reasons() []Reason {
	return []Reason{Unconfigured, Busy, Resting, Timeout, Unreachable, Refused, WrongChain, Undecodable, Reverted, Misconfigured, Closed}
}

// skipsEndpoint reports whether an endpoint that failed for this reason is
// skipped for a while. What the registry says about one ID does not count:
// otherwise anyone could disable an endpoint by asking for that ID.
func (r Reason) skipsEndpoint() bool {
	switch r {
	case Timeout, Unreachable, Refused, WrongChain, Undecodable:
		return true
	}
	return false
}

// failure is why a look-up, or one try of it, failed. Its text is for the log.
// It never holds text from outside, which may contain the secret of an RPC URL.
type failure struct {
	reason     Reason
	text       string
	retryAfter time.Duration
}

func (f *failure) Error() string { return string(f.reason) + ": " + f.text }

// When a refused client should try again.
const (
	shortRetry = time.Second // as soon as an endpoint is tried again
	longRetry  = time.Minute // when a person may have changed something
)

// fault is the error that a look-up returns for f.
func (f *failure) fault(network chain.ID) error {
	switch f.reason {
	case Unconfigured:
		return unverified(f, f.retryAfter, "Integrators cannot be verified on chain %s: this service has no RPC endpoint for it, and gives no quote without that", network)
	case Reverted, Misconfigured:
		return unverified(f, f.retryAfter, "The registry on chain %s has no valid entry for this integrator, and no quote is given without one", network)
	}
	return unverified(f, f.retryAfter, "The integrator could not be verified on chain %s just now, and no quote is given without that; try again shortly", network)
}

// unverified makes a new fault each time, because callers add to it.
func unverified(cause error, retryAfter time.Duration, format string, network chain.ID) error {
	e := fault.New(fault.IntegratorUnverified, format, network).Because(cause)
	e.RetryAfter = retryAfter
	return e
}

// classify turns the error of an RPC call into a failure, without its text.
func classify(err error) *failure {
	var (
		httpError rpc.HTTPError
		rpcError  rpc.Error
		netError  net.Error
	)
	switch {
	case errors.As(err, &httpError):
		return &failure{reason: Refused, text: fmt.Sprintf("HTTP status %d", httpError.StatusCode)}
	case errors.As(err, &rpcError):
		if rpcError.ErrorCode() == codeReverted || strings.Contains(strings.ToLower(rpcError.Error()), "revert") {
			return &failure{reason: Reverted, text: "the registry reverted"}
		}
		return &failure{reason: Refused, text: fmt.Sprintf("JSON-RPC error %d", rpcError.ErrorCode())}
	case errors.As(err, &netError) && netError.Timeout():
		return &failure{reason: Timeout, text: "no answer in time"}
	case netError != nil:
		return &failure{reason: Unreachable, text: connection(err)}
	case errors.As(err, new(*http.MaxBytesError)):
		return &failure{reason: Undecodable, text: "the answer is too long"}
	}
	return &failure{reason: Undecodable, text: "the answer is not a JSON-RPC result of the expected type"}
}

// codeReverted is the JSON-RPC error code of a revert with a reason. A revert
// without one has a general code and is recognised by its message.
const codeReverted = 3

// connection says why there is no connection.
func connection(err error) string {
	switch {
	case errors.As(err, new(*net.DNSError)):
		return "its host name does not resolve"
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return "its certificate is not accepted"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET):
		return "connection reset"
	}
	return "no connection, or a broken one"
}
