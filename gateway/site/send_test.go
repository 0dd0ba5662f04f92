package site_test

import (
	"fmt"
	"net/http"
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
			eth_getBalance: () => rules.balance ?? '0xffffffffffffffffffffff',
			eth_call: ([{ data }]) => (data.startsWith('0x70a08231') ? rules.balance : rules.allowance) ?? (data.startsWith('0x70a08231') ? '0xffffffffffffffffffffff' : '0x0'),
			eth_sendTransaction: hash,
			eth_getTransactionReceipt: () => ({ status: '0x1' }),
			...rules.does?.({ refuse, hash, move: (id) => { chain = id; } }),
		};
		const provider = { request: async ({ method, params }) => {
			window.calls.push({ method, params });
			return (does[method] ?? (() => refuse(-32601)))(params ?? []);
		} };
		dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info: { uuid: crypto.randomUUID(), name: 'Test wallet', icon: 'data:,', rdns: 'test' }, provider }) }));
	};
	const methods = () => window.calls.map(({ method }) => method);
	const transactions = () => window.calls.filter(({ method }) => method === 'eth_sendTransaction').map(({ params }) => params[0]);
`

type sent struct {
	Alert, Status, Note string
	Methods             []string
	Transactions        []struct{ From, To, Data, Value, ChainID string }
	Batch               []struct{ To, Data, Value string }
	Enabled             bool // whether Send can be pressed again
}

const sendAndLook = `
	sendButton().click();
	await until(() => alertText() || $('status-note')?.textContent.includes('does not follow'));
	const enabled = !sendButton().disabled;
	return { alert: alertText(), status: statusText(), note: $('status-note')?.textContent ?? '', methods: methods(), transactions: transactions(), enabled,
		batch: window.calls.find(({ method }) => method === 'wallet_sendCalls')?.params[0].calls ?? [] };`

func sends(t *testing.T, w *world) {
	usdc, eth := form("USDC@1", "USDC@369", "100", alice, ""), form("ETH@1", "WETH@369", "0.5", alice, "")
	usdt := form("USDT@1", "USDC@369", "100", alice, "")
	const router = "0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d"
	for name, tt := range map[string]struct {
		form   map[string]string
		rules  string // of the wallet
		before string // done before Send
		alert  string // none: it is sent
		count  int    // of transactions
		batch  int    // of calls in a batch
	}{
		"approval and swap":            {form: usdc, count: 2},
		"allowance in place":           {form: usdc, rules: `allowance: '0x5f5e100'`, count: 1},
		"allowance too low":            {form: usdc, rules: `allowance: '0x5f5e0ff'`, count: 2},
		"reset":                        {form: usdt, rules: `allowance: '0x1'`, count: 3},
		"no reset":                     {form: usdt, count: 2},
		"reads that fail":              {form: usdt, rules: `does: ({ refuse }) => ({ eth_call: () => refuse(-32603) })`, count: 3},
		"native":                       {form: eth, count: 1},
		"a batch":                      {form: usdc, rules: `does: ({ hash }) => ({ wallet_getCapabilities: () => ({}), wallet_sendCalls: () => ({ id: 'b' }), wallet_getCallsStatus: () => ({ status: 200, receipts: [{ transactionHash: hash() }] }) })`, batch: 2},
		"a batch of no use":            {form: usdc, rules: `does: ({ refuse }) => ({ wallet_getCapabilities: () => ({}), wallet_sendCalls: () => refuse(4200) })`, batch: 2, count: 2},
		"a batch refused":              {form: usdc, rules: `does: ({ refuse }) => ({ wallet_getCapabilities: () => ({}), wallet_sendCalls: () => refuse(4001) })`, batch: 2, alert: "You refused in the wallet."},
		"a batch that fails":           {form: usdc, rules: `does: () => ({ wallet_getCapabilities: () => ({}), wallet_sendCalls: () => ({ id: 'b' }), wallet_getCallsStatus: () => ({ status: 500 }) })`, batch: 2, alert: "batch failed"},
		"another chain":                {form: usdc, rules: `chain: '0x38'`, count: 2},
		"another chain, refused":       {form: usdc, rules: `chain: '0x38', does: ({ refuse }) => ({ wallet_switchEthereumChain: () => refuse(4001) })`, alert: "You refused in the wallet."},
		"another chain, not switched":  {form: usdc, rules: `chain: '0x38', does: () => ({ wallet_switchEthereumChain: () => null })`, alert: "The wallet is on another chain."},
		"an unknown chain":             {form: usdc, rules: `chain: '0x38', does: ({ refuse }) => ({ wallet_switchEthereumChain: () => refuse(4902) })`, alert: "Your wallet does not know Ethereum, chain 1."},
		"the chain changes":            {form: usdc, rules: `does: ({ hash, move }) => ({ eth_sendTransaction: () => { move('0x38'); return hash(); } })`, alert: "The wallet has changed to another chain.", count: 1},
		"no account":                   {form: usdc, rules: `does: () => ({ eth_requestAccounts: () => [] })`, alert: "The wallet gave no account."},
		"connection refused":           {form: usdc, rules: `does: ({ refuse }) => ({ eth_requestAccounts: () => refuse(4001) })`, alert: "You refused in the wallet."},
		"already asking":               {form: usdc, rules: `does: ({ refuse }) => ({ eth_requestAccounts: () => refuse(-32002) })`, alert: "already asking you something"},
		"swap refused":                 {form: usdc, rules: `does: ({ refuse, hash }) => { let n = 0; return { eth_sendTransaction: () => (n++ ? refuse(4001) : hash()) }; }`, alert: "The approval was sent and stands.", count: 2},
		"too little":                   {form: usdc, rules: `balance: '0x5f5e0ff'`, alert: "has 99.999999 USDC on Ethereum, and 100 USDC are needed"},
		"too little of a coin":         {form: eth, rules: `balance: '0x0'`, alert: "The account has too little ETH."},
		"disconnected":                 {form: usdc, rules: `does: ({ refuse }) => ({ eth_sendTransaction: () => refuse(4900) })`, alert: "The wallet is disconnected from the chain.", count: 1},
		"account gone":                 {form: usdc, rules: `does: () => ({ eth_accounts: () => [] })`, alert: "The wallet has disconnected the account."},
		"accounts not told":            {form: usdc, rules: `does: ({ refuse }) => ({ eth_accounts: () => refuse(4200) })`, count: 2},
		"approval reverts":             {form: usdc, rules: `does: () => ({ eth_getTransactionReceipt: () => ({ status: '0x0' }) })`, alert: "The transaction failed on the chain.", count: 1},
		"no hash":                      {form: usdc, rules: `does: () => ({ eth_sendTransaction: () => 'yes' })`, alert: "The wallet gave no transaction hash.", count: 1},
		"expired":                      {form: usdc, before: `const real = Date.now; Date.now = () => real() + 120_000;`, alert: "This quote has expired."},
		"expires between transactions": {form: usdc, rules: `does: ({ hash }) => ({ eth_sendTransaction: () => { const real = Date.now; Date.now = () => real() + 120_000; return hash(); } })`, alert: "This quote has expired while you were signing.", count: 1},
		"shielding":                    {form: form("USDC@1", "USDC@69696969", "100", private, ""), before: consent, count: 2},
		"unshielding":                  {form: form("USDC@69696969", "USDC@369", "100", alice, ""), before: consent, count: 2},
		"an error in no words":         {form: usdc, rules: `does: () => ({ eth_requestAccounts: () => { throw undefined; } })`, alert: "It does not say why."},
	} {
		w.open(t, "")
		w.answer("/v3/swap/status", untracked)
		got := run[sent](t, w, walletJS+"wallet({"+tt.rules+"}); await quote($2);"+tt.before+sendAndLook, sender, tt.form)
		if tt.alert == "" != (got.Alert == "") || !strings.Contains(got.Alert, tt.alert) {
			t.Errorf("%s: got alert %q, want %q", name, got.Alert, tt.alert)
		}
		if len(got.Transactions) != tt.count || len(got.Batch) != tt.batch {
			t.Errorf("%s: got %d transactions and %d calls in a batch, want %d and %d: %v", name, len(got.Transactions), len(got.Batch), tt.count, tt.batch, got.Methods)
		}
		if got.Enabled != (tt.alert != "") {
			t.Errorf("%s: Send can be pressed again: %t", name, got.Enabled)
		}
		for _, tx := range got.Transactions {
			if tx.From != sender || tx.ChainID != "0x1" {
				t.Errorf("%s: sent from %s on %s", name, tx.From, tx.ChainID)
			}
		}
		if name == "approval and swap" && len(got.Transactions) == 2 {
			approval, swap := got.Transactions[0], got.Transactions[1]
			if approval.To != "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48" || !strings.HasPrefix(approval.Data, "0x095ea7b3") || swap.To != router || !strings.HasPrefix(swap.Data, "0x095ff22d") || swap.Value != "0x0" {
				t.Errorf("sent %+v", got.Transactions)
			}
		}
		if name == "native" && len(got.Transactions) == 1 && got.Transactions[0].Value != "0x6f05b59d3b20000" {
			t.Errorf("sent %+v", got.Transactions)
		}
		if tt.alert == "" {
			wantWords(t, name, got.Note, "This gateway does not follow swaps", "0x"+strings.Repeat("a", 60))
		}
	}
	addsChain(t, w, usdc)
}

// untracked is the answer of a gateway that does not follow swaps.
func untracked(rw http.ResponseWriter, _ *http.Request) {
	rw.WriteHeader(http.StatusNotImplemented)
	fmt.Fprint(rw, `{"error": "This deployment's swaps cannot be followed", "code": "STATUS_UNAVAILABLE", "requestId": "r"}`)
}

// consent wants Send to be off until everything is ticked.
const consent = `
	if (!sendButton().disabled) throw new Error('Send is on before the tick');
	for (const box of document.querySelectorAll('#send input[type=checkbox]')) box.click();
	if (sendButton().disabled) throw new Error('Send is off after the tick');
`

func addsChain(t *testing.T, w *world, f map[string]string) {
	w.open(t, "")
	w.answer("/v3/swap/status", untracked)
	got := run[sent](t, w, walletJS+`
		let known = false;
		wallet({ chain: '0x38', does: ({ refuse, move }) => ({
			wallet_switchEthereumChain: ([{ chainId }]) => (known ? move(chainId) : refuse(4902)),
			wallet_addEthereumChain: () => { known = true; return null; } }) });
		await quote($2);
		sendButton().click();
		await until(() => $('node'));
		$('node').value = 'https://node.example';
		$('coin').value = 'ETH';
		[...document.querySelectorAll('button')].find((button) => button.textContent === 'Add the chain').click();
		await until(() => !$('node'));
		const added = window.calls.find(({ method }) => method === 'wallet_addEthereumChain').params[0];
		if (added.chainId !== '0x1' || added.chainName !== 'Ethereum' || added.rpcUrls[0] !== 'https://node.example') throw new Error(JSON.stringify(added));`+
		sendAndLook, sender, f)
	if got.Alert != "" || len(got.Transactions) != 2 {
		t.Errorf("after adding the chain: got alert %q and %d transactions", got.Alert, len(got.Transactions))
	}
}

// statuses follows a swap through what a gateway may say of it.
func statuses(t *testing.T, w *world) {
	const there = "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	settled := `{"state": "SETTLED", "final": true, "nextCheckSeconds": 0, "settlement": {"chainId": 369, "txHash": "` + there + `", "amount": "99700000", "timestamp": "2026-11-15T12:00:00Z"}}`
	for name, tt := range map[string]struct {
		answers []string
		note    string
		alert   string
		steps   string
	}{
		"settled":          {[]string{`{"state": "NOT_FOUND"}`, `{"state": "PENDING", "final": false}`, `{"state": "SETTLING", "burn": {"attestationState": "pending"}}`, settled}, "99.7 USDC arrived. It was paid in " + there, "", "done done done"},
		"settled at once":  {[]string{settled}, "99.7 USDC arrived", "", "done done done"},
		"not yet final":    {[]string{strings.Replace(settled, "true", "false", 1), settled}, "99.7 USDC arrived. ", "", "done done done"},
		"goes back":        {[]string{strings.Replace(settled, "true", "false", 1), `{"state": "SETTLING"}`, settled}, "99.7 USDC arrived. ", "", "done done done"},
		"failed":           {[]string{`{"state": "PENDING"}`, `{"state": "FAILED", "reason": "ERC20: transfer amount exceeds balance"}`}, "", "The chain says: ERC20: transfer amount exceeds balance", "bad"},
		"no swap":          {[]string{`{"state": "NOT_A_SWAP"}`}, "", "The gateway sees no swap in this transaction.", "bad"},
		"not offered: 404": {[]string{"404"}, "This gateway does not follow swaps", "", ""},
		"not offered: 501": {[]string{"501"}, "This gateway does not follow swaps", "", ""},
		"busy for a while": {[]string{"503", "429", settled}, "99.7 USDC arrived", "", "done done done"},
		"of odd types":     {[]string{`{"state": "SETTLED", "settlement": {"amount": {"a": 1}, "txHash": 7}, "nextCheckSeconds": "x"}`}, "the money arrived", "", "done done done"},
		"of no known name": {[]string{`{"state": "LOST"}`, settled}, "99.7 USDC arrived", "", "done done done"},
	} {
		w.open(t, "")
		w.answer("/v3/swap/status", func(rw http.ResponseWriter, r *http.Request) {
			w.mu.Lock()
			defer w.mu.Unlock()
			next := tt.answers[min(len(w.asked), len(tt.answers)-1)]
			w.asked = append(w.asked, r.URL.RawQuery)
			if len(next) == 3 {
				var status int
				fmt.Sscan(next, &status)
				rw.Header().Set("Retry-After", "1")
				rw.WriteHeader(status)
				next = `{"error": "Not now", "code": "STATUS_UNAVAILABLE", "requestId": "r"}`
			}
			fmt.Fprint(rw, next)
		})
		got := run[map[string]string](t, w, walletJS+`
			const real = setTimeout; // waits of seconds become short
			window.setTimeout = (done, wait) => real(done, Math.min(wait, 30));
			wallet();
			await quote($2);
			sendButton().click();
			await until(() => $('status-note'));
			await until(() => alertText() || $('status-note').textContent.includes($3) && $3);
			return { note: $('status-note').textContent, alert: alertText(), steps: [...document.querySelectorAll('#steps li')].slice(-3).map((item) => item.className).join(' ').trim() };`,
			sender, form("USDC@1", "USDC@369", "100", alice, ""), tt.note)
		wantWords(t, name, got["note"], tt.note)
		wantWords(t, name, got["alert"], tt.alert)
		if got["steps"] != tt.steps || tt.alert == "" != (got["alert"] == "") {
			t.Errorf("%s: got steps %q and alert %q, want %q and %q", name, got["steps"], got["alert"], tt.steps, tt.alert)
		}
		w.mu.Lock()
		if len(w.asked) == 0 || !strings.HasPrefix(w.asked[0], "srcChain=1&txHash=0x"+strings.Repeat("a", 60)) {
			t.Errorf("%s: the gateway was asked %q", name, w.asked)
		}
		w.mu.Unlock()
	}
}
