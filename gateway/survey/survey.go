// Package survey answers whether the clients of an old version would survive
// its retirement: every call that the old version answered is tried on its
// successor, and what came of it is counted by version, client and reason.
//
// A caller pays for none of it. Calls wait in a bounded queue for a few
// workers; when it is full they are dropped, and the count of those says how
// far the rest is a sample. Counts cover the last one to two days, so that a
// client that has mended its ways is forgotten. Memory is bounded by Options,
// whatever clients send: with the defaults, less than 1 MiB for each version
// and as much for the queue.
package survey

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/wire"
)

// Try runs a query on a successor as far as a quote, and gives the error its
// client would get.
type Try func(ctx context.Context, rawQuery string) error

// Options is what a Survey works with. The zero value of a number means the
// default beside it.
type Options struct {
	Workers int           // 2: trials at a time, of all versions together
	Queue   int           // 256: calls waiting for a trial
	Clients int           // 200: failing clients remembered of each version, twice over
	Timeout time.Duration // 2s: for one trial

	Now func() time.Time // time.Now if nil
	Log *slog.Logger     // slog.Default() if nil
}

// Survey runs the trials.
type Survey struct {
	clients int
	timeout time.Duration
	now     func() time.Time
	log     *slog.Logger

	queue   chan call
	trials  context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup

	gate   sync.RWMutex // between those who send to the queue and the one who closes it
	closed bool

	mu       sync.Mutex // over the subjects and their tallies
	subjects []*Subject
}

// call is what a trial needs of a request, and nothing that holds more.
type call struct {
	subject *Subject
	client  string
	query   string
}

// New starts the workers. Close stops them.
func New(o Options) *Survey {
	s := &Survey{
		clients: orElse(o.Clients, 200),
		timeout: orElse(o.Timeout, 2*time.Second),
		now:     o.Now,
		log:     o.Log,
		queue:   make(chan call, orElse(o.Queue, 256)),
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	s.trials, s.cancel = context.WithCancel(context.Background())
	for range orElse(o.Workers, 2) {
		s.workers.Go(s.work)
	}
	return s
}

func orElse[N int | time.Duration](n, standard N) N {
	if n > 0 {
		return n
	}
	return standard
}

// Close takes no more calls, tries those that wait for as long as the context
// lasts and drops the rest. When it returns, no goroutine is left.
func (s *Survey) Close(ctx context.Context) {
	s.gate.Lock()
	if !s.closed {
		s.closed = true
		close(s.queue)
	}
	s.gate.Unlock()
	stop := context.AfterFunc(ctx, s.cancel)
	s.workers.Wait()
	stop()
	s.cancel()
}

func (s *Survey) work() {
	for c := range s.queue {
		if s.trials.Err() != nil {
			c.subject.dropped.Add(1)
			continue
		}
		outcome := s.try(c)
		s.mu.Lock()
		c.subject.count(c.client, outcome, s.now())
		s.mu.Unlock()
	}
}

// try runs one trial. One that panics says nothing about the client.
func (s *Survey) try(c call) (o outcome) {
	ctx, cancel := context.WithTimeout(s.trials, s.timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a trial panicked", "version", c.subject.version, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			o = outcome{unknown: true}
		}
	}()
	return judge(c.subject.try(ctx, c.query))
}

// outcome is what came of a trial: it worked, or nobody knows, or it failed
// for a reason.
type outcome struct {
	unknown bool
	reason  Reason // zero: it worked
}

// judge blames a client only for what its request says. A fault of ours, or
// one that belongs to another moment, leaves the question open.
func judge(err error) outcome {
	if err == nil {
		return outcome{}
	}
	e := fault.From(err)
	switch e.Code {
	case fault.MissingParameter, fault.InvalidParameter, fault.InvalidAmount, fault.AmountOutOfRange,
		fault.UnsupportedChain, fault.UnsupportedToken, fault.UnsupportedPair, fault.InvalidRecipient,
		fault.InvalidIntegrator, fault.IntegratorUnregistered, fault.IntegratorInactive:
		return outcome{reason: Reason{Code: e.Code, Param: bounded(wire.Param(e))}}
	}
	return outcome{unknown: true}
}

// maxParam bounds a parameter's name; ours are shorter.
const maxParam = 32

func bounded(param string) string {
	if len(param) > maxParam {
		return ""
	}
	return param
}
