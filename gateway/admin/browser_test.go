package admin

import (
	"bytes"
	_ "embed"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/quotegate/quotegate/shared/testkit/browser"
	"github.com/quotegate/quotegate/shared/testkit/npm"
)

// window is a browser and the server that it looks at.
type window struct {
	*browser.Page
	address string
	handler atomic.Pointer[http.Handler]
}

func openWindow(t *testing.T, first http.Handler) *window {
	t.Helper()
	w := &window{}
	w.serve(first)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { (*w.handler.Load()).ServeHTTP(rw, r) }))
	t.Cleanup(server.Close)
	w.address = server.URL
	w.Page = browser.Open(t, w.address+"/")
	return w
}

func (w *window) serve(h http.Handler) { w.handler.Store(&h) }

// look is how a page is looked at.
type look struct {
	name, media, scheme string
	width, height       int64
}

var (
	light  = look{"light", "", "light", 1280, 720}
	dark   = look{"dark", "", "dark", 1280, 720}
	tablet = look{"tablet", "", "light", 820, 1180}
	phone  = look{"phone", "", "light", 390, 844}
	tiny   = look{"tiny", "", "light", 320, 640}
	paper  = look{"paper", "print", "light", 760, 1000}
)

func (w *window) as(t *testing.T, l look) {
	t.Helper()
	if err := chromedp.Do(w.Context(), chromedp.EmulateViewport(l.width, l.height)); err != nil {
		t.Fatal(err)
	}
	browser.Call(t, w.Page, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: l.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}},
	})
}

// print is the page on paper, as a PDF with an outline of its headings.
func (w *window) print(t *testing.T) (pdf []byte) {
	t.Helper()
	params := cdppage.PrintToPDFParams{GenerateDocumentOutline: new(true), GenerateTaggedPDF: new(true)}
	return browser.Call(t, w.Page, cdppage.PrintToPDF, params).Data
}

func (w *window) open(t *testing.T, path string) {
	t.Helper()
	if err := chromedp.Do(w.Context(), chromedp.Navigate(w.address+path)); err != nil {
		t.Fatal(err)
	}
}

func evaluate[V any](t *testing.T, w *window, script string) V {
	t.Helper()
	v, err := chromedp.Run(w.Context(), chromedp.Evaluate[V](script, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// pageScript is functions that look at a page.
//
//go:embed testdata/page.js
var pageScript string

// seen is what a function of pageScript returns.
func seen[V any](t *testing.T, w *window, call string) V {
	t.Helper()
	return evaluate[V](t, w, "(() => {"+pageScript+"return "+call+"})()")
}

// inspect opens a page and looks at it.
func (w *window) inspect(t *testing.T, name, path string, looks ...look) {
	t.Helper()
	w.open(t, path)
	for _, l := range looks {
		w.as(t, l)
		for _, problem := range seen[[]string](t, w, "inspect()") {
			t.Errorf("%s, %s, %s: %s", name, path, l.name, problem)
		}
	}
}

// TestInBrowser has one browser for all that needs one. The short form has the pages of a town.
func TestInBrowser(t *testing.T) {
	w := openWindow(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(rw, `<!DOCTYPE html><link rel="icon" href="data:,">`)
	}))
	t.Run("columns", func(t *testing.T) { w.clientColumns(t) })
	t.Run("a crowd", func(t *testing.T) { w.crowd(t) })
	l := begin(t, today, halfYear, "")
	l.live(t, town()[:9])
	w.serve(l.Config.Handler)
	for _, path := range everyPage {
		w.inspect(t, "a town", path, light, dark, tablet, tiny, paper)
	}
	if testing.Short() {
		return // make test-all has the rest
	}
	t.Run("axe", func(t *testing.T) { w.axe(t) })
	t.Run("walk", func(t *testing.T) { w.walk(t) })
	t.Run("letter", func(t *testing.T) { w.letter(t) })
	t.Run("paper", func(t *testing.T) { w.paper(t) })
	t.Run("stages", func(t *testing.T) { w.stages(t) })
	t.Run("login", func(t *testing.T) { w.login(t) })
}

// stages shows the overview without calls, and with one client in every stage of a plan.
func (w *window) stages(t *testing.T) {
	const five = `"gate": {"maxClients": 5, "maxCallsPerDay": 100}`
	none := strings.Replace(halfYear, five, `"gate": {"maxClients": 0, "maxCallsPerDay": 0}`, 1)
	one := []client{{"origin https://a.example", "https://a.example", "mozilla", "v1", 0, 20, omits}}
	const held = "2027-03-03T12:00:00Z"
	for _, test := range []struct {
		name, plan, now string
		clients         []client
		want            []string // on the overview
	}{
		{"no data", "", "2027-02-10T10:20:00Z", nil, []string{
			"No version is being retired", "No client of an old version in 90 days", "No plan: every version is active",
		}},
		{"before it is deprecated", halfYear, "2026-08-01T12:00:00Z", one, []string{
			"Next: 1 Sep 2026, 00:00 UTC", "1 of 1 client of old versions",
		}},
		{"deprecated", halfYear, "2027-02-10T10:20:00Z", one, []string{
			"Headers announce the end", "16 Feb 2027, 14:00 UTC (in 6 days), brownout begins",
			"v1 can be retired on 1 Mar 2027 1 client in 7 days (limit 5), 27 calls on the busiest day (limit 100).",
			"Busiest day of 7 days 27 calls limit 100 calls",
		}},
		{"brownout", halfYear, "2027-02-16T15:00:00Z", one, []string{
			"100 % of clients get 410 until 16 Feb 2027, 18:00 UTC", "until 16 Feb 2027, 18:00 UTC, 100 % of clients: would refuse 1 client",
			"16 Feb 2027, 18:00 UTC (in 3 hours), brownout ends.",
		}},
		{"held", none, held, one, []string{
			"still served, because the gate holds", "v1 cannot be retired yet: earliest 11 Mar 2027 1 client in 7 days (limit 0)",
			"Earliest 11 Mar 2027, after the sunset on 1 Mar 2027",
		}},
		{"retired", halfYear, held, nil, []string{"Every call gets 410", "v3legacy has no sunset date", "v1 is retired", "Gate passed 3 Mar 2027 final"}},
	} {
		l := begin(t, must(time.Parse(time.RFC3339, test.now)), test.plan, "")
		if test.clients != nil {
			l.live(t, test.clients)
		}
		l.keeper.Poll()
		w.serve(l.Config.Handler)
		w.inspect(t, test.name, "/", light, phone)
		text := evaluate[string](t, w, "document.querySelector('main').innerText")
		wants(t, test.name, strings.Join(strings.Fields(text), " "), test.want...)
	}
}

// axe finds nothing on any page.
func (w *window) axe(t *testing.T) {
	axe, err := os.ReadFile(filepath.Join(npm.Packages(t), "axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	w.as(t, light)
	for _, path := range append([]string{"/clients?search=nobody"}, everyPage...) {
		w.open(t, path)
		evaluate[bool](t, w, string(axe)+"; true")
		for _, violation := range seen[[]string](t, w, "axeFindings()") {
			t.Errorf("%s: %s", path, violation)
		}
	}
}

// everyPage is each page of a town.
var everyPage = []string{
	"/", "/clients", "/clients?version=v1", "/clients?search=app-1&moved=no", "/client?client=client+Quayside",
	"/client?client=client+Harbour+Wallet", "/health",
}

// registries is a table of some chains without an endpoint, and one that works.
func registries(unset int) []Table {
	table := Table{Title: "Integrator registries", Head: []string{"Chain", "State"}}
	for i := range unset {
		table.Rows = append(table.Rows, Row{Cells: []any{i + 1, "unconfigured"}, Unset: true})
	}
	table.Rows = append(table.Rows, Row{Cells: []any{369, "working"}})
	return []Table{table}
}

// Everything can be reached by keyboard and by links, and printed without them.
func (w *window) walk(t *testing.T) {
	w.open(t, "/")
	w.as(t, light)
	at := func(what, want string) {
		t.Helper()
		if got := evaluate[string](t, w, "location.pathname + location.search + location.hash"); got != want {
			t.Fatalf("%s: got to %s, want %s", what, got, want)
		}
	}
	press := func(keys, want string) { // and another page opens
		t.Helper()
		if _, err := chromedp.RunResponse(w.Context(), chromedp.KeyEvent(keys)); err != nil {
			t.Fatalf("%q: %v", keys, err)
		}
		at(keys, want)
	}
	follow := func(text, want string) {
		t.Helper()
		if !seen[bool](t, w, "focusLink("+strconv.Quote(text)+")") {
			t.Fatalf("there is no link %q", text)
		}
		press("\r", want)
	}
	for _, key := range []string{"\t", "\r"} {
		if err := chromedp.Do(w.Context(), chromedp.KeyEvent(key)); err != nil {
			t.Fatal(err)
		}
	}
	at("the first link", "/#main")
	follow("Clients", "/clients")
	follow("7 days", "/clients?old=yes&sort=calls7")
	evaluate[bool](t, w, "document.querySelector('[name=version]').value = 'v1', document.querySelector('[name=search]').focus(), true")
	press("harbour\r", "/clients?sort=calls7&version=v1&finding=&moved=&told=&known=&search=harbour")
	follow("Harbour Wallet", "/client?client=client+Harbour+Wallet")
	letter := evaluate[string](t, w, "document.querySelector('textarea').value")
	wants(t, "the letter", letter, "Subject: ", "because recipient is missing")
	follow("Overview", "/")
	const refused = "/clients?version=v1&moved=no&window=2027-02-16T14:00:00Z"
	follow(refused, refused)
	follow("Overview", "/")
	w.as(t, paper)
	if got := slices.Compact(seen[[]string](t, w, "hidden()")); !slices.Equal(got, []string{"A", "NAV"}) {
		t.Errorf("paper lacks %q, want it to lack the link that skips the navigation, and that", got)
	}
}

//go:embed testdata/clipboard.js
var clipboardScript string

// letter copies the letter to a client. Where that cannot work there is no button, and what the browser
// refuses can be copied by hand.
func (w *window) letter(t *testing.T) {
	w.as(t, light)
	type state struct {
		Buttons          []string `json:"buttons"`
		Result           string   `json:"result"`
		Selected, Copied bool
	}
	both := []string{"Copy", "Email"}
	for _, test := range []struct {
		name, clipboard string
		scripts         bool
		want            state
	}{
		{"copied", "workingClipboard()", true, state{Buttons: both, Result: "Copied", Copied: true}},
		{"refused", "refusingClipboard()", true, state{
			Buttons: both, Result: "The browser refused. The letter is selected: copy it with the keyboard.", Selected: true,
		}},
		{"no clipboard", "noClipboard()", true, state{Buttons: both[1:]}},
		{"no scripts", "", false, state{Buttons: both[1:]}},
	} {
		added := browser.Call(t, w.Page, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{
			Source: "{" + clipboardScript + test.clipboard + "}",
		})
		browser.Call(t, w.Page, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !test.scripts})
		w.open(t, "/client?client=client+Harbour+Wallet")
		browser.Call(t, w.Page, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false})
		browser.Call(t, w.Page, cdppage.RemoveScriptToEvaluateOnNewDocument,
			cdppage.RemoveScriptToEvaluateOnNewDocumentParams(added))
		if len(test.want.Buttons) == 2 {
			if err := chromedp.Do(w.Context(), chromedp.Click(chromedp.CSS("button[data-letter]"))); err != nil {
				t.Fatal(err)
			}
		}
		if test.want.Result != "" {
			seen[bool](t, w, "result()")
		}
		got := seen[state](t, w, "letter()")
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
		href := evaluate[string](t, w, "document.querySelector('.button').href")
		wants(t, "the link", href, "mailto:ops@H.example?subject=Please%20move%20to%20v3%20by%201%20Mar%202027&body=Hello%2C%0D%0A")
	}
}

// paper has the decision on the first two pages, with the verdict on the first, and the lists of clients
// on pages of their own.
func (w *window) paper(t *testing.T) {
	w.as(t, light)
	w.open(t, "/")
	pdf := w.print(t)
	pages := map[string]int{}
	for i, m := range regexp.MustCompile(`(?m)^(\d+) 0 obj\n<</Type /Page\n`).FindAllStringSubmatch(string(pdf), -1) {
		pages[m[1]] = i + 1
	}
	on := map[string]int{}
	for _, m := range regexp.MustCompile(`/Title \(([^\n]*)\)\n/Dest \[(\d+) 0 R`).FindAllStringSubmatch(string(pdf), -1) {
		title := strings.ReplaceAll(m[1], " ", "") // a line break is none here
		if on[title] == 0 {
			on[title] = pages[m[2]]
		}
	}
	for title, most := range map[string]int{
		"v1 cannot be retired yet: earliest 1 Mar 2027": 1, "v1: clients in 7 days": 1, "Calls per day": 1,
		"What the plan refuses next": 1, "Risks": 2, "Who still calls v1": 2,
	} {
		if page := on[strings.ReplaceAll(title, " ", "")]; page == 0 || page > most {
			t.Errorf("%s is on page %d, want it up to page %d: %v", title, page, most, on)
		}
	}
	if on["Clientsbyday"] <= on["Instances"] {
		t.Errorf("the list of clients is no appendix: %v", on)
	}
}

func (w *window) login(t *testing.T) {
	l := begin(t, today, halfYear, token)
	page := w.Tab(t, strings.Replace(l.URL, "://", "://operator:"+token+"@", 1)+"/")
	behind := &window{Page: page, address: l.URL}
	behind.open(t, "/clients") // as a link does
	if heading := evaluate[string](t, behind, "document.querySelector('h1').textContent"); heading != "Clients" {
		t.Errorf("got %q behind the login", heading)
	}
}

// readmePicture is what the README shows. UPDATE_PICTURES=1 makes it again.
const readmePicture = "../../docs/operator.png"

func TestPicture(t *testing.T) {
	if os.Getenv("UPDATE_PICTURES") != "" {
		only, _, _ := strings.Cut(halfYear, `,
	"v3legacy"`)
		l := begin(t, today, only+"}}", "")
		l.live(t, slices.DeleteFunc(town(), func(c client) bool { return c.version == "v3legacy" }))
		w := openWindow(t, l.Config.Handler)
		w.as(t, look{"picture", "", "light", 1120, 1070})
		browser.Call(t, w.Page, emulation.SetScrollbarsHidden, emulation.SetScrollbarsHiddenParams{Hidden: true})
		w.open(t, "/")
		shot, err := chromedp.Run(w.Context(), chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := png.Decode(bytes.NewReader(shot))
		if err != nil {
			t.Fatal(err)
		}
		var small bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, decoded); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(readmePicture, small.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	shot, err := os.ReadFile(readmePicture)
	if err != nil {
		t.Fatal(err)
	}
	if size, err := png.DecodeConfig(bytes.NewReader(shot)); err != nil || size.Width < 800 || len(shot) > 200_000 {
		t.Errorf("got %v, %+v and %d bytes, want a PNG below 200 KB", err, size, len(shot))
	}
}
