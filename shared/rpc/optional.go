package rpc

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

// Methods that not every node has. An endpoint that refuses one of them is no worse
// for it: that is remembered, and rests no lane.
const (
	Simulate = "eth_simulateV1"
	Estimate = "eth_estimateGas"
)

// ErrNoMethod is how a read of such a method fails that the endpoint does not have, or
// refuses with an HTTP status.
var ErrNoMethod = &Failure{Reason: Declined, Text: "it does not have this method"}

// lackFor is how long an endpoint is not asked for what it does not have.
const lackFor = time.Hour

// ability is what is known of an endpoint and of a method that not every node has.
type ability struct {
	failures   int       // with an HTTP status of 500 or more, in a row; the second one counts
	lacksUntil time.Time // it does not have the method
}

func optional(method string) bool { return method == Simulate || method == Estimate }

// Lacks reports whether the endpoint is known not to have the method, one of those
// above.
func (e *Endpoint) Lacks(method string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now().Before(e.abilities[method].lacksUntil)
}

// Miss notes that the endpoint does not have the method, though it answers: what it
// says is of no use.
func (e *Endpoint) Miss(method string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.miss(method)
}

// miss is called with the lock held.
func (e *Endpoint) miss(method string) {
	if e.abilities == nil {
		e.abilities = make(map[string]ability)
	}
	e.abilities[method] = ability{lacksUntil: e.now().Add(lackFor)}
}

// learn notes what came of asking for one of the methods above, and reports whether
// it fails with ErrNoMethod. For any other method, learn does nothing.
func (e *Endpoint) learn(method string, err error) (refused bool) {
	if !optional(method) {
		return false
	}
	var status rpc.HTTPError
	byStatus := errors.As(err, &status)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.abilities == nil {
		e.abilities = make(map[string]ability)
	}
	down := byStatus && status.StatusCode >= http.StatusInternalServerError // maybe, and just now
	switch {
	case err == nil:
		e.abilities[method] = ability{}
	case down && e.abilities[method].failures == 0:
		e.abilities[method] = ability{failures: 1}
	case byStatus || lacksMethod(err):
		e.miss(method)
	}
	return byStatus || lacksMethod(err)
}

// classifyAnswer is classify for a read that has an answer of its own. A method that
// not every node has, and whose answer is of another form, is one that this node does
// not have.
func (e *Endpoint) classifyAnswer(err error, r Read) *Failure {
	f := classify(err, r)
	if f.Reason == Undecodable && optional(r.Method) {
		e.Miss(r.Method)
		return ErrNoMethod
	}
	return f
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
