package site_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway/site"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/web"
)

const rich = "0x00000000000000000000000000000000000a11ce" // the gateway of the tests knows its balance

// sizesOfScreens are a laptop, a tablet and a phone.
var sizesOfScreens = [][2]int64{{1280, 720}, {820, 1180}, {390, 844}}

// firstScreen: what decides is seen without scrolling, with and without a wallet, and the card is one and centred.
func firstScreen(t *testing.T, w *world) {
	const connect = "wallet({ code: '0x' }); named('Connect').click(); await until(() => $('recipient').value && $('balance').innerText);"
	for _, size := range sizesOfScreens {
		emulate(t, w, "light", size[0], size[1])
		for name, tt := range map[string]struct{ script, elements string }{
			"empty":     {"", "#ask"},
			"connected": {connect, "#ask"},
			"a quote":   {connect + "await quote({ amount: '100' });", ".big, .good, .risk, #whom, #send-button"},
			"a status":  {"wallet(); await quote($2); sendButton().click(); await until(() => statusText().includes('On its way'));", "#steps"},
		} {
			w.open(t, "")
			w.tells(settling)
			got := run[map[string]float64](t, w, fast+walletJS+tt.script+`
				const places = [...document.querySelectorAll($3)].filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect());
				const card = [...document.querySelectorAll('.card')].filter((one) => one.checkVisibility());
				const at = card[0].getBoundingClientRect();
				return { places: places.length, top: Math.min(...places.map(({ top }) => top)), bottom: Math.max(...places.map(({ bottom }) => bottom)), height: innerHeight,
					button: sendButton()?.getBoundingClientRect().height ?? 44,
					cards: card.length, width: at.width, offset: Math.abs(at.left + at.right - document.documentElement.clientWidth),
					sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth };`,
				rich, form("USDC@1", "USDC@369", "100", alice, ""), tt.elements)
			if want := strings.Count(tt.elements, ",") + 1; got["places"] < float64(want) || got["top"] < 0 || got["bottom"] > got["height"] || got["button"] < 44 {
				t.Errorf("%s at %d: want %d places on the screen, and a button for fingers: %v", name, size[0], want, got)
			}
			if got["cards"] != 1 || got["width"] > 482 || got["offset"] > 2 || got["sideways"] > 0 {
				t.Errorf("%s at %d: the card: %v", name, size[0], got)
			}
		}
	}
	emulate(t, w, "light", 1200, 900)
}

// prefills: the connected account is the recipient, unless it is a contract, which may not exist on the other chain.
func prefills(t *testing.T, w *world) {
	for name, tt := range map[string]struct {
		rules  string // of the wallet
		before string // done before the wallet is connected
		want   string // the recipient
		hint   string
	}{
		"an account":           {"code: '0x'", "", sender, "Your account, on PulseChain"},
		"an EIP-7702 account":  {"code: '0xef0100' + 'ab'.repeat(20)", "", sender, "Your account, on PulseChain"},
		"a contract":           {"code: '0x6080'", "", "", "Your account is a contract. It may not exist on PulseChain."},
		"a silent node":        {"does: ({ refuse }) => ({ eth_getCode: () => refuse(-32603) })", "", "", "An address on PulseChain"},
		"a typed recipient":    {"code: '0x'", "type('recipient', $2);", alice, "An address on PulseChain"},
		"a private recipient":  {"code: '0x'", "pick('to', 'USDC@69696969');", "", "A private address on RAILGUN (Ethereum)"},
		"of a link":            {"code: '0x'", "history.replaceState(null, '', '?recipient=' + $2); dispatchEvent(new PopStateEvent('popstate'));", alice, "Not typed here: you confirm it before signing."},
		"and the other before": {"code: '0x'", "pick('to', 'USDC@69696969'); type('recipient', '0zk1'); type('recipient', ''); pick('to', 'USDC@369');", sender, "Your account, on PulseChain"},
	} {
		w.open(t, "")
		got := run[map[string]string](t, w, walletJS+"/* "+name+" */"+tt.before+`
			wallet({`+tt.rules+`});
			named('Connect').click();
			await until(() => window.calls.some(({ method }) => method === 'eth_getCode') && $('recipient-hint').textContent.includes($3));
			return { recipient: $('recipient').value, hint: $('recipient-hint').textContent };`, sender, alice, tt.hint)
		if got["recipient"] != tt.want {
			t.Errorf("%s: the recipient is %q, want %q", name, got["recipient"], tt.want)
		}
	}
	// Another destination empties it and fills it in again; what is there needs no tick.
	w.open(t, "")
	got := run[[]string](t, w, walletJS+`
		wallet({ code: '0x' });
		named('Connect').click();
		await until(() => $('recipient').value);
		pick('to', 'USDC@69696969');
		const hidden = $('recipient').value;
		pick('to', 'USDC@369');
		await quote({ amount: '100' });
		return [hidden, $('recipient').value, String(Boolean($('meant'))), $('whose').textContent];`, sender)
	if fmt.Sprint(got) != "[ "+sender+" false Your connected account]" {
		t.Errorf("got %q", got)
	}
}

// walletChanges: an account or a network that the wallet changes by itself is told once, and ends the quote.
func walletChanges(t *testing.T, w *world) {
	const connected = `
		const listeners = {};
		wallet({ code: '0x', on: (name, listen) => { (listeners[name] ??= []).push(listen); } });
		for (let i = 0; i < 3; i++) {
			named('Connect').click();
			await until(() => named('Disconnect'));
			if (i < 2) named('Disconnect').click();
		}
		await until(() => $('recipient').value);
		await quote({ amount: '100' });
		await until(sendButton);
		const tell = (name, value) => { for (const listen of listeners[name]) listen(value); };
	`
	for name, tt := range map[string]struct{ script, alert, row, recipient string }{
		"another account": {"tell('accountsChanged', [$2]);", "Your wallet switched to account 0x5aAe…eAed.|Get a new quote.", "0x5aAe…eAed", alice},
		"no account":      {"tell('accountsChanged', []);", "Your wallet disconnected.|Get a new quote.", "Connect Test wallet", ""},
		"another network": {"tell('chainChanged', '0x2105');", "Your wallet switched to Base.|Get a new quote.", "Base", sender},
		"an unknown one":  {"tell('chainChanged', '0x7a69');", "Your wallet switched to chain 31337.|Get a new quote.", "chain 31337", sender},
	} {
		w.open(t, "")
		got := run[map[string]string](t, w, walletJS+"/* "+name+" */"+connected+tt.script+`
			const alert = (await until(alertText)).replaceAll(/\s*\n\s*/g, '|');
			await until(() => $('recipient').value === $3);
			return { alert, row: $('wallet-row').textContent, send: String(Boolean(sendButton())), form: String($('form').checkVisibility()),
				listeners: Object.values(listeners).map((list) => list.length).join() };`, sender, alice, tt.recipient)
		if got["alert"] != tt.alert || got["send"] != "false" || got["form"] != "true" || got["listeners"] != "1,1" {
			t.Errorf("%s: got %v", name, got)
		}
		wantWords(t, name, got["row"], tt.row)
	}
	// The same account and the same network again are no news.
	w.open(t, "")
	if got := run[string](t, w, walletJS+connected+"tell('accountsChanged', [$1.toLowerCase()]); tell('chainChanged', '0x1'); return alertText() + Boolean(sendButton());", sender); got != "true" {
		t.Errorf("no change: %s", got)
	}
}

// reloads: what was typed or confirmed in this tab is not a stranger's after a reload.
func reloads(t *testing.T, w *world) {
	const link = "?from=USDC@1&to=USDC@369&amount=100&recipient=" + alice
	for name, tt := range map[string]struct {
		query, script string
		asks          bool
	}{
		"typed":              {"", "await quote({ amount: '100', recipient: $2 });", false},
		"typed, not asked":   {"", "fill({ amount: '100', recipient: $2 });", false},
		"a link":             {link, "await until(() => $('meant'));", true},
		"a link, confirmed":  {link, "(await until(() => $('meant'))).click();", false},
		"a link, and undone": {link, "(await until(() => $('meant'))).click(); $('meant').click();", true},
	} {
		w.open(t, "")
		w.open(t, tt.query)
		run[bool](t, w, walletJS+"/* "+name+" */ wallet();"+tt.script+"return true;", sender, alice)
		w.reload(t)
		got := run[map[string]string](t, w, walletJS+`
			wallet();
			if (!statusText()) $('ask').click();
			await until(() => sendButton() && statusText().includes('You receive'));
			return { asks: String(Boolean($('meant'))), off: String(sendButton().disabled) };`, sender)
		if want := fmt.Sprint(tt.asks); got["asks"] != want || got["off"] != want {
			t.Errorf("%s: after a reload the page asks: %v, want %s", name, got, want)
		}
	}
}

// counts: the button says what it does, and how often the wallet will ask.
func counts(t *testing.T, w *world) {
	answerAllowance := func(actual string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			record := httptest.NewRecorder()
			w.pass(record, r)
			for name, values := range record.Header() {
				rw.Header()[name] = values
			}
			rw.WriteHeader(record.Code)
			fmt.Fprint(rw, allowanceOf.ReplaceAllString(record.Body.String(), `"allowance":{"actual":"`+actual+`"`))
		}
	}
	for name, tt := range map[string]struct{ from, allowance, want string }{
		"no approval":          {"USDC@1", "0", "Swap 100 USDC: 2 signatures in Test wallet"},
		"a standing approval":  {"USDC@1", "100000000", "Swap 100 USDC: 1 signature in Test wallet"},
		"a small approval":     {"USDC@1", "1", "Swap 100 USDC: 2 signatures in Test wallet"},
		"a reset, none needed": {"USDT@1", "0", "Swap 100 USDT: 2 signatures in Test wallet"},
		"a reset":              {"USDT@1", "1", "Swap 100 USDT: 3 signatures in Test wallet"},
	} {
		w.open(t, "")
		w.answer("/v3/swap/quote", answerAllowance(tt.allowance))
		got := run[string](t, w, walletJS+"/* "+name+" */"+`
			wallet({ code: '0x' });
			pick('from', $2);
			named('Connect').click();
			await until(() => $('recipient').value);
			await quote({ amount: '100' });
			return sendWords();`, rich, tt.from)
		if got != tt.want {
			t.Errorf("%s: the button says %q, want %q", name, got, tt.want)
		}
	}
	// Once the approval was signed, only the swap is left.
	w.open(t, "")
	got := run[string](t, w, fast+walletJS+`
		wallet({ does: ({ refuse, hash }) => { let n = 0; return { eth_sendTransaction: () => (n++ ? refuse(4001) : hash()) }; } });
		await quote($2);
		sendButton().click();
		await until(alertText);
		return sendWords();`, sender, form("USDC@1", "USDC@369", "100", alice, ""))
	if got != "Swap 100 USDC: 1 signature in Test wallet" {
		t.Errorf("after the approval the button says %q", got)
	}
}

// tracked: what a link to a transaction says where nothing is known of it.
func tracked(t *testing.T, w *world) {
	settledBy := func(more string) string {
		return strings.Replace(settled, `"txHash": "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", `, more, 1)
	}
	endpoint := `{"error": "The status is unknown: chain 56, on which the swap is paid out, has no RPC endpoint configured", "code": "CHAIN_UNAVAILABLE", "requestId": "r"}`
	for name, tt := range map[string]struct {
		status int
		answer string
		words  []string
		never  string
	}{
		"a made-up hash":             {200, `{"state": "NOT_FOUND", "nextCheckSeconds": 3600}`, []string{"Not found", "No node of Ethereum knows this transaction. Check the hash and the chain."}, "elapsed"},
		"no endpoint":                {503, endpoint, []string{"Status unknown", "This gateway cannot follow swaps on BNB Smart Chain."}, "does not answer"},
		"not followed":               {501, `{"error": "No", "code": "STATUS_UNAVAILABLE", "requestId": "r"}`, []string{"Status unknown", "This gateway cannot follow swaps on Ethereum."}, "does not answer"},
		"a payout that nobody names": {200, settledBy(""), []string{"99.7 USDC arrived on PulseChain", "Payout\nSee the recipient’s account"}, "0xbbbb"},
	} {
		w.open(t, "")
		w.answer("/v3/swap/status", func(rw http.ResponseWriter, r *http.Request) {
			rw.WriteHeader(tt.status)
			fmt.Fprint(rw, complete(tt.answer, r.URL.Query()))
		})
		w.answer("/", withExplorers(t))
		w.visit(t, "?new#swap="+hash+"&chain=1&token=USDC")
		got := run[string](t, w, "/* "+name+" */ await until(() => cardText().includes($1)); return cardText() + [...document.querySelectorAll('#rest a')].map((link) => link.href).join(' ');", tt.words[1])
		wantWords(t, name, got, tt.words...)
		if strings.Contains(got, tt.never) {
			t.Errorf("%s: it says %q:\n%s", name, tt.never, got)
		}
		if strings.Contains(tt.answer, "SETTLED") {
			wantWords(t, name, got, "https://pulse.example/address/"+alice)
		}
	}
}

// withExplorers serves the page of a deployment that states explorers of its own, a name and a contact.
func withExplorers(t *testing.T) http.HandlerFunc {
	t.Helper()
	reference, err := os.ReadFile("../../shared/chain/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	file := strings.Replace(string(reference), `"registries"`,
		`"explorers": {"1": "https://explorer.example", "369": "https://pulse.example"}, "registries"`, 1)
	d, err := chain.ParseDeployment([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	d.Name = "devnet"
	page := site.Page(d, []string{"v3"}, "v3")
	return func(rw http.ResponseWriter, r *http.Request) {
		if err := page(rw, r); err != nil {
			t.Error(err)
		}
	}
}

// estimates: what the form says before anything is asked, by the published fees.
func estimates(t *testing.T, w *world) {
	w.open(t, "")
	for name, tt := range map[string]struct{ from, to, amount, want, terms string }{
		"a pool":     {"USDC@1", "USDC@369", "100", "≈ 99.7", "Fee 0.3 % · about 13 s · Network fee in ETH"},
		"decimals":   {"USDC@56", "USDC@369", "1000.5", "≈ 997.4985", "Network fee in BNB"},
		"shielding":  {"DAI@56", "USDC@69696969", "100", "≈ 99.25125", "Fee 0.5 %"},
		"two swaps":  {"USDC@42161", "USDC@8453", "100", "≈ 99.2015", "Total fee 0.8 %"},
		"a word":     {"USDC@1", "USDC@369", "x", "0", ""},
		"too little": {"USDC@1", "USDC@369", "1", "0", ""},
	} {
		got := run[[]string](t, w, "fill({ from: $1, to: $2, amount: $3 }); return [$('estimate').innerText, $('terms').innerText];", tt.from, tt.to, tt.amount)
		if got[0] != tt.want {
			t.Errorf("%s: the estimate is %q, want %q", name, got[0], tt.want)
		}
		wantWords(t, name, got[1], tt.terms)
	}
}

// readable: the tables of the developers page fit a narrow phone, and are printed whole.
func readable(t *testing.T, w *world) {
	emulate(t, w, "light", 360, 740)
	w.open(t, "developers")
	for _, kind := range []string{"screen", "print"} {
		media(t, w, kind, nil)
		got := run[[]float64](t, w, `
			const cells = [...(await until(() => $('errors').querySelector('tbody'))).querySelectorAll('td')];
			const { scrollWidth, clientWidth } = document.documentElement;
			return [scrollWidth - clientWidth, Math.min(...cells.map((cell) => cell.getBoundingClientRect().width)), Math.max(...cells.map((cell) => cell.scrollWidth - cell.clientWidth))];`)
		if got[0] > 0 || got[1] < 200 || got[2] > 0 {
			t.Errorf("%s: sideways by %v, the narrowest cell has %v, and a cell is cut off by %v", kind, got[0], got[1], got[2])
		}
	}
	media(t, w, "", nil)
	emulate(t, w, "light", 1200, 900)
}

// TestOperatorIsNamed: name and contact of the deployment are text, and a link where that is safe.
func TestOperatorIsNamed(t *testing.T) {
	for contact, want := range map[string]string{
		"":                       `Operated by Harbour &amp; Co</p>`,
		"help@example.org":       ` · <a href="mailto:help@example.org">help@example.org</a></p>`,
		"https://example.org/?a": ` · <a href="https://example.org/?a" rel="noreferrer">Contact</a></p>`,
		"javascript:alert(1)":    ` · javascript:alert(1)</p>`,
		`https://x"><script>`:    ` · <a href="https://x&#34;&gt;&lt;script&gt;" rel="noreferrer">Contact</a></p>`,
		`a@b"><script>`:          ` · a@b&#34;&gt;&lt;script&gt;</p>`,
	} {
		d := chain.Reference()
		d.Name, d.Contact = "Harbour & Co", contact
		for name, page := range map[string]web.Handler{
			"/": site.Page(d, []string{"v3"}, "v3"), "/developers": site.Developers(d, []string{"v3"}),
		} {
			handle := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if err := page(rw, r); err != nil {
					t.Error(err)
				}
			})
			if _, body := ask(t, handle, "GET", name, "Accept", browserAccept); !strings.Contains(body, want) {
				t.Errorf("%s: the contact %q is not shown as %s", name, contact, want)
			}
		}
	}
}
