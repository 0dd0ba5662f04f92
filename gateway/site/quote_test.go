package site_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/testkit/browser"
)

// TestPage uses the page as a visitor does, in several tabs of one browser.
func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: without -short it uses the page in a browser")
	}
	beside := browser.Open(t, "about:blank")
	for _, test := range []struct {
		name string
		run  func(*testing.T, *world)
	}{
		{"every kind of pair", everyKind},
		{"alterations", alterations},
		{"pinned contracts", pins},
		{"wrong input", wrongInput},
		{"errors of the gateway", gatewayErrors},
		{"hostile text", hostileText},
		{"the address bar", addressBar},
		{"choices", choices},
		{"send", sends},
		{"never twice", neverTwice},
		{"the wallet first", walletFirst},
		{"a linked recipient", linkedRecipient}, {"the whole recipient", wholeRecipient}, {"the clock", endsWhileSigning},
		{"gas", leavesGas}, {"after a failure", afterFailure}, {"two tabs", twoTabs}, {"too little money", tooPoor},
		{"many wallets", manyWallets},
		{"status", statuses},
		{"the address of a swap", journeys},
		{"older versions", olderVersions},
		{"versions", versionLives}, {"own calls", ownCalls},
		{"code", snippets},
		{"looks", looks},
		{"the first screen", firstScreen}, {"the own recipient", prefills}, {"a wallet that changes", walletChanges},
		{"a reload", reloads}, {"signatures", counts}, {"a tracked swap", tracked}, {"estimates", estimates},
		{"narrow tables", readable},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, newWorld(t, beside))
		})
	}
}

// TestDemoPageSignsNothing: the page of the reference deployment says so before the form, and finds no wallet.
func TestDemoPageSignsNothing(t *testing.T) {
	w := openWorld(t, browser.Open(t, "about:blank"), "reference")
	const link = "?from=ETH@1&to=WETH@369&amount=1.5&recipient=" + alice
	for name, tt := range map[string]struct{ query, script string }{
		"the form":    {"", "await quote({ from: 'ETH@1', to: 'WETH@369', amount: '1.5', recipient: $2 });"},
		"a link":      {link, "await until(() => statusText().includes('You receive'));"},
		"an unshield": {"", "await quote({ from: 'USDC@69696969', to: 'USDC@369', amount: '100', recipient: $2 });"},
	} {
		w.open(t, tt.query)
		got := run[map[string]any](t, w, walletJS+"/* "+name+" */ wallet();"+tt.script+`
			wallet();
			window.ethereum = { request: async () => [] };
			dispatchEvent(new Event('ethereum#initialized'));
			const banner = $('demo');
			const before = Boolean(banner.compareDocumentPosition($('form')) & Node.DOCUMENT_POSITION_FOLLOWING);
			const words = [...document.querySelectorAll('button')].map((button) => button.textContent);
			return { banner: banner.offsetHeight > 0 && banner.innerText, before, status: statusText(), card: cardText(),
				signing: words.filter((word) => /Sign|Connect/.test(word)), asked: window.calls.length };`, sender, alice)
		if got["before"] != true || fmt.Sprint(got["signing"]) != "[]" || got["asked"] != 0.0 {
			t.Errorf("%s: got %v", name, got)
		}
		wantWords(t, name, fmt.Sprint(got["banner"]), "Demo deployment: these contracts exist only on local test chains.", "cannot be signed here")
		wantWords(t, name, fmt.Sprint(got["status"]), "You receive on PulseChain")
		wantWords(t, name, fmt.Sprint(got["card"]), "this quote cannot be signed here")
		if strings.Contains(fmt.Sprint(got["card"]), "Calls for a RAILGUN wallet") {
			t.Errorf("%s: there is a call for a RAILGUN wallet", name)
		}
	}
	for _, size := range sizesOfScreens {
		emulate(t, w, "light", size[0], size[1])
		w.open(t, "")
		if got := run[[]float64](t, w, "return [$('ask').getBoundingClientRect().bottom, innerHeight];"); got[0] > got[1] {
			t.Errorf("at %d the banner moves Get quote to %v of %v", size[0], got[0], got[1])
		}
	}
	// A file of another name is served without the banner: the other tests sign with it.
	if shows := run[bool](t, newWorld(t, w.page), "return Boolean($('demo'));"); shows {
		t.Error("another deployment has the banner")
	}
}

// TestPageOpens is what the short form has of a browser: the page loads, asks and checks.
func TestPageOpens(t *testing.T) {
	w := newWorld(t, browser.Open(t, "about:blank"))
	got := run[shown](t, w, "await quote($1);"+look, form("USDC@1", "USDC@369", "100", alice, ""))
	if got.Alert != "" || !strings.Contains(got.Status, "99.7 USDC") || got.Checks != 11 {
		t.Errorf("got %+v", got)
	}
	files := run[[]string](t, w, "return performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname).filter((path) => path.endsWith('.js'));")
	if len(files) > 5 {
		t.Errorf("the page loads %q, want 6 files at most with itself", files)
	}
}

// everyKind asks for one pair of each kind, and wants the answer in words.
func everyKind(t *testing.T, w *world) {
	w.open(t, "")
	for name, tt := range map[string]struct {
		form  map[string]string
		words []string
	}{
		"into the hub": {form("USDC@1", "USDC@369", "100", alice, ""),
			[]string{"99.7 USDC", "Checked in your browser: 11 of 11", "0.3 USDC (0.3 %)", "DIRECT", "Expires in ", "Allow 0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d to take 100 USDC", "Pay 100 USDC into the pool 0x2AD5", "on PulseChain to " + alice}},
		"native":       {form("ETH@8453", "WETH@369", "0.5", alice, ""), []string{"0.4985 WETH", "You pay\n0.5 ETH on Base"}},
		"to native":    {form("WETH@369", "ETH@4663", "1", alice, ""), []string{"0.995 ETH", "Robinhood Chain"}},
		"burn":         {form("USDC@59144", "USDC@369", "123.456789", alice, ""), []string{"CCTP_INBOUND", "Burn 123.456789 USDC at the issuer's contract", "up to 0.192", "paid by the service"}},
		"to the burn":  {form("USDC@369", "USDC@10", "100", alice, ""), []string{"99.5 USDC", "DIRECT", "OP Mainnet"}},
		"decimals":     {form("USDC@56", "USDC@369", "123.456789012345678901", alice, ""), []string{"123.086419 USDC", "0.37037 USDC"}},
		"reset":        {form("USDT@1", "USDC@369", "20", alice, ""), []string{"19.94 USDC", "Set the allowance to zero first"}},
		"shielding":    {form("DAI@56", "USDC@69696969", "100", private, ""), []string{"99.25125 USDC", "0.24875 USDC (0.25 %) of 99.5 USDC", "whoever can open the encrypted note", "only the owner of the 0zk address can open it"}},
		"unshielding":  {form("WETH@69696969", "ETH@1", "1", alice, ""), []string{"0.995 ETH", "Leaves RAILGUN\n1.0025062…", "Send this from your RAILGUN wallet.", "Calls for a RAILGUN wallet"}},
		"what leaves":  {form("USDC@69696969", "USDC@369", "100", alice, ""), []string{"Leaves RAILGUN\n100.250626 USDC", "start a private transaction that unshields 100.250626 USDC", "Track the swap below"}},
		"integrator":   {form("USDC@1", "USDC@369", "100", alice, partner), []string{"99.45 USDC", "0.25 USDC (0.25 %) to 0xfB69…d359", "only its registry on chain 369 can tell"}},
		"shield ether": {form("ETH@1", "WETH@96969696", "2", private, ""), []string{"WETH", "RAILGUN"}},
		"USD1":         {form("USD1@56", "USDC@369", "25000", alice, ""), []string{"24,925 USDC"}},
	} {
		got := run[shown](t, w, "await quote($1);"+look, tt.form)
		if got.Alert != "" || got.Checks != 11 {
			t.Errorf("%s: got alert %q and %d checks passed, want all 11", name, got.Alert, got.Checks)
		}
		wantWords(t, name, got.Card, append(tt.words, "The contracts guarantee no minimum and give no refund: the payout depends on the operator.", "Total fee\n")...)
		wantWords(t, name, got.Status, "You receive on ", "Checked in your browser: 11 of 11")
	}
	// What is cut off is one click away.
	all := run[string](t, w, `await quote($1); document.querySelector('#answer .digits').click(); return statusText();`, form("WETH@369", "ETH@8453", "1.234567890123456789", alice, ""))
	wantWords(t, "all digits", all, "1.228395050672839506 ETH")
}

// alterations of an answer, or of the listing, must each raise the alert with the right words, and leave nothing to send.
func alterations(t *testing.T, w *world) {
	w.open(t, "")
	type alteration struct {
		Name, Of, Base, JS string
		Edit               json.RawMessage
	}
	var details struct {
		Quotes      []struct{ Name, Golden, From string }
		Alterations []alteration
	}
	var all []alteration
	decodeFile(t, "alterations", &all)
	decodeFile(t, "details", &details)
	goldens := map[string]string{}
	for _, q := range details.Quotes {
		if q.From == "" { // the page names no sender
			goldens[q.Name] = q.Golden
		}
	}
	for _, a := range details.Alterations {
		if base, ok := goldens[a.Base]; ok && !strings.Contains(string(a.Edit), "1e999") { // which JavaScript does not write
			a.Of, a.Base = "quote", base
			all = append(all, a)
		}
	}
	done, told := 0, map[string]int{}
	for _, a := range all {
		// verify.js is tested with all of them: here, two of each quote and two of the listing are shown.
		if told[a.Of+a.Base]++; told[a.Of+a.Base] > 2 {
			continue
		}
		request := readRequest(t, a.Base)
		if told[a.Of+a.Base] == 1 {
			if got := run[shown](t, w, alterJS+"announce(); await quote(formOf($1));"+look, request); got.Alert != "" || got.Send == (len(request["srcChain"]) == 8) {
				t.Errorf("%s: the truth is refused, or cannot be sent: %s", a.Base, got.Alert)
			}
		}
		got := run[shown](t, w, alterJS+`
			if ($2 === 'quote') alter('/v3/swap/quote', $3);
			else await pinAltered($3);
			await quote(formOf($1));
			restore();`+look, request, a.Of, a.Edit)
		if a.Of == "listing" {
			run[bool](t, w, "type('pin', ''); await until(() => statusText().includes('You receive')); return true;")
		}
		if got.Send || a.JS == "" || !strings.Contains(got.Alert, a.JS) {
			t.Errorf("%s: got alert %q, and Send is offered: %t; want no Send, and an alert that says %q", a.Name, got.Alert, got.Send, a.JS)
		}
		wantWords(t, a.Name, got.Status, "Do not sign this quote anywhere")
		done++
	}
	if done < 10 {
		t.Errorf("only %d alterations were tried", done)
	}
}

// alterJS alters what the page reads, in the way of testdata/verify/run.mjs.
const alterJS = `
	const original = window.original ??= window.fetch;
	const edit = (root, { path, set, add, copy, drop, at, bytes }) => {
		const find = (keys) => keys.reduce((node, key) => node[key], root);
		const keys = path.split('.');
		const last = keys.pop();
		const node = find(keys);
		if (drop) Array.isArray(node) ? node.splice(Number(last), 1) : delete node[last];
		else if (copy) node[last] = structuredClone(find(copy.split('.')));
		else if (add) node[last] += add;
		else if (bytes) node[last] = node[last].slice(0, 2 + 2 * at) + bytes + node[last].slice(2 + 2 * at + bytes.length);
		else node[last] = set;
	};
	const alter = (target, change) => {
		window.fetch = async (path, options) => {
			const res = await original(path, options);
			if (!String(path).includes(target)) return res;
			const body = await res.json();
			edit(body, change);
			return new Response(JSON.stringify(body), { status: res.status, headers: res.headers });
		};
	};
	const pinAltered = async (change) => {
		const routers = await (await original('/v3/app/routers')).json();
		edit(routers, change);
		type('pin', JSON.stringify(routers));
		await until(() => $('pin-hint').textContent.startsWith('Pinned'));
	};
	const restore = () => { window.fetch = original; };
	const alterStatus = (status) => {
		window.fetch = async (path, options) => (String(path).includes('/swap/status')
			? new Response(JSON.stringify({ ...Object.fromEntries(new URL(path, location).searchParams), ...status })) : original(path, options));
	};
	const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: { info: { uuid: 'test', name: 'Test' }, provider: { request: async () => { throw { code: 4001 }; } } } }));
	const formOf = (request) => {
		const { tokens } = JSON.parse($('listing').textContent);
		const [, , decimals] = tokens.find(([chain, symbol]) => symbol === request.srcToken && String(chain) === request.srcChain);
		const digits = request.amount.padStart(decimals + 1, '0');
		return { from: request.srcToken + '@' + request.srcChain, to: request.dstToken + '@' + request.dstChain,
			amount: digits.slice(0, -decimals) + '.' + digits.slice(-decimals), recipient: request.recipient, integrator: request.integratorId ?? '' };
	};
`

func pins(t *testing.T, w *world) {
	reference, err := os.ReadFile("../../shared/chain/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	_, listed := ask(t, w.Handler, "GET", "/v3/app/routers")
	_, pairs := ask(t, w.Handler, "GET", "/v3/app/pairs")
	other := strings.ReplaceAll(string(reference), "0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359")
	pool, burn := form("USDC@1", "USDC@369", "100", alice, ""), form("USDC@10", "USDC@369", "100", alice, "")
	w.open(t, "")
	for name, tt := range map[string]struct {
		pin   string
		form  map[string]string
		alert string
	}{
		"the deployment file":          {string(reference), pool, ""},
		"the deployment file, a burn":  {string(reference), burn, ""},
		"the listing":                  {listed, pool, ""},
		"the listing of pairs":         {pairs, pool, ""},
		"another listing of pairs":     {strings.ReplaceAll(pairs, "0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"), pool, "but must be 0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359."},
		"another deployment":           {other, pool, "to is 0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d, but must be 0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359."},
		"another deployment of a burn": {strings.Replace(string(reference), "0x25b3", "0x25b4", 1), burn, "mintRecipient is 0x"},
		"no JSON":                      {"<script>alert(1)</script>", pool, "routers must have one row"},
		"other JSON":                   {`{"pools": [], "settlement": null}`, pool, "routers must have one row"},
		"a pool missing":               {`{"pools": [], "settlement": {}}`, pool, "routers must have one row"},
		"nested":                       {strings.Repeat("[", 100_000), pool, "routers must have one row"},
	} {
		got := run[shown](t, w, `
			$('more').open = true;
			type('pin', '');
			await until(() => $('pin-hint').textContent.startsWith('Nothing is pinned'));
			type('pin', $1);
			await until(() => /^Pinned|No quote passes/.test($('pin-hint').textContent + $('pin-error').textContent));
			await quote($2);`+look, tt.pin, tt.form)
		if tt.alert == "" {
			if got.Alert != "" {
				t.Errorf("%s: got alert %q", name, got.Alert)
			}
			wantWords(t, name, got.Status, "pinned")
		} else {
			wantWords(t, name, got.Alert, tt.alert)
		}
	}
	// A file that is dropped counts as one that is pasted, and emptying the box undoes it.
	w.open(t, "")
	got := run[shown](t, w, `
		const data = new DataTransfer();
		data.items.add(new File([$1], 'deployment.json'));
		$('pin').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
		await until(() => $('pin-hint').textContent.startsWith('Pinned'));
		await quote($2);
		const first = alertText();
		type('pin', '');
		await until(() => $('pin-hint').textContent.startsWith('Nothing is pinned'));
		await quote();
		openAll();
		return { alert: first, status: cardText() };`, other, pool)
	wantWords(t, "a dropped file", got.Alert, "but must be 0xfb69")
	wantWords(t, "an emptied box", got.Status, "gateway’s contract list")
	// What is pinned while a quote is under way counts for it.
	w.open(t, "")
	w.answer("/v3/swap/quote", func(rw http.ResponseWriter, r *http.Request) {
		run[bool](t, w, "type('pin', $1); await until(() => $('pin-hint').textContent.startsWith('Pinned')); return true;", other)
		w.pass(rw, r)
	})
	got = run[shown](t, w, "fill($1); $('ask').click(); await until(() => alertText() || sendButton());"+look, pool)
	wantWords(t, "a pin set in flight", got.Alert, "but must be 0xfb69")
}

func wrongInput(t *testing.T, w *world) {
	w.open(t, "")
	for name, tt := range map[string]struct {
		form  map[string]string
		focus string
		alert string
	}{
		"nothing":                 {form("USDC@1", "USDC@369", "", alice, ""), "amount", "Enter an amount in "},
		"a word":                  {form("USDC@1", "USDC@369", "much", alice, ""), "amount", "Enter an amount in "},
		"an exponent":             {form("USDC@1", "USDC@369", "1e3", alice, ""), "amount", "Enter an amount in "},
		"a sign":                  {form("USDC@1", "USDC@369", "-100", alice, ""), "amount", "Enter an amount in "},
		"a comma":                 {form("USDC@1", "USDC@369", "1,5", alice, ""), "amount", "Enter 1.5 with a decimal point instead of the comma."},
		"thousands":               {form("USDC@1", "USDC@369", "1,000", alice, ""), "amount", "Enter 1000 without commas"},
		"a point":                 {form("USDC@1", "USDC@369", ".", alice, ""), "amount", "Enter an amount in "},
		"too little":              {form("USDC@1", "USDC@369", "9.999999", alice, ""), "amount", "Below the minimum: a swap takes 10 to 25,000 USDC"},
		"too much":                {form("ETH@1", "WETH@369", "20.000000000000000001", alice, ""), "amount", "Above the maximum: a swap takes 0.01 to 20 ETH"},
		"too many decimals":       {form("USDC@1", "USDC@369", "10.0000001", alice, ""), "amount", "at most 6 digits after the point"},
		"no recipient":            {form("USDC@1", "USDC@369", "10", "", ""), "recipient", "0x and 40 hexadecimal digits"},
		"a private recipient":     {form("USDC@1", "USDC@369", "10", private, ""), "recipient", "0x and 40 hexadecimal digits"},
		"a public recipient":      {form("USDC@1", "USDC@69696969", "10", alice, ""), "recipient", "begins with 0zk"},
		"a wrong checksum":        {form("USDC@1", "USDC@369", "10", strings.Replace(alice, "Ae", "aE", 1), ""), "recipient", "Code INVALID_RECIPIENT, request ID "},
		"an unknown integrator":   {form("USDC@1", "USDC@369", "10", alice, "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"), "integrator", "Code INTEGRATOR_UNREGISTERED, request ID "},
		"an integrator in words":  {form("USDC@1", "USDC@369", "10", alice, "me"), "integrator", "Enter the address of the partner’s wallet"},
		"a registry out of reach": {form("USDC@1", "USDC@369", "10", alice, alice), "alert", "Retry in 5 seconds."},
	} {
		got := run[shown](t, w, "await quote($1);"+look, tt.form)
		if !strings.Contains(got.Alert, tt.alert) || got.Focus != tt.focus || got.Status != "" {
			t.Errorf("%s: got alert %q, focus on %q, status %q; want %q and %q", name, got.Alert, got.Focus, got.Status, tt.alert, tt.focus)
		}
	}
	got := run[shown](t, w, "await quote($1);"+look, form("USDC@1", "USDC@369", "0010.50", " "+alice+" ", ""))
	if got.Alert != "" {
		t.Errorf("zeros and spaces that change nothing are refused: %s", got.Alert)
	}
	wantWords(t, "leading zeros", got.Card, "You pay\n10.5 USDC")
	// All errors at once, each at its field.
	at := run[map[string]string](t, w, `
		await quote($1);
		const told = {};
		for (const id of ['amount', 'recipient', 'integrator']) {
			const error = $($(id).getAttribute('aria-errormessage'));
			told[id] = $(id).getAttribute('aria-invalid') + ' ' + error.checkVisibility() + ' ' + error.innerText;
		}
		type('amount', '100');
		told.after = String($('amount').getAttribute('aria-invalid')) + $('amount-error').textContent;
		return told;`, form("USDC@1", "USDC@369", "x", "y", "z"))
	wantWords(t, "the amount", at["amount"], "true true Enter an amount in ")
	wantWords(t, "the recipient", at["recipient"], "true true Enter an address")
	wantWords(t, "the integrator", at["integrator"], "true true Enter the address of the partner")
	wantWords(t, "the corrected amount", at["after"], "null")
	run[shown](t, w, "await quote($1);"+look, form("USDC@1", "USDC@369", "10", alice, ""))
	// Typing on drops an answer that no longer belongs to the form.
	if status := run[string](t, w, "type('amount', '11'); return statusText();"); status != "" {
		t.Errorf("the answer to another amount stays: %s", status)
	}
}

func gatewayErrors(t *testing.T, w *world) {
	ordinary := form("USDC@1", "USDC@369", "100", alice, "")
	reply := func(status int, body string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", "2")
			rw.WriteHeader(status)
			fmt.Fprint(rw, body)
		}
	}
	hangUp := func(rw http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }
	limited := `{"error": "Too many requests", "code": "RATE_LIMITED", "requestId": "abc123"}`
	for name, tt := range map[string]struct {
		path   string
		handle http.HandlerFunc
		words  []string
	}{
		"429":                    {"/v3/swap/quote", reply(429, limited), []string{"Too many requests", "Retry in 2 seconds.", "Code RATE_LIMITED, request ID abc123."}},
		"429 of the listing":     {"/v3/app/pairs", reply(429, limited), []string{"Too many requests", "RATE_LIMITED"}},
		"500":                    {"/v3/swap/quote", reply(500, `{"error": "Something broke", "code": "INTERNAL", "requestId": "abc"}`), []string{"Something broke", "Code INTERNAL, request ID abc."}},
		"gone":                   {"/v3/swap/quote", hangUp, []string{"The gateway does not answer."}},
		"gone after the quote":   {"/v3/app/pairs", hangUp, []string{"The gateway does not answer."}},
		"a page of a proxy":      {"/v3/swap/quote", reply(502, "<html>Bad gateway</html>"), []string{"status 502 and nothing that can be read"}},
		"200 without JSON":       {"/v3/swap/quote", reply(200, "fine"), []string{"status 200 and nothing that can be read"}},
		"200 with a number":      {"/v3/swap/quote", reply(200, "7"), []string{"status 200 and nothing that can be read"}},
		"200 with null":          {"/v3/swap/quote", reply(200, "null"), []string{"status 200"}},
		"200 with a list":        {"/v3/swap/quote", reply(200, "[]"), []string{"status 200"}},
		"200 without end":        {"/v3/swap/quote", reply(200, `{"a": "`+strings.Repeat("x", 1_200_000)+`"}`), []string{"nothing that can be read"}},
		"an error of odd types":  {"/v3/swap/quote", reply(400, `{"error": {"toString": 1}, "code": [], "requestId": null, "param": {"a": 1}}`), []string{"status 400"}},
		"an error in no one":     {"/v3/swap/quote", reply(400, `{"error": "No", "code": "INVALID_PARAMETER", "param": "__proto__"}`), []string{"No"}},
		"a listing of odd types": {"/v3/app/pairs", reply(200, `{"pairs": 7, "settlement": "x"}`), []string{"listing.pairs is 7, but must be a list."}},
		"a redirect elsewhere": {"/v3/swap/quote", func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "/v3/app/pairs", http.StatusFound)
		}, []string{"The gateway does not answer."}},
	} {
		w.open(t, "")
		w.answer(tt.path, tt.handle)
		got := run[shown](t, w, "await quote($1);"+look, ordinary)
		wantWords(t, name, got.Alert, tt.words...)
		if got.Send || strings.Contains(got.Status, "Arrives") {
			t.Errorf("%s: there is an answer all the same: %s", name, got.Status)
		}
	}
	// Too many requests: the page counts down and goes on by itself.
	w.open(t, "")
	limits := 1
	w.answer("/v3/swap/quote", func(rw http.ResponseWriter, r *http.Request) {
		if limits > 0 {
			limits--
			reply(429, limited)(rw, r)
			return
		}
		w.pass(rw, r)
	})
	waited := run[string](t, w, "fill($1); $('ask').click(); await until(() => statusText().includes('Retrying in')); const told = statusText(); await until(() => statusText().includes('99.7 USDC')); return told;", ordinary)
	wantWords(t, "too many requests", waited, "Too many requests", "Retrying in")
}

// hostileText puts markup where the page shows what others wrote, and wants it to stay text.
func hostileText(t *testing.T, w *world) {
	const hostile = `"><img src=x onerror="window.hurt=1"><script>window.hurt=1</script><svg onload="window.hurt=1">`
	type result struct {
		Hurt, Markup bool
		Alert        string
	}
	const check = `return { hurt: Boolean(window.hurt), markup: Boolean(document.querySelector('main img:not([src^="data:image/"]), main script, [onload]')), alert: alertText() };`
	want := func(name string, got result) {
		t.Helper()
		if got.Hurt || got.Markup {
			t.Errorf("%s: the text became markup: %+v", name, got)
		}
	}
	for _, field := range []string{"amount", "recipient", "integrator", "pin"} {
		w.open(t, "")
		f := form("USDC@1", "USDC@369", "100", alice, "")
		f[field] = hostile
		got := run[result](t, w, "$('more').open = true; await quote($1); await until(alertText);"+check, f)
		want(field, got)
	}
	w.open(t, "?from="+hostile+"&to="+hostile+"&amount="+hostile+"&recipient="+hostile+"&integrator="+hostile)
	got := run[result](t, w, "await until(alertText);"+check)
	want("the address bar", got)

	for path, body := range map[string]string{
		"/v3/swap/quote":  `{"error": H, "code": H, "requestId": H, "to": H, "srcToken": {"symbol": H, "address": H}, "details": {"validUntil": H, "sendCalls": {"calls": [{"to": H, "data": H}]}}, "route": {"type": H}, "methodParameters": {"calldata": H}}`,
		"/v3/app/pairs":   `{"chains": [{"chainId": 1, "name": H}], "tokens": [{"chainId": 1, "symbol": "USDC", "address": H}], "pairs": [{"srcChain": 1, "srcToken": "USDC", "dstChain": 369, "dstToken": H, "type": H, "to": H}], "settlement": {"receiver": H}, "client": H}`,
		"/v3/swap/status": `{"state": H, "reason": H, "contact": H, "swap": {"dstChain": H, "dstToken": H, "recipient": H}, "settlement": {"txHash": H, "amount": H, "timestamp": H}, "burn": {"reason": H}, "error": H, "code": H}`,
		"/versions":       `{"versions": [{"name": H, "state": H, "successor": H, "migration": "javascript:window.hurt=1", "deprecated": H, "brownouts": [{"from": H}]}, 7, null]}`,
	} {
		for _, status := range []int{200, 400} {
			w.reset()
			w.answer(path, func(rw http.ResponseWriter, _ *http.Request) {
				quoted, _ := json.Marshal(hostile)
				rw.WriteHeader(status)
				fmt.Fprint(rw, strings.ReplaceAll(body, "H", string(quoted)))
			})
			if path == "/versions" {
				w.visit(t, "developers")
				want(path, run[result](t, w, "await until(() => $('lives').innerText);"+check))
				continue
			}
			w.visit(t, "")
			got := run[result](t, w, "await quote($1); $('track').open = true; $('tx').value = '0x' + 'a'.repeat(64); named('Track').click(); await until(() => !statusText().includes('Loading')); "+check, form("USDC@1", "USDC@369", "100", alice, ""))
			want(path, got)
		}
	}
	// What nobody can check may be anything, too.
	w.open(t, "")
	got = run[result](t, w, alterJS+`
		announce();
		for (const change of [{ path: 'details.arrival.seconds', set: $2 }, { path: 'details.arrival.seconds', set: -1 }, { path: 'details.arrival.deductions', set: 0 }, { path: 'details.validUntil', set: '9999' }]) {
			alter('/v3/swap/quote', change);
			await quote($1);
		}
		restore();
		dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: { info: { uuid: $2, name: $2, icon: 'javascript:window.hurt=1' }, provider: { request: async () => { throw { code: 1, message: $2 }; } } } }));
		for (const detail of [null, 7, {}, { info: null }, { info: {}, provider: {} }]) dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }));
		await quote($1);
		type('wallet', $2);
		sendButton().click();
		await until(alertText);`+check, form("USDC@1", "USDC@369", "100", alice, ""), hostile)
	want("a wallet", got)
	wantWords(t, "a wallet", got.Alert, "The wallet could not do it.", "onerror")
}

// addressBar: what was asked for can be sent to a colleague.
func addressBar(t *testing.T, w *world) {
	w.open(t, "")
	search := run[string](t, w, "await quote($1); return location.search;", form("DAI@56", "USDC@69696969", "12.5", private, partner))
	w.open(t, "")
	w.open(t, search)
	got := run[map[string]string](t, w, `
		await until(() => statusText().includes('You receive'));
		return { ...formNow(),
			hint: $('recipient-hint').textContent, stored: String(localStorage.length + sessionStorage.length + document.cookie.length) };`)
	for name, want := range form("DAI@56", "USDC@69696969", "12.5", private, partner) {
		if got[name] != want {
			t.Errorf("%s: got %q from the address bar, want %q", name, got[name], want)
		}
	}
	wantWords(t, "the hint", got["hint"], "Not typed here: you confirm it before signing.")
	if got["stored"] != "0" {
		t.Error("something is stored in the browser")
	}
	// What cannot be reached falls back to what can.
	w.open(t, "?from=USDC@10&to=WETH@1&amount=1")
	if to := run[string](t, w, "return formNow().to + ' ' + $('terms').innerText;"); !strings.HasPrefix(to, "USDC@1 Total fee") {
		t.Errorf("got to %s for USDC on chain 10, want it in two swaps", to)
	}
	reach := run[[]string](t, w, "pick('from', 'WETH@369'); return [...$('to-chain').options].map((option) => option.textContent);")
	if len(reach) != 5 {
		t.Errorf("from WETH on the hub the page offers %q, want three chains and two pools", reach)
	}
	// What a link filled in stays marked until the recipient is edited or confirmed.
	link := "?from=USDC@1&to=USDC@369&amount=100&recipient=" + alice
	for name, action := range map[string]string{
		"edited": "type('recipient', $1.toLowerCase());", "confirmed": "$('meant').click();",
	} {
		w.open(t, link)
		told := run[[]bool](t, w, `
			const marked = () => $('recipient-hint').textContent.includes('Not typed here');
			const before = marked();
			type('amount', '101'); pick('to', 'USDC@69696969'); pick('to', 'USDC@369');
			await quote();
			const after = marked();`+action+`
			return [before, after, marked()];`, alice)
		if fmt.Sprint(told) != "[true true false]" {
			t.Errorf("%s: the mark of a linked recipient is there: %v, want it until it is %s", name, told, name)
		}
	}
	// A query of the interface is in smallest units.
	for _, query := range []string{"?srcToken=usdc&srcChain=1&dstToken=USDC&dstChain=369&amount=100000000&recipient=" + alice} {
		w.open(t, query)
		wantWords(t, "a query of the interface", run[string](t, w, "await until(() => statusText().includes('You receive')); return cardText();"), "99.7 USDC", "You pay\n100 USDC")
	}
	for _, pasted := range []string{"https://gateway.example/v3/swap/quote?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369&recipient=" + alice, "amount=100000000"} {
		w.open(t, "")
		got := run[string](t, w, `
			const data = new DataTransfer();
			data.setData('text', $1);
			$('amount').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
			return $('amount').value + ' ' + $('said').textContent;`, pasted)
		wantWords(t, pasted, got, "100 The amount was in the smallest unit")
	}
}

func decodeFile(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("../../testdata/verify/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), "(note)", strings.Repeat("5a", 160))
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
