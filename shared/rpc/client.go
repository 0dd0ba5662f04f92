// Package rpc calls the JSON-RPC endpoints of a chain, in order, until one answers.
//
// An endpoint is used only after it has confirmed its chain ID. Every call is bounded in
// time and size; calls in progress and waiting are bounded too. Each use has a queue with
// its own limits and its own back-off, so a failure in one does not affect another, and
// one network of callers holds at most a quarter of a queue. When a provider rate limits,
// all queues yield to known partners. Errors, logs and health reports never contain text
// from an endpoint or any part of its address.
package rpc

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/skew"
)

// Client calls the endpoints of all chains. It is safe for concurrent use.
type Client struct {
	networks  map[chain.ID]network
	limits    [queueCount]Limits
	transport http.RoundTripper
	clock     *skew.Clock
	log       *slog.Logger

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	running sync.RWMutex // held for reading by each question in progress
}

type network struct {
	endpoints []*Endpoint // in the order in which they are tried
	slots     [queueCount]*slots
}

type Options struct {
	Log       *slog.Logger      // for endpoints that fail and recover; nil logs nothing
	Now       func() time.Time  // nil for time.Now
	Limits    map[Queue]Limits  // instead of the default ones of a queue
	Transport http.RoundTripper // nil for the network
	Clock     *skew.Clock       // is told the newest blocks; nil for one of its own
}

// New prepares to use the endpoints. It does not call them yet.
func New(cfg Config, opts Options) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Transport == nil {
		opts.Transport = newTransport()
	}
	c := &Client{
		networks:  make(map[chain.ID]network),
		limits:    defaultLimits,
		transport: opts.Transport,
		clock:     cmp.Or(opts.Clock, skew.New(skew.Options{Now: opts.Now})),
		log:       opts.Log,
	}
	for queue, l := range opts.Limits {
		c.limits[queue] = l
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	for id, urls := range cfg {
		var n network
		for queue, l := range c.limits {
			n.slots[queue] = newSlots(l)
		}
		for i, u := range urls {
			e := &Endpoint{Network: id, Place: i + 1, now: opts.Now, clock: c.clock}
			e.log = opts.Log.With("chain", id, "endpoint", e.Place)
			var err, errLong error
			e.client, err = c.dial(u, maxAnswer)
			e.longClient, errLong = c.dial(u, maxLongAnswer)
			if err != nil || errLong != nil {
				return nil, fmt.Errorf("%s: entry %d cannot be used", variable(id), e.Place) // err would quote the URL
			}
			n.endpoints = append(n.endpoints, e)
		}
		c.networks[id] = n
	}
	return c, nil
}

// Question describes what to call: which chain, for what purpose and for which caller.
type Question struct {
	Network  chain.ID
	Queue    Queue
	Caller   netip.Prefix // the caller's network, which holds a quarter of the queue at most; zero for none
	Endpoint int          // the Place of the only endpoint to call; 0 for all in turn
}

// Ask calls use with one endpoint after the other, until use returns nil. The rules of
// Attempts apply to use. The error is a *Failure.
//
// If the question names an endpoint, Timeout means that the endpoint had its full time; if
// the queue used up part of it, the reason is Busy.
func (c *Client) Ask(ctx context.Context, q Question, use func(context.Context, *Endpoint) error) error {
	attempts := c.Try(q)
	for ctx, e := range attempts.Each(ctx) {
		err := use(ctx, e)
		if err == nil {
			return nil
		}
		attempts.Failed(err)
	}
	return attempts.Err()
}

// Attempts puts one question to the endpoints of a chain, one after the other:
//
//	attempts := client.Try(question)
//	for ctx, e := range attempts.Each(ctx) {
//		if err := e.ReadAll(ctx, …); err != nil {
//			attempts.Failed(err)
//			continue
//		}
//		… // break, unless the next endpoint is to be called
//	}
//	err := attempts.Err()
//
// Calls are made with the context of the loop. The loop must not ask another question.
type Attempts struct {
	client   *Client
	question Question
	failed   *Failure // of the current endpoint
	result   *Failure
}

func (c *Client) Try(q Question) *Attempts { return &Attempts{client: c, question: q} }

// Failed records that the endpoint has not answered. If err is a *Failure, its Reason decides
// whether the endpoint is skipped from now on. Any other error counts as Undecodable, and its
// text is dropped.
func (a *Attempts) Failed(err error) { a.failed = classify(err) }

// Err is nil if every endpoint has answered, or the loop was left. Otherwise it is the
// *Failure of the last endpoint that failed, or the reason why none was called.
func (a *Attempts) Err() error {
	if a.result == nil {
		return nil
	}
	return a.result
}

// Each waits for a slot in the queue. Then it yields the endpoints that are not skipped, each
// with a context that bounds its time.
func (a *Attempts) Each(ctx context.Context) iter.Seq2[context.Context, *Endpoint] {
	return func(yield func(context.Context, *Endpoint) bool) { a.result = a.run(ctx, yield) }
}

func (a *Attempts) run(ctx context.Context, yield func(context.Context, *Endpoint) bool) *Failure {
	c, q := a.client, a.question
	endpoints := c.networks[q.Network].endpoints
	if q.Endpoint != 0 {
		if q.Endpoint < 1 || q.Endpoint > len(endpoints) {
			return errUnconfigured
		}
		endpoints = endpoints[q.Endpoint-1 : q.Endpoint]
	}
	if len(endpoints) == 0 {
		return errUnconfigured
	}
	c.running.RLock()
	defer c.running.RUnlock()
	if c.ctx.Err() != nil {
		return errClosed
	}
	ctx, cancel := context.WithTimeout(ctx, c.limits[q.Queue].Total)
	defer cancel()
	defer safego.WhenDone(c.ctx, c.log, "ending a question to a node", cancel)()
	leave, f := c.networks[q.Network].slots[q.Queue].enter(ctx, q.Caller)
	if f == nil {
		defer leave()
		if c.ctx.Err() != nil { // closed while waiting, which ctx may not show yet
			return errClosed
		}
		f = a.tryAll(ctx, endpoints, yield)
	}
	switch {
	case f == nil:
		return nil
	case c.ctx.Err() != nil:
		return errClosed
	case f.Reason == Timeout && q.Endpoint != 0 && q.Queue != Checks && endpoints[0].resting(q.Queue) == 0:
		return &Failure{Reason: Busy, Text: "too little time was left after the queue", RetryAfter: shortRetry}
	}
	return &Failure{Reason: f.Reason, Text: f.Text, RetryAfter: max(shortRetry, f.RetryAfter)}
}

// tryAll tries the endpoints that are not skipped, until the loop is left.
func (a *Attempts) tryAll(
	ctx context.Context, endpoints []*Endpoint, yield func(context.Context, *Endpoint) bool,
) *Failure {
	queue := a.question.Queue
	reason := Resting    // of the last one that failed
	var details []string // why each endpoint gave no answer
	for i, e := range endpoints {
		if i > 0 && ctx.Err() != nil {
			reason = Timeout
			details = append(details, "no time was left for the others")
			break
		}
		why := ""
		if rest := e.resting(queue); rest > 0 {
			why = fmt.Sprintf("%s (skipped for %v)", e.lastFailure(queue), rest.Round(time.Millisecond))
		} else {
			f, goOn := a.try(ctx, e, yield)
			if !goOn {
				return nil
			}
			if f == nil {
				continue
			}
			reason = f.Reason
			why = f.Text
		}
		if a.question.Endpoint == 0 { // who names an endpoint knows it
			why = NameEndpoint(e.Place, why)
		}
		details = append(details, why)
	}
	if len(details) == 0 {
		return nil
	}
	wait := longRetry
	if reason != Reverted && reason != Misconfigured {
		for _, e := range endpoints {
			wait = min(wait, e.resting(queue))
		}
	}
	return &Failure{Reason: reason, Text: Details(details), RetryAfter: wait}
}

// try calls one endpoint and decides whether the queue skips it from now on. It is not skipped
// if the question itself ran out of time: the endpoint may have had too little of it.
func (a *Attempts) try(
	ctx context.Context, e *Endpoint, yield func(context.Context, *Endpoint) bool,
) (f *Failure, goOn bool) {
	queue := a.question.Queue
	trying, cancel := context.WithTimeout(ctx, a.client.limits[queue].Try)
	defer cancel()
	a.failed = nil
	goOn = true
	if err := e.checkChain(trying, queue); err != nil {
		a.Failed(err)
	} else {
		goOn = yield(trying, e)
	}
	f = a.failed
	switch {
	case f == nil:
		e.worked(queue)
	case f.Reason == Limited || queue != Checks && f.Reason.restsEndpoint() && ctx.Err() == nil:
		e.failed(queue, f)
	}
	return f, goOn
}

// Endpoints is the number of endpoints of a chain.
func (c *Client) Endpoints(id chain.ID) int { return len(c.networks[id].endpoints) }

// Excuse goes on after what is wrong with the time of a block that was read at a time, if that is
// because of this machine's clock: ", but this machine's clock is 10 minutes ahead: …".
func (c *Client) Excuse(network chain.ID, block *Block, at time.Time) string {
	return c.clock.Skew().Excuse(at.Sub(block.At()), network.UsualGap())
}

// Behind is the failure of an endpoint whose latest block, read at a time, is too old.
func (c *Client) Behind(network chain.ID, latest *Block, at time.Time) *Failure {
	text := "its latest block is of " + latest.At().Format(time.RFC3339)
	return &Failure{Reason: Behind, Text: text + c.Excuse(network, latest, at)}
}

// Close cancels the questions in progress and waits for them. Later ones fail.
func (c *Client) Close() {
	c.stop()
	c.running.Lock()
	defer c.running.Unlock()
	if t, ok := c.transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// Queue is the purpose of a question. Queues do not hold up one another. Checks always verify
// the chain ID of an endpoint. Their failures are not logged and make no queue skip the
// endpoint, unless they are about a quota.
type Queue uint8

const (
	Partners   Queue = iota // integrators that were active at their last lookup
	Unverified              // all other integrators: anyone can invent their IDs
	Wallets                 // balances and allowances of accounts
	TxLookups               // whether a transaction exists: anyone can invent its hash
	Tracking                // the outcome of a transaction that a node has seen
	Checks                  // tests of the configuration

	queueCount = iota
)

func (q Queue) String() string {
	return [queueCount]string{"partners", "unverified", "wallets", "txlookups", "tracking", "checks"}[q]
}

// yields reports whether the queue pauses when a provider rate limits another one. Partners do
// not, so that no one else can use up their quota.
func (q Queue) yields() bool { return q != Partners }

// Limits bound what the questions of a queue may cost.
type Limits struct {
	Try, Total time.Duration // the time for one endpoint, and for a whole question
	Calls      int64         // questions in progress at a time, on one chain
	Waiting    int64         // questions that wait for a slot, on one chain
}

var defaultLimits = [queueCount]Limits{
	Partners:   {Try: 2 * time.Second, Total: 5 * time.Second, Calls: 16, Waiting: 128},
	Unverified: {Try: 2 * time.Second, Total: 5 * time.Second, Calls: 16, Waiting: 128},
	Wallets:    {Try: 750 * time.Millisecond, Total: 1500 * time.Millisecond, Calls: 16, Waiting: 64},
	TxLookups:  {Try: 3 * time.Second, Total: 6 * time.Second, Calls: 128, Waiting: 384},
	Tracking:   {Try: 3 * time.Second, Total: 6 * time.Second, Calls: 16, Waiting: 64},
	Checks:     {Try: 10 * time.Second, Total: 12 * time.Second, Calls: 16, Waiting: 16},
}

// callerShare is the part of a queue that one network of callers can hold: a quarter.
const callerShare = 4

// slots are the slots of a queue on one chain.
type slots struct {
	limits Limits
	all    *share

	mu     sync.Mutex              // of shares, and of what each share counts
	shares map[netip.Prefix]*share // of the networks with questions in the queue
}

// share limits the questions that are in progress and those that wait.
type share struct {
	calls         *semaphore.Weighted
	inside, limit int64 // questions in progress and waiting
}

func newShare(calls, waiting int64) *share {
	return &share{calls: semaphore.NewWeighted(calls), limit: calls + waiting}
}

func newSlots(l Limits) *slots {
	return &slots{limits: l, all: newShare(l.Calls, l.Waiting), shares: make(map[netip.Prefix]*share)}
}

// enter waits for a slot: first within the network of the caller, then among all, so that no
// network can block others with more than its share. It fails if too many are waiting.
// Otherwise, leave returns the slot.
func (s *slots) enter(ctx context.Context, caller netip.Prefix) (leave func(), f *Failure) {
	own := s.join(caller)
	if own == nil {
		return nil, &Failure{Reason: Busy, Text: "too many requests are queued", RetryAfter: shortRetry}
	}
	late := &Failure{Reason: Busy, Text: "timed out in the queue", RetryAfter: shortRetry}
	if own.calls.Acquire(ctx, 1) != nil {
		s.part(caller, own)
		return nil, late
	}
	if s.all.calls.Acquire(ctx, 1) != nil {
		own.calls.Release(1)
		s.part(caller, own)
		return nil, late
	}
	return func() {
		s.all.calls.Release(1)
		own.calls.Release(1)
		s.part(caller, own)
	}, nil
}

// join counts a question in the queue and in its network's share, which it returns; nil if
// either is full. Questions without a network are limited by the queue alone.
func (s *slots) join(caller netip.Prefix) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.shares[caller]
	switch {
	case own == nil && caller.IsValid():
		own = newShare(max(1, s.limits.Calls/callerShare), s.limits.Waiting/callerShare)
	case own == nil:
		own = newShare(s.limits.Calls, s.limits.Waiting)
	}
	if s.all.inside >= s.all.limit || own.inside >= own.limit {
		return nil
	}
	s.all.inside++
	own.inside++
	s.shares[caller] = own
	return own
}

// part undoes join. The share of a network without questions is deleted.
func (s *slots) part(caller netip.Prefix, own *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.inside--
	own.inside--
	if own.inside == 0 {
		delete(s.shares, caller)
	}
}
