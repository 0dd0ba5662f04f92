package admin

import (
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// The overview answers in the middle of a retirement whether it may end: when at the
// earliest, whom the gate counts, whether all instances count, what is proven and who
// was told, each with where it can be seen.
func TestAnswers(t *testing.T) {
	f := facts(t)
	f.Report.Instances = []evidence.Instance{{Name: "instance a", Plan: f.Plan.Hash}, {Name: "instance b", Plan: f.Plan.Hash, Silent: true}}
	f.Report.Versions = []evidence.Version{{Version: "v1", Groups: evidence.Groups{
		Clients: 40, Uncompared: 39, Moved: 1, Marked: 1, Addresses: 30, Told: 1, Untold: 2, Proven: 25, Claimed: 75}}}
	sunset := f.dates("v1").Sunset
	gate := &lifecycle.GateReading{Holds: true, Gate: lifecycle.Gate{MaxClients: 5, MaxCallsPerDay: 100, Days: 7, Instances: 3, Strangers: lifecycle.Strangers{MaxCallsPerDay: 50, MaxShare: 0.01}},
		Evidence: &lifecycle.Evidence{Clients: 6, Calls: 20, Names: 40, Known: 4, Registered: 2, StrangerNames: 34, StrangerCalls: 60, StrangerShare: 0.0234, Marked: 1, Errors: 2,
			Earliest: sunset.Add(48 * time.Hour), Missing: "instance b has not been heard of since noon"}}
	for i := range f.Plan.Versions {
		if f.Plan.Versions[i].Version == "v1" {
			f.Plan.Versions[i].Gate, f.Plan.Versions[i].Stage = gate, lifecycle.Deprecated
		}
	}
	page := string(must(render("overview.html", newOverview(f, 1, 1))))
	for _, want := range []string{
		"On 3 Mar 2027, 00:00 UTC (in 20 days), if nobody else calls. That is after the sunset. What is missing from the counts may delay it: instance b has not been heard of since noon.",
		"Within 7 days: 4 known clients, 2 registered integrators and 34 strangers. Strangers made 60 calls on their busiest day, 2.3 % of the calls to all versions. " +
			"1 name does not count, because you marked it as moved. 2 names do not count, because of errors only. The gate counts those that are known or registered, also if they have moved since, and bounds the strangers.",
		"60 calls of strangers, of at most 50, on their busiest day",
		"1 instance writes its counts, and 3 should; silent: instance b.",
		"25 % of the answers to these clients went to calls with a key.",
		"1 of 3 known clients that have not moved was told", "moved=no&amp;told=no&amp;known=yes",
		"moved because you say so",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the overview lacks %q", want)
		}
	}
	v1 := lifecycle.Status{Version: "v1", Stage: lifecycle.Deprecated, Gate: gate}
	gate.Evidence = &lifecycle.Evidence{}
	if got := f.earliest(v1); !strings.HasPrefix(got.Text, "On its sunset, 1 Mar 2027") || got.Wrong {
		t.Errorf("got %+v, want the sunset", got)
	}
	f.Now = sunset.Add(time.Hour)
	if got := f.earliest(v1); got.Text != "Now, as far as clients and calls go." {
		t.Errorf("got %+v, want now", got)
	}
	gate.StrangerShare = 0.5
	if got := f.earliest(v1); !got.Wrong || !strings.Contains(got.Text, "share") {
		t.Errorf("got %+v, want the share", got)
	}
	gate.Evidence = nil
	gate.Why = "the counts cannot be read: PostgreSQL: no connection"
	for i := range f.Plan.Versions {
		f.Plan.Versions[i].Stage = lifecycle.Deprecated
	}
	page = string(must(render("overview.html", newOverview(f, 1, 1))))
	if !strings.Contains(page, "It is not known how many clients and calls there are: the counts cannot be read") || strings.Contains(page, "0 clients of at most") {
		t.Error("the overview does not say that the numbers are not known")
	}
	v1.Stage = lifecycle.Retired
	if got := f.Answers(v1); got != nil {
		t.Errorf("got %+v of a version that is retired", got)
	}
}

func TestWhoWasTold(t *testing.T) {
	for _, c := range []struct {
		told, untold int
		want         string
	}{
		{0, 1, "The one known client that has not moved was not told"},
		{1, 0, "The one known client that has not moved was told"},
		{0, 3, "None of the 3 known clients that have not moved was told"},
		{1, 2, "1 of 3 known clients that have not moved was told"},
		{2, 1, "2 of 3 known clients that have not moved were told"},
		{3, 0, "3 of 3 known clients that have not moved were told"},
	} {
		if got := whoWasTold(c.told, c.untold); got != c.want {
			t.Errorf("%d told and %d not: got %q, want %q", c.told, c.untold, got, c.want)
		}
	}
}

// What the operator wrote down is on the client's page and in the table.
func TestMovedInWords(t *testing.T) {
	f := facts(t)
	mark := &caller.Mark{On: 20_828, Why: "they wrote so"}
	f.Report.Clients = []evidence.Client{
		{Version: "v1", Client: "client Marked", Contact: evidence.Contact{Marked: mark, Notified: now}}, {Version: "v1", Client: "integrator 0x07"},
	}
	pages := string(must(render("overview.html", newOverview(f, 2, 2))))
	for _, c := range f.Report.Clients {
		one := *f
		one.Report.Clients = []evidence.Client{c}
		pages += string(must(render("client.html", newClientPage(&one))))
	}
	for _, want := range []string{"you say so: 2027-01-10: they wrote so", "<dd>on 10 Feb 2027</dd>", "not that CLIENTS_FILE knew"} {
		if !strings.Contains(pages, want) {
			t.Errorf("the pages lack %q", want)
		}
	}
}
