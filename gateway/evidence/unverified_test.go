package evidence_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/testkit/clock"
)

var byWords = lifecycle.Gate{MaxClients: 5, MaxCallsPerDay: 100, Days: 21}

// software is a caller that has nothing but its software and its network.
func software(product string, network int) caller.Caller {
	return caller.Caller{Agent: product, Addr: netip.AddrFrom4([4]byte{10, byte(network >> 8), byte(network), 1})}
}

// registered is a registry with one integrator.
func registered(id calldata.IntegratorID) func(context.Context, string) (bool, error) {
	return func(_ context.Context, text string) (bool, error) { return text == id.String(), nil }
}

// Six networks with a call each do not hold a gate that counts only those whom somebody
// vouches for, and neither do invented integrators; they are bounded together.
func TestUnverifiedAreBounded(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		partner := calldata.IntegratorID{31: 7}
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon), recorded.Asking(registered(partner)))
		r.Age(t, 30)
		acme := caller.Caller{Known: &caller.Client{Name: "Acme"}, Key: 1, Agent: "acme", Addr: netip.MustParseAddr("192.0.2.1")}
		for d := range 20 {
			invented := calldata.IntegratorID{30: 1, 31: byte(d)}
			for _, c := range []caller.Caller{acme, acme, software("curl", d%6), {Integrator: invented}, {Integrator: partner}} {
				r.As("v1", c)
			}
			r.Up(t, 24*time.Hour)
		}
		for range 1000 {
			r.On("v3", "origin https://new.example")
		}
		r.Flush(t)
		e := r.Gate(t, "v1", byWords)
		if e.Clients != 28 || e.Known != 1 || e.Calls != 5 || !byWords.Exceeds(e) {
			t.Errorf("got %+v, want all 28 names to count, and the gate to hold", e)
		}
		bounded := byWords
		bounded.Unverified = lifecycle.UnverifiedLimits{MaxCallsPerDay: 2, MaxShare: 0.05}
		if e := r.Gate(t, "v1", bounded); e.Unasked != 1 {
			t.Errorf("got %+v, want the registry to be asked about 20 integrators at once, and the last to count", e)
		}
		e = r.Gate(t, "v1", bounded)
		share := 40.0 / 1100
		if e.Clients != 2 || e.Known != 1 || e.Registered != 1 || e.Unasked != 0 || e.Calls != 3 || bounded.Exceeds(e) {
			t.Errorf("got %+v, want 2 clients with 3 calls a day", e)
		}
		if e.UnverifiedNames != 26 || e.UnverifiedCalls != 2 || math.Abs(e.UnverifiedShare-share) > 1e-9 {
			t.Errorf("got %+v, want 26 unverified clients with 2 calls, %v of all", e, share)
		}
		for name, tighter := range map[string]lifecycle.UnverifiedLimits{
			"calls": {MaxCallsPerDay: 1, MaxShare: 0.05}, "share": {MaxCallsPerDay: 2, MaxShare: 0.03},
		} {
			bounded.Unverified = tighter
			if !bounded.Exceeds(r.Gate(t, "v1", bounded)) {
				t.Errorf("%s: the gate lets too many unverified clients pass", name)
			}
		}
	})
}

// Where no registry answers, every integrator counts, and the evidence says so. What is
// known is not asked again.
func TestRegistriesThatDoNotAnswer(t *testing.T) {
	asked := 0
	var answer error
	r := recorded.Begin(t, store.Config{}, clock.At(recorded.Noon), recorded.Asking(
		func(_ context.Context, id string) (bool, error) {
			asked++
			return strings.HasSuffix(id, "7"), answer
		}))
	r.As("v1", caller.Caller{Integrator: calldata.IntegratorID{31: 7}})
	r.As("v1", caller.Caller{Integrator: calldata.IntegratorID{31: 8}})
	r.Flush(t)
	gate := lifecycle.Gate{Days: 1, Unverified: lifecycle.UnverifiedLimits{MaxCallsPerDay: 1, MaxShare: 0.5}}
	for _, step := range []struct {
		answer                            error
		pass                              time.Duration
		registered, unasked, asked, names int
	}{
		{errors.New("no endpoint"), 0, 2, 2, 2, 2},
		{nil, time.Minute, 2, 2, 2, 2}, // not again at once
		{nil, 10 * time.Minute, 1, 0, 4, 2},
		{errors.New("no endpoint"), time.Hour, 1, 0, 4, 2},
		{errors.New("no endpoint"), 22 * time.Hour, 1, 0, 4, 2},
	} {
		answer = step.answer
		r.Clock.Advance(step.pass)
		gate.Days = 2
		if e := r.Gate(t, "v1", gate); e.Registered != step.registered || e.Unasked != step.unasked || asked != step.asked || e.Names != step.names {
			t.Errorf("after %s: got %+v, asked %d times, want %+v", step.pass, e, asked, step)
		}
	}
}

// A client that only ever got errors does not use the version because a brownout
// refuses it. One that was served within 90 days does, and so does one that was never
// seen before.
func TestErrorsAreNotUse(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon))
		r.Age(t, 30)
		r.Call("origin https://earlier.example", 1)
		r.Up(t, 20*24*time.Hour)
		r.Errs("origin https://earlier.example", 1)
		r.Refuse("origin https://earlier.example", 1, fault.VersionBrownout)
		r.Errs("origin https://broken.example", 9)
		r.Errs("origin https://sometimes.example", 1)
		r.Call("origin https://sometimes.example", 1)
		r.Up(t, time.Hour)
		r.Refuse("origin https://broken.example", 7, fault.VersionBrownout)
		r.Refuse("origin https://sometimes.example", 2, fault.VersionBrownout)
		r.Refuse("origin https://new.example", 3, fault.VersionBrownout)
		r.Flush(t)
		e := r.Evidence(t, "v1", 7)
		if e.Names != 4 || e.Clients != 3 || e.Errors != 1 || e.Calls != 7 {
			t.Errorf("got %+v, want 3 clients with 7 calls, and one that only gets errors", e)
		}
	})
}

// A client that the operator has marked as moved counts neither as a client nor by its
// calls. A call without its key since then is unverified; one with it says otherwise.
func TestMarkedClients(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		harbour := caller.Client{Name: "Harbour", Moved: &caller.Mark{On: caller.Date(recorded.Noon.Format(time.DateOnly)), Why: "they wrote so"}}
		known := func(name string) (caller.Client, bool) {
			if name == "client Harbour" {
				return harbour, true
			}
			return caller.Client{}, false
		}
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon), recorded.Knowing(known))
		r.Age(t, 30)
		call := func(key caller.KeyID, times int) {
			for range times {
				r.As("v1", caller.Caller{Known: &harbour, Key: key})
			}
		}
		bounded := lifecycle.Gate{Days: 7, Unverified: lifecycle.UnverifiedLimits{MaxCallsPerDay: 10, MaxShare: 1}}
		check := func(when string, everybody, vouched, unverified lifecycle.Evidence) {
			t.Helper()
			r.Flush(t)
			all, some := r.Evidence(t, "v1", 7), r.Gate(t, "v1", bounded)
			if all.Clients != everybody.Clients || all.Calls != everybody.Calls || all.Marked != everybody.Marked ||
				some.Clients != vouched.Clients || some.Calls != vouched.Calls || some.UnverifiedCalls != unverified.UnverifiedCalls {
				t.Errorf("%s: got %+v, and with bounded unverified ones %+v", when, all, some)
			}
		}
		call(0, 4)
		r.Call("origin https://other.example", 1)
		check("marked today", lifecycle.Evidence{Clients: 1, Calls: 1, Marked: 1}, lifecycle.Evidence{}, lifecycle.Evidence{UnverifiedCalls: 1})
		r.Up(t, 24*time.Hour)
		call(0, 3)
		check("claimed the day after", lifecycle.Evidence{Clients: 2, Calls: 3, Marked: 1}, lifecycle.Evidence{}, lifecycle.Evidence{UnverifiedCalls: 3})
		call(7, 1)
		check("with its key", lifecycle.Evidence{Clients: 2, Calls: 5}, lifecycle.Evidence{Clients: 1, Calls: 4}, lifecycle.Evidence{UnverifiedCalls: 1})
		report := r.Report(t)
		if c := report.Clients[0]; c.HasMoved() || c.Proven != 1 || c.Claimed != 7 {
			t.Errorf("got %+v, want the client back, with one proven call", c)
		}
		r.Up(t, 20*24*time.Hour)
		call(0, 2)
		check("weeks after the call with its key", lifecycle.Evidence{Clients: 1, Calls: 2},
			lifecycle.Evidence{Clients: 1, Calls: 2}, lifecycle.Evidence{})
	})
}

// With count proven only clients with a key count, and only their calls with it. Nobody
// else can hold the gate, not even under their names.
func TestProvenClients(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon))
		r.Age(t, 30)
		acme, bold := &caller.Client{Name: "Acme"}, &caller.Client{Name: "Bold"}
		for range 3 {
			r.As("v1", caller.Caller{Known: acme, Key: 5})
		}
		for range 50 {
			r.As("v1", caller.Caller{Known: acme})
			r.As("v1", caller.Caller{Known: bold})
			r.Call("origin https://unverified.example", 1)
		}
		r.Flush(t)
		gate := lifecycle.Gate{MaxClients: 1, MaxCallsPerDay: 3, Days: 7, Count: lifecycle.CountProven}
		e := r.Gate(t, "v1", gate)
		if e.Clients != 1 || e.Calls != 3 || e.Proven != 1 || e.Names != 3 || e.UnverifiedNames != 2 || e.UnverifiedCalls != 150 || gate.Exceeds(e) || e.Missing != "" {
			t.Errorf("got %+v, want one proven client with three calls, and two others that do not count", e)
		}
	})
}

// The earliest moment is the first at which a gate with these counts does not hold.
func TestEarliestMoment(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon.Add(20*time.Minute)))
		r.Age(t, 30)
		for i := range 9 {
			r.Call(fmt.Sprintf("origin https://a-%d.example", i), 10*(9-i))
			r.Up(t, 5*time.Hour)
		}
		r.Flush(t)
		for name, gate := range map[string]lifecycle.Gate{
			"clients": {MaxClients: 3, MaxCallsPerDay: 1000, Days: 7}, "calls": {MaxClients: 100, MaxCallsPerDay: 100, Days: 7}, "nobody": {Days: 2}, "both": {MaxClients: 1, MaxCallsPerDay: 45, Days: 3},
			"unverified": {MaxClients: 1, Days: 7, Unverified: lifecycle.UnverifiedLimits{MaxCallsPerDay: 60, MaxShare: 1}},
		} {
			began := r.Clock.Now()
			first := r.Gate(t, "v1", gate)
			if first.Earliest.Sub(began) <= 0 {
				t.Errorf("%s: got %+v, want a moment to come", name, first)
				continue
			}
			r.Clock.Advance(first.Earliest.Sub(began) - time.Second)
			before := r.Gate(t, "v1", gate)
			r.Clock.Advance(time.Second)
			after := r.Gate(t, "v1", gate)
			if !gate.Exceeds(before) || gate.Exceeds(after) || !after.Earliest.IsZero() {
				t.Errorf("%s: a second before %s got %+v, then %+v; want it to hold until then", name, first.Earliest, before, after)
			}
			r.Clock.Advance(began.Sub(r.Clock.Now()))
		}
	})
}
