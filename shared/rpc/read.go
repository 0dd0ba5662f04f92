package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

// Read is one question of a batch and, once Batch has returned, its answer.
type Read struct {
	Method string
	Args   []any
	Result any      // a pointer to what the answer is decoded into
	Err    *Failure // why this read has no answer; the others may have one

	tracks bool // what became of a transaction: the answer may be long, and to refuse it is no failure of the endpoint
}

func isTracking(r Read) bool { return r.tracks }

// ErrTooLong is how reads fail whose answer may be long, but not that long.
var ErrTooLong = &Failure{Reason: Declined, Text: "the answer is too long"}

// batchesAgain is when an endpoint that refused batches is sent one again.
const batchesAgain = time.Hour

// Batch asks all reads in one round trip and sets their results and errors. An
// endpoint that refuses batches gets them one after the other instead. All
// answers together are bounded like one of them.
//
// The error is a *Failure of the endpoint: no read was answered, or we are over
// its quota. A contract that reverts is an answer, and so is a read that is declined.
func (e *Endpoint) Batch(ctx context.Context, reads []Read) error {
	if len(reads) == 0 {
		return nil
	}
	if slices.ContainsFunc(reads, isTracking) {
		ctx = context.WithValue(ctx, long{}, true)
	}
	e.mu.Lock()
	plain := len(reads) == 1 || e.now().Before(e.noBatchesUntil)
	e.mu.Unlock()
	if plain {
		return e.oneByOne(ctx, reads)
	}
	err := e.batch(ctx, reads)
	if err == nil {
		return nil
	}
	if !refusesBatches(err) {
		return classify(err, reads...)
	}
	if err := e.oneByOne(ctx, reads); err != nil {
		return err
	}
	e.mu.Lock()
	e.noBatchesUntil = e.now().Add(batchesAgain)
	e.mu.Unlock()
	return nil
}

// errUnanswered is the failure of a batch of which no read was answered.
var errUnanswered = &Failure{Reason: Refused, Text: "it answers no read of a batch"}

// refusesBatches reports whether a batch failed in a way in which the same reads,
// asked one by one, may succeed.
func refusesBatches(err error) bool {
	var httpError rpc.HTTPError
	if errors.As(err, &httpError) {
		return httpError.StatusCode/100 == 4
	}
	return errors.Is(err, errUnanswered) || errors.As(err, new(*json.UnmarshalTypeError)) || errors.As(err, new(*json.SyntaxError))
}

// batch sends the reads as a JSON-RPC batch. Its error may be one of the library.
func (e *Endpoint) batch(ctx context.Context, reads []Read) error {
	elements := make([]rpc.BatchElem, len(reads))
	for i, r := range reads {
		elements[i] = rpc.BatchElem{Method: r.Method, Args: r.Args, Result: r.Result}
	}
	if err := e.client.BatchCallContext(ctx, elements); err != nil {
		return err
	}
	for i, element := range elements {
		reads[i].Err = nil
		if element.Error != nil {
			reads[i].Err = classify(element.Error, reads[i])
		}
	}
	return failureOf(reads, errUnanswered)
}

// oneByOne sends each read as a call of its own.
func (e *Endpoint) oneByOne(ctx context.Context, reads []Read) error {
	for i := range reads {
		r := &reads[i]
		r.Err = nil
		var result json.RawMessage
		err := e.client.CallContext(ctx, &result, r.Method, r.Args...)
		if err == nil {
			err = json.Unmarshal(result, r.Result)
		} else if !errors.As(err, new(rpc.Error)) && !errors.Is(err, rpc.ErrNoResult) {
			return classify(err, *r) // of the endpoint, not of this read
		}
		if err != nil {
			r.Err = classify(err, *r)
		}
	}
	return failureOf(reads, reads[0].Err)
}

// failureOf is Limited if any read failed for that, unanswered if every read
// failed, and nil otherwise.
func failureOf(reads []Read, unanswered *Failure) error {
	answered := false
	for _, r := range reads {
		switch {
		case r.Err == nil || r.Err.Reason == Reverted || r.Err.Reason == Declined:
			answered = true
		case r.Err.Reason == Limited:
			return r.Err
		}
	}
	if !answered {
		return unanswered
	}
	return nil
}

// ReadAll makes all reads in one batch, or fails.
func (e *Endpoint) ReadAll(ctx context.Context, reads ...Read) error {
	if err := e.Batch(ctx, reads); err != nil {
		return err
	}
	for _, read := range reads {
		if read.Err != nil {
			return read.Err
		}
	}
	return nil
}
