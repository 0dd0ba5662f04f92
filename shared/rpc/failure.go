package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

// Reason is why a question failed. The list is closed, so that it can label a
// metric.
type Reason string

const (
	Unconfigured  Reason = "unconfigured"  // no RPC endpoint for the chain
	Busy          Reason = "busy"          // too many questions were under way
	Resting       Reason = "resting"       // every endpoint failed a moment ago
	Limited       Reason = "limited"       // the provider says we are over its quota
	Timeout       Reason = "timeout"       // no answer in time
	Unreachable   Reason = "unreachable"   // no connection, or a broken one
	Refused       Reason = "refused"       // an HTTP status or a JSON-RPC error
	WrongChain    Reason = "wrong_chain"   // the endpoint serves another chain
	Undecodable   Reason = "undecodable"   // not JSON-RPC, or not what the contract returns
	Declined      Reason = "declined"      // it does not answer this one question: what it was asked for is unknown to it, or too long
	Reverted      Reason = "reverted"      // the contract reverted
	Misconfigured Reason = "misconfigured" // what the contract says cannot be right
	Closed        Reason = "closed"        // the service is shutting down
)

// Reasons lists every reason.
func Reasons() []Reason {
	return []Reason{Unconfigured, Busy, Resting, Limited, Timeout, Unreachable, Refused, WrongChain, Undecodable, Declined, Reverted, Misconfigured, Closed}
}

// RestsEndpoint reports whether an endpoint that failed for this reason is
// skipped for a while. What a contract says to one question does not count, nor
// that one question has no answer: otherwise anyone could disable an endpoint by
// asking that question.
func (r Reason) RestsEndpoint() bool {
	switch r {
	case Limited, Timeout, Unreachable, Refused, WrongChain, Undecodable:
		return true
	}
	return false
}

// Failure is why a question, or one try of it, failed. Its text is for the log.
// It never holds text from outside, which may contain the secret of an RPC URL.
type Failure struct {
	Reason     Reason
	Text       string
	RetryAfter time.Duration // from Ask at least a second; of a try, what the provider wants, 0 for nothing
}

func (f *Failure) Error() string { return string(f.Reason) + ": " + f.Text }

// When to ask again.
const (
	shortRetry = time.Second // as soon as an endpoint is tried again
	longRetry  = time.Minute // when a person may have changed something
)

// JSON-RPC error codes with a meaning of their own. A revert without a reason has
// a general code and is recognised by its message.
const (
	codeReverted      = 3
	codeLimitExceeded = -32005
)

// classify turns an error into a failure, without its text.
func classify(err error) *Failure {
	var (
		failure   *Failure
		quota     *overQuota
		httpError rpc.HTTPError
		rpcError  rpc.Error
		netError  net.Error
	)
	switch {
	case errors.As(err, &failure):
		return failure
	case errors.As(err, &quota):
		return &Failure{Limited, fmt.Sprintf("HTTP status %d", http.StatusTooManyRequests), quota.retryAfter}
	case errors.As(err, &httpError):
		return &Failure{Reason: Refused, Text: fmt.Sprintf("HTTP status %d", httpError.StatusCode)}
	case errors.As(err, &rpcError):
		text := fmt.Sprintf("JSON-RPC error %d", rpcError.ErrorCode())
		switch code := rpcError.ErrorCode(); {
		case code == codeLimitExceeded || code == http.StatusTooManyRequests:
			return &Failure{Reason: Limited, Text: text}
		case code == codeReverted || strings.Contains(strings.ToLower(rpcError.Error()), "revert"):
			return &Failure{Reason: Reverted, Text: "the contract reverted"}
		}
		return &Failure{Reason: Refused, Text: text}
	case errors.Is(err, context.Canceled):
		return &Failure{Reason: Timeout, Text: "the caller gave up"}
	case errors.As(err, &netError) && netError.Timeout():
		return &Failure{Reason: Timeout, Text: "no answer in time"}
	case netError != nil:
		return &Failure{Reason: Unreachable, Text: connection(err)}
	case errors.As(err, new(*http.MaxBytesError)):
		return &Failure{Reason: Undecodable, Text: "the answer is too long"}
	}
	return &Failure{Reason: Undecodable, Text: "the answer is not a JSON-RPC result of the expected type"}
}

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
