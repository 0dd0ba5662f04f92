package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// bounded is the plan with a gate that counts only those whom somebody vouches for.
var bounded = strings.Replace(fullPlan, `"maxCallsPerDay": 100}`, `"maxCallsPerDay": 100, "roaming": "once", "strangers": {"maxCallsPerDay": 50, "maxShare": 0.01}}`, 1)

func TestStrangersOfAGate(t *testing.T) {
	gate := &lifecycle.Gate{MaxClients: 5, MaxCallsPerDay: 100, Days: 7, Strangers: lifecycle.Strangers{MaxCallsPerDay: 50, MaxShare: 0.01}}
	for name, tt := range map[string]struct {
		evidence lifecycle.Evidence
		want     bool
	}{
		"at the limits":  {lifecycle.Evidence{Clients: 5, Calls: 100, StrangerNames: 1000, StrangerCalls: 50, StrangerShare: 0.01}, false},
		"clients":        {lifecycle.Evidence{Clients: 6}, true},
		"calls":          {lifecycle.Evidence{Calls: 101}, true},
		"strangers":      {lifecycle.Evidence{StrangerCalls: 51}, true},
		"their share":    {lifecycle.Evidence{StrangerShare: 0.0101}, true},
		"names no limit": {lifecycle.Evidence{Names: 10_000, StrangerNames: 10_000}, false},
	} {
		if got := gate.Exceeds(tt.evidence); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
	every := &lifecycle.Gate{MaxClients: 5, MaxCallsPerDay: 100, Days: 7}
	if every.Exceeds(lifecycle.Evidence{StrangerCalls: 1000, StrangerShare: 1}) {
		t.Error("a gate without bounds for strangers looks at them apart")
	}
}

// A gate that strangers hold says so, in numbers of its own, and lets go within the
// bounds.
func TestGateSaysWhatStrangersDo(t *testing.T) {
	w := newWorld(t, "2027-02-28T23:59:00Z", bounded)
	w.usage.clients.Store(5)
	w.usage.strangers.Store(51)
	w.setTime("2027-03-01T00:00:00Z")
	w.keeper.Poll()
	const why = "5 known or registered clients called within 7 days, with 0 calls on the busiest day, and strangers made 51 calls on theirs, 0 % of all calls; " +
		"the gate lets the sunset pass at 5 clients and 100 calls, and 50 calls of strangers and 1 %, or fewer"
	if g := w.v1().Gate; w.state("v1") != lifecycle.Held || g.Why != why {
		t.Errorf("got %s: %s", w.state("v1"), g.Why)
	}
	limits := w.v1().Gate.Limits()
	if want := "more than 5 known or registered clients within 7 days, or more than 100 of their calls on one of them, or more than 50 calls of strangers on one of them, or more than 1 % of all calls from strangers"; limits != want {
		t.Errorf("got %q", limits)
	}
	w.usage.strangers.Store(50)
	w.keeper.Poll()
	if w.state("v1") != lifecycle.Retired {
		t.Errorf("got %s within the bounds", w.state("v1"))
	}
}

// Numbers that were read before the sunset do not let it pass.
func TestKeptEvidenceDoesNotRelease(t *testing.T) {
	w := newWorld(t, "2027-02-28T23:59:50Z", fullPlan)
	early, later := time.Date(2027, 2, 28, 23, 59, 50, 0, time.UTC), time.Date(2027, 3, 1, 0, 0, 5, 0, time.UTC)
	w.usage.read.Store(&early)
	w.setTime("2027-03-01T00:00:05Z")
	w.keeper.Poll()
	if g := w.v1().Gate; w.state("v1") != lifecycle.Held || !strings.Contains(g.Why, "last read at 2027-02-28T23:59:50Z, before all instances had written") {
		t.Errorf("got %s: %s", w.state("v1"), g.Why)
	}
	w.usage.read.Store(&later)
	w.keeper.Poll()
	if w.state("v1") != lifecycle.Retired {
		t.Errorf("got %s with numbers that were read after the sunset", w.state("v1"))
	}
}

func TestWordsOfAGate(t *testing.T) {
	const gate = `{"versions": {"v1": {"deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z", "successor": "/v3/swap/quote", "docs": "https://example.org/m", "gate": GATE}}}`
	for text, want := range map[string]string{
		`{"roaming": "sometimes"}`:                              `versions.v1.gate.roaming: "sometimes" is neither each nor once`,
		`{"strangers": {"maxCallsPerDay": 5}}`:                  "versions.v1.gate.strangers.maxShare: 0 is not a number above 0 and at most 1",
		`{"strangers": {"maxShare": 0.5}}`:                      "versions.v1.gate.strangers.maxCallsPerDay: 0 is not a whole number of 1 or more",
		`{"strangers": {"maxCallsPerDay": 5, "maxShare": 1.1}}`: "versions.v1.gate.strangers.maxShare: 1.1 is not",
		`{"strangers": {"maxCallsPerDay": 5, "maxShare": 0.1}}`: "",
		`{"roaming": "each"}`:                                   "",
		`{"roaming": "once", "maxClients": 3}`:                  "",
	} {
		_, err := lifecycle.Parse([]byte(strings.Replace(gate, "GATE", text, 1)), []string{"v3", "v1"})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	once := &lifecycle.Gate{MaxClients: 3, Days: 21, Roaming: lifecycle.RoamingOnce}
	if got := once.Limits(); got != "more than 3 clients (software that roams counts once) within 21 days, or more than 0 calls on one of them" {
		t.Errorf("got %q", got)
	}
}
