package rpc

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/skew"
)

// Endpoint is one JSON-RPC server of a chain.
type Endpoint struct {
	Network    chain.ID
	Place      int // in the configuration, from 1 on
	client     *rpc.Client
	longClient *rpc.Client // for responses up to maxLongAnswer
	now        func() time.Time
	clock      *skew.Clock
	log        *slog.Logger

	mu            sync.Mutex
	queues        [queueCount]queueState
	chainChecked  bool      // it serves the right chain, and has not failed since
	outcomes      uint64    // of calls that worked or failed, in all queues
	limitedLogged time.Time // when rate limiting was last logged
}

// queueState is the state of an endpoint in one queue.
type queueState struct {
	failing   Reason        // why the last call failed, empty if it succeeded
	detail    string        // the text of the last failure
	rest      time.Duration // the last one, which the next one doubles
	restUntil time.Time
	limitedAt time.Time // when the provider last rate limited us
	outcome   uint64    // Endpoint.outcomes at the last outcome of this queue; 0 for none
}

// An endpoint that fails is skipped for a second. The time doubles with each consecutive
// failure, up to half a minute. After rate limiting, it doubles until a minute has passed
// without another 429: otherwise the queues that yield would keep using up the quota, and
// leave none for partners.
const (
	firstRest = time.Second
	longRest  = 30 * time.Second
	coolDown  = time.Minute
)

// limitedLogEvery is the least time between two log lines about rate limiting.
const limitedLogEvery = 10 * time.Minute

// checkChain verifies the chain ID of the endpoint, unless that is known. Checks always do.
func (e *Endpoint) checkChain(ctx context.Context, queue Queue) error {
	e.mu.Lock()
	checked := e.chainChecked && queue != Checks
	e.mu.Unlock()
	if checked {
		return nil
	}
	var serves hexutil.Uint64
	if err := e.ReadAll(ctx, Read{Method: "eth_chainId", Result: &serves}); err != nil {
		return err
	}
	right := chain.ID(serves) == e.Network
	e.mu.Lock()
	e.chainChecked = right
	e.mu.Unlock()
	if !right {
		return &Failure{Reason: WrongChain, Text: fmt.Sprintf("it serves chain %d", serves)}
	}
	return nil
}

// resting is how much longer the queue skips the endpoint.
func (e *Endpoint) resting(queue Queue) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(0, e.queues[queue].restUntil.Sub(e.now()))
}

// lastFailure is the text of the last failure in that queue.
func (e *Endpoint) lastFailure(queue Queue) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.queues[queue].detail
}

// failed makes the queue skip the endpoint for a while; after rate limiting, also the queues
// that yield. It logs only changes.
func (e *Endpoint) failed(queue Queue, f *Failure) {
	if !e.skip(queue, f) {
		return
	}
	level := slog.LevelWarn
	text := "RPC endpoint failed and is skipped temporarily"
	switch f.Reason {
	case Limited:
		text = "RPC endpoint is rate limiting; " +
			"unverified integrators, wallets and status lookups yield to known partners"
	case WrongChain:
		level = slog.LevelError
		text = "RPC endpoint serves another chain and is not used"
	}
	e.log.Log(context.Background(), level, text, "queue", queue.String(), "reason", f.Reason, "detail", f.Text)
}

// skip makes queues skip the endpoint. It is true if that should be logged.
func (e *Endpoint) skip(queue Queue, f *Failure) (isNew bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	before := e.queues[queue]
	e.outcomes++
	for i := range e.queues {
		if other := Queue(i); other == queue || f.Reason == Limited && other.yields() {
			e.queues[i].fail(now, other, f)
			e.queues[i].outcome = e.outcomes
		}
	}
	if f.Reason != Limited {
		e.chainChecked = false
		return before.failing != f.Reason && !now.Before(before.restUntil)
	}
	if now.Sub(e.limitedLogged) < limitedLogEvery {
		return false
	}
	e.limitedLogged = now
	return true
}

// fail skips the endpoint, at least as long as the provider's Retry-After. Concurrent failures
// count as one.
func (s *queueState) fail(now time.Time, queue Queue, f *Failure) {
	resting := now.Before(s.restUntil)
	if resting && f.Reason != Limited {
		return
	}
	if !resting {
		s.rest = min(max(firstRest, 2*s.rest), longRest)
	}
	if f.Reason == Limited {
		s.limitedAt = now
		if !queue.yields() { // so that partners recover first
			s.rest = firstRest
		}
	}
	if until := now.Add(max(s.rest, f.RetryAfter)); until.After(s.restUntil) {
		s.restUntil = until
	}
	s.failing = f.Reason
	s.detail = f.Text
}

// worked clears the failures of the endpoint in that queue.
func (e *Endpoint) worked(queue Queue) {
	e.mu.Lock()
	s, now := &e.queues[queue], e.now()
	before := s.failing
	stillLimited := before == Limited && now.Before(s.restUntil) // this call was in progress when the quota ran out
	if !stillLimited {
		s.failing = ""
		s.restUntil = time.Time{}
		e.outcomes++
		s.outcome = e.outcomes
	}
	if now.Sub(s.limitedAt) >= coolDown {
		s.rest = 0
	}
	e.mu.Unlock()

	// While rate limited, an endpoint may change many times a minute, which is not logged.
	if before != "" && before != Limited {
		e.log.Info("RPC endpoint works again", "queue", queue.String())
	}
}

type State string

const (
	NoEndpoint State = "unconfigured" // none is configured
	Unused     State = "unused"       // no call was made yet
	Working    State = "working"      // an endpoint answered its last call
	Disagrees  State = "disagrees"    // endpoints contradict each other; see integrator.Registry
	OverQuota  State = "limited"      // none works, and a provider rate limits us
	Failing    State = "failing"      // none works
)

type Health struct {
	Network   chain.ID
	State     State
	Endpoints int // configured
	Resting   int // whose last call failed, and which are skipped at the moment
}

// Health reports the state of a chain in these queues, without calling its endpoints.
func (c *Client) Health(id chain.ID, queues ...Queue) Health {
	endpoints := c.networks[id].endpoints
	h := Health{Network: id, State: NoEndpoint, Endpoints: len(endpoints)}
	for _, e := range endpoints {
		state, resting := e.health(queues)
		if slices.Index(ranked, state) > slices.Index(ranked, h.State) {
			h.State = state
		}
		if resting {
			h.Resting++
		}
	}
	return h
}

// ranked orders the states of endpoints: that of a chain is the last one in this list.
var ranked = []State{NoEndpoint, Unused, Failing, OverQuota, Working}

// health is the outcome of the last call in any of the queues.
func (e *Endpoint) health(queues []Queue) (state State, resting bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var last queueState
	for _, queue := range queues {
		if s := e.queues[queue]; s.outcome >= last.outcome {
			last = s
		}
	}
	switch {
	case last.outcome == 0:
		return Unused, false
	case last.failing == "":
		return Working, false
	}
	resting = e.now().Before(last.restUntil)
	if last.failing == Limited {
		return OverQuota, resting
	}
	return Failing, resting
}

// dial prepares a client that reads at most longest bytes of a response.
func (c *Client) dial(u SecretURL, longest int64) (*rpc.Client, error) {
	client := &http.Client{
		Transport:     boundedTransport{c.transport, longest},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return rpc.DialOptions(c.ctx, string(u), rpc.WithHTTPClient(client), rpc.WithHeaders(repeatable))
}

// maxAnswer bounds the size of a response. A real one has a few hundred bytes.
// Only receipts, transactions, blocks and logs may be longer, up to maxLongAnswer:
// a receipt has up to a kilobyte for each event.
const (
	maxAnswer     = 64 << 10
	maxLongAnswer = 2 << 20
)

// repeatable marks requests as safe to retry on a new connection if the server closed an idle
// one. The empty value is not sent.
var repeatable = http.Header{"X-Idempotency-Key": {}}

// newTransport has no timeouts: the context of each request bounds its time.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    256, // more than all queues have calls
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: maxAnswer,
	}
}

// boundedTransport reads at most longest bytes of a response.
type boundedTransport struct {
	http.RoundTripper
	longest int64
}

// overQuota is the error for a response with status 429.
type overQuota struct{ retryAfter time.Duration } // 0 without a Retry-After header

func (*overQuota) Error() string { return "over the provider's quota" }

// RoundTrip returns status 429 as an error, because the RPC library hides the headers of a
// response from its callers.
func (b boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = http.MaxBytesReader(nil, response.Body, b.longest)
	if response.StatusCode == http.StatusTooManyRequests {
		_, _ = io.Copy(io.Discard, response.Body) // so that the connection can be reused
		response.Body.Close()
		wait := fault.RetryAfter(response.Header.Get("Retry-After"), time.Now(), time.Second, time.Minute)
		return nil, &overQuota{wait}
	}
	return response, nil
}
