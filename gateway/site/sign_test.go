package site_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// sends has a wallet for each sentence of the page. testdata/client/send.test.mjs has all that wallets may do.
func sends(t *testing.T, w *world) {
	sent := func(name, do string, want ...string) row {
		want = append(want, "status: Sent|This gateway cannot follow swaps on ", "|Transaction|0xaaaa…", "focus: answer", "send: none",
			"leaving: free", "address: /#swap=0xaaaa")
		return row{name: name, do: do, want: want}
	}
	fails := func(name, wallet, form string, transactions int, alert string) row {
		return row{
			name: name, do: "wallet({" + wallet + "}); await quote(" + form + "); await send();",
			want: []string{"alert: " + alert, "send: on", "focus: send-button", fmt.Sprintf("transactions: %d\n", transactions)},
		}
	}
	w.check(t,
		sent("approval and swap", `
			let body;
			alterText('/v3/swap/quote', (text) => { body = JSON.parse(text); return text; });
			wallet({ chain: '0x38' });
			await quote(usdc);
			await send();
			const [approval, swap] = transactions();
			note('approval', [approval.to, approval.data.slice(0, 10), approval.from, approval.chainId]);
			note('swap', [swap.to, swap.data === body.methodParameters.calldata, swap.value, swap.from, swap.chainId]);`,
			"transactions: 2", "approval: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48,0x095ea7b3,0x9d7877ec33Cf3397d79A3E06D4a5cb373b7961F1,0x1",
			"swap: 0x2ad529b5b3443dd5a054790e84a9ab76a2cd229d,true,0x0,0x9d7877ec33Cf3397d79A3E06D4a5cb373b7961F1,0x1",
			"wallet: ", "0x9d78…61F1", "You paid|100 USDC on Ethereum", "Recipient|0x5aAe…eAed"),
		sent("allowance in place", "wallet({ allowance: '0x5f5e100' }); await quote(usdc); await send();", "transactions: 1"),
		sent("reset", "wallet({ allowance: '0x1' }); await quote(usdt); await send();", "transactions: 3"),
		sent("native", "wallet(); await quote(eth); await send(); note('value', transactions()[0].value);",
			"transactions: 1", "value: 0x6f05b59d3b20000"),
		sent("batch", `
			wallet({ does: batches({ wallet_getCallsStatus: () => ({ status: 200, receipts: [{ transactionHash: hash() }] }) }) });
			await quote(usdc);
			await send();
			const { params: [{ calls: [approval, swap] }] } = calls.find(({ method }) => method === 'wallet_sendCalls');
			note('batch', [approval.data.slice(0, 10), swap.to]);`,
			"transactions: 0", "batch: 0x095ea7b3,0x2ad529b5b3443dd5a054790e84a9ab76a2cd229d"),
		sent("shield", `
			wallet();
			await quote({ ...usdc, to: 'USDC@69696969', recipient: hidden });
			note('before', sendButton().disabled);
			$('consent').click();
			await send();`, "before: true", "transactions: 2"),
		sent("unknown network", `
			let added;
			const switched = ([{ chainId }]) => (added ? (chain = chainId) && null : refuse(4902));
			let chain = '0x38';
			wallet({ does: { eth_chainId: () => chain, wallet_switchEthereumChain: switched, wallet_addEthereumChain: ([to]) => { added = to; return null; } } });
			await quote(usdc);
			await send();
			note('told', alertText());
			await until(() => $('node'));
			$('node').value = 'node.example';
			await press('Add network');
			await until(() => alertText() !== '');
			note('wrong', alertText());
			$('node').value = 'https://node.example';
			await press('Add network');
			await until(() => !$('node'));
			note('added', JSON.stringify(added));
			await send();`,
			"told: Your wallet does not know Ethereum.", "wrong: Enter the address of a node.", "transactions: 2", `"chainId":"0x1","chainName":"Ethereum","nativeCurrency":{"name":"Ether","symbol":"ETH","decimals":18}`,
			`"rpcUrls":["https://node.example"],"blockExplorerUrls":["https://explorer.example"]`),
		fails("switch refused", "chain: '0x38', does: { wallet_switchEthereumChain: () => refuse(4001) }", "usdc", 0,
			"You rejected the switch to Ethereum.|The swap is sent on Ethereum: switch your wallet to it, then try again. Nothing was sent."),
		fails("not switched", "chain: '0x38', does: { wallet_switchEthereumChain: () => null }", "usdc", 0,
			"Your wallet is not on Ethereum.|Switch it to Ethereum, then try again. The swap was not sent."),
		fails("chain changes", "does: { eth_chainId: () => (transactions().length ? '0x38' : '0x1') }", "usdc", 1, "Your wallet is not on Ethereum."),
		fails("no account", "does: { eth_requestAccounts: () => [] }", "usdc", 0,
			"The wallet gave no account.|It may be locked: unlock it, choose an account, then try again. Nothing was sent."),
		fails("account gone", "does: { eth_accounts: () => [] }", "usdc", 0, "The wallet has disconnected the account."),
		row{
			name: "swap refused", do: "wallet({ does: { eth_sendTransaction: once(hash, () => refuse(4001)) } }); await quote(usdc); await send();",
			want: []string{
				"alert: You rejected the request in your wallet.|The approval was sent and stands.", "transactions: 2\n",
				"send: on, Swap 100 USDC: 1 signature in Test wallet", "focus: send-button",
			},
		},
		fails("too little", "balance: '0x5f5e0ff'", "usdc", 0, "The account has too little USDC.|"),
		fails("no contract", "code: '0x'", "usdc", 0,
			"There is no contract at 0x2ad529b5b3443dd5a054790e84a9ab76a2cd229d on chain 1: funds sent there are lost."),
		fails("no words", "does: { eth_requestAccounts: () => { throw undefined; } }", "usdc", 0, "The wallet failed"),
		row{
			name: "silent node", want: []string{
				"alert: Your wallet cannot confirm that these contracts exist.|Sign only if you know ", "0x2ad529b5b3443dd5a054790e84a9ab76a2cd229d",
				"1 of 2: sign the approval in Test wallet.", "leaving: asks", "Not your connected account",
			},
			do: `
				wallet({ does: { eth_getCode: () => refuse(4200), eth_sendTransaction: forever } });
				await quote(usdc);
				sendButton().click();
				await until(() => transactions().length);`,
		},
		row{
			name: "closed wallet", want: []string{
				"waits: Confirm in your wallet…, Connect your account in your wallet.", "alert: You stopped waiting for the wallet.",
				"send: on, Swap 100 USDC: Up to 2 signatures in Test wallet", "asked: 1", "focus: send-button",
			},
			do: `
				wallet({ does: { eth_requestAccounts: forever } });
				await quote(usdc);
				sendButton().focus();
				sendButton().click();
				await until(() => named('Stop waiting'));
				note('waits', document.activeElement.textContent + ', ' + $('waiting').innerText);
				for (let i = 0; i < 2; i++) $('send-button').click();
				named('Stop waiting').focus();
				named('Stop waiting').click();
				await until(alertText);
				note('asked', calls.length);`,
		},
	)
}

// neverTwice: wallets that misbehave after they were asked to pay. Whatever they do, and whatever the visitor presses, one
// swap is paid once.
func neverTwice(t *testing.T, w *world) {
	// insist is a visitor who does not believe it and presses everything that looks like sending.
	const insist = `
		note('told', alertText());
		for (const words of ['Swap ', 'Confirm in', 'Get quote']) named(words)?.click();
		if (statusText().includes('We do not know')) named('New swap').click();
		await pause(100);
		note('payments', payments());`
	const hold = `
		let release;
		const held = new Promise((done, fail) => { release = (hash) => (hash ? done(hash) : fail({ code: 4001 })); });
		wallet({ does: { eth_sendTransaction: () => held } });
		await quote(eth);
		sendButton().click();
		await until(payments);`
	const found = "release(hash()); await status('Sent');"
	pays := func(name, do string, payments int, want ...string) row {
		want = append(want, "alert: ", fmt.Sprintf("payments: %d\n", payments), "send: none")
		return row{name: name, do: do + insist, want: want}
	}
	of := func(wallet, form, status string) string {
		return "wallet({ does: " + wallet + " }); await quote(" + form + "); sendButton().click(); await until(() => (alertText() + statusText()).includes('" + status + "'));"
	}
	batch := func(answer, status string) string {
		return of("batches({ wallet_getCallsStatus: () => "+answer+" })", "usdc", status)
	}
	const unclear = "status: We do not know whether it was sent|"
	w.check(t,
		pays("request expires", of("{ eth_sendTransaction: () => refuse(-32603, 'Request expired') }", "eth", "We do not know"), 1,
			unclear+"Your wallet says: Request expired.", "leaving: asks"),
		pays("swap after an approval", of("{ eth_sendTransaction: once(hash, () => refuse(-32000, 'nonce too low')) }", "usdc", "We do not know"), 2,
			unclear+"Your wallet says: nonce too low."),
		pays("batch is silent", batch("refuse(-32603)", "does not report its progress"), 1, "status: Sent|"),
		pays("batch is pending", batch("({ status: 100 })", "is executing the batch"), 1, "status: Sent|"),
		pays("batch without receipts", batch("({ status: 200 })", "does not say in which transaction"), 1, "status: Sent|"),
		pays("batch fails", batch("({ status: 500 })", "batch failed"), 1, "told: The batch failed.", "status: Failed"),
		pays("batch in part", batch("({ status: 600 })", "part of the batch"), 1, "told: Only part of the batch was executed."),
		pays("visitor does other things", hold+`
			announce({ name: 'Other', rdns: 'other' }, { request: async () => refuse(4001) });
			await until(() => $('wallet-row').innerText.includes('0x9d78'));
			type('pin', 'x');
			type('pin', '');
			await until(() => $('pin-hint').textContent.startsWith('Nothing'));
			type('amount', '0.6');
			$('ask').click();
			pick('from', 'USDC@1');
			$('flip').click();
			dispatchEvent(new PopStateEvent('popstate'));`+found, 1, "status: Sent"),
		pays("visitor stops waiting", hold+"await press('Stop waiting'); await status('We do not know');", 1, unclear, "leaving: asks", "focus: answer"),
		pays("hash comes late", hold+"await press('Stop waiting'); await status('We do not know');"+found, 1, "status: Sent", "leaving: free"),
		row{name: "late refusal", do: hold + `
			await press('Stop waiting');
			await status('We do not know');
			note('before', named('New swap').disabled);
			$('sure').click();
			note('sure', named('New swap').disabled);
			release();
			await until(alertText);`,
			want: []string{"before: true", "sure: false", "alert: You rejected the request in your wallet.|", "Nothing was sent", "transactions: 1\n", "send: none"},
		},
		row{
			name: "what is pinned changes", want: []string{"alert: This quote does not pass the checks any more.", "transactions: 1\n"},
			do: "wallet({ does: { eth_sendTransaction: () => { type('pin', 'no listing'); return hash(); } } }); await quote(usdc); await send();",
		},
		row{
			name: "refused, then signed", want: []string{"status: Sent", "transactions: 2\n"},
			do: "wallet({ does: { eth_sendTransaction: once(() => refuse(4001), hash) } }); await quote(eth); await send(); sendButton().click(); await status('Sent');",
		},
		row{
			name: "too little money", want: []string{
				"alert: The wallet says that the account has too little for amount and gas.|Add funds or send less. Nothing was sent.",
				"send: on", "transactions: 1\n", "heard: true",
			},
			do: `
				const poor = () => refuse(-32000, 'insufficient funds for gas * price + value');
				wallet({ does: { eth_sendTransaction: poor, eth_getTransactionCount: () => '0x7', eth_getBlockByNumber: () => ({ transactions: [] }) } });
				await quote(eth);
				const said = [];
				new MutationObserver(() => said.push($('said').textContent)).observe($('said'), { childList: true });
				await send();
				note('heard', said.join().includes('Checking whether the swap was sent anyway'));`,
		},
	)
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
		hash := fmt.Sprintf("0x%064x", 0xa0+len(p.waiting)+len(p.blocks))
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

// twoTabs sends the same swap from two tabs. While one is signing, the other does not begin; then it sends a second one,
// and neither takes the other's transaction for its own, although the bytes are the same and the node tells no numbers.
func twoTabs(t *testing.T, w *world) {
	w.answer("/test/node", new(pool).ServeHTTP)
	other := &world{page: openTab(t, w.page, w.url+"/"), url: w.url}
	const shared = `
		window.node = async (method, params = []) => (await fetch('/test/node', { method: 'POST', body: JSON.stringify({ method, params }) })).json();
		window.onNode = (pay) => wallet({ does: {
			eth_blockNumber: () => node('eth_blockNumber'), eth_getBlockByNumber: (params) => node('eth_getBlockByNumber', params),
			eth_sendTransaction: pay,
		} });
	`
	// The first tab asks its wallet, which is open.
	run[int](t, w, shared+`
		const open = new Promise((done) => { window.sign = done; });
		onNode(async (params) => { await open; return node('eth_sendTransaction', params); });
		await quote(eth);
		sendButton().click();
		return until(payments);`)
	// The second may not ask for the same, until the first has its hash. Its own wallet sends, and then says that it failed.
	refused := run[string](t, other, shared+`
		onNode(async (params) => { await node('eth_sendTransaction', params); refuse(-32603, 'Request expired'); });
		await quote(eth);
		await send();
		return alertText() + payments();`)
	wantWords(t, refused, "Already being sent, here or in another tab.", "0")
	first := run[string](t, w, "sign(); await until(isSwap); return location.hash;")
	run[bool](t, other, "sendButton().click(); return status('We do not know');")
	// The first transaction is in a block, which the second tab has looked through more than once.
	passed := run[string](t, other, `
		await node('mine');
		await until(() => calls.some(({ method, params }) => method === 'eth_getBlockByNumber' && params[0] === '0x1'));
		const then = calls.length;
		await until(() => calls.length > then + 6);
		return statusText() + location.hash;`)
	wantWords(t, passed, "We do not know whether it was sent")
	second := run[string](t, other, "await node('mine'); await until(isSwap); return location.hash;")
	wantWords(t, first, fmt.Sprintf("swap=0x%064x", 0xa0))
	wantWords(t, second, fmt.Sprintf("swap=0x%064x", 0xa1))
}

// accounts: the connected account, its changes, and what the gateway knows of it.
func accounts(t *testing.T, w *world) {
	const mine = "0x9d7877ec33Cf3397d79A3E06D4a5cb373b7961F1"
	const changes = `
		wallet({ code: '0x' });
		await connect();
		await press('Disconnect');
		await connect();
		await until(() => $('recipient').value);
		await quote({ amount: '100' });
		note('listeners', Object.values(listeners).map((list) => list.length));`
	fills := func(name, do, recipient, hint string) row {
		return row{
			name: name, do: do + "await until(() => $('recipient-hint').textContent.includes(args[0]));", args: []any{hint},
			want: []string{`"recipient":"` + recipient + `"`},
		}
	}
	changed := func(name, do, recipient string, want ...string) row {
		want = append(want, "send: none", "listeners: 1,1", "status: none")
		return row{name: name, do: changes + do + "await until(() => $('recipient').value === args[0]);", args: []any{recipient}, want: want}
	}
	allowance := func(name, form, actual, want string) row {
		alter := func(body string) string {
			return allowanceOf.ReplaceAllString(body, `"allowance":{"actual":"`+actual+`"`)
		}
		return row{
			name: name, stays: true, do: "await quote(" + form + ");", want: []string{"send: on, Swap 100 " + want + " in Test wallet"},
			answers: map[string]http.HandlerFunc{"/v3/swap/quote": func(rw http.ResponseWriter, r *http.Request) { w.pass(rw, r, alter) }},
		}
	}
	dryRun := func(name, calls, more, want string) row {
		set := "{ blockNumber: 7, native: { actual: '1000000000000000000', needed: '2000000000000000' }, event: true, calls: [" + calls + "], " + more + " }"
		return row{
			name: name, stays: true, do: "alter('/v3/swap/quote', 'details.simulation', " + set + "); await quote(usdc); restore();",
			want: []string{want, "send: on"},
		}
	}
	const works = "{ gasUsed: 50000, gasLimit: 70000, status: 'SUCCESS' }"
	w.check(t,
		fills("delegated account", "wallet({ code: '0xef0100' + 'ab'.repeat(20) }); await connect();", mine, "Your account, on PulseChain"),
		fills("contract", "wallet(); await connect();", "", "Your account is a contract. It may not exist on PulseChain."),
		fills("typed before", "type('recipient', alice); wallet({ code: '0x' }); await connect();", alice, "An address on PulseChain"),
		fills("from a link", "visit('?recipient=' + alice); wallet({ code: '0x' }); await connect();", alice, "Not typed here"),
		row{
			name: "another destination and back", want: []string{"private: none", `"recipient":"` + mine, "ticks: none", "Your connected account"},
			do: `
				wallet({ code: '0x' });
				await connect();
				await until(() => $('recipient').value);
				pick('to', 'USDC@69696969');
				note('private', $('recipient').value);
				pick('to', 'USDC@369');
				await quote({ amount: '100' });`,
		},
		row{
			name: "refused", do: "wallet({ does: { eth_requestAccounts: () => refuse(4001) } }); named('Connect').click(); await until(() => alertText().includes('rejected'));",
			want: []string{"alert: You rejected the request in your wallet.", "wallet: Connect Test wallet"},
		},
		row{
			name: "locked", want: []string{"told: Confirm in Test wallet.", "alert: The wallet gave no account.|It may be locked", "focus: Connect Test wallet"},
			do: `
				let unlock;
				wallet({ does: { eth_requestAccounts: () => new Promise((done) => { unlock = done; }) } });
				named('Connect').focus();
				named('Connect').click();
				await until(() => unlock && alertText().includes('unlock'));
				note('told', alertText());
				unlock([]);
				await until(() => alertText().includes('gave no account'));`,
		},
		changed("another account", "tell('accountsChanged', [alice]);", alice,
			"alert: Your wallet switched to account 0x5aAe…eAed.|Get a new quote.", "wallet: ", "0x5aAe…eAed"),
		changed("no account", "tell('accountsChanged', []);", "", "alert: Your wallet disconnected.|Get a new quote.", "wallet: Connect Test wallet"),
		changed("another network", "tell('chainChanged', '0x7a69');", mine, "alert: Your wallet switched to chain 31337.|Get a new quote.", "chain 31337"),
		row{
			name: "no change", do: changes + "tell('accountsChanged', [sender.toLowerCase()]); tell('chainChanged', '0x1');", want: []string{"send: on"},
		},
		row{
			name: "balance", want: []string{
				"wallet: ", "0x0000…11ce", "Test wallet", "Ethereum", "Disconnect", `"amount":"25000","recipient":"0x00000000000000000000000000000000000a11ce"`,
				"balance: Balance 123,456,789,012,345,678,901,234… USDC",
			},
			do: `
				wallet({ account: rich });
				await connect();
				await until(() => $('balance').innerText.includes('Balance'));
				named('Use my address').click();
				document.querySelector('#balance .small').click();`,
		},
		allowance("no approval", "usdc", "0", "USDC: 2 signatures"),
		allowance("approval in place", "usdc", "100000000", "USDC: 1 signature"),
		allowance("reset not needed", "usdt", "0", "USDT: 2 signatures"),
		allowance("reset", "usdt", "1", "USDT: 3 signatures"),
		dryRun("succeeds", works+", { gasUsed: 73456, gasLimit: 99000, status: 'SUCCESS' }", "", "Simulation|Succeeds, 123,456 gas"),
		dryRun("would fail", "{ gasUsed: 50000, gasLimit: 0, status: 'FAILED', error: 'paused' }", "", "Simulation: transaction 1 would fail: paused."),
		dryRun("without the event", works, "event: false", "Simulation: the contract would not do what you asked for."),
		dryRun("no gas", works, "native: { actual: '1', needed: '2' }", "Insufficient ETH for gas"),
		row{
			name: "too little", stays: true, do: "alter('/v3/swap/quote', 'details.checks.balance.actual', '99999999'); await quote(usdc);",
			want: []string{"your account has 99.999999 USDC, and 100 USDC are needed.", "send: off"},
		},
	)
}

var allowanceOf = regexp.MustCompile(`"allowance":\{"actual":"\d+"`)

var failedRun = regexp.MustCompile(`"status":"FAILED","error":"(\\.|[^"\\])*"`)

// leavesGas: Max of a coin leaves what the gas may take, and there is one verdict.
func leavesGas(t *testing.T, w *world) {
	const ether = "1000000000000000000"
	has := func(amount string, simulates bool) map[string]http.HandlerFunc {
		actual := `"actual":"` + amount + `"`
		alter := strings.NewReplacer(`"actual":"123456789012345678901234567890"`, actual, `"actual":"0"`, actual, `"event":false`, `"event":true`)
		return map[string]http.HandlerFunc{"/v3/swap/quote": func(rw http.ResponseWriter, r *http.Request) {
			if !simulates {
				query := r.URL.Query()
				query.Set("include", "details")
				r.URL.RawQuery = query.Encode()
			}
			w.pass(rw, r, func(body string) string { return alter.Replace(failedRun.ReplaceAllString(body, `"status":"SUCCESS"`)) })
		}}
	}
	const balance = `
		if (named('Disconnect')) named('Disconnect').click();
		else wallet({ account: rich });
		fill(eth);
		await connect();
		await until(() => $('balance').innerText.includes('Balance'));
		note('balance', $('balance').innerText);
		const max = [...document.querySelectorAll('#balance button')].find((button) => button.textContent === 'Max');
		max?.click();
		note('max', max ? $('amount').value : 'none');`
	w.check(t,
		// 67,250 gas at 1 gwei, and half more, are 0.000100875 ETH.
		row{
			name: "an ether", answers: has(ether, true), do: balance + "await quote();", want: []string{
				"balance: Balance 1 ETH", "max: 0.999899125", "Network fee|up to 0.000068 ETH|Estimated time|about 13 s|Simulation|Succeeds, 46,000 gas",
			},
		},
		row{
			name: "too little for gas", stays: true, answers: has(ether, true), do: "await quote({ amount: '0.99999' });",
			want: []string{"Insufficient ETH for gas"}, never: []string{"Succeeds"},
		},
		row{
			name: "too little", stays: true, answers: has(ether, true), do: "await quote({ amount: '1.5' });",
			want: []string{"your account has 1 ETH, and 1.5 ETH are needed."}, never: []string{"Succeeds", "for gas: your"},
		},
		row{name: "no dry run", stays: true, answers: has(ether, false), do: balance, want: []string{"Balance 1 ETH (gas comes off it)", "max: none"}},
		row{name: "the minimum", stays: true, answers: has("10000000000000000", true), do: balance, want: []string{"(too little for gas and the minimum)"}},
		row{name: "less", stays: true, answers: has("1", true), do: balance, want: []string{"(below the minimum)"}},
		row{name: "more than the maximum", stays: true, answers: has("123456789012345678901234567890", true), do: balance, want: []string{"max: 20\n"}},
	)
}

// recipients: nothing can be signed for a recipient or a partner that came from outside until the visitor has confirmed
// it. What the visitor typed needs no word.
func recipients(t *testing.T, w *world) {
	const announced = "wallet({ allowance: '0xffffffffff' });"
	const ready = "await until(() => sendButton() && statusText().includes('You receive'));"
	asks := func(name, at, do string) row {
		return row{
			name: name, at: at, do: announced + do + ready,
			want: []string{"ticks: meant\n", "send: off", "Checked in your browser: 11 of 11. Confirm the recipient below.", "hint: Not typed here"},
		}
	}
	trusts := func(name, at, do string) row {
		return row{name: name, at: at, do: announced + do + ready, want: []string{"ticks: none", "send: on", "Checked in your browser: 11 of 11"}}
	}
	w.check(t,
		asks("link", link, ""),
		asks("link of the API", "?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369&recipient="+alice, ""),
		asks("pasted URL", "", "paste('amount', 'https://x.example/v3/swap/quote' + byQuery); $('ask').click();"),
		asks("history", "", "visit('/' + link);"),
		asks("link, other form", link, "pick('from', 'USDT@1'); type('amount', '101'); pick('to', 'USDC@69696969'); pick('to', 'USDC@369'); $('ask').click();"),
		trusts("link, typed anew", link, "type('recipient', alice); $('ask').click();"),
		trusts("typed", "", "await quote(usdc); dispatchEvent(new PopStateEvent('popstate'));"),
		row{
			name: "confirmed", at: link,
			do: announced + ready + `
				const look = () => sendButton().disabled + ' ' + Boolean(document.querySelector('#answer .good'));
				sendButton().click();
				note('asked', calls.length);
				note('label', $('meant').labels[0].textContent);
				$('meant').click();
				note('confirmed', look());
				$('meant').click();
				note('withdrawn', look());
				$('meant').click();
				announce({ name: 'Other', rdns: 'other' }, { request: async () => refuse(4001) });
				await until(() => $('wallet'));
				note('redrawn', look());
				type('wallet', 'test.example');
				await send();`,
			want: []string{
				"asked: 0", "label: I have checked this recipient: " + alice + " on PulseChain", "confirmed: false true", "withdrawn: true false",
				"redrawn: false true", "transactions: 1", "status: Sent",
			},
		},
		row{
			name: "partner of a link", at: link + "&integrator=" + partner,
			do: announced + ready + `
				note('label', $('meant-partner').labels[0].textContent);
				note('told', statusText());
				$('meant').click();
				note('left', sendButton().disabled + statusText());
				$('meant-partner').click();
				note('both', sendButton().disabled);
				$('meant').click();
				sendButton().click();
				note('asked', calls.length);`,
			want: []string{
				"label: I have checked this partner, which gets a fee of 0.25 %: " + partner, "Confirm the recipient and partner below.",
				"left: true", "Confirm the partner below.", "both: false", "send: off", "asked: 0",
			},
		},
		row{
			name: "unshield of a link", at: strings.Replace(link, "USDC@1", "USDC@69696969", 1),
			do: `
				await until(() => $('meant'));
				note('before', cardText().includes('Calls for a RAILGUN wallet'));
				$('meant').focus();
				$('meant').click();`,
			want: []string{"before: false", "Calls for a RAILGUN wallet", "focus: meant\n"},
		},
	)
	// The whole recipient is above the button, in groups of four, on the narrowest phone.
	emulate(t, w, "light", 360, 780)
	const whole = `
		const groups = document.querySelector('#whom .groups');
		const signs = sendButton()?.getBoundingClientRect().top ?? Infinity;
		const places = [...groups.children].map((group) => group.getBoundingClientRect());
		note('groups', [...groups.children].map((group) => group.textContent).join(' '));
		note('heard', document.querySelector('#whom .unseen').firstChild.data + ' ' + groups.ariaHidden);
		note('seen', places.every(({ width, right, bottom }) => width && right <= innerWidth && bottom <= signs));`
	w.check(t,
		row{
			name: "whole address", do: "wallet(); await quote(usdc);" + whole, want: []string{
				"groups: 0x 5aAe b605 3F3E 94C9 b9A0 9f33 6694 35E7 Ef1B eAed", "heard: " + alice + " true", "seen: true", "Check that this address is yours",
			},
		},
		row{
			name: "whole private address", do: "wallet(); await connect(); await quote({ ...usdc, to: 'USDC@69696969', recipient: hidden });" + whole,
			want: []string{"groups: 0zk1 qyxu rtdv", "seen: true", "A private address"},
		},
		row{name: "one's own", stays: true, do: "await quote({ ...usdc, recipient: sender.toLowerCase() });", want: []string{"Your connected account"}},
		row{name: "another's", stays: true, do: "await quote(usdc);", want: []string{"Not your connected account"}},
	)
	emulate(t, w, "light", 1200, 900)
	// What was typed or confirmed in this tab is not a stranger's after a reload.
	for _, tt := range []struct{ name, at, do, ticks string }{
		{"typed", "", "await quote(usdc);", "none"},
		{"typed, not asked", "", "fill(usdc);", "none"},
		{"confirmed", link, "(await until(() => $('meant'))).click();", "none"},
		{"confirmed and undone", link, "(await until(() => $('meant'))).click(); $('meant').click();", "meant"},
	} {
		t.Run("reload, "+tt.name, func(t *testing.T) {
			w.open(t, "developers") // an entry of its own
			w.open(t, tt.at)
			run[bool](t, w, announced+tt.do+"return true;")
			act(t, w, chromedp.Reload())
			w.check(t, row{stays: true, do: announced + "if (!statusText()) $('ask').click();" + ready, want: []string{"ticks: " + tt.ticks + "\n"}})
		})
	}
}

// realKeys uses real keys and the browser's clipboard, which no other group does. Only what was typed into an empty field
// needs no confirmation.
func realKeys(t *testing.T, w *world) {
	key := func(command string) chromedp.Action[chromedp.Void] {
		return chromedp.KeyEvent("v", chromedp.KeyModifiers(chromedp.ModifierCtrl), func(p *input.DispatchKeyEventParams) {
			if p.Type == input.DispatchKeyEventTypeRawKeyDown || p.Type == input.DispatchKeyEventTypeKeyDown {
				p.Commands = []string{command}
			}
		})
	}
	into := func(id string) chromedp.Action[chromedp.Void] { return chromedp.Focus(chromedp.CSS("#" + id)) }
	types, end := chromedp.KeyEvent, key("moveToEndOfLine")
	const base = "?from=USDC@1&to=USDC@369&amount=100"
	type steps = []chromedp.Action[chromedp.Void]
	for _, tt := range []struct {
		name, at  string
		clipboard string
		do        steps
		ticks     string
	}{
		{"typed with a slip", base, "", steps{into("recipient"), types(alice + "a"), types("\b")}, "none"},
		{"pasted", base, alice, steps{into("recipient"), key("paste")}, "meant"},
		{"pasted after keys", base, alice[2:], steps{into("recipient"), types("0x"), key("paste")}, "meant"},
		{"link, half typed anew", link, "", steps{into("recipient"), end, types("\b\b"), types(alice[40:])}, "meant"},
		{"link, all typed anew", link, "", steps{into("recipient"), key("selectAll"), types("\b"), types(alice)}, "none"},
		{"link, emptied, pasted", link, alice, steps{into("recipient"), key("selectAll"), types("\b"), key("paste")}, "meant"},
		{"partner, typed", base, "", steps{into("recipient"), types(alice), into("integrator"), types(partner)}, "none"},
		{"partner, pasted", base, partner, steps{into("recipient"), types(alice), into("integrator"), key("paste")}, "meant-partner"},
		{"partner of a link, a letter and back", base + "&integrator=" + partner, "",
			steps{into("recipient"), types(alice), into("integrator"), end, types("a"), types("\b")}, "meant-partner"},
	} {
		w.open(t, tt.at)
		run[bool](t, w, `
			wallet();
			if (location.search.includes('recipient')) { await quoted(); $('change').click(); }
			openAll();
			$('tx').value = args[0];
			return true;`, tt.clipboard)
		if tt.clipboard != "" {
			act(t, w, into("tx"), key("selectAll"), key("copy"))
		}
		act(t, w, tt.do...)
		send := map[bool]string{true: "send: on", false: "send: off"}[tt.ticks == "none"]
		w.check(t, row{
			name: tt.name, stays: true, do: "$('ask').click(); await until(() => statusText().includes('You receive') && sendButton());",
			want: []string{`"recipient":"` + alice, "ticks: " + tt.ticks + "\n", send},
		})
	}
	// The whole swap without a mouse.
	w.open(t, "")
	run[bool](t, w, "wallet({ allowance: '0xffffffffff' }); return true;")
	act(t, w, into("amount"), types("100"), into("recipient"), types(alice), types("\r"))
	w.check(t, row{name: "keyboard", stays: true, do: "await quoted();", want: []string{"focus: answer"}})
	run[bool](t, w, "for (const details of document.querySelectorAll('details')) details.open = false; return true;")
	act(t, w, types("\t"), types("\r"))
	w.check(t, row{name: "keyboard sends", stays: true, do: "await status('cannot follow');", want: []string{"transactions: 1"}})
}

// clocks: a quote that has expired cannot be sent. It is renewed while somebody looks at it, or before the swap is asked
// for; and while the wallet is open, the page says what that means.
func clocks(t *testing.T, w *world) {
	const open = `
		let answer;
		const asks = () => new Promise((done, fail) => { answer = (hash) => (hash ? done(hash) : fail({ code: 4001 })); });
		const expired = () => until(() => $('valid').innerText.includes('has expired') && $('valid').innerText);
		const said = [];
		new MutationObserver(() => said.push($('said').textContent)).observe($('said'), { childList: true });`
	renewed := func(name, replaced, want string) row {
		return row{
			name: name,
			do: `
				wallet();
				await quote({ ...usdc, integrator: partner });
				alterText('/swap/quote', (text) => {
					later(0);
					return ` + replaced + `.reduce((body, [from, to]) => body.replace(from, to), text);
				});
				later(120);
				await until(alertText);`,
			want: []string{"alert: " + want},
		}
	}
	w.check(t,
		row{
			name: "renewed", do: `
				wallet();
				await quote(usdc);
				sendButton().focus();
				let asked = 0;
				alterText('/swap/quote', (text) => { asked++; later(0); return text; });
				later(120);
				await until(() => $('valid').innerText.includes('Renewing'));
				sendButton().click();
				await until(() => asked && !sendButton().hasAttribute('aria-disabled'));
				note('asked', asked + ' ' + calls.length);`,
			want: []string{"asked: 1 0", "focus: send-button", "send: on", "Expires in "},
		},
		renewed("renewed, altered", `[['"99450000"', '"99450001"']]`, "This quote is not what you asked for."),
		renewed("renewed, a higher rate",
			`[[/0\.25/g, '0.5'], [/"250000"/g, '"500000"'], [/"99450000"/g, '"99200000"'], [/"550000"/g, '"800000"'], [/0\.55/g, '0.8']]`,
			"The quote has changed.|You now receive 99.2 USDC."),
		row{
			name: "while signing", do: open + `
				let allowed = '0x0';
				const read = ([{ data }]) => (data.startsWith('0x70a08231') ? '0xffffffffffff' : allowed);
				wallet({ does: { eth_sendTransaction: asks, eth_call: read } });
				await quote(usdc);
				sendButton().click();
				await until(payments);
				later(30);
				await until(() => /Expires in (2\d|30) s/.test($('valid').innerText));
				later(90);
				note('approval', await expired());
				allowed = '0xffffffffffff';
				answer(hash());
				note('then', await until(alertText));
				note('renewed', $('valid').innerText + transactions().length);
				sendButton().click();
				await until(() => transactions().length === 2);
				later(200);
				note('swap', await expired());
				answer('0x' + 'b'.repeat(64));
				await status('cannot follow');
				for (const words of ['1 of 2: sign the approval', 'expired. The approval', '1 of 1: sign the swap', 'expired. If you sign now']) {
					if (said.join('|').split(words).length !== 2) throw new Error(words + ' is not announced once: ' + said);
				}`,
			want: []string{
				"approval: This quote has expired. The approval pays nothing. This page gets a new quote before it asks for the swap.",
				"then: This quote has expired while you were signing.|The approval was sent, the swap was not. Review the new quote",
				"renewed: Expires in ", "swap: This quote has expired. If you sign now, the swap is still sent, at the fees in force when it arrives.",
				"address: /#swap=0xbbbb", "transactions: 2",
			},
		},
		row{
			name: "refused after the end", do: open + `
				wallet({ allowance: '0xffffffffff', does: { eth_sendTransaction: asks } });
				await quote(usdc);
				sendButton().click();
				await until(payments);
				later(90);
				await expired();
				answer();
				note('refused', await until(alertText));
				later(0);
				await until(() => sendButton() && !sendButton().hasAttribute('aria-disabled'));`,
			want: []string{"refused: You rejected the request in your wallet.", "alert: ", "send: on"},
		},
		row{
			name: "ended before anything was asked", do: open + `
				let connected;
				wallet({ does: { eth_requestAccounts: () => new Promise((done) => { connected = () => done([sender]); }) } });
				await quote(usdc);
				sendButton().click();
				await until(() => connected);
				later(90);
				note('words', await expired());
				connected();
				await until(() => alertText().includes('expired'));`,
			want: []string{
				"words: This quote has expired. This page gets a new quote before it asks for the swap.",
				"alert: This quote has expired.|Nothing was sent. Review the new quote", "transactions: 0", "send: on",
			},
		},
	)
}

// manyWallets: whoever floods the page with wallets does not hide the real one, and names are what they look like.
func manyWallets(t *testing.T, w *world) {
	const tools = `
		const refusing = (note = () => {}) => ({ request: async ({ method }) => { note(method); throw { code: 4001 }; } });
		const offered = () => [...document.querySelectorAll('#wallet-row button')].map((button) => button.textContent);
		const offers = (words) => until(() => offered().join().includes(words));`
	ethereum := func(name, before, after string) row {
		return row{
			name: name,
			do: tools + before + "await quote(usdc);" + after + `
				await until(sendButton);
				note('injected', sendWords() + $('wallet-row').innerText);
				await send();
				announce({ name: 'Real', rdns: 'org.real' }, refusing());
				await offers('Connect Real');`,
			want: []string{
				"injected: on, Swap 100 USDC: Up to 2 signatures in Browser walletConnect Browser wallet", "alert: You rejected the request in your wallet.",
				"wallet: Connect Real\n", "signatures in Real",
			},
		}
	}
	w.check(t,
		row{
			name: "flood", do: tools + `
				const real = () => announce({ name: 'Real', rdns: 'org.real' }, refusing());
				addEventListener('eip6963:requestProvider', real);
				real();
				for (let i = 0; i < 2000; i++) announce({ name: 'Real', rdns: 'com.fake' + i }, refusing());
				await offers('com.fake1999');
				note('flooded', offered().length);
				await quote(usdc);
				await offers('Real (org.real)');
				note('choice', [...$('wallet').options].map((option) => option.textContent));
				announce({ name: 'Late', rdns: 'org.late' }, refusing());
				await offers('Late');
				note('late', offered());`,
			want: []string{"flooded: 20\n", "choice: ", "Real (org.real)", "late: Late,"},
		},
		row{
			name: "names", do: tools + `
				const asked = [];
				for (const [i, rdns] of ['org.one', 'ORG.one', 'org\u200b.one', 'org.two'].entries()) {
					announce({ name: 'Wallet ' + i, rdns }, refusing(() => asked.push(i)));
				}
				await offers('Wallet 3');
				note('one', offered());
				named('Wallet 0').click();
				await until(() => alertText().includes('rejected'));
				note('asked', asked);
				announce({ name: '\u202eksaMateM\u202c \u2066Meta\u200bMask\u2069\ufeff\u3164\u2800\ufe0f \n  \u00ad!', rdns: '\u202eio.metamask\u0000' }, refusing());
				announce({ name: '\u200b\u2060', rdns: 'org.empty' }, refusing());
				announce({ name: 'Alike', rdns: 'io.m\u0435tamask' }, refusing());
				await offers('Alike');`,
			want: []string{
				"alert: You rejected", "one: Wallet 3,Wallet 0\n", "asked: 0\n", "ksaMateM MetaMask !", "Unnamed wallet", `Alike (io.m\u{435}tamask)`,
			},
		},
		row{
			name: "thief", do: tools + `
				wallet();
				await connect();
				let stolen = 0;
				announce({ name: 'Thief', rdns: 'test.example' }, refusing(() => { stolen++; }));
				for (let i = 0; i < 100; i++) announce({ name: 'More', rdns: 'more' + i }, refusing());
				await quote(usdc);
				await until(() => $('wallet'));
				type('wallet', 'test.example');
				await send();
				note('stolen', stolen);`,
			want: []string{"stolen: 0", "Test wallet", "transactions: 2", "status: Sent"},
		},
		ethereum("window.ethereum", "window.ethereum = refusing();", ""),
		ethereum("window.ethereum, late", "", "window.ethereum = refusing(); dispatchEvent(new Event('ethereum#initialized'));"),
		row{name: "none", do: "await quote(usdc);", want: []string{"wallet: No wallet detected", "No wallet detected. Install or unlock one in this browser. Look again"}},
	)
	emulate(t, w, "light", 390, 844)
	here := w.url + "/?from=USDC%401&to=USDC%40369&amount=100&recipient=" + alice
	w.check(t, row{
		name: "none on a phone", do: `
			await quote(usdc);
			let copied;
			Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { copied = text; } }, configurable: true });
			document.querySelector('[aria-label="Copy the link to this page"]').click();
			await until(() => copied);
			note('copied', copied);
			note('apps', [...document.querySelectorAll('#send .risk a')].map((link) => link.href));`,
		want: []string{
			"wallet: Open in wallet", "Open this page in your wallet app, or copy its link there.", "copied: " + here,
			"apps: https://link.metamask.io/dapp/" + strings.TrimPrefix(here, "http://") + ",https://go.cb-w.com/dapp?cb_url=" + url.QueryEscape(here),
			"https://link.trustwallet.com/open_url?coin_id=60&url=" + url.QueryEscape(here),
		},
	})
}
