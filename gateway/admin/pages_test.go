package admin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
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
		browserAccept:                        true,
		"text/html":                          true,
		"TEXT/HTML;level=1":                  true,
		"application/json;q=0.5, text/html":  true,
		"":                                   false,
		"*/*":                                false,
		"application/json":                   false,
		"text/html;q=0":                      false,
		"text/html;q=nonsense":               false,
		"text/html;q=0.3, application/json":  false,
		"application/openmetrics-text, */*":  false,
		strings.Repeat("text/html;q=0,", 99): false,
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

func (broken) Simulate(context.Context, *lifecycle.Plan) (usage.Simulation, error) {
	return usage.Simulation{}, errors.New("the database is <b>away</b>")
}

// Without the counts, the plan is still shown.
func TestPagesWithoutDatabase(t *testing.T) {
	l := begin(t, today, halfYear, "")
	server := httptest.NewServer(Handler(Options{
		Versions: served, Metrics: http.NotFoundHandler(), Usage: broken{reporter{err: errors.New("the database is <b>away</b>")}}, Plan: l.keeper.Snapshot,
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
	report := usage.Report{At: today, Notes: hostile, Instances: []usage.Instance{{Name: hostile[0], Plan: hostile[1]}}, Pages: 1, Page: 1}
	for _, text := range hostile {
		report.Clients = append(report.Clients, usage.Client{
			Version: "v1", Client: "origin " + text, Known: true, Contact: usage.Contact{Contact: text, Notes: text}, Software: text, LastSeen: today,
			Findings: []usage.FindingCount{{Outcome: event.Refused, Code: fault.Code(text), Param: text}},
		})
	}
	report.Matching = len(report.Clients)
	server := httptest.NewServer(Handler(Options{
		Versions: served, Metrics: http.NotFoundHandler(), Usage: reporter{report: report}, Plan: l.keeper.Snapshot, Log: slog.New(slog.DiscardHandler),
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
		`href="/clients?page=2&amp;per=10&amp;version=v1" rel="next"`, `href="/admin/usage.csv?version=v1"`, "Page 1 of 3", "30 entries",
		`<td class="d" title="its place in the order is 0.052">no, exempt</td>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(body, `rel="prev"`) || strings.Count(body, `<th scope="row" class="who">`) != 20 {
		t.Errorf("the first page has a page before it, or not 10 rows in the table and the heat map")
	}
	_, body, _ = get(t, l.URL+"/clients?finding=refused&sort=calls7")
	if strings.Contains(body, "new shape only</td>") || !strings.Contains(body, `aria-sort="descending"`) || !strings.Contains(body, "refused: omits recipient") {
		t.Error("the filter or the order is not applied")
	}
	_, body, _ = get(t, l.URL+"/client?client=client+Quayside")
	for _, want := range []string{"<bdi>Quayside</bdi>", "ops@Q.example", "Told on 3 January.", "On v1", "On v3", "would get different money from v3, because v1 ignores integratorId", "Leave integratorId out", "yes, last served by the current version on 10 Feb 2027"} {
		if !strings.Contains(body, want) {
			t.Errorf("the client's page lacks %q", want)
		}
	}
	_, body, _ = get(t, l.URL+"/what-if?version=v1&from=2027-02-18T14:00&minutes=60&percent=50")
	for _, want := range []string{"would refuse ", "{&#34;from&#34;: &#34;2027-02-18T14:00:00Z&#34;, &#34;to&#34;: &#34;2027-02-18T15:00:00Z&#34;, &#34;share&#34;: 0.5}", "client Quayside", "sunset"} {
		if !strings.Contains(body, want) {
			t.Errorf("the prediction lacks %q", want)
		}
	}
	if n := len(l.keeper.Snapshot().Plan.Versions["v1"].Brownouts); n != 3 {
		t.Errorf("the plan in force has %d windows after the prediction", n)
	}
}

// unnamed has a client that names no software, and one that does.
type unnamed struct{ reporter }

func (unnamed) Traffic(_ context.Context, _ usage.Query, by string) ([]usage.Traffic, error) {
	if by != "software" {
		return nil, nil
	}
	return []usage.Traffic{{Clients: 1}, {Name: "okhttp", Clients: 1}}, nil
}

// There is no list of the clients without software, and so no link to it.
func TestSoftwareLinks(t *testing.T) {
	l := begin(t, today, halfYear, "")
	report := usage.Report{At: today, Matching: 1, Page: 1, Pages: 1, Clients: []usage.Client{{Version: "v1", Client: "origin https://a.example", LastSeen: today}}}
	server := httptest.NewServer(Handler(Options{Versions: served, Metrics: http.NotFoundHandler(), Usage: unnamed{reporter{report: report}}, Plan: l.plan, Health: func() []Table { return nil }, Log: slog.New(slog.DiscardHandler)}))
	defer server.Close()
	_, body, _ := get(t, server.URL+"/clients?version=v1")
	for _, want := range []string{`<th scope="row">no software named</th>`, `<a href="/clients?software=okhttp&amp;version=v1"><bdi>okhttp</bdi></a>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// maxPage is what a page may weigh, whatever it shows.
const maxPage = 500_000

func TestPagesOfACrowd(t *testing.T) {
	plan := begin(t, today, halfYear, "").keeper
	server := httptest.NewServer(Handler(Options{Versions: served, Metrics: http.NotFoundHandler(), Usage: newMultitude(), Plan: plan.Snapshot, Health: func() []Table { return nil }, Log: slog.New(slog.DiscardHandler)}))
	t.Cleanup(server.Close)
	for _, path := range []string{"/", "/clients"} {
		status, body, _ := get(t, server.URL+path)
		t.Logf("%s: %d bytes", path, len(body))
		if status != 200 || len(body) > maxPage {
			t.Errorf("%s: got %d with %d bytes, want at most %d", path, status, len(body), maxPage)
		}
	}
	_, body, _ := get(t, server.URL+"/")
	if !strings.Contains(body, "10,000 clients called an old version") || !strings.Contains(body, "The first 20 of 10,000") {
		t.Error("the overview does not say how many clients there are")
	}
	if i, j := strings.Index(body, "Partner "), strings.Index(body, "wallet-"); i < 0 || j >= 0 && j < i {
		t.Error("known clients are not first")
	}
	t.Run("in a browser", func(t *testing.T) { openWindow(t, server.Config.Handler).inspect(t, "a crowd", "/", light, phone) })
}

// multitude is a report on 10,000 clients, of which the first 200 are known.
type multitude struct{ reporter }

func newMultitude() multitude {
	report := usage.Report{At: today, Versions: []usage.Version{{Version: "v3"}, {Version: "v1"}}, Matching: 10_000, Distinct: 10_000, Page: 1, Pages: 100}
	for i := range report.Versions {
		for d := range 90 {
			report.Versions[i].Days = append(report.Versions[i].Days, usage.VersionDay{Day: usage.Day(today.Truncate(24*time.Hour).AddDate(0, 0, d-89).Unix()), Served: uint64(d * 1000), Clients: uint64(d)})
		}
	}
	for i := range 10_000 {
		c := usage.Client{
			Version: "v1", Client: fmt.Sprintf("origin https://wallet-%d.example", i), Software: "mozilla", LastSeen: today, Sum: usage.Sum{Calls90: uint64(i)}, Last410: today, Rehearsed: today,
			Findings: []usage.FindingCount{{Outcome: event.Refused, Code: fault.MissingParameter, Param: "recipient", Calls: 9}},
		}
		if c.Known = i < 200; c.Known {
			c.Client, c.Contact.Contact = fmt.Sprintf("client Partner %d", i), "ops@partner.example"
		}
		for d := i % 3; d < 90; d += 3 {
			c.Days = append(c.Days, usage.DayCount{Day: report.Versions[0].Days[d].Day, Calls: uint64(i%2000 + 1)})
		}
		report.Clients = append(report.Clients, c)
	}
	return multitude{reporter{report: report}}
}

// Report gives the first page.
func (m multitude) Report(_ context.Context, q usage.Query) (usage.Report, error) {
	report := m.report
	report.Clients = report.Clients[:min(max(q.Per, 100), len(report.Clients))]
	return report, nil
}

// What rendering alone takes.
func BenchmarkRender(b *testing.B) {
	report := newMultitude().report
	snapshot := begin(b, today, halfYear, "").keeper.Snapshot()
	for b.Loop() {
		if _, err := render("overview.html", newOverview(&Facts{Plan: snapshot, Report: report, Now: today}, overviewHeat, overviewClients)); err != nil {
			b.Fatal(err)
		}
	}
}
