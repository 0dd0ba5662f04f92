package admin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
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
)

const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

// get asks as a browser does, unless the headers say otherwise.
func get(t testing.TB, address string, headers ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", browserAccept)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body), res.Header
}

func TestRootByAccept(t *testing.T) {
	l := begin(t, today, halfYear, "")
	for accept, html := range map[string]bool{
		browserAccept: true, "": false, "*/*": false, "application/json": false, strings.Repeat("text/html;q=0,", 99): false,
	} {
		status, body, header := get(t, l.URL+"/", "Accept", accept)
		if status != 200 || strings.HasPrefix(body, "<!DOCTYPE html>") != html || json.Valid([]byte(body)) == html {
			t.Errorf("%q: got %d %.60q, want a page: %v", accept, status, body, html)
		}
		if header.Get("Vary") != "Accept" || header.Get("Cache-Control") != "no-store" {
			t.Errorf("%q: got headers %v", accept, header)
		}
	}
}

// Every page forbids script and frames, whatever its status.
func TestPageHeaders(t *testing.T) {
	l := begin(t, today, halfYear, "")
	l.live(t, town()[:1])
	for path, want := range map[string]int{
		"/": 200, "/clients": 200, "/client?client=client+Harbour+Wallet": 200, "/what-if": 200, "/health": 200,
		"/what-if?version=v1&from=2027-02-18T14:00&minutes=60&percent=50": 200, "/what-if?version=v1&from=never": 200,
		"/clients?version=v9": 400, "/clients?colour=red": 400, "/client": 400, "/client?client=nobody": 404, "/what-if?version=v9": 400, "/clinets": 404,
	} {
		status, body, header := get(t, l.URL+path)
		if status != want || header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.HasSuffix(body, "</html>\n") {
			t.Errorf("%s: got %d %s, want %d as a page", path, status, header.Get("Content-Type"), want)
		}
		policy := header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'; ", "style-src 'sha256-", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q lacks %s", path, policy, part)
			}
		}
		if strings.Contains(policy, "script") || strings.Contains(policy, "unsafe") || header.Get("Referrer-Policy") != "same-origin" || header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: got headers %v", path, header)
		}
		for _, no := range []string{"<script", " style=", " onclick", "ZgotmplZ"} {
			if strings.Contains(body, no) {
				t.Errorf("%s: the page has %s", path, no)
			}
		}
	}
}

func TestPagesWithToken(t *testing.T) {
	l := begin(t, today, halfYear, token)
	basic := func(user, password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	for authorization, want := range map[string]int{
		basic("operator", token): 200, basic("", token): 200, "Bearer " + token: 200,
		basic(token, ""): 401, basic("operator", token+"x"): 401, basic("operator", ""): 401, "Basic " + token: 401, "Basic": 401, "": 401,
	} {
		for _, path := range []string{"/", "/clients", "/health", "/admin/usage"} {
			status, body, header := get(t, l.URL+path, "Authorization", authorization)
			if status != want {
				t.Errorf("%q, %s: got %d, want %d", authorization, path, status, want)
			}
			offers := header.Values("WWW-Authenticate")
			if want == 401 && (!json.Valid([]byte(body)) || len(offers) != 2 || !strings.HasPrefix(offers[0], "Basic ") || !strings.HasPrefix(offers[1], "Bearer ")) {
				t.Errorf("%q, %s: got %s with %q", authorization, path, body, offers)
			}
		}
	}
}

// broken is a database that does not answer.
type broken struct{ reporter }

func (broken) Simulate(context.Context, *lifecycle.Plan) (evidence.Simulation, error) {
	return evidence.Simulation{}, errors.New("the database is <b>away</b>")
}

// Without the counts, the plan is still shown.
func TestPagesWithoutDatabase(t *testing.T) {
	l := begin(t, today, halfYear, "")
	server := httptest.NewServer(Handler(Options{
		Versions: served, Current: "v3", Metrics: http.NotFoundHandler(), Usage: broken{reporter{err: errors.New("the database is <b>away</b>")}}, Plan: l.keeper.Snapshot,
		Health: func() []Table { return nil }, Log: slog.New(slog.DiscardHandler),
	}))
	defer server.Close()
	for path, want := range map[string]string{"/": "The plan below is in force", "/clients": "", "/client?client=x": "", "/what-if": ""} {
		status, body, _ := get(t, server.URL+path)
		if status != 503 || !strings.Contains(body, "the database is &lt;b&gt;away&lt;/b&gt;") || !strings.Contains(body, want) {
			t.Errorf("%s: got %d %s", path, status, body)
		}
	}
	if status, _, _ := get(t, server.URL+"/health"); status != 200 {
		t.Errorf("health: got %d", status)
	}
}

// hostile texts, each of which would show if it were not escaped.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `javascript:alert(1)`, `{{.}}`, `</textarea><script>alert(2)</script>`,
	"\u202eevil\u202c", `</title><h1>x`, `&lt;b&gt;`, strings.Repeat("w", 500), `a&client=b#c?d=%00`,
}

// Whatever clients send, or an operator has written down, is shown as text.
func TestHostileText(t *testing.T) {
	l := begin(t, today, halfYear, "")
	read := evidence.Report{At: today, Notes: hostile, Instances: []evidence.Instance{{Name: hostile[0], Plan: hostile[1]}}, Pages: 1, Page: 1}
	for _, text := range hostile {
		read.Clients = append(read.Clients, evidence.Client{
			Version: "v1", Client: "origin " + text, Known: true, Contact: evidence.Contact{Contact: text, Notes: text}, Software: text, LastSeen: today,
			Findings: []evidence.FindingCount{{Outcome: event.Refused, Code: fault.Code(text), Param: text}},
		})
	}
	read.Matching = len(read.Clients)
	server := httptest.NewServer(Handler(Options{
		Versions: served, Current: "v3", Metrics: http.NotFoundHandler(), Usage: reporter{report: read}, Plan: l.keeper.Snapshot, Log: slog.New(slog.DiscardHandler),
		Health: func() []Table {
			row := Row{Wrong: true}
			for _, text := range hostile {
				row.Cells = append(row.Cells, text)
			}
			return []Table{{Title: hostile[0], About: hostile[1], Head: hostile[:6], Rows: []Row{row}}}
		},
	}))
	defer server.Close()
	query := url.Values{"software": {hostile[1]}}.Encode()
	for _, path := range []string{"/", "/clients?" + query, "/client?client=x", "/health", "/what-if?" + url.Values{"version": {"v1"}, "from": {hostile[0]}, "minutes": {hostile[1]}, "percent": {hostile[2]}}.Encode()} {
		status, body, _ := get(t, server.URL+path)
		if status != 200 {
			t.Errorf("%s: got %d", path, status)
		}
		for _, no := range []string{"<script", "<img", "' onmouseover='alert", `href="javascript:`, "\u202e", "</textarea><script", "</title><h1>"} {
			if strings.Contains(body, no) {
				t.Errorf("%s: the page has %q", path, no)
			}
		}
	}
	// A link leads to the client's own page, with its name whole.
	_, body, _ := get(t, server.URL+"/clients")
	for _, text := range hostile {
		want := strings.ReplaceAll("/client?"+url.Values{"client": {"origin " + text}}.Encode(), "+", "&#43;")
		if !strings.Contains(body, want) && !strings.Contains(body, strings.ReplaceAll(want, "&#43;", "+")) {
			t.Errorf("no link to the page of %.40q", text)
		}
	}
}

// town's clients can be sorted, filtered and paged by links.
func TestClientLinks(t *testing.T) {
	l := begin(t, today, halfYear, "")
	l.live(t, town())
	_, body, _ := get(t, l.URL+"/clients?per=10&version=v1")
	for _, want := range []string{
		`href="/clients?per=10&amp;sort=calls7&amp;version=v1"`, `href="/clients?finding=refused&amp;per=10&amp;version=v1"`, `href="/clients?known=yes&amp;per=10&amp;version=v1"`,
		`href="/clients?page=2&amp;per=10&amp;version=v1" rel="next"`, `href="/admin/usage.csv?version=v1"`, "Page 1 of 3", "30 clients of v1 in 90 days",
		`<td class="d" title="position 0.052"><bdi>no, exempt</bdi></td>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(body, `rel="prev"`) || strings.Count(body, `<th scope="row" class="who">`) != 20 {
		t.Errorf("the first page has a page before it, or not 10 rows in the table and the heat map")
	}
	_, body, _ = get(t, l.URL+"/clients?finding=refused&sort=calls7")
	if strings.Contains(body, "same amounts, new format</bdi></td>") || !strings.Contains(body, `aria-sort="descending"`) || !strings.Contains(body, "refused: omits recipient") {
		t.Error("the filter or the order is not applied")
	}
	_, body, _ = get(t, l.URL+"/client?client=client+Quayside")
	for _, want := range []string{"<bdi>Quayside</bdi>", "ops@Q.example", "Told on 3 January.", "On v1", "On v3", "would get a different amount from v3, because v1 ignores integratorId", "Leave integratorId out", "yes, last served by v3 on 10 Feb 2027"} {
		if !strings.Contains(body, want) {
			t.Errorf("the client's page lacks %q", want)
		}
	}
	_, body, _ = get(t, l.URL+"/what-if?version=v1&from=2027-02-18T14:00&minutes=60&percent=50")
	for _, want := range []string{"would refuse ", "&#34;from&#34;: &#34;2027-02-18T14:00:00Z&#34;", "&#34;share&#34;: 0.5", "origin https://app-3.example", "sunset"} {
		if !strings.Contains(body, want) {
			t.Errorf("the prediction lacks %q", want)
		}
	}
	if strings.Contains(body, "client Quayside") {
		t.Error("the prediction names a client that has moved")
	}
	if n := len(l.keeper.Snapshot().Plan.Versions["v1"].Brownouts); n != 3 {
		t.Errorf("the plan in force has %d windows after the prediction", n)
	}
}

// The list is of old versions unless another is asked for, and a part of a name finds
// clients in it.
func TestClientsListed(t *testing.T) {
	l := begin(t, today, halfYear, "")
	l.live(t, append(town(), client{"client 50 % o_f", "https://half.example", "curl", "v1", 0, 3, omits}))
	rows := func(query string) (n int, body string) {
		_, body, _ = get(t, l.URL+"/clients?per=1000"+query)
		table, _, _ := strings.Cut(body, "<h2>Day by day</h2>")
		return strings.Count(table, `<th scope="row" class="who">`), body
	}
	old, body := rows("")
	if old != 32 || !strings.Contains(body, "32 clients of old versions in 90 days") || strings.Contains(body, "<bdi>v3</bdi></td>") {
		t.Errorf("got %d rows without a version, want the 32 of old ones:\n%.3000s", old, body[strings.Index(body, "<main"):])
	}
	v1, _ := rows("&version=v1")
	legacy, _ := rows("&version=v3legacy")
	v3, _ := rows("&version=v3")
	if all, body := rows("&old=all"); v1+legacy != old || v3 == 0 || all != old+v3 || !strings.Contains(body, " rows, one for each version)") {
		t.Errorf("got %d of v1, %d of v3legacy, %d of v3, and %d in all", v1, legacy, v3, all)
	}
	for search, want := range map[string]int{
		"harbour": 1, "HARBOUR W": 1, "app-1": 7, "okhttp": 5, "nobody": 0, "client ": 5, // v1 and v3legacy
		"%": 1, "50 % o_f": 1, "5_ % o_f": 0, `\`: 0, "'": 0, "okhttp #5bdf": 5,
	} {
		n, body := rows("&search=" + url.QueryEscape(search))
		if n != want || !strings.Contains(body, `name="search" value="`+template.HTMLEscapeString(search)+`"`) {
			t.Errorf("%q: got %d rows, want %d", search, n, want)
		}
	}
	if n, body := rows("&search=app-1&moved=no"); n == 0 || !strings.Contains(body, `<input type="hidden" name="moved" value="no">`) ||
		!strings.Contains(body, `<a href="/clients?moved=no&amp;old=yes&amp;per=1000">Clear search</a>`) {
		t.Errorf("got %d rows of a search within a filter, or the search forgets the filter", n)
	}
	for _, search := range []string{strings.Repeat("a", 101), "a\x00b", "a\xffb"} {
		if status, body, _ := get(t, l.URL+"/clients?search="+url.QueryEscape(search)); status != 400 || !strings.Contains(body, "at most 100 bytes of printable text") {
			t.Errorf("%.10q: got %d %s", search, status, body)
		}
	}
}

// How many clients the next window refuses is one number: on the overview, in the list
// of clients and its table, row by row, in the prediction, and in the file.
func TestOneFigureForTheNextWindow(t *testing.T) {
	half := strings.Replace(halfYear, `"to": "2027-02-16T18:00:00Z", "share": 1`, `"to": "2027-02-16T18:00:00Z", "share": 0.5`, 1)
	l := begin(t, today, half, "")
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
	found := regexp.MustCompile(`<b>16 Feb 2027</b> <span class="muted">refuses (\d+) clients</span> <a href="([^"]*)">`).FindStringSubmatch(overview)
	if found == nil {
		t.Fatalf("the overview has no figure of the next window:\n%s", overview)
	}
	figure := found[1]
	list := html.UnescapeString(found[2])
	if n, err := strconv.Atoi(figure); err != nil || n < 3 || n > 9 {
		t.Errorf("got %s, want some of the 11 that have not moved", figure)
	}
	const window = "version=v1&from=2027-02-16T14:00&minutes=240&percent=50"
	for path, want := range map[string]string{
		list: figure + " clients of v1 in 90 days",
		strings.Replace(list, "/clients", "/admin/usage", 1): `"matching": ` + figure + ",",
		"/what-if?" + window: "It would refuse " + figure + " clients",
		"/what-if":           `14:00 UTC</a></th><td>v1</td><td>window</td><td>4h</td><td class="n">50 %</td><td class="n">` + figure + "</td>",
	} {
		if _, body, _ := get(t, l.URL+path); !strings.Contains(body, want) {
			t.Errorf("%s lacks %q", path, want)
		}
	}
	_, body, _ := get(t, l.URL+"/clients?per=1000&version=v1")
	if n := strconv.Itoa(strings.Count(body, `"><bdi>yes</bdi></td>`)); n != figure {
		t.Errorf("the list says yes of %s clients, want %s", n, figure)
	}
	_, table, _ := get(t, l.URL+strings.Replace(list, "/clients", "/admin/usage.csv", 1))
	if n := strconv.Itoa(strings.Count(table, "\n") - 1); n != figure {
		t.Errorf("the table has %s clients, want %s", n, figure)
	}
	_, body, _ = get(t, l.URL+"/clients?per=1000&version=v1&moved=no")
	still := strconv.Itoa(strings.Count(body, `<span class="known">v1</span>`)) // in the heat map
	if want := "<dt>Not moved</dt><dd><b>" + still + "</b>"; !strings.Contains(overview, want) {
		t.Errorf("the overview lacks %s", want)
	}
	counted := strconv.Itoa(l.plan().Versions[2].Gate.Clients)
	for path, want := range map[string]string{
		"/":                                    "v1 cannot be retired yet: " + counted + " clients in 7 days (limit 5)",
		"/clients?version=v1&gate=counted":     counted + " clients of v1 counted by the gate",
		"/admin/usage?version=v1&gate=counted": `"matching": ` + counted + ",",
	} {
		if _, body, _ := get(t, l.URL+path); !strings.Contains(body, want) {
			t.Errorf("%s lacks %q", path, want)
		}
	}
	_, body, _ = get(t, l.URL+"/what-if")
	if want := `<td>sunset</td><td>for good</td><td class="n">100 %</td><td class="n">` + still + "</td>"; !strings.Contains(body, want) {
		t.Errorf("the sunset is not for the %s that have not moved", still)
	}
	_, table, _ = get(t, l.URL+"/admin/usage.csv?version=v1&gate=counted")
	if n := strconv.Itoa(strings.Count(table, "\n") - 1); n != counted {
		t.Errorf("the table has %s clients that the gate counts, want %s", n, counted)
	}
	facts := Facts{Plan: l.plan(), Current: "v3", Now: today}
	read := func(q evidence.Query) (evidence.Report, error) { return l.recorder.Report(t.Context(), q) }
	facts.Report = must(read(evidence.Query{Old: "yes", Per: FileClients}))
	facts.Look(read)
	if file := string(must(File(facts))); !strings.Contains(file, "refuses "+figure+" clients") {
		t.Errorf("the file lacks the figure %s", figure)
	}
}

var written = regexp.MustCompile(`(?s)<textarea id="json"[^>]*>(.*?)</textarea>`)

// What if moves the sunset and the gate, says what would happen and when, beside what the
// plan in force does, and writes an entry that a plan takes.
func TestWhatIf(t *testing.T) {
	l := begin(t, today, halfYear, "")
	l.live(t, town())
	for name, tt := range map[string]struct {
		query string
		want  []string
		entry string // of the plan; empty: nothing to paste
	}{
		"unasked":   {"", []string{`name="sunset" value="2027-03-01T00:00"`, `name="days" min="1" max="90" value="7"`}, ""},
		"unchanged": {"&clients=5", []string{"12 clients in 7 days (limit 5)"}, ""},
		"a later sunset and a longer gate": {
			"&sunset=2027-04-01T00:00&days=35", []string{
				"Earliest 1 Mar 2027, if clients are quiet from 22 Feb 2027.",
				"v1 cannot be retired yet: 25 clients in 35 days (limit 5), 624 calls on the busiest day (limit 100). " +
					"Earliest 1 Apr 2027, if clients are quiet from 25 Feb 2027.",
				"would refuse 10 clients (1 known)",
			}, "2027-04-01T00:00:00Z 5 100 35 0 2027-02-16T14:00:00Z 4h 100 %",
		},
		"a wider gate": {
			"&clients=20&calls=500", []string{"v1 can be retired on 1 Mar 2027: 12 clients in 7 days (limit 20)"},
			"2027-03-01T00:00:00Z 20 500 7 0 2027-02-16T14:00:00Z 4h 100 %",
		},
		"no gate": {
			"&clients=&calls=&days=", []string{"v1 will be retired on 1 Mar 2027, whoever still calls it. Its plan has no gate."},
			"2027-03-01T00:00:00Z none 2027-02-16T14:00:00Z 4h 100 %",
		},
		"at once": {
			"&from=2027-02-10T10:00&minutes=60&percent=1", []string{"This takes effect at once."},
			"2027-03-01T00:00:00Z 5 100 7 0 2027-02-16T14:00:00Z 4h 100 %",
		},
		"before its windows": {"&sunset=2027-02-11T00:00", []string{"This is not a valid plan.", "is after the sunset"}, ""},
	} {
		_, body, _ := get(t, l.URL+"/what-if?version=v1"+tt.query)
		body = html.UnescapeString(body)
		for _, want := range tt.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s: the page lacks %q", name, want)
			}
		}
		found := written.FindStringSubmatch(body)
		if tt.entry == "" || found == nil {
			if tt.entry != "" || found != nil {
				t.Errorf("%s: got the entry %q, want %q", name, found, tt.entry)
			}
			continue
		}
		plan, err := lifecycle.Parse([]byte(`{"versions": {`+found[1]+`}}`), served)
		if err != nil {
			t.Errorf("%s: the entry cannot be pasted: %v", name, err)
		} else if got := describe(plan.Versions["v1"]); got != tt.entry {
			t.Errorf("%s: got the entry %s, want %s", name, got, tt.entry)
		}
	}
	if got := describe(l.plan().Plan.Versions["v1"]); got != "2027-03-01T00:00:00Z 5 100 7 0 2027-02-16T14:00:00Z 4h 100 %" {
		t.Errorf("the plan in force is now %s", got)
	}
}

// The table of clients has the columns that have a value, and all of them fit into a page
// of 1280 pixels. A search without hits says so.
func (w *window) clientColumns(t *testing.T) {
	l := begin(t, today, halfYear, "")
	full := evidence.Client{
		Version: "v3legacy", Client: "origin https://" + strings.Repeat("long-name.", 8) + "example", Software: "softwarewithname",
		Sum: evidence.Sum{Calls7: 1_234_567, Calls30: 12_345_678, Calls90: 123_456_789}, LastSeen: today, Last410: today,
		Moved: today, Rehearsed: today, Contact: evidence.Contact{Contact: "someone@partner.example", Notified: today},
		Findings: []evidence.FindingCount{{Outcome: event.Refused, Code: fault.MissingParameter, Param: "recipient"}, {}},
	}
	soon := full
	soon.Version = "v1"
	for name, tt := range map[string]struct {
		clients []evidence.Client
		want    []string
	}{
		"all": {
			[]evidence.Client{full, soon}, []string{
				"Client", "Version", "On v3", "Next window", "Last seen", "7 days", "30 days", "90 days", "Moved", "Told",
				"Software", "Last 410", "Rehearsed",
			},
		},
		"few": {
			[]evidence.Client{{Version: "v3legacy", Client: "origin https://a.example", LastSeen: today}},
			[]string{"Client", "Version", "Last seen", "7 days", "30 days", "90 days"},
		},
		"none": {nil, []string{}},
	} {
		read := evidence.Report{At: today, Clients: tt.clients, Matching: len(tt.clients), Distinct: len(tt.clients), Page: 1, Pages: 1}
		w.serve(Handler(Options{
			Versions: served, Current: "v3", Metrics: http.NotFoundHandler(), Usage: reporter{report: read}, Plan: l.plan,
			Health: func() []Table { return nil }, Log: slog.New(slog.DiscardHandler),
		}))
		w.inspect(t, name, "/clients?search=x", light, tablet, phone)
		w.as(t, light)
		got := evaluate[[]string](t, w, `[...document.querySelectorAll('.clients thead th')].map((e) => e.textContent)`)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got the columns %q, want %q", name, got, tt.want)
		}
		if over := evaluate[int](t, w, `Math.max(0, ...[...document.querySelectorAll('.scroll')].map((e) => e.scrollWidth - e.clientWidth))`); over > 0 {
			t.Errorf("%s: the table is %d pixels too wide", name, over)
		}
		lead := evaluate[string](t, w, `document.querySelector('.lead').textContent`)
		if strings.HasPrefix(lead, "No client matches") != (len(tt.clients) == 0) {
			t.Errorf("%s: got %q", name, lead)
		}
	}
}

// maxPage is what a page may weigh, whatever it shows.
const maxPage = 500_000

func (w *window) crowd(t *testing.T) {
	plan := begin(t, today, halfYear, "").keeper
	w.serve(Handler(Options{Versions: served, Current: "v3", Metrics: http.NotFoundHandler(), Usage: newMultitude(), Plan: plan.Snapshot, Health: func() []Table { return nil }, Log: slog.New(slog.DiscardHandler)}))
	for _, path := range []string{"/", "/clients"} {
		status, body, _ := get(t, w.address+path)
		t.Logf("%s: %d bytes", path, len(body))
		if status != 200 || len(body) > maxPage {
			t.Errorf("%s: got %d with %d bytes, want at most %d", path, status, len(body), maxPage)
		}
	}
	_, body, _ := get(t, w.address+"/")
	if !strings.Contains(body, "10,000 clients of old versions in 90 days") || !strings.Contains(body, "30 of 10,000.") {
		t.Error("the overview does not say how many clients there are")
	}
	if i, j := strings.Index(body, "Partner "), strings.Index(body, "wallet-"); i < 0 || j >= 0 && j < i {
		t.Error("known clients are not first")
	}
	w.inspect(t, "a crowd", "/", light, phone)
}

// multitude is a report on 10,000 clients, of which the first 200 are known.
type multitude struct{ reporter }

func newMultitude() multitude {
	read := evidence.Report{At: today, Versions: []evidence.Version{{Version: "v3"}, {Version: "v1"}}, Matching: 10_000, Distinct: 10_000, Page: 1, Pages: 100}
	for i := range read.Versions {
		for d := range 90 {
			read.Versions[i].Days = append(read.Versions[i].Days, evidence.VersionDay{Day: evidence.Day(today.Truncate(24*time.Hour).AddDate(0, 0, d-89).Unix()), Served: uint64(d * 1000), Clients: uint64(d)})
		}
	}
	for i := range 10_000 {
		c := evidence.Client{
			Version: "v1", Client: fmt.Sprintf("origin https://wallet-%d.example", i), Software: "mozilla", LastSeen: today, Sum: evidence.Sum{Calls90: uint64(i)}, Last410: today, Rehearsed: today,
			Findings: []evidence.FindingCount{{Outcome: event.Refused, Code: fault.MissingParameter, Param: "recipient", Calls: 9}},
		}
		if c.Known = i < 200; c.Known {
			c.Client, c.Contact.Contact = fmt.Sprintf("client Partner %d", i), "ops@partner.example"
		}
		for d := i % 3; d < 90; d += 3 {
			c.Days = append(c.Days, evidence.DayCount{Day: read.Versions[0].Days[d].Day, Calls: uint64(i%2000 + 1)})
		}
		read.Clients = append(read.Clients, c)
	}
	return multitude{reporter{report: read}}
}

// Report gives the first page.
func (m multitude) Report(_ context.Context, q evidence.Query) (evidence.Report, error) {
	read := m.report
	read.Clients = read.Clients[:min(max(q.Per, 100), len(read.Clients))]
	return read, nil
}
