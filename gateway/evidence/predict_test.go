package evidence_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/testkit/clock"
)

// plan parses a plan for v1 with one window.
func plan(t testing.TB, from, to time.Time, share float64, exempt string) *lifecycle.Plan {
	t.Helper()
	p, err := lifecycle.Parse([]byte(fmt.Sprintf(`{"versions": {"v1": {"deprecated": "2026-01-01T00:00:00Z", "sunset": %q, "successor": "/v3/swap/quote", "docs": "https://example.org/m",
		"brownouts": [{"from": %q, "to": %q, "share": %g}], "exempt": [%s]}}}`,
		to.Add(30*24*time.Hour).Format(time.RFC3339), from.Format(time.RFC3339), to.Format(time.RFC3339), share, exempt)), []string{"v3", "v1"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func hitNames(h evidence.Hit) (names []string) {
	for _, c := range h.Names {
		names = append(names, c.Client)
	}
	return names
}

func simulate(r *recorded.Rig, t testing.TB, p *lifecycle.Plan) evidence.Simulation {
	t.Helper()
	r.Flush(t)
	s, err := r.Read.Simulate(t.Context(), p)
	if err != nil {
		t.Error(err)
		t.FailNow()
	}
	return s
}

// habit is a client that calls at the same times every week.
type habit struct {
	who   caller.Caller
	hours []int // of the week
	calls int
}

// habits are clients of every kind.
func habits(n int) (all []habit) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		h := habit{who: caller.Caller{Agent: "curl", Addr: netip.AddrFrom4([4]byte{10, byte(i), 0, 1})}, calls: 1 + random.IntN(5)}
		if i%2 == 0 {
			h.who.Origin = fmt.Sprintf("https://wallet-%d.example", i)
		}
		for range 1 + random.IntN(40) {
			h.hours = append(h.hours, random.IntN(7*24))
		}
		slices.Sort(h.hours)
		h.hours = slices.Compact(h.hours)
		all = append(all, h)
	}
	return all
}

// live has the clients call for some weeks, and lets a plan refuse them. It returns
// the names that a brownout refused.
func live(r *recorded.Rig, t testing.TB, clients []habit, weeks int, p *lifecycle.Plan) map[string]int {
	t.Helper()
	refused := map[string]int{}
	for range weeks * 7 * 24 {
		now := r.Clock.Now()
		hour := int(now.Unix() / 3600 % (7 * 24))
		schedule := p.Versions["v1"]
		window, planned := schedule.NextBrownout(now)
		for _, h := range clients {
			if !slices.Contains(h.hours, hour) {
				continue
			}
			e := event.Event{Time: now, Version: "v1", Caller: h.who, Client: r.Name(h.who.Identity()), Pair: recorded.Pair, Exempt: schedule.Exempts(lifecycle.Calling("v1", h.who))}
			if planned && !now.Before(window.From) && schedule.Hits(window, lifecycle.Calling("v1", h.who)) {
				e.Pair, e.Quotes, e.Code = nil, true, "VERSION_BROWNOUT"
				refused[e.Client] += h.calls
			}
			for range h.calls {
				r.Observe(&e)
			}
		}
		if now.Hour() == 23 {
			r.Flush(t)
		}
		r.Clock.Advance(time.Hour)
	}
	r.Flush(t)
	return refused
}

// The prediction is the set: after four weeks of habits, the clients in a window that
// were seen at such hours are those that it then does refuse, and so are the calls.
// Some of the hours are folded into days by then.
func TestPredictionIsTheSet(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg store.Config) {
		start := recorded.Noon.Truncate(time.Hour)
		clients := habits(24)
		exempt := `"origin:https://wallet-4.example", "10.8.0.0/16", "10.9.0.0/16"`
		from := start.Add(4*7*24*time.Hour + 30*time.Hour)
		p := plan(t, from, from.Add(5*time.Hour), 0.4, exempt)
		r := recorded.Begin(t, cfg, clock.At(start))
		r.Age(t, 1)
		if got := live(r, t, clients, 4, p); len(got) != 0 {
			t.Fatalf("got %v refused before the window", got)
		}
		s := simulate(r, t, p)
		predicted := s.Windows[0]
		refused := live(r, t, clients, 1, p)
		var names []string
		calls := 0
		for name, n := range refused {
			names, calls = append(names, name), calls+n
		}
		slices.Sort(names)
		var got []string
		for _, c := range predicted.Names {
			if !c.Quiet {
				got = append(got, c.Client)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, names) || len(names) < 3 || len(names) == len(clients) {
			t.Errorf("predicted %d clients\n%q\nand %d were refused\n%q", len(got), got, len(names), names)
		}
		if *predicted.Clients != len(predicted.Names) || *predicted.Clients-predicted.Quiet != len(names) {
			t.Errorf("got %d clients, %d of them quiet, and %d names", *predicted.Clients, predicted.Quiet, len(predicted.Names))
		}
		if least, most := uint64(calls*7/10), uint64(calls*13/10+1); *predicted.Calls < least || *predicted.Calls > most { // calls of folded days are spread evenly
			t.Errorf("predicted %d calls, and %d were refused", *predicted.Calls, calls)
		}
		if sunset := s.Sunset["v1"]; *sunset.Clients != len(clients) || *sunset.Calls == 0 {
			t.Errorf("got %+v at the sunset, want all %d clients", sunset, len(clients))
		}
		if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "exempt networks spare the clients that the plan in force spared") {
			t.Errorf("got notes %q, want one about exempt networks", s.Notes)
		}
	})
}

// With less than four weeks recorded, the average is of what there is.
func TestSimulateWithLittle(t *testing.T) {
	r := recorded.Begin(t, store.Config{}, clock.At(recorded.Noon.Truncate(time.Hour)))
	window := recorded.Noon.Truncate(time.Hour).Add(7 * 24 * time.Hour)
	p := plan(t, window, window.Add(30*time.Minute), 1, "")
	if s := simulate(r, t, p); *s.Windows[0].Clients != 0 || s.Windows[0].Calls != nil || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "counted only since") {
		t.Errorf("got %+v of nothing", s)
	}
	r.Call("origin https://a.example", 10)
	r.Call("client Acme", 2)
	r.Call("network #0011223344556677", 4)
	r.Clock.Advance(24 * time.Hour)
	s := simulate(r, t, p)
	if hit := s.Windows[0]; *hit.Clients != 3 || *hit.Calls != 8 || hit.Known != 1 || !slices.Equal(hitNames(hit), []string{"client Acme", "origin https://a.example", "network #0011223344556677"}) {
		t.Errorf("got %+v, want half the calls of the hour, and the known client first", hit)
	}
	var out strings.Builder
	if err := s.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"note: the counts of four weeks are incomplete: calls are counted only since 10 Mar 2027, 12:00 UTC",
		"v1 from 2027-03-17T12:00:00Z to 2027-03-17T12:30:00Z, 100 % of clients\n  would refuse 3 clients (1 known) and about 8 calls\n    Acme\n    origin https://a.example\n",
		"v1 from its sunset on, 2027-04-16T12:30:00Z\n  would refuse 3 clients (1 known) and about 16 calls a day\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from\n%s", want, out.String())
		}
	}
}

// Clients were counted from Wednesday to Friday. How many calls a window on Monday
// refuses is not known, and how many clients is: it does not depend on the hours.
func TestPredictionOfHoursWithoutCounts(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := recorded.Begin(t, cfg, clock.At(time.Date(2027, 3, 10, 0, 0, 0, 0, time.UTC))) // a Wednesday
		for hour := range 3 * 24 {
			for _, client := range thirty() {
				r.Call(client, 1)
			}
			r.Clock.Advance(time.Hour)
			if hour%6 == 5 {
				r.Flush(t)
			}
		}
		for weekday, want := range map[time.Time]string{
			time.Date(2027, 3, 15, 10, 0, 0, 0, time.UTC): "would refuse 30 clients (0 known); calls not known: nothing was recorded at these hours",
			time.Date(2027, 3, 18, 10, 0, 0, 0, time.UTC): "would refuse 30 clients (0 known) and about 60 calls",
			time.Date(2027, 3, 8, 10, 0, 0, 0, time.UTC):  "not known whom it refused: nothing was recorded at these hours",
			time.Date(2027, 3, 11, 10, 0, 0, 0, time.UTC): "refused nobody",
		} {
			hit := simulate(r, t, plan(t, weekday, weekday.Add(2*time.Hour), 1, "")).Windows[0]
			if got := hit.Sentence(); got != want {
				t.Errorf("%s: got %q, want %q", weekday.Weekday(), got, want)
			}
			if text, err := json.Marshal(hit); err != nil || strings.Contains(string(text), `"clients":null`) != strings.HasPrefix(want, "not known") {
				t.Errorf("%s: got %s, %v", weekday.Weekday(), text, err)
			}
		}
	})
}

// A past window shows what it did: whom it refused, who came to the current version
// since, and who only gets errors there. The next window does not count those that have
// moved. Clients that only get errors are told apart: they lose no quote.
func TestPastAndNextWindow(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		at := clock.At(recorded.Noon.Truncate(time.Hour))
		r := recorded.Begin(t, cfg, at)
		r.Age(t, 60)
		past := plan(t, at.Now(), at.Now().Add(time.Hour), 1, "")
		following := at.Now().AddDate(0, 0, 7)
		next := plan(t, following, following.Add(time.Hour), 1, "")
		r.On("v3", "origin https://refused-3.example") // and it is back
		for i := range 4 {
			r.Refuse(fmt.Sprintf("origin https://refused-%d.example", i), 2, fault.VersionBrownout)
		}
		r.Errs("origin https://broken.example", 3)
		r.Errs("origin https://refused-too.example", 3)
		r.Refuse("origin https://refused-too.example", 5, fault.VersionBrownout)
		r.Errs("origin https://sometimes.example", 3)
		r.Call("origin https://sometimes.example", 1)
		r.Up(t, 2*time.Hour)
		r.On("v3", "origin https://refused-0.example")
		r.On("v3", "origin https://refused-1.example")
		r.Observe(&event.Event{
			Time: at.Now(), Version: "v3", Client: "origin https://refused-2.example", Quotes: true, Code: fault.InvalidAmount,
		})
		hit := simulate(r, t, past).Windows[0]
		want := "refused 4 clients (0 known) and 8 calls; 2 moved since; 1 with only errors on the current version; " +
			"1 not counted, with only errors"
		if got := hit.Sentence(); got != want || len(hit.Names) != 5 {
			t.Errorf("got %q and %d names, want %q", got, len(hit.Names), want)
		}
		moved := 0
		for _, c := range hit.Names {
			if c.Moved {
				moved++
			}
		}
		if moved != 2 {
			t.Errorf("got %+v, want two marked as moved", hit.Names)
		}
		r.Up(t, 24*time.Hour)
		s := simulate(r, t, next)
		hit = s.Windows[0]
		want = "would refuse 3 clients (0 known) and about 2 calls; 1 with only errors on the current version; " +
			"2 not counted, with only errors" // 5 calls in one of four weeks
		if got := hit.Sentence(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if n := len(hit.Names); n != 5 || hit.Names[2].Errors || !hit.Names[3].Errors || !hit.Names[4].Errors {
			t.Errorf("got %+v, want those that only get errors last, and marked", hit.Names)
		}
		if sunset := s.Sunset["v1"]; *sunset.Clients != 3 || sunset.Errors != 2 {
			t.Errorf("got %+v at the sunset, want 3 clients and 2 that only get errors", sunset)
		}
	})
}

// One window, one figure: the prediction, the filter of the list and each
// client's own answer agree, also after an exemption was added to the plan.
func TestOneAnswerToWhomAWindowHits(t *testing.T) {
	r := recorded.Begin(t, store.Config{}, clock.At(recorded.Noon))
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
		q := evidence.Query{Version: "v1", Moved: "no", Window: from.Format(time.RFC3339), Per: 7, Sort: "name", Page: 2}
		if err := q.Choose(p); err != nil {
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
		if lines := strings.Count(table.String(), "\n") - 1; page.Matching != one || *hit.Clients != one || lines != one || one < 15 || len(page.Clients) != 7 {
			t.Errorf("exempt %s: got %d in the list, %d in the prediction, %d in the table, %d one by one", exempt, page.Matching, *hit.Clients, lines, one)
		}
	}
	if q := (evidence.Query{Version: "v1", Window: "tomorrow"}); q.Choose(plan(t, from, from.Add(time.Hour), 1, "")) == nil {
		t.Error("a window that is not in the plan was taken")
	}
}

// Once a version is gone, nobody reads that its sunset would refuse somebody. While a gate
// holds it, it would.
func TestSimulateAfterTheSunset(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg store.Config) {
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
