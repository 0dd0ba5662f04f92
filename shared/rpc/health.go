package rpc

import "github.com/quotegate/quotegate/shared/chain"

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

// Health reports on every chain that has endpoints, by ID, without calling them.
// It looks at the given lanes only, or at all but Checks if none is given.
func (c *Client) Health(lanes ...Lane) []Health {
	if len(lanes) == 0 {
		lanes = []Lane{Partners, Strangers, Wallets, Sightings, Tracking, Searches}
	}
	report := make([]Health, len(c.networks))
	for i, n := range c.networks {
		h := Health{Network: n.id, State: Unused, Endpoints: len(n.endpoints)}
		for _, e := range n.endpoints {
			state, resting := e.health(lanes)
			if state.counts() > h.State.counts() {
				h.State = state
			}
			if resting {
				h.Resting++
			}
		}
		report[i] = h
	}
	return report
}

// counts orders the states of endpoints: that of a chain is the one that counts
// most.
func (s State) counts() int {
	switch s {
	case Working:
		return 3
	case OverQuota:
		return 2
	case Failing:
		return 1
	}
	return 0
}

// health is what came of the last call in any of the lanes.
func (e *Endpoint) health(lanes []Lane) (state State, resting bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := &e.lanes[lanes[0]]
	for _, lane := range lanes[1:] {
		if s := &e.lanes[lane]; s.heard >= last.heard {
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
