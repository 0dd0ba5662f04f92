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
		tooMany    = "v1 cannot be retired yet: 2,693 clients in 35 days (limit 5)"
		incomplete = "v1 cannot be retired yet: the evidence of 35 days is incomplete: no counts from noon to evening"
		lost       = "v1 cannot be retired yet: the evidence of 35 days is incomplete: 26m of counts missing (limit 15m): " +
			"instance web-1 (ABCDEF) from 1 Feb 2027, 10:00 UTC to 1 Feb 2027, 10:26 UTC (killed)"
		canGo   = "v1 can be retired on 1 Mar 2027: 1 client in 35 days (limit 5), 20 calls on the busiest day (limit 100)"
		unknown = "The earliest date is not known"
	)
	few := &lifecycle.Evidence{Clients: 1, Calls: 20}
	many := &lifecycle.Evidence{Clients: 2693, Calls: 20, Earliest: on("2027-01-15")}
	late := &lifecycle.Evidence{Clients: 2693, Calls: 20, Earliest: on("2027-03-17")}
	gap := &lifecycle.Evidence{Clients: 1, Calls: 20, Missing: []string{"no counts from noon to evening"}}
	lacks := func(lost time.Duration) *lifecycle.Evidence {
		from := at("2027-02-01T10:00:00Z")
		return &lifecycle.Evidence{Clients: 1, Calls: 20, Gaps: []lifecycle.Gap{
			{Instance: "instance web-1 (ABCDEF)", From: from, To: from.Add(lost), Reason: "killed"},
		}}
	}
	neverQuiet := &lifecycle.Evidence{Clients: 2693, Calls: 20}
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
		"too long a gap": {"2027-02-10", gate, lacks(26 * time.Minute), lost, "Earliest 1 Mar 2027.", "2027-03-01", "", true},
		"a short gap": {
			"2027-02-10", gate, lacks(4 * time.Minute), canGo + ", 4m of counts missing (limit 15m): " +
				"instance web-1 (ABCDEF) from 1 Feb 2027, 10:00 UTC to 1 Feb 2027, 10:04 UTC (killed)", "Earliest 1 Mar 2027.",
			"2027-03-01", "", false,
		},
		"no earliest date": {"2027-02-10", gate, neverQuiet, tooMany, unknown + ".", "", "", true},
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
		want.Whether, want.Why, _ = strings.Cut(tt.says, ": ")
		if got := *s.Verdict("v1", reading, on(tt.now)); got != want {
			t.Errorf("%s: got %+v,\nwant %+v", name, got, want)
		}
	}
	released := &lifecycle.GateReading{Evidence: few, Released: on("2027-03-01")}
	gone := lifecycle.Verdict{Says: "v1 is retired", Whether: "v1 is retired"}
	if got := scheduleOf(t, planOf(gate)).Verdict("v1", released, on("2027-03-10")); *got != gone {
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

// A gate names every limit that is exceeded, and everything that the counts leave out: the sum
// of all gaps is compared with what it tolerates, and the first gaps are named.
func TestWhyAGateHolds(t *testing.T) {
	day := at("2027-02-01T00:00:00Z")
	gap := func(instance string, minute int, lost time.Duration) lifecycle.Gap {
		from := day.Add(time.Duration(minute) * time.Minute)
		return lifecycle.Gap{Instance: instance, From: from, To: from.Add(lost)}
	}
	gaps := []lifecycle.Gap{
		gap("instance a", 0, 5*time.Minute), gap("instance b", 0, 5*time.Minute), gap("instance a", 30, 5*time.Minute),
		gap("instance c", 60, time.Second), gap("instance c", 70, time.Second),
	}
	const (
		calls      = "101 calls on the busiest day (limit 100)"
		incomplete = "the evidence of 7 days is incomplete: "
		where      = ": instance a from 1 Feb 2027, 00:00 UTC to 1 Feb 2027, 00:05 UTC, " +
			"instance b from 1 Feb 2027, 00:00 UTC to 1 Feb 2027, 00:05 UTC, " +
			"instance a from 1 Feb 2027, 00:30 UTC to 1 Feb 2027, 00:35 UTC"
	)
	for name, tt := range map[string]struct {
		maxGap, count string
		evidence      lifecycle.Evidence
		why           string
		exceeds       bool
	}{
		"at the limits": {
			evidence: lifecycle.Evidence{Clients: 5, Calls: 100, Names: 1000, UnverifiedNames: 1000, UnverifiedCalls: 9999},
		},
		"clients":        {evidence: lifecycle.Evidence{Clients: 6}, why: "6 clients in 7 days (limit 5)", exceeds: true},
		"proven clients": {"", "proven", lifecycle.Evidence{Clients: 6}, "6 proven clients in 7 days (limit 5)", true},
		"calls":          {evidence: lifecycle.Evidence{Calls: 101}, why: calls, exceeds: true},
		"both":           {evidence: lifecycle.Evidence{Clients: 6, Calls: 101}, why: "6 clients in 7 days (limit 5), " + calls, exceeds: true},
		"what is missing": {
			evidence: lifecycle.Evidence{Calls: 101, Missing: []string{"instance a is silent", "instance b is silent"}},
			why:      calls + "; " + incomplete + "instance a is silent; instance b is silent", exceeds: true,
		},
		"gaps that are tolerated": {evidence: lifecycle.Evidence{Gaps: gaps[:3]}},
		"a second more":           {evidence: lifecycle.Evidence{Gaps: gaps[:4]}, why: incomplete + "15m1s of counts missing (limit 15m)" + where + ", 1 more gap"},
		"two more":                {evidence: lifecycle.Evidence{Gaps: gaps}, why: incomplete + "15m2s of counts missing (limit 15m)" + where + ", 2 more gaps"},
		"a limit of its own":      {maxGap: "1h", evidence: lifecycle.Evidence{Gaps: gaps}},
		"none":                    {maxGap: "0s", evidence: lifecycle.Evidence{}},
		"none is tolerated": {
			maxGap: "0s", evidence: lifecycle.Evidence{Calls: 101, Missing: []string{"a day"}, Gaps: gaps[:1]},
			why: calls + "; " + incomplete + "a day; 5m of counts missing (limit 0s): " +
				"instance a from 1 Feb 2027, 00:00 UTC to 1 Feb 2027, 00:05 UTC", exceeds: true,
		},
	} {
		gate := lifecycle.Gate{MaxClients: 5, MaxCallsPerDay: 100, Days: 7, MaxGap: tt.maxGap, Count: tt.count}
		if got := gate.Read(tt.evidence); got.Why != tt.why || got.Holds != (tt.why != "") {
			t.Errorf("%s: got %t because %q, want %q", name, got.Holds, got.Why, tt.why)
		}
		if got := gate.Exceeds(tt.evidence); got != tt.exceeds {
			t.Errorf("%s: exceeds the gate: %t", name, got)
		}
	}
}
