package evidence_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/testkit/clock"
)

var (
	same     = event.Finding{Outcome: event.SameMoney}
	omits    = event.Finding{Outcome: event.Refused, Code: fault.MissingParameter, Param: "recipient"}
	ignored  = event.Finding{Outcome: event.DifferentMoney, Param: "integratorId"}
	zero     = event.Finding{Outcome: event.Refused, Code: fault.InvalidAmount, Param: "amount"}
	noPair   = event.Finding{Outcome: event.Refused, Code: fault.UnsupportedPair}
	otherPay = event.Finding{Outcome: event.DifferentMoney}
)

// The sentence an operator decides by.
func TestSummary(t *testing.T) {
	late := func(n int) string { return fmt.Sprintf("origin https://late%d.example", n) }
	for _, test := range []struct {
		name  string
		calls func(*recorded.Rig)
		want  string
	}{
		{"nothing compared", func(r *recorded.Rig) { r.Call(late(1), 1) },
			"no v1 call was compared with v3 (1 client without a compared call)"},
		{"as the README has it", func(r *recorded.Rig) {
			r.Found("origin https://fine.example", 94, same)
			for i := range 3 {
				r.Found(late(i), 1, omits)
			}
			r.Found("integrator 0xab", 2, ignored)
		}, "94 % of v1 calls get the same amounts from v3, in a new format; " +
			"refused: omits recipient, 3 clients; different amount: sends integratorId, 1 client"},
		{"one of each, and more than a sentence holds", func(r *recorded.Rig) {
			r.Found(late(1), 1, same)
			r.Found(late(1), 400, omits)
			r.Found(late(1), 300, zero)
			r.Found(late(1), 200, noPair)
			r.Found(late(1), 100, otherPay)
			r.Found(late(1), 50, ignored)
			r.Call(late(1), 2)
		}, "less than 1 % of v1 calls get the same amounts from v3, in a new format; " +
			"refused: omits recipient, 1 client; " +
			"refused: amount, INVALID_AMOUNT, 1 client; " +
			"refused: UNSUPPORTED_PAIR, 1 client; 2 other reasons"},
		{"many clients", func(r *recorded.Rig) {
			for i := range 7 {
				r.Found(late(i), 10-i, ignored)
			}
			r.Found(late(1), 1, otherPay)
			r.Found(late(2), 1, otherPay)
		}, "0 % of v1 calls get the same amounts from v3, in a new format; " +
			"different amount: sends integratorId, 7 clients; different amount, 2 clients"},
	} {
		r := recorded.Begin(t, evidence.Config{}, clock.At(recorded.Noon))
		test.calls(r)
		got := r.Report(t).Versions
		if got[1].Findings.Summary != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.name, got[1].Findings.Summary, test.want)
		}
		if got[0].Findings != nil {
			t.Errorf("%s: the current version has findings", test.name)
		}
	}
}

func TestFindings(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg evidence.Config) {
		r := recorded.Begin(t, cfg, clock.At(recorded.Noon.Add(-49*time.Hour)))
		r.Found("origin https://mended.example", 3, omits)
		r.Flush(t)
		r.Clock.Advance(49 * time.Hour)
		r.Found("origin https://a.example", 5, omits)
		r.Found("origin https://a.example", 2, same)
		r.Found("origin https://b.example", 4, same)
		r.Found("origin https://b.example", 1, ignored)
		r.Observe(&event.Event{ // of the current version
			Time: recorded.Noon, Version: "v3", Client: "origin https://c.example", Pair: recorded.Pair, Finding: omits,
		})
		read := r.Report(t)
		v1, clients := read.Versions[1], read.Clients
		got := asJSON(t, v1.Findings)
		want := `{"successor":"v3","summary":"40 % of v1 calls get the same amounts from v3, in a new format; ` +
			`refused: omits recipient, 2 clients; ` +
			`different amount: sends integratorId, 1 client","since":"2027-03-08T00:00:00Z","until":"2027-03-10T00:00:00Z","same":6,"different":1,"refused":8,"reasons":[` +
			`{"outcome":"refused","code":"MISSING_PARAMETER","param":"recipient","calls":8,"clients":2},` +
			`{"outcome":"different","param":"integratorId","calls":1,"clients":1}]}`
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		got = asJSON(t, [][]event.Finding{clients[0].Findings, clients[1].Findings, clients[2].Findings})
		want = `[[{"outcome":"refused","code":"MISSING_PARAMETER","param":"recipient","calls":5},` +
			`{"outcome":"same","calls":2}],[{"outcome":"different","param":"integratorId","calls":1},` +
			`{"outcome":"same","calls":4}],` +
			`[{"outcome":"refused","code":"MISSING_PARAMETER","param":"recipient","calls":3}]]`
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
