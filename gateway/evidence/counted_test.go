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
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/testdata/counted"
	"github.com/quotegate/quotegate/testdata/recorded"
)

var byWords = lifecycle.Gate{MaxClients: 5, MaxCallsPerDay: 100, Days: 21}

// software is a caller that has nothing but its software and its network.
func software(product string, network int) caller.Caller {
	return caller.Caller{Agent: product, Addr: netip.AddrFrom4([4]byte{10, byte(network >> 8), byte(network), 1})}
}

// daily has everybody call once on each of some days, at the hour that it names.
func daily(r *recorded.Rig, t *testing.T, days int, who func(day int) map[int][]caller.Caller) {
	t.Helper()
	for d := range days {
		calls := who(d)
		for h := range 24 {
			for _, c := range calls[h] {
				r.As("v1", c)
			}
			r.Up(t, time.Hour)
		}
	}
	r.Flush(t)
}

// Software that is in another network each day is one client, and a gate may count it
// once. Software that is in two networks at once is not.
func TestRoamingSoftwareIsOneClient(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := counted.Begin(t, cfg, recorded.At(recorded.Noon.Truncate(24*time.Hour)))
		r.Age(t, 30)
		daily(r, t, 20, func(d int) map[int][]caller.Caller {
			return map[int][]caller.Caller{
				1: {software("roamer", d), software("pair", 500), software("pair", 501)},
				8: {software("mover", 1000+d)}, 20: {software("mover", 1001+d)}, // moves in the course of each day
				3: {software("trio", 700+3*d)}, 4: {software("trio", 701+3*d)}, 5: {software("trio", 702+3*d)},
			}
		})
		e := r.Reader.Evidence("v1", byWords)
		const both, trio = 2, 60
		if e.Names != 20+21+both+trio || e.Probably != 2+both+trio || e.Clients != e.Names || e.Missing != "" {
			t.Errorf("got %+v, want %d names that are probably %d clients, and every name to count", e, 20+21+both+trio, 2+both+trio)
		}
		once := byWords
		once.Roaming = lifecycle.RoamingOnce
		if e := r.Reader.Evidence("v1", once); e.Clients != 2+both+trio {
			t.Errorf("got %d clients, want roaming software to count once", e.Clients)
		}
	})
}

// registered is a registry with one integrator.
func registered(id integrator.ID) func(context.Context, string) (bool, error) {
	return func(_ context.Context, text string) (bool, error) { return text == id.String(), nil }
}

// Six networks with a call each do not hold a gate that counts only those whom somebody
// vouches for, and neither do invented integrators; they are bounded together.
func TestStrangersAreBounded(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := counted.Begin(t, cfg, recorded.At(recorded.Noon.Truncate(24*time.Hour)))
		partner := integrator.ID{31: 7}
		r.Registered = registered(partner)
		r.Age(t, 30)
		acme := caller.Caller{Known: &caller.Client{Name: "Acme"}, Key: 1, Agent: "acme", Addr: netip.MustParseAddr("192.0.2.1")}
		daily(r, t, 20, func(d int) map[int][]caller.Caller {
			calls := []caller.Caller{software("curl", d%6), {Integrator: integrator.ID{30: 1, 31: byte(d)}, Addr: netip.MustParseAddr("192.0.2.9")}}
			return map[int][]caller.Caller{2: append(calls, acme), 9: {acme, {Integrator: partner, Addr: netip.MustParseAddr("192.0.2.2")}}}
		})
		for range 1000 {
			r.Observe(&event.Event{Time: r.Clock.Now(), Version: "v3", Client: "origin https://new.example", Pair: recorded.Pair, Quotes: true})
		}
		r.Flush(t)
		e := r.Reader.Evidence("v1", byWords)
		if e.Clients != 28 || e.Known != 1 || e.Calls != 5 || !byWords.Exceeds(e) {
			t.Errorf("got %+v, want all 28 names to count, and the gate to hold", e)
		}
		bounded := byWords
		bounded.Strangers = lifecycle.Strangers{MaxCallsPerDay: 2, MaxShare: 0.05}
		if e := r.Reader.Evidence("v1", bounded); e.Unasked != 1 {
			t.Errorf("got %+v, want the registry to be asked about 20 integrators at once, and the last to count", e)
		}
		e = r.Reader.Evidence("v1", bounded)
		share := 40.0 / 1100
		if e.Clients != 2 || e.Known != 1 || e.Registered != 1 || e.Unasked != 0 || e.StrangerNames != 26 || e.Calls != 3 || e.StrangerCalls != 2 ||
			e.StrangerShare < share-1e-9 || e.StrangerShare > share+1e-9 || bounded.Exceeds(e) {
			t.Errorf("got %+v, want 2 clients with 3 calls a day, and 26 strangers with 2, %v of all", e, share)
		}
		for name, tighter := range map[string]lifecycle.Strangers{"calls": {MaxCallsPerDay: 1, MaxShare: 0.05}, "share": {MaxCallsPerDay: 2, MaxShare: 0.03}} {
			if bounded.Strangers = tighter; !bounded.Exceeds(r.Reader.Evidence("v1", bounded)) {
				t.Errorf("%s: the gate lets too many strangers pass", name)
			}
		}
	})
}

// Where no registry answers, every integrator counts, and the evidence says so. What is
// known is not asked again.
func TestRegistriesThatDoNotAnswer(t *testing.T) {
	r := counted.Begin(t, store.Config{}, recorded.At(recorded.Noon))
	r.As("v1", caller.Caller{Integrator: integrator.ID{31: 7}})
	r.As("v1", caller.Caller{Integrator: integrator.ID{31: 8}})
	r.Flush(t)
	gate := lifecycle.Gate{Days: 1, Strangers: lifecycle.Strangers{MaxCallsPerDay: 1, MaxShare: 0.5}}
	asked := 0
	var answer error
	r.Registered = func(_ context.Context, id string) (bool, error) {
		asked++
		return strings.HasSuffix(id, "7"), answer
	}
	for _, step := range []struct {
		answer                            error
		pass                              time.Duration
		registered, unasked, asked, names int
	}{
		{errors.New("no endpoint"), 0, 2, 2, 2, 2},
		{nil, time.Minute, 2, 2, 2, 2}, // not again at once
		{nil, evidence.AskAgain, 1, 0, 4, 2},
		{errors.New("no endpoint"), time.Hour, 1, 0, 4, 2},
		{errors.New("no endpoint"), evidence.AskEvery - 2*time.Hour, 1, 0, 4, 2},
	} {
		answer = step.answer
		r.Clock.Pass(step.pass)
		gate.Days = 2
		if e := r.Reader.Evidence("v1", gate); e.Registered != step.registered || e.Unasked != step.unasked || asked != step.asked || e.Names != step.names {
			t.Errorf("after %s: got %+v, asked %d times, want %+v", step.pass, e, asked, step)
		}
	}
}

// A client that only ever got errors does not use the version because a brownout
// refuses it. One that was served once does, and so does one that was never seen before.
func TestErrorsAreNotUse(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := counted.Begin(t, cfg, recorded.At(recorded.Noon))
		r.Age(t, 30)
		r.Errs("origin https://broken.example", 9)
		r.Errs("origin https://sometimes.example", 1)
		r.Call("origin https://sometimes.example", 1)
		r.Up(t, time.Hour)
		r.Refuse("origin https://broken.example", 7, fault.VersionBrownout)
		r.Refuse("origin https://sometimes.example", 2, fault.VersionBrownout)
		r.Refuse("origin https://new.example", 3, fault.VersionBrownout)
		r.Flush(t)
		e := r.Evidence("v1", 7)
		if e.Names != 3 || e.Clients != 2 || e.Errors != 1 || e.Calls != 6 {
			t.Errorf("got %+v, want 2 clients with 6 calls, and one that only gets errors", e)
		}
	})
}

// The operator's word that a client has moved counts until it calls again.
func TestMarkedClientsDoNotCount(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := counted.Begin(t, cfg, recorded.At(recorded.Noon))
		mark := caller.Client{Name: "Harbour", Moved: &caller.Mark{On: caller.Date(recorded.Noon.Unix() / store.Day), Why: "they wrote so"}}
		r.Known = func(name string) (caller.Client, bool) { return mark, name == "origin https://harbour.example" }
		r.Age(t, 30)
		r.Call("origin https://harbour.example", 4)
		r.Call("origin https://other.example", 1)
		r.Flush(t)
		if e := r.Evidence("v1", 7); e.Clients != 1 || e.Marked != 1 || e.Names != 2 || e.Known != 1 || e.Calls != 5 {
			t.Errorf("got %+v, want one client besides the marked one, and all calls", e)
		}
		r.Up(t, 24*time.Hour)
		r.Call("origin https://harbour.example", 1)
		r.Flush(t)
		if e := r.Evidence("v1", 7); e.Clients != 2 || e.Marked != 0 {
			t.Errorf("got %+v, want the client to count again", e)
		}
	})
}

// The earliest moment is the first at which a gate with these counts does not hold.
func TestEarliestMoment(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := counted.Begin(t, cfg, recorded.At(recorded.Noon.Add(20*time.Minute)))
		r.Age(t, 30)
		for i := range 9 {
			r.Call(fmt.Sprintf("origin https://a-%d.example", i), 10*(9-i))
			r.Up(t, 5*time.Hour)
		}
		r.Flush(t)
		for name, gate := range map[string]lifecycle.Gate{
			"clients": {MaxClients: 3, MaxCallsPerDay: 1000, Days: 7}, "calls": {MaxClients: 100, MaxCallsPerDay: 100, Days: 7}, "nobody": {Days: 2}, "both": {MaxClients: 1, MaxCallsPerDay: 45, Days: 3},
			"strangers": {MaxClients: 1, Days: 7, Strangers: lifecycle.Strangers{MaxCallsPerDay: 60, MaxShare: 1}},
		} {
			began := r.Clock.Now()
			first := r.Reader.Evidence("v1", gate)
			if first.Earliest.Sub(began) <= 0 {
				t.Errorf("%s: got %+v, want a moment to come", name, first)
				continue
			}
			r.Clock.Pass(first.Earliest.Sub(began) - time.Second)
			before := r.Reader.Evidence("v1", gate)
			r.Clock.Pass(time.Second)
			after := r.Reader.Evidence("v1", gate)
			if !gate.Exceeds(before) || gate.Exceeds(after) || !after.Earliest.IsZero() {
				t.Errorf("%s: a second before %s got %+v, then %+v; want it to hold until then", name, first.Earliest, before, after)
			}
			r.Clock.Pass(began.Sub(r.Clock.Now()))
		}
	})
}

// Evidence of many clients is kept for a minute, and says when it was read.
func TestEvidenceOfManyClientsIsKept(t *testing.T) {
	r := counted.Begin(t, store.Config{}, recorded.At(recorded.Noon))
	r.Exec(t, fmt.Sprintf(`insert into usage_names (name, software, network, first_seen) with recursive n(i) as (select 1 union all select i + 1 from n where i <= %d)
		select 'origin https://' || i || '.example', '', 0, 1 from n`, evidence.ManyClients))
	r.Exec(t, fmt.Sprintf(`insert into usage_clients (version, client, first_seen, last_seen, last_call, last_served, last_410, last_rehearsal, kind, position, exempt, proven, claimed, calls7, calls30, calls90, found, worst)
		select 'v1', id, 1, %d, %[1]d, %[1]d, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0 from usage_names`, recorded.Noon.Unix()))
	first := r.Evidence("v1", 7)
	r.Call("origin https://one-more.example", 1)
	r.Flush(t)
	r.Clock.Pass(evidence.KeepEvidence / 2)
	second := r.Evidence("v1", 7)
	r.Clock.Pass(evidence.KeepEvidence)
	third := r.Evidence("v1", 7)
	if first.Clients != evidence.ManyClients+1 || second.Clients != first.Clients || !second.Read.Equal(recorded.Noon) || third.Clients != first.Clients+1 {
		t.Errorf("got %d, then %d read at %s, then %d clients", first.Clients, second.Clients, second.Read, third.Clients)
	}
}

// A report that takes too long says how far it came.
func TestReportSaysHowFarItIs(t *testing.T) {
	r := counted.Begin(t, store.Config{}, recorded.At(recorded.Noon))
	r.Call("origin https://a.example", 1)
	r.Flush(t)
	begun := make(chan struct{})
	err := r.InTurn(t.Context(), func(context.Context, time.Time, *evidence.Progress) error {
		close(begun)
		return errors.New("another reason")
	})
	if <-begun; err == nil || err.Error() != "another reason" {
		t.Errorf("got %v, want an error of its own as it is", err)
	}
	r.LimitTime(50 * time.Millisecond)
	err = r.InTurn(t.Context(), func(ctx context.Context, _ time.Time, far *evidence.Progress) error {
		far.Is("3 windows of %d of v1 were looked at", 12)
		<-ctx.Done()
		return ctx.Err()
	})
	if err == nil || !strings.Contains(err.Error(), "was not finished within") || !strings.Contains(err.Error(), "3 windows of 12 of v1 were looked at") {
		t.Errorf("got %v, want how far it came", err)
	}
}
