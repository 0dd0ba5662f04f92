package lifecycle_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

func TestWhatExceedsAGate(t *testing.T) {
	every := lifecycle.Gate{MaxClients: 5, MaxCallsPerDay: 100, Days: 7}
	strangers := every
	strangers.Strangers = lifecycle.Strangers{MaxCallsPerDay: 50, MaxShare: 0.01}
	proven := every
	proven.Count = lifecycle.CountProven
	if !every.CountsStrangers() || strangers.CountsStrangers() || proven.CountsStrangers() {
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
				"or more than 50 calls of strangers on one of them, or more than 1 % of all calls from strangers",
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
