package rpc

import "time"

// An endpoint that hangs would cost every question all the time that an endpoint has,
// before the next one is asked. So where there is a next one, an endpoint is given
// the time that it usually takes, and some more. If all others fail, it is asked again
// with all the time there is.

// habit is how long an endpoint usually takes for a question of one lane.
type habit struct {
	mean, spread time.Duration // moving averages: of the time, and of how far it is from mean
	answers      uint64
	cuts         uint64 // questions given to another endpoint while all was well
	late         int    // questions in a row for which its time was not enough
}

// answered notes how long an answer took.
func (h *habit) answered(took time.Duration) {
	h.answers++
	h.late = 0
	if h.answers == 1 {
		h.mean, h.spread = took, took/2
		return
	}
	off := took - h.mean
	h.mean += off / 8
	h.spread += (max(off, -off) - h.spread) / 4
}

// One question in 25 may be given to another endpoint too soon, so that this costs at
// most 4 % more calls, and a few at the start.
const (
	cutOneIn  = 25
	cutsAhead = 2
)

// patience is how long the endpoint is waited for before the next one is asked, given
// the time that a try may take. It is all of that if too many questions were given
// to another one already, unless the endpoint was late for the last one, too.
func (h *habit) patience(try time.Duration) time.Duration {
	switch {
	case h.late == 0 && h.cuts >= h.answers/cutOneIn+cutsAhead:
		return try
	case h.answers == 0:
		return try / 4
	}
	return min(max(h.mean+4*h.spread, try/10), try)
}

// cut notes that the endpoint was not waited for any longer. It is true if it was late
// for the question before, too: then it hangs.
func (h *habit) cut() (hangs bool) {
	if h.late == 0 {
		h.cuts++
	}
	h.late++
	return h.late > 1
}

// patience is how long this lane waits for the endpoint before it asks another one.
func (e *Endpoint) patience(lane Lane, try time.Duration) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lanes[lane].habit.patience(try)
}

// answered notes how long a question of this lane took.
func (e *Endpoint) answered(lane Lane, took time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lanes[lane].habit.answered(took)
}

// late notes that another endpoint is asked instead. If that happens twice in a row,
// the lane skips this one for a while.
func (e *Endpoint) late(lane Lane) {
	e.mu.Lock()
	hangs := e.lanes[lane].habit.cut()
	e.mu.Unlock()
	if hangs {
		e.failed(lane, errLate)
	}
}

var errLate = &Failure{Reason: Timeout, Text: "no answer in the time that it usually takes"}
