package site_test

import (
	"fmt"
	"strings"
	"testing"
)

// choices: two for each side, in an order that explains itself, a flip, and a sentence where there is one way only.
func choices(t *testing.T, w *world) {
	w.open(t, "")
	got := run[map[string]string](t, w, `
		const texts = (id) => [...$(id).options].map((option) => option.textContent).join(', ');
		const all = { chains: texts('from-chain'), tokens: texts('from-token') };
		pick('from', 'USDC@10');
		all.only = $('to-hint').textContent;
		pick('from', 'DAI@1'); pick('to', 'USDC@69696969');
		all.pool = $('terms').textContent;
		pick('from', 'WETH@369'); pick('to', 'ETH@8453'); type('amount', '1');
		$('flip').click();
		all.flipped = JSON.stringify(formNow());
		pick('from', 'USDT@1'); pick('to', 'USDC@369');
		$('flip').click();
		all.near = JSON.stringify(formNow());
		pick('from', 'DAI@56'); pick('to', 'USDC@96969696');
		all.flip = String($('flip').disabled);
		return all;`)
	wantWords(t, "the chains", got["chains"], "Ethereum, Base, BNB Smart Chain, PulseChain, Arbitrum", "RAILGUN (Ethereum), RAILGUN (BNB Smart Chain)")
	wantWords(t, "a source with one destination", got["only"], "From OP Mainnet, USDC can only go to PulseChain, and on from there.")
	wantWords(t, "a pool", got["pool"], "Fee 0.5 % · ", " · Network fee in ETH")
	wantWords(t, "flipped", got["flipped"], `"from":"ETH@8453","to":"WETH@369","amount":"1"`)
	wantWords(t, "flipped, nearly", got["near"], `"from":"USDC@369","to":"USDC@1"`)
	wantWords(t, "a flip", got["flip"], "false")
}

// neverTwice: wallets that misbehave after they were asked to pay. Whatever they do, and whatever the visitor presses, one
// swap is paid once.
func neverTwice(t *testing.T, w *world) {
	usdc, eth := form("USDC@1", "USDC@369", "100", alice, ""), form("ETH@1", "WETH@369", "0.5", alice, "")
	for name, tt := range map[string]struct {
		form   map[string]string
		rules  string // of the wallet
		during string // done while the wallet is open
		status string
		count  int // payments that the wallet was asked to sign
	}{
		"the request expires":          {form: eth, rules: `does: ({ refuse }) => ({ eth_sendTransaction: () => refuse(-32603, 'Request expired') })`, status: "We do not know whether it was sent", count: 1},
		"no hash":                      {form: eth, rules: `does: () => ({ eth_sendTransaction: () => null })`, status: "We do not know", count: 1},
		"the swap after an approval":   {form: usdc, rules: `does: ({ refuse, hash }) => { let n = 0; return { eth_sendTransaction: () => (n++ ? refuse(-32000, 'nonce too low') : hash()) }; }`, status: "Your wallet says: nonce too low.", count: 2},
		"receipts cannot be read":      {form: usdc, rules: `does: ({ refuse }) => { let n = 0; return { eth_getTransactionReceipt: () => (n++ < 3 ? refuse(-32603) : { status: '0x1' }) }; }`, status: "Sent", count: 2},
		"a batch's status throws":      {form: usdc, rules: batchWallet + `wallet_getCallsStatus: () => refuse(-32603) })`, status: "does not report its progress", count: 1},
		"a batch is pending":           {form: usdc, rules: batchWallet + `wallet_getCallsStatus: () => ({ status: 100 }) })`, status: "is executing the batch", count: 1},
		"a batch without receipts":     {form: usdc, rules: batchWallet + `wallet_getCallsStatus: () => ({ status: 200 }) })`, status: "does not say in which transaction", count: 1},
		"a batch fails":                {form: usdc, rules: batchWallet + `wallet_getCallsStatus: () => ({ status: 500 }) })`, status: "batch failed", count: 1},
		"a part of a batch":            {form: usdc, rules: batchWallet + `wallet_getCallsStatus: () => ({ status: 600 }) })`, status: "Only part of the batch was executed.", count: 1},
		"another wallet comes":         {form: eth, rules: hanging, during: `announce(); announce(); await until(() => $('wallet-row').innerText.includes('Connect wallet')); release();`, status: "Sent", count: 1},
		"something is pinned":          {form: eth, rules: hanging, during: `type('pin', 'x'); type('pin', ''); await until(() => $('pin-hint').textContent.startsWith('Nothing')); release();`, status: "Sent", count: 1},
		"the form is changed":          {form: eth, rules: hanging, during: `type('amount', '0.6'); $('ask').click(); pick('from', 'USDC@1'); $('flip').click(); release();`, status: "Sent", count: 1},
		"the visitor goes back":        {form: eth, rules: hanging, during: `dispatchEvent(new PopStateEvent('popstate')); release();`, status: "Sent", count: 1},
		"the visitor stops waiting":    {form: eth, rules: hanging, during: `named('Stop waiting').click();`, status: "We do not know", count: 1},
		"the hash comes late":          {form: eth, rules: hanging, during: `named('Stop waiting').click(); await until(() => statusText().includes('We do not know')); release();`, status: "Sent", count: 1},
		"the chain has it":             {form: eth, rules: inBlock, status: "Sent", count: 1},
		"what was pinned changes":      {form: usdc, rules: `does: ({ hash }) => ({ eth_sendTransaction: () => { type('pin', 'no listing'); return hash(); } })`, status: "ALERT This quote does not pass the checks any more.", count: 1},
		"the wallet refuses, and then": {form: eth, rules: `does: ({ refuse, hash }) => { let n = 0; return { eth_sendTransaction: () => (n++ ? hash() : refuse(4001)) }; }`, during: `await until(alertText); sendButton().click();`, status: "Sent", count: 2},
	} {
		w.open(t, "")
		w.answer("/v3/swap/status", untracked)
		got := run[map[string]any](t, w, fast+walletJS+alterJS+"/* "+name+" */"+`
			let release;
			const held = new Promise((done) => { release = () => done('0x' + 'c'.repeat(64)); });
			wallet({`+tt.rules+`});
			await quote($2);
			sendButton().click();
			const paid = () => window.calls.filter(({ method }) => method === 'eth_sendTransaction' || method === 'wallet_sendCalls').length;
			`+map[bool]string{true: "await until(paid);"}[tt.during != ""]+tt.during+`
			const told = () => (alertText() ? 'ALERT ' + alertText() + statusText() : statusText());
			await until(() => told().includes($3));
			// A visitor who does not believe it presses everything that looks like sending.
			const unsure = statusText().includes('We do not know');
			for (const words of ['Swap ', 'Confirm in', 'Get quote', 'New swap']) {
				const button = named(words);
				if (button && !button.disabled && !(words === 'New swap' && !unsure) && !told().startsWith('ALERT This quote')) button.click();
			}
			await new Promise((done) => setTimeout(done, 200));
			const leaving = new Event('beforeunload', { cancelable: true });
			dispatchEvent(leaving);
			return { asks: leaving.defaultPrevented, told: told(), count: paid(), send: Boolean(sendButton()), fresh: !named('New swap') || named('New swap').disabled, unsure, search: location.hash };`, sender, tt.form, strings.TrimPrefix(tt.status, "ALERT "))
		if got["count"] != float64(tt.count) {
			t.Errorf("%s: the wallet was asked to sign %v times, want %d: %v", name, got["count"], tt.count, got)
		}
		if !strings.HasPrefix(tt.status, "ALERT") && got["send"] != false {
			t.Errorf("%s: it can be sent again: %v", name, got)
		}
		if got["unsure"] == true && got["asks"] != true || strings.Contains(fmt.Sprint(got["search"]), "#swap=") && got["asks"] != false {
			t.Errorf("%s: the page asks before it is left: %v", name, got)
		}
		if got["unsure"] == true && got["fresh"] != true {
			t.Errorf("%s: a new swap is offered without asking: %v", name, got)
		}
	}
	// A late refusal proves that nothing was sent, and a new swap is there on purpose.
	w.open(t, "")
	late := run[[]string](t, w, fast+walletJS+`
		let refuseNow;
		wallet({ does: () => ({ eth_sendTransaction: () => new Promise((_, reject) => { refuseNow = () => reject({ code: 4001 }); }) }) });
		await quote($2);
		sendButton().click();
		await until(() => refuseNow && named('Stop waiting'));
		named('Stop waiting').click();
		await until(() => statusText().includes('We do not know'));
		$('sure').click();
		const enabled = String(!named('New swap').disabled);
		refuseNow();
		await until(alertText);
		return [enabled, alertText(), String(Boolean(sendButton()))];`, sender, eth)
	wantWords(t, "a late refusal", strings.Join(late, "|"), "true|You rejected the request in your wallet.", "Nothing was sent", "|false")
}

const (
	// hanging is a wallet that is open until the test releases it.
	hanging = `does: () => ({ eth_sendTransaction: () => held })`
	// inBlock is a wallet that throws, and whose node has the transaction in a block all the same.
	inBlock = `does: ({ refuse, hash }) => { let sent; let asked = 0; return {
		eth_blockNumber: () => '0x' + (10 + asked++).toString(16),
		eth_getBlockByNumber: ([number]) => ({ transactions: Number(number) === 12 ? [{ hash: hash(), from: '0x' + '1'.repeat(40) }, { hash: hash(), from: sent.from.toUpperCase().replace('0X', '0x'), to: sent.to, input: sent.data }] : [] }),
		eth_sendTransaction: ([tx]) => { sent = tx; refuse(-32603); } }; }`
)

// walletFirst: the account, its balance and the dry run before anything is sent.
func walletFirst(t *testing.T, w *world) {
	usdc := form("USDC@1", "USDC@369", "100", alice, "")
	w.open(t, "")
	got := run[map[string]string](t, w, walletJS+alterJS+`
		wallet();
		named('Connect Test wallet').click();
		await until(() => $('balance').innerText.includes('Balance'));
		openAll();
		const all = { account: $('wallet-row').innerText, balance: $('balance').innerText };
		named('Use my address').click();
		document.querySelector('#balance .small').click();
		all.form = JSON.stringify(formNow());
		await quote({ amount: '100' });
		all.send = sendWords();
		const simulated = (calls, more = {}) => ({ path: 'details.simulation', set: { blockNumber: 7, calls, native: { actual: '1000000000000000000', needed: '2000000000000000' }, event: true, ...more } });
		const tell = async (change) => { alter('/v3/swap/quote', change); await quote({ amount: '100' }); restore(); return cardText() + (sendButton().disabled ? ' OFF' : ' ON'); };
		all.works = await tell(simulated([{ gasUsed: 50000, status: 'SUCCESS' }, { gasUsed: 73456, status: 'SUCCESS' }]));
		all.fails = await tell(simulated([{ gasUsed: 50000, status: 'FAILED', error: 'paused' }]));
		all.event = await tell(simulated([{ gasUsed: 50000, status: 'SUCCESS' }], { event: false }));
		all.gas = await tell(simulated([{ gasUsed: 50000, status: 'SUCCESS' }], { native: { actual: '1', needed: '2' } }));
		all.poor = await tell({ path: 'details.checks.balance.actual', set: '99999999' });
		alter('/v3/swap/quote', { path: 'details.simulation', set: { calls: 7, native: [] } });
		await quote({ amount: '100' });
		all.odd = alertText() + Boolean(sendButton());
		return all;`, rich)
	wantWords(t, "the account", got["account"], "0x0000…11ce", "Test wallet", "Ethereum", "Disconnect")
	wantWords(t, "the balance", got["balance"], "Balance 123,456,789,012,345,678,901,234… USDC", "Max")
	wantWords(t, "the form", got["form"], `"amount":"25000"`, `"recipient":"`+rich+`"`)
	wantWords(t, "what is needed", got["send"], "Swap 100 USDC: 2 signatures in Test wallet")
	wantWords(t, "a dry run", got["works"], "Simulation\nSucceeds, 123,456 gas", " ON")
	wantWords(t, "a dry run that fails", got["fails"], "Simulation: transaction 1 would fail: paused.")
	wantWords(t, "a dry run without the event", got["event"], "Simulation: the contract would not do what you asked for.")
	wantWords(t, "too little gas", got["gas"], "Insufficient ETH for gas")
	wantWords(t, "too little", got["poor"], "your account has 99.999999 USDC, and 100 USDC are needed.", " OFF")
	wantWords(t, "an odd dry run", got["odd"], "This quote is not what you asked for.", "details.simulation.calls is 7, but must be a list.", "false")
	// An icon is shown only if it is a picture, and a refusal is told where it was asked.
	w.open(t, "")
	told := run[[]string](t, w, walletJS+`
		wallet({ does: ({ refuse }) => ({ eth_requestAccounts: () => refuse(4001) }) });
		named('Connect').click();
		await until(alertText);
		await quote($2);
		return [String(document.querySelectorAll('#wallet-row img').length), alertText(), sendWords()];`, sender, usdc)
	if fmt.Sprint(told) != "[0  Swap 100 USDC: Up to 2 signatures in Test wallet]" {
		t.Errorf("after a refusal: %q", told)
	}
}

// journeys: a swap that was sent is found again by its address, by the field, and by whoever gets the link.
func journeys(t *testing.T, w *world) {
	hash, there := "0x"+strings.Repeat("a", 64), "0x"+strings.Repeat("b", 64)
	settled := `{"state": "SETTLED", "final": true, "nextCheckSeconds": 0, "swap": {"dstChain": "369", "dstToken": "0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07", "recipient": "` + alice + `"}, "settlement": {"chainId": 369, "txHash": "` + there + `", "amount": "1234567891", "arrived": "1234567891"}}`
	w.open(t, "?chain=1&tx="+hash)
	w.tells(`{"state": "SETTLING", "nextCheckSeconds": 3600}`)
	w.reload(t)
	wantWords(t, "a bookmark", run[string](t, w, "await until(() => statusText().includes('On its way')); return cardText() + document.title;"), "0xaaaa…aaaa", "… On its way")
	w.tells(settled)
	w.reload(t)
	got := run[map[string]string](t, w, `
		await until(() => statusText().includes('arrived'));
		const all = { card: cardText(), title: document.title, search: location.hash, send: String(Boolean(sendButton())), copies: String(document.querySelectorAll('#rest [aria-label$="hash"]').length) };
		named('New swap').click();
		all.after = statusText() + location.href + document.title;
		return all;`)
	wantWords(t, "a reload", got["card"], "1,234.567891 USDC arrived on PulseChain", "Complete", "Print receipt")
	wantWords(t, "the title", got["title"], "✓ 1,234.567891 USDC arrived")
	if got["copies"] != "2" || got["send"] != "false" || strings.Contains(got["after"], "swap=") || strings.Contains(got["after"], "arrived") {
		t.Errorf("got %v", got)
	}
	w.open(t, "")
	w.tells(settled)
	field := run[[]string](t, w, `
		const follow = () => $('follow-form').querySelector('button').click();
		$('tx').value = $1.slice(0, 42);
		follow();
		const wrong = alertText() + document.activeElement.id;
		$('tx').value = ' ' + $1 + ' ';
		type('tx-chain', '8453');
		follow();
		await until(() => statusText().includes('arrived'));
		return [wrong, location.hash, cardText()];`, hash)
	wantWords(t, "a wrong hash", field[0], "A transaction hash is 0x and 64 hexadecimal digits.tx")
	wantWords(t, "the field", field[1]+field[2], "#swap="+hash+"&chain=8453", "Transaction\n0xaaaa…aaaa Copy on Base")
	for _, query := range []string{"?chain=1&tx=0x12", "?chain=2&tx=" + hash, "?chain=constructor&tx=" + hash, "?tx=" + hash} {
		w.open(t, query)
		if got := run[string](t, w, "return statusText() + alertText();"); got != "" {
			t.Errorf("%s: got %q", query, got)
		}
	}
}
