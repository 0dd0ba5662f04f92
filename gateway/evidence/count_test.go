package evidence_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/testkit/clock"
)

var (
	noon      = recorded.Noon
	sameMoney = event.Finding{Outcome: event.SameMoney}
)

// What a day has of a client does not depend on how many writes its calls came in, nor on
// the database.
func TestDays(t *testing.T) {
	quote := event.Event{Version: "v1", Pair: recorded.Pair}
	answer := func(code fault.Code, change func(*event.Event)) event.Event {
		e := event.Event{Version: "v1", Quotes: true, Code: code}
		if change != nil {
			change(&e)
		}
		return e
	}
	by := func(e event.Event, c caller.Caller, exempt bool) event.Event {
		e.Caller = c
		e.Exempt = exempt
		return e
	}
	at := func(d time.Duration, e event.Event) event.Event {
		e.Time = noon.Add(d)
		return e
	}
	acme := caller.Caller{Known: &caller.Client{Name: "Acme"}, Key: 1}
	// version, day | served, brownout, retired, rehearsed, failed | hours: 4096 is the 13th |
	// the last calls, in seconds since noon | proven, exempt
	cases := []struct {
		name   string
		events []event.Event
		want   string
	}{
		{"a quote", []event.Event{quote}, "v1 0 | 1 0 0 0 0 | 4096 | 0 - - | 0 0"},
		{"a quote of the current version", []event.Event{{Version: "v3", Pair: recorded.Pair, Caller: acme}},
			"v3 0 | 1 0 0 0 0 | 4096 | 0 - - | 1 0"},
		{"another route that ends", []event.Event{{Version: "v1", Route: "/v1/app/routers"}},
			"v1 0 | 1 0 0 0 0 | 4096 | 0 - - | 0 0"},
		{"routes that stay, of no version, or of no route", []event.Event{
			{Version: "v1", Route: "/v1/openapi.yaml", Free: true}, {Version: "v3", Route: "/v3/swap/status", Caller: acme},
			{Version: "v9", Pair: recorded.Pair}, {Pair: recorded.Pair}, {Version: "v1", Code: fault.NotFound},
			{Version: "v1", Quotes: true}}, ""},
		{"a brownout", []event.Event{answer(fault.VersionBrownout, nil)}, "v1 0 | 0 1 0 0 0 | 4096 | 0 0 - | 0 0"},
		{"a brownout of another route",
			[]event.Event{{Version: "v1", Route: "/v1/app/routers", Code: fault.VersionBrownout}},
			"v1 0 | 0 1 0 0 0 | 4096 | 0 0 - | 0 0"},
		{"a retired version", []event.Event{answer(fault.VersionRetired, nil)}, "v1 0 | 0 0 1 0 0 | 0 | 0 0 - | 0 0"},
		{"a rehearsal", []event.Event{answer(fault.VersionRetired, func(e *event.Event) { e.Rehearsal = true })},
			"v1 0 | 0 0 0 1 0 | 0 | - - 0 | 0 0"},
		{"other errors", []event.Event{answer(fault.RateLimited, nil), answer(fault.UnsupportedPair, nil)},
			"v1 0 | 0 0 0 0 2 | 0 | - - - | 0 0"},
		{"all of them, over two days and out of order", []event.Event{
			at(3*time.Hour, answer(fault.VersionBrownout, nil)), at(5*time.Hour, quote), at(time.Hour, quote),
			at(6*time.Hour, answer(fault.VersionRetired, func(e *event.Event) { e.Rehearsal = true })),
			at(-13*time.Hour, quote), at(7*time.Hour, answer(fault.RateLimited, nil))},
			"v1 -1 | 1 0 0 0 0 | 8388608 | -46800 - - | 0 0, v1 0 | 2 1 0 1 1 | 172032 | 18000 10800 21600 | 0 0"},
		{"calls with a key, and the last without", []event.Event{by(quote, acme, true), by(quote, acme, true),
			by(quote, caller.Caller{Known: acme.Known}, false)}, "v1 0 | 3 0 0 0 0 | 4096 | 0 - - | 2 0"},
		{"exempt at last", []event.Event{quote, by(quote, caller.Caller{}, true)}, "v1 0 | 2 0 0 0 0 | 4096 | 0 - - | 0 1"},
	}
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		for _, often := range []bool{false, true} {
			r := recorded.Begin(t, cfg, clock.At(noon))
			for _, test := range cases {
				for _, e := range test.events {
					if e.Time.IsZero() {
						e.Time = noon
					}
					e.Client = fmt.Sprint("client ", test.name, often)
					r.Observe(&e)
					if often {
						r.Flush(t)
					}
				}
			}
			r.Flush(t)
			for _, test := range cases {
				rows := ask(t, r, fmt.Sprintf(`select version, day - %d, '|', served, brownout, retired, rehearsed, failed,
					'|', hours, '|', nullif(last, 0) - %d, nullif(last_410, 0) - %[2]d, nullif(last_rehearsal, 0) - %[2]d,
					'|', proven, exempt from quotegate_days join quotegate_clients on id = client
					where name = 'client %s%v' order by version, day`, noon.Unix()/86_400, noon.Unix(), test.name, often))
				expect(t, fmt.Sprint(test.name, often), strings.ReplaceAll(rows, "<nil>", "-"), test.want)
			}
			if !often {
				expect(t, "totals", ask(t, r, `select version, outcome, cast(sum(calls) as bigint), cast(sum(unnamed) as bigint)
					from quotegate_totals group by version, outcome order by version, outcome`),
					"v1 brownout 3 0, v1 failed 3 0, v1 rehearsed 2 0, v1 retired 1 0, v1 served 10 0, v3 served 1 0")
			}
		}
	})
}

// A batch may have the same finding on two days: that of the later day counts. A client
// with many kinds of findings loses none of its refusals, and what no database takes
// reaches none.
func TestFindingsAreKept(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		r := recorded.Begin(t, cfg, clock.At(noon))
		kinds := "select finding, calls from quotegate_findings"
		r.Found(c, 3, sameMoney)
		r.Clock.Advance(24 * time.Hour)
		r.Found(c, 2, sameMoney)
		r.Flush(t)
		expect(t, "findings", ask(t, r, kinds), "same 2")
		r.Found(c, 1, sameMoney)
		r.Flush(t)
		expect(t, "findings", ask(t, r, kinds), "same 3")
		r.Exec(t, "delete from quotegate_findings")
		r.Exec(t, "delete from quotegate_days")
		r.Exec(t, "delete from quotegate_totals")
		for range 2 {
			for i := range 40 {
				r.Found(a, 1, event.Finding{Outcome: event.Refused, Code: fault.MissingParameter, Param: fmt.Sprint("p", i)})
				r.Found(a, 1, event.Finding{Outcome: event.DifferentMoney, Param: fmt.Sprint("q", i)})
			}
			r.Found(a, 1, sameMoney)
		}
		bad := []string{strings.Repeat("x", 512+1), "line\nline", "\xff\xfe", "a\x00b"}
		for _, bad := range bad {
			r.Call(bad, 1)
			r.Found(b, 1, event.Finding{Outcome: event.Refused, Code: fault.MissingParameter, Param: bad})
			r.Observe(&event.Event{Time: noon, Version: "v1", Client: b, Caller: caller.Caller{Agent: bad}, Pair: recorded.Pair})
		}
		r.Flush(t)
		findings := `select name, finding, cast(sum(calls) as bigint) from quotegate_findings
			join quotegate_clients on id = client group by name, finding order by name, finding`
		expect(t, "findings", ask(t, r, findings), a+" different 80, "+a+" refused 80, "+a+" same 2, "+b+" refused 4")
		if kinds := r.Rows(t, "quotegate_findings"); kinds > 20 {
			t.Errorf("got %d kinds of findings of two clients", kinds)
		}
		expect(t, "calls", served(t, r), "a.example 162, b.example 8")
		expect(t, "unnamed", ask(t, r, `select cast(sum(calls) as bigint), cast(sum(unnamed) as bigint)
			from quotegate_totals`), "174 4")
		contains(t, "notes", strings.Join(r.Notes(), ";"), "4 calls are not attributed to a client")
	})
}

// Of the current version, unverified clients count in the totals alone, until it is in the plan.
func TestCurrentVersion(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		r := recorded.Begin(t, cfg, clock.At(noon))
		r.Call(a, 1)
		r.Flush(t)
		r.Call(b, 1)
		for _, client := range []string{a, b, c} {
			r.On("v3", client)
		}
		r.As("v3", caller.Caller{Known: &caller.Client{Name: "Acme"}})
		r.Flush(t)
		clients := `select version, name from quotegate_days join quotegate_clients on id = client
			where version = 'v3' order by name`
		expect(t, "clients", ask(t, r, clients), "v3 client Acme, v3 "+a+", v3 "+b)
		expect(t, "totals", ask(t, r, "select calls, unnamed from quotegate_totals where version = 'v3'"), "4 0")
		r.Follow("hash", []string{"v3"})
		r.On("v3", c)
		r.Flush(t)
		expect(t, "clients", ask(t, r, clients), "v3 client Acme, v3 "+a+", v3 "+b+", v3 "+c)
		expect(t, "plan", ask(t, r, "select plan from quotegate_instances"), "hash")
	})
}

// A network adds 20 names a day. Its further calls count without a name, and gates know.
func TestNetworkInventsClients(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		clock := clock.At(noon)
		r := recorded.Begin(t, cfg, clock)
		flood := func(what string) {
			for i := range 50 {
				r.From(fmt.Sprintf("203.0.113.%d", i), fmt.Sprintf("https://%s-%d.example", what, i))
			}
			r.Flush(t)
		}
		r.From("203.0.113.9", "https://early.example")
		r.Up(t, 26*time.Hour)
		flood("one")
		names := func() int { return r.Rows(t, "quotegate_clients") }
		if got := names(); got != 1+evidence.NewPerNetwork {
			t.Errorf("got %d names", got)
		}
		r.From("203.0.113.9", "https://early.example")  // is there
		r.From("198.51.100.1", "https://other.example") // another network
		r.As("v1", caller.Caller{Known: &caller.Client{Name: "Acme"}, Addr: netip.MustParseAddr("203.0.113.9")})
		if cfg.DB != "" { // a restart gives no new allowance
			r.Close()
			r = recorded.Begin(t, cfg, clock)
		}
		flood("two")
		if got := names(); got != 1+evidence.NewPerNetwork+2 {
			t.Errorf("got %d names, want another network's and the known client's too", got)
		}
		expect(t, "early", ask(t, r, `select count(*) from quotegate_days join quotegate_clients on id = client
			where name = 'origin https://early.example'`), "2")
		unnamed := "select cast(sum(calls) as bigint), cast(sum(unnamed) as bigint) from quotegate_totals"
		expect(t, "totals", ask(t, r, unnamed), "104 80")
		contains(t, "gate", r.Missing(t, 1), "80 calls are not attributed to a client")
		r.Up(t, 24*time.Hour)
		flood("three")
		if got := names(); got != 1+2*evidence.NewPerNetwork+2 {
			t.Errorf("got %d names on the next day", got)
		}
	})
}

// All unverified clients together add 50,000 names a day.
func TestManyNetworksInventClients(t *testing.T) {
	t.Parallel()
	r := recorded.Begin(t, evidence.Config{}, clock.At(noon))
	r.Exec(t, fmt.Sprintf(`with recursive n(i) as (select 1 union all select i + 1 from n where i < %d)
		insert into quotegate_clients select i, 'origin ' || i, 'origin', '', i, %d from n`, evidence.NewPerDay-1, noon.Unix()))
	r.Call(a, 1)
	r.Flush(t)
	r.Call(a, 1)
	r.Call(b, 1)
	r.As("v1", caller.Caller{Known: &caller.Client{Name: "Acme"}})
	r.Flush(t)
	expect(t, "served", served(t, r), "client Acme 1, a.example 2")
	expect(t, "totals", ask(t, r, "select calls, unnamed from quotegate_totals"), "4 1")
}
