// Package event describes answered requests, for the access log, metrics and usage. It
// imports neither the gateway nor any of its observers.
package event

import (
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

// Event describes one answered request. Every observer gets it once.
type Event struct {
	Time      time.Time // when it was answered
	Took      time.Duration
	RequestID string
	TraceID   string // of the client's own trace, from its traceparent; empty if it sent none
	Method    string
	Version   string     // empty for a path of no version
	Route     string     // the path as mounted, never as the client wrote it; empty where no route took the request
	Quotes    bool       // the route is one that quotes
	Free      bool       // the route stays when the version is retired
	Status    int        // 0 if nothing was written, which net/http sends as 200
	Code      fault.Code // empty for a success
	Preflight bool       // a browser asks whether it may send the request
	Rehearsal bool       // the client asked for a rehearsal of a later stage
	Exempt    bool       // no brownout of the plan refuses the caller
	Caller    caller.Caller
	Client    string      // the caller's name, without its address; empty for a path of no version
	Pair      *chain.Pair // the pair of the quote, nil if there is no quote
	Finding   Finding     // for a quote by an old version
}

// Observer gets every answered request, from many goroutines. It must not block
// and must not keep the Event.
type Observer interface{ Observe(*Event) }
