package site_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/quotegate/quotegate/shared/testkit/npm"
)

func olderVersions(t *testing.T, w *world) {
	query := "?srcToken=USDC&dstToken=USDC&amount=123456789012345678901&srcChain=56&dstChain=369"
	w.open(t, "developers")
	served := run[[]string](t, w, "return JSON.parse($('listing').textContent).versions;")
	for name, tt := range map[string]struct {
		needs, url string
		words      []string
		alert      string
	}{
		"v1": {"v1", "https://old.example/v1/quote" + query + "&recipient=" + alice, []string{
			"this page contacts no other host", "New URL", "/v3/swap/quote" + query, "Both versions pay the same amount", "Response of v1: 200", "Response of v3: 200",
			"370370367037037036", "370370", "the unit: it was in the source token", "route.swaps.0.pool"}, ""},
		"v1 without a recipient":    {"v1", "/swap/v1/quote" + query, []string{"v3 rejects this request:", "Always send recipient", "Response of v3: 400", "MISSING_PARAMETER"}, ""},
		"an integrator":             {"v1", "/v1/quote" + query + "&recipient=" + alice + "&integratorId=" + partner, []string{"v3 pays a different amount", "v3 does not ignore integratorId"}, ""},
		"the earlier v3":            {"v3legacy", "/v3legacy/swap/quote" + query + "&recipient=" + alice, []string{"Response of the earlier v3: 200", "fee.protocol.amount", "Both versions pay the same amount"}, ""},
		"the earlier v3 by header":  {"v3legacy", "/v3/swap/quote" + query + "&recipient=" + alice, []string{"Response of the earlier v3: 200", `"amount": "370370"`, "Remove the header"}, ""},
		"another path":              {"", "/admin/usage", nil, "This is not the path of a quote"},
		"a path of all objects":     {"", "/constructor", nil, "This is not the path of a quote"},
		"another scheme":            {"", "javascript:alert(1)", nil, "This is not the path of a quote"},
		"no URL":                    {"", "https://", nil, "This is not a URL."},
		"hostile":                   {"v1", "/v1/quote?srcToken=<img src=x onerror=alert(1)>", []string{"Response of v3: 400"}, ""},
		"parameters that are twice": {"v1", "/v1/quote" + query + "&amount=1", []string{"v3 rejects this request"}, ""},
	} {
		if tt.needs != "" && !strings.Contains(strings.Join(served, " ")+" ", tt.needs+" ") {
			continue
		}
		got := run[shown](t, w, `
			$('moved').replaceChildren();
			$('old').value = $1;
			$('move-form').querySelector('button').click();
			await until(() => alertText() || $('moved').innerText);
			const said = { alert: alertText(), status: $('moved').innerText };
			$('old').removeAttribute('aria-invalid');
			$('alert').replaceChildren();
			return said;`, tt.url)
		wantWords(t, name, got.Status, tt.words...)
		wantWords(t, name, got.Alert, tt.alert)
		if tt.alert == "" && got.Alert != "" {
			t.Errorf("%s: got alert %q", name, got.Alert)
		}
		if strings.Contains(got.Status, "v3 rejects") && strings.Contains(got.Status, "New URL") {
			t.Errorf("%s: the page offers a URL that it has just said is refused", name)
		}
	}
	w.answer("/v3/swap/quote", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	got := run[string](t, w, "$('old').value = '/v1/quote?a=b'; $('move-form').querySelector('button').click(); return until(alertText);")
	wantWords(t, "a gateway that is gone", got, "The gateway does not answer.")
}

func versionLives(t *testing.T, w *world) {
	w.open(t, "developers")
	got := run[string](t, w, `
		
		await until(() => $('lives').innerText);
		const life = $('lives').firstChild;
		[...life.querySelectorAll('button')].find((button) => button.textContent === 'Rehearse retired').click();
		await until(() => life.querySelector('pre'));
		return $('lives').innerText;`)
	wantWords(t, "the versions", got, "v3 active", "No sunset planned.", "GET /v3/swap/quote", "HTTP 410", "VERSION_RETIRED", "api-rehearse: retired")

	w.open(t, "developers")
	w.answer("/versions", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, plan) })
	w.reload(t)
	got = run[string](t, w, " await until(() => $('lives').innerText.includes('2027-03-01')); return $('lives').innerText + document.querySelectorAll('.life svg rect').length + ' shapes';")
	wantWords(t, "a plan", got, "2026-09-01 00:00 UTC: deprecated", "2027-01-12 14:00 UTC: brownout until 2027-01-12 14:15 UTC: 25 % of clients get 410",
		"2027-03-01 00:00 UTC: sunset: every client gets 410", "Use /v3/swap/quote instead.", "Migration guide", "UTC: now", "6 shapes")
}

// ownCalls types a key in: the page shows what the gateway says about it, sends it once, in
// a header, and keeps it nowhere.
func ownCalls(t *testing.T, w *world) {
	const key = "qg_0123456789012345678901234567890123456789012"
	asked := 0
	w.open(t, "developers")
	w.answer("/versions/mine", func(rw http.ResponseWriter, r *http.Request) {
		asked++
		if r.Header.Get("API-Key") != key {
			rw.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(rw, `{"error": "only a key proves whose they are", "code": "UNKNOWN_KEY", "requestId": "1"}`)
			return
		}
		fmt.Fprint(rw, `{"client": "Harbour", "versions": [
			{"name": "v1", "state": "deprecated", "exempt": false, "window": {"from": "2027-01-12T14:00:00Z", "to": "2027-01-12T14:15:00Z", "share": 0.25, "refused": true},
			 "days": [{"day": "2027-01-04", "served": 12, "refused": 3, "failed": 1}, {"day": "2027-01-05", "served": 3, "refused": 0, "failed": 0}],
			 "findings": [{"outcome": "refused", "code": "MISSING_PARAMETER", "param": "recipient", "calls": 3, "says": "3 calls would be refused by v3, because recipient is missing."}]},
			{"name": "v3legacy", "state": "active", "exempt": true, "window": null, "days": [], "findings": []}, 7, null]}`)
	})
	got := run[string](t, w, `
		
		await until(() => document.getElementById('own-key'));
		const show = async (key, ready) => {
			$('own-key').value = key;
			$('own-form').querySelector('button').click();
			return until(() => $('lives').innerText.includes(ready) && $('lives').innerText);
		};
		await show('', 'Enter your API key');
		const refused = await show('qg_wrong', 'only a key proves');
		const shown = await show($1, 'You are Harbour');
		return refused + shown + ' kept ' + [location.href, JSON.stringify({ ...localStorage, ...sessionStorage }), document.cookie, document.documentElement.outerHTML].filter((text) => text.includes($1)).length;`, key)
	wantWords(t, "the own calls", got, "You are Harbour.", "v1: deprecated", "15 calls served, 3 refused and 1 with errors within 90 days", "The next brownout, 2027-01-12 14:00 UTC, includes you.",
		"3 calls would be refused by v3, because recipient is missing.", "v3legacy: active", "No call within 90 days", "You are exempt from brownouts", "kept 0")
	if asked != 2 {
		t.Errorf("the page asked %d times, want once for each key", asked)
	}
}

const plan = `{"versions": [{"name": "v3", "state": "active", "brownouts": [], "contract": "/v3/openapi.yaml", "gate": null},
	{"name": "v1", "state": "deprecated", "deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z", "successor": "/v3/swap/quote", "migration": "https://example.org/migrate",
	 "brownouts": [{"from": "2027-01-12T14:00:00Z", "to": "2027-01-12T14:15:00Z", "share": 0.25}, {"from": "2027-02-16T14:00:00Z", "to": "2027-02-16T18:00:00Z", "share": 1}], "contract": "/v1/openapi.yaml", "gate": null}]}`

func snippets(t *testing.T, w *world) {
	w.open(t, "developers?from=USDC@1&to=USDC@369&amount=100&recipient="+alice)
	got := run[map[string]string](t, w, `
		await until(() => $('snippets').innerText);
		let copied;
		Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { copied = text; } }, configurable: true });
		document.querySelector('[aria-label="Copy curl"]').click();
		await until(() => copied);
		const announced = $('said').textContent;
		Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true });
		const button = document.querySelector('[aria-label="Copy client"]');
		button.click();
		await until(() => button.textContent !== 'Copy');
		return { text: $('snippets').innerText, copied, announced, without: button.textContent, links: [...$('contracts').querySelectorAll('a')].map((link) => link.getAttribute('href')).join(' ') };`)
	url := "/v3/swap/quote?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369&recipient=" + alice + "&include=details'"
	wantWords(t, "the snippets", got["text"], "curl '"+w.url+url, `amount: "100000000"`, "await client.quote({", "wallet.sendTransaction({ account, chain,", "wallet.switchChain({ id: chain.id })")
	wantWords(t, "what is announced", got["announced"], "Copied curl")
	wantWords(t, "the clipboard", got["copied"], "curl '"+w.url+url)
	wantWords(t, "a browser without a clipboard", got["without"], "Select and copy")
	for path := range strings.FieldsSeq(got["links"]) {
		if strings.HasPrefix(path, "#") {
			continue
		}
		if res, _ := ask(t, w.Handler, "GET", path); res.StatusCode != 200 {
			t.Errorf("the page links to %s, which answers %d", path, res.StatusCode)
		}
	}
}

// names are what people and scripts rely on.
const names = `
	const problems = [];
	const nameOf = (control) => control.getAttribute('aria-label') ?? [...control.labels].map((label) => label.textContent.trim()).join(' ');
	for (const control of document.querySelectorAll('input, select, textarea')) if (!nameOf(control)) problems.push(control.id + ' has no label');
	for (const button of document.querySelectorAll('button')) if (!button.textContent.trim()) problems.push('a button without a name');
	const roles = $('form') ? ['alert', 'status'] : ['alert'];
	for (const role of roles) if (document.querySelectorAll('[role=' + role + ']').length !== 1) problems.push('not one ' + role);
	if ($('form')) {
		for (const [id, words] of [['from-chain', 'From chain'], ['from-token', 'From token'], ['to-chain', 'To chain'], ['to-token', 'To token'], ['amount', 'Amount'], ['recipient', 'Recipient']]) if (nameOf($(id)) !== words) problems.push(id + ' is not called ' + words);
		if ($('ask').textContent !== 'Get quote') problems.push('the button is not called Get quote');
	}
	const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
	if (new Set(ids).size !== ids.length) problems.push('an ID is there twice');
	return problems;`

// states are what a visitor may see. Each is a script that brings a page there, with a wallet.
var states = map[string]struct{ at, script string }{
	"empty":      {"", ""},
	"connected":  {"", "named('Connect').click(); await until(() => named('Disconnect') && document.querySelector('.menu').innerText.includes('…'));"},
	"menu":       {"", "wallet({ rdns: 'other.example' }); (await until(() => document.querySelector('.menu summary'))).click();"},
	"quote":      {"", "await quote($2);"},
	"unfolded":   {"", "await quote($2); openAll();"},
	"refused":    {"", "alter('/v3/swap/quote', { path: 'to', set: '0x22b1130BBE13Df405097cCA427CBA49B4c6C2136' }); await quote($2); restore();"},
	"errors":     {"", "await quote({ amount: 'x', recipient: 'y', integrator: 'z' });"},
	"shield":     {"", "await quote({ ...$2, to: 'USDC@69696969', recipient: '" + private + "' });"},
	"unshield":   {"", "await quote({ ...$2, from: 'USDC@69696969', to: 'USDC@369' });"},
	"waiting":    {"", "wallet({ rdns: 'other.example', does: () => ({ eth_requestAccounts: () => new Promise(() => {}) }) }); await quote($2); type('wallet', [...$('wallet').options].at(-1).value); sendButton().click(); await until(() => named('Stop waiting'));"},
	"linked":     {"", "history.replaceState(null, '', '?from=USDC@1&to=USDC@369&amount=100&recipient=" + alice + "'); dispatchEvent(new PopStateEvent('popstate')); await until(() => $('meant'));"},
	"expired":    {"", "wallet({ rdns: 'other.example', does: () => ({ eth_sendTransaction: () => new Promise(() => {}) }) }); await quote($2); type('wallet', 'other.example'); sendButton().click(); await until(() => transactions().length); const real = Date.now; Date.now = () => real() + 90_000; await until(() => $('valid').innerText.includes('has expired')); Date.now = real;"},
	"under way":  {"", "await quote($2); sendButton().click(); await until(() => isSwap() && !statusText().includes('Waiting for confirmation'));"},
	"unclear":    {"", "wallet({ rdns: 'other.example', does: ({ refuse }) => ({ eth_call: () => '0xffffffffffffffff', eth_sendTransaction: () => refuse(-32603) }) }); await quote($2); type('wallet', [...$('wallet').options].at(-1).value); sendButton().click(); await until(() => statusText().includes('We do not know'));"},
	"done":       {"", "alterStatus(" + settled + "); await quote($2); sendButton().click(); await until(() => statusText().includes('Complete'));"},
	"failed":     {"", "alterStatus({ state: 'FAILED', final: true, nextCheckSeconds: 0, reason: 'paused', source: { blockNumber: 21000000, confirmations: 12, timestamp: '2026-11-15T11:59:00Z' } }); await quote($2); sendButton().click(); await until(alertText);"},
	"two swaps":  {"", "type('to-chain', '42161'); type('amount', '100');"},
	"developers": {"developers", "await until(() => document.getElementById('own-key'));"},
	"moved":      {"developers", "$('old').value = '/v1/quote?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369'; $('move-form').querySelector('button').click(); await until(() => $('moved').innerText);"},
}

// looks: names, contrast, narrow and wide screens, colours, motion, keyboard, mouse; and pictures where a person asks for them.
func looks(t *testing.T, w *world) {
	axe, err := os.ReadFile(filepath.Join(npm.Packages(t), "axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	usdc := form("USDC@1", "USDC@369", "100", alice, "")
	for state, tt := range states {
		w.open(t, tt.at)
		w.answer("/v3/swap/status", untracked)
		emulate(t, w, "light", 1440, 900)
		if _, err := chromedp.Run(w.page.Context(), chromedp.Evaluate[bool](string(axe)+"; true")); err != nil {
			t.Fatal(err)
		}
		problems := run[[]string](t, w, fast+walletJS+alterJS+"wallet();"+tt.script+axeJS, sender, usdc)
		emulate(t, w, "dark", 390, 900)
		problems = append(problems, run[[]string](t, w, axeJS)...)
		problems = append(problems, run[[]string](t, w, names)...)
		for _, problem := range problems {
			t.Errorf("%s: %s", state, problem)
		}
		if state == "quote" {
			emulateAll(t, w, "light", "active", 768, 900)
			for _, violation := range run[[]string](t, w, axeJS) {
				t.Errorf("forced colours: %s", violation)
			}
		}
	}
	w.open(t, "")
	run[bool](t, w, "$('more').open = true; await quote($1); openAll(); return true;", form("DAI@56", "USDC@69696969", "123.456789012345678901", private, partner))
	for _, width := range []int64{320, 360, 768, 1200, 1440} {
		emulate(t, w, "light", width, 800)
		got := run[[]int](t, w, "return [document.documentElement.scrollWidth, innerWidth];")
		if got[0] > got[1] {
			t.Errorf("at a width of %d the page has %d: it scrolls sideways", got[1], got[0])
		}
	}
	pressed(t, w)
	keyboard(t, w)
	motion(t, w)
	withoutScripts(t, w)
	explorers(t, w)
}

// withoutScripts: an explanation in place of the form.
func withoutScripts(t *testing.T, w *world) {
	disable := func(value bool) {
		if err := chromedp.Do(w.page.Context(), chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
			_, err := cdp.Call(ctx, tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: value})
			return err
		})); err != nil {
			t.Fatal(err)
		}
	}
	w.open(t, "")
	disable(true)
	defer disable(false)
	w.visit(t, "")
	got, err := chromedp.Run(w.page.Context(), chromedp.Evaluate[string]("document.querySelector('main').innerText + [...document.querySelectorAll('button, input, select, textarea, summary')].filter((one) => one.checkVisibility()).length + ' dead'"))
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, "without scripts", got, "needs JavaScript", "/v3/openapi.yaml", "0 dead")
}

// explorers are linked where the deployment states them; it has local chains, so none is known otherwise.
func explorers(t *testing.T, w *world) {
	w.open(t, "")
	w.answer("/", withExplorers(t))
	w.tells(`{"state": "PENDING", "final": false, "nextCheckSeconds": 3600}`)
	w.reload(t)
	links := run[[]string](t, w, `
		const links = () => [...document.querySelectorAll('#rest a')].map((link) => link.href);
		$('tx').value = '0x' + 'a'.repeat(64); type('tx-chain', '1'); named('Track').click(); await until(() => statusText().includes('Waiting'));
		const there = links();
		type('tx-chain', '8453'); named('Track').click(); await until(() => statusText().includes('Waiting'));
		return [...there, ...links()];`)
	if want := "https://explorer.example/tx/0x" + strings.Repeat("a", 64); len(links) != 1 || links[0] != want {
		t.Errorf("got links %q, want %s and none where no explorer is stated", links, want)
	}
}

const axeJS = `
	const { violations } = await axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] });
	return violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html, failureSummary }) => html.slice(0, 150) + ' ' + failureSummary.slice(0, 150)).join(' | '));`

// pressed clicks with a real mouse right after typing: the button stays where it is between press and release.
func pressed(t *testing.T, w *world) {
	emulate(t, w, "light", 390, 844)
	w.open(t, "?recipient="+alice)
	if err := chromedp.Do(w.page.Context(), chromedp.Focus(chromedp.CSS("#amount")), chromedp.KeyEvent("100")); err != nil {
		t.Fatal(err)
	}
	got := run[[]float64](t, w, `
		$('ask').scrollIntoView({ block: 'center' });
		const { left, top, width, height } = $('ask').getBoundingClientRect();
		window.moves = [];
		addEventListener('mousedown', () => { window.moves.push($('ask').getBoundingClientRect().top); }, true);
		addEventListener('mouseup', () => { window.moves.push($('ask').getBoundingClientRect().top); }, true);
		return [left + width / 2, top + height / 2];`)
	if err := chromedp.Do(w.page.Context(), chromedp.MouseClickXY(got[0], got[1])); err != nil {
		t.Fatal(err)
	}
	moves := run[[]float64](t, w, "await until(() => statusText().includes('You receive')); return window.moves;")
	if len(moves) != 2 || moves[0] != moves[1] {
		t.Errorf("the button was at %v when it was pressed and released", moves)
	}
	// Typing moves nothing above the button either.
	tops := run[[]float64](t, w, `
		$('change').click();
		type('recipient', $1.toLowerCase());
		const top = () => Math.round($('ask').getBoundingClientRect().top + scrollY);
		const tops = [top()];
		for (const step of [() => type('amount', '1'), () => type('recipient', '0x'), () => type('amount', '')]) {
			step();
			await new Promise((done) => setTimeout(done, 20));
			tops.push(top());
		}
		return tops;`, alice)
	for _, top := range tops {
		if top != tops[0] {
			t.Errorf("the button moves: %v", tops)
			break
		}
	}
}

// keyboard fills in the form, asks and sends, without a mouse.
func keyboard(t *testing.T, w *world) {
	emulate(t, w, "light", 1200, 900)
	w.open(t, "")
	w.answer("/v3/swap/status", untracked)
	run[bool](t, w, walletJS+"wallet({ allowance: '0xffffffffff' }); return true;", sender)
	if err := chromedp.Do(w.page.Context(),
		chromedp.Focus(chromedp.CSS("#amount")), chromedp.KeyEvent("100"),
		chromedp.Focus(chromedp.CSS("#recipient")), chromedp.KeyEvent(alice), chromedp.KeyEvent("\r")); err != nil {
		t.Fatal(err)
	}
	got := run[shown](t, w, "await until(() => statusText().includes('You receive')); return { alert: alertText(), focus: document.activeElement.id };")
	if got.Focus != "answer" || got.Alert != "" {
		t.Errorf("got focus on %q and alert %q, want it on the answer", got.Focus, got.Alert)
	}
	if err := chromedp.Do(w.page.Context(), chromedp.KeyEvent("\t"), chromedp.KeyEvent("\r")); err != nil {
		t.Fatal(err)
	}
	sent := run[int](t, w, "await until(() => statusText().includes('cannot follow')); return window.calls.filter(({ method }) => method === 'eth_sendTransaction').length;")
	if sent != 1 {
		t.Errorf("by keyboard, %d transactions were sent, want 1", sent)
	}
}

// motion: nothing moves for those who ask for that, not even what a style sheet draws.
func motion(t *testing.T, w *world) {
	w.open(t, "")
	w.tells(`{"state": "PENDING", "nextCheckSeconds": 3600}`)
	const moving = `$('tx').value = '0x' + 'a'.repeat(64); named('Track').click(); await until(() => document.querySelector('.now'));
		return [...document.querySelectorAll('*')].flatMap((element) => ['', '::before', '::after'].map((part) => getComputedStyle(element, part || null).animationName)).filter((name) => name !== 'none').length;`
	if got := run[int](t, w, moving); got == 0 {
		t.Error("nothing shows that the page is waiting")
	}
	media(t, w, "", []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}})
	if got := run[int](t, w, moving); got != 0 {
		t.Errorf("%d things move for a visitor who wants none to", got)
	}
	media(t, w, "", nil)
}

func media(t *testing.T, w *world, kind string, features []*emulation.MediaFeature) {
	t.Helper()
	err := chromedp.Do(w.page.Context(), chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: kind, Features: features})
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
}

func emulate(t *testing.T, w *world, scheme string, width, height int64) {
	t.Helper()
	emulateAll(t, w, scheme, "none", width, height)
}

func emulateAll(t *testing.T, w *world, scheme, forced string, width, height int64) {
	t.Helper()
	if err := chromedp.Do(w.page.Context(), chromedp.EmulateViewport(width, height)); err != nil {
		t.Fatal(err)
	}
	media(t, w, "", []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "forced-colors", Value: forced}})
}
