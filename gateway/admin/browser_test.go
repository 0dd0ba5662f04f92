package admin

import (
	"bytes"
	"context"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
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
	err := chromedp.Do(w.Context(), chromedp.EmulateViewport(l.width, l.height), chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: l.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}},
		})
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
}

func (w *window) open(t *testing.T, path string) {
	t.Helper()
	if err := chromedp.Do(w.Context(), chromedp.Navigate(w.address+path)); err != nil {
		t.Fatal(err)
	}
}

func evaluate[V any](t *testing.T, w *window, script string) V {
	t.Helper()
	v, err := chromedp.Run(w.Context(), chromedp.Evaluate[V](script))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// inspect lists what a person could not see, read or reach.
const inspect = `(() => {
	const problems = []
	const root = document.documentElement
	if (root.scrollWidth > root.clientWidth) problems.push('the page scrolls sideways: ' + root.scrollWidth + ' of ' + root.clientWidth)
	if (document.querySelectorAll('h1').length !== 1) problems.push('there is not one h1')
	const levels = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map((e) => Number(e.tagName[1]))
	if (levels.some((l, i) => l > (levels[i - 1] ?? 0) + 1)) problems.push('headings leave out a level: ' + levels)
	if (document.scripts.length) problems.push('there is a script')
	for (const e of document.querySelectorAll('svg'))
		if (!e.closest('[aria-hidden=true]') && !(e.getAttribute('role') === 'img' && e.getAttribute('aria-label'))) problems.push('a picture without text: ' + e.outerHTML.slice(0, 80))
	for (const e of document.querySelectorAll('input:not([type=hidden]), select, textarea')) if (!e.labels.length) problems.push('no label: ' + e.outerHTML.slice(0, 80))
	for (const e of document.querySelectorAll('a')) if (!e.textContent.trim()) problems.push('an empty link: ' + e.outerHTML.slice(0, 80))
	for (const e of document.querySelectorAll('.scroll')) if (e.tabIndex !== 0 || !e.getAttribute('aria-label')) problems.push('a box that the keyboard cannot scroll')
	const ids = [...document.querySelectorAll('[id]')].map((e) => e.id)
	if (new Set(ids).size !== ids.length) problems.push('an id is there twice: ' + ids)
	const parse = (c) => { const [r, g, b, a = 1] = c.match(/[\d.]+/g).map(Number); return { r, g, b, a } }
	const channel = (c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4 }
	const luminance = (c) => 0.2126 * channel(c.r) + 0.7152 * channel(c.g) + 0.0722 * channel(c.b)
	const seen = new Set()
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
	while (walker.nextNode()) {
		const e = walker.currentNode.parentElement
		if (!walker.currentNode.data.trim() || seen.has(e) || e.closest('tr:nth-child(n+6), title') || !e.checkVisibility()) continue
		seen.add(e)
		const style = getComputedStyle(e)
		const text = parse(e.closest('svg') ? style.fill : style.color)
		let back = e
		while (back && parse(getComputedStyle(back).backgroundColor).a === 0) back = back.parentElement
		const ground = back ? parse(getComputedStyle(back).backgroundColor) : { r: 255, g: 255, b: 255 }
		const [low, high] = [luminance(text), luminance(ground)].sort((a, b) => a - b)
		const ratio = (high + 0.05) / (low + 0.05)
		if (ratio < 4.5) problems.push('contrast ' + ratio.toFixed(2) + ': ' + e.outerHTML.slice(0, 80))
	}
	if (seen.size < 5) problems.push('there is hardly any text')
	return problems
})()`

// inspect opens a page and looks at it.
func (w *window) inspect(t *testing.T, name, path string, looks ...look) {
	t.Helper()
	w.open(t, path)
	for _, l := range looks {
		w.as(t, l)
		for _, problem := range evaluate[[]string](t, w, inspect) {
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
			"No client of an old version in 90 days", "No plan: every version is active",
		}},
		{"before it is deprecated", halfYear, "2026-08-01T12:00:00Z", one, []string{
			"Next: 1 Sep 2026, 00:00 UTC", "1 client of old versions",
		}},
		{"deprecated", halfYear, "2027-02-10T10:20:00Z", one, []string{
			"Headers announce the end", "16 Feb 2027, 14:00 UTC (in 6 days), brownout begins",
			"v1 can be retired on 1 Mar 2027: 1 client in 7 days (limit 5), 27 calls on the busiest day (limit 100)",
		}},
		{"brownout", halfYear, "2027-02-16T15:00:00Z", one, []string{
			"100 % of clients get 410 until 16 Feb 2027, 18:00 UTC", "until 16 Feb 2027, 18:00 UTC, 100 % of clients: would refuse 1 client",
			"16 Feb 2027, 18:00 UTC (in 3 hours), brownout ends.",
		}},
		{"held", none, held, one, []string{
			"still served, because the gate holds", "v1 cannot be retired yet: 1 client in 7 days (limit 0)",
			"Earliest 11 Mar 2027, after the sunset on 1 Mar 2027",
		}},
		{"retired", halfYear, held, nil, []string{"Every call gets 410", "v1 is retired", "Gate passed 3 Mar 2027 final"}},
	} {
		l := begin(t, must(time.Parse(time.RFC3339, test.now)), test.plan, "")
		if test.clients != nil {
			l.live(t, test.clients)
		}
		l.keeper.Poll()
		w.serve(l.Config.Handler)
		w.inspect(t, test.name, "/", light, phone)
		text := evaluate[string](t, w, "document.querySelector('main').textContent")
		wants(t, test.name, strings.Join(strings.Fields(text), " "), test.want...)
	}
}

// axeRun lists what axe finds, its best practices included. Contrast, which takes it long,
// is what inspect has looked at.
const axeRun = `axe.run(document, { rules: { 'color-contrast': { enabled: false } } }).then(({ violations }) =>
	violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html, failureSummary }) =>
		html.slice(0, 150) + ' ' + failureSummary.slice(0, 150)).join(' | ')))`

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
		found, err := chromedp.Run(w.Context(), chromedp.Evaluate[[]string](axeRun, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatal(err)
		}
		for _, violation := range found {
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
		find := `[...document.querySelectorAll('a')].find((a) => a.textContent.trim() === '` + text + `')?.focus() === undefined`
		evaluate[bool](t, w, find)
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
	follow("Clients refused", "/clients?version=v1&moved=no&window=2027-02-16T14:00:00Z")
	follow("Overview", "/")
	w.as(t, paper)
	const hidden = `[...document.querySelectorAll('body *')].filter((e) => !e.closest('svg, .vh') &&
		!e.checkVisibility()).map((e) => e.closest('nav, .skip')?.tagName ?? e.outerHTML)`
	if got := slices.Compact(evaluate[[]string](t, w, hidden)); !slices.Equal(got, []string{"A", "NAV"}) {
		t.Errorf("paper lacks %q, want it to lack the link that skips the navigation, and that", got)
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

// picture is what the README shows. UPDATE_PICTURES=1 makes it again.
const picture = "../../docs/operator.png"

func TestPicture(t *testing.T) {
	if os.Getenv("UPDATE_PICTURES") != "" {
		only, _, _ := strings.Cut(halfYear, `,
	"v3legacy"`)
		l := begin(t, today, only+"}}", "")
		l.live(t, slices.DeleteFunc(town(), func(c client) bool { return c.version == "v3legacy" }))
		w := openWindow(t, l.Config.Handler)
		w.as(t, look{"picture", "", "light", 1120, 1070})
		hide := chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
			_, err := cdp.Call(ctx, tab, emulation.SetScrollbarsHidden, emulation.SetScrollbarsHiddenParams{Hidden: true})
			return err
		})
		if err := chromedp.Do(w.Context(), hide); err != nil {
			t.Fatal(err)
		}
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
		if err := os.WriteFile(picture, small.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	shot, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if size, err := png.DecodeConfig(bytes.NewReader(shot)); err != nil || size.Width < 800 || len(shot) > 200_000 {
		t.Errorf("got %v, %+v and %d bytes, want a PNG below 200 KB", err, size, len(shot))
	}
}
