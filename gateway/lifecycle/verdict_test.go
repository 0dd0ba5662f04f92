package lifecycle_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// A verdict says first whether the version can go, then when, and from when on its
// clients must be quiet for that.
func TestVerdict(t *testing.T) {
	at := func(text string) time.Time {
		when, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	many := lifecycle.Evidence{Clients: 2693, Calls: 20, Earliest: at("2027-01-15")}
	late := many
	late.Earliest = at("2027-03-17")
	few := lifecycle.Evidence{Clients: 1, Calls: 20}
	gap := few
	gap.Missing = "no counts from noon to evening"
	share := lifecycle.Evidence{StrangerShare: 0.5}
	const tooMany = "v1 cannot be retired yet: 2,693 clients in 35 days (limit 5)"
	const incomplete = "v1 cannot be retired yet: the counts of 35 days are incomplete"
	const canGo = "v1 can be retired on 1 Mar 2027: 1 client in 35 days (limit 5), 20 calls on the busiest day (limit 100)"
	strangers := `, "strangers": {"maxCallsPerDay": 9, "maxShare": 0.01}`
	for name, tt := range map[string]struct {
		now, more        string
		evidence         lifecycle.Evidence
		says, when       string
		earliest, quiet  string // days; empty: none
		blocked, retired bool
	}{
		"too many": {
			"2026-12-10", "", many, tooMany, "Earliest 1 Mar 2027, if clients are quiet from 25 Jan 2027.",
			"2027-03-01", "2027-01-25", true, false,
		},
		"too many, too late": {
			"2027-02-10", "", late, tooMany,
			"Earliest 17 Mar 2027, after the sunset on 1 Mar 2027, if clients are quiet from now on.",
			"2027-03-17", "2027-02-10", true, false,
		},
		"few": {
			"2026-12-10", "", few, canGo, "Earliest 1 Mar 2027, if clients are quiet from 25 Jan 2027.",
			"2027-03-01", "2027-01-25", false, false,
		},
		"few, soon": {"2027-02-10", "", few, canGo, "Earliest 1 Mar 2027.", "2027-03-01", "", false, false},
		"a gap":     {"2027-02-10", "", gap, incomplete, "Earliest 1 Mar 2027.", "2027-03-01", "", true, false},
		"a gap after the sunset": {
			"2027-03-10", "", gap, incomplete,
			"The earliest date is not known: the counts must be complete first.", "", "", true, false,
		},
		"only the share": {
			"2027-02-10", strangers, share,
			"v1 cannot be retired yet: 50 % of all calls from unverified clients (limit 1 %)",
			"The earliest date is not known: it depends on the calls to other versions.", "", "", true, false,
		},
		"retired": {"2027-03-10", "", few, "v1 is retired", "", "", "", false, true},
	} {
		gate := fmt.Sprintf(`"sunset": "2027-03-01T00:00:00Z", "gate": {"maxClients": 5, "maxCallsPerDay": 100, "days": 35%s}`,
			tt.more)
		s := schedule(t, gate)
		reading := s.Gate.Read(tt.evidence)
		if tt.retired {
			reading.Released = at(tt.now)
		}
		want := lifecycle.Verdict{Says: tt.says, When: tt.when, Blocked: tt.blocked}
		want.Late = tt.blocked && tt.earliest != "2027-03-01"
		if tt.earliest != "" {
			want.Earliest = at(tt.earliest)
		}
		if tt.quiet != "" {
			want.QuietFrom = at(tt.quiet)
		}
		if got := *s.Verdict("v1", &reading, at(tt.now)); got != want {
			t.Errorf("%s: got %+v,\nwant %+v", name, got, want)
		}
	}
}

// A version without a gate, a sunset or a plan, or with a gate that cannot be read, has a
// verdict of its own.
func TestVerdictWithoutNumbers(t *testing.T) {
	now := time.Date(2027, 2, 10, 0, 0, 0, 0, time.UTC)
	dated := schedule(t, `"sunset": "2027-03-01T00:00:00Z"`)
	gated := schedule(t, `"sunset": "2027-03-01T00:00:00Z", "gate": {}`)
	away := &lifecycle.GateReading{Holds: true, Unknown: true, Why: "the counts cannot be read: no connection"}
	for want, got := range map[string]*lifecycle.Verdict{
		"v1 will be retired on 1 Mar 2027, whoever still calls it": dated.Verdict("v1", nil, now),
		"v1 is retired":         dated.Verdict("v1", nil, dated.Sunset),
		"v1 has no sunset date": schedule(t, `"brownouts": []`).Verdict("v1", nil, now),
		"It is not known whether v1 can be retired: the counts cannot be read: no connection": gated.Verdict("v1", away, now),
	} {
		if got.Says != want || got.Blocked != (got.When == "The earliest date is not known.") {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
	var none *lifecycle.Schedule
	if got := none.Verdict("v3", nil, now); got != nil {
		t.Errorf("got %+v of a version without a plan", got)
	}
}

// schedule is that of v1 with some fields.
func schedule(t *testing.T, fields string) *lifecycle.Schedule {
	t.Helper()
	plan, err := lifecycle.Parse([]byte(planOf(fields)), served)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Versions["v1"]
}

func TestWhatExceedsAGate(t *testing.T) {
	every := lifecycle.Gate{MaxClients: 5, MaxCallsPerDay: 100, Days: 7}
	strangers := every
	strangers.Unverified = lifecycle.UnverifiedLimits{MaxCallsPerDay: 50, MaxShare: 0.01}
	proven := every
	proven.Count = lifecycle.CountProven
	if !every.CountsUnverified() || strangers.CountsUnverified() || proven.CountsUnverified() {
		t.Error("want strangers to count only where the gate says nothing about clients")
	}
	for name, tt := range map[string]struct {
		evidence                 lifecycle.Evidence
		every, strangers, proven bool
	}{
		"at the limits": {
			lifecycle.Evidence{Clients: 5, Calls: 100, StrangerNames: 1000, StrangerCalls: 50, StrangerShare: 0.01},
			false, false, false,
		},
		"clients":        {lifecycle.Evidence{Clients: 6}, true, true, true},
		"calls":          {lifecycle.Evidence{Calls: 101}, true, true, true},
		"strangers":      {lifecycle.Evidence{StrangerCalls: 51}, false, true, false},
		"their share":    {lifecycle.Evidence{StrangerShare: 0.0101}, false, true, false},
		"names no limit": {lifecycle.Evidence{Names: 10_000, StrangerNames: 10_000}, false, false, false},
	} {
		got := [3]bool{every.Exceeds(tt.evidence), strangers.Exceeds(tt.evidence), proven.Exceeds(tt.evidence)}
		if want := [3]bool{tt.every, tt.strangers, tt.proven}; got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// A gate says in its own terms why it holds and what it lets pass.
func TestGateSaysWhatItCounts(t *testing.T) {
	for _, tt := range []struct{ gate, why, limits string }{
		{
			"", "6 clients in 7 days (limit 5)",
			"more than 5 clients within 7 days, or more than 100 calls on one of them",
		},
		{
			`, "count": "proven"`, "6 proven clients in 7 days (limit 5)",
			"more than 5 clients with a key within 7 days, or more than 100 of their calls on one of them",
		},
		{
			`, "strangers": {"maxCallsPerDay": 50, "maxShare": 0.01}`,
			"6 known or registered clients in 7 days (limit 5), 51 stranger calls on the busiest day (limit 50)",
			"more than 5 known or registered clients within 7 days, or more than 100 of their calls on one of them, " +
				"or more than 50 calls of unverified clients on one of them, or more than 1 % of all calls from unverified clients",
		},
	} {
		w := newWorld(t, "2027-02-20T00:00:00Z",
			strings.Replace(fullPlan, `"maxCallsPerDay": 100`, `"maxCallsPerDay": 100`+tt.gate, 1))
		w.usage.clients.Store(6)
		w.usage.calls.Store(20)
		w.usage.strangers.Store(51)
		w.keeper.Poll()
		g := w.v1().Gate
		if g.Why != tt.why || g.Limits() != tt.limits {
			t.Errorf("got %q and %q,\nwant %q and %q", g.Why, g.Limits(), tt.why, tt.limits)
		}
	}
}

func TestWordsOfAGate(t *testing.T) {
	const roaming = "gate.roaming: no longer supported: every name counts as a client; remove it"
	for text, want := range map[string]string{
		`{"roaming": "once"}`: roaming,
		`{"roaming": ""}`:     roaming,
		`{"roaming": 5}`:      roaming,
		`{"roaming": {}}`:     "gate.roaming: got object",
		`{"roaming": null}`:   "",
		`{"count": "known"}`:  `gate.count: "known" is not "proven"; leave it out`,
		`{"count": "proven"}`: "",
		`{"count": "proven", "strangers": {"maxCallsPerDay": 1, "maxShare": 1}}`: "gate.strangers: has no meaning",
		`{"strangers": {"maxCallsPerDay": 5}}`:                                   "gate.strangers.maxShare: 0 is not",
		`{"strangers": {"maxShare": 0.5}}`:                                       "gate.strangers.maxCallsPerDay: 0 is not",
		`{"strangers": {"maxCallsPerDay": 5, "maxShare": 1.1}}`:                  "gate.strangers.maxShare: 1.1 is not",
		`{"strangers": {"maxCallsPerDay": 5, "maxShare": 0.1}}`:                  "",
	} {
		plan, err := lifecycle.Parse([]byte(planOf(`"sunset": "2027-03-01T00:00:00Z", "gate": `+text)), served)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), "versions.v1."+want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
		if written, _ := json.Marshal(plan); strings.Contains(string(written), "roaming") {
			t.Errorf("%s: got %s", text, written)
		}
	}
}

// counted is the full plan with a gate that says how many instances there are.
var counted = strings.Replace(fullPlan, `"maxCallsPerDay": 100}`, `"maxCallsPerDay": 100, "instances": 3}`, 1)

// A gate that does not say how many instances there are misses none of them: log, page
// and check say so, until the gate says it or has let the sunset pass.
func TestGateWithoutInstancesIsARisk(t *testing.T) {
	const risk = "the gate does not say how many instances there are"
	w := newWorld(t, "2027-02-20T00:00:00Z", fullPlan)
	for range 47 {
		w.advance(time.Hour)
		w.keeper.Poll()
	}
	if n := len(w.log.lines(risk)); n != 2 || !strings.Contains(w.v1().Risk, risk) {
		t.Errorf("got %d log lines in two days, want 2, and the risk %q", n, w.v1().Risk)
	}
	warned := func(plan string) bool {
		p, err := lifecycle.Parse([]byte(plan), served)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range p.Outlook(at("2027-02-20T00:00:00Z")) {
			if strings.Contains(strings.Join(o.Warnings, "\n"), risk) {
				return true
			}
		}
		return false
	}
	if !warned(fullPlan) || warned(counted) || warned(confirmed) {
		t.Errorf("got %t, %t and %t, want a warning of the first plan", warned(fullPlan), warned(counted), warned(confirmed))
	}
	w.reload(counted)
	if got := w.v1().Risk; got != "" {
		t.Errorf("got %q of a gate that says it", got)
	}
	w.reload(fullPlan)
	w.setTime("2027-03-01T00:00:00Z")
	w.keeper.Poll()
	if got := w.v1(); got.Stage != lifecycle.Retired || got.Risk != "" {
		t.Errorf("got %+v once the sunset has passed", got)
	}
}

// A gate asks about its own days, instances and sunset.
func TestEvidenceIsAskedForTheGate(t *testing.T) {
	w := newWorld(t, "2027-02-28T23:59:59Z", counted)
	want := lifecycle.Gate{MaxClients: 5, MaxCallsPerDay: 100, Days: 7, Instances: 3}
	if got := *w.usage.gate.Load(); got != want || !w.usage.sunset.Load().Equal(at("2027-03-01T00:00:00Z")) {
		t.Errorf("got %+v and the sunset %s, want %+v", got, w.usage.sunset.Load(), want)
	}
}

// An instance that cannot read a gate knows that it does not know. Past the sunset it
// serves the version, and says so in its health.
func TestGateThatCannotBeRead(t *testing.T) {
	counts := &usage{}
	counts.broken.Store(&errAway)
	w := newWorld(t, "2027-02-28T23:00:00Z", counted, func(o *lifecycle.Options) { o.Usage = counts })
	if got := w.v1(); !got.Gate.Unknown || len(w.keeper.Problems()) != 0 {
		t.Errorf("got %+v and %q before the sunset, want unknown, and no problem of anybody's", got.Gate, w.keeper.Problems())
	}
	w.setTime("2027-03-01T00:00:01Z")
	w.keeper.Poll()
	w.wantStatus(http.StatusOK, "while it does not know")
	if got := w.keeper.Problems(); len(got) != 1 || !strings.HasPrefix(got[0], "Version v1: its sunset has come, and this instance cannot read") {
		t.Errorf("got problems %q, want one about v1", got)
	}
	counts.broken.Store(nil)
	w.keeper.Poll()
	if got := w.v1(); got.Gate.Unknown || got.Stage != lifecycle.Retired || len(w.keeper.Problems()) != 0 {
		t.Errorf("got %+v and %q once it can be read", got, w.keeper.Problems())
	}
}
