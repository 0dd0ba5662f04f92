package site_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

func olderVersions(t *testing.T, w *world) {
	query := "?srcToken=USDC&dstToken=USDC&amount=123456789012345678901&srcChain=56&dstChain=369"
	w.open(t, "")
	served := run[[]string](t, w, "return JSON.parse($('listing').textContent).versions;")
	for name, tt := range map[string]struct {
		needs, url string
		words      []string
		alert      string
	}{
		"v1": {"v1", "https://old.example/v1/quote" + query + "&recipient=" + alice, []string{
			"this page asks no other host", "/v3/swap/quote" + query, "The same amount arrives", "Answer of v1: 200", "Answer of v3: 200",
			"370370367037037036", "370370", "the unit: v1 states it in the source token", "route.swaps.0.pool"}, ""},
		"v1 without a recipient":    {"v1", "/swap/v1/quote" + query, []string{"v3 refuses this request:", "Always send recipient", "Answer of v3: 400", "MISSING_PARAMETER"}, ""},
		"an integrator":             {"v1", "/v1/quote" + query + "&recipient=" + alice + "&integratorId=" + partner, []string{"Another amount arrives in v3", "v3 does not ignore integratorId"}, ""},
		"the earlier v3":            {"v3legacy", "/v3legacy/swap/quote" + query + "&recipient=" + alice, []string{"Answer of the earlier v3: 200", "fee.protocol.amount", "The same amount arrives"}, ""},
		"the earlier v3 by header":  {"v3legacy", "/v3/swap/quote" + query + "&recipient=" + alice, []string{"Answer of the earlier v3: 200", `"amount": "370370"`, "Leave out the header"}, ""},
		"another path":              {"", "/admin/usage", nil, "This is not the path of a quote"},
		"a path of all objects":     {"", "/constructor", nil, "This is not the path of a quote"},
		"another scheme":            {"", "javascript:alert(1)", nil, "This is not the path of a quote"},
		"no URL":                    {"", "https://", nil, "This is not a URL."},
		"hostile":                   {"v1", "/v1/quote?srcToken=<img src=x onerror=alert(1)>", []string{"Answer of v3: 400"}, ""},
		"parameters that are twice": {"v1", "/v1/quote" + query + "&amount=1", []string{"v3 refuses this request"}, ""},
	} {
		if tt.needs != "" && !strings.Contains(strings.Join(served, " ")+" ", tt.needs+" ") {
			continue
		}
		got := run[shown](t, w, `
			$('moved').replaceChildren();
			$('old').value = $1;
			$('move-form').querySelector('button').click();
			await until(() => alertText() || $('moved').innerText);
			return { alert: alertText(), status: $('moved').innerText };`, tt.url)
		wantWords(t, name, got.Status, tt.words...)
		wantWords(t, name, got.Alert, tt.alert)
		if tt.alert == "" && got.Alert != "" {
			t.Errorf("%s: got alert %q", name, got.Alert)
		}
	}
	w.answer("/v3/swap/quote", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	got := run[string](t, w, "$('old').value = '/v1/quote?a=b'; $('move-form').querySelector('button').click(); return until(alertText);")
	wantWords(t, "a gateway that is gone", got, "The gateway does not answer.")
}

func versionLives(t *testing.T, w *world) {
	w.open(t, "")
	got := run[string](t, w, `
		await until(() => $('lives').innerText);
		const life = $('lives').firstChild;
		[...life.querySelectorAll('button')].find((button) => button.textContent === 'Rehearse retired').click();
		await until(() => life.querySelector('pre'));
		return $('lives').innerText;`)
	wantWords(t, "the versions", got, "v3 active", "No end is planned.", "GET /v3/swap/quote", "HTTP 410", "VERSION_RETIRED", "api-rehearse: retired")

	w.open(t, "")
	w.answer("/versions", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, plan) })
	w.reload(t)
	got = run[string](t, w, "await until(() => $('lives').innerText.includes('2027-03-01')); return $('lives').innerText + document.querySelectorAll('.life svg rect').length + ' shapes';")
	wantWords(t, "a plan", got, "2026-09-01 00:00 UTC: deprecated", "2027-01-12 14:00 UTC: brownout until 2027-01-12 14:15 UTC: 25 % of clients get 410",
		"2027-03-01 00:00 UTC: sunset: every client gets 410", "Use /v3/swap/quote instead.", "How to move", "UTC: now", "6 shapes")
}

const plan = `{"versions": [{"name": "v3", "state": "active", "brownouts": [], "contract": "/v3/openapi.yaml", "gate": null},
	{"name": "v1", "state": "deprecated", "deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z", "successor": "/v3/swap/quote", "migration": "https://example.org/migrate",
	 "brownouts": [{"from": "2027-01-12T14:00:00Z", "to": "2027-01-12T14:15:00Z", "share": 0.25}, {"from": "2027-02-16T14:00:00Z", "to": "2027-02-16T18:00:00Z", "share": 1}], "contract": "/v1/openapi.yaml", "gate": null}]}`

func snippets(t *testing.T, w *world) {
	w.open(t, "")
	got := run[map[string]string](t, w, `
		fill($1);
		let copied;
		Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { copied = text; } }, configurable: true });
		document.querySelector('[aria-label="Copy curl"]').click();
		await until(() => copied);
		Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true });
		const button = document.querySelector('[aria-label="Copy fetch"]');
		button.click();
		await until(() => button.textContent !== 'Copy');
		return { text: $('snippets').innerText, copied, without: button.textContent, links: [...$('contracts').querySelectorAll('a')].map((link) => link.getAttribute('href')).join(' ') };`,
		form("USDC@1", "USDC@369", "100", alice, ""))
	url := "/v3/swap/quote?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369&recipient=" + alice + "&include=details'"
	wantWords(t, "the snippets", got["text"], "curl '"+w.url+url, `amount: "100000000"`, "verify(request, quote", "wallet.sendTransaction")
	wantWords(t, "the clipboard", got["copied"], "curl '"+w.url+url)
	wantWords(t, "a browser without a clipboard", got["without"], "copy it yourself")
	for path := range strings.FieldsSeq(got["links"]) {
		if strings.HasPrefix(path, "#") {
			continue
		}
		if res, _ := ask(t, w.Handler, "GET", path); res.StatusCode != 200 {
			t.Errorf("the page links to %s, which answers %d", path, res.StatusCode)
		}
	}
}

// looks: labels, contrast, narrow screens, and pictures where a person asks for them.
func looks(t *testing.T, w *world) {
	w.open(t, "")
	problems := run[[]string](t, w, `
		const problems = [];
		for (const control of document.querySelectorAll('input, select, textarea')) if (!control.labels?.length) problems.push(control.id + ' has no label');
		for (const button of document.querySelectorAll('button')) if (!button.textContent.trim()) problems.push('a button without a name');
		for (const [id, words] of [['from', 'From'], ['to', 'To'], ['amount', 'Amount'], ['recipient', 'Recipient']]) if ($(id).labels[0].textContent.trim() !== words) problems.push(id + ' is not labelled ' + words);
		if ($('ask').textContent !== 'Get quote') problems.push('the button is not called Get quote');
		for (const role of ['alert', 'status']) if (document.querySelectorAll('[role=' + role + ']').length !== 1) problems.push('not one ' + role);
		const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
		if (new Set(ids).size !== ids.length) problems.push('an ID is there twice');
		if (document.documentElement.lang !== 'en') problems.push('no language');
		return problems;`)
	for _, problem := range problems {
		t.Error(problem)
	}
	for _, scheme := range []string{"light", "dark"} {
		emulate(t, w, scheme, 1200, 900)
		for _, low := range run[[]string](t, w, contrastJS) {
			t.Errorf("%s: %s", scheme, low)
		}
	}
	for _, width := range []int64{360, 768, 1200} {
		emulate(t, w, "light", width, 800)
		got := run[[]int](t, w, `$('more').open = true; await quote($1);
			for (const details of document.querySelectorAll('details')) details.open = true;
			return [document.documentElement.scrollWidth, innerWidth];`, form("DAI@56", "USDC@69696969", "123.456789012345678901", private, partner))
		if got[0] > got[1] {
			t.Errorf("at a width of %d the page has %d: it scrolls sideways", got[1], got[0])
		}
	}
	keyboard(t, w)
	pictures(t, w)
}

// contrastJS computes the contrast of every text with what is behind it.
const contrastJS = `
	await quote({ from: 'USDC@1', to: 'USDC@369', amount: '100', recipient: '` + alice + `' });
	type('amount', '');
	$('ask').click();
	const good = { alert: alertText() };
	const measure = () => {
		const light = (color) => {
			const [r, g, b] = color.match(/[\d.]+/g).slice(0, 3).map((part) => { const c = part / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
			return 0.2126 * r + 0.7152 * g + 0.0722 * b;
		};
		const behind = (element) => {
			for (let node = element; node; node = node.parentElement) {
				const color = getComputedStyle(node).backgroundColor;
				if (!/, 0\)$/.test(color) && color !== 'transparent') return color;
			}
			return 'rgb(255, 255, 255)';
		};
		const low = [];
		for (const element of document.querySelectorAll('body *')) {
			if (!element.checkVisibility() || ![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
			const [a, b] = [light(getComputedStyle(element).color), light(behind(element))].sort((x, y) => y - x);
			const ratio = (a + 0.05) / (b + 0.05);
			if (ratio < 4.5) low.push(element.tagName + ' ' + element.className + ' "' + element.textContent.slice(0, 30) + '" has a contrast of ' + ratio.toFixed(2));
		}
		return low;
	};
	const whenWrong = measure();
	await quote({ amount: '100' });
	return [...whenWrong, ...measure()];`

// keyboard fills in the form and asks, without a mouse.
func keyboard(t *testing.T, w *world) {
	emulate(t, w, "light", 1200, 900)
	w.open(t, "")
	if err := chromedp.Do(w.page.Context(),
		chromedp.Focus(chromedp.CSS("#amount")), chromedp.KeyEvent("100"),
		chromedp.KeyEvent("\t"), chromedp.KeyEvent(alice), chromedp.KeyEvent("\r")); err != nil {
		t.Fatal(err)
	}
	got := run[shown](t, w, "await until(() => statusText().includes('Arrives'));"+look)
	if got.Focus != "answer" || got.Alert != "" {
		t.Errorf("got focus on %q and alert %q, want it on the answer", got.Focus, got.Alert)
	}
}

func emulate(t *testing.T, w *world, scheme string, width, height int64) {
	t.Helper()
	err := chromedp.Do(w.page.Context(), chromedp.EmulateViewport(width, height), chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
}

// pictures writes the picture of the README when UPDATE_PICTURES is set, and others to the folder that PICTURES names.
func pictures(t *testing.T, w *world) {
	folder := os.Getenv("PICTURES")
	if os.Getenv("UPDATE_PICTURES") == "" && folder == "" {
		return
	}
	shoot := func(path, scheme string, width, height int64, query, script string, full bool) {
		w.open(t, query)
		emulate(t, w, scheme, width, height)
		run[bool](t, w, script+"; document.activeElement.blur(); document.documentElement.style.overflow = 'hidden'; return true;")
		picture := chromedp.CaptureScreenshot()
		if full {
			picture = chromedp.FullScreenshot(100)
		}
		data, err := chromedp.Run(w.page.Context(), picture)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(path, "..") && len(data) > 150_000 {
			t.Errorf("%s has %d bytes", path, len(data))
		}
	}
	query := "?from=USDC@1&to=USDC@369&amount=100&recipient=" + alice
	ready := "await until(() => statusText().includes('Arrives'))"
	if os.Getenv("UPDATE_PICTURES") != "" {
		shoot("../../docs/page.png", "light", 1080, 800, query, ready+"; $('recipient-hint').textContent = 'An address on PulseChain, 0x…'", false)
	}
	if folder == "" {
		return
	}
	shoot(folder+"/light.png", "light", 1200, 900, query, ready, true)
	shoot(folder+"/dark.png", "dark", 1200, 900, query, walletJS+"wallet();"+ready, true)
	shoot(folder+"/phone.png", "light", 360, 800, query, ready, true)
	shoot(folder+"/wrong.png", "light", 1200, 900, "", alterJS+"alter('/v3/swap/quote', { path: 'to', set: '0x22b1130BBE13Df405097cCA427CBA49B4c6C2136' }); await quote({ amount: '100', recipient: '"+alice+"' })", false)
	shoot(folder+"/move.png", "dark", 1200, 900, "", "$('old').value = '/v1/quote?srcToken=USDC&dstToken=USDC&amount=123456789012345678901&srcChain=56&dstChain=369&recipient="+alice+"'; $('move-form').querySelector('button').click(); await until(() => $('moved').innerText)", true)
}
