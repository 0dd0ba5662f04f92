package admin

import (
	"html"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// The overview answers in the middle of a retirement whether it may end: the verdict, the
// dates, who has not moved, and the risks, each with where it can be seen.
func TestOverviewOfARetirement(t *testing.T) {
	f := facts(t)
	f.Report.Versions = []evidence.Version{{Version: "v1", Groups: evidence.Groups{
		Clients: 40, Uncompared: 39, Moved: 1, Marked: 1, Addresses: 30, Told: 1, Untold: 2, Proven: 25, Claimed: 75}}}
	s := f.Schedule("v1")
	s.Gate = &lifecycle.Gate{
		MaxClients: 5, MaxCallsPerDay: 100, Days: 7, Instances: 3,
		Unverified: lifecycle.UnverifiedLimits{MaxCallsPerDay: 50, MaxShare: 0.01},
	}
	show := func(e *lifecycle.Evidence) string {
		gate := &lifecycle.GateReading{Gate: *s.Gate, Holds: true, Unknown: true, Why: "the counts cannot be read"}
		if e != nil {
			reading := s.Gate.Read(*e)
			gate = &reading
		}
		f.Plan.Versions = []lifecycle.Status{{
			Version: "v1", Stage: s.Stage(f.Now, !gate.Released.IsZero()), Gate: gate,
			Verdict: s.Verdict("v1", gate, f.Now), Risk: "the gate is blind", Warning: "look here",
		}}
		return html.UnescapeString(string(must(render("overview.html", newOverview(f, 1)))))
	}
	wants := func(page string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("the overview lacks %q", want)
			}
		}
	}
	many := lifecycle.Evidence{
		Clients: 6, Calls: 20, Names: 40, Known: 4, Registered: 2, StrangerNames: 34, StrangerCalls: 60,
		StrangerShare: 0.0234, Marked: 1, Errors: 2, Earliest: s.Sunset.Add(48 * time.Hour),
		Missing: "instance b has not reported since noon; one is missing",
	}
	wants(show(&many),
		`<h3 class="verdict wrong">v1 cannot be retired yet: 6 known or registered clients in 7 days (limit 5), `+
			`60 stranger calls on the busiest day (limit 50), 2.34 % of all calls from unverified clients (limit 1 %)</h3>`,
		"Earliest 3 Mar 2027, after the sunset on 1 Mar 2027, if clients are quiet from 24 Feb 2027.",
		`<dt>Earliest date</dt><dd><b class="wrong">3 Mar 2027</b> <span class="muted">in 20 days</span>`,
		`<dt>Quiet from</dt><dd><b>24 Feb 2027</b> <span class="muted">in 13 days</span>`,
		`<dt>Not moved</dt><dd><b>39</b> <span class="muted">of 40 clients in 90 days</span>`,
		`<li class="wrong">Incomplete counts: instance b has not reported since noon. <a href="#instances">`,
		`<li class="wrong">Incomplete counts: one is missing. `, `<li class="wrong">Look here.</li>`,
		`<li class="wrong">2 known clients not told to move. `+
			`<a href="/clients?version=v1&moved=no&told=no&known=yes">Clients not told</a>`,
		"<li>The gate is blind.</li>",
		"<li>25 % of calls carry a key. Other names can be claimed by anyone. "+
			`<a href="/clients?version=v1&known=yes">Known clients</a></li>`,
		"<p>The gate counts 6 of 40 clients in 7 days: 4 known, 2 registered integrators, 34 unverified. "+
			"Not counted: 1 marked as moved. Not counted: 2 with errors only. "+
			`<a href="/clients?version=v1&gate=counted">Clients the gate counts</a></p>`,
		`<b>1</b> <a href="/clients?version=v1&moved=yes">marked as moved</a>`,
		`<b>30</b> <a href="/clients?version=v1&kind=agent">named by network</a>`,
	)
	// Too many clients alone are no reason for alarm while the date can still be met.
	page := show(&lifecycle.Evidence{Clients: 6, Earliest: s.Sunset.Add(-day)})
	wants(page, `<h3 class="verdict">v1 cannot be retired yet: 6 known or registered clients in 7 days (limit 5)</h3>`,
		"Earliest 1 Mar 2027, if clients are quiet from 22 Feb 2027.")
	wants(show(nil), `<h3 class="verdict wrong">It is not known whether v1 can be retired: the counts cannot be read</h3>`,
		`<dt>Earliest date</dt><dd><b class="wrong">not known</b>`)
	f.Now = s.Sunset.Add(time.Hour)
	page = show(&many)
	wants(page, `<span class="stage held">held</span>`, "Past its sunset and still served, because the gate holds.")
	f.Report.Versions = nil
	wants(show(nil), "7 days: not known", `<dt>Not moved</dt><dd><b>not known</b>`)
}

// What the operator wrote down is on the client's page and in the table.
func TestMovedInWords(t *testing.T) {
	f := facts(t)
	mark := &caller.Mark{On: 20_828, Why: "they wrote so"}
	f.Report.Clients = []evidence.Client{
		{Version: "v1", Client: "client Marked", Contact: evidence.Contact{Marked: mark, Notified: now}},
		{Version: "v1", Client: "integrator 0x07"},
	}
	pages := string(must(render("clients.html", newClientsPage(f, evidence.Query{}, nil))))
	for _, c := range f.Report.Clients {
		one := *f
		one.Report.Clients = []evidence.Client{c}
		pages += string(must(render("client.html", newClientPage(&one))))
	}
	for _, want := range []string{
		`title="10 Jan 2027: they wrote so"><bdi>marked</bdi>`, "marked by you on 10 Jan 2027: they wrote so",
		"<dd>10 Feb 2027</dd>", "not in CLIENTS_FILE",
	} {
		if !strings.Contains(pages, want) {
			t.Errorf("the pages lack %q", want)
		}
	}
}
