package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/static"
)

const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

// get asks as a browser does.
func get(t testing.TB, address string) (int, string, http.Header) {
	t.Helper()
	return ask(t, "GET", address, "", "Accept", browserAccept)
}

// wants fails for each text that a page lacks.
func wants(t *testing.T, page, body string, texts ...string) {
	t.Helper()
	for _, want := range texts {
		if !strings.Contains(body, want) {
			t.Errorf("%s lacks %s", page, want)
		}
	}
}

func TestRootByAccept(t *testing.T) {
	l := begin(t, today, halfYear, "")
	for accept, html := range map[string]bool{
		browserAccept: true, "": false, "*/*": false, "application/json": false, strings.Repeat("text/html;q=0,", 99): false,
	} {
		status, body, header := ask(t, "GET", l.URL+"/", "", "Accept", accept)
		if status != 200 || strings.HasPrefix(body, "<!DOCTYPE html>") != html || json.Valid([]byte(body)) == html {
			t.Errorf("%q: got %d %.60q, want a page: %v", accept, status, body, html)
		}
		if header.Get("Vary") != "Accept" || header.Get("Cache-Control") != "no-store" {
			t.Errorf("%q: got headers %v", accept, header)
		}
	}
}

// Every page forbids frames and all scripts but its own, which only the page of a client has, whatever its status.
func TestPageHeaders(t *testing.T) {
	l := begin(t, today, halfYear, "")
	l.live(t, town()[:1])
	for path, want := range map[string]int{
		"/": 200, "/clients": 200, "/client?client=client+Harbour+Wallet": 200, "/health": 200,
		"/clients?version=v9": 400, "/clients?colour=red": 400, "/client": 400, "/client?client=nobody": 404,
		"/clinets": 404,
	} {
		status, body, header := get(t, l.URL+path)
		kind := header.Get("Content-Type")
		if status != want || kind != "text/html; charset=utf-8" || !strings.HasSuffix(body, "</html>") {
			t.Errorf("%s: got %d %s, want %d as a page", path, status, kind, want)
		}
		policy := header.Get("Content-Security-Policy")
		wants(t, path+": the policy", policy, "default-src 'none'; ", "style-src 'sha256-", "form-action 'self'",
			"base-uri 'none'", "frame-ancestors 'none'")
		script := path == "/client?client=client+Harbour+Wallet"
		wanted := "; script-src " + static.PolicyHash(copyScript)
		if strings.Contains(policy, "script") != script || strings.HasSuffix(policy, wanted) != script ||
			strings.Count(body, "<script>") != strings.Count(policy, "script-src") || strings.Contains(policy, "unsafe") ||
			header.Get("Referrer-Policy") != "same-origin" || header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: got headers %v", path, header)
		}
		for _, no := range []string{"<script ", " style=", " onclick", "ZgotmplZ"} {
			if strings.Contains(body, no) {
				t.Errorf("%s: the page has %s", path, no)
			}
		}
	}
}

// Without the counts, the plan is still shown.
func TestPagesWithoutDatabase(t *testing.T) {
	l := begin(t, today, halfYear, "")
	away := reporter{err: errors.New("the database is <b>away</b>")}
	server := httptest.NewServer(Handler(options(away, l.keeper.Snapshot)))
	defer server.Close()
	for path, want := range map[string]string{
		"/": "The plan below is in force", "/clients": "", "/client?client=x": "",
	} {
		status, body, _ := get(t, server.URL+path)
		if status != 503 {
			t.Errorf("%s: got %d", path, status)
		}
		wants(t, path, body, "the database is &lt;b&gt;away&lt;/b&gt;", want)
	}
	if status, _, _ := get(t, server.URL+"/health"); status != 200 {
		t.Errorf("health: got %d", status)
	}
	status, body, _ := get(t, server.URL+"/admin/usage")
	if status != 503 || !strings.Contains(body, `"error": "The counts cannot be read: the database is`) {
		t.Errorf("usage: got %d %s", status, body)
	}
}

// The name, the mark and the icon are those of the public pages, and so are the colors.
func TestBrand(t *testing.T) {
	brand := string(must(os.ReadFile("../site/common/brand.html")))
	public := string(must(os.ReadFile("../site/common/page.css")))
	page := draw("overview.html", &overviewPage{page: page{Title: "Overview"}})
	wants(t, "the page", page, "<title>Overview · Quote gateway, operator</title>", "Quote gateway</a>")
	for _, part := range []string{`<link rel="icon" href="[^"]*">`, `<svg viewBox="0 0 32 32"[^<]*(?s:.*?)</svg>Quote gateway`} {
		wants(t, "the page", page, must(regexp.Compile(part)).FindString(brand))
	}
	for _, name := range []string{"page", "card", "panel", "text", "line", "accent", "on-accent", "bad"} {
		is := regexp.MustCompile(`--` + name + `: (#[0-9a-f]{6});`)
		ours := is.FindAllString(style, 2)
		if theirs := is.FindAllString(public, 2); len(ours) != 2 || !slices.Equal(ours, theirs) {
			t.Errorf("%s: got %q, want %q", name, ours, theirs)
		}
	}
}

// hostile texts, each of which would show if it were not escaped.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `javascript:alert(1)`,
	`{{.}}`, `</textarea><script>alert(2)</script>`, "\u202eevil\u202c", `</title><h1>x`, `&lt;b&gt;`,
	strings.Repeat("w", 500), `a&client=b#c?d=%00`,
}

// Whatever clients send, or an operator has written down, is shown as text.
func TestHostileText(t *testing.T) {
	l := begin(t, today, halfYear, "")
	dead := evidence.Instance{Name: hostile[0], Plan: hostile[1]}
	read := evidence.Report{At: today, Notes: hostile, Instances: []evidence.Instance{dead}, Pages: 1, Page: 1}
	row := Row{Wrong: true}
	for _, text := range hostile {
		row.Cells = append(row.Cells, text)
		read.Clients = append(read.Clients, evidence.Client{
			Version: "v1", Client: "origin " + text, Known: true, Software: text, LastSeen: today,
			Contact:  evidence.Contact{Contact: text, Notes: text},
			Findings: []event.Finding{{Outcome: event.Refused, Code: fault.Code(text), Param: text}},
		})
	}
	read.Matching = len(read.Clients)
	o := options(reporter{report: read}, l.keeper.Snapshot)
	o.Health = func() []Table {
		return []Table{{Title: hostile[0], About: hostile[1], Head: hostile[:6], Rows: []Row{row}}}
	}
	server := httptest.NewServer(Handler(o))
	defer server.Close()
	query := url.Values{"software": {hostile[1]}}.Encode()
	for _, path := range []string{"/", "/clients?" + query, "/client?client=x", "/health"} {
		status, body, _ := get(t, server.URL+path)
		if status != 200 {
			t.Errorf("%s: got %d", path, status)
		}
		for _, no := range []string{
			"<script>alert", "<img", "' onmouseover='alert", `href="javascript:`, "\u202e", "</textarea><script", "</title><h1>",
		} {
			if strings.Contains(body, no) {
				t.Errorf("%s: the page has %q", path, no)
			}
		}
	}
	// A link leads to the client's own page, with its name whole.
	_, body, _ := get(t, server.URL+"/clients")
	for _, text := range hostile {
		wants(t, "the list", html.UnescapeString(body), "/client?"+url.Values{"client": {"origin " + text}}.Encode())
	}
}

// The list is of old versions unless another is asked for. It is sorted and paged by links,
// and filtered by a form that keeps the rest of the query.
func TestClientsListed(t *testing.T) {
	l := begin(t, today, halfYear, "")
	l.live(t, append(town(), client{"client 50 % o_f", "https://half.example", "curl", "v1", 0, 3, omits}))
	rows := func(query string) (n int, body string) {
		_, body, _ = get(t, l.URL+"/clients?"+query)
		table, _, _ := strings.Cut(body, "<h2>Day by day</h2>")
		return strings.Count(table, `<th scope="row" class="who">`), body
	}
	n, body := rows("per=10&version=v1")
	wants(t, "the first page", body,
		`href="/clients?per=10&amp;sort=calls7&amp;version=v1"`,
		`href="/clients?page=2&amp;per=10&amp;version=v1" rel="next"`,
		`href="/admin/usage.csv?version=v1"`, "Page 1 of 4", "31 clients in 90 days", `<option value="v1" selected>`,
		`<td class="d" title="position 0.052">no, exempt</td>`)
	if n != 10 || strings.Contains(body, `rel="prev"`) {
		t.Errorf("the first page has %d rows, or a page before it", n)
	}
	_, body = rows("finding=refused&sort=calls7")
	wants(t, "the filtered list", body, `aria-sort="descending"`, "refused: omits recipient")
	if strings.Contains(body, "same amounts, new format</td>") {
		t.Error("the filter is not applied")
	}
	old, body := rows("per=1000")
	if old != 32 || strings.Contains(body, "<td>v3</td>") {
		t.Errorf("got %d rows without a version, want the 32 of old ones", old)
	}
	v1, _ := rows("per=1000&version=v1")
	legacy, _ := rows("per=1000&version=v3legacy")
	v3, _ := rows("per=1000&version=v3")
	all, body := rows("per=1000&old=all")
	wants(t, "the list of all", body, " rows, one for each version)", `<input type="hidden" name="old" value="all">`)
	if v1+legacy != old || v3 == 0 || all != old+v3 {
		t.Errorf("got %d of v1, %d of v3legacy, %d of v3, and %d in all", v1, legacy, v3, all)
	}
	for search, want := range map[string]int{
		"harbour": 1, "HARBOUR W": 1, "app-1": 7, "okhttp": 5, "nobody": 0, "client ": 5, // v1 and v3legacy
		"%": 1, "50 % o_f": 1, "5_ % o_f": 0, `\`: 0, "'": 0,
	} {
		n, body := rows("per=1000&search=" + url.QueryEscape(search))
		if n != want || !strings.Contains(body, `name="search" value="`+html.EscapeString(search)+`"`) {
			t.Errorf("%q: got %d rows, want %d", search, n, want)
		}
	}
	_, body = rows("search=app-1") // nobody of these was told, or has moved
	wants(t, "the table", body, ">Software</th>", ">Version</th>")
	for _, empty := range []string{">Notified</th>", ">Rehearsed</th>", "Find out who this is"} {
		if strings.Contains(body, empty) {
			t.Errorf("the table has %s, and nothing in it", empty)
		}
	}
	_, body = rows("kind=agent")
	wants(t, "clients known by their software", body, "Find out who this is", "LOG_CLIENT_ADDRESS=true")
	n, body = rows("software=mozilla&moved=no&search=app-1")
	wants(t, "the search", body, `<input type="hidden" name="software" value="mozilla">`,
		`<option value="no" selected>no</option>`)
	if n == 0 {
		t.Error("got no rows of a search within a filter")
	}
	for _, search := range []string{strings.Repeat("a", 101), "a\x00b", "a\xffb"} {
		status, body, _ := get(t, l.URL+"/clients?search="+url.QueryEscape(search))
		if status != 400 || !strings.Contains(body, "at most 100 bytes of printable text") {
			t.Errorf("%.10q: got %d %s", search, status, body)
		}
	}
	_, body, _ = get(t, l.URL+"/client?client=client+Quayside")
	wants(t, "the client's page", body, "<bdi>Quayside</bdi>", "ops@Q.example", "Told on 3 January.", "On v1", "On v3",
		"would get a different amount from v3, because v1 ignores integratorId", "yes, last served by v3 on 10 Feb 2027")
}

// How many clients the next window refuses is one number: on the overview, in the list
// of clients and its table, row by row, and in the simulation.
func TestOneFigureForTheNextWindow(t *testing.T) {
	const end = `"to": "2027-02-16T18:00:00Z", "share": `
	l := begin(t, today, strings.Replace(halfYear, end+"1", end+"0.5", 1), "")
	for i, c := range []struct {
		name string
		code fault.Code
	}{{"client Marked", ""}, {"origin https://quiet.example", ""}, {"origin https://errs.example", fault.InvalidAmount}} {
		e := &event.Event{
			Time: today.AddDate(0, 0, -60), Version: "v1", Client: c.name, Quotes: true, Pair: &chain.Pair{}, Code: c.code,
			Caller: caller.Caller{Agent: "curl", Addr: netip.AddrFrom4([4]byte{10, 9, byte(i), 1})},
		}
		if c.code != "" {
			e.Pair = nil
		}
		l.recorder.Observe(e)
	}
	l.live(t, town())
	_, overview, _ := get(t, l.URL+"/")
	next := regexp.MustCompile(`50 % of clients: (would refuse )<a href="([^"]*)">((\d+) clients)</a>([^<]*)\.`)
	found := next.FindStringSubmatch(overview)
	if found == nil {
		t.Fatalf("the overview has no figure of the next window:\n%s", overview)
	}
	wants(t, "the overview", overview, `<bdi>ops@H.example</bdi>`)
	figure := found[4]
	list := html.UnescapeString(found[2])
	report := must(l.read.Report(t.Context(), evidence.Query{}))
	simulation := report.Simulate(l.plan().Plan, lifecycle.ReadGates(l.plan().Plan, l.read, today))
	if says := simulation.Windows[0].Sentence(); found[1]+found[3]+found[5] != says {
		t.Errorf("the overview says %q, the simulation %q", found[0], says)
	}
	if n, err := strconv.Atoi(figure); err != nil || n < 3 || n > 9 {
		t.Errorf("got %s, want some of the 11 that have not moved", figure)
	}
	_, body, _ := get(t, l.URL+"/clients?per=1000&version=v1")
	if n := strconv.Itoa(strings.Count(body, `">yes</td>`)); n != figure {
		t.Errorf("the list says yes of %s clients, want %s", n, figure)
	}
	_, body, _ = get(t, l.URL+"/clients?per=1000&version=v1&moved=no")
	still := strconv.Itoa(strings.Count(body, `<span class="known">v1</span>`)) // in the heat map
	counted := strconv.Itoa(l.plan().Versions[2].Gate.Clients)
	for path, want := range map[string]string{
		list: figure + " clients in 90 days",
		strings.Replace(list, "/clients", "/admin/usage", 1): `"matching": ` + figure + ",",
		"/#":                                   `would refuse <a href="/clients?version=v1&amp;moved=no">` + still + " clients",
		"/":                                    `<p class="why">` + counted + " clients in 7 days (limit 5)",
		"/?":                                   still + " not moved</a>, in 90 days",
		"/?figure":                             `<a href="/clients?version=v1&amp;gate=counted">` + counted + " clients</a></b>",
		"/clients?version=v1&gate=counted":     counted + " clients in 90 days",
		"/admin/usage?version=v1&gate=counted": `"matching": ` + counted + ",",
	} {
		_, body, _ := get(t, l.URL+path)
		wants(t, path, body, want)
	}
	for path, want := range map[string]string{
		strings.Replace(list, "/clients", "/admin/usage.csv", 1): figure,
		"/admin/usage.csv?version=v1&gate=counted":               counted,
	} {
		_, table, _ := get(t, l.URL+path)
		if n := strconv.Itoa(strings.Count(table, "\n") - 1); n != want {
			t.Errorf("%s has %s clients, want %s", path, n, want)
		}
	}
}

// All columns of the table of clients fit into a page of 1280 pixels. A search without hits
// says so.
func (w *window) clientColumns(t *testing.T) {
	l := begin(t, today, halfYear, "")
	full := evidence.Client{
		Client: "origin https://" + strings.Repeat("long-name.", 8) + "example", Software: "softwarewithname",
		Sum: evidence.Sum{Calls7: 1_234_567, Calls30: 12_345_678, Calls90: 123_456_789}, LastSeen: today, Last410: today,
		Moved: today, Rehearsed: today, Contact: evidence.Contact{Contact: "someone@partner.example", Notified: today},
		Findings: []event.Finding{{Outcome: event.Refused, Code: fault.MissingParameter, Param: "recipient"}, {}},
	}
	full.Version = "v3legacy"
	soon := full
	soon.Version = "v1"
	for lead, clients := range map[string][]evidence.Client{
		"2 clients in 90 days": {full, soon}, "No client matches": nil,
	} {
		n := len(clients)
		read := evidence.Report{At: today, Clients: clients, Matching: n, Distinct: n, Page: 1, Pages: 1}
		w.serve(Handler(options(reporter{report: read}, l.plan)))
		w.inspect(t, lead, "/clients?search=x", tablet, phone, light)
		if over := seen[int](t, w, "overflow()"); over > 0 {
			t.Errorf("%s: the table is %d pixels too wide", lead, over)
		}
		if got := evaluate[string](t, w, `document.querySelector('.lead').textContent`); !strings.HasPrefix(got, lead) {
			t.Errorf("got %q, want %q", got, lead)
		}
	}
}

// maxPage is what a page may weigh, whatever it shows.
const maxPage = 500_000

func (w *window) crowd(t *testing.T) {
	plan := begin(t, today, halfYear, "").keeper
	w.serve(Handler(options(newMultitude(), plan.Snapshot)))
	for _, path := range []string{"/", "/clients"} {
		if status, body, _ := get(t, w.address+path); status != 200 || len(body) > maxPage {
			t.Errorf("%s: got %d with %d bytes, want at most %d", path, status, len(body), maxPage)
		}
	}
	_, body, _ := get(t, w.address+"/")
	wants(t, "the overview", body, `30 of <a href="/clients?old=yes">10,000 clients of old`)
	w.inspect(t, "a crowd", "/", light, phone)
}

// multitude is a report on 10,000 clients.
type multitude struct{ reporter }

func newMultitude() multitude {
	read := evidence.Report{At: today, Matching: 10_000, Distinct: 10_000, Page: 1, Pages: 100}
	var days []evidence.VersionDay
	first := today.Truncate(24*time.Hour).AddDate(0, 0, -89)
	for d := range 90 {
		on := evidence.Day(first.AddDate(0, 0, d).Unix())
		days = append(days, evidence.VersionDay{Day: on, Served: uint64(d * 1000), Clients: uint64(d)})
	}
	read.Versions = []evidence.Version{{Version: "v3", Days: days}, {Version: "v1", Days: days}}
	omits := event.Finding{Outcome: event.Refused, Code: fault.MissingParameter, Param: "recipient", Calls: 9}
	for i := range 10_000 {
		c := evidence.Client{
			Version: "v1", Client: fmt.Sprintf("origin https://wallet-%d.example", i), Software: "mozilla", LastSeen: today,
			Sum: evidence.Sum{Calls90: uint64(i)}, Last410: today, Rehearsed: today,
			Findings: []event.Finding{omits},
		}
		for d := i % 3; d < 90; d += 3 {
			c.Days = append(c.Days, evidence.DayCount{Day: days[d].Day, Calls: uint64(i%2000 + 1)})
		}
		read.Clients = append(read.Clients, c)
	}
	return multitude{reporter{report: read}}
}

// Report gives the first page.
func (m multitude) Report(_ context.Context, q evidence.Query) (evidence.Report, error) {
	read := m.report
	read.Clients = slices.Clone(read.Clients[:cmp.Or(q.Per, 100)])
	return read, nil
}
