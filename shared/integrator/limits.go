package integrator

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/semaphore"
)

// limits bound what look-ups may cost.
type limits struct {
	try, lookup time.Duration // the time for one endpoint, and for a whole look-up
	calls       int64         // calls at a time in one lane of a chain
	waiting     int64         // look-ups that wait for a call in one lane of a chain
}

var defaultLimits = limits{try: 2 * time.Second, lookup: 5 * time.Second, calls: 16, waiting: 128}

// lane limits how many look-ups call the endpoints at a time, and how many more
// wait for their turn.
type lane struct{ room, calls *semaphore.Weighted }

func newLane(l limits) lane {
	return lane{room: semaphore.NewWeighted(l.calls + l.waiting), calls: semaphore.NewWeighted(l.calls)}
}

// enter waits for a turn. It fails if too many wait already.
func (l lane) enter(ctx context.Context) *failure {
	if !l.room.TryAcquire(1) {
		return &failure{Busy, "too many look-ups wait for their turn", shortRetry}
	}
	if err := l.calls.Acquire(ctx, 1); err != nil {
		l.room.Release(1)
		if closed(ctx) {
			return errClosed
		}
		return &failure{Busy, "its turn did not come in time", shortRetry}
	}
	return nil
}

func (l lane) leave() {
	l.calls.Release(1)
	l.room.Release(1)
}

// errClosed is the cause with which Close cancels calls, and the failure of
// their look-ups.
var errClosed = &failure{Closed, "the service is shutting down", shortRetry}

func closed(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errClosed) }
