package rpc

import "time"

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
	if !s.limitedAt.IsZero() && now.Sub(s.limitedAt) < calm {
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
// also the lanes that give way. It logs only when the reason has changed.
func (e *Endpoint) failed(lane Lane, f *Failure) {
	e.mu.Lock()
	now := e.now()
	if f.Reason == Limited {
		e.outcomes++
		for i := range e.lanes {
			if l := Lane(i); l == lane || l.givesWay() {
				e.lanes[i].limited(now, l, f.RetryAfter)
				e.lanes[i].heard = e.outcomes
			}
		}
		say := e.limitedLogged.IsZero() || now.Sub(e.limitedLogged) >= limitedLogEvery
		if say {
			e.limitedLogged = now
		}
		e.mu.Unlock()
		if say {
			e.log.Warn("RPC endpoint says we are over its quota; unknown integrators, wallets and status look-ups give way to known partners", "lane", lane.String(), "reason", f.Reason, "detail", f.Text)
		}
		return
	}
	s := &e.lanes[lane]
	if now.Before(s.restUntil) {
		e.mu.Unlock()
		return // this call was under way when another one failed
	}
	s.grow()
	s.restUntil = now.Add(s.rest)
	s.chainChecked = false
	newReason := s.failing != f.Reason
	s.failing = f.Reason
	e.outcomes++
	s.heard = e.outcomes
	e.mu.Unlock()

	switch {
	case newReason && f.Reason == WrongChain:
		e.log.Error("RPC endpoint serves another chain and is not used", "lane", lane.String(), "reason", f.Reason, "detail", f.Text)
	case newReason:
		e.log.Warn("RPC endpoint fails and is skipped for a while", "lane", lane.String(), "reason", f.Reason, "detail", f.Text)
	}
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
