package integrator

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/skew"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// An answer that two endpoints give is final. The answer of one is used only if all others have
// failed: neither while one of them may still answer, nor if it was not really called.
func TestDecide(t *testing.T) {
	readings := map[string]reading{
		"25":      {registration: registration{quote.Partner{FeeBPS: 25}, true}},
		"900":     {registration: registration{quote.Partner{FeeBPS: 900}, true}},
		"off":     {registration: registration{quote.Partner{FeeBPS: 25}, false}},
		"nobody":  {},
		"reverts": {invalid: &rpc.Failure{Reason: rpc.Reverted}},
		"garbage": {invalid: &rpc.Failure{Reason: rpc.Undecodable}},
		"down":    {failure: &rpc.Failure{Reason: rpc.Unreachable, RetryAfter: 4 * time.Second}},
		"late":    {failure: &rpc.Failure{Reason: rpc.Timeout, RetryAfter: 2 * time.Second}},
		"rests":   {failure: &rpc.Failure{Reason: rpc.Resting, RetryAfter: 3 * time.Second}},
		"busy":    {failure: &rpc.Failure{Reason: rpc.Busy, RetryAfter: time.Second}},
		"closed":  {failure: &rpc.Failure{Reason: rpc.Closed, RetryAfter: time.Second}},
	}
	const wait, disagree = "wait", string(rpc.Disagree)
	for _, tt := range []struct {
		endpoints int
		answers   string
		want      string // the fee, or why there is none
	}{
		{1, "", wait},
		{1, "25", "25"},
		{1, "off", "25 off"},
		{1, "reverts", "reverted"},
		{1, "down", "unreachable"},
		{1, "busy", "busy"},
		{2, "25", wait},
		{2, "down", wait},
		{2, "25 25", "25"},
		{2, "nobody nobody", "0 off"},
		{2, "off off", "25 off"},
		{2, "reverts reverts", "reverted"},
		{2, "25 900", disagree},
		{2, "900 25", disagree},
		{2, "25 off", disagree},
		{2, "25 nobody", disagree},
		{2, "25 reverts", disagree},
		{2, "garbage 25", disagree},
		{2, "garbage reverts", disagree},
		{2, "25 down", "25 unconfirmed"},
		{2, "rests 25", "25 unconfirmed"},
		{2, "late 25", "25 unconfirmed"},
		{2, "reverts down", "reverted"},
		{2, "25 busy", "busy"},
		{2, "busy 25", "busy"},
		{2, "25 closed", "closed"},
		{2, "down late", "timeout"},
		{2, "late down", "timeout"},
		{3, "900", wait},
		{3, "900 25", wait},
		{3, "900 down", wait},
		{3, "900 25 25", "25"},
		{3, "25 25", "25"},
		{3, "25 900 25", "25"},
		{3, "25 busy 25", "25"},
		{3, "25 down 25", "25"},
		{3, "25 900 off", disagree},
		{3, "25 900 down", disagree},
		{3, "25 900 busy", "busy"},
		{3, "25 down late", "25 unconfirmed"},
		{3, "25 down busy", "busy"},
		{3, "rests down late", "timeout"},
		{4, "25 900 25 900", "25"},
		{4, "25 900 900", "900"},
	} {
		var given []reading
		for _, name := range strings.Fields(tt.answers) {
			given = append(given, readings[name])
		}
		v, ok := decide(given, tt.endpoints)
		got := fmt.Sprint(v.FeeBPS)
		switch {
		case !ok:
			got = wait
		case v.failure != nil:
			got = string(v.failure.Reason)
		case !v.active:
			got += " off"
		}
		if v.unconfirmed && v.failure == nil {
			got += " unconfirmed"
		}
		if got != tt.want {
			t.Errorf("%d endpoints that answered %q: got %s, want %s", tt.endpoints, tt.answers, got, tt.want)
		}
	}
}

// If no endpoint answers, the failure names each, and why; also the one that a lookup skips.
func TestEveryEndpointIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure := func(c *choir, want string) {
			t.Helper()
			_, err := c.Lookup(t.Context(), netip.Prefix{}, hub, calldata.IntegratorIDOf(wallet(1)))
			if f, _ := errors.AsType[*rpc.Failure](err); f == nil || f.Text != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		down := newChoir(t, 2, nil)
		down.voices[0].do = node.Status(500)
		down.voices[1].do = node.Status(502)
		failure(down, "endpoint 1: HTTP status 500; endpoint 2: HTTP status 502")

		c := newChoir(t, 2, nil)
		c.voices[1].change(func(v *voice) { v.do = node.Status(502) })
		c.want("25", 0)
		c.voices[0].change(func(v *voice) { v.do = node.Hangs })
		time.Sleep(unconfirmedTTL)
		failure(c, "endpoint 1: timed out; endpoint 2: HTTP status 502 (no probe has succeeded since)")
	})
}

// voice is an endpoint in the memory of a test, so that its time is virtual. It is honest,
// at 25 basis points, unless a test changes it.
type voice struct {
	mu sync.Mutex
	registry
	after time.Duration    // how long it takes to answer for a contract
	do    http.HandlerFunc // instead of answering
	asked int              // for an integrator
}

func (v *voice) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	do := v.do
	v.mu.Unlock()
	if do == nil {
		do = node.Answers(v.answer).ServeHTTP
	}
	do(w, r)
}

func (v *voice) answer(c node.Call) any {
	if c.Method == "eth_call" {
		v.mu.Lock()
		v.asked++
		after := v.after
		v.mu.Unlock()
		time.Sleep(after)
	}
	return v.registry.answer(c)
}

// times is how many lookups it has received.
func (v *voice) times() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.asked
}

func (v *voice) change(f func(*voice)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f(v)
}

// choir are endpoints that a Registry reads in virtual time.
type choir struct {
	rig
	voices []*voice
	clock  *skew.Clock
}

// RoundTrip passes a request to the endpoint that its host names.
func (c *choir) RoundTrip(r *http.Request) (*http.Response, error) {
	var place int
	_, _ = fmt.Sscanf(r.URL.Host, "endpoint%d", &place)
	recorder := httptest.NewRecorder()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		c.voices[place].ServeHTTP(recorder, r)
	}()
	select {
	case <-answered:
		return recorder.Result(), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func newChoir(t *testing.T, endpoints int, limits map[rpc.Queue]rpc.Limits) *choir {
	t.Helper()
	c := &choir{rig: rig{t: t, counts: make(map[string]int)}, clock: skew.New(skew.Options{})}
	cfg := make(rpc.Config)
	for i := range endpoints {
		v := &voice{registry: registry{network: hub, now: time.Now, listed: make(map[common.Address]contracts.Integrator)}}
		v.list(partner(1, 25))
		c.voices = append(c.voices, v)
		cfg[hub] = append(cfg[hub], rpc.SecretURL(fmt.Sprintf("http://endpoint%d", i)))
	}
	log := slog.New(slog.NewTextHandler(&c.log, nil))
	client, err := rpc.New(cfg, rpc.Options{Log: log, Limits: limits, Transport: c, Clock: c.clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		time.Sleep(time.Minute) // until endpoints that are slow have answered, and probes have ended
	})
	opts := Options{Now: time.Now, Validity: validity, Log: log, Hooks: c.hooks()}
	if c.Registry, err = New(config, deployment, client, opts); err != nil {
		t.Fatal(err)
	}
	return c
}

// ask looks up integrator 1, and returns its fee or why there is none, and how long it took.
func (c *choir) ask() (string, time.Duration) {
	c.t.Helper()
	start := time.Now()
	got, err := c.Lookup(c.t.Context(), netip.Prefix{}, hub, calldata.IntegratorIDOf(wallet(1)))
	took := time.Since(start)
	if err == nil {
		if took > 0 && !got.CheckedAt.Equal(start) {
			c.t.Errorf("checked at %v, want when it was asked, %v", got.CheckedAt, start)
		}
		return fmt.Sprint(got.FeeBPS), took
	}
	if f := fault.From(err); f.Code != fault.IntegratorUnverified {
		return string(f.Code), took
	}
	f, _ := errors.AsType[*rpc.Failure](err)
	return string(f.Reason), took
}

func (c *choir) want(fee string, within time.Duration) {
	c.t.Helper()
	if got, took := c.ask(); got != fee || took != within {
		c.t.Errorf("got %s after %v, want %s after %v", got, took, fee, within)
	}
}

func (c *choir) state() rpc.State {
	for _, h := range c.Health() {
		if h.Network == hub {
			return h.State
		}
	}
	return ""
}

// A fee is what two endpoints return, however late the second one answers within its time.
func TestTwoEndpointsAgree(t *testing.T) {
	const slow = 600 * time.Millisecond
	const ownTime = 2 * time.Second
	fee := func(bps uint16) func(*voice) {
		return func(v *voice) { v.list(partner(1, bps)) }
	}
	lies := fee(900)
	inactive := func(v *voice) { v.list(contracts.Integrator{Wallet: wallet(1), FeeBPS: 25}) }
	free := func(v *voice) { v.list(contracts.Integrator{Wallet: wallet(1)}) }
	unregistered := func(v *voice) { delete(v.listed, wallet(1)) }
	late := func(v *voice) { v.after = slow }
	hangs := func(v *voice) { v.do = node.Hangs }
	down := func(v *voice) { v.do = node.Status(502) }
	html := func(v *voice) { v.do = node.Says("<html>") }
	old := func(v *voice) { v.age = time.Hour }
	behind := func(v *voice) { v.age = 3 * time.Minute }
	oldLies := func(v *voice) {
		lies(v)
		v.age = 24 * time.Hour
	}
	// The contract of another deployment returns nothing that can be decoded, or reverts.
	garbage := func(v *voice) { v.output = "0x" }
	reverts := func(v *voice) { v.output = "reverts" }
	otherChain := func(v *voice) { v.network = 1 }
	type change map[int]func(*voice) // by endpoint
	const disagree, working = rpc.Disagrees, rpc.Working
	for name, test := range map[string]struct {
		endpoints int
		change    change
		want      string
		after     time.Duration
		differs   int
		state     rpc.State
	}{
		"both agree":                        {2, nil, "25", 0, 0, working},
		"the first lies":                    {2, change{0: lies}, "disagree", 0, 1, disagree},
		"the second lies":                   {2, change{1: lies}, "disagree", 0, 1, disagree},
		"one says inactive":                 {2, change{0: inactive}, "disagree", 0, 1, disagree},
		"one says unregistered":             {2, change{1: unregistered}, "disagree", 0, 1, disagree},
		"inactive or unregistered":          {2, change{0: free, 1: unregistered}, "disagree", 0, 1, disagree},
		"one reverts":                       {2, change{0: reverts}, "disagree", 0, 1, disagree},
		"one has no contract":               {2, change{1: garbage}, "disagree", 0, 1, disagree},
		"both revert":                       {2, change{0: reverts, 1: reverts}, "reverted", 0, 0, working},
		"neither has a contract":            {2, change{0: garbage, 1: garbage}, "undecodable", 0, 0, working},
		"both say unregistered":             {2, change{0: unregistered, 1: unregistered}, "INTEGRATOR_UNREGISTERED", 0, 0, working},
		"the first lies, of three":          {3, change{0: lies}, "25", 0, 1, working},
		"the second lies, of three":         {3, change{1: lies}, "25", 0, 1, working},
		"the third lies":                    {3, change{2: lies}, "25", 0, 1, working},
		"one reverts, of three":             {3, change{0: reverts}, "25", 0, 1, working},
		"each says something else":          {3, change{0: lies, 1: fee(1)}, "disagree", 0, 1, disagree},
		"they differ, the third is down":    {3, change{0: lies, 2: down}, "disagree", 0, 1, disagree},
		"they differ, the third is slow":    {3, change{0: lies, 2: late}, "25", slow, 1, working},
		"a quick liar, and one honest":      {2, change{0: lies, 1: late}, "disagree", slow, 1, disagree},
		"a quick liar, and two honest":      {3, change{0: late, 1: lies, 2: late}, "25", slow, 1, working},
		"two quick, one slow liar":          {3, change{2: func(v *voice) { lies(v); late(v) }}, "25", 0, 1, working},
		"both are slow":                     {2, change{0: late, 1: late}, "25", slow, 0, working},
		"the first is down":                 {2, change{0: down}, "25", 0, 0, working},
		"the second is down":                {2, change{1: down}, "25", 0, 0, working},
		"the first is down, the other slow": {2, change{0: down, 1: late}, "25", slow, 0, working},
		"no JSON-RPC":                       {2, change{0: html}, "25", 0, 0, working},
		"another chain":                     {2, change{0: otherChain}, "25", 0, 0, working},
		"the first hangs":                   {2, change{0: hangs}, "25", ownTime, 0, working},
		"the second hangs":                  {2, change{1: hangs}, "25", ownTime, 0, working},
		"one hangs, of three":               {3, change{1: hangs}, "25", 0, 0, working},
		"they differ, the third hangs":      {3, change{0: lies, 1: hangs}, "disagree", ownTime, 1, disagree},
		"the first is down, of three":       {3, change{0: down, 2: lies}, "disagree", 0, 1, disagree},
		"both are down":                     {2, change{0: down, 1: down}, "refused", 0, 0, rpc.Failing},
		"yesterday's node":                  {2, change{0: oldLies}, "25", 0, 0, working},
		"yesterday's node is the second":    {2, change{1: oldLies}, "25", 0, 0, working},
		"yesterday's node, of three":        {3, change{0: oldLies}, "25", 0, 0, working},
		"a node that is just behind":        {2, change{0: behind}, "25", 0, 0, working},
		"both stand still":                  {2, change{0: old, 1: old}, "behind", 0, 0, rpc.Failing},
		"one endpoint is believed":          {1, change{0: lies}, "900", 0, 0, working},
		"one endpoint that stands still":    {1, change{0: old}, "25", 0, 0, working},
		"a fee above the cap, from both":    {2, change{0: fee(2000), 1: fee(2000)}, "INTEGRATOR_FEE_TOO_HIGH", 0, 0, working},
		"a fee above the cap, from one":     {2, change{0: fee(2000)}, "disagree", 0, 1, disagree},
		"a fee above the cap, one of two":   {3, change{1: fee(2000)}, "25", 0, 1, working},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newChoir(t, test.endpoints, nil)
				for i, f := range test.change {
					c.voices[i].change(f)
				}
				c.want(test.want, test.after)
				if got := c.state(); got != test.state {
					t.Errorf("health says %s, want %s", got, test.state)
				}
				time.Sleep(ownTime + 1) // until the last endpoint has answered
				synctest.Wait()
				logged := c.log.Count("disagree about an integrator")
				if got := c.count("differ"); got != test.differs || logged != test.differs {
					t.Errorf("endpoints differed %d times, and %d in the log, want %d", got, logged, test.differs)
				}
			})
		})
	}
}

// Endpoints that seem late because of this machine's clock are not believed, and the log says why.
func TestClockIsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChoir(t, 2, nil)
		for _, v := range c.voices {
			v.change(func(v *voice) { v.age = 10 * time.Minute })
		}
		others := time.Now().Add(-10 * time.Minute)
		c.clock.ReadDatabase(others)
		c.clock.ReadHead(1, 1, others)
		c.want("behind", 0)
		const says = ", but this machine's clock is 10 minutes ahead: synchronise it by NTP"
		if got := c.log.Count(says); got != 2 {
			t.Errorf("got log %s", c.log.String())
		}
	})
}

// A hanging endpoint costs one quote two seconds. From then on, the answer of the other one is
// used, for five seconds at a time, until a probe of the first succeeds: then its answers count
// at once.
func TestHangingEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChoir(t, 2, nil)
		honest, liar := c.voices[0], c.voices[1]
		liar.list(partner(1, 900))
		honest.change(func(v *voice) { v.do = node.Hangs })
		c.want("900", 2*time.Second)
		for range 20 {
			before := liar.times()
			got, err := c.Lookup(t.Context(), netip.Prefix{}, hub, calldata.IntegratorIDOf(wallet(1)))
			if left := time.Until(got.GoodUntil); err != nil || left < validity/2 || left > validity/2+unconfirmedTTL {
				t.Errorf("vouched for %v, %v; want half of the validity, and 5 seconds at most", left, err)
			}
			time.Sleep(unconfirmedTTL)
			c.want("900", 0)
			if liar.times() == before {
				t.Error("5 seconds later, it was not asked again")
			}
		}
		honest.change(func(v *voice) { v.do = nil })
		time.Sleep(30*time.Second + unconfirmedTTL) // the longest rest; no quote is asked for meanwhile
		before := honest.times()
		c.want("disagree", 0)
		if honest.times() != before+1 || c.state() != rpc.Disagrees {
			t.Errorf("asked %d times, and health says %s", honest.times()-before, c.state())
		}
		liar.list(partner(1, 25))
		c.want("25", 0)
		if c.state() != rpc.Working {
			t.Errorf("health says %s after they agree", c.state())
		}
		time.Sleep(config.CacheTTL/2 - 1)
		before = honest.times()
		c.want("25", 0)
		synctest.Wait()
		if honest.times() != before {
			t.Error("what both answered is not cached for its time")
		}
	})
}

// If all endpoints are down, every quote tries those that are no longer skipped: the first that
// answers is used alone.
func TestAllAreDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChoir(t, 2, nil)
		for _, v := range c.voices {
			v.change(func(v *voice) { v.do = node.Status(502) })
		}
		c.want("refused", 0)
		c.want("resting", 0)
		c.voices[1].change(func(v *voice) { v.do = nil })
		time.Sleep(time.Second)
		c.want("25", 0)
	})
}

// A disagreement ends when the endpoints agree about the same integrator, or after a while.
func TestHealthOfDisagreement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChoir(t, 2, nil)
		c.voices[0].list(partner(1, 900), partner(2, 50))
		c.voices[1].list(partner(2, 50))
		c.want("disagree", 0)
		got, err := c.Lookup(t.Context(), netip.Prefix{}, hub, calldata.IntegratorIDOf(wallet(2)))
		if err != nil || got.FeeBPS != 50 || c.state() != rpc.Disagrees {
			t.Errorf("health says %s after an agreement about another integrator", c.state())
		}
		time.Sleep(disputeFor - 1)
		if c.state() != rpc.Disagrees {
			t.Errorf("health says %s", c.state())
		}
		answer := func(do http.HandlerFunc) {
			for _, v := range c.voices {
				v.change(func(v *voice) { v.do = do })
			}
		}
		answer(node.Status(502))
		_, _ = c.Lookup(t.Context(), netip.Prefix{}, hub, calldata.IntegratorIDOf(wallet(3)))
		if c.state() != rpc.Failing {
			t.Errorf("health says %s while no endpoint works", c.state())
		}
		answer(nil)
		time.Sleep(time.Hour) // longer than any endpoint rests
		_, _ = c.Lookup(t.Context(), netip.Prefix{}, hub, calldata.IntegratorIDOf(wallet(3)))
		if c.state() != rpc.Working {
			t.Errorf("health says %s long after the disagreement", c.state())
		}
		const want = `answers="[endpoint 1: 900 basis points, active true endpoint 2: 25 basis points, active true]"`
		if !strings.Contains(c.log.String(), want) {
			t.Errorf("the log does not say %s: %s", want, c.log.String())
		}
	})
}

// A queue that is full, or so slow that an endpoint does not get its full time, is not the
// endpoint's fault: a single answer is not used, and the endpoint is not skipped.
func TestBusyQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := rpc.Limits{Try: 2 * time.Second, Total: 3 * time.Second, Calls: 1, Waiting: 4}
		c := newChoir(t, 2, map[rpc.Queue]rpc.Limits{rpc.Partners: limits, rpc.Unverified: limits})
		// One call at a time: the endpoint that is second has 1.1 seconds left.
		for _, v := range c.voices {
			v.change(func(v *voice) { v.after = 1900 * time.Millisecond })
		}
		got, took := c.ask()
		if got != string(rpc.Busy) || took != 3*time.Second {
			t.Errorf("got %s after %v, want busy after 3 seconds", got, took)
		}
		for _, h := range c.Health() {
			if h.Resting > 0 {
				t.Errorf("%+v: an endpoint rests that had too little time", h)
			}
		}
		for _, v := range c.voices {
			v.change(func(v *voice) { v.after = 0 })
		}
		c.want("25", 0)
	})
}

// Only partners are refreshed ahead of time, not invented IDs.
func TestOnlyPartnersAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChoir(t, 1, nil)
		c.voices[0].list(partner(2, 2000), contracts.Integrator{Wallet: wallet(3), FeeBPS: 25})
		for n, want := range []int{1: 1, 2: 0, 3: 0, 4: 0} {
			if n == 0 {
				continue
			}
			k := key{hub, calldata.IntegratorIDOf(wallet(uint64(n)))}
			_, _ = c.Lookup(t.Context(), netip.Prefix{}, hub, k.id)
			time.Sleep(config.CacheTTL/2 + 1)
			before := c.voices[0].times()
			_, _ = c.Lookup(t.Context(), netip.Prefix{}, hub, k.id)
			synctest.Wait()
			if got := c.voices[0].times() - before; got != want {
				t.Errorf("integrator %d: asked %d times in the background, want %d", n, got, want)
			}
			if got := c.cache.Last(k).Known; got != (want > 0) {
				t.Errorf("integrator %d: counts as a partner: %t", n, got)
			}
		}
	})
}
