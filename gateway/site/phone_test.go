package site_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/quotegate/quotegate/shared/testkit/browser"
)

// TestPhone uses the page as someone does who has little room, little time, and no mouse.
func TestPhone(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: without -short it uses the page in a browser")
	}
	beside := browser.Open(t, "about:blank")
	for _, test := range []struct {
		name string
		run  func(*testing.T, *world)
	}{
		{"fold", folds}, {"shift", shifts}, {"history", comesBack}, {"time", tellsTime}, {"receipt", receipts},
		{"offline", offline}, {"two swaps", twoSwaps}, {"focus", keepsFocus}, {"announcements", announces}, {"marks", marks},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, newWorld(t, beside))
		})
	}
}

var (
	sizes = [][2]int64{{360, 740}, {1280, 720}}
	hash  = "0x" + strings.Repeat("a", 64)
	link  = "?from=USDC@1&to=USDC@369&amount=100&recipient=" + alice
)

const (
	settling = `{"state": "SETTLING", "nextCheckSeconds": 3600, "expectedSeconds": 90, "source": {"blockNumber": 21000000, "confirmations": 1, "timestamp": "2026-11-15T12:00:00Z"}, "swap": {"dstChain": "369", "dstToken": "0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07", "recipient": "` + alice + `", "recipientType": 0, "amount": "100000000"}}`
	settled  = `{"state": "SETTLED", "final": true, "nextCheckSeconds": 0, "source": {"blockNumber": 21000000, "confirmations": 1, "timestamp": "2026-11-15T12:00:00Z"}, "swap": {"dstChain": "369", "dstToken": "0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07", "recipient": "` + alice + `", "recipientType": 0, "amount": "100000000"}, "settlement": {"chainId": 369, "txHash": "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "amount": "99700000", "arrived": "99700000", "timestamp": "2026-11-15T12:01:05Z"}}`
)

// folds: what was asked for is one line once there is a quote or a transaction, on every screen.
func folds(t *testing.T, w *world) {
	for _, size := range sizes {
		emulate(t, w, "light", size[0], size[1])
		w.open(t, link)
		got := run[map[string]string](t, w, `
			const seen = () => [$('form'), $('asked'), $('change')].map((one) => one.checkVisibility()).join();
			await until(() => statusText().includes('You receive'));
			const all = { words: $('asked').innerText, quote: seen() };
			$('change').click();
			all.change = seen() + document.activeElement.id + $('amount').value;
			return all;`)
		where := fmt.Sprint(size[0])
		wantWords(t, where, got["words"], "100 USDC on Ethereum → USDC on PulseChain")
		if got["quote"] != "false,true,true" || got["change"] != "true,false,falseamount100" {
			t.Errorf("%s: the form, the line and its button are there: %q, and after Change: %q", where, got["quote"], got["change"])
		}
		w.follow(t, "?chain=1&tx="+hash, settling)
		tx := run[[]string](t, w, `
			await until(() => statusText().includes('On its way'));
			const { top } = $('card').getBoundingClientRect();
			return [String($('form').checkVisibility()), $('asked').innerText, String(top < innerHeight / 2), String($('change').checkVisibility())];`)
		if fmt.Sprint(tx) != "[false Swap from Ethereum true false]" {
			t.Errorf("%s: the link of a transaction shows %q", where, tx)
		}
	}
	// No place is kept for what is not there.
	w.open(t, "")
	for _, empty := range run[[]string](t, w, `
		return [...document.querySelectorAll('main p, main .slot, main #waiting')].filter((one) => one.checkVisibility() && !one.textContent.trim() && one.getBoundingClientRect().height > 0).map((one) => one.id || one.className);`) {
		t.Errorf("%s is empty and takes room", empty)
	}
}

// shifts: what a visitor looks at does not move while the page loads, asks, answers, sends and settles.
func shifts(t *testing.T, w *world) {
	const most = 0.1
	const connect = "wallet({ code: '0x' }); named('Connect').click(); await until(() => $('recipient').value);"
	const sends = "wallet(); await quote($2); sendButton().click(); await until(() => statusText().includes('On its way'));"
	for _, size := range sizes {
		emulate(t, w, "light", size[0], size[1])
		for name, tt := range map[string]struct{ at, script string }{
			"the form":      {"", "await until(() => $('from-chain').options.length);"},
			"a wallet":      {"", connect},
			"a quote":       {"", connect + "await quote({ amount: '100' });"},
			"a link":        {link, "await until(() => statusText().includes('You receive'));"},
			"a swap":        {"", sends},
			"a transaction": {"?chain=1&tx=" + hash, "await until(() => statusText().includes('On its way'));"},
			"developers":    {"developers", "await until(() => document.getElementById('own-key'));"},
		} {
			w.follow(t, tt.at, settling)
			got := run[[]string](t, w, walletJS+"/* "+name+" */"+tt.script+`
				let sum = 0;
				const where = [];
				const watch = new PerformanceObserver((list) => { for (const { value, hadRecentInput, sources } of list.getEntries()) if (!hadRecentInput) { sum += value; for (const { node, previousRect: a, currentRect: b } of sources) where.push((node?.id || node?.className || node?.nodeName) + ' ' + [a.y, b.y, a.height, b.height].map(Math.round).join()); } });
				watch.observe({ type: 'layout-shift', buffered: true });
				for (let i = 0; i < 3; i++) await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
				return [String(sum), ...where];`, sender, form("USDC@1", "USDC@369", "100", alice, ""))
			if sum, err := strconv.ParseFloat(got[0], 64); err != nil || sum > most {
				t.Errorf("%s at %d: the layout shifts by %s, want at most %v: %q", name, size[0], got[0], most, got[1:])
			}
		}
	}
}

// comesBack: each quote and each sent swap is an entry of the history, and nothing is stored.
func comesBack(t *testing.T, w *world) {
	w.open(t, "")
	w.tells(settling)
	got := run[map[string]string](t, w, fast+walletJS+`
		const back = async (ready) => { history.back(); await until(ready); };
		const all = {};
		wallet();
		const start = history.length;
		await quote($2);
		await quote({ amount: '200' });
		all.quotes = String(history.length - start);
		await quote({ amount: '200' });
		all.again = String(history.length - start);
		await back(() => location.search.includes('amount=100') && statusText().includes('99.7'));
		all.first = $('amount').value;
		named('It is')?.click();
		const go = await until(() => sendButton());
		for (const box of document.querySelectorAll('#send input[type=checkbox]')) box.click();
		go.click();
		await until(() => isSwap() && statusText().includes('On its way'));
		const swap = location.hash;
		all.swap = swap;
		named('New swap').click();
		all.fresh = location.href + statusText();
		await back(() => location.hash === swap && statusText().includes('On its way'));
		all.found = cardText();
		await back(() => location.search.includes('amount=100') && named('Show status'));
		all.sent = cardText() + Boolean(sendButton());
		named('Show status').click();
		await until(() => location.hash === swap && statusText().includes('On its way'));
				all.stored = String(localStorage.length + sessionStorage.length + document.cookie.length);
		return all;`, sender, form("USDC@1", "USDC@369", "100", alice, ""))
	if got["quotes"] != "2" || got["again"] != "2" || got["first"] != "100" || got["stored"] != "0" {
		t.Errorf("two quotes made %s entries, and %s with one asked again; Back gave %s; stored %s", got["quotes"], got["again"], got["first"], got["stored"])
	}
	wantWords(t, "New swap", got["fresh"], "from=USDC")
	if strings.Contains(got["fresh"], "swap=") || strings.Contains(got["fresh"], "On its way") {
		t.Errorf("New swap: got %q", got["fresh"])
	}
	wantWords(t, "Back after New swap", got["found"], "On its way", "You paid\n100 USDC on Ethereum")
	wantWords(t, "Back to what was sent", got["sent"], "You have sent this swap.", "false")

	// While the wallet may be paying, Back loses nothing.
	w.open(t, "")
	held := run[[]string](t, w, fast+walletJS+`
		let release;
		wallet({ does: ({ hash }) => ({ eth_call: () => '0xffffffffffffffff', eth_sendTransaction: () => new Promise((done) => { release = () => done(hash()); }) }) });
		await quote({ ...$2, amount: '300' });
		await quote($2);
		sendButton().click();
		await until(() => release);
		history.back();
		await new Promise((done) => setTimeout(done, 100));
		const during = location.search.includes('amount=100') + $('send-button').textContent;
		release();
		await until(() => isSwap());
		return [during, cardText()];`, sender, form("USDC@1", "USDC@369", "100", alice, ""))
	wantWords(t, "Back while signing", held[0], "trueConfirm in your wallet")
	wantWords(t, "Back while signing", held[1], "You paid\n100 USDC")
}

// tellsTime: how long it has been, and how long it usually takes where that is stated.
func tellsTime(t *testing.T, w *world) {
	w.follow(t, "?chain=1&tx="+hash, settling)
	got := run[[]string](t, w, `
		await until(() => $('elapsed')?.textContent.includes('usually'));
		const first = $('elapsed').textContent;
		const real = Date.now;
		const since = Date.parse('2026-11-15T12:00:00Z');
		Date.now = () => since + 75_000;
		await until(() => $('elapsed').textContent.startsWith('1 min 15 s'));
		const early = $('elapsed').textContent;
		Date.now = () => since + 7_500_000;
		await until(() => $('elapsed').textContent.startsWith('2 h 5 min'));
		const late = $('elapsed').textContent;
		Date.now = real;
		return [first, early, late];`)
	wantWords(t, "the time", got[1], "1 min 15 s elapsed, usually about 2 min.")
	wantWords(t, "a long time", got[2], "2 h 5 min elapsed", "Taking longer than usual.", "keep its link")
	if strings.Contains(got[1], "longer") {
		t.Errorf("it is late too early: %q", got[1])
	}
	// Where nothing is stated, only what is known is told.
	w.follow(t, "?chain=1&tx="+hash, `{"state": "PENDING", "nextCheckSeconds": 3600}`)
	if got := run[string](t, w, "return until(() => $('elapsed')?.textContent);"); !strings.HasSuffix(got, "s elapsed.") {
		t.Errorf("without a stated time: %q", got)
	}
}

// receipts have all that someone needs who was not there, and are one printed page.
func receipts(t *testing.T, w *world) {
	w.open(t, "")
	w.tells(settled)
	own := run[string](t, w, fast+walletJS+`
		wallet();
		await quote($2);
		sendButton().click();
		await until(() => statusText().includes('arrived'));
		return cardText();`, sender, form("USDC@1", "USDC@369", "100", alice, ""))
	for name, card := range map[string]string{"own": own, "by its link": linkReceipt(t, w)} {
		wantWords(t, name, card, "99.7 USDC arrived on PulseChain", "Total fee\n0.3 USDC (0.3 %)", "Sent\n2026-11-15 12:00:00 UTC", "Arrived\n2026-11-15 12:01:05 UTC",
			"Time taken\n1 min 5 s", "Transaction\n0xaaaa", "Payout\n0xbbbb", "Link\nThis receipt")
	}
	wantWords(t, "own", own, "You paid\n100 USDC on Ethereum")
	media(t, w, "print", nil)
	shown := run[string](t, w, "return document.body.innerText;")
	media(t, w, "", nil)
	wantWords(t, "on paper", shown, "0x"+strings.Repeat("b", 64), hash, w.url+"/#swap="+hash, alice)
	for _, word := range []string{"Get quote", "Developers", "Track a swap", "Copy"} {
		if strings.Contains(shown, word) {
			t.Errorf("a printed receipt says %q", word)
		}
	}
	pdf := pdfOf(t, w)
	if pages := bytes.Count(pdf, []byte("/Type /Page\n")); pages != 1 {
		t.Errorf("a receipt is printed on %d pages", pages)
	}
}

// linkReceipt is the receipt of someone who was given the link. The link names the token, since the status does not.
func linkReceipt(t *testing.T, w *world) string {
	t.Helper()
	w.follow(t, "#swap="+hash+"&chain=1&token=USDC", settled)
	card := run[string](t, w, "await until(() => statusText().includes('arrived')); return cardText();")
	wantWords(t, "a link", card, "You paid\n100 USDC on Ethereum")
	// Without the token in the link, nothing is said of what was paid.
	w.visit(t, "?chain=1&tx="+hash)
	if card := run[string](t, w, "await until(() => statusText().includes('arrived')); return cardText();"); strings.Contains(card, "You paid") {
		t.Errorf("a link that names no token: %s", card)
	}
	return card
}

// pdfOf prints the page as the browser would.
func pdfOf(t *testing.T, w *world) []byte {
	t.Helper()
	var pdf []byte
	err := chromedp.Do(w.page.Context(), chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		result, err := cdp.Call(ctx, tab, cdppage.PrintToPDF, cdppage.PrintToPDFParams{})
		if err == nil {
			pdf = result.Data
		}
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	return pdf
}

// offline: what fails is told where it happens, with what to do, and the page goes on where it stopped.
func offline(t *testing.T, w *world) {
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	// The browser is told that it is offline, and nothing is answered any more.
	connect := func(on bool) {
		t.Helper()
		for _, path := range []string{"/v3/client/index.js", "/v3/swap/quote"} {
			w.answer(path, map[bool]http.HandlerFunc{true: nil, false: hangUp}[on])
		}
		if err := chromedp.Do(w.page.Context(), chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
			_, err := cdp.Call(ctx, tab, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: !on, DownloadThroughput: -1, UploadThroughput: -1})
			return err
		})); err != nil {
			t.Fatal(err)
		}
	}
	usdc := form("USDC@1", "USDC@369", "100", alice, "")
	// Before the checks are there, and none are kept from before.
	if err := chromedp.Do(w.page.Context(), chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
		return err
	})); err != nil {
		t.Fatal(err)
	}
	w.open(t, "")
	w.answer("/v3/client/index.js", hangUp)
	w.visit(t, "")
	got := run[string](t, w, "fill($1); $('ask').click(); await until(() => statusText().includes('retries automatically')); return statusText() + alertText() + $('amount').value;", usdc)
	wantWords(t, "without the checks", got, "The gateway does not answer. This page retries automatically.", "100")
	connect(false)
	wantWords(t, "offline", run[string](t, w, "await until(() => statusText().includes('You are offline')); return statusText();"), "What you have typed stays")
	connect(true)
	wantWords(t, "online again", run[string](t, w, "await until(() => statusText().includes('You receive')); return cardText();"), "99.7 USDC")
	// Before the quote.
	connect(false)
	wantWords(t, "a quote without a connection", run[string](t, w, "type('amount', '200'); $('ask').click(); await until(() => statusText().includes('You are offline')); return $('amount').value;"), "200")
	connect(true)
	wantWords(t, "a quote, online again", run[string](t, w, "await until(() => statusText().includes('You receive')); return cardText();"), "199.4 USDC")
	// A gateway that cannot: it is asked once more by itself, and then by the visitor.
	for status, code := range map[int]string{429: "RATE_LIMITED", 503: "CHAIN_UNAVAILABLE"} {
		w.open(t, "")
		w.answer("/v3/swap/quote", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", "1")
			rw.WriteHeader(status)
			fmt.Fprintf(rw, `{"error": "Not now", "code": %q, "requestId": "r1"}`, code)
		})
		told := run[[]string](t, w, fast+`
			fill($1);
			$('ask').click();
			const first = await until(() => statusText().includes('Retrying in') && statusText());
			await until(alertText);
			return [first, alertText(), String($('form').contains($('alert'))), $('amount').value, document.activeElement.id];`, usdc)
		wantWords(t, code, told[0], "Not now. Retrying in")
		wantWords(t, code, told[1], "Not now.", "request ID r1", "Try again")
		if fmt.Sprint(told[2:]) != "[true 100 alert]" {
			t.Errorf("%s: the alert is in the form, the amount and the focus: %q", code, told[2:])
		}
		w.mu.Lock()
		clear(w.instead)
		w.mu.Unlock()
		wantWords(t, code, run[string](t, w, "named('Try again').click(); await until(() => statusText().includes('You receive')); return cardText();"), "99.7 USDC")
	}
	// A wallet that is locked gives no account, or asks to be unlocked and is silent.
	w.open(t, "")
	locked := run[[]string](t, w, walletJS+`
		let unlock;
		wallet({ does: () => ({ eth_requestAccounts: () => new Promise((done) => { unlock = done; }) }) });
		named('Connect').focus();
		named('Connect').click();
		await until(() => unlock && alertText().includes('unlock'));
		const waiting = alertText() + document.activeElement.textContent;
		unlock([]);
		await until(() => alertText().includes('gave no account'));
		return [waiting, alertText(), document.activeElement.textContent];`, sender)
	wantWords(t, "a locked wallet", locked[0], "Confirm in Test wallet.", "Connect Test wallet")
	wantWords(t, "a locked wallet", locked[1], "The wallet gave no account.", "It may be locked")
	wantWords(t, "the focus", locked[2], "Connect Test wallet")
}

// twoSwaps: what no pair reaches at once is reached through the hub, and the page says so and offers both swaps.
func twoSwaps(t *testing.T, w *world) {
	w.open(t, "")
	got := run[map[string]string](t, w, `
		const group = [...$('to-chain').querySelectorAll('optgroup')].map((one) => one.label + ': ' + one.textContent).join('|');
		type('to-chain', '42161');
		const all = { group, whom: $('recipient-hint').innerText, hint: $('to-hint').innerText, terms: $('terms').innerText, said: $('said').textContent, to: formNow().to };
		fill({ amount: '100', recipient: $1 });
		await quote();
		all.card = cardText();
		all.search = location.search;
		return all;`, alice)
	wantWords(t, "the choice", got["group"], "Two swaps, via PulseChain: ", "Arbitrum One")
	wantWords(t, "the hint", got["hint"], "Two swaps, via PulseChain.", "you need PLS on PulseChain for gas")
	wantWords(t, "both", got["terms"], "Total fee 0.8 % · about 26 s · Network fee in ETH and PLS")
	wantWords(t, "the recipient in between", got["whom"], "Your own address on PulseChain")
	wantWords(t, "the announcement", got["said"], "Two swaps")
	wantWords(t, "the first", got["card"], "99.7 USDC", "You receive on PulseChain",
		"Both swaps, to Arbitrum One\nTotal fee 0.8 %, about 26 s", "Second swap\nneeds PLS on PulseChain for gas")
	wantWords(t, "the address", got["search"], "then=USDC%4042161")
	if got["to"] != "USDC@42161" {
		t.Errorf("the choice of the destination becomes %s", got["to"])
	}
	// The second is offered when the first has arrived, also to who comes back by the address.
	w.follow(t, "?chain=1&then=USDC%4042161&tx="+hash, settled)
	second := run[string](t, w, "(await until(() => named('Continue to Arbitrum One'))).click(); return JSON.stringify(formNow()) + location.search + document.activeElement.id;")
	wantWords(t, "the second", second, `"from":"USDC@369","to":"USDC@42161","amount":"99.7"`, "?from=USDC%40369&to=USDC%4042161", "amount")
	// Another choice forgets it.
	w.open(t, "")
	if got := run[string](t, w, "type('to-chain', '42161'); type('to-chain', '69696969'); return $('to-hint').innerText;"); strings.Contains(got, "Two swaps") {
		t.Errorf("after another choice: %q", got)
	}
}

// keepsFocus: the focus stays with the person.
func keepsFocus(t *testing.T, w *world) {
	usdc := form("USDC@1", "USDC@369", "100", alice, "")
	w.open(t, "")
	got := run[map[string]string](t, w, walletJS+`
		const at = () => document.activeElement.id || document.activeElement.textContent;
		const all = {};
		wallet({ does: () => ({ eth_sendTransaction: () => new Promise(() => {}), eth_call: () => '0xffffffffffffffff' }) });
		named('Connect').focus();
		named('Connect').click();
		await until(() => named('Disconnect'));
		all.connect = at();
		named('Disconnect').click();
		all.disconnect = at();
		await quote($2);
		all.quote = at();
		sendButton().focus();
		sendButton().click();
		await until(() => $('waiting').innerText.includes('sign the swap'));
		named('Stop waiting').focus();
		named('Stop waiting').click();
		await until(() => statusText().includes('We do not know'));
		all.stop = at();
		return all;`, sender, usdc)
	for step, want := range map[string]string{"connect": "0x9d78…61F1", "disconnect": "Connect Test wallet", "quote": "answer", "stop": "answer"} {
		if !strings.HasSuffix(got[step], want) {
			t.Errorf("after %s the focus is on %q, want %q", step, got[step], want)
		}
	}
	// Stopping before anything was asked leads back to the button.
	w.open(t, "")
	stop := run[string](t, w, walletJS+`
		wallet({ does: () => ({ eth_requestAccounts: () => new Promise(() => {}) }) });
		await quote($2);
		sendButton().click();
		(await until(() => named('Stop waiting'))).focus();
		named('Stop waiting').click();
		await until(alertText);
		return document.activeElement.id;`, sender, usdc)
	if stop != "send-button" {
		t.Errorf("after Stop waiting the focus is on %q", stop)
	}
	// Someone who types elsewhere while a swap settles goes on typing.
	arrives := []string{`{"state": "PENDING", "nextCheckSeconds": 1}`, strings.Replace(settling, "3600", "1", 1), settled}
	w.follow(t, "?chain=1&tx="+hash, arrives...)
	typing := run[string](t, w, fast+`
		$('track').open = true;
		$('tx').focus();
		await until(() => statusText().includes('arrived'));
		return document.activeElement.id;`)
	if typing != "tx" {
		t.Errorf("settlement takes the focus from the field to %q", typing)
	}
	// Who is on a button of the card stays on it.
	w.follow(t, "#swap="+hash+"&chain=1&token=USDC", arrives...)
	card := run[string](t, w, fast+`
		(await until(() => named('New swap'))).focus();
		await until(() => statusText().includes('arrived'));
		return document.activeElement.textContent;`)
	if card != "New swap" {
		t.Errorf("settlement moves the focus from New swap to %q", card)
	}
}

// announces: each step of signing and the arrival are said once to who does not see the page.
func announces(t *testing.T, w *world) {
	usdc := form("USDC@1", "USDC@369", "100", alice, "")
	const listen = `
		const heard = [];
		for (const place of document.querySelectorAll('[role=alert], [role=status], [aria-live=polite]')) {
			let last; // a place that says again what it says already is not heard again
			new MutationObserver(() => { const words = place.textContent.trim(); if (words && last !== words) heard.push(words); last = words; }).observe(place, { childList: true, subtree: true, characterData: true });
		}
		const times = (words) => heard.filter((one) => one.includes(words)).length;
	`
	w.open(t, "")
	const pending = `{"state": "PENDING", "nextCheckSeconds": 1}`
	w.tells(pending, pending, strings.Replace(settling, "3600", "1", 1), settled)
	got := run[map[string]int](t, w, fast+walletJS+listen+`
		wallet();
		await quote($2);
		sendButton().click();
		await until(() => statusText().includes('arrived'));
		await new Promise((done) => setTimeout(done, 50));
		return { connect: times('Connect your account'), approval: times('1 of 2: sign the approval'), swap: times('2 of 2: sign the swap'), pending: times('Waiting for confirmation'), way: times('On its way'), arrived: times('99.7 USDC arrived on PulseChain') };`, sender, usdc)
	for step, count := range got {
		if count != 1 {
			t.Errorf("%s is announced %d times", step, count)
		}
	}
}

// marks: every token and every chain of the listing has a drawing of its own, and a chain's coin has its name.
func marks(t *testing.T, w *world) {
	w.open(t, "")
	got := run[[]string](t, w, `
		const { tokens, chains, networks } = JSON.parse($('listing').textContent);
		const problems = [];
		const shapes = new Map();
		for (const symbol of [...new Set(tokens.map(([, name]) => name)), ...Object.keys(chains).filter((id) => !(id in networks)).map((id) => 'c' + id), 'private']) {
			const drawn = document.querySelector('symbol#' + symbol);
			if (!drawn) problems.push(symbol + ' has no mark');
			else if (shapes.has(drawn.innerHTML)) problems.push(symbol + ' looks like ' + shapes.get(drawn.innerHTML));
			else shapes.set(drawn.innerHTML, symbol);
		}
		for (const key of ['USDC@1', 'USDT@1', 'DAI@1', 'ETH@1', 'USD1@56']) {
			pick('from', key);
			const [token, chain] = key.split('@');
			for (const [mark, name] of [['from-mark', token], ['from-chain-mark', 'c' + chain]]) {
				const { width, height } = $(mark).getBBox();
				if ($(mark).firstChild.getAttribute('href') !== '#' + name || !(width > 0 && height > 0)) problems.push(key + ' is not drawn');
			}
		}
		return problems;`)
	for _, problem := range got {
		t.Error(problem)
	}
	// A wallet that does not know a chain is told its coin by the tables, and nobody is asked for it.
	added := run[string](t, w, walletJS+`
		let node;
		wallet({ does: ({ refuse }) => ({ wallet_switchEthereumChain: () => refuse(4902), wallet_addEthereumChain: ([chain]) => { node = chain; return null; } }) });
		await quote({ from: 'USDC@369', to: 'USDC@1', amount: '100', recipient: $1 });
		sendButton().click();
		await until(() => $('node'));
		$('node').value = 'https://node.example';
		named('Add network').click();
		await until(() => node);
		return alertText() + JSON.stringify(node.nativeCurrency) + document.querySelectorAll('#add input').length;`, sender)
	wantWords(t, "a chain that a wallet does not know", added, `{"name":"Pulse","symbol":"PLS","decimals":18}`)
}
