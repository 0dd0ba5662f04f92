package admin

import (
	"fmt"
	"html"
	"math"
	"net/url"
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

// A heat map has one stroke for each day, and a picture of calls one bar.
func TestCallsDrawn(t *testing.T) {
	p := &overviewPage{page: planned(t)}
	midnight := evidence.Day(today.Truncate(day).Unix())
	on := func(back int, calls uint64) evidence.DayCount {
		return evidence.DayCount{Day: midnight - evidence.Day(back)*86400, Calls: calls}
	}
	c := &evidence.Client{Version: "v1", Client: "origin https://a.example"}
	c.Days = []evidence.DayCount{on(95, 1), on(89, 5), on(3, 120), on(2, 999), on(0, 1000)}
	row := p.HeatRow(c)
	if got := row.Levels(); got != [5]string{1: "M0 5h1", 3: "M86 5h1M87 5h1", 4: "M89 5h1"} {
		t.Errorf("got %+v", got)
	}
	if windows := row.Bands; len(windows) != 1 || math.Floor(float64(windows[0].X)) != 90 {
		t.Errorf("got windows %+v, want that of 2 February", windows)
	}
	wants(t, "the picture", draw("picture", p.ClientPicture(c)), "<span>1,000</span><span>800</span>",
		`<rect x="0%" y="99.5%" width="0.9444%" height="0.5%"/>`, `y="0%" width="0.9444%" height="100%"/>`,
		"v1: highest 1,000, today so far 1,000, in all 2,124.", ">today, 10 Feb</text>", ">1 Dec</text>")
	if p.ClientPicture(&evidence.Client{Version: "v1"}) != nil {
		t.Error("there is a picture of nothing")
	}
}

// Steps of a scale are round numbers, at most five.
func TestScale(t *testing.T) {
	for most, want := range map[uint64]scale{
		0: {1, 1}, 1: {1, 1}, 5: {1, 5}, 6: {2, 6}, 10: {2, 10}, 11: {5, 15}, 27: {10, 30}, 99: {20, 100},
		101: {50, 150}, 1_234_567: {500_000, 1_500_000}, 1 << 62: {1e18, 5e18},
	} {
		got := newScale(most)
		if ticks := got.Ticks(); got != want || ticks[0] != want.Top || ticks[len(ticks)-1] != 0 {
			t.Errorf("%d: got %+v with %d, want %+v", most, got, ticks, want)
		}
	}
}

// The picture of a gate has what the report knows, against the limit, with today and the sunset if
// it is near. What is not known is not drawn.
func TestGateDrawn(t *testing.T) {
	p := &overviewPage{page: planned(t)}
	s := p.Schedule("v1")
	s.Gate = &lifecycle.Gate{MaxClients: 5, Days: 7}
	version := evidence.Version{Version: "v1"}
	for d := range heatDays {
		version.Days = append(version.Days, evidence.VersionDay{Day: evidence.Day(p.firstDay().AddDate(0, 0, d).Unix())})
		version.Counted = append(version.Counted, heatDays-d)
	}
	p.Report.Versions = []evidence.Version{version}
	from := func(known int) *picture {
		for d := range known {
			p.Report.Versions[0].Counted[d] = -1
		}
		return p.GatePicture("v1")
	}
	pic := from(10)
	says := "v1: clients in 7 days, from 23 Nov 2026 to today: at first 80, at most 80 (23 Nov), today 1; limit 5. " +
		"Brownouts: 2 Feb, 16 Feb. Sunset 1 Mar 2027."
	if points := strings.Count(pic.Line, "L") + 1; pic.Says != says || points != 80 || len(pic.Bands) != 2 {
		t.Errorf("got %d points, %d bands and %q", points, len(pic.Bands), pic.Says)
	}
	wants(t, "the picture", draw("picture", pic), ">limit 5</text>", ">today, 10 Feb</text>", ">sunset, 1 Mar</text>",
		`y1="93.75%" y2="93.75%"/>`, ">1 Feb</text>")
	s.Sunset = s.Sunset.AddDate(1, 0, 0)
	if pic := from(10); len(pic.Marks) != 1 || len(pic.Bands) != 1 {
		t.Errorf("got %+v and %+v, want only what is near", pic.Marks, pic.Bands)
	}
	wants(t, "the picture of a few days", draw("picture", from(85)), ">1 Feb</text>", ">8 Feb</text>", "from 6 Feb 2027")
	if from(heatDays) != nil {
		t.Error("a picture was drawn of what is not known")
	}
	p.Report.Since = today.Add(-day)
	p.Plan.Versions[1].Gate = &lifecycle.GateReading{Gate: *s.Gate, Evidence: &lifecycle.Evidence{}}
	if says := p.Unknown(p.Plan.Versions[1]); !strings.Contains(says, "looks back 7 days, and counts are complete since 9 Feb") {
		t.Errorf("got %q", says)
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

// The link of a letter opens it in a mail program: with a recipient if the contact is an address, and
// whole unless that is too long.
func TestMailLink(t *testing.T) {
	const letter = "Subject: Move by 1 Mar\n\nHello,\n\n50 % of a+b & c = d? Yes.\n"
	long := letter + strings.Repeat("x", maxMail)
	for _, test := range []struct {
		contact, letter string
		to, body        string
	}{
		{"ops@a.example", letter, "ops@a.example", "Hello,\r\n\r\n50 % of a+b & c = d? Yes.\r\n"},
		{"a?bcc=x&b+c@a.example", letter, "a?bcc=x&b+c@a.example", "Hello,\r\n\r\n50 % of a+b & c = d? Yes.\r\n"},
		{"ops@a.example", long, "ops@a.example", ""},
		{"ops@a.example, b@b.example", letter[:30], "", "Hello,"},
		{"Ops <ops@a.example>", letter[:30], "", "Hello,"},
		{"https://a.example/contact", letter[:30], "", "Hello,"},
		{"", letter[:30], "", "Hello,"},
	} {
		link := mailTo(test.contact, test.letter)
		u, err := url.Parse(string(link.Href))
		if err != nil || u.Scheme != "mailto" || len(link.Href) > maxMail || strings.Contains(u.RawQuery, "+") {
			t.Fatalf("%q: got %v, %s", test.contact, err, link.Href)
		}
		to := must(url.PathUnescape(u.Opaque))
		q := u.Query()
		if to != test.to || q.Get("body") != test.body || q.Get("subject") != "Move by 1 Mar" || link.Whole != q.Has("body") {
			t.Errorf("%q: got %q with %q", test.contact, to, q)
		}
	}
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
		`<h1 class="verdict wrong">v1 cannot be retired yet: earliest 3 Mar 2027</h1>`,
		`<p class="why">6 proven clients in 7 days (limit 5); the evidence of `+
			"7 days is incomplete: instance b has not reported since noon; one is missing.</p>",
		`<p class="why">Earliest 3 Mar 2027, after the sunset on 1 Mar 2027, if clients are quiet from 24 Feb 2027.</p>`,
		`<dt>Clients in 7 days</dt><dd><b class="wrong"><a href="/clients?version=v1&gate=counted">6 proven clients</a></b>`,
		`<rect class="used" width="100%" height="8" y="4" rx="4"/><rect class="limit" x="83.33%"`, "limit 5, 1 too many",
		`<dt>Busiest day of 7 days</dt><dd><b><a href="/clients?version=v1&gate=counted&sort=calls7">20 calls</a></b>`,
		`<rect class="used" width="20%"`, `<rect class="limit" x="100%"`, `<span class="muted">limit 100 calls</span>`,
		`<dt>Moved</dt><dd><b><a href="/clients?version=v1&moved=yes">1 of 40 clients</a></b>`, `<rect class="used" width="2.5%"`,
		`<a href="/clients?version=v1&moved=no">39 not moved</a>, in 90 days`,
		`<dt>Earliest date</dt><dd><b class="wrong">3 Mar 2027</b>`, "planned 1 Mar 2027, in 18 days",
		`<li class="wrong"><a href="#instances">Incomplete counts</a>: instance b has not reported since noon.</li>`,
		`<li class="wrong"><a href="#instances">Incomplete counts</a>: one is missing.</li>`,
		`<li class="wrong">Look here.</li>`,
		`<li class="wrong"><a href="/clients?version=v1&moved=no&told=no&known=yes">2 known clients</a> not notified.`,
		"<li>The gate is blind.</li>",
		`<li><a href="/clients?version=v1&known=yes">25 % of calls</a> carry a key. Other names can be claimed by anyone.</li>`,
		`The gate counts <a href="/clients?version=v1&gate=counted">6 clients</a>`+" of 40 in 7 days: 7 proven, 34 unverified. "+
			"Not counted: 1 marked as moved. Not counted: 2 with errors only.</p>",
		`<a href="/clients?version=v1&moved=yes"><b>1</b> marked as moved</a>`,
		`<a href="/clients?version=v1&kind=agent"><b>30</b> named by network</a>`,
	)
	// Too many clients alone are no reason for alarm while the date can still be met.
	page := show(&lifecycle.Evidence{Clients: 6, Earliest: s.Sunset.Add(-day)})
	wants(t, "the overview", page, `<h1 class="verdict">v1 cannot be retired yet: earliest 1 Mar 2027</h1>`,
		`<p class="why">6 proven clients in 7 days (limit 5).</p>`, "Earliest 1 Mar 2027, if clients are quiet from 22 Feb 2027.")
	wants(t, "the overview", show(nil), `<h1 class="verdict wrong">It is not known whether v1 can be retired</h1>`,
		`<p class="why">The counts cannot be read.</p>`, `<dt>Earliest date</dt><dd><b class="wrong">not known</b>`,
		`<dt>Clients in 7 days</dt><dd><b>not known</b><span class="muted">limit 5</span>`)
	p.Now = s.Sunset.Add(time.Hour)
	page = show(&many)
	wants(t, "the overview", page, `<span class="stage held">held</span>`, "Past its sunset and still served, because the gate holds.")
	p.Report.Versions = nil
	wants(t, "the overview", show(nil), "7 days: not known", `<dt>Moved</dt><dd><b>not known</b>`)
}

// Numbers without a limit have no bar.
func TestFiguresWithoutLimit(t *testing.T) {
	p := &overviewPage{page: planned(t)}
	s := p.Schedule("v1")
	p.Report.Versions = []evidence.Version{{
		Version: "v1", Traffic: evidence.Traffic{Week: evidence.Count{Calls: 1200, Clients: 1}},
		Groups: evidence.Groups{Clients: 2, Moved: 2},
	}}
	for _, test := range []struct {
		name   string
		gate   *lifecycle.GateReading
		now    time.Time
		sunset bool
		want   []string // label, value and limit of those without a bar
		bars   int
	}{
		{"no gate", nil, today, true, []string{
			"Clients in 7 days: 1 client, no limit: the plan has no gate", "Calls in 7 days: 1,200 calls, no limit: the plan has no gate",
		}, 2},
		{"no sunset", nil, today, false, []string{
			"Clients in 7 days: 1 client, no limit: the plan has no gate", "Calls in 7 days: 1,200 calls, no limit: the plan has no gate",
		}, 1},
		{"retired", nil, s.Sunset, true, nil, 1},
		{"released", &lifecycle.GateReading{Released: s.Sunset}, s.Sunset, true, []string{"Gate passed: 1 Mar 2027, final"}, 1},
	} {
		p.Now = test.now
		planned := *s
		if !test.sunset {
			planned.Sunset = time.Time{}
		}
		p.Plan.Plan.Versions["v1"] = &planned
		v := lifecycle.Status{Version: "v1", Gate: test.gate, Stage: planned.Stage(p.Now, true)}
		v.Verdict = planned.Verdict("v1", test.gate, p.Now)
		var got []string
		bars := 0
		for _, f := range p.Figures(v) {
			if f.Bar != nil {
				bars++
				continue
			}
			got = append(got, f.Label+": "+f.Value+", "+f.About.Before)
		}
		if !slices.Equal(got, test.want) || bars != test.bars {
			t.Errorf("%s: got %q and %d bars, want %q and %d", test.name, got, bars, test.want, test.bars)
		}
	}
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
			"", "not known", ""},
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
		want := []step{{"Sunset", "1 Mar 2027, 00:00 UTC", say(tt.atSunset, "3 clients", tt.listOfThatSunset)}}
		row := "<dt>Next window</dt><dd>no window, position 0.900</dd>"
		if tt.label != "" {
			want = slices.Insert(want, 0, step{tt.label, tt.when, say(tt.says, "3 clients", tt.path)})
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
