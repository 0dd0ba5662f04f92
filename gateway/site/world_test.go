package site_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/browser"
	"github.com/quotegate/quotegate/shared/version"
)

const (
	alice   = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	partner = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
)

// TestMain has more tabs than there are processors open at a time, since pages mostly wait.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestPage uses the pages as a visitor does, in several tabs of one browser, with one gateway, and one of the reference
// deployment.
func TestPage(t *testing.T) {
	beside := browser.Open(t, "about:blank")
	own, reference := golden.GatewayOf(t, ownDeployment(t)), golden.GatewayOf(t, chain.Reference())
	for _, group := range []struct {
		name    string
		gateway http.Handler
		run     func(*testing.T, *world)
	}{
		{"accessibility", own, accessible}, {"keys", own, realKeys}, // take the longest
		{"opens", own, opens}, {"reference", reference, referenceSignsNothing},
		{"form", own, forms}, {"quote", own, quotes}, {"pins", own, pins}, {"errors", own, gatewayErrors},
		{"hostile text", own, hostileText}, {"address", own, addresses}, {"offline", own, offline},
		{"send", own, sends}, {"never twice", own, neverTwice}, {"two tabs", own, twoTabs},
		{"account", own, accounts}, {"wallets", own, manyWallets}, {"gas", own, leavesGas},
		{"recipient", own, recipients}, {"clock", own, clocks}, {"card", own, cards},
		{"status", own, statuses}, {"status from a link", own, links}, {"history", own, histories},
		{"developers", own, developers}, {"layout", own, layouts},
		{"print and motion", own, media}, {"announcements", own, announcements},
	} {
		t.Run(group.name, func(t *testing.T) {
			if testing.Short() && group.name != "opens" && group.name != "reference" {
				t.Skip("SKIPPED, NOT TESTED: without -short it uses the page in a browser")
			}
			t.Parallel()
			group.run(t, newWorld(t, beside, group.gateway))
		})
	}
}

// ownDeployment has the contracts of the reference deployment under another name, so that its quotes may be signed, and
// explorers of its own.
func ownDeployment(t *testing.T) *chain.Deployment {
	t.Helper()
	file := strings.Replace(string(chain.ReferenceFile()), `"name": "reference"`,
		`"name": "example", "explorers": {"1": "https://explorer.example", "369": "https://pulse.example"}`, 1)
	d, err := chain.ParseDeployment([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A world is a tab with the page, and a server between the page and the gateway.
type world struct {
	gateway http.Handler
	page    *browser.Page
	url     string

	mu      sync.Mutex
	instead map[string]http.HandlerFunc // by path
	asked   []string                    // the requests for status
}

func newWorld(t *testing.T, beside *browser.Page, gateway http.Handler) *world {
	t.Helper()
	w := &world{gateway: gateway}
	w.reset()
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.url = server.URL
	w.page = openTab(t, beside, w.url+"/")
	return w
}

func serve(t *testing.T, pages map[string]version.Handler) http.Handler {
	mux := http.NewServeMux()
	for path, page := range pages {
		mux.HandleFunc(path, func(rw http.ResponseWriter, r *http.Request) {
			if err := page(rw, &version.Request{Request: r}); err != nil {
				t.Error(err)
			}
		})
	}
	return mux
}

// openTab opens a tab. The browser reports every error response, and some rows are about these. It also reports that it
// asks nobody who has not used the page whether to leave it.
func openTab(t *testing.T, beside *browser.Page, address string) *browser.Page {
	t.Helper()
	page := beside.Tab(t, address)
	t.Cleanup(func() {
		for _, problem := range page.Close() {
			if !strings.Contains(problem, "Failed to load resource") && !strings.Contains(problem, "'beforeunload'") {
				t.Error(problem)
			}
		}
	})
	return page
}

// answer has a path answered by the test, until the next row.
func (w *world) answer(path string, handle http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.instead[path] = handle
}

// reset has the gateway itself answer everything but the status of a swap, which it cannot know.
func (w *world) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.instead = map[string]http.HandlerFunc{"/v3/swap/status": replies(501, unavailable)}
	w.asked = nil
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	handle := w.instead[r.URL.Path]
	w.mu.Unlock()
	if handle != nil {
		handle(rw, r)
		return
	}
	w.pass(rw, r, func(body string) string { return body })
}

// pass has the gateway answer, and alters its answer. The gateway of the tests lives at noon of a certain day; the
// browser does not. The browser keeps nothing, so that no row sees what was answered in the one before.
func (w *world) pass(rw http.ResponseWriter, r *http.Request, alter func(string) string) {
	record := httptest.NewRecorder()
	w.gateway.ServeHTTP(record, r)
	for name, values := range record.Header() {
		if name != "Content-Length" && name != "Cache-Control" {
			rw.Header()[name] = values
		}
	}
	rw.WriteHeader(record.Code)
	until := fmt.Sprintf(`"validUntil":"%s"`, time.Now().Add(time.Minute).UTC().Format(time.RFC3339))
	fmt.Fprint(rw, alter(validUntil.ReplaceAllString(record.Body.String(), until)))
}

var validUntil = regexp.MustCompile(`"validUntil":"[^"]*"`)

const unavailable = `{"error": "Not now", "code": "STATUS_UNAVAILABLE", "requestId": "r"}`

// replies answers the same to everything.
func replies(status int, body string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", "1")
		rw.WriteHeader(status)
		fmt.Fprint(rw, body)
	}
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// tells has the gateway tell these statuses of whatever transaction it is asked about; the last stays.
func (w *world) tells(statuses ...string) {
	w.answer("/v3/swap/status", func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		next := statuses[min(len(w.asked), len(statuses)-1)]
		w.asked = append(w.asked, r.URL.RawQuery)
		w.mu.Unlock()
		if len(next) == 3 {
			var status int
			fmt.Sscan(next, &status)
			replies(status, unavailable)(rw, r)
			return
		}
		fmt.Fprint(rw, complete(next, r.URL.Query()))
	})
}

// complete is a status with what every status has, for the transaction that was asked about. The time of its source may
// be given as a duration from now.
func complete(status string, asked url.Values) string {
	var body map[string]any
	if err := json.Unmarshal([]byte(status), &body); err != nil || body["state"] == nil {
		return status
	}
	fill := func(into any, values map[string]any) {
		fields, isObject := into.(map[string]any)
		for name, value := range values {
			if _, isThere := fields[name]; isObject && !isThere {
				fields[name] = value
			}
		}
	}
	source := map[string]any{"blockNumber": 21000000, "confirmations": 12, "timestamp": "2026-11-15T12:00:00Z"}
	swap := map[string]any{
		"dstChain": "369", "dstToken": "0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07", "recipient": alice, "recipientType": 0,
		"amount": "100000000",
	}
	settlement := map[string]any{
		"chainId": 369, "amount": "99700000", "arrived": "99700000", "timestamp": "2026-11-15T12:01:05Z",
	}
	fill(body, map[string]any{
		"srcChain": asked.Get("srcChain"), "txHash": asked.Get("txHash"), "final": false, "nextCheckSeconds": 0,
	})
	switch body["state"] {
	case "SETTLING":
		fill(body, map[string]any{"source": source, "swap": swap})
	case "SETTLED":
		fill(body, map[string]any{"source": source, "swap": swap, "settlement": settlement})
	case "FAILED", "NOT_A_SWAP":
		fill(body, map[string]any{"source": source})
	}
	fill(body["source"], source)
	if given, isObject := body["source"].(map[string]any); isObject {
		if from, err := time.ParseDuration(fmt.Sprint(given["timestamp"])); err == nil {
			given["timestamp"] = time.Now().Add(from).UTC().Format(time.RFC3339)
		}
	}
	fill(body["swap"], swap)
	fill(body["settlement"], settlement)
	fill(body["burn"], map[string]any{"domain": 0, "attested": false})
	swaps, _ := body["swaps"].([]any)
	for _, each := range swaps {
		fill(each, map[string]any{"state": body["state"], "final": false, "swap": swap})
	}
	whole, _ := json.Marshal(body)
	return string(whole)
}

// A row is something that a visitor does, and what the page shows then.
type row struct {
	name     string
	at       string // the address, if the page is loaded anew
	stays    bool   // on the page of the row before, whatever is there
	answers  map[string]http.HandlerFunc
	statuses []string // that the gateway tells
	script   string   // in testdata, by its name
	args     []any    // of the script
	want     []string // see the function see in helpers.js; without "alert:" in it, there is no alert
	never    []string
}

// check goes through the rows, one after the other.
func (w *world) check(t *testing.T, rows ...row) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Helper()
			w.reset()
			for path, handle := range row.answers {
				w.answer(path, handle)
			}
			if len(row.statuses) > 0 {
				w.tells(row.statuses...)
			}
			if !row.stays {
				w.open(t, row.at)
			}
			do := ""
			if row.script != "" {
				do = fmt.Sprintf("await scripts[%q](...args);\n", row.script)
			}
			got := run[string](t, w, do+"return see();", row.args...)
			alerts := false
			for _, words := range row.want {
				alerts = alerts || strings.HasPrefix(words, "alert:")
			}
			if !alerts {
				wantWords(t, got, "alert: none")
			}
			wantWords(t, got, row.want...)
			for _, words := range row.never {
				if strings.Contains(got, words) {
					t.Errorf("the page shows %q:\n%s", words, got)
				}
			}
		})
	}
}

func wantWords(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("the page does not show %q:\n%s", word, text)
		}
	}
}

// helpers are the hands and eyes of a visitor, and then the scripts of the rows.
var helpers = sync.OnceValue(func() string {
	files, err := filepath.Glob("testdata/*.js")
	if err != nil {
		panic(err)
	}
	var all strings.Builder
	for _, file := range append([]string{"testdata/helpers.js"}, files...) {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		if file != "testdata/helpers.js" || all.Len() == 0 {
			all.Write(text)
		}
	}
	return all.String()
})

// play runs a script of testdata in the page, and gives what it returns.
func play[T any](t *testing.T, w *world, script string, args ...any) T {
	t.Helper()
	return run[T](t, w, fmt.Sprintf("return scripts[%q](...args);", script), args...)
}

// run runs the body of an async function in the page, and gives what it returns.
func run[T any](t *testing.T, w *world, body string, args ...any) T {
	t.Helper()
	given, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.page.Context(), 2*time.Minute)
	defer cancel()
	// An entry of the history that the row before has left may end the wait for a navigation too early.
	script := "(async () => { while (document.readyState !== 'complete') await new Promise((done) => setTimeout(done, 10));\n" +
		helpers() + "if ($('form')) hasten();\nconst args = " + string(given) + " ?? []" + ";\n" + body + "\n})()"
	got, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%v\nin %s", err, body)
	}
	return got
}

// open loads an address. A browser drops the locks of the page before only a while after the new one is there, and until
// then the same swap is being sent "in another tab": open waits for that.
func (w *world) open(t *testing.T, query string) {
	t.Helper()
	if strings.HasPrefix(query, "#") {
		query = "?new" + query // the page before may have another hash only, and then nothing would be loaded
	}
	act(t, w, chromedp.Navigate(w.url+"/"+query))
	play[bool](t, w, "no lock is held")
}

func act(t *testing.T, w *world, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(w.page.Context(), actions...); err != nil {
		t.Fatal(err)
	}
}

func emulate(t *testing.T, w *world, scheme string, width, height int64, options ...chromedp.EmulateViewportOption) {
	t.Helper()
	act(t, w, chromedp.EmulateViewport(width, height, options...))
	emulateMedia(t, w, "", "prefers-color-scheme", scheme)
}

func emulateMedia(t *testing.T, w *world, kind string, feature, value string) {
	t.Helper()
	browser.Call(t, w.page, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: kind, Features: []*emulation.MediaFeature{{Name: feature, Value: value}},
	})
}
