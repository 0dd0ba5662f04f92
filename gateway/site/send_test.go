package site_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

const sender = "0x9d7877ec33Cf3397d79A3E06D4a5cb373b7961F1"

// walletJS makes a wallet that announces itself. It does as it is told, and notes what it was asked.
const walletJS = `
	const wallet = (rules = {}) => {
		window.calls = [];
		let chain = rules.chain ?? '0x1';
		let sent = 0;
		const hash = () => '0x' + String(++sent).padStart(64, 'a');
		const refuse = (code, message = 'no') => { throw Object.assign(new Error(message), { code }); };
		const does = {
			eth_requestAccounts: () => [$1],
			eth_accounts: () => [$1],
			eth_chainId: () => chain,
			wallet_switchEthereumChain: ([{ chainId }]) => { chain = chainId; return null; },
			wallet_addEthereumChain: () => null,
			eth_getCode: () => rules.code ?? '0x6080',
			eth_getBalance: () => rules.balance ?? '0xffffffffffffffffffffff',
			eth_call: ([{ data }]) => (data.startsWith('0x70a08231') ? rules.balance : rules.allowance) ?? (data.startsWith('0x70a08231') ? '0xffffffffffffffffffffff' : '0x0'),
			eth_sendTransaction: hash,
			eth_getTransactionReceipt: () => ({ status: '0x1' }),
			...rules.does?.({ refuse, hash, move: (id) => { chain = id; } }),
		};
		const provider = { request: async ({ method, params }) => {
			window.calls.push({ method, params });
			return (does[method] ?? (() => refuse(-32601)))(params ?? []);
		}, on: rules.on };
		dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info: { uuid: crypto.randomUUID(), name: 'Test wallet', icon: 'data:,', rdns: rules.rdns ?? 'test.example' }, provider }) }));
	};
	const methods = () => window.calls.map(({ method }) => method);
	const transactions = () => window.calls.filter(({ method }) => method === 'eth_sendTransaction').map(({ params }) => params[0]);
`

type sent struct {
	Alert, Status, Card string
	Methods             []string
	Transactions        []struct{ From, To, Data, Value, ChainID string }
	Batch               []struct{ To, Data, Value string }
	Again               bool // whether it can be sent again
	Focus               string
}

const sendAndLook = `
	sendButton().focus();
	sendButton().click();
	await until(() => alertText() || /cannot follow|We do not know/.test(statusText()));
	const again = sendButton();
	return { alert: alertText(), status: statusText(), card: cardText(), methods: methods(), transactions: transactions(),
		again: Boolean(again && !again.disabled && !again.hasAttribute('aria-disabled')), focus: document.activeElement.id,
		batch: window.calls.find(({ method }) => method === 'wallet_sendCalls')?.params[0].calls ?? [] };`

const batchWallet = `does: ({ hash, refuse }) => ({ wallet_getCapabilities: () => ({}), wallet_sendCalls: () => ({ id: 'b' }), wallet_getCallsStatus: () => ({ status: 200, receipts: [{ transactionHash: hash() }] }), `

// sends has one wallet for each sentence of the page. testdata/client/send.test.mjs has all that wallets may do.
func sends(t *testing.T, w *world) {
	usdc, eth := form("USDC@1", "USDC@369", "100", alice, ""), form("ETH@1", "WETH@369", "0.5", alice, "")
	usdt := form("USDT@1", "USDC@369", "100", alice, "")
	const router = "0x2ad529b5b3443dd5a054790e84a9ab76a2cd229d"
	for name, tt := range map[string]struct {
		form  map[string]string
		rules string // of the wallet
		alert string // none: it is sent
		count int    // of transactions
		batch int    // of calls in a batch
	}{
		"approval and swap":            {form: usdc, count: 2},
		"allowance in place":           {form: usdc, rules: `allowance: '0x5f5e100'`, count: 1},
		"reset":                        {form: usdt, rules: `allowance: '0x1'`, count: 3},
		"native":                       {form: eth, count: 1},
		"a batch":                      {form: usdc, rules: batchWallet + `})`, batch: 2},
		"a batch of no use":            {form: usdc, rules: batchWallet + `wallet_sendCalls: () => refuse(4200) })`, batch: 2, count: 2},
		"a batch refused":              {form: usdc, rules: batchWallet + `wallet_sendCalls: () => refuse(4001) })`, batch: 2, alert: "You rejected the request in your wallet."},
		"another chain":                {form: usdc, rules: `chain: '0x38'`, count: 2},
		"another chain, refused":       {form: usdc, rules: `chain: '0x38', does: ({ refuse }) => ({ wallet_switchEthereumChain: () => refuse(4001) })`, alert: "You rejected the switch to Ethereum."},
		"another chain, not switched":  {form: usdc, rules: `chain: '0x38', does: () => ({ wallet_switchEthereumChain: () => null })`, alert: "Your wallet is not on Ethereum."},
		"an unknown chain":             {form: usdc, rules: `chain: '0x38', does: ({ refuse }) => ({ wallet_switchEthereumChain: () => refuse(4902) })`, alert: "Your wallet does not know Ethereum."},
		"the chain changes":            {form: usdc, rules: `does: ({ hash, move }) => ({ eth_sendTransaction: () => { move('0x38'); return hash(); } })`, alert: "Your wallet is not on Ethereum.", count: 1},
		"no account":                   {form: usdc, rules: `does: () => ({ eth_requestAccounts: () => [] })`, alert: "The wallet gave no account."},
		"already asking":               {form: usdc, rules: `does: ({ refuse }) => ({ eth_requestAccounts: () => refuse(-32002) })`, alert: "already asking you something"},
		"swap refused":                 {form: usdc, rules: `does: ({ refuse, hash }) => { let n = 0; return { eth_sendTransaction: () => (n++ ? refuse(4001) : hash()) }; }`, alert: "The approval was sent and stands.", count: 2},
		"too little":                   {form: usdc, rules: `balance: '0x5f5e0ff'`, alert: "has 99.999999 USDC on Ethereum, and 100 USDC are needed"},
		"too little of a coin":         {form: eth, rules: `balance: '0x0'`, alert: "The account has too little ETH."},
		"no contract":                  {form: usdc, rules: `code: '0x'`, alert: "There is no contract at " + router + " on chain 1: funds sent there are lost."},
		"a silent node, and coins":     {form: eth, rules: `does: () => ({ eth_getCode: () => new Promise(() => {}) })`, alert: "No node says whether there is a contract at"},
		"disconnected":                 {form: usdc, rules: `does: ({ refuse }) => ({ eth_sendTransaction: () => refuse(4900) })`, alert: "The wallet is disconnected from the chain.", count: 1},
		"account gone":                 {form: usdc, rules: `does: () => ({ eth_accounts: () => [] })`, alert: "The wallet has disconnected the account."},
		"approval reverts":             {form: usdc, rules: `does: () => ({ eth_getTransactionReceipt: () => ({ status: '0x0' }) })`, alert: "The approval failed on the chain.", count: 1},
		"no hash of the approval":      {form: usdc, rules: `does: () => ({ eth_sendTransaction: () => 'yes' })`, alert: "no transaction hash for the approval", count: 1},
		"expires between transactions": {form: usdc, rules: `does: ({ hash }) => ({ eth_sendTransaction: () => { const real = Date.now; Date.now = () => real() + 120_000; return hash(); } })`, alert: "This quote has expired while you were signing.", count: 1},
		"shielding":                    {form: form("USDC@1", "USDC@69696969", "100", private, ""), count: 2},
		"an error in no words":         {form: usdc, rules: `does: () => ({ eth_requestAccounts: () => { throw undefined; } })`, alert: "It does not say why."},
	} {
		w.open(t, "")
		w.answer("/v3/swap/status", untracked)
		got := run[sent](t, w, fast+walletJS+"/* "+name+" */ wallet({"+tt.rules+"}); await quote($2);"+consent+sendAndLook, sender, tt.form)
		if tt.alert == "" != (got.Alert == "") || !strings.Contains(got.Alert, tt.alert) {
			t.Errorf("%s: got alert %q, want %q", name, got.Alert, tt.alert)
		}
		if len(got.Transactions) != tt.count || len(got.Batch) != tt.batch {
			t.Errorf("%s: got %d transactions and %d calls in a batch, want %d and %d: %v", name, len(got.Transactions), len(got.Batch), tt.count, tt.batch, got.Methods)
		}
		if again := tt.alert != ""; got.Again != again {
			t.Errorf("%s: it can be sent again: %t", name, got.Again)
		}
		for _, tx := range got.Transactions {
			if tx.From != sender || tx.ChainID != "0x1" {
				t.Errorf("%s: sent from %s on %s", name, tx.From, tx.ChainID)
			}
		}
		if name == "approval and swap" && len(got.Transactions) == 2 {
			approval, swap := got.Transactions[0], got.Transactions[1]
			if approval.To != "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48" || !strings.HasPrefix(approval.Data, "0x095ea7b3") || swap.To != router || !strings.HasPrefix(swap.Data, "0x095ff22d") || swap.Value != "0x0" {
				t.Errorf("sent %+v", got.Transactions)
			}
		}
		if name == "native" && len(got.Transactions) == 1 && got.Transactions[0].Value != "0x6f05b59d3b20000" {
			t.Errorf("sent %+v", got.Transactions)
		}
		if tt.alert == "" {
			wantWords(t, name, got.Status, "Sent", "This gateway cannot follow swaps on ")
			wantWords(t, name, got.Card, "0xaaaa…")
			if got.Focus != "answer" {
				t.Errorf("%s: the focus is on %q", name, got.Focus)
			}
		} else if !strings.Contains(tt.alert, "expired") && got.Focus != "send-button" {
			t.Errorf("%s: the focus has left the button, for %q", name, got.Focus)
		}
	}
	addsChain(t, w, usdc)
	expires(t, w, usdc)
	// Tokens go on where the node is silent, and the visitor reads so before signing.
	w.open(t, "")
	warned := run[string](t, w, fast+walletJS+`
		wallet({ does: ({ refuse }) => ({ eth_getCode: () => refuse(4200), eth_sendTransaction: () => new Promise(() => {}) }) });
		await quote($2);
		sendButton().click();
		await until(() => transactions().length === 1);
		return alertText() + $('waiting').innerText;`, sender, usdc)
	wantWords(t, "a silent node", warned, "cannot confirm that these contracts exist", router, "1 of 2: sign the approval")
	// While the wallet is asked, the button has the focus, says what to do, and there is a way out.
	w.open(t, "")
	waiting := run[[]string](t, w, walletJS+`
		wallet({ does: () => ({ eth_requestAccounts: () => new Promise(() => {}) }) });
		await quote($2);
		sendButton().focus();
		sendButton().click();
		await until(() => named('Stop waiting'));
		const during = [document.activeElement.textContent, $('waiting').innerText];
		$('send-button').click(); $('send-button').click();
		named('Stop waiting').click();
		await until(alertText);
		return [...during, alertText(), sendWords(), String(methods().length)];`, sender, usdc)
	wantWords(t, "waiting", strings.Join(waiting, "|"), "Confirm in your wallet…|Connect your account in your wallet.", "You stopped waiting for the wallet.", "|Swap 100 USDC: Up to 2 signatures in Test wallet|1")
}

// fast makes the page's waits short.
const fast = `
	if (!window.hastened) {
		const real = window.hastened = setTimeout;
		const answers = { 5_000: 3_000, 15_000: 15_000 }; // the time that an answer may take stays long
		window.setTimeout = (done, wait) => real(done, answers[wait] ?? Math.min(wait, 30));
	}
`

// expires wants an expired quote to have no Send, and to be renewed by itself while somebody looks at it.
func expires(t *testing.T, w *world, f map[string]string) {
	w.open(t, "")
	got := run[map[string]string](t, w, walletJS+alterJS+`
		wallet();
		await quote($2);
		const shownUntil = () => $('valid').innerText.startsWith('Expires in');
		sendButton().focus();
		const real = Date.now;
		let asked = 0;
		window.fetch = async (path, options) => {
			if (String(path).includes('/swap/quote')) asked++;
			Date.now = real;
			return original(path, options);
		};
		Date.now = () => real() + 120_000;
		await until(() => $('valid').innerText.includes('Renewing'));
		const off = sendButton().getAttribute('aria-disabled');
		sendButton().click();
		await until(() => shownUntil() && !sendButton().hasAttribute('aria-disabled'));
		restore();
		return { off: String(off), asked: String(asked), focus: document.activeElement.id, sent: String(transactions().length), alert: alertText() };`,
		sender, f)
	if fmt.Sprint(got) != "map[alert: asked:1 focus:send-button off:true sent:0]" {
		t.Errorf("an expired quote: %v", got)
	}
	// A renewed quote is checked as the first was, and another amount is pointed out.
	for name, tt := range map[string]struct{ replace, alert, off string }{
		"altered":       {`[['"99450000"', '"99450001"']]`, "This quote is not what you asked for.", "gone"},
		"a higher rate": {`[[/0\.25/g, '0.5'], [/"250000"/g, '"500000"'], [/"99450000"/g, '"99200000"'], [/"550000"/g, '"800000"'], [/0\.55/g, '0.8']]`, "You now receive 99.2 USDC.", "false"},
	} {
		w.open(t, "")
		changed := run[[]string](t, w, walletJS+alterJS+"/* "+name+" */"+`
			wallet();
			await quote($2);
			const before = sendButton().disabled;
			const real = Date.now;
			window.fetch = async (path, options) => {
				Date.now = real;
				const res = await original(path, options);
				if (!String(path).includes('/swap/quote')) return res;
				const body = `+tt.replace+`.reduce((text, [from, to]) => text.replace(from, to), await res.text());
				return new Response(body, { status: res.status, headers: res.headers });
			};
			Date.now = () => real() + 120_000;
			await until(alertText);
			return [String(before), alertText(), String(sendButton()?.disabled ?? 'gone')];`,
			sender, form("USDC@1", "USDC@369", "100", alice, partner))
		wantWords(t, name, changed[1], tt.alert)
		if changed[0] != "false" || changed[2] != tt.off {
			t.Errorf("%s: the button was off before and is now: %q", name, changed)
		}
	}
}

// untracked is the answer of a gateway that does not follow swaps.
func untracked(rw http.ResponseWriter, _ *http.Request) {
	rw.WriteHeader(http.StatusNotImplemented)
	fmt.Fprint(rw, `{"error": "This deployment's swaps cannot be followed", "code": "STATUS_UNAVAILABLE", "requestId": "r"}`)
}

// consent wants Send to be off until what nobody can check is ticked.
const consent = `
	if ($('consent')) {
		if (!sendButton().disabled) throw new Error('Send is on before the tick');
		$('consent').click();
	}
	if (sendButton().disabled) throw new Error('Send is off');
`

func addsChain(t *testing.T, w *world, f map[string]string) {
	w.open(t, "")
	w.answer("/v3/swap/status", untracked)
	got := run[sent](t, w, fast+walletJS+`
		let known = false;
		wallet({ chain: '0x38', does: ({ refuse, move }) => ({
			wallet_switchEthereumChain: ([{ chainId }]) => (known ? move(chainId) : refuse(4902)),
			wallet_addEthereumChain: () => { known = true; return null; } }) });
		await quote($2);
		sendButton().click();
		await until(() => $('node'));
		$('node').value = 'https://node.example';
		[...document.querySelectorAll('button')].find((button) => button.textContent === 'Add network').click();
		await until(() => !$('node'));
		const added = window.calls.find(({ method }) => method === 'wallet_addEthereumChain').params[0];
		if (added.chainId !== '0x1' || added.chainName !== 'Ethereum' || added.rpcUrls[0] !== 'https://node.example' || added.nativeCurrency.symbol !== 'ETH') throw new Error(JSON.stringify(added));`+
		sendAndLook, sender, f)
	if got.Alert != "" || len(got.Transactions) != 2 {
		t.Errorf("after adding the chain: got alert %q and %d transactions", got.Alert, len(got.Transactions))
	}
}

// statuses follows a swap through what a gateway may say of it.
func statuses(t *testing.T, w *world) {
	const there = "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	ours := `"swap": {"dstChain": "369", "dstToken": "0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07", "recipient": "` + alice + `", "recipientType": 0, "amount": "100000000"}`
	settled := `{"state": "SETTLED", "final": true, "nextCheckSeconds": 0, ` + ours + `, "settlement": {"chainId": 369, "txHash": "` + there + `", "amount": "99700000", "arrived": "99700000", "timestamp": "2026-11-15T12:00:00Z"}}`
	unsettled := strings.NewReplacer("true", "false", `"nextCheckSeconds": 0`, `"nextCheckSeconds": 2`).Replace(settled)
	short := strings.NewReplacer(`"nextCheckSeconds": 2`, `"reason": "What was paid out is not what was swapped.", "nextCheckSeconds": 3600`).Replace(unsettled)
	shielded := `{"state": "SETTLED", "final": true, "nextCheckSeconds": 0, ` + ours + `, "settlement": {"chainId": 369, "txHash": "` + there + `", "amount": "99500000", "arrived": "99251250"}}`
	for name, tt := range map[string]struct {
		answers []string
		card    string
		alert   string
		steps   string
		title   string
	}{
		"settled":          {[]string{`{"state": "NOT_FOUND"}`, `{"state": "PENDING", "final": false}`, `{"state": "SETTLING", ` + ours + `, "burn": {"attestationState": "pending"}}`, settled}, "99.7 USDC arrived on PulseChain", "", "", "✓ 99.7 USDC arrived"},
		"settled at once":  {[]string{settled}, "Payout\n0xbbbb…bbbb", "", "", "✓ 99.7 USDC arrived"},
		"shielded":         {[]string{shielded}, "Paid out\n99.5 USDC\nArrived\n99.25125 USDC after RAILGUN’s fee", "", "", "✓ 99.25125 USDC arrived"},
		"not yet final":    {[]string{unsettled, settled}, "Complete", "", "", "✓"},
		"short":            {[]string{short}, "The payout is not final yet. What was paid out is not what was swapped.", "", "✓Sent: done|✓Confirmed: done|✓Settled: done", "… 99.7 USDC arrived"},
		"goes back":        {[]string{unsettled, `{"state": "SETTLING", ` + ours + `}`, settled}, "Complete", "", "", "✓"},
		"settling":         {[]string{`{"state": "SETTLING", ` + ours + `, "reason": "The pool is empty.", "contact": "help@example.org", "nextCheckSeconds": 3600}`}, "The pool is empty.", "", "✓Sent: done|✓Confirmed: done|●Settled: now", "… On its way"},
		"whom to ask":      {[]string{`{"state": "SETTLING", ` + ours + `, "contact": "help@example.org", "nextCheckSeconds": 3600}`}, "Contact\nhelp@example.org", "", "✓Sent: done|✓Confirmed: done|●Settled: now", "…"},
		"failed":           {[]string{`{"state": "PENDING"}`, `{"state": "FAILED", "final": true, "reason": "ERC20: transfer amount exceeds balance"}`}, "", "The chain says: ERC20: transfer amount exceeds balance", "✓Sent: done|✗Confirmed: failed|○Settled: later", "✗ Failed"},
		"no swap":          {[]string{`{"state": "NOT_A_SWAP", "final": true}`}, "", "This transaction is not a swap.", "✓Sent: done|✗Confirmed: failed|○Settled: later", "✗"},
		"not offered: 404": {[]string{"404"}, "This gateway cannot follow swaps on ", "", "✓Sent: done|●Confirmed: now|○Settled: later", "… Sent"},
		"not offered: 501": {[]string{"501"}, "This gateway cannot follow swaps on ", "", "✓Sent: done|●Confirmed: now|○Settled: later", "… Sent"},
		"busy for a while": {[]string{"503", "429", settled}, "Complete", "", "", "✓"},
		"of odd types":     {[]string{`{"state": "SETTLED", "settlement": {"chainId": 369, "txHash": 7, "amount": {"a": 1}}, "nextCheckSeconds": "x"}`}, "settlement.txHash is 7, but must be a hash", "", "✓Sent: done|○Confirmed: later|○Settled: later", "… Status does not match"},
		"of no known name": {[]string{`{"state": "LOST"}`}, "state is LOST, but must be a state", "", "✓Sent: done|○Confirmed: later|○Settled: later", "… Status does not match"},
		"several swaps":    {[]string{`{"state": "SETTLING", ` + ours + `, "nextCheckSeconds": 3600, "swaps": [{"swap": {"amount": "7"}}, {` + ours + `}]}`}, "2 in this transaction", "", "✓Sent: done|✓Confirmed: done|●Settled: now", "…"},
	} {
		w.open(t, "")
		w.tells(tt.answers...)
		got := run[map[string]string](t, w, fast+walletJS+`
			wallet();
			await quote($2);
			sendButton().click();
			await until(() => alertText() || cardText().includes($3) && $3);
			await until(() => document.title.includes($4));
			return { card: cardText(), alert: alertText(), title: document.title, search: location.hash, send: String(Boolean(sendButton() || $('valid'))),
				steps: [...document.querySelectorAll('#steps li')].map((item) => item.textContent).join('|') };`,
			sender, form("USDC@1", "USDC@369", "100", alice, ""), tt.card, tt.title)
		wantWords(t, name, got["card"], tt.card)
		wantWords(t, name, got["alert"], tt.alert)
		if got["steps"] != tt.steps || tt.alert == "" != (got["alert"] == "") || got["send"] != "false" {
			t.Errorf("%s: got steps %q, alert %q, and it can be sent or has a countdown: %s; want %q and %q", name, got["steps"], got["alert"], got["send"], tt.steps, tt.alert)
		}
		asked := w.told()
		if len(asked) == 0 || !strings.HasPrefix(asked[0], "srcChain=1&txHash=0x"+strings.Repeat("a", 60)) || !strings.HasPrefix(got["search"], "#swap=0xaaaa") {
			t.Errorf("%s: the gateway was asked %q, and the address has %s", name, asked, got["search"])
		}
	}
}

// tells has the gateway answer a status of the transaction that it is asked about, one after the other; the last stays.
func (w *world) tells(answers ...string) {
	w.answer("/v3/swap/status", func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		next := answers[min(len(w.asked), len(answers)-1)]
		w.asked = append(w.asked, r.URL.RawQuery)
		if len(next) == 3 {
			var status int
			fmt.Sscan(next, &status)
			rw.Header().Set("Retry-After", "1")
			rw.WriteHeader(status)
			next = `{"error": "Not now", "code": "STATUS_UNAVAILABLE", "requestId": "r"}`
		}
		fmt.Fprint(rw, complete(next, r.URL.Query()))
	})
}

// complete is a status with what every status has, for the transaction that was asked about.
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
	source := map[string]any{"blockNumber": 21000000, "confirmations": 12, "timestamp": "2026-11-15T11:59:00Z"}
	fill(body["source"], source)
	if body["state"] != "NOT_FOUND" && body["state"] != "PENDING" {
		fill(body, map[string]any{"source": source})
	}
	swap := map[string]any{
		"dstChain": "369", "dstToken": "0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07", "recipient": alice, "recipientType": 0,
		"amount": "100000000",
	}
	fill(body["swap"], swap)
	fill(body["burn"], map[string]any{"domain": 0, "attested": false})
	swaps, _ := body["swaps"].([]any)
	for _, each := range swaps {
		fill(each, map[string]any{"state": body["state"], "final": false})
		fill(each.(map[string]any)["swap"], swap)
	}
	fill(body, map[string]any{
		"srcChain": asked.Get("srcChain"), "txHash": asked.Get("txHash"), "final": false, "nextCheckSeconds": 0,
	})
	whole, _ := json.Marshal(body)
	return string(whole)
}

func (w *world) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked)
}
