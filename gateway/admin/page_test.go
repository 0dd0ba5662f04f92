package admin

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/fault"
)

// planned is a page under a plan for v1.
func planned(t testing.TB) page {
	t.Helper()
	plan, err := lifecycle.Parse([]byte(`{"versions": {"v1": {
		"deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z",
		"successor": "/v3/swap/quote", "docs": "https://example.org/migrate-v1", "brownouts": [
			{"from": "2027-02-02T14:00:00Z", "to": "2027-02-02T15:00:00Z", "share": 0.5},
			{"from": "2027-02-16T14:00:00Z", "to": "2027-02-16T18:00:00Z", "share": 0.75}],
		"exempt": ["203.0.113.0/24", "client:Spared"]}}}`), []string{"v3", "v1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	versions := []lifecycle.Status{{Version: "v3", Stage: lifecycle.Active}, {Version: "v1", Stage: lifecycle.Deprecated}}
	snapshot := lifecycle.Snapshot{Plan: plan, Hash: "abc", Versions: versions}
	return page{Now: today, Current: "v3", Plan: snapshot}
}

// A heat map has one stroke for each day, and a chart one point for each day.
func TestPictures(t *testing.T) {
	p := &overviewPage{page: planned(t)}
	midnight := evidence.Day(today.Truncate(day).Unix())
	on := func(back int, calls uint64) evidence.DayCount {
		return evidence.DayCount{Day: midnight - evidence.Day(back)*86400, Calls: calls}
	}
	c := &evidence.Client{Version: "v1", Client: "origin https://a.example"}
	c.Days = []evidence.DayCount{on(95, 1), on(89, 5), on(3, 120), on(2, 999), on(0, 1000)}
	row := p.ClientChart(c)
	if got := row.Levels(); got != [5]string{1: "M0 5h1", 3: "M86 5h1M87 5h1", 4: "M89 5h1"} {
		t.Errorf("got %+v", got)
	}
	if windows := row.Shades(); len(windows) != 1 || windows[0] != (shade{81, 1}) {
		t.Errorf("got windows %+v, want that of 2 February", windows)
	}
	drawn := draw("chart", row)
	wants(t, "the chart", drawn, `class="line" d="M0.5 99.5L1.5 100L`, `class="line partial" d="M88.5 100L89.5 0"`,
		`L89.5 0V100H.5z"`, "<span>1,000</span><span>500</span>", `<rect class="shade" x="81" width="1"`,
		"highest 1,000, today so far 1,000, in all 2,124")
	if strings.Count(row.Path(row.Values, 0, heatDays), "L") != heatDays-1 {
		t.Error("the line has not one point for each day")
	}
	line := p.Timeline("v1")
	windows := line.Brownouts
	if line.Tall(windows[1]) <= line.Tall(windows[0]) || line.Anchor(line.Sunset) != "end" ||
		line.Anchor(line.Deprecated) != "start" {
		t.Errorf("got %+v", line)
	}
	drawn = draw("overview.html", p)
	past, coming := strings.Index(drawn, `class="window past"`), strings.Index(drawn, `class="window"`)
	if past < 0 || coming < past {
		t.Errorf("got the first window at %d and the second at %d, want one past and one to come", past, coming)
	}
	for n, want := range map[uint64]uint64{0: 2, 2: 2, 3: 4, 10: 10, 11: 12} {
		if got := (chart{Values: []uint64{n, 0}}).Top(); got != want {
			t.Errorf("above %d: got %d, want %d", n, got, want)
		}
	}
}

// What a reader cannot see is replaced, and long names are shortened in the middle.
func TestShort(t *testing.T) {
	for text, want := range map[string]string{
		"a\u202eb\x00c\nd": "a\ufffdb\ufffdc d", "origin https://short.example": "origin https://short.example",
		strings.Repeat("é", 60): strings.Repeat("é", 30) + "…" + strings.Repeat("é", 12),
	} {
		if got := short(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The letter has the client's own numbers, the windows that concern it, and only the
// steps that concern it.
func TestLetter(t *testing.T) {
	p := &clientPage{page: planned(t)}
	c := &evidence.Client{
		Version: "v1", Client: "client Harbour\u202e Wallet", Known: true, Software: "mozilla", Position: 0.6,
		Sum: evidence.Sum{Calls7: 70, Calls90: 1234}, LastSeen: today, Last410: today.Add(-time.Hour),
		Found: today.Truncate(day).Add(-3 * day),
		Findings: []event.Finding{
			{Outcome: event.Refused, Code: fault.MissingParameter, Param: "recipient", Calls: 9},
			{Outcome: event.SameMoney, Calls: 1},
		},
	}
	p.Moves = map[string][]string{"v1": {"Call /v3/swap/quote instead of /v1/quote.", "Second.", "Third."}}
	letter := must(p.Letter(c))
	wants(t, "the letter", letter, "Subject: Please move to v3 by 1 Mar 2027\n",
		"1,234 calls in the last 90 days, 70 in the last 7. The last one was on 10 Feb 2027, from mozilla.",
		"Your client Harbour\ufffd Wallet will be refused from 1 Mar 2027, 00:00 UTC.",
		"last refused on 10 Feb 2027, 09:20 UTC", "  - 16 Feb 2027, 14:00 UTC, for 4h\n",
		"1. Call /v3/swap/quote instead of /v1/quote",
		"4. On 7 Feb 2027, 9 calls would be refused by v3, because recipient is missing.",
		"API-Rehearse: retired", "https://example.org/migrate-v1")
	if strings.Contains(letter, "2 Feb 2027, 14:00") || strings.Contains(letter, "5. ") {
		t.Errorf("the letter tells what does not concern this client:\n%s", letter)
	}
	exempt, spared := *c, *c
	exempt.Exempt = true            // by the plan when it last called
	spared.Client = "client Spared" // by a line that was added since
	for _, c := range []*evidence.Client{&exempt, &spared} {
		if letter := must(p.Letter(c)); strings.Contains(letter, "early warning") || p.InWindow(c) != "no, exempt" {
			t.Errorf("windows are announced to an exempt client: %s\n%s", p.InWindow(c), letter)
		}
	}
	c.Version = "v2"
	wants(t, "the letter without a plan", must(p.Letter(c)), "have not set a date yet", "Call v3 instead of v2")
}

// draw is a page, or a part of one, as text.
func draw(name string, data any) string {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		panic(err)
	}
	return b.String()
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// Nothing is needed to show a page.
func TestEmpty(t *testing.T) {
	for name, data := range map[string]any{
		"overview.html": &overviewPage{}, "clients.html": &clientsPage{}, "health.html": &healthPage{},
	} {
		if page := draw(name, data); !strings.HasSuffix(page, "</html>\n") {
			t.Errorf("%s: got\n%s", name, page)
		}
	}
}

// The overview answers in the middle of a retirement whether it may end: the verdict, the
// dates, who has not moved, and the risks, each with where it can be seen.
func TestOverviewOfARetirement(t *testing.T) {
	p := &overviewPage{page: planned(t)}
	p.Report.Versions = []evidence.Version{{Version: "v1", Groups: evidence.Groups{
		Clients: 40, Uncompared: 39, Moved: 1, Marked: 1, Addresses: 30, Untold: 2, Proven: 25, Claimed: 75}}}
	s := p.Schedule("v1")
	s.Gate = &lifecycle.Gate{MaxClients: 5, MaxCallsPerDay: 100, Days: 7, Instances: 3, Count: "proven"}
	show := func(e *lifecycle.Evidence) string {
		gate := &lifecycle.GateReading{Gate: *s.Gate, Holds: true, Unknown: true, Why: "the counts cannot be read"}
		if e != nil {
			reading := s.Gate.Read(*e)
			gate = &reading
		}
		p.Plan.Versions = []lifecycle.Status{{
			Version: "v1", Stage: s.Stage(p.Now, !gate.Released.IsZero()), Gate: gate,
			Verdict: s.Verdict("v1", gate, p.Now), Risk: "the gate is blind", Warning: "look here",
		}}
		return html.UnescapeString(flat(draw("overview.html", p)))
	}
	many := lifecycle.Evidence{
		Clients: 6, Calls: 20, Names: 40, Proven: 7, UnverifiedNames: 34, UnverifiedCalls: 60,
		Marked: 1, Errors: 2, Earliest: s.Sunset.Add(48 * time.Hour),
		Missing: []string{"instance b has not reported since noon", "one is missing"},
	}
	wants(t, "the overview", show(&many),
		`<h3 class="verdict wrong">v1 cannot be retired yet: 6 proven clients in 7 days (limit 5); the evidence of `+
			"7 days is incomplete: instance b has not reported since noon; one is missing</h3>",
		"Earliest 3 Mar 2027, after the sunset on 1 Mar 2027, if clients are quiet from 24 Feb 2027.",
		`<dt>Earliest date</dt><dd><b class="wrong">3 Mar 2027</b><span class="muted">in 20 days</span>`,
		`<dt>Quiet from</dt><dd><b>24 Feb 2027</b><span class="muted">in 13 days</span>`,
		`<dt>Not moved</dt><dd><b>39</b><span class="muted">of 40 clients in 90 days</span>`,
		`<li class="wrong">Incomplete counts: instance b has not reported since noon. <a href="#instances">`,
		`<li class="wrong">Incomplete counts: one is missing. `, `<li class="wrong">Look here.</li>`,
		`<li class="wrong">2 known clients not notified. `+
			`<a href="/clients?version=v1&moved=no&told=no&known=yes">Clients not notified</a>`,
		"<li>The gate is blind.</li>",
		"<li>25 % of calls carry a key. Other names can be claimed by anyone. "+
			`<a href="/clients?version=v1&known=yes">Known clients</a></li>`,
		"<p>The gate counts 6 of 40 clients in 7 days: 7 proven, 34 unverified. "+
			"Not counted: 1 marked as moved. Not counted: 2 with errors only. "+
			`<a href="/clients?version=v1&gate=counted">Clients the gate counts</a></p>`,
		`<b>1</b><a href="/clients?version=v1&moved=yes">marked as moved</a>`,
		`<b>30</b><a href="/clients?version=v1&kind=agent">named by network</a>`,
	)
	// Too many clients alone are no reason for alarm while the date can still be met.
	page := show(&lifecycle.Evidence{Clients: 6, Earliest: s.Sunset.Add(-day)})
	wants(t, "the overview", page, `<h3 class="verdict">v1 cannot be retired yet: 6 proven clients in 7 days (limit 5)</h3>`,
		"Earliest 1 Mar 2027, if clients are quiet from 22 Feb 2027.")
	wants(t, "the overview", show(nil), `<h3 class="verdict wrong">It is not known whether v1 can be retired: the counts cannot be read</h3>`,
		`<dt>Earliest date</dt><dd><b class="wrong">not known</b>`)
	p.Now = s.Sunset.Add(time.Hour)
	page = show(&many)
	wants(t, "the overview", page, `<span class="stage held">held</span>`, "Past its sunset and still served, because the gate holds.")
	p.Report.Versions = nil
	wants(t, "the overview", show(nil), "7 days: not known", `<dt>Not moved</dt><dd><b>not known</b>`)
}

// A card says whom the open or next window and the sunset refuse, as the simulation does, and the
// page of a client, whether the window refuses it.
func TestSteps(t *testing.T) {
	p := &overviewPage{page: planned(t)}
	sunset, window := p.Schedule("v1").Sunset, p.Schedule("v1").Brownouts[1]
	late := evidence.Report{Clients: []evidence.Client{{Version: "v1", Client: "client Late", Position: 0.9}}}
	const clients = "/clients?version=v1&moved=no"
	for _, tt := range []struct {
		now                        time.Time
		clients                    int // negative: nothing is known
		label, when, says, path    string
		atSunset, listOfThatSunset string
	}{
		{today, 3, "Next window", "16 Feb 2027, 14:00 UTC, for 4h, 75 % of clients",
			"would refuse 3 clients (0 known) with 0 calls in 7 days",
			clients + "&window=2027-02-16T14:00:00Z", "would refuse nobody", ""},
		{window.From, 0, "Open window", "until 16 Feb 2027, 18:00 UTC, 75 % of clients", "would refuse nobody", "",
			"would refuse nobody", ""},
		{window.To.Add(-time.Second), -1, "Open window", "until 16 Feb 2027, 18:00 UTC, 75 % of clients", "not known",
			clients + "&window=2027-02-16T14:00:00Z", "not known", clients},
		{window.To, 3, "", "", "", "", "would refuse nobody", ""},
	} {
		p.Now, p.hits = tt.now, nil
		if tt.clients >= 0 {
			p.hits = []evidence.Hit{
				{Version: "v3", From: window.From, To: window.To},
				{Version: "v1", From: window.From, To: window.To, Clients: tt.clients},
				{Version: "v1", From: sunset},
			}
		}
		want := []step{{"Sunset", "1 Mar 2027, 00:00 UTC", tt.atSunset, tt.listOfThatSunset}}
		row := "<dt>Next window</dt><dd>no window, position 0.900</dd>"
		if tt.label != "" {
			want = slices.Insert(want, 0, step{tt.label, tt.when, tt.says, tt.path})
			row = fmt.Sprintf("<dt>%s</dt><dd>no (%s), position 0.900</dd>", tt.label, tt.when)
		}
		wants(t, "the client's page", draw("client.html", newClientPage(p.page, nil, late)), row)
		if got := p.Steps("v1"); !slices.Equal(got, want) {
			t.Errorf("%v: got %q, want %q", tt.now, got, want)
		}
	}
}

// What the operator wrote down is on the client's page and in the table.
func TestMovedInWords(t *testing.T) {
	p := planned(t)
	mark := &caller.Mark{On: "2027-01-10", Why: "they wrote so"}
	clients := []evidence.Client{
		{Version: "v1", Client: "client Marked", Contact: evidence.Contact{Marked: mark, Notified: today}},
		{Version: "v1", Client: "integrator 0x07"},
	}
	pages := draw("clients.html", &clientsPage{page: p, Report: evidence.Report{Clients: clients}})
	for _, c := range clients {
		one := evidence.Report{Clients: []evidence.Client{{Version: "v3", Client: c.Client}, c}}
		page := newClientPage(p, nil, one)
		if first := page.Report.Clients[0]; first.Version != "v1" || page.Title != c.Name() {
			t.Errorf("got the title %q and first %s, want %q and the version that ends first", page.Title, first.Version, c.Name())
		}
		pages += draw("client.html", page)
	}
	wants(t, "the pages", pages, `title="10 Jan 2027: they wrote so">marked</td>`,
		"marked by you on 10 Jan 2027: they wrote so", "<dd>10 Feb 2027</dd>", "not in CLIENTS_FILE")
}
