package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

// Endpoint is one JSON-RPC server of a chain, as Ask gives it to its caller.
type Endpoint struct {
	Network chain.ID
	Place   int // in the configuration, from 1 on
	client  *rpc.Client
	now     func() time.Time
	log     *slog.Logger

	mu            sync.Mutex
	lanes         [laneCount]laneState
	chainChecked  bool      // it serves the right chain, and has not failed since
	outcomes      uint64    // of calls that worked or failed, in all lanes
	limitedLogged time.Time // when the log last said that we are over the quota
}

// laneState is what one lane knows of an endpoint.
type laneState struct {
	failing   Reason        // why the last call failed, empty if it succeeded
	rest      time.Duration // the last one, which the next one doubles
	restUntil time.Time
	limitedAt time.Time // when the provider last said that we are over its quota
	heard     uint64    // Endpoint.outcomes at the last outcome of this lane; 0 for none
}

// An endpoint that fails is not used for a second. The time doubles with each failure in
// a row, up to half a minute. Over a quota, it doubles until a minute has passed without
// another such answer: otherwise the lanes that give way would use the quota up again and
// again, and partners would find nothing left.
const (
	firstRest = time.Second
	longRest  = 30 * time.Second
	calm      = time.Minute
)

// limitedLogEvery is how often the log says at most that we are over a quota.
const limitedLogEvery = 10 * time.Minute

// checkChain asks the endpoint which chain it serves, unless that is known. A check
// always asks.
func (e *Endpoint) checkChain(ctx context.Context, lane Lane) error {
	e.mu.Lock()
	checked := e.chainChecked && lane != Checks
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

// resting is how much longer the lane skips the endpoint.
func (e *Endpoint) resting(lane Lane) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(0, e.lanes[lane].restUntil.Sub(e.now()))
}

// failed makes the lane skip the endpoint for a while; if we are over the quota, also the
// lanes that give way. It logs only what is news.
func (e *Endpoint) failed(lane Lane, f *Failure) {
	if !e.skip(lane, f) {
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
	e.log.Log(context.Background(), level, text, "lane", lane.String(), "reason", f.Reason, "detail", f.Text)
}

// skip rests the endpoint. It is true if that is news.
func (e *Endpoint) skip(lane Lane, f *Failure) (news bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	before := e.lanes[lane]
	e.outcomes++
	for i := range e.lanes {
		if l := Lane(i); l == lane || f.Reason == Limited && l.givesWay() {
			e.lanes[i].fail(now, l, f)
			e.lanes[i].heard = e.outcomes
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

// fail rests the lane, at least as long as the provider asks for. Calls that fail together
// count as one failure.
func (s *laneState) fail(now time.Time, lane Lane, f *Failure) {
	resting := now.Before(s.restUntil)
	if resting && f.Reason != Limited {
		return
	}
	if !resting {
		s.rest = min(max(firstRest, 2*s.rest), longRest)
	}
	if f.Reason == Limited {
		s.limitedAt = now
		if !lane.givesWay() { // so that partners recover first
			s.rest = firstRest
		}
	}
	if until := now.Add(max(s.rest, f.RetryAfter)); until.After(s.restUntil) {
		s.restUntil = until
	}
	s.failing = f.Reason
}

// worked clears the failures of the endpoint in that lane.
func (e *Endpoint) worked(lane Lane) {
	e.mu.Lock()
	s, now := &e.lanes[lane], e.now()
	before := s.failing
	stillLimited := before == Limited && now.Before(s.restUntil) // this call was under way when the quota ran out
	if !stillLimited {
		s.failing = ""
		s.restUntil = time.Time{}
		e.outcomes++
		s.heard = e.outcomes
	}
	if now.Sub(s.limitedAt) >= calm {
		s.rest = 0
	}
	e.mu.Unlock()

	// Over a quota, an endpoint may change many times a minute. The log does not tell.
	if before != "" && before != Limited {
		e.log.Info("RPC endpoint works again", "lane", lane.String())
	}
}

type State string

const (
	NoEndpoint State = "unconfigured" // none is configured
	Unused     State = "unused"       // no call was made yet
	Working    State = "working"      // the last call of an endpoint was answered
	Disagrees  State = "disagrees"    // they answer, and contradict each other; see integrator.Registry
	OverQuota  State = "limited"      // none works, and a provider says we are over its quota
	Failing    State = "failing"      // none works
)

type Health struct {
	Network   chain.ID
	State     State
	Endpoints int // configured
	Resting   int // whose last call failed, and which are skipped at the moment
}

// Health reports on a chain as these lanes see it, without calling its endpoints.
func (c *Client) Health(id chain.ID, lanes ...Lane) Health {
	endpoints := c.networks[id].endpoints
	h := Health{Network: id, State: NoEndpoint, Endpoints: len(endpoints)}
	for _, e := range endpoints {
		state, resting := e.health(lanes)
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

// health is what came of the last call in any of the lanes.
func (e *Endpoint) health(lanes []Lane) (state State, resting bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var last laneState
	for _, lane := range lanes {
		if s := e.lanes[lane]; s.heard >= last.heard {
			last = s
		}
	}
	switch {
	case last.heard == 0:
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

// Lane is what a question is asked for. What happens in one lane does not hold
// up another.
type Lane uint8

const (
	Partners   Lane = iota // integrators that were active when last asked for
	Unverified             // all other integrators: anyone can invent their IDs
	Wallets                // balances and allowances of accounts
	TxLookups              // whether a chain knows a transaction: anyone can invent its hash
	Tracking               // what became of a transaction that a node has seen
	Checks                 // whether the configuration is right: see Client.AskOne

	laneCount = iota
)

func (l Lane) String() string {
	return [laneCount]string{"partners", "unverified", "wallets", "txlookups", "tracking", "checks"}[l]
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
	Partners:   {Try: 2 * time.Second, Total: 5 * time.Second, Calls: 16, Waiting: 128},
	Unverified: {Try: 2 * time.Second, Total: 5 * time.Second, Calls: 16, Waiting: 128},
	Wallets:    {Try: 750 * time.Millisecond, Total: 1500 * time.Millisecond, Calls: 16, Waiting: 64},
	TxLookups:  {Try: 3 * time.Second, Total: 6 * time.Second, Calls: 128, Waiting: 384},
	Tracking:   {Try: 3 * time.Second, Total: 6 * time.Second, Calls: 16, Waiting: 64},
	Checks:     {Try: 10 * time.Second, Total: 12 * time.Second, Calls: 16, Waiting: 16},
}

// errUnconfigured is how questions to a chain without endpoints fail.
var errUnconfigured = &Failure{Reason: Unconfigured, Text: "no RPC endpoint", RetryAfter: longRetry}

// errClosed is how questions fail after Close.
var errClosed = &Failure{Reason: Closed, Text: "the service is shutting down", RetryAfter: shortRetry}

// Reason is why a question failed. The list is closed, so that it can label a
// metric.
type Reason string

const (
	Unconfigured  Reason = "unconfigured"  // no RPC endpoint for the chain
	Busy          Reason = "busy"          // too many questions were under way
	Resting       Reason = "resting"       // every endpoint failed a moment ago
	Limited       Reason = "limited"       // the provider says we are over its quota
	Timeout       Reason = "timeout"       // timed out
	Unreachable   Reason = "unreachable"   // connection failed
	Refused       Reason = "refused"       // an HTTP status or a JSON-RPC error
	WrongChain    Reason = "wrong_chain"   // the endpoint serves another chain
	Undecodable   Reason = "undecodable"   // not JSON-RPC, or not what the contract returns
	Declined      Reason = "declined"      // not this one question: what it was asked for is unknown to it, or too long
	Behind        Reason = "behind"        // its latest block is old: it stands still
	Disagree      Reason = "disagree"      // endpoints give different answers, and no majority one
	Reverted      Reason = "reverted"      // the contract reverted
	Misconfigured Reason = "misconfigured" // what the contract says cannot be right
	Closed        Reason = "closed"        // the service is shutting down
)

func Reasons() []Reason {
	return []Reason{
		Unconfigured, Busy, Resting, Limited, Timeout, Unreachable, Refused, WrongChain, Undecodable,
		Declined, Behind, Disagree, Reverted, Misconfigured, Closed,
	}
}

// RestsEndpoint reports whether an endpoint that failed for this reason is
// skipped for a while. What a contract says to one question does not count, nor
// that one question has no answer: otherwise anyone could disable an endpoint by
// asking that question.
func (r Reason) RestsEndpoint() bool {
	return slices.Contains([]Reason{Limited, Timeout, Unreachable, Refused, WrongChain, Undecodable, Behind}, r)
}

// Failure is why a question, or one try of it, failed. Its text is for the log.
// It never holds text from outside, which may contain the secret of an RPC URL.
type Failure struct {
	Reason     Reason
	Text       string
	RetryAfter time.Duration // from Ask at least a second; of a try, what the provider wants, 0 for nothing
	Output     []byte        // of a read that failed in the EVM: what it reverted with, as far as the node tells
}

func (f *Failure) Error() string { return string(f.Reason) + ": " + f.Text }

// When to ask again.
const (
	shortRetry = time.Second // as soon as an endpoint is tried again
	longRetry  = time.Minute // when a person may have changed something
)

// JSON-RPC error codes with a meaning of their own. A revert without a reason has
// a general code and is recognised by its message.
const (
	codeReverted      = 3
	codeLimitExceeded = -32005
)

// classify turns an error into a failure, without its text. reads are those that the
// error is about, if there are any: what became of a transaction may be unknown to an
// endpoint, or more than it tells, which is no failure of the endpoint.
func classify(err error, reads ...Read) *Failure {
	var (
		failure   *Failure
		quota     *overQuota
		httpError rpc.HTTPError
		rpcError  rpc.Error
	)
	tracks := slices.ContainsFunc(reads, isTracking)
	switch {
	case errors.As(err, &failure):
		return failure
	case errors.As(err, &quota):
		return &Failure{Reason: Limited, Text: "HTTP status 429", RetryAfter: quota.retryAfter}
	case errors.As(err, &httpError):
		f := &Failure{Reason: Refused, Text: fmt.Sprintf("HTTP status %d", httpError.StatusCode)}
		if len(reads) == 1 && declines(reads[0], httpError.StatusCode) {
			f.Reason = Declined
		}
		return f
	case errors.As(err, &rpcError):
		code := rpcError.ErrorCode()
		f := &Failure{Reason: Refused, Text: fmt.Sprintf("JSON-RPC error %d", code), Output: outputOf(err)}
		switch {
		case code == codeLimitExceeded || code == http.StatusTooManyRequests:
			f.Reason = Limited
		case code == codeReverted || strings.Contains(strings.ToLower(rpcError.Error()), "revert"):
			f.Reason = Reverted
			f.Text = "the contract reverted"
		case tracks:
			f.Reason = Declined
		}
		return f
	case errors.As(err, new(*http.MaxBytesError)) && tracks:
		return ErrTooLong
	case errors.As(err, new(*http.MaxBytesError)):
		return &Failure{Reason: Undecodable, Text: "the answer is too long"}
	}
	text, timeout := fault.ExplainNetwork(err)
	switch {
	case timeout:
		return &Failure{Reason: Timeout, Text: text}
	case text != "":
		return &Failure{Reason: Unreachable, Text: text}
	}
	return &Failure{Reason: Undecodable, Text: "the answer is not a JSON-RPC result of the expected type"}
}

// declines tells whether an HTTP status is about one read, and not about the endpoint.
// Providers refuse logs of too many blocks, and methods that they lack, with several of them.
func declines(r Read, status int) bool {
	switch status {
	case http.StatusBadRequest:
		return r.tracks
	case http.StatusForbidden, http.StatusRequestEntityTooLarge:
		return r.Method == getLogs || isOptional(r.Method)
	}
	return isOptional(r.Method)
}
