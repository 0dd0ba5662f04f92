package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// A verdict says first whether the version can go, then when, and from when on its
// clients must be quiet for that.
func TestVerdict(t *testing.T) {
	on := func(day string) (when time.Time) {
		if day != "" {
			when = at(day + "T00:00:00Z")
		}
		return when
	}
	const (
		sunset     = `"sunset": "2027-03-01T00:00:00Z"`
		gate       = sunset + `, "gate": {"maxClients": 5, "maxCallsPerDay": 100, "days": 35}`
		unverified = sunset + `, "gate": {"days": 35, "strangers": {"maxCallsPerDay": 9, "maxShare": 0.01}}`
		tooMany    = "v1 cannot be retired yet: 2,693 clients in 35 days (limit 5)"
		incomplete = "v1 cannot be retired yet: the counts of 35 days are incomplete"
		canGo      = "v1 can be retired on 1 Mar 2027: 1 client in 35 days (limit 5), 20 calls on the busiest day (limit 100)"
		unknown    = "The earliest date is not known"
	)
	few := &lifecycle.Evidence{Clients: 1, Calls: 20}
	many := &lifecycle.Evidence{Clients: 2693, Calls: 20, Earliest: on("2027-01-15")}
	late := &lifecycle.Evidence{Clients: 2693, Calls: 20, Earliest: on("2027-03-17")}
	gap := &lifecycle.Evidence{Clients: 1, Calls: 20, Missing: "no counts from noon to evening"}
	share := &lifecycle.Evidence{UnverifiedShare: 0.5}
	for name, tt := range map[string]struct {
		now, fields     string
		evidence        *lifecycle.Evidence // nil: the gate cannot be read
		says, when      string
		earliest, quiet string // days; empty: none
		blocked         bool
	}{
		"too many": {
			"2026-12-10", gate, many, tooMany, "Earliest 1 Mar 2027, if clients are quiet from 25 Jan 2027.",
			"2027-03-01", "2027-01-25", true,
		},
		"too many, too late": {
			"2027-02-10", gate, late, tooMany,
			"Earliest 17 Mar 2027, after the sunset on 1 Mar 2027, if clients are quiet from now on.",
			"2027-03-17", "2027-02-10", true,
		},
		"too many, after the sunset": {
			"2027-03-10", gate, late, tooMany,
			"Earliest 17 Mar 2027, after the sunset on 1 Mar 2027, if clients are quiet from now on.",
			"2027-03-17", "2027-03-10", true,
		},
		"few": {
			"2026-12-10", gate, few, canGo, "Earliest 1 Mar 2027, if clients are quiet from 25 Jan 2027.",
			"2027-03-01", "2027-01-25", false,
		},
		"few, soon": {"2027-02-10", gate, few, canGo, "Earliest 1 Mar 2027.", "2027-03-01", "", false},
		"a gap":     {"2027-02-10", gate, gap, incomplete, "Earliest 1 Mar 2027.", "2027-03-01", "", true},
		"a gap after the sunset": {
			"2027-03-10", gate, gap, incomplete, unknown + ": the counts must be complete first.", "", "", true,
		},
		"only the share": {
			"2027-02-10", unverified, share,
			"v1 cannot be retired yet: 50 % of all calls from unverified clients (limit 1 %)",
			unknown + ": it depends on the calls to other versions.", "", "", true,
		},
		"unreadable": {
			"2027-02-10", gate, nil, "It is not known whether v1 can be retired: the counts cannot be read",
			unknown + ".", "", "", true,
		},
		"no gate": {
			"2027-02-10", sunset, nil, "v1 will be retired on 1 Mar 2027, whoever still calls it",
			"Its plan has no gate.", "2027-03-01", "", false,
		},
		"retired":   {"2027-03-01", sunset, nil, "v1 is retired", "", "", "", false},
		"no sunset": {"2027-02-10", "", nil, "v1 has no sunset date", "", "", "", false},
	} {
		s := scheduleOf(t, planOf(tt.fields))
		var reading *lifecycle.GateReading
		if s.Gate != nil {
			reading = &lifecycle.GateReading{Holds: true, Unknown: true, Why: "the counts cannot be read"}
		}
		if tt.evidence != nil {
			read := s.Gate.Read(*tt.evidence)
			reading = &read
		}
		want := lifecycle.Verdict{
			Says: tt.says, When: tt.when, Blocked: tt.blocked, Late: tt.blocked && tt.earliest != "2027-03-01",
			Earliest: on(tt.earliest), QuietFrom: on(tt.quiet),
		}
		if got := *s.Verdict("v1", reading, on(tt.now)); got != want {
			t.Errorf("%s: got %+v,\nwant %+v", name, got, want)
		}
	}
	released := &lifecycle.GateReading{Evidence: few, Released: on("2027-03-01")}
	if got := scheduleOf(t, planOf(gate)).Verdict("v1", released, on("2027-03-10")); *got != (lifecycle.Verdict{Says: "v1 is retired"}) {
		t.Errorf("released: got %+v", got)
	}
	gated := scheduleOf(t, planOf(gate))
	for name, tt := range map[string]struct {
		evidence *lifecycle.Evidence
		unknown  bool
		want     string
	}{
		"unreadable now":  {few, true, "It is not known whether v1 can be retired: away"},
		"never read":      {nil, false, "It is not known whether v1 can be retired: away"},
		"cannot be saved": {few, false, "v1 cannot be retired yet: away. Earliest 1 Mar 2027."},
	} {
		reading := lifecycle.GateReading{
			Gate: *gated.Gate, Evidence: tt.evidence, Unknown: tt.unknown, Holds: true, Why: "away",
		}
		if got := gated.Verdict("v1", &reading, on("2027-02-10")).Summary(); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
	var none *lifecycle.Schedule
	if got := none.Verdict("v3", nil, on("2027-02-10")); got != nil || got.Summary() != "" {
		t.Errorf("got %+v of a version without a plan", got)
	}
}

// TestWhatExceedsAGate: each gate compares what it counts with its limits, and says so in
// its own terms.
func TestWhatExceedsAGate(t *testing.T) {
	every := lifecycle.Gate{MaxClients: 5, MaxCallsPerDay: 100, Days: 7}
	unverified := every
	unverified.Unverified = lifecycle.UnverifiedLimits{MaxCallsPerDay: 50, MaxShare: 0.01}
	proven := every
	proven.Count = lifecycle.CountProven
	const calls = "101 calls on the busiest day (limit 100)"
	for name, tt := range map[string]struct {
		evidence                  lifecycle.Evidence
		every, proven, unverified string // why each gate holds
	}{
		"at the limits": {
			lifecycle.Evidence{Clients: 5, Calls: 100, UnverifiedNames: 1000, UnverifiedCalls: 50, UnverifiedShare: 0.01}, "", "", "",
		},
		"clients": {
			lifecycle.Evidence{Clients: 6}, "6 clients in 7 days (limit 5)", "6 proven clients in 7 days (limit 5)",
			"6 known or registered clients in 7 days (limit 5)",
		},
		"calls":       {lifecycle.Evidence{Calls: 101}, calls, calls, calls},
		"unverified":  {lifecycle.Evidence{UnverifiedCalls: 51}, "", "", "51 unverified calls on the busiest day (limit 50)"},
		"their share": {lifecycle.Evidence{UnverifiedShare: 0.02}, "", "", "2 % of all calls from unverified clients (limit 1 %)"},
		"names":       {lifecycle.Evidence{Names: 10_000, UnverifiedNames: 10_000}, "", "", ""},
	} {
		got := []string{every.Read(tt.evidence).Why, proven.Read(tt.evidence).Why, unverified.Read(tt.evidence).Why}
		want := []string{tt.every, tt.proven, tt.unverified}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if got := every.Exceeds(tt.evidence); got != (tt.every != "") {
			t.Errorf("%s: exceeds the gate: %t", name, got)
		}
	}
}
