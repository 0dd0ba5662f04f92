package rpc

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// Lane is what a question is asked for. What happens in one lane does not hold
// up another.
type Lane uint8

const (
	Partners  Lane = iota // integrators that were active when last asked for
	Strangers             // all other integrators: anyone can invent their IDs
	Wallets               // balances and allowances of accounts
	Sightings             // whether a chain knows a transaction: anyone can invent its hash
	Tracking              // what became of a transaction that a node has seen
	Searches              // for the event of a settlement, range by range
	Checks                // whether the configuration is right; see Client.Check

	laneCount = iota
)

func (l Lane) String() string {
	return [laneCount]string{"partners", "strangers", "wallets", "sightings", "tracking", "searches", "checks"}[l]
}

// givesWay reports whether the lane rests when another one is told that we are
// over a quota. Partners do not, so that nobody can use up their quota.
func (l Lane) givesWay() bool { return l != Partners }

// Limits bound what the questions of a lane may cost.
type Limits struct {
	Try, Total time.Duration // the time for one endpoint, and for a whole question
	Calls      int64         // questions under way at a time, on one chain
	Waiting    int64         // questions that wait for their turn, on one chain
}

var defaultLimits = [laneCount]Limits{
	Partners:  {Try: 2 * time.Second, Total: 5 * time.Second, Calls: 16, Waiting: 128},
	Strangers: {Try: 2 * time.Second, Total: 5 * time.Second, Calls: 16, Waiting: 128},
	Wallets:   {Try: 750 * time.Millisecond, Total: 1500 * time.Millisecond, Calls: 16, Waiting: 64},
	Sightings: {Try: 3 * time.Second, Total: 6 * time.Second, Calls: 128, Waiting: 384},
	Tracking:  {Try: 3 * time.Second, Total: 6 * time.Second, Calls: 16, Waiting: 64},
	Searches:  {Try: 3 * time.Second, Total: 6 * time.Second, Calls: 8, Waiting: 32},
	Checks:    {Try: 10 * time.Second, Total: 12 * time.Second, Calls: 16, Waiting: 16},
}

// turns limit how many questions are under way at a time, and how many more wait.
type turns struct{ room, calls *semaphore.Weighted }

func newTurns(l Limits) turns {
	return turns{room: semaphore.NewWeighted(l.Calls + l.Waiting), calls: semaphore.NewWeighted(l.Calls)}
}

// enter waits for a turn. It fails if too many wait already.
func (t turns) enter(ctx context.Context) *Failure {
	if !t.room.TryAcquire(1) {
		return &Failure{Busy, "too many questions wait for their turn", shortRetry}
	}
	if err := t.calls.Acquire(ctx, 1); err != nil {
		t.room.Release(1)
		return &Failure{Busy, "its turn did not come in time", shortRetry}
	}
	return nil
}

func (t turns) leave() {
	t.calls.Release(1)
	t.room.Release(1)
}

// errUnconfigured is how questions to a chain without endpoints fail.
var errUnconfigured = &Failure{Unconfigured, "no RPC endpoint", longRetry}

// errClosed is the cause with which Close cancels questions, and how they fail.
var errClosed = &Failure{Closed, "the service is shutting down", shortRetry}
