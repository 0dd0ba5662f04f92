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

// errUnconfigured is how questions to a chain without endpoints fail.
var errUnconfigured = &Failure{Reason: Unconfigured, Text: "no RPC endpoint", RetryAfter: longRetry}

// errClosed is how questions fail after Close.
var errClosed = &Failure{Reason: Closed, Text: "the service is shutting down", RetryAfter: shortRetry}

// Reason is why a question failed. The list is closed, so that it can label a
// metric.
type Reason string

const (
	Unconfigured  Reason = "unconfigured"  // no RPC endpoint for the chain
	Busy          Reason = "busy"          // too many questions were in progress
	Resting       Reason = "resting"       // every endpoint failed a moment ago
	Limited       Reason = "limited"       // the provider says we are over its quota
	Timeout       Reason = "timeout"       // timed out
	Unreachable   Reason = "unreachable"   // connection failed
	Refused       Reason = "refused"       // an HTTP status or a JSON-RPC error
	WrongChain    Reason = "wrong_chain"   // the endpoint serves another chain
	Undecodable   Reason = "undecodable"   // not JSON-RPC, or not what the contract returns
	Declined      Reason = "declined"      // not this one question: what it was asked for is unknown to it, or too long
	Behind        Reason = "behind"        // its latest block is old: it stands still
	Disagree      Reason = "disagree"      // endpoints give different answers, and no majority one
	Reverted      Reason = "reverted"      // the contract reverted
	Misconfigured Reason = "misconfigured" // what the contract says cannot be right
	Closed        Reason = "closed"        // the service is shutting down
)

func Reasons() []Reason {
	return []Reason{
		Unconfigured, Busy, Resting, Limited, Timeout, Unreachable, Refused, WrongChain, Undecodable,
		Declined, Behind, Disagree, Reverted, Misconfigured, Closed,
	}
}

// RestsEndpoint reports whether an endpoint that failed for this reason is
// skipped for a while. What a contract says to one question does not count, nor
// that one question has no answer: otherwise anyone could disable an endpoint by
// asking that question.
func (r Reason) RestsEndpoint() bool {
	return slices.Contains([]Reason{Limited, Timeout, Unreachable, Refused, WrongChain, Undecodable, Behind}, r)
}

// Failure is why a question, or one try of it, failed. Its text is for the log.
// It never holds text from outside, which may contain the secret of an RPC URL.
type Failure struct {
	Reason     Reason
	Text       string
	RetryAfter time.Duration // from Ask at least a second; of a try, what the provider wants, 0 for nothing
	Output     []byte        // of a read that failed in the EVM: what it reverted with, as far as the node tells
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

// classify turns an error into a failure, without its text. reads are those that the
// error is about, if there are any: what became of a transaction may be unknown to an
// endpoint, or more than it tells, which is no failure of the endpoint.
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

// declines tells whether an HTTP status is about one read, and not about the endpoint.
// Providers refuse logs of too many blocks, and methods that they lack, with several of them.
func declines(r Read, status int) bool {
	switch status {
	case http.StatusBadRequest:
		return r.tracks
	case http.StatusForbidden, http.StatusRequestEntityTooLarge:
		return r.Method == getLogs || isOptional(r.Method)
	}
	return isOptional(r.Method)
}
