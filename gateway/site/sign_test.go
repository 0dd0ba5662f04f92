package site_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/quotegate/quotegate/shared/testkit/browser"
)

// linkedRecipient: nothing can be signed for a recipient that came from outside until the visitor has confirmed it, in
// whatever way it came. What the visitor typed needs no word.
func linkedRecipient(t *testing.T, w *world) {
	const link = "?from=USDC@1&to=USDC@369&amount=100&recipient=" + alice
	const paste = `
		const data = new DataTransfer();
		data.setData('text', $2);
		$('amount').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
		$('ask').click();`
	const inQuery = "?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369&recipient=" + alice
	for name, tt := range map[string]struct {
		query, script string
		asks          bool
	}{
		"a link":                    {link, "", true},
		"a link of the interface":   {inQuery, "", true},
		"a pasted link":             {"", paste, true},
		"the history":               {"", "history.replaceState(null, '', $3); dispatchEvent(new PopStateEvent('popstate'));", true},
		"a link, and another pair":  {link, "pick('from', 'USDT@1'); $('ask').click();", true},
		"a link, and a new amount":  {link, "type('amount', '101'); $('ask').click();", true},
		"a link, and typed anew":    {link, "type('recipient', $4); $('ask').click();", false},
		"typed":                     {"", "fill({ from: 'USDC@1', to: 'USDC@369', amount: '100', recipient: $4 }); $('ask').click();", false},
		"typed, and the same again": {"", "await quote({ from: 'USDC@1', to: 'USDC@369', amount: '100', recipient: $4 }); dispatchEvent(new PopStateEvent('popstate'));", false},
	} {
		w.open(t, tt.query)
		w.answer("/v3/swap/status", untracked)
		got := run[map[string]any](t, w, fast+walletJS+"/* "+name+" */ wallet({ allowance: '0xffffffffff' });"+tt.script+`
			await until(() => sendButton() && statusText().includes('You receive'));
			const look = () => ({ off: sendButton().disabled, asks: Boolean($('meant')), status: statusText(), blessed: Boolean(document.querySelector('#answer .good')), label: $('meant')?.labels[0].textContent ?? '' });
			const before = look();
			if (!before.asks) return { before };
			sendButton().click();
			const sent = methods().filter((method) => method === 'eth_requestAccounts').length;
			$('meant')?.click();
			const confirmed = look();
			$('meant')?.click();
			const withdrawn = look();
			$('meant')?.click();
			dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: { info: { uuid: 'b', name: 'Other', rdns: 'other' }, provider: { request: async () => { throw { code: 4001 }; } } } }));
			await until(() => $('wallet'));
			const redrawn = look();
			type('wallet', 'test.example');
			sendButton().click();
			await until(() => statusText().includes('cannot follow'));
			return { before, confirmed, withdrawn, redrawn, sent, count: transactions().length };`, sender, "https://x.example/v3/swap/quote"+inQuery, "/"+link, alice)
		before := got["before"].(map[string]any)
		if before["asks"] != tt.asks {
			t.Errorf("%s: the page asks for a confirmation: %v", name, before["asks"])
			continue
		}
		if !tt.asks {
			if before["off"] != false || before["blessed"] != true {
				t.Errorf("%s: a recipient that was typed cannot be paid: %v", name, before)
			}
			continue
		}
		if before["off"] != true || before["blessed"] != false || got["sent"] != 0.0 {
			t.Errorf("%s: it can be signed, or looks blessed, before it is confirmed: %v", name, got)
		}
		wantWords(t, name, fmt.Sprint(before["status"]), "Checked in your browser: 11 of 11. Confirm the recipient below.")
		wantWords(t, name, fmt.Sprint(before["label"]), "I have checked this recipient: "+alice+" on PulseChain")
		confirmed := got["confirmed"].(map[string]any)
		if confirmed["off"] != false || confirmed["blessed"] != true || got["withdrawn"].(map[string]any)["off"] != true {
			t.Errorf("%s: confirmed %v, and withdrawn %v", name, confirmed, got["withdrawn"])
		}
		if redrawn := got["redrawn"].(map[string]any); redrawn["off"] != false || got["count"] != 1.0 {
			t.Errorf("%s: another wallet came: %v, and %v were sent", name, redrawn, got["count"])
		}
	}
	// A RAILGUN wallet gets nothing either.
	w.open(t, "?from=USDC@69696969&to=USDC@369&amount=100&recipient="+alice)
	wrap := run[[]bool](t, w, `
		await until(() => $('meant'));
		const calls = () => cardText().includes('Calls for a RAILGUN wallet');
		const before = calls();
		$('meant').click();
		return [before, calls(), document.activeElement !== document.body];`)
	if fmt.Sprint(wrap) != "[false true true]" {
		t.Errorf("the calls for a RAILGUN wallet are there before and after the confirmation, and the focus stays: %v", wrap)
	}
	// A partner of the link is confirmed by itself, with its rate and its whole address.
	w.open(t, link+"&integrator="+partner)
	got := run[map[string]any](t, w, walletJS+`
		wallet();
		await until(() => sendButton() && $('meant-partner'));
		const look = () => [sendButton().disabled, Boolean(document.querySelector('#answer .good'))];
		const label = $('meant-partner').labels[0].textContent;
		const told = statusText();
		$('meant').click();
		const recipient = look();
		const left = statusText();
		$('meant-partner').click();
		const both = look();
		$('meant').click();
		const partner = look();
		sendButton().click();
		return { label, told, left, looks: JSON.stringify([recipient, both, partner]), asked: methods().length };`, sender)
	if got["looks"] != "[[true,false],[false,true],[true,false]]" || got["asked"] != 0.0 {
		t.Errorf("a partner of a link: got %v", got)
	}
	wantWords(t, "the tick", fmt.Sprint(got["label"]), "I have checked this partner, which gets a fee of 0.25 %: "+partner)
	wantWords(t, "the checks", fmt.Sprint(got["told"]), "Confirm the recipient and partner below.")
	wantWords(t, "the checks", fmt.Sprint(got["left"]), "Confirm the partner below.")
}

// TestConfirmation uses real keys and a real clipboard. Only what was typed into an empty field needs no confirmation. It
// has a browser of its own, since all tabs share the clipboard.
func TestConfirmation(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: without -short it uses the page in a browser")
	}
	w := newWorld(t, browser.Open(t, "about:blank"))
	key := func(command string) chromedp.Action[chromedp.Void] {
		return chromedp.KeyEvent("v", chromedp.KeyModifiers(chromedp.ModifierCtrl), func(p *input.DispatchKeyEventParams) {
			if p.Type == input.DispatchKeyEventTypeRawKeyDown || p.Type == input.DispatchKeyEventTypeKeyDown {
				p.Commands = []string{command}
			}
		})
	}
	into := func(id string) chromedp.Action[chromedp.Void] { return chromedp.Focus(chromedp.CSS("#" + id)) }
	types := chromedp.KeyEvent
	const base = "?from=USDC@1&to=USDC@369&amount=100"
	const link = base + "&recipient=" + alice
	type steps = []chromedp.Action[chromedp.Void]
	for name, tt := range map[string]struct {
		query string
		copy  string // what is in the clipboard
		do    steps
		asks  string
	}{
		"typed":                     {base, "", steps{into("recipient"), types(alice)}, ""},
		"typed with a slip":         {base, "", steps{into("recipient"), types(alice + "a"), types("\b")}, ""},
		"pasted":                    {base, alice, steps{into("recipient"), key("paste")}, "meant"},
		"pasted after keys":         {base, alice[2:], steps{into("recipient"), types("0x"), key("paste")}, "meant"},
		"a link, a letter and back": {link, "", steps{into("recipient"), key("moveToEndOfLine"), types("a"), types("\b")}, "meant"},
		"a link, half typed anew":   {link, "", steps{into("recipient"), key("moveToEndOfLine"), types("\b\b"), types(alice[40:])}, "meant"},
		"a link, all typed anew":    {link, "", steps{into("recipient"), key("selectAll"), types("\b"), types(alice)}, ""},
		"a link, emptied, pasted":   {link, alice, steps{into("recipient"), key("selectAll"), types("\b"), key("paste")}, "meant"},
		"a partner, typed":          {base, "", steps{into("recipient"), types(alice), into("integrator"), types(partner)}, ""},
		"a partner, pasted":         {base, partner, steps{into("recipient"), types(alice), into("integrator"), key("paste")}, "meant-partner"},
		"a partner of a link":       {base + "&integrator=" + partner, "", steps{into("recipient"), types(alice)}, "meant-partner"},
		"a partner of a link, a letter and back": {base + "&integrator=" + partner, "",
			steps{into("recipient"), types(alice), into("integrator"), key("moveToEndOfLine"), types("a"), types("\b")}, "meant-partner"},
		"both of a link": {link + "&integrator=" + partner, "", nil, "meant meant-partner"},
	} {
		w.open(t, tt.query)
		run[bool](t, w, walletJS+"/* "+name+` */
			wallet();
			if (location.search.includes('recipient')) { await until(() => statusText().includes('You receive')); $('change').click(); }
			openAll();
			$('tx').value = $2;
			return true;`, sender, tt.copy)
		do := tt.do
		if tt.copy != "" {
			do = append(steps{into("tx"), key("selectAll"), key("copy")}, do...)
		}
		if err := chromedp.Do(w.page.Context(), do...); err != nil {
			t.Fatal(err)
		}
		got := run[map[string]string](t, w, `
			const form = formNow();
			$('ask').click();
			await until(() => alertText() || statusText().includes('You receive') && sendButton());
			const boxes = [...document.querySelectorAll('#send input[type=checkbox]')].map(({ id }) => id).join(' ');
			return { ...form, alert: alertText(), boxes, off: String(sendButton()?.disabled) };`)
		if got["recipient"] != alice || got["boxes"] != tt.asks || got["off"] != fmt.Sprint(tt.asks != "") {
			t.Errorf("%s: the page wants %q, want %q: %v", name, got["boxes"], tt.asks, got)
		}
	}
}

// wholeRecipient: above what is signed, whole and in groups of four, and whose it is.
func wholeRecipient(t *testing.T, w *world) {
	emulate(t, w, "light", 360, 780)
	groups := func(recipient string) string {
		rest, all := recipient, []string{}
		if strings.HasPrefix(rest, "0x") {
			rest, all = rest[2:], []string{"0x"}
		}
		for ; len(rest) > 4; rest = rest[4:] {
			all = append(all, rest[:4])
		}
		return strings.Join(append(all, rest), " ")
	}
	for name, tt := range map[string]struct {
		form    map[string]string
		connect bool
		whose   string
	}{
		"not connected":    {form("USDC@1", "USDC@369", "100", alice, ""), false, "Check that this address is yours"},
		"somebody else":    {form("USDC@1", "USDC@369", "100", alice, ""), true, "Not your connected account"},
		"oneself":          {form("USDC@1", "USDC@369", "100", strings.ToLower(sender), ""), true, "Your connected account"},
		"a private one":    {form("USDC@1", "USDC@69696969", "100", private, ""), true, "A private address"},
		"of an unshield":   {form("USDC@69696969", "USDC@369", "100", alice, ""), true, "Not your connected account"},
		"without a wallet": {form("USDC@1", "USDC@369", "100", alice, ""), false, "Check that this address is yours"},
	} {
		w.open(t, "")
		got := run[map[string]any](t, w, walletJS+"/* "+name+" */ if ($4) wallet();"+`
			if ($3) { named('Connect').click(); await until(() => named('Disconnect')); }
			await quote($2);
			const shown = document.querySelector('#whom .groups');
			const heard = document.querySelector('#whom .unseen').firstChild.data;
			const { left, right, height } = shown.getBoundingClientRect();
			const signs = sendButton()?.getBoundingClientRect().top ?? Infinity;
			const hidden = [...shown.children].filter((group) => { const at = group.getBoundingClientRect(); return !at.width || at.right > innerWidth || at.bottom > signs; });
			return { groups: [...shown.children].map((group) => group.textContent).join(' '), whole: shown.textContent, heard, eye: shown.getAttribute('aria-hidden'), whose: $('whose').textContent, hidden: hidden.length, height };`,
			sender, tt.form, tt.connect, name != "without a wallet")
		recipient := tt.form["recipient"]
		if got["groups"] != groups(recipient) || got["whole"] != recipient || got["heard"] != recipient || got["eye"] != "true" || got["hidden"] != 0.0 || got["height"] == 0.0 {
			t.Errorf("%s: got %v, want %s", name, got, groups(recipient))
		}
		wantWords(t, name, fmt.Sprint(got["whose"]), tt.whose)
	}
	// Whoever connects only when signing is told then.
	w.open(t, "")
	whose := run[string](t, w, walletJS+`
		wallet({ does: () => ({ eth_sendTransaction: () => new Promise(() => {}) }) });
		await quote($2);
		sendButton().click();
		await until(() => transactions().length);
		return $('whose').textContent;`, sender, form("USDC@1", "USDC@369", "100", alice, ""))
	wantWords(t, "connected on the way", whose, "Not your connected account")
	emulate(t, w, "light", 1200, 900)
}

// endsWhileSigning: the clock runs while the wallet is open, says at zero what that means for what the wallet asks, and the
// page gets a new quote if the swap was not asked for yet.
func endsWhileSigning(t *testing.T, w *world) {
	usdc := form("USDC@1", "USDC@369", "100", alice, "")
	const later = `
		const real = Date.now;
		const wait = (seconds) => { Date.now = () => real() + seconds * 1000; };
		const open = () => transactions().length;
		let answer;
		const asks = (tx) => new Promise((resolve, reject) => { answer = (hash) => (hash ? resolve(hash) : reject({ code: 4001 })); });
		const said = [];
		new MutationObserver(() => said.push($('said').textContent)).observe($('said'), { childList: true });
	`
	w.open(t, "")
	w.answer("/v3/swap/status", untracked)
	got := run[map[string]string](t, w, fast+walletJS+later+`
		let allowed = '0x0';
		wallet({ does: () => ({ eth_sendTransaction: asks, eth_call: ([{ data }]) => (data.startsWith('0x70a08231') ? '0xffffffffffff' : allowed) }) });
		await quote($2);
		const all = {};
		sendButton().click();
		await until(open);
		wait(30);
		all.runs = await until(() => /Expires in (2\d|30) s/.test($('valid').innerText) && $('valid').innerText);
		wait(90);
		all.ends = await until(() => $('valid').innerText.includes('has expired') && $('valid').innerText);
		allowed = '0xffffffffffff';
		answer('0x' + 'a'.repeat(64));
		all.then = await until(alertText);
		all.renewed = $('valid').innerText + ' ' + statusText();
		all.count = String(transactions().length);
		sendButton().click();
		await until(() => transactions().length === 2);
		all.swap = transactions()[1].data.slice(0, 10);
		wait(200);
		all.late = await until(() => $('valid').innerText.includes('has expired') && $('valid').innerText);
		all.said = said.join('|');
		answer('0x' + 'b'.repeat(64));
		await until(() => statusText().includes('cannot follow'));
		all.search = location.hash;
		return all;`, sender, usdc)
	wantWords(t, "the clock", got["runs"], " s, renews automatically")
	wantWords(t, "the approval", got["ends"], "This quote has expired. The approval pays nothing. This page gets a new quote before it asks for the swap.")
	wantWords(t, "after the approval", got["then"], "This quote has expired while you were signing.", "The approval was sent, the swap was not.", "Review the new quote")
	wantWords(t, "the new quote", got["renewed"], "Expires in ", "You receive on PulseChain")
	wantWords(t, "the swap", got["late"], "This quote has expired. If you sign now, the swap is still sent, at the fees in force when it arrives.", "Reject the request to get a new quote.")
	if got["count"] != "1" || got["swap"] != "0x095ff22d" || !strings.Contains(got["search"], "swap=0xbbbb") {
		t.Errorf("got %v", got)
	}
	for _, words := range []string{"1 of 2: sign the approval", "This quote has expired. The approval", "1 of 1: sign the swap", "This quote has expired. If you sign now"} {
		if strings.Count(got["said"], words) != 1 {
			t.Errorf("%q is announced %d times, want once: %s", words, strings.Count(got["said"], words), got["said"])
		}
	}
	// Refused after the end: there is a way to a new quote. Ended before anything was asked: the page takes it.
	w.open(t, "")
	ends := run[[]string](t, w, fast+walletJS+later+`
		wallet({ allowance: '0xffffffffff', does: () => ({ eth_sendTransaction: asks }) });
		await quote($2);
		sendButton().click();
		await until(open);
		wait(90);
		await until(() => $('valid').innerText.includes('has expired'));
		answer();
		const refused = await until(alertText);
		wait(0);
		await until(() => sendButton() && !sendButton().hasAttribute('aria-disabled'));
		let connect;
		wallet({ rdns: 'other.example', does: () => ({ eth_requestAccounts: () => new Promise((done) => { connect = () => done([$1]); }) }) });
		await until(() => $('wallet')?.options.length === 2 && !sendButton().disabled);
		type('wallet', 'other.example');
		sendButton().click();
		await until(() => connect);
		wait(300);
		const words = await until(() => $('valid').innerText.includes('has expired') && $('valid').innerText);
		connect();
		await until(() => alertText().includes('expired'));
		return [refused, words, alertText(), String(transactions().length), String(Boolean(sendButton()))];`, sender, usdc)
	wantWords(t, "refused, and ended before", strings.Join(ends, "|"), "You rejected the request in your wallet.", "|This quote has expired. This page gets a new quote before it asks for the swap", "Nothing was sent. Review the new quote", "|0|true")
}

var allowanceOf = regexp.MustCompile(`"allowance":\{"actual":"\d+"`)

var failedRun = regexp.MustCompile(`"status":"FAILED","error":"(\\.|[^"\\])*"`)

// leavesGas: Max of a coin leaves what the gas may take, and there is one verdict.
func leavesGas(t *testing.T, w *world) {
	eth := form("ETH@1", "WETH@369", "0.5", alice, "")
	const ether = "1000000000000000000"
	has := func(amount string, without bool) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			if without {
				query := r.URL.Query()
				query.Set("include", "details")
				r.URL.RawQuery = query.Encode()
			}
			record := httptest.NewRecorder()
			w.pass(record, r)
			for name, values := range record.Header() {
				rw.Header()[name] = values
			}
			rw.WriteHeader(record.Code)
			body := failedRun.ReplaceAllString(record.Body.String(), `"status":"SUCCESS"`)
			actual := `"actual":"` + amount + `"`
			fmt.Fprint(rw, strings.NewReplacer(`"actual":"123456789012345678901234567890"`, actual, `"actual":"0"`, actual, `"event":false`, `"event":true`).Replace(body))
		}
	}
	for name, tt := range map[string]struct {
		has     string
		without bool   // a dry run
		balance string // what is said of it
		amount  string // that Max gives
		verdict string
	}{
		// 67,250 gas at 1 gwei, and half more, are 0.000100875 ETH.
		"an ether":           {ether, false, "Balance 1 ETH Max", "0.999899125", "Network fee\nup to 0.000068 ETH\nEstimated time\nabout 13 s\nSimulation\nSucceeds, 46,000 gas"},
		"without a dry run":  {ether, true, "Balance 1 ETH (gas comes off it)", "", ""},
		"just the minimum":   {"10000000000000000", false, "(too little for gas and the minimum)", "", ""},
		"below the minimum":  {"1", false, "(below the minimum)", "", ""},
		"more than the most": {"123456789012345678901234567890", false, "Max", "20", "Succeeds"},
	} {
		w.open(t, "")
		w.answer("/v3/swap/quote", has(tt.has, tt.without))
		got := run[map[string]string](t, w, walletJS+"/* "+name+" */"+`
			fill($2);
			wallet();
			named('Connect').click();
			await until(() => $('balance').innerText.includes('Balance'));
			const all = { balance: $('balance').innerText.replaceAll('\n', ' '), amount: '', card: '' };
			const max = [...document.querySelectorAll('#balance button')].find((button) => button.textContent === 'Max');
			if (!max) return all;
			max.click();
			all.amount = $('amount').value;
			await quote();
			return { ...all, card: cardText() };`, rich, eth)
		wantWords(t, name, got["balance"], tt.balance)
		wantWords(t, name, got["card"], tt.verdict)
		if got["amount"] != tt.amount {
			t.Errorf("%s: Max gives %q, want %q", name, got["amount"], tt.amount)
		}
	}
	// One verdict, whatever the gateway says.
	for name, tt := range map[string]struct{ has, amount, want string }{
		"enough":             {ether, "0.9", "Succeeds"},
		"too little for gas": {ether, "0.99999", "Insufficient ETH for gas"},
		"too little":         {ether, "1.5", "your account has 1 ETH, and 1.5 ETH are needed."},
	} {
		w.open(t, "")
		w.answer("/v3/swap/quote", has(tt.has, false))
		card := run[string](t, w, walletJS+"/* "+name+" */"+`
			fill($2);
			wallet();
			named('Connect').click();
			await until(() => named('Disconnect'));
			await quote({ amount: $3 });
			return cardText();`, rich, eth, tt.amount)
		found := 0
		for _, words := range []string{"Succeeds", "for gas: your", "are needed", "would fail", "would not do"} {
			found += strings.Count(card, words)
		}
		if found != 1 || !strings.Contains(card, tt.want) {
			t.Errorf("%s: got %d verdicts, want one that says %q:\n%s", name, found, tt.want, card)
		}
	}
}

// afterFailure: a failure is believed only of what was sent, and a second payment needs a look into the wallet.
func afterFailure(t *testing.T, w *world) {
	const at100 = `does: () => ({ eth_blockNumber: () => '0x64', eth_getBlockByNumber: () => null })`
	source := func(block int) string {
		return fmt.Sprintf(`"source": {"blockNumber": %d, "confirmations": 40}`, block)
	}
	swap := func(amount string) string {
		return `"swap": {"dstChain": "369", "dstToken": "0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07", "recipient": "` + alice + `", "recipientType": 0, "amount": "` + amount + `"}`
	}
	settled := func(block int, amount string) string {
		return `{"state": "SETTLED", "final": true, "nextCheckSeconds": 0, ` + source(block) + ", " + swap(amount) + `, "settlement": {"chainId": 369, "amount": "99700000", "arrived": "99700000"}}`
	}
	for name, tt := range map[string]struct {
		answer string
		alert  string
		status string
		tick   string // that a new swap needs
	}{
		"failed":                {`{"state": "FAILED", "final": true, ` + source(101) + `}`, "The transaction failed on the chain.", "", "this swap failed"},
		"failed before":         {`{"state": "FAILED", "final": true, ` + source(100) + `}`, "", "source.blockNumber is 100, but it was sent after block 100.", "this swap was not sent"},
		"failed long before":    {`{"state": "FAILED", "final": true, ` + source(7) + `}`, "", "Status does not match", "this swap was not sent"},
		"failed in no block":    {`{"state": "FAILED", "final": true, "source": null}`, "", "Status does not match", "this swap was not sent"},
		"no swap, long before":  {`{"state": "NOT_A_SWAP", "final": true, ` + source(7) + `}`, "", "Status does not match", "this swap was not sent"},
		"no swap":               {`{"state": "NOT_A_SWAP", "final": true, ` + source(101) + `}`, "This transaction is not a swap", "", "this swap failed"},
		"settled":               {settled(101, "100000000"), "", "99.7 USDC arrived", ""},
		"settled before":        {settled(99, "100000000"), "", "Status does not match", "this swap was not sent"},
		"another swap, settled": {settled(101, "100000001"), "", "swap.amount is 100000001, but must be 100000000.", "this swap was not sent"},
	} {
		w.open(t, "")
		w.tells(tt.answer)
		got := run[map[string]string](t, w, fast+walletJS+"/* "+name+" */ wallet({"+at100+"});"+`
			await quote($2);
			sendButton().click();
			await until(() => alertText() || /arrived|does not match/.test(statusText()));
			const fresh = named('New swap');
			const all = { alert: alertText(), status: statusText(), off: String(fresh.disabled), tick: $('sure')?.labels[0].innerText ?? '' };
			if (!all.tick) return { ...all, on: 'true' };
			$('ask').click();
			all.asked = String(transactions().length) + Boolean(sendButton());
			$('sure').click();
			all.on = String(!named('New swap').disabled);
			named('New swap').click();
			await until(() => !statusText());
			return all;`, sender, form("USDC@1", "USDC@369", "100", alice, ""))
		wantWords(t, name, got["alert"], tt.alert)
		wantWords(t, name, got["status"], tt.status)
		if (got["alert"] == "") != (tt.alert == "") || (got["off"] == "true") != (tt.tick != "") || !strings.Contains(got["tick"], tt.tick) || got["on"] != "true" {
			t.Errorf("%s: got %v", name, got)
		}
		if tt.tick != "" {
			wantWords(t, name, got["tick"], "I have checked in my wallet")
		}
		if tt.tick != "" && got["asked"] != "2false" {
			t.Errorf("%s: it can be sent again without a look: %v", name, got)
		}
	}
}

// A pool is a chain that the wallets of several tabs share. What they send waits until a test mines it.
type pool struct {
	mu      sync.Mutex
	waiting []map[string]any
	blocks  [][]map[string]any
}

func (p *pool) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var call struct {
		Method string
		Params []json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var result any
	switch call.Method {
	case "eth_sendTransaction":
		var tx struct{ From, To, Data string }
		_ = json.Unmarshal(call.Params[0], &tx)
		count := len(p.waiting)
		for _, block := range p.blocks {
			count += len(block)
		}
		hash := fmt.Sprintf("0x%064x", 0xa0+count)
		p.waiting = append(p.waiting, map[string]any{"hash": hash, "from": tx.From, "to": tx.To, "input": tx.Data})
		result = hash
	case "eth_blockNumber":
		result = fmt.Sprintf("0x%x", len(p.blocks))
	case "eth_getBlockByNumber":
		var number int
		_, _ = fmt.Sscanf(strings.Trim(string(call.Params[0]), `"`), "0x%x", &number)
		if number > 0 && number <= len(p.blocks) {
			result = map[string]any{"transactions": p.blocks[number-1]}
		}
	case "mine": // the one that waits longest
		p.blocks = append(p.blocks, p.waiting[:1])
		p.waiting = p.waiting[1:]
	}
	_ = json.NewEncoder(rw).Encode(result)
}

// twoTabs sends the same swap from two tabs. While one is executing the batch, the other does not begin; then it sends a second one, and
// neither takes the other's transaction for its own, although the bytes are the same and the node tells no numbers.
func twoTabs(t *testing.T, w *world) {
	w.open(t, "")
	w.answer("/v3/swap/status", untracked)
	w.answer("/test/node", new(pool).ServeHTTP)
	other := &world{page: openTab(t, w.page, w.url+"/"), url: w.url}
	const shared = walletJS + `
		const node = async (method, params = []) => (await fetch('/test/node', { method: 'POST', body: JSON.stringify({ method, params }) })).json();
		window.passing = (method) => (params) => node(method, params);
		window.onNode = (pay) => wallet({ does: (tools) => ({ eth_blockNumber: passing('eth_blockNumber'), eth_getBlockByNumber: passing('eth_getBlockByNumber'), eth_sendTransaction: (params) => pay(params, tools) }) });
		window.mine = () => node('mine');
		window.methods = methods;
	`
	eth := form("ETH@1", "WETH@369", "0.5", alice, "")
	// The first tab asks its wallet, which is open.
	run[bool](t, w, fast+shared+`
		let go;
		const open = new Promise((done) => { go = done; });
		window.sign = go;
		onNode(async (params) => { await open; return passing('eth_sendTransaction')(params); });
		await quote($2);
		sendButton().click();
		return until(() => methods().includes('eth_sendTransaction'));`, sender, eth)
	// The second may not ask for the same, until the first has its hash. Its own wallet sends, and then says that it failed.
	refused := run[string](t, other, fast+shared+`
		onNode(async (params, { refuse }) => { await passing('eth_sendTransaction')(params); refuse(-32603, 'Request expired'); });
		await quote($2);
		sendButton().click();
		await until(alertText);
		return alertText() + methods().includes('eth_sendTransaction');`, sender, eth)
	wantWords(t, "the second tab", refused, "It is being sent already, here or in another tab.", "false")
	first := run[string](t, w, "sign(); await until(isSwap); return location.hash;")
	run[bool](t, other, "sendButton().click(); return until(() => statusText().includes('We do not know'));")
	// The first transaction is in a block, which the second tab has looked through more than once.
	passed := run[string](t, other, `
		await mine();
		const looked = () => window.calls.filter(({ method, params }) => method === 'eth_getBlockByNumber' && params[0] === '0x1').length;
		await until(looked);
		const then = window.calls.length;
		await until(() => window.calls.length > then + 6);
		return statusText() + location.hash;`)
	wantWords(t, "the other's transaction", passed, "We do not know whether it was sent")
	second := run[string](t, other, "await mine(); await until(isSwap); return location.hash;")
	wantWords(t, "the first", first, "swap="+fmt.Sprintf("0x%064x", 0xa0))
	wantWords(t, "the second", second, "swap="+fmt.Sprintf("0x%064x", 0xa1))
}

// tooPoor: a wallet that says that there is too little money is believed when the account agrees.
func tooPoor(t *testing.T, w *world) {
	const poor = `eth_sendTransaction: () => refuse(-32000, 'insufficient funds for gas * price + value')`
	for name, tt := range map[string]struct {
		rules string
		words string
		again bool
	}{
		"nothing has moved": {`eth_getTransactionCount: () => '0x7', eth_getBlockByNumber: () => ({ transactions: [] }), `, "The wallet says that the account has too little for amount and gas.|Put in more, or send less. Nothing was sent.", true},
		"the number has":    {`eth_getTransactionCount: () => (methods().includes('eth_sendTransaction') ? '0x8' : '0x7'), `, "We do not know whether it was sent", false},
	} {
		w.open(t, "")
		got := run[[]string](t, w, fast+walletJS+"/* "+name+" */"+`
			wallet({ does: ({ refuse }) => ({`+tt.rules+poor+`}) });
			await quote($2);
			const said = [];
			new MutationObserver(() => said.push($('said').textContent)).observe($('said'), { childList: true });
			sendButton().click();
			await until(() => alertText() || statusText().includes('We do not know'));
			return [alertText().replaceAll(/\s*\n\s*/g, '|') || statusText(), String(Boolean(sendButton() && !sendButton().disabled)), said.join('|'), String(transactions().length)];`,
			sender, form("ETH@1", "WETH@369", "0.5", alice, ""))
		wantWords(t, name, got[0], tt.words)
		if got[1] != fmt.Sprint(tt.again) || got[3] != "1" {
			t.Errorf("%s: it can be signed again: %s, and the wallet was asked %s times", name, got[1], got[3])
		}
		wantWords(t, name, got[2], "Checking whether the swap was sent anyway")
	}
}

// manyWallets: whoever floods the page with wallets does not hide the real one, and names are what they look like.
func manyWallets(t *testing.T, w *world) {
	const tools = `
		const provider = (note = () => {}) => ({ request: async ({ method }) => { note(method); throw { code: 4001 }; } });
		const tell = (info, own = provider()) => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info: { uuid: crypto.randomUUID(), icon: 'data:,', ...info }, provider: own }) }));
		const row = () => [...document.querySelectorAll('#wallet-row button')].map((button) => button.textContent).join('|');
		const settle = () => new Promise((done) => setTimeout(done, 300));
	`
	usdc := form("USDC@1", "USDC@369", "100", alice, "")
	w.open(t, "")
	got := run[map[string]string](t, w, tools+`
		const all = {};
		// The real one answers whoever asks, and comes first. Then come thousands.
		const real = () => tell({ name: 'Real', rdns: 'org.real' });
		addEventListener('eip6963:requestProvider', real);
		real();
		for (let i = 0; i < 5000; i++) tell({ name: 'Real', rdns: 'com.fake' + i });
		await settle();
		all.flooded = String(row().split('|').length);
		await quote($1);
		await settle();
		all.found = row();
		all.choice = [...$('wallet').options].map((option) => option.textContent).join('|');
		// One that comes after them all is not missing either.
		tell({ name: 'Late', rdns: 'org.late' });
		await settle();
		all.late = row();
		return all;`, usdc)
	if got["flooded"] != "20" {
		t.Errorf("%s wallets are listed, want 20", got["flooded"])
	}
	wantWords(t, "the wallets", got["found"], "Real (org.real)")
	wantWords(t, "the choice", got["choice"], "Real (org.real)")
	wantWords(t, "the last", got["late"], "Late", "Real (org.real)")

	w.open(t, "")
	got = run[map[string]string](t, w, tools+`
		const all = {};
		const asked = [];
		// One rdns is one wallet, and the first of it is the one that is asked.
		for (const [i, rdns] of ['org.one', 'ORG.one', 'org\u200b.one', 'org.two'].entries()) tell({ name: 'Wallet ' + i, rdns }, provider(() => asked.push(i)));
		await settle();
		all.row = row();
		named('Wallet 0').click();
		await until(alertText);
		all.asked = asked.join();
		// What cannot be seen, or turns text round, is not part of a name.
		tell({ name: '\u202eksaMateM\u202c \u2066Meta\u200bMask\u2069\ufeff\u3164\u2800\ufe0f \n  \u00ad!', rdns: '\u202eio.metamask\u0000' });
		tell({ name: '\u200b\u2060', rdns: 'org.empty' });
		tell({ name: 'Alike', rdns: 'io.m\u0435tamask' });
		await settle();
		all.names = row();
		return all;`)
	wantWords(t, "one wallet", got["row"], "Wallet 0", "Wallet 3")
	wantWords(t, "the names", got["names"], "ksaMateM MetaMask !", "Unnamed wallet", `Alike (io.m\u{435}tamask)`)
	if strings.Contains(got["row"], "Wallet 1") || strings.Contains(got["row"], "Wallet 2") || got["asked"] != "0" {
		t.Errorf("got %v", got)
	}

	// A wallet that is connected is not replaced by one that takes its name.
	w.open(t, "")
	w.answer("/v3/swap/status", untracked)
	stolen := run[[]string](t, w, fast+walletJS+tools+`
		wallet();
		named('Connect').click();
		await until(() => named('Disconnect'));
		let stolen = 0;
		tell({ name: 'Thief', rdns: 'test.example' }, provider(() => { stolen++; }));
		for (let i = 0; i < 100; i++) tell({ name: 'More', rdns: 'more' + i });
		await settle();
		await quote($2);
		type('wallet', 'test.example');
		sendButton().click();
		await until(() => statusText().includes('cannot follow'));
		return [String(stolen), $('wallet-row').textContent, String(transactions().length)];`, sender, usdc)
	wantWords(t, "a thief", strings.Join(stolen, "|"), "0|", "Test wallet", "|2")

	// window.ethereum serves where nothing is announced, early or late, and gives way.
	for name, early := range map[string]bool{"early": true, "late": false} {
		w.open(t, "")
		got = run[map[string]string](t, w, tools+"/* "+name+" */"+`
			const all = {};
			all.none = $('wallet-row').innerText;
			if ($2) {
				window.ethereum = provider();
				await quote($1);
			} else {
				await quote($1);
				window.ethereum = provider();
				dispatchEvent(new Event('ethereum#initialized'));
			}
			await until(sendButton);
			all.send = sendWords();
			all.row = $('wallet-row').innerText;
			sendButton().click();
			all.told = await until(alertText);
			tell({ name: 'Real', rdns: 'org.real' });
			await settle();
			all.after = $('wallet-row').innerText + sendWords();
			return all;`, usdc, early)
		wantWords(t, name, got["none"], "No wallet detected")
		wantWords(t, name, got["send"], "Swap 100 USDC: Up to 2 signatures in Browser wallet")
		wantWords(t, name, got["row"], "Connect Browser wallet")
		wantWords(t, name, got["told"], "You rejected the request in your wallet.")
		wantWords(t, name, got["after"], "Connect Real", "signatures in Real")
		if strings.Contains(got["after"], "Browser wallet") {
			t.Errorf("%s: window.ethereum stays beside a wallet that was announced: %s", name, got["after"])
		}
	}

	// Without any: on a phone the page goes to the wallet, and its link asks for the recipient there.
	for width, words := range map[int64]string{1200: "No wallet detected.", 390: "Open this page in your wallet app, or copy its link there."} {
		emulate(t, w, "light", width, 844)
		w.open(t, "")
		none := run[[]string](t, w, `
			await quote($1);
			let copied = '';
			Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { copied = text; } }, configurable: true });
			document.querySelector('[aria-label="Copy the link to this page"]')?.click();
			const links = [...document.querySelectorAll('#send .risk a')].map((link) => link.href).join(' ');
			return [$('send').innerText, copied, location.href, String(Boolean(named('Look again'))), links];`, usdc)
		wantWords(t, fmt.Sprint(width), none[0], words)
		if phone := width == 390; (none[1] == none[2]) != phone || (none[3] == "true") == phone || (none[4] != "") != phone {
			t.Errorf("at a width of %d: %q", width, none)
		}
		wantWords(t, fmt.Sprint(width), none[2], "recipient="+alice)
		if width == 390 {
			here := strings.TrimPrefix(none[2], "http://")
			wantWords(t, "the wallet apps", none[4], "https://link.metamask.io/dapp/"+here,
				"https://go.cb-w.com/dapp?cb_url="+url.QueryEscape(none[2]), "https://link.trustwallet.com/open_url?coin_id=60&url="+url.QueryEscape(none[2]))
		}
	}
	emulate(t, w, "light", 1200, 900)
}
