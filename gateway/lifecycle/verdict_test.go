package lifecycle_test

import (
	"fmt"
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
			"v1 cannot be retired yet: 50 % of all calls from strangers (limit 1 %)",
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
