package client

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Codes of errors. A gateway may be newer and say others.
const (
	// Of the client itself.

	InvalidRequest = "INVALID_REQUEST" // the request cannot be asked
	Unreachable    = "UNREACHABLE"     // no answer: the cause says why
	Unreadable     = "UNREADABLE"      // an answer that is none of a gateway's, such as a proxy's page
	Unverified     = "UNVERIFIED"      // an answer that must not be signed or believed: see Problems
	Outdated       = "OUTDATED"        // the gateway needs a newer client: see Needs

	// Of the gateway: the request is wrong.

	MissingParameter       = "MISSING_PARAMETER"
	InvalidParameter       = "INVALID_PARAMETER"
	InvalidAmount          = "INVALID_AMOUNT"
	AmountOutOfRange       = "AMOUNT_OUT_OF_RANGE" // see MinAmount and MaxAmount
	UnsupportedChain       = "UNSUPPORTED_CHAIN"
	UnsupportedToken       = "UNSUPPORTED_TOKEN"
	UnsupportedPair        = "UNSUPPORTED_PAIR"  // see Alternatives
	InvalidRecipient       = "INVALID_RECIPIENT" // see Reason
	InvalidIntegrator      = "INVALID_INTEGRATOR"
	IntegratorUnregistered = "INTEGRATOR_UNREGISTERED"
	IntegratorInactive     = "INTEGRATOR_INACTIVE"
	IntegratorFeeTooHigh   = "INTEGRATOR_FEE_TOO_HIGH"
	UnknownKey             = "UNKNOWN_KEY"

	// Of the gateway: not now, or not here.

	IntegratorUnverified = "INTEGRATOR_UNVERIFIED" // the registry cannot be read now
	IssuerFeeTooHigh     = "ISSUER_FEE_TOO_HIGH"   // no burn is quoted with the fee that the issuer states now
	RateLimited          = "RATE_LIMITED"          // see RetryAfter
	ChainUnavailable     = "CHAIN_UNAVAILABLE"
	UsageUnavailable     = "USAGE_UNAVAILABLE"  // your calls cannot be read now
	StatusUnavailable    = "STATUS_UNAVAILABLE" // this gateway follows no swaps
	VersionBrownout      = "VERSION_BROWNOUT"   // see Successor and Until
	VersionRetired       = "VERSION_RETIRED"    // see Successor
	RouteNotFound        = "NOT_FOUND"
	MethodNotAllowed     = "METHOD_NOT_ALLOWED"
	Internal             = "INTERNAL"
)

// An Error is all that can be wrong with a request, a gateway or an answer. Fields that its code does not have are
// empty.
type Error struct {
	Code    string
	Message string // a sentence, the gateway's own where it refused: cut, and without characters that nobody sees
	Status  int    // of the answer; 0 if there was none
	ErrorFields

	RetryAfter time.Duration // how long to leave the gateway alone; 0 if it does not say
	Needs      string        // the oldest client that the gateway understands
	Problems   []string      // everything that is wrong with an answer, the worst first; the path of a field at the end
	// Checked is the quote if nothing is wrong with it but that the gateway itself warns of it: to be shown, and not to
	// be signed.
	Checked *Checked

	refused bool // by the gateway, in its own words
	cause   error
}

// ErrorFields is what a gateway may say of an error beside its code and its sentence.
type ErrorFields struct {
	RequestID    string        `json:"requestId,omitempty"`    // to tell the operator
	Param        string        `json:"param,omitempty"`        // the parameter at fault
	Reason       string        `json:"reason,omitempty"`       // why a recipient is refused
	MinAmount    Amount        `json:"minAmount,omitempty"`    // of the source token
	MaxAmount    Amount        `json:"maxAmount,omitempty"`    //
	Alternatives []Alternative `json:"alternatives,omitempty"` // where the source token can go instead
	Successor    string        `json:"successor,omitempty"`    // of a version that is retired
	Until        string        `json:"until,omitempty"`        // when a version answers again
}

// An Alternative is another destination for a source token.
type Alternative struct {
	DstChain string `json:"dstChain"`
	DstToken string `json:"dstToken"`
}

func (e *Error) Error() string {
	text := e.Message
	switch {
	case e.refused:
		text = "the gateway refused: " + quotedUpTo(longestRefusal, text)
	case e.Code == Unverified:
		text += ":\n" + strings.Join(e.Problems, "\n")
	case e.cause != nil:
		text += ": " + e.cause.Error()
	}
	code := e.Code
	if e.refused {
		code = quoted(code)
	}
	if e.RequestID != "" {
		return fmt.Sprintf("%s (%s, request %s)", text, code, quoted(e.RequestID))
	}
	return fmt.Sprintf("%s (%s)", text, code)
}

// Unwrap gives the cause: of the network, or of the address that cannot be asked.
func (e *Error) Unwrap() error { return e.cause }

var temporaryStatuses = []int{408, 425, 429, 500, 502, 503, 504}

// Temporary tells whether the same question may be answered later.
func (e *Error) Temporary() bool {
	switch {
	case e.Code == Unreachable || slices.Contains(temporaryStatuses, e.Status):
		return true
	case e.Code == Unreadable: // a proxy's page
		return e.Status < 400 || e.Status >= 500
	}
	return false
}

func unverified(message string, problems ...error) *Error {
	e := &Error{Code: Unverified, Message: message, cause: errors.Join(problems...)}
	for _, problem := range problems {
		e.Problems = append(e.Problems, problem.Error())
	}
	return e
}

// errorBody is how a gateway writes an error.
type errorBody struct {
	Error string `json:"error"`
	Code  string `json:"code"`
	ErrorFields
}

// refusal is what an answer that is none means. Of a body that may be anything, only what is known is taken.
func (a *answer) refusal() *Error {
	e := &Error{
		Code: Unreadable, Status: a.status, RetryAfter: retryAfter(a.header, time.Now()),
		ErrorFields: ErrorFields{RequestID: a.requestID()},
		Message: fmt.Sprintf(
			"unexpected response: status %d, %d bytes; check the address of the gateway", a.status, len(a.body)),
	}
	var problem errorBody
	if decodeBody(a.body, &problem) != nil || problem.Error == "" || problem.Code == "" {
		return e
	}
	e.refused = true
	e.Message = plain(problem.Error, longestRefusal)
	e.Code = problem.Code
	problem.RequestID = cmp.Or(problem.RequestID, e.RequestID)
	e.ErrorFields = problem.ErrorFields
	return e
}

// longestRest is the longest that a gateway is left alone because it says so.
const longestRest = 24 * time.Hour

// retryAfter reads a number of seconds, or a date; 0 for neither.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if digits(text) {
		seconds, err := strconv.ParseUint(text, 10, 32)
		if err != nil { // more than that
			return longestRest
		}
		return min(time.Duration(seconds)*time.Second, longestRest)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date // the gateway's clock and this one may differ
	}
	return max(0, min(at.Sub(now), longestRest))
}
