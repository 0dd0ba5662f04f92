// Package fault is the closed set of ways a request can fail.
//
// An Error carries two texts that never mix: Message is the sentence for the
// caller, the cause is for the log. Anything that is not an Error becomes
// Internal with a fixed sentence, so no foreign text reaches a client.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Code names a failure. Clients branch on it, so a code is never renamed.
type Code string

const (
	MissingParameter       Code = "MISSING_PARAMETER"
	InvalidParameter       Code = "INVALID_PARAMETER"
	InvalidAmount          Code = "INVALID_AMOUNT"
	AmountOutOfRange       Code = "AMOUNT_OUT_OF_RANGE"
	UnsupportedChain       Code = "UNSUPPORTED_CHAIN"
	UnsupportedToken       Code = "UNSUPPORTED_TOKEN"
	UnsupportedPair        Code = "UNSUPPORTED_PAIR"
	InvalidRecipient       Code = "INVALID_RECIPIENT"
	InvalidIntegrator      Code = "INVALID_INTEGRATOR"
	IntegratorUnregistered Code = "INTEGRATOR_UNREGISTERED"
	IntegratorInactive     Code = "INTEGRATOR_INACTIVE"
	IntegratorFeeTooHigh   Code = "INTEGRATOR_FEE_TOO_HIGH"
	IntegratorUnverified   Code = "INTEGRATOR_UNVERIFIED"
	IssuerFeeTooHigh       Code = "ISSUER_FEE_TOO_HIGH"
	StatusUnavailable      Code = "STATUS_UNAVAILABLE"
	ChainUnavailable       Code = "CHAIN_UNAVAILABLE"
	UsageUnavailable       Code = "USAGE_UNAVAILABLE"
	NotFound               Code = "NOT_FOUND"
	MethodNotAllowed       Code = "METHOD_NOT_ALLOWED"
	VersionBrownout        Code = "VERSION_BROWNOUT"
	VersionRetired         Code = "VERSION_RETIRED"
	UnknownKey             Code = "UNKNOWN_KEY"
	RateLimited            Code = "RATE_LIMITED"
	Internal               Code = "INTERNAL"
)

// Codes lists every code, so that tests can check that a table has them all.
func Codes() []Code {
	return []Code{
		MissingParameter, InvalidParameter, InvalidAmount, AmountOutOfRange,
		UnsupportedChain, UnsupportedToken, UnsupportedPair, InvalidRecipient,
		InvalidIntegrator, IntegratorUnregistered, IntegratorInactive, IntegratorFeeTooHigh, IntegratorUnverified,
		IssuerFeeTooHigh, StatusUnavailable, ChainUnavailable, UsageUnavailable, NotFound, MethodNotAllowed,
		VersionBrownout, VersionRetired, UnknownKey, RateLimited, Internal,
	}
}

// Role is the part of a request that a failure is about. The core sets the
// role; a version translates it to the name of its parameter. Zero means none.
type Role uint8

const (
	SourceChain Role = iota + 1
	DestinationChain
	SourceToken
	DestinationToken
	Amount
	Recipient
	Integrator
)

// Reason says which of its causes InvalidRecipient has. Apps write a sentence of
// their own for each, so a reason is never renamed.
type Reason string

const (
	Zero            Reason = "ZERO"
	Checksum        Reason = "CHECKSUM"
	Name            Reason = "NAME"              // such as vitalik.eth
	Contract        Reason = "CONTRACT"          // of this service, or of the issuer
	Token           Reason = "TOKEN"             // the contract of a token
	Reserved        Reason = "RESERVED"          // nobody has the key
	PrivateOnPublic Reason = "PRIVATE_ON_PUBLIC" // a 0zk address on a public chain
	PublicOnPrivate Reason = "PUBLIC_ON_PRIVATE" // an EVM address in a privacy pool
	Malformed       Reason = "MALFORMED"         // no address, or not one for this chain
)

// BadRecipient is an InvalidRecipient with its reason.
func BadRecipient(reason Reason, format string, args ...any) *Error {
	e := New(InvalidRecipient, format, args...)
	e.Reason = reason
	return e
}

// Error is one failure. Fields other than Code and Message may be empty.
type Error struct {
	Code    Code
	Message string // a sentence for a person, safe to show to any caller
	Role    Role   // the part of the request at fault, if the core found the failure
	Param   string // the query parameter at fault, if a decoder found the failure

	Reason               Reason        // InvalidRecipient: which of its causes
	MinAmount, MaxAmount string        // AmountOutOfRange: the bounds, in the source token's smallest unit
	Alternatives         []Alternative // UnsupportedPair: where the source token can go
	RetryAfter           time.Duration // when the same request may succeed
	Successor            string        // VersionBrownout, VersionRetired: where to go instead
	Until                time.Time     // VersionBrownout: end of the window

	cause error
}

// Alternative is a destination that would be supported.
type Alternative struct{ Chain, Token string }

// New makes an Error whose message is formatted for the caller.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// On names the query parameter at fault.
func (e *Error) On(param string) *Error {
	e.Param = param
	return e
}

// Because attaches the cause, which goes to the log and never to the caller.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// Error is the text for the log: code, message and cause.
func (e *Error) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.cause)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// From finds the Error in err. Any other error becomes Internal, with err as
// its cause.
func From(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return New(Internal, "Internal error. Include the request ID when you report it").Because(err)
}

// About sets the part of the request that err is about, unless err already has
// one or is Internal. A nil error stays nil.
func About(role Role, err error) error {
	if err == nil {
		return nil
	}
	e := From(err)
	if e.Role == 0 && e.Code != Internal {
		e.Role = role
	}
	return e
}
