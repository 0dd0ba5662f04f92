package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/v3/client"
	"github.com/quotegate/quotegate/v3/client/send"
)

// Exit codes.
const (
	exitRefused = 1 // not what was asked for
	exitUsage   = 2
	exitLater   = 3 // try again later
	exitUnknown = 4 // sent, and the outcome is not known
)

// Codes of errors of this command, beside those of the client and of sending.
const (
	refusedCode = "REFUSED" // no other code says it better
	usageCode   = "USAGE"
	noteCode    = "NOTE_UNCHECKED"
	stoppedCode = "STOPPED" // by a signal
)

// A coded error is one of this command, with its code and exit code.
type coded struct {
	error
	code string
	exit int
}

func (c coded) Unwrap() error { return c.error }

// usageError is a mistake in a command line.
func usageError(format string, args ...any) error {
	return coded{fmt.Errorf(format, args...), usageCode, exitUsage}
}

// notAsked is what is wrong with a command line. Of a swap that no gateway makes, it says what a gateway would.
func notAsked(err error) error {
	refusal, isRefusal := errors.AsType[*fault.Error](err)
	if !isRefusal || refusal.Code != fault.UnsupportedPair {
		return coded{err, usageCode, exitUsage}
	}
	e := &client.Error{Code: client.UnsupportedPair, Message: refusal.Message}
	for _, a := range refusal.Alternatives {
		e.Alternatives = append(e.Alternatives, client.Alternative{DstChain: a.Chain, DstToken: a.Token})
	}
	return coded{e, e.Code, exitUsage}
}

// A failure is an error for a program to read. The fields are those of the gateway's errors.
type failure struct {
	Error string `json:"error"`
	Code  string `json:"code"`
	client.ErrorFields
	RetryAfter int64    `json:"retryAfter,omitempty"` // seconds
	Problems   []string `json:"problems,omitempty"`
}

// describe gives what a program needs to know of an error, and the exit code.
func describe(err error) (*failure, int) {
	f := &failure{Error: err.Error(), Code: refusedCode}
	exit := exitRefused
	var own coded
	var sending *send.Error
	var gateway *client.Error
	switch {
	case errors.As(err, &own):
		f.Code, exit = own.code, own.exit
		if errors.As(own.error, &gateway) {
			f.ErrorFields = gateway.ErrorFields
		}
	case errors.As(err, &sending):
		f.Code = sending.Code
		if sending.Temporary() || sending.Code == send.Expired {
			exit = exitLater
		}
	case errors.As(err, &gateway):
		f.Code = gateway.Code
		f.ErrorFields = gateway.ErrorFields
		f.RetryAfter = int64((gateway.RetryAfter + time.Second - 1) / time.Second)
		f.Problems = gateway.Problems
		if gateway.Temporary() {
			exit = exitLater
		}
	case errors.Is(err, context.Canceled):
		f.Code, exit = stoppedCode, exitLater
	case errors.Is(err, swap.ErrUnknown):
		f.Code = send.Unknown
	}
	if errors.Is(err, swap.ErrUnknown) || f.Code == send.Unknown {
		exit = exitUnknown
	}
	return f, exit
}
