package rpc

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/rpc"
)

// logsHTTPRefusal says why eth_getLogs alone was answered with an HTTP status. Most
// providers put the JSON-RPC error into the body.
func logsHTTPRefusal(refusal rpc.HTTPError) *Failure {
	failure := func(reason Reason) *Failure {
		return &Failure{Reason: reason, Text: fmt.Sprintf("HTTP status %d", refusal.StatusCode)}
	}
	var body struct {
		Error struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	explained := json.Unmarshal(refusal.Body, &body) == nil && body.Error.Message != ""
	switch {
	case explained:
		return logsRefusal(body.Error.Code, body.Error.Message)
	case refusal.StatusCode == http.StatusUnauthorized || refusal.StatusCode == http.StatusPaymentRequired:
		return failure(Refused)
	case refusal.StatusCode >= 500: // it may be down, too
		return failure(Refused)
	}
	return failure(TooWide)
}

// ErrBehind is how a node refuses logs of a block that it does not have yet.
var ErrBehind = &Failure{Reason: Declined, Text: "the range ends behind its latest block"}

// logsRefusal says why a provider gives no logs. There is no code for a range that is
// too wide: providers use that of a quota, of invalid parameters, or one of their own.
// So their words count, and if these say nothing else, the range is too wide.
func logsRefusal(code int, message string) *Failure {
	message = strings.ToLower(message)
	says := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(message, w) })
	}
	f := &Failure{Reason: TooWide, Text: fmt.Sprintf("JSON-RPC error %d", code)}
	switch {
	case code == http.StatusTooManyRequests || says(quotaWords):
		f.Reason = Limited
	case says(behindWords):
		return ErrBehind
	case code == codePruned || says(absentWords):
		f.Reason = Declined
	case says(rangeWords):
	case code == codeNoMethod || says(unableWords):
		f.Reason = Declined
	case code == codeLimitExceeded:
		f.Reason = Limited
	}
	return f
}

const (
	codePruned   = 4444
	codeNoMethod = -32601
)

// What providers write, in lower case.
var (
	quotaWords = []string{
		"rate limit", "rate-limit", "rate exceeded", "too many requests", "request limit", "request count",
		"requests per", "per second", "/second", "throughput", "compute units", "quota", "throttl",
	}
	behindWords = []string{"beyond", "invalid block range", "header not found", "unknown block"}
	absentWords = []string{"not available", "unavailable", "pruned"}
	rangeWords  = []string{"range", "result", "too many logs", "size", "timeout", "timed out", "too long", "too large"}
	unableWords = []string{
		"does not exist", "not supported", "unsupported", "disabled", "not found", "missing", "not allowed",
	}
)
