package gateway

import (
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

// Event is one answered request, told to every observer once.
type Event struct {
	Time      time.Time // when it was answered
	Took      time.Duration
	RequestID string
	TraceID   string // of the client's own trace, from its traceparent; empty if it sent none
	Method    string
	Version   string     // empty for a path of no version
	Route     string     // the path as mounted, never as the client wrote it; empty where no route took the request
	Quotes    bool       // the route is one that quotes
	Status    int        // 0 where nothing was written, which net/http sends as 200
	Code      fault.Code // empty for a success
	Rehearsal bool       // the client asked for a later stage of the version, and was refused for that
	Caller    caller.Caller
	Client    string      // the caller's name, which holds no address; empty for a path of no version
	Pair      *chain.Pair // of the quote that was given, nil if none was
	Finding   Finding     // of a quote by an old version
}

// Observer is told of every answered request, many at a time. It must not
// block, and must not keep the Event.
type Observer interface{ Observe(*Event) }

// Finding is what the current version makes of a request that an old version
// has answered. The zero Finding says that nothing was compared.
type Finding struct {
	Outcome Outcome
	Code    fault.Code // Refused: the error's code
	Param   string     // Refused: the parameter at fault. DifferentMoney: the one that makes the difference
}

// Outcome is the kind of a Finding.
type Outcome string

const (
	SameMoney      Outcome = "same"      // the same transaction and the same money; URL and answer have a new shape
	DifferentMoney Outcome = "different" // a quote, but another one
	Refused        Outcome = "refused"   // an error
)
