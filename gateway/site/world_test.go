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
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/quotegate/quotegate/gateway/site"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/browser"
	"github.com/quotegate/quotegate/shared/web"
)

const (
	alice   = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	partner = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
	private = "0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s860w8vyalll36xdq7w39djr40dhrdafqpdmhpa"
)

// TestMain has more tabs than there are processors open at a time, since pages mostly wait.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// A world is the page in a browser, and a gateway between which and the page a test can put itself. The gateway's own
// page would sign nothing, since its deployment is the reference: its pages are those of another name.
type world struct {
	http.Handler
	pages http.Handler
	page  *browser.Page
	url   string

	mu      sync.Mutex
	instead map[string]http.HandlerFunc // by path
	asked   []string                    // the requests for status
}

// answer has a path answered by the test, until the next case.
func (w *world) answer(path string, handle http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.instead[path] = handle
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	handle := w.instead[r.URL.Path]
	w.mu.Unlock()
	if handle != nil {
		handle(rw, r)
		return
	}
	w.pass(rw, r)
}

// pass has the gateway itself answer.
func (w *world) pass(rw http.ResponseWriter, r *http.Request) {
	handler := w.Handler
	if r.URL.Path == "/" || r.URL.Path == "/developers" {
		handler = w.pages
	}
	record := httptest.NewRecorder()
	handler.ServeHTTP(record, r)
	for name, values := range record.Header() {
		if name != "Content-Length" {
			rw.Header()[name] = values
		}
	}
	rw.WriteHeader(record.Code)
	// The gateway of the tests lives at noon of a certain day; the browser does not.
	until := fmt.Sprintf(`"validUntil":"%s"`, time.Now().Add(time.Minute).UTC().Format(time.RFC3339))
	_, _ = rw.Write(validUntil.ReplaceAll(record.Body.Bytes(), []byte(until)))
}

var validUntil = regexp.MustCompile(`"validUntil":"[^"]*"`)

func newWorld(t *testing.T, beside *browser.Page) *world {
	t.Helper()
	return openWorld(t, beside, "devnet")
}

// openWorld opens the page of the reference deployment's contracts, under a name.
func openWorld(t *testing.T, beside *browser.Page, name string) *world {
	t.Helper()
	deployment := chain.Reference()
	deployment.Name = name
	versions := []string{"v3", "v3legacy", "v1"}
	pages := http.NewServeMux()
	for path, page := range map[string]web.Handler{
		"/{$}": site.Page(deployment, versions, "v3"), "/developers": site.Developers(deployment, versions),
	} {
		pages.HandleFunc(path, func(rw http.ResponseWriter, r *http.Request) {
			if err := page(rw, r); err != nil {
				t.Error(err)
			}
		})
	}
	w := &world{Handler: golden.Gateway(t), pages: pages, instead: map[string]http.HandlerFunc{}}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.url = server.URL
	w.page = openTab(t, beside, w.url+"/")
	return w
}

// openTab opens a tab beside a page. The browser itself tells of every answer that is an error, and some cases are about
// these. It also tells that it asks nobody who has not used the page whether to leave it.
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

// helpers are there for the scripts of the tests. No wait ends before a minute, so that a slow machine does no harm.
const helpers = `
	const $ = (id) => document.getElementById(id);
	const alertText = () => document.querySelector('[role=alert]').innerText;
	const statusText = () => document.querySelector('[role=status]').innerText;
	const named = (words) => [...document.querySelectorAll('button')].find((button) => button.textContent.startsWith(words));
	const sendButton = () => named('Swap ');
	const sendWords = () => sendButton().textContent + ': ' + $('signatures').textContent;
	const until = async (what) => {
		for (let i = 0; i < 6000; i++) {
			const value = await what();
			if (value) return value;
			await new Promise((done) => setTimeout(done, 10));
		}
		throw new Error('it never came: ' + what + '\nalert: ' + alertText() + '\nstatus: ' + statusText());
	};
	const type = (id, value) => { // as keys do, into an empty field
		$(id).value = '';
		$(id).dispatchEvent(new InputEvent('input', { bubbles: true, inputType: 'deleteContentBackward' }));
		$(id).value = value;
		$(id).dispatchEvent(new InputEvent('input', { bubbles: true, inputType: 'insertText', data: value.slice(-1) }));
		$(id).dispatchEvent(new Event('change', { bubbles: true }));
	};
	const pick = (side, key) => { const [token, chain] = key.split('@'); type(side + '-chain', chain); type(side + '-token', token); };
	const fill = (form) => { for (const [id, value] of Object.entries(form)) id === 'from' || id === 'to' ? pick(id, value) : type(id, value); };
	const formNow = () => ({ from: $('from-token').value + '@' + $('from-chain').value, to: $('to-token').value + '@' + $('to-chain').value,
		amount: $('amount').value, recipient: $('recipient').value, integrator: $('integrator').value });
	const cardText = () => $('card').innerText;
	const isSwap = () => location.hash.startsWith('#swap=0x');
	const openAll = () => { for (const details of document.querySelectorAll('details')) details.open = true; };
	const quote = async (form = {}) => {
		fill(form);
		$('ask').click();
		await until(() => alertText() || statusText() && !statusText().startsWith('Getting') && !statusText().includes('Retrying in'));
	};
`

// run runs the body of an async function in the page, and gives what it returns.
func run[T any](t *testing.T, w *world, body string, args ...any) T {
	t.Helper()
	for i, arg := range args {
		text, err := json.Marshal(arg)
		if err != nil {
			t.Fatal(err)
		}
		body = strings.ReplaceAll(body, fmt.Sprintf("$%d", i+1), string(text))
	}
	ctx, cancel := context.WithTimeout(w.page.Context(), 2*time.Minute)
	defer cancel()
	got, err := chromedp.Run(ctx, chromedp.Evaluate[T]("(async () => {"+helpers+loaded+body+"})()", chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%v\nin %s", err, body)
	}
	return got
}

// loaded waits for a page that is still being loaded: an entry of the history that the
// test before has left may end the wait for a navigation too early.
const loaded = `
	while (document.readyState !== 'complete') await new Promise((done) => setTimeout(done, 10));
`

// open loads the page anew, with nothing put in between. A browser drops the locks of the page before only a while after
// the new one is there, and until then the same swap is being sent "in another tab": open waits for that.
func (w *world) open(t *testing.T, query string) {
	t.Helper()
	w.reset()
	w.visit(t, query)
	w.idle(t)
}

// reset has the gateway itself answer everything.
func (w *world) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.instead)
	w.asked = nil
}

// follow opens the link of a transaction of which a gateway tells these statuses.
func (w *world) follow(t *testing.T, query string, statuses ...string) {
	t.Helper()
	w.reset()
	w.tells(statuses...)
	// The page before may have another hash only, and then nothing would be loaded.
	if err := chromedp.Do(w.page.Context(), chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	w.visit(t, query)
	w.idle(t)
}

// idle waits until no page is sending a swap any more.
func (w *world) idle(t *testing.T) {
	t.Helper()
	run[bool](t, w, "return until(async () => (await navigator.locks.query()).held.length === 0);")
}

// visit loads an address with what the test has put in between.
func (w *world) visit(t *testing.T, query string) {
	t.Helper()
	if err := chromedp.Do(w.page.Context(), chromedp.Navigate(w.url+"/"+query)); err != nil {
		t.Fatal(err)
	}
}

// reload loads the page again, with what the test has put in between.
func (w *world) reload(t *testing.T) {
	t.Helper()
	if err := chromedp.Do(w.page.Context(), chromedp.Reload()); err != nil {
		t.Fatal(err)
	}
}

// shown is what the visitor sees after a quote.
type shown struct {
	Alert, Status, Card string
	Send                bool
	Focus               string // the ID of the element with the focus
	Checks              int
}

const look = `openAll(); return { alert: alertText(), status: statusText(), card: cardText(), send: Boolean(sendButton()), focus: document.activeElement.id,
	checks: document.querySelectorAll('.checks .yes').length };`

// form is what a visitor fills in.
func form(from, to, amount, recipient, integrator string) map[string]string {
	return map[string]string{"from": from, "to": to, "amount": amount, "recipient": recipient, "integrator": integrator}
}

func wantWords(t *testing.T, where, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s does not say %q:\n%s", where, word, text)
		}
	}
}

// readRequest gives the query of an exchange on record.
func readRequest(t *testing.T, name string) map[string]string {
	t.Helper()
	data, err := os.ReadFile("../../testdata/v3/" + name + ".http")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	_, target, _ := strings.Cut(line, " ")
	at, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	query := map[string]string{}
	for key, values := range at.Query() {
		query[key] = values[0]
	}
	return query
}
