// Package rpc asks chains through their JSON-RPC endpoints. A chain has several,
// which are tried in order until one answers.
//
// What it promises:
//   - An answer is from an endpoint that said it serves that very chain. It is
//     asked which before its first use, and again after a failure.
//   - Every question ends in bounded time and reads a bounded answer. So many
//     questions are under way, so many more wait, and the rest are refused.
//   - Each use has a lane: bounds of its own, and a rest of its own for each
//     endpoint. An endpoint that fails in one lane is not skipped in another.
//   - When a provider says that we are over its quota, all other lanes give way to
//     known partners, whichever lane was told.
//   - No text from an endpoint, and no part of its address, is in any error, log
//     line or health report. Endpoints are named by their place in the
//     configuration.
package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/quotegate/quotegate/shared/chain"
)

// Client asks the chains that have endpoints. It is safe for concurrent use.
type Client struct {
	networks []*network // those with endpoints, by ID
	limits   [laneCount]Limits
	http     *http.Client

	ctx     context.Context // of every question
	stop    context.CancelCauseFunc
	mu      sync.Mutex // guards closed, and running.Add
	closed  bool
	running sync.WaitGroup
}

// Options of a Client. All are optional.
type Options struct {
	Log    *slog.Logger     // for endpoints that fail and recover; nil logs nothing
	Now    func() time.Time // nil for time.Now
	Limits map[Lane]Limits  // instead of the default ones of a lane
}

// New prepares to use the endpoints. It does not call them yet.
func New(cfg Config, opts Options) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	c := &Client{limits: defaultLimits}
	var connections int64
	for lane := range c.limits {
		if l, ok := opts.Limits[Lane(lane)]; ok {
			c.limits[lane] = l
		}
		connections += c.limits[lane].Calls
	}
	c.http = newHTTPClient(int(connections), opts.Now)
	c.ctx, c.stop = context.WithCancelCause(context.Background())
	for _, known := range chain.Networks() {
		if len(cfg[known.ID]) == 0 {
			continue
		}
		n := &network{id: known.ID, limits: &c.limits}
		for lane, l := range c.limits {
			n.turns[lane] = newTurns(l)
		}
		for i, u := range cfg[known.ID] {
			client, err := rpc.DialOptions(c.ctx, string(u), rpc.WithHTTPClient(c.http), rpc.WithHeaders(repeatable))
			if err != nil {
				return nil, fmt.Errorf("%s: entry %d cannot be used", variable(known.ID), i+1) // err would quote the URL
			}
			log := opts.Log.With("chain", known.ID, "endpoint", i+1)
			n.endpoints = append(n.endpoints, &Endpoint{Place: i + 1, network: known.ID, client: client, now: opts.Now, log: log})
		}
		c.networks = append(c.networks, n)
	}
	return c, nil
}

// Ask waits for a turn in the lane and gives use one endpoint of the chain after
// the other, until use returns nil. use may be called several times, never at
// the same time, and must make its calls with the context it is given.
//
// The error is a *Failure. What use returns counts like a failed call if it is a
// *Failure; see Reason for which of them rest the endpoint. Any other error of
// use counts as Undecodable, and its text is dropped.
func (c *Client) Ask(ctx context.Context, network chain.ID, lane Lane, use func(context.Context, *Endpoint) error) error {
	n := c.network(network)
	if n == nil {
		return errUnconfigured
	}
	return c.bound(ctx, lane, func(ctx context.Context) *Failure { return n.ask(ctx, lane, use) })
}

// Check waits for a turn in the lane of checks and gives use one endpoint of the
// chain: the one at that place in the configuration, from 1 on. The endpoint is
// always asked which chain it serves, and also if it failed a moment ago. Only
// one whose provider says that we are over its quota is left alone for a while.
//
// The error is a *Failure. If it is not about a quota, no lane skips the endpoint
// because of it.
func (c *Client) Check(ctx context.Context, network chain.ID, place int, use func(context.Context, *Endpoint) error) error {
	n := c.network(network)
	if n == nil || place < 1 || place > len(n.endpoints) {
		return errUnconfigured
	}
	return c.bound(ctx, Checks, func(ctx context.Context) *Failure { return n.check(ctx, n.endpoints[place-1], use) })
}

// bound asks a question in the time that its lane has, or until Close.
func (c *Client) bound(ctx context.Context, lane Lane, question func(context.Context) *Failure) error {
	if !c.begin() {
		return errClosed
	}
	defer c.running.Done()
	ctx, cancel := context.WithTimeout(ctx, c.limits[lane].Total)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(c.ctx, func() { stop(errClosed) })()
	if f := question(ctx); f != nil {
		return f
	}
	return nil
}

// Endpoints is how many a chain has.
func (c *Client) Endpoints(id chain.ID) int {
	if n := c.network(id); n != nil {
		return len(n.endpoints)
	}
	return 0
}

func (c *Client) network(id chain.ID) *network {
	for _, n := range c.networks {
		if n.id == id {
			return n
		}
	}
	return nil
}

// begin registers a question that Close must wait for. It is false once the
// client is closed.
func (c *Client) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running.Add(1)
	return true
}

// Close cancels the questions under way and waits for them. Later ones fail.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop(errClosed)
	c.running.Wait()
	c.http.CloseIdleConnections()
}
