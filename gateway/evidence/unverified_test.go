package evidence_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/testkit/clock"
)

// An aggregator's integrators share an address. Those that a registry knows are named,
// however many there are; invented ones are bounded, and nothing else is.
func TestIntegratorsOfOneAddress(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		invented := func(i int) calldata.IntegratorID { return calldata.IntegratorID{30: 1, 31: byte(i)} }
		genuine := func(i int) calldata.IntegratorID { return calldata.IntegratorID{30: 2, 31: byte(i)} }
		asked := map[string]int{}
		away := false
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon), recorded.Asking(
			func(_ context.Context, id string) (bool, error) {
				asked[id]++
				if away {
					return false, errors.New("no endpoint")
				}
				return strings.HasPrefix(id[len(id)-4:], "02"), nil
			}))
		r.Age(t, 8)
		from := netip.MustParseAddr("203.0.113.7")
		call := func(ids func(int) calldata.IntegratorID, from, to int, addr netip.Addr) {
			for i := from; i < to; i++ {
				r.As("v1", caller.Caller{Integrator: ids(i), Addr: addr})
			}
			r.Flush(t)
		}
		call(genuine, 0, 28, from)
		if got := r.Rows(t, "quotegate_clients"); got != 28 || len(asked) != 8 {
			t.Errorf("got %d names, asked about %d, want 28 names, and to be asked about those above the bound", got, len(asked))
		}
		if e := r.Evidence(t, "v1", 7); e.Clients != 28 || len(e.Missing) > 0 {
			t.Errorf("got %+v, want nothing missing", e)
		}
		call(invented, 0, 5, from)
		if got := r.Missing(t, 7); !strings.Contains(got, "5 calls are not attributed to a client") {
			t.Errorf("got %q, want invented ones bounded", got)
		}
		away = true
		call(genuine, 28, 29, from)
		if got := r.Missing(t, 7); !strings.Contains(got, "6 calls are not attributed to a client") {
			t.Errorf("got %q, want one that nobody vouches for bounded", got)
		}
	})
}

// A client that only ever got errors does not use the version because a brownout
// refuses it. One that was served within 90 days does, and so does one that was never
// seen before.
func TestErrorsAreNotUse(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
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
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
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
		bounded := lifecycle.Gate{Days: 7, Count: lifecycle.CountProven}
		check := func(when string, everybody, vouched, unverified lifecycle.Evidence) {
			t.Helper()
			r.Flush(t)
			all, some := r.Evidence(t, "v1", 7), r.Gate(t, "v1", bounded)
			if all.Clients != everybody.Clients || all.Calls != everybody.Calls || all.Marked != everybody.Marked ||
				some.Clients != vouched.Clients || some.Calls != vouched.Calls || some.UnverifiedCalls != unverified.UnverifiedCalls {
				t.Errorf("%s: got %+v, and of those that are proven %+v", when, all, some)
			}
		}
		call(0, 4)
		r.Call("origin https://other.example", 1)
		check("marked today", lifecycle.Evidence{Clients: 1, Calls: 1, Marked: 1}, lifecycle.Evidence{}, lifecycle.Evidence{UnverifiedCalls: 1})
		r.Up(t, 24*time.Hour)
		call(0, 3)
		check("claimed the day after", lifecycle.Evidence{Clients: 2, Calls: 3, Marked: 1}, lifecycle.Evidence{}, lifecycle.Evidence{UnverifiedCalls: 3})
		call(7, 1)
		check("with its key", lifecycle.Evidence{Clients: 2, Calls: 5}, lifecycle.Evidence{Clients: 1, Calls: 1}, lifecycle.Evidence{UnverifiedCalls: 5})
		report := r.Report(t)
		if c := report.Clients[0]; c.HasMoved() || c.Proven != 1 || c.Claimed != 7 {
			t.Errorf("got %+v, want the client back, with one proven call", c)
		}
		r.Up(t, 20*24*time.Hour)
		call(0, 2)
		check("weeks after the call with its key", lifecycle.Evidence{Clients: 1, Calls: 2},
			lifecycle.Evidence{}, lifecycle.Evidence{UnverifiedCalls: 2})
	})
}

// With count proven only clients with a key count, and only their calls with it. Nobody
// else can hold the gate, not even under their names.
func TestProvenClients(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
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
		if e.Clients != 1 || e.Calls != 3 || e.Proven != 1 || e.Names != 3 || e.UnverifiedNames != 2 || e.UnverifiedCalls != 150 || gate.Exceeds(e) || len(e.Missing) > 0 {
			t.Errorf("got %+v, want one proven client with three calls, and two others that do not count", e)
		}
	})
}

// The earliest moment is the first at which a gate with these counts does not hold.
func TestEarliestMoment(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon.Add(20*time.Minute)))
		r.Age(t, 30)
		for i := range 9 {
			r.Call(fmt.Sprintf("origin https://a-%d.example", i), 10*(9-i))
			r.Up(t, 5*time.Hour)
		}
		r.Flush(t)
		for name, gate := range map[string]lifecycle.Gate{
			"clients": {MaxClients: 3, MaxCallsPerDay: 1000, Days: 7}, "calls": {MaxClients: 100, MaxCallsPerDay: 100, Days: 7}, "nobody": {Days: 2}, "both": {MaxClients: 1, MaxCallsPerDay: 45, Days: 3},
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
