package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/quotegate/quotegate/shared/chain"
)

// Endpoint is one JSON-RPC server of a chain, as Ask gives it to its caller.
type Endpoint struct {
	Network chain.ID
	Place   int // in the configuration, from 1 on
	client  *rpc.Client
	now     func() time.Time
	log     *slog.Logger

	mu             sync.Mutex
	lanes          [laneCount]laneState
	outcomes       uint64    // of calls that worked or failed, in all lanes
	limitedLogged  time.Time // when the log last said that we are over the quota
	noBatchesUntil time.Time // it refused batches; until then it gets plain calls
}

// checkChain asks the endpoint which chain it serves, unless that is known. The
// answer holds for all lanes, until one of them fails. A check always asks.
func (e *Endpoint) checkChain(ctx context.Context, lane Lane) error {
	e.mu.Lock()
	checked := e.lanes[lane].chainChecked && lane != Checks
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
	for i := range e.lanes {
		e.lanes[i].chainChecked = right
	}
	e.mu.Unlock()
	if !right {
		return &Failure{Reason: WrongChain, Text: fmt.Sprintf("it serves chain %d", serves)}
	}
	return nil
}

// An endpoint that fails is not used for a second. The time doubles with each
// failure in a row, up to half a minute.
const (
	firstRest = time.Second
	longRest  = 30 * time.Second
)

// After a provider said that we are over its quota, and after the rest that
// follows, the lanes that give way ask it one question a second. They do so
// until a minute has passed without another such answer. Otherwise they would
// use the quota up again at once, and partners would find nothing left.
const (
	pace = time.Second
	calm = time.Minute
)

// limitedLogEvery is how often the log says at most that we are over a quota.
const limitedLogEvery = 10 * time.Minute

// laneState is what one lane knows of an endpoint.
type laneState struct {
	chainChecked bool
	failing      Reason // why the last call failed, empty if it succeeded
	rest         time.Duration
	restUntil    time.Time
	limitedAt    time.Time // when the lane last had to give way
	nextCall     time.Time // not earlier, because of pace
	heard        uint64    // Endpoint.outcomes at the last outcome of this lane; 0 for none
}

// take returns 0 if the lane may use the endpoint now, or how long it must wait.
func (e *Endpoint) take(lane Lane) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, now := &e.lanes[lane], e.now()
	if wait := s.resting(now); wait > 0 {
		return wait
	}
	if now.Sub(s.limitedAt) < calm {
		s.nextCall = now.Add(pace)
	}
	return 0
}

// resting is how much longer the lane skips the endpoint.
func (e *Endpoint) resting(lane Lane) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lanes[lane].resting(e.now())
}

func (s *laneState) resting(now time.Time) time.Duration {
	return max(0, s.restUntil.Sub(now), s.nextCall.Sub(now))
}

// failed makes the lane skip the endpoint for a while; if we are over the quota,
// also the lanes that give way. It logs only what is news.
func (e *Endpoint) failed(lane Lane, f *Failure) {
	level, text, news := slog.LevelWarn, "RPC endpoint fails and is skipped for a while", false
	switch f.Reason {
	case Limited:
		text = "RPC endpoint says we are over its quota; unknown integrators, wallets and status look-ups give way to known partners"
		news = e.overQuota(lane, f.RetryAfter)
	case WrongChain:
		level, text = slog.LevelError, "RPC endpoint serves another chain and is not used"
		fallthrough
	default:
		news = e.skip(lane, f.Reason)
	}
	if news {
		e.log.Log(context.Background(), level, text, "lane", lane.String(), "reason", f.Reason, "detail", f.Text)
	}
}

// skip rests the endpoint in one lane. It is true if the reason has changed.
func (e *Endpoint) skip(lane Lane, reason Reason) (changed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, now := &e.lanes[lane], e.now()
	if now.Before(s.restUntil) {
		return false // this call was under way when another one failed
	}
	s.grow()
	changed = s.failing != reason
	e.outcomes++
	s.restUntil, s.chainChecked, s.failing, s.heard = now.Add(s.rest), false, reason, e.outcomes
	return changed
}

// overQuota rests the endpoint in all lanes that give way, and in the one that was
// told. It is true if the log has not said so for a while.
func (e *Endpoint) overQuota(lane Lane, providerWants time.Duration) (news bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	e.outcomes++
	for i := range e.lanes {
		if l := Lane(i); l == lane || l.givesWay() {
			e.lanes[i].limited(now, l, providerWants)
			e.lanes[i].heard = e.outcomes
		}
	}
	if news = now.Sub(e.limitedLogged) >= limitedLogEvery; news {
		e.limitedLogged = now
	}
	return news
}

func (s *laneState) grow() { s.rest = min(max(firstRest, 2*s.rest), longRest) }

// limited rests the lane at least as long as the provider asks for. A lane that
// gives way rests longer each time; partners do not, so that they recover first.
func (s *laneState) limited(now time.Time, lane Lane, providerWants time.Duration) {
	rest := firstRest
	if lane.givesWay() {
		if !now.Before(s.restUntil) { // not told already by a call under way at the same time
			s.grow()
		}
		rest, s.limitedAt = s.rest, now
	}
	if until := now.Add(max(rest, providerWants)); until.After(s.restUntil) {
		s.restUntil = until
	}
	s.failing = Limited
}

// worked clears the failures of the endpoint in that lane.
func (e *Endpoint) worked(lane Lane) {
	e.mu.Lock()
	s := &e.lanes[lane]
	if s.failing == Limited && e.now().Before(s.restUntil) {
		e.mu.Unlock()
		return // this call was under way when the quota ran out
	}
	// Over a quota, an endpoint may change many times a minute. The log does not tell.
	recovered := s.failing != "" && s.failing != Limited
	s.failing, s.rest, s.restUntil = "", 0, time.Time{}
	e.outcomes++
	s.heard = e.outcomes
	e.mu.Unlock()

	if recovered {
		e.log.Info("RPC endpoint works again", "lane", lane.String())
	}
}

// State tells whether the endpoints of a chain work.
type State string

const (
	NoEndpoint State = "unconfigured" // none is configured
	Unused     State = "unused"       // no call was made yet
	Working    State = "working"      // the last call of an endpoint was answered
	OverQuota  State = "limited"      // none works, and a provider says we are over its quota
	Failing    State = "failing"      // none works
)

// Health tells whether a chain can be asked.
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
	state, resting = Failing, e.now().Before(last.restUntil)
	if last.failing == Limited {
		state = OverQuota
	}
	return state, resting
}
