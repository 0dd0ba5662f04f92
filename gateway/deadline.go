package gateway

import (
	"context"
	"sync"
	"time"
)

// deadline is a context that ends at a given time. It starts its timer at the
// first call of Done. Most requests never call it, and so need no timer.
type deadline struct {
	context.Context
	at time.Time

	once   sync.Once
	timed  context.Context
	cancel context.CancelFunc
}

func (d *deadline) start() context.Context {
	d.once.Do(func() { d.timed, d.cancel = context.WithDeadline(d.Context, d.at) })
	return d.timed
}

// Deadline implements context.Context.
func (d *deadline) Deadline() (time.Time, bool) { return d.at, true }

// Done implements context.Context.
func (d *deadline) Done() <-chan struct{} { return d.start().Done() }

// Err implements context.Context.
func (d *deadline) Err() error {
	if err := d.Context.Err(); err != nil {
		return err
	}
	if !time.Now().Before(d.at) {
		return context.DeadlineExceeded
	}
	return nil
}

// release stops the timer, if it was started, once the request is answered.
func (d *deadline) release() {
	d.once.Do(func() { d.timed, d.cancel = d.Context, func() {} })
	d.cancel()
}
