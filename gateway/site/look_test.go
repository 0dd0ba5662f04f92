package site_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/testkit/browser"
	"github.com/quotegate/quotegate/shared/testkit/npm"
)

// sizes are a laptop and a phone.
var sizes = [][2]int64{{1280, 720}, {390, 844}}

// states are what a visitor may see. Each is a script that brings a page there, with a wallet.
var states = map[string]string{
	"form":     "wallet({ rdns: 'other.example' }); (await until(() => document.querySelector('.menu summary'))).click();",
	"errors":   "await connect(); await quote({ ...usdc, amount: 'x', recipient: 'y', integrator: 'z' });",
	"quote":    "visit('/' + link); await until(() => $('meant')); openAll();",
	"refused":  "alter('/v3/swap/quote', 'to', partner); await quote(usdc); restore();",
	"shield":   "await quote({ ...usdc, to: 'USDC@69696969', recipient: hidden });",
	"unshield": "await quote({ ...usdc, from: 'USDC@69696969' });",
	"signing": `wallet({ rdns: 'other.example', does: { eth_requestAccounts: forever } }); await quote(usdc); await until(() => $('wallet'));
		type('wallet', 'other.example'); sendButton().click(); await until(() => named('Stop waiting'));`,
	"on its way": "await quote(usdc); sendButton().click(); await status('On its way');",
	"unclear": `wallet({ rdns: 'other.example', does: { eth_sendTransaction: () => refuse(-32603) } }); await quote(eth);
		await until(() => $('wallet')); type('wallet', 'other.example'); sendButton().click(); await status('We do not know');`,
	"failed": "alterText('/swap/status', (text) => text.replace('SETTLING', 'NOT_A_SWAP').replace('\"final\":false', '\"final\":true')); track(); await until(alertText);",
	"done":   "alterText('/swap/status', (text) => text.replace('SETTLING', 'PENDING')); track(); await status('Sent');",
	"developers": `$('old').value = '/v1/quote' + byQuery; $('move-form').querySelector('button').click();
		await until(() => $('moved').innerText && $('own-key'));`,
}

// at gives the address of a state.
func at(state string) string {
	return map[bool]string{true: "developers"}[state == "developers"]
}

// names are what people and scripts rely on.
const names = `
	const nameOf = (control) => control.getAttribute('aria-label') ?? [...control.labels].map((label) => label.textContent.trim()).join(' ');
	for (const control of document.querySelectorAll('input, select, textarea')) if (!nameOf(control)) problems.push(control.id + ' has no label');
	for (const button of buttons()) if (!button.textContent.trim()) problems.push('a button without a name');
	const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
	if (new Set(ids).size !== ids.length) problems.push('an ID is there twice');
	const { scrollWidth, clientWidth } = document.documentElement;
	if (scrollWidth > clientWidth) problems.push('the page scrolls sideways');
	for (const cell of document.querySelectorAll('td')) if (cell.scrollWidth > cell.clientWidth) problems.push('a cell is cut off: ' + cell.innerText);
	for (const [id, name] of $('form') ? Object.entries({ 'from-chain': 'From chain', 'to-token': 'To token', amount: 'Amount', recipient: 'Recipient' }) : []) {
		if (nameOf($(id)) !== name) problems.push(id + ' is not called ' + name);
	}
	return problems;`

// accessible: the rules of WCAG in every state, in light and dark, on a wide screen and a narrow phone.
func accessible(t *testing.T, w *world) {
	axe, err := os.ReadFile(filepath.Join(npm.Packages(t), "axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	const check = `
		const runOnly = args[0] ? ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] : { type: 'rule', values: ['color-contrast', 'target-size'] };
		const { violations } = await axe.run(document, { runOnly, resultTypes: ['violations'] });
		const problems = violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html, failureSummary }) =>
			html.slice(0, 150) + ' ' + failureSummary.slice(0, 150)).join(' | '));`
	for _, state := range slices.Sorted(maps.Keys(states)) {
		t.Run(state, func(t *testing.T) {
			w.tells(settling)
			emulate(t, w, "light", 1440, 900)
			w.open(t, at(state))
			if _, err := chromedp.Run(w.page.Context(), chromedp.Evaluate[bool](string(axe)+"; true")); err != nil {
				t.Fatal(err)
			}
			problems := run[[]string](t, w, "wallet();"+states[state]+check+"return problems;", true)
			emulate(t, w, "dark", 320, 800)
			for _, problem := range append(problems, run[[]string](t, w, check+names, false)...) {
				t.Error(problem)
			}
		})
	}
}

// layouts: what decides is seen without scrolling, the card is one and centred, and nothing moves while the page loads,
// asks, answers, sends and settles.
func layouts(t *testing.T, w *world) {
	const tools = `
		const visible = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
		const fits = (name, selector) => {
			const places = visible(selector).map((one) => one.getBoundingClientRect());
			const isSeen = places.length >= selector.split(',').length && places.every(({ top, bottom }) => top >= 0 && bottom <= innerHeight);
			const cards = visible('.card');
			const { left, right, width } = cards[0].getBoundingClientRect();
			const { clientWidth, scrollWidth } = document.documentElement;
			const isCentred = cards.length === 1 && width <= 482 && Math.abs(left + right - clientWidth) <= 2 && scrollWidth <= clientWidth;
			note(name, isSeen && isCentred ? 'fits' : JSON.stringify([places, isCentred]));
		};
		const shifts = async () => {
			let sum = 0;
			const where = [];
			new PerformanceObserver((list) => {
				for (const { value, hadRecentInput, sources } of list.getEntries()) {
					if (hadRecentInput) continue;
					sum += value;
					where.push(...sources.map(({ node }) => node?.id || node?.className || node?.nodeName));
				}
			}).observe({ type: 'layout-shift', buffered: true });
			for (let i = 0; i < 3; i++) await new Promise((done) => requestAnimationFrame(() => realTimeout(done)));
			note('shifts', sum <= 0.1 ? 'little' : sum + ' ' + where);
		};`
	for _, size := range sizes {
		emulate(t, w, "light", size[0], size[1])
		still := func(name, at, do string, want ...string) row {
			return row{
				name: fmt.Sprint(name, " at ", size[0]), at: at, statuses: []string{settling}, do: tools + do + "await shifts();",
				want: append(want, "shifts: little"),
			}
		}
		w.check(t,
			still("quote", "", `
				fits('empty', '#ask');
				wallet({ account: rich, code: '0x' });
				await connect();
				await until(() => $('recipient').value && $('balance').innerText);
				fits('connected', '#ask');
				await quote({ amount: '100' });
				fits('quoted', '.big, .good, .risk, #whom, #send-button');
				note('finger', sendButton().getBoundingClientRect().height >= 44);`,
				"empty: fits", "connected: fits", "quoted: fits", "finger: true"),
			still("swap", "", "wallet(); await quote(usdc); sendButton().click(); await status('On its way'); fits('sent', '#steps');", "sent: fits"),
			still("link", link, "await quoted();"),
			still("transaction", "?chain=1&tx="+hash, "await status('On its way'); fits('sent', '#steps');", "sent: fits"),
			still("developers", "developers", "await until(() => $('own-key'));"),
		)
	}
	// A real mouse right after typing: the button stays where it is between press and release.
	w.open(t, "?recipient="+alice)
	act(t, w, chromedp.Focus(chromedp.CSS("#amount")), chromedp.KeyEvent("100"))
	place := run[[]float64](t, w, `
		$('ask').scrollIntoView({ block: 'center' });
		const { left, top, width, height } = $('ask').getBoundingClientRect();
		window.moves = [];
		for (const name of ['mousedown', 'mouseup']) addEventListener(name, () => window.moves.push($('ask').getBoundingClientRect().top), true);
		return [left + width / 2, top + height / 2];`)
	act(t, w, chromedp.MouseClickXY(place[0], place[1]))
	w.check(t, row{
		name: "pressed", stays: true, want: []string{"moves: true"}, do: "await quoted(); note('moves', moves.length === 2 && moves[0] === moves[1]);",
	}, row{
		name: "typing moves nothing", stays: true, want: []string{"tops: 1"}, do: `
			$('change').click();
			const tops = new Set();
			for (const [id, value] of [['recipient', alice], ['amount', '1'], ['recipient', '0x'], ['amount', '']]) {
				type(id, value);
				await new Promise(requestAnimationFrame);
				tops.add(Math.round($('ask').getBoundingClientRect().top + scrollY));
			}
			note('tops', tops.size);`,
	})
}

// media: a receipt on paper, nothing that moves for those who ask for that, and an explanation without scripts.
func media(t *testing.T, w *world) {
	w.check(t, row{name: "receipt", at: byLink, statuses: []string{settled}, do: "await status('Complete');"})
	emulateMedia(t, w, "print", "prefers-color-scheme", "light")
	paper := run[string](t, w, "return document.body.innerText;")
	wantWords(t, paper, hash, payout, w.url+"/#swap="+hash, alice)
	for _, word := range []string{"Get quote", "Developers", "Track a swap", "Copy"} {
		if strings.Contains(paper, word) {
			t.Errorf("a printed receipt says %q", word)
		}
	}
	pdf := call(t, w, page.PrintToPDF, page.PrintToPDFParams{}).Data
	if pages := bytes.Count(pdf, []byte("/Type /Page\n")); pages != 1 {
		t.Errorf("a receipt is printed on %d pages", pages)
	}
	const moving = `
		const parts = [...document.querySelectorAll('*')].flatMap((one) => [null, '::before', '::after'].map((part) => getComputedStyle(one, part)));
		note('moves', parts.some(({ animationName }) => animationName !== 'none'));`
	emulateMedia(t, w, "", "prefers-reduced-motion", "no-preference")
	w.check(t, row{name: "motion", at: byLink, statuses: []string{pending}, do: "await status('Sent');" + moving, want: []string{"moves: true"}})
	emulateMedia(t, w, "", "prefers-reduced-motion", "reduce")
	w.check(t, row{name: "no motion", stays: true, do: moving, want: []string{"moves: false"}})

	call(t, w, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	act(t, w, chromedp.Navigate(w.url+"/"))
	got, err := chromedp.Run(w.page.Context(), chromedp.Evaluate[string](`document.querySelector('main').innerText +
		[...document.querySelectorAll('button, input, select, textarea, summary')].filter((one) => one.checkVisibility()).length + ' dead'`))
	call(t, w, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false})
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, got, "needs JavaScript", "/v3/openapi.yaml", "0 dead")
}

// announcements: each step is said once to who does not see the page, and the focus stays with the person.
func announcements(t *testing.T, w *world) {
	quick := strings.Replace(settling, "3600", "1", 1)
	arrives := []string{`{"state": "PENDING", "nextCheckSeconds": 1}`, `{"state": "PENDING", "nextCheckSeconds": 1}`, quick, settled}
	w.check(t,
		row{
			name: "heard once", statuses: arrives, do: `
				const heard = [];
				for (const place of document.querySelectorAll('[role=alert], [role=status], [aria-live=polite]')) {
					let last; // a place that says again what it says already is not heard again
					const listen = () => {
						const words = place.textContent.trim();
						if (words && last !== words) heard.push(words);
						last = words;
					};
					new MutationObserver(listen).observe(place, { childList: true, subtree: true, characterData: true });
				}
				wallet();
				await quote(usdc);
				sendButton().click();
				await status('arrived');
				await pause(50);
				const steps = ['Connect your account', '1 of 2: sign the approval', '2 of 2: sign the swap', 'Waiting for confirmation', 'On its way', '99.7 USDC arrived on'];
				note('heard', steps.map((words) => heard.filter((one) => one.includes(words)).length));`,
			want: []string{"heard: 1,1,1,1,1,1"},
		},
		row{name: "typing goes on", at: byLink, statuses: arrives, do: "$('track').open = true; $('tx').focus(); await status('arrived');", want: []string{"focus: tx\n"}},
		row{
			name: "button stays", at: byLink, statuses: arrives, do: "(await until(() => named('New swap'))).focus(); await status('arrived');",
			want: []string{"focus: new\n"},
		},
		row{
			name: "connected", do: "wallet(); named('Connect').focus(); await connect(); note('menu', document.activeElement.textContent); await press('Disconnect');",
			want: []string{"menu: ", "0x9d78…61F1", "focus: Connect Test wallet"},
		},
	)
}

// TestPictures writes docs/page.png if UPDATE_PICTURES is set, and every state to the folder that PICTURES names.
func TestPictures(t *testing.T) {
	update, folder := os.Getenv("UPDATE_PICTURES") != "", os.Getenv("PICTURES")
	if !update && folder == "" {
		t.Skip("SKIPPED: UPDATE_PICTURES or PICTURES asks for pictures")
	}
	w := newWorld(t, browser.Open(t, "about:blank"), golden.GatewayOf(t, ownDeployment(t)))
	shoot := func(path, scheme string, size [2]int64, at, script string, sharper ...chromedp.EmulateViewportOption) {
		t.Helper()
		emulate(t, w, scheme, size[0], size[1], sharper...)
		w.tells(settling)
		w.open(t, at)
		run[bool](t, w, "wallet();"+script+"; document.activeElement.blur(); scrollTo(0, 0); return true;")
		data, err := chromedp.Run(w.page.Context(), chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if update {
		const quoteWithRoute = "await quote(usdc); document.querySelector('#rest details').open = true; " +
			"document.documentElement.style.overflow = 'hidden'"
		shoot("../../docs/page.png", "light", [2]int64{960, 1090}, "", quoteWithRoute, chromedp.EmulateScale(2))
		return
	}
	for state, script := range states {
		for i, size := range sizes {
			file := fmt.Sprintf("%s-%d.png", strings.ReplaceAll(state, " ", "-"), size[0])
			shoot(filepath.Join(folder, file), []string{"light", "dark"}[i], size, at(state), script)
		}
	}
}
