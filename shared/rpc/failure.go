package rpc

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/quotegate/quotegate/shared/fault"
)

// errUnconfigured is the failure of questions to a chain without endpoints.
var errUnconfigured = &Failure{Reason: Unconfigured, Text: "no RPC endpoint", RetryAfter: longRetry}

// errClosed is the failure of questions after Close.
var errClosed = &Failure{Reason: Closed, Text: "the service is shutting down", RetryAfter: shortRetry}

// Reason is why a question failed. The list is closed, so that it can label a
// metric.
type Reason string

const (
	Unconfigured  Reason = "unconfigured"  // no RPC endpoint for the chain
	Busy          Reason = "busy"          // too many questions were in progress
	Resting       Reason = "resting"       // every endpoint failed a moment ago
	Limited       Reason = "limited"       // the provider rate limits us
	Timeout       Reason = "timeout"       // timed out
	Unreachable   Reason = "unreachable"   // connection failed
	Refused       Reason = "refused"       // an HTTP status or a JSON-RPC error
	WrongChain    Reason = "wrong_chain"   // the endpoint serves another chain
	Undecodable   Reason = "undecodable"   // not JSON-RPC, or not what the contract returns
	Declined      Reason = "declined"      // this one question: the data is unknown to it, or too long
	Behind        Reason = "behind"        // its latest block is old: the node has stalled
	Disagree      Reason = "disagree"      // endpoints give different answers, without a majority
	Reverted      Reason = "reverted"      // the contract reverted
	Misconfigured Reason = "misconfigured" // the contract's answer cannot be right
	Closed        Reason = "closed"        // the service is shutting down
)

// Reasons are all reasons.
func Reasons() []Reason {
	return []Reason{
		Unconfigured, Busy, Resting, Limited, Timeout, Unreachable, Refused, WrongChain, Undecodable,
		Declined, Behind, Disagree, Reverted, Misconfigured, Closed,
	}
}

// restsEndpoint reports whether an endpoint that failed for this reason is skipped for a
// while. What is about a single question does not count: otherwise anyone could disable an
// endpoint with that question.
func (r Reason) restsEndpoint() bool {
	return slices.Contains([]Reason{Limited, Timeout, Unreachable, Refused, WrongChain, Undecodable, Behind}, r)
}

// Failure is why a question, or one try of it, failed. Its text is for the log.
// It never holds text from outside, which may contain the secret of an RPC URL.
type Failure struct {
	Reason     Reason
	Text       string
	RetryAfter time.Duration // from Ask at least a second; of a try, the provider's Retry-After or 0
	Output     []byte        // of a read that reverted: the revert data, if the node returns it
}

// NameEndpoint says whose failure a text is about.
func NameEndpoint(place int, text string) string { return fmt.Sprintf("endpoint %d: %s", place, text) }

// maxDetails bounds how many failures of one question are in a line of the log.
const maxDetails = 8

// Details joins what several endpoints failed for into one text.
func Details(texts []string) string {
	if more := len(texts) - maxDetails; more > 0 {
		texts = append(slices.Clone(texts[:maxDetails]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

func (f *Failure) Error() string { return string(f.Reason) + ": " + f.Text }

// When to retry.
const (
	shortRetry = time.Second // when an endpoint may be tried again
	longRetry  = time.Minute // when an operator may have changed something
)

// JSON-RPC error codes with a meaning of their own. A revert without a reason has
// a general code and is recognised by its message.
const (
	codeReverted      = 3
	codeLimitExceeded = -32005
)

// classify turns an error into a failure, without its text. reads are those that the error is
// about, if any: the data of a transaction may be unknown to an endpoint, or too long for it,
// which is no failure of the endpoint.
func classify(err error, reads ...Read) *Failure {
	var (
		failure   *Failure
		quota     *overQuota
		httpError rpc.HTTPError
		rpcError  rpc.Error
	)
	tracks := slices.ContainsFunc(reads, isTracking)
	switch {
	case errors.As(err, &failure):
		return failure
	case errors.As(err, &quota):
		return &Failure{Reason: Limited, Text: "HTTP status 429", RetryAfter: quota.retryAfter}
	case errors.As(err, &httpError):
		f := &Failure{Reason: Refused, Text: fmt.Sprintf("HTTP status %d", httpError.StatusCode)}
		if len(reads) == 1 && declines(reads[0], httpError.StatusCode) {
			f.Reason = Declined
		}
		return f
	case errors.As(err, &rpcError):
		code := rpcError.ErrorCode()
		f := &Failure{Reason: Refused, Text: fmt.Sprintf("JSON-RPC error %d", code), Output: outputOf(err)}
		switch {
		case code == codeLimitExceeded || code == http.StatusTooManyRequests:
			f.Reason = Limited
		case code == codeReverted || strings.Contains(strings.ToLower(rpcError.Error()), "revert"):
			f.Reason = Reverted
			f.Text = "the contract reverted"
		case tracks:
			f.Reason = Declined
		}
		return f
	case errors.As(err, new(*http.MaxBytesError)) && tracks:
		return ErrTooLong
	case errors.As(err, new(*http.MaxBytesError)):
		return &Failure{Reason: Undecodable, Text: "the answer is too long"}
	}
	text, timeout := fault.ExplainNetwork(err)
	switch {
	case timeout:
		return &Failure{Reason: Timeout, Text: text}
	case text != "":
		return &Failure{Reason: Unreachable, Text: text}
	}
	return &Failure{Reason: Undecodable, Text: "the answer is not a JSON-RPC result of the expected type"}
}

// declines reports whether an HTTP status is about one read, and not about the endpoint.
// Providers use several statuses to refuse logs of too many blocks and unsupported methods.
func declines(r Read, status int) bool {
	switch status {
	case http.StatusBadRequest:
		return r.tracks
	case http.StatusForbidden, http.StatusRequestEntityTooLarge:
		return r.Method == getLogs || isOptional(r.Method)
	}
	return isOptional(r.Method)
}
