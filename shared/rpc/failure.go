package rpc

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/quotegate/quotegate/shared/remote"
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
	return slices.Contains([]Reason{Limited, Timeout, Unreachable, Refused, WrongChain, Undecodable}, r)
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
		return &Failure{Limited, fmt.Sprintf("HTTP status %d", http.StatusTooManyRequests), quota.retryAfter}
	case errors.As(err, &httpError):
		f := &Failure{Reason: Refused, Text: fmt.Sprintf("HTTP status %d", httpError.StatusCode)}
		if tracks && len(reads) == 1 && httpError.StatusCode == http.StatusBadRequest {
			f.Reason = Declined // as some providers refuse a range of logs
		}
		return f
	case errors.As(err, &rpcError):
		f := &Failure{Reason: Refused, Text: fmt.Sprintf("JSON-RPC error %d", rpcError.ErrorCode())}
		switch code := rpcError.ErrorCode(); {
		// Providers use the code of a quota also for a range of logs that is too long.
		case tracks && reads[0].Method == getLogs:
			f.Reason = Declined
		case code == codeLimitExceeded || code == http.StatusTooManyRequests:
			f.Reason = Limited
		case code == codeReverted || strings.Contains(strings.ToLower(rpcError.Error()), "revert"):
			return &Failure{Reason: Reverted, Text: "the contract reverted"}
		case tracks:
			f.Reason = Declined
		}
		return f
	case errors.As(err, new(*http.MaxBytesError)) && tracks:
		return ErrTooLong
	case errors.As(err, new(*http.MaxBytesError)):
		return &Failure{Reason: Undecodable, Text: "the answer is too long"}
	}
	text, timeout := remote.Explain(err)
	switch {
	case timeout:
		return &Failure{Reason: Timeout, Text: text}
	case text != "":
		return &Failure{Reason: Unreachable, Text: text}
	}
	return &Failure{Reason: Undecodable, Text: "the answer is not a JSON-RPC result of the expected type"}
}
