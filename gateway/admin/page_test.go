package admin

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/humanize"
)

var now = time.Date(2027, 2, 10, 10, 20, 0, 0, time.UTC)

// facts is a plan for v1 and no calls yet.
func facts(t testing.TB) *Facts {
	t.Helper()
	plan, err := lifecycle.Parse([]byte(`{"versions": {"v1": {"deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z",
		"successor": "/v3/swap/quote", "docs": "https://example.org/migrate-v1", "brownouts": [
			{"from": "2027-02-02T14:00:00Z", "to": "2027-02-02T15:00:00Z", "share": 0.5},
			{"from": "2027-02-16T14:00:00Z", "to": "2027-02-16T18:00:00Z", "share": 0.75}], "exempt": ["203.0.113.0/24", "client:Spared"]}}}`), []string{"v3", "v1"})
	if err != nil {
		t.Fatal(err)
	}
	return &Facts{Now: now, Current: "v3", Plan: lifecycle.Snapshot{Plan: plan, Hash: "abc", Versions: []lifecycle.Status{{Version: "v3", Stage: lifecycle.Active}, {Version: "v1", Stage: lifecycle.Deprecated}}}}
}

func TestWords(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{clean("a\u202eb\x00c\nd"), "a\ufffdb\ufffdc d"},
		{short("origin https://short.example"), "origin https://short.example"},
		{short(strings.Repeat("é", 60)), strings.Repeat("é", 30) + "…" + strings.Repeat("é", 12)},
		{coord(12).String(), "12"}, {coord(12.34).String(), "12.3"}, {coord(0.04).String(), "0"}, {percent(12.34).String(), "12.3%"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
	for n, want := range map[uint64]uint64{0: 2, 2: 2, 3: 4, 10: 10, 11: 20, 1 << 63: 1 << 63} {
		if got := niceAbove(n); got != want {
			t.Errorf("above %d: got %d, want %d", n, got, want)
		}
	}
}

// The overview, the plan for programs and `gateway plan` tell the same steps. A gate
// whose release is confirmed holds nothing back, so none of them says "unless".
func TestStepsOfAConfirmedGate(t *testing.T) {
	const plan = `{"versions": {"v1": {"deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-02-01T00:00:00Z",
		"successor": "/v3/swap/quote", "docs": "https://example.org/migrate-v1", "gate": {"maxClients": 5%s}}}}`
	const sunset = "sunset: every client gets 410 from here on"
	for confirmed, want := range map[string]string{
		"":                   sunset + ", unless there were more than 5 clients within 7 days, or more than 0 calls on one of them",
		`, "released": true`: sunset,
	} {
		parsed, err := lifecycle.Parse(fmt.Appendf(nil, plan, confirmed), []string{"v3", "v1"})
		if err != nil {
			t.Fatal(err)
		}
		f := facts(t)
		f.Plan.Plan = parsed
		steps := f.Schedule("v1").Changes("v1")
		if got := steps[len(steps)-1].What; got != want {
			t.Errorf("%q: got %q, want %q", confirmed, got, want)
		}
		if told := parsed.Outlook(now)[1].Changes; !slices.Equal(told, steps) {
			t.Errorf("%q: the page has %v, and the plan %v", confirmed, steps, told)
		}
		page := string(must(render("overview.html", newOverview(f, 2))))
		if !strings.Contains(page, want+" <span") {
			t.Errorf("%q: the overview lacks %q", confirmed, want)
		}
	}
}

// A heat map has one stroke for each run of days, and a chart one point for each day.
// A plan may reach further than a Duration does, which ends after 292 years.
func TestMonthsOfAThousandYears(t *testing.T) {
	date := func(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }
	for _, last := range []int{2021, 2031, 2312, 2999} {
		marks := months(date(2020).Add(-day), date(last))
		if len(marks) < 5 || len(marks) > 13 {
			t.Errorf("until %d: got %d marks, want about a dozen", last, len(marks))
		}
		for i, m := range marks {
			if m.X < 0 || m.X > 100 || i > 0 && m.X <= marks[i-1].X {
				t.Errorf("until %d: got mark %d at %v, want it within the picture, after the last", last, i, m.X)
			}
		}
	}
}

func TestPictures(t *testing.T) {
	f := facts(t)
	today := evidence.Day(now.Truncate(day).Unix())
	at := func(back int) evidence.Day { return today - evidence.Day(back)*86400 }
	c := &evidence.Client{Version: "v1", Client: "origin https://a.example", Days: []evidence.DayCount{{Day: at(95), Calls: 1}, {Day: at(89), Calls: 5}, {Day: at(3), Calls: 120}, {Day: at(2), Calls: 999}, {Day: at(0), Calls: 1000}}}
	if got := f.Levels(c); got != [5]string{1: "M0 5h1", 3: "M86 5h2", 4: "M89 5h1"} {
		t.Errorf("got %+v", got)
	}
	if windows := f.Shades("v1"); len(windows) != 1 || windows[0] != (shade{81, 1}) {
		t.Errorf("got windows %+v, want that of 2 February", windows)
	}
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, "chart", f.ClientChart(c)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`class="line" d="M0.5 99.5L1.5 100L`, `class="line partial" d="M88.5 100L89.5 0"`, `L89.5 0V100H.5z"`, "<span>1,000</span><span>500</span>",
		`<rect class="shade" x="81" width="1"`, "highest 1,000, today so far 1,000, in all 2,124",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the chart lacks %s: %s", want, &b)
		}
	}
	_, path, _ := strings.Cut(b.String(), `class="line" d="`)
	path, _, _ = strings.Cut(path, `"`)
	if strings.Count(path, "L") != heatDays-2 || strings.Count(b.String(), `class="shade"`) != 1 {
		t.Errorf("got the line %s in %s", path, &b)
	}
	line := f.Timeline("v1")
	windows := line.Brownouts
	if len(windows) != 2 || line.Tall(windows[1]) <= line.Tall(windows[0]) || line.Anchor(line.Sunset) != "end" || line.Anchor(line.Deprecated) != "start" {
		t.Errorf("got %+v", line)
	}
	page := string(must(render("overview.html", newOverview(f, 2))))
	if past, coming := strings.Index(page, `class="window past"`), strings.Index(page, `class="window"`); past < 0 || coming < past {
		t.Errorf("got the first window at %d and the second at %d, want one past and one to come", past, coming)
	}
}

// The letter has the client's own numbers, the windows that concern it, and only the
// steps that concern it.
func TestLetter(t *testing.T) {
	f := facts(t)
	c := &evidence.Client{
		Version: "v1", Client: "client Harbour\u202e Wallet", Known: true, Software: "mozilla", Sum: evidence.Sum{Calls7: 70, Calls90: 1234}, Found: now.Truncate(day).Add(-3 * day), LastSeen: now, Position: 0.6, Last410: now.Add(-time.Hour),
		Days:     []evidence.DayCount{{Day: evidence.Day(now.Truncate(day).Unix()), Calls: 9}},
		Findings: []evidence.FindingCount{{Outcome: event.Refused, Code: fault.MissingParameter, Param: "recipient", Calls: 9}, {Outcome: event.SameMoney, Calls: 1}},
	}
	f.Moves = map[string][]string{"v1": {"Call /v3/swap/quote instead of /v1/quote.", "Second.", "Third."}}
	letter := must(f.Letter(c))
	for _, want := range []string{
		"Subject: Please move to v3 by 1 Mar 2027\n", "1,234 calls in the last 90 days, 70 in the last 7. The last one was on 10 Feb 2027, from mozilla.",
		"Your client Harbour\ufffd Wallet will be refused from 1 Mar 2027, 00:00 UTC.", "last refused on 10 Feb 2027, 09:20 UTC",
		"  - 16 Feb 2027, 14:00 UTC, for 4h\n", "1. Call /v3/swap/quote instead of /v1/quote", "4. Always send recipient: v1 answers without it, and v3 refuses (9 calls on 7 Feb 2027).",
		"API-Rehearse: retired", "https://example.org/migrate-v1",
	} {
		if !strings.Contains(letter, want) {
			t.Errorf("the letter lacks %q:\n%s", want, letter)
		}
	}
	if strings.Contains(letter, "integratorId") || strings.Contains(letter, "2 Feb 2027, 14:00") || strings.Contains(letter, "5. ") {
		t.Errorf("the letter tells what does not concern this client:\n%s", letter)
	}
	exempt, spared := *c, *c
	exempt.Exempt, spared.Client = true, "client Spared" // by the plan when it last called, and by a line that was added since
	for _, c := range []*evidence.Client{&exempt, &spared} {
		if letter := must(f.Letter(c)); strings.Contains(letter, "early warning") || f.InNext(c) != "no, exempt" {
			t.Errorf("windows are announced to an exempt client: %s\n%s", f.InNext(c), letter)
		}
	}
	c.Version = "v2"
	if letter := must(f.Letter(c)); !strings.Contains(letter, "have not set a date yet") || !strings.Contains(letter, "Call v3 instead of v2") {
		t.Errorf("got for a version without plan and guide:\n%s", letter)
	}
}

// A form changes the sunset, the gate and the windows of a version, or says what to
// correct. The plan in force stays as it is.
func TestForm(t *testing.T) {
	f := facts(t)
	f.Schedule("v1").Gate = &lifecycle.Gate{MaxClients: 5, MaxCallsPerDay: 100, Days: 7, Instances: 2}
	const window = "2027-02-16T14:00:00Z 4h 75 %"
	unchanged := f.formOf("v1")
	for _, test := range []struct {
		name   string
		change func(*whatIfForm)
		want   string // the sunset, the gate and the last window; or the fault
	}{
		{"nothing", func(*whatIfForm) {}, "2027-03-01T00:00:00Z 5 100 7 2 " + window},
		{"sunset", func(f *whatIfForm) { f.Sunset = "2027-04-01T12:00:00" }, "2027-04-01T12:00:00Z 5 100 7 2 " + window},
		{"gate", func(f *whatIfForm) { f.Clients, f.Days = "9", "35" }, "2027-03-01T00:00:00Z 9 100 35 2 " + window},
		{"no gate", func(f *whatIfForm) { f.Clients, f.Calls, f.Days = "", "", "" }, "2027-03-01T00:00:00Z none " + window},
		{
			"window", func(f *whatIfForm) { f.From, f.Minutes, f.Percent = "2027-02-18T14:00:30", "60", "33.3333" },
			"2027-03-01T00:00:00Z 5 100 7 2 2027-02-18T14:00:30Z 1h 33.3 %",
		},
		{
			"a window of the plan", func(f *whatIfForm) { f.From, f.Minutes, f.Percent = "2027-02-16T14:00", "240", "75" },
			"2027-03-01T00:00:00Z 5 100 7 2 " + window,
		},
		{"no day", func(f *whatIfForm) { f.Sunset = "tomorrow, at noon, please" }, "sunset: enter a date"},
		{"no number", func(f *whatIfForm) { f.Clients = "few" }, "max clients: enter a number"},
		{"too few", func(f *whatIfForm) { f.Calls = "-1" }, "max calls: enter a number"},
		{"too long", func(f *whatIfForm) { f.Days = "91" }, "days: enter a number from 1 to 90"},
		{"no begin", func(f *whatIfForm) { f.Minutes, f.Percent = "60", "25" }, "begin: enter a date"},
		{"no length", func(f *whatIfForm) { f.From, f.Minutes = "2027-02-18T14:00", "0" }, "minutes: enter a number"},
		{
			"a long one", func(f *whatIfForm) { f.From, f.Minutes = "2027-02-18T14:00", "99999999999999999999" },
			"minutes: enter a number",
		},
		{"NaN", func(f *whatIfForm) { f.Percent = "NaN" }, "share: enter a percentage"},
		{"too much", func(f *whatIfForm) { f.Percent = "101" }, "share: enter a percentage"},
		{"too little", func(f *whatIfForm) { f.Percent = "0.01" }, "share: enter a percentage"},
		{
			"overlap", func(f *whatIfForm) { f.From, f.Minutes, f.Percent = "2027-02-16T17:00", "120", "50" },
			"versions.v1.brownouts[2]: overlaps",
		},
		{"before the windows", func(f *whatIfForm) { f.Sunset = "2027-02-10T00:00" }, "is after the sunset"},
	} {
		form := unchanged
		test.change(&form)
		if read, asked := unchanged.with(must(url.Parse(form.Path())).Query()); read != form || !asked {
			t.Errorf("%s: got %+v back, want %+v", test.name, read, form)
		}
		got := ""
		s, _, err := form.change(f.Schedule("v1"))
		var plan *lifecycle.Plan
		if err == nil {
			plan, err = f.With("v1", s)
		}
		if err != nil {
			got = err.Error()
		} else {
			got = describe(plan.Versions["v1"])
		}
		if err == nil && got != test.want || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	if got := describe(f.Schedule("v1")); got != "2027-03-01T00:00:00Z 5 100 7 2 "+window {
		t.Errorf("the plan in force is now %s", got)
	}
}

// describe is the sunset, the gate and the last window of a schedule.
func describe(s *lifecycle.Schedule) string {
	gate := "none"
	if g := s.Gate; g != nil {
		gate = fmt.Sprint(g.MaxClients, g.MaxCallsPerDay, g.Days, g.Instances)
	}
	last := s.Brownouts[len(s.Brownouts)-1]
	return fmt.Sprintf("%s %s %s %s %s", humanize.Timestamp(s.Sunset), gate,
		humanize.Timestamp(last.From), humanize.Duration(last.To.Sub(last.From)), humanize.Percent(last.Share))
}

// A release that the plan confirms is about its sunset, and does not hold for another.
func TestFormDropsAReleaseOfAnotherSunset(t *testing.T) {
	f := facts(t)
	f.Schedule("v1").Gate = &lifecycle.Gate{Days: 7, Confirmed: true}
	form := f.formOf("v1")
	kept, _, err := form.change(f.Schedule("v1"))
	if err != nil || !kept.Gate.Confirmed {
		t.Errorf("got %+v, %v, want it confirmed", kept, err)
	}
	form.Sunset = "2027-04-01T00:00"
	moved, _, err := form.change(f.Schedule("v1"))
	if err != nil || moved.Gate.Confirmed || !f.Schedule("v1").Gate.Confirmed {
		t.Errorf("got %+v, %v, want it unconfirmed, and the plan as it was", moved, err)
	}
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// Nothing is needed to show a page.
func TestEmpty(t *testing.T) {
	for name, show := range map[string]func() ([]byte, error){
		"overview": func() ([]byte, error) { return render("overview.html", newOverview(&Facts{Now: now}, 2)) },
		"file":     func() ([]byte, error) { return File(Facts{Now: now}) },
		"clients": func() ([]byte, error) {
			return render("clients.html", newClientsPage(&Facts{Now: now}, evidence.Query{}, nil))
		},
		"what if": func() ([]byte, error) {
			page, err := newWhatIf(&Facts{Now: now}, url.Values{}, func(*lifecycle.Plan) (evidence.Simulation, error) { return evidence.Simulation{}, nil })
			if err != nil {
				return nil, err
			}
			return render("what-if.html", page)
		},
		"health": func() ([]byte, error) {
			return render("health.html", healthPage{frame: frame{Facts: &Facts{Now: now}}})
		},
	} {
		if body, err := show(); err != nil || !strings.HasSuffix(string(body), "</html>\n") {
			t.Errorf("%s: got %v and\n%s", name, err, body)
		}
	}
}

// A letter opens as a mail only if the contact is an address.
func TestMailTo(t *testing.T) {
	got := mailTo("Dev <dev@acme.example>", "Subject: Please move & soon\n\nHello,\nline two\n")
	if want := "mailto:dev%40acme.example?subject=Please%20move%20%26%20soon&body=Hello%2C%0Aline%20two%0A"; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, contact := range []string{"", "https://shop.example/contact", "javascript:alert(1)", "ask Tom"} {
		if got := mailTo(contact, "Subject: x\n"); got != "" {
			t.Errorf("%q: got %s", contact, got)
		}
	}
}
