package rpc

import (
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/rpc"
)

// Methods that not every node has. An endpoint that refuses one of them is no worse
// for it: that rests no lane.
const (
	Simulate = "eth_simulateV1"
	Estimate = "eth_estimateGas"
)

// ErrNoMethod is how a read of such a method fails that the endpoint does not have, or
// refuses with an HTTP status.
var ErrNoMethod = &Failure{Reason: Declined, Text: "method not supported"}

func isOptional(method string) bool { return method == Simulate || method == Estimate }

// refusesMethod reports whether an error says that an endpoint does not have a method,
// one of those above.
func refusesMethod(method string, err error) bool {
	return isOptional(method) && (errors.As(err, new(rpc.HTTPError)) || lacksMethod(err))
}

// JSON-RPC error codes for a method that a node does not have.
const (
	codeMethodNotFound     = -32601
	codeMethodNotSupported = -32004
)

// lacksMethod reports whether an error says that the node does not have a method.
// Providers that use a code of their own say so in words.
func lacksMethod(err error) bool {
	var refusal rpc.Error
	if !errors.As(err, &refusal) {
		return false
	}
	if code := refusal.ErrorCode(); code == codeMethodNotFound || code == codeMethodNotSupported {
		return true
	}
	text := strings.ToLower(refusal.Error())
	if !strings.Contains(text, "method") {
		return false
	}
	for _, words := range []string{
		"not supported", "unsupported", "not available", "not found", "not exist", "not allowed",
		"whitelist", "disabled",
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
