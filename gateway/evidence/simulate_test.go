package evidence_test

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/testkit/clock"
)

// plan parses a plan for v1 with one window.
func plan(t testing.TB, from, to time.Time, share float64, exempt string) *lifecycle.Plan {
	t.Helper()
	p, err := lifecycle.Parse([]byte(fmt.Sprintf(`{"versions": {"v1": {"deprecated": "2026-01-01T00:00:00Z", "sunset": %q, "successor": "/v3/swap/quote", "docs": "https://example.org/m",
		"brownouts": [{"from": %q, "to": %q, "share": %g}], "exempt": [%s]}}}`,
		to.Add(30*24*time.Hour).Format(time.RFC3339), from.Format(time.RFC3339), to.Format(time.RFC3339), share, exempt)), []string{"v3", "v1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func simulate(r *recorded.Rig, t testing.TB, p *lifecycle.Plan) evidence.Simulation {
	t.Helper()
	report := r.Report(t)
	return report.Simulate(p, lifecycle.ReadGates(p, r.Read, report.At))
}

// The clients of a simulation are those that the windows then refuse: a share takes the same
// ones, exemptions spare, and who has moved does not come.
func TestSimulationIsTheSet(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg evidence.Config) {
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon))
		r.Age(t, 100)
		var callers []caller.Caller
		for i := range 24 {
			c := caller.Caller{Agent: "curl", Addr: netip.AddrFrom4([4]byte{10, byte(i), 0, 1})}
			if i%2 == 0 {
				c.Origin = fmt.Sprintf("https://wallet-%d.example", i)
			}
			r.As("v1", c)
			callers = append(callers, c)
		}
		moved := callers[6]
		r.Up(t, time.Hour)
		r.As("v3", moved)
		r.Up(t, 8*24*time.Hour)
		from := r.Clock.Now().Add(time.Hour).Truncate(time.Hour)
		p := plan(t, from, from.Add(5*time.Hour), 0.4, `"origin:https://wallet-4.example", "10.8.0.0/16"`)
		s := simulate(r, t, p)
		var want []string
		for _, c := range callers {
			subject := lifecycle.Recorded(r.Name(c.Identity()), c.Identity().Position("v1"), false)
			if c != moved && p.Versions["v1"].Hits(p.Versions["v1"].Brownouts[0], subject) {
				want = append(want, r.Name(c.Identity()))
			}
		}
		var got []string
		for _, c := range s.Windows[0].Names {
			got = append(got, c.Client)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || len(want) < 3 || len(want) > 20 || s.Windows[0].Clients != len(want) {
			t.Errorf("got %d clients %q, want %d: %q", s.Windows[0].Clients, got, len(want), want)
		}
		if sunset := s.Sunset["v1"]; sunset.Clients != len(callers)-1 {
			t.Errorf("got %+v at the sunset, want all that have not moved", sunset)
		}
		if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "exempt networks spare the clients that the plan in force spared") {
			t.Errorf("got notes %q, want one about exempt networks", s.Notes)
		}
	})
}

// What an operator reads. A window that is over is left out, and so are clients that only get
// errors: they lose no quote.
func TestPrintedSimulation(t *testing.T) {
	at := clock.At(recorded.Noon.Truncate(time.Hour))
	r := recorded.Begin(t, evidence.Config{}, at)
	window := at.Now().Add(7 * 24 * time.Hour)
	p := plan(t, window, window.Add(30*time.Minute), 1, "")
	if s := simulate(r, t, p); s.Windows[0].Sentence() != "would refuse nobody" {
		t.Errorf("got %+v of nobody", s)
	}
	for i := range 12 {
		r.Call(fmt.Sprintf("origin https://wallet-%02d.example", i), 2)
	}
	r.Call("client Acme", 1)
	r.On("v3", "client Acme")
	r.Errs("origin https://broken.example", 3)
	r.Refuse("origin https://broken.example", 5, fault.VersionBrownout)
	r.Up(t, 24*time.Hour)
	s := simulate(r, t, p)
	var out strings.Builder
	if err := s.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"note: the counts are complete only since 10 Mar 2027, 12:00 UTC",
		"v1 from 2027-03-17T12:00:00Z to 2027-03-17T12:30:00Z, 100 % of clients\n  would refuse 13 clients (1 known) " +
			"with 25 calls in 7 days; 1 calling both versions\n    Acme\n    origin https://wallet-00.example\n",
		"    origin https://wallet-08.example\n    and 3 more\n",
		"v1 from its sunset on, 2027-04-16T12:30:00Z\n  would refuse 14 clients (1 known) with 30 calls in 7 days",
	} {
		contains(t, "simulation", out.String(), want)
	}
	r.Up(t, 6*24*time.Hour+time.Hour)
	if s := simulate(r, t, p); len(s.Windows) != 0 || s.Sunset["v1"].Clients != 14 {
		t.Errorf("got %+v after the window", s)
	}
}

// One window, one figure: the simulation, the filter of the list and each
// client's own answer agree, also after an exemption was added to the plan.
func TestOneAnswerToWhomAWindowHits(t *testing.T) {
	r := recorded.Begin(t, evidence.Config{}, clock.At(recorded.Noon))
	for i := range 60 {
		r.From(fmt.Sprintf("10.0.%d.1", i), fmt.Sprintf("https://wallet-%d.example", i))
	}
	r.Report(t) // writes
	r.Clock.Advance(time.Hour)
	for i := 40; i < 60; i++ {
		r.On("v3", fmt.Sprintf("origin https://wallet-%d.example", i)) // they have moved
	}
	from := recorded.Noon.Truncate(time.Hour).Add(7 * 24 * time.Hour)
	for _, exempt := range []string{``, `"origin:https://wallet-1.example", "origin:https://wallet-2.example", "origin:https://wallet-3.example"`} {
		p := plan(t, from, from.Add(time.Hour), 0.5, exempt)
		hit := simulate(r, t, p).Windows[0]
		parameters := url.Values{
			"version": {"v1"}, "moved": {"no"}, "window": {from.Format(time.RFC3339)}, "per": {"7"}, "sort": {"name"}, "page": {"2"},
		}
		q, err := evidence.ParseQuery(parameters, recorded.Versions, p)
		if err != nil {
			t.Fatal(err)
		}
		page, err := r.Read.Report(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		one := 0
		for _, c := range r.Report(t).Clients {
			if p.Versions["v1"].Hits(p.Versions["v1"].Brownouts[0], c.Subject()) && !c.HasMoved() && c.Version == "v1" {
				one++
			}
		}
		var table strings.Builder
		if err := r.Read.WriteCSV(t.Context(), q, &table); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(table.String(), "\n") - 1; page.Matching != one || hit.Clients != one || lines != one || one < 15 || len(page.Clients) != 7 {
			t.Errorf("exempt %s: got %d in the list, %d in the simulation, %d in the table, %d one by one", exempt, page.Matching, hit.Clients, lines, one)
		}
	}
	for _, parameters := range []url.Values{{"version": {"v1"}, "window": {"tomorrow"}}, {"version": {"v1"}, "gate": {"counted"}}} {
		if _, err := evidence.ParseQuery(parameters, recorded.Versions, plan(t, from, from.Add(time.Hour), 1, "")); err == nil {
			t.Errorf("%v was taken, and is not in the plan", parameters)
		}
	}
}

// Once a version is gone, nobody reads that its sunset would refuse somebody. While a gate
// holds it, it would.
func TestSimulateAfterTheSunset(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg evidence.Config) {
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon))
		r.Call("origin https://a.example", 3)
		day := 24 * time.Hour
		p := plan(t, recorded.Noon.Add(-32*day), recorded.Noon.Add(-31*day), 1, "")
		said := func() string { return simulate(r, t, p).Sunset["v1"].Sentence() }
		const gone = "every call is refused; 1 client of the last 90 days has not moved"
		if got := said(); got != gone {
			t.Errorf("without a gate: got %q", got)
		}
		schedule := p.Versions["v1"]
		schedule.Gate = &lifecycle.Gate{Days: 1}
		if got := said(); !strings.HasPrefix(got, "would refuse 1 client") {
			t.Errorf("while the gate holds: got %q", got)
		}
		if err := r.Read.Release("v1", schedule.Sunset, schedule.Entry()); err != nil {
			t.Fatal(err)
		}
		if got := said(); got != gone {
			t.Errorf("after the release: got %q", got)
		}
	})
}
