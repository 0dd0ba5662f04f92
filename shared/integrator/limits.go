package integrator

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/semaphore"
)

// limits bound what look-ups may cost.
type limits struct {
	try, whole time.Duration // for one endpoint, for a look-up
	calls      int64         // under way in one lane of a chain
	waiting    int64         // for their turn in one lane of a chain
}

var defaultLimits = limits{try: 2 * time.Second, whole: 5 * time.Second, calls: 16, waiting: 128}

// lane is a way to the endpoints with room for so many calls, and for so many
// more that wait for their turn.
type lane struct{ room, calls *semaphore.Weighted }

func newLane(l limits) lane {
	return lane{room: semaphore.NewWeighted(l.calls + l.waiting), calls: semaphore.NewWeighted(l.calls)}
}

// enter waits for a turn, unless too many wait already.
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

// errClosed is the cause for which calls are cancelled at the end, and what
// their look-ups come to.
var errClosed = &failure{Closed, "the service is shutting down", shortRetry}

func closed(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errClosed) }
