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

// inGroup makes rows whose scripts are those of a group in testdata/sign.js, by the name of the row.
func inGroup(group string) func(name string, want ...string) row {
	return func(name string, want ...string) row {
		return row{name: name, script: group + ": " + name, want: want}
	}
}

// startingAt has a row begin at an address.
func (r row) startingAt(address string) row {
	r.at = address
	return r
}

// onSamePage has a row go on where the one before has ended.
func (r row) onSamePage() row {
	r.stays = true
	return r
}

// sends has a wallet for each sentence of the page. testdata/client/send.test.mjs has all that wallets may do.
func sends(t *testing.T, w *world) {
	does := inGroup("send")
	isSent := func(r row) row {
		r.want = append(r.want, "status: Sent|This gateway cannot follow swaps on ", "|Transaction|0xaaaa…", "focus: answer",
			"send: none", "leaving: free", "address: /#swap=0xaaaa")
		return r
	}
	once := func(name, form string, want ...string) row {
		return row{name: name, script: "send: once", args: []any{name, form}, want: want}
	}
	fails := func(name string, transactions int, alert string) row {
		return once(name, "usdc", "alert: "+alert, "send: on", "focus: send-button", fmt.Sprintf("transactions: %d\n", transactions))
	}
	const addsEthereum = `"chainId":"0x1","chainName":"Ethereum","nativeCurrency":{"name":"Ether","symbol":"ETH","decimals":18}`
	w.check(t,
		isSent(does("approval and swap", "transactions: 2",
			"approval: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48,0x095ea7b3,0x9d7877ec33Cf3397d79A3E06D4a5cb373b7961F1,0x1",
			"swap: 0x2ad529b5b3443dd5a054790e84a9ab76a2cd229d,true,0x0,0x9d7877ec33Cf3397d79A3E06D4a5cb373b7961F1,0x1",
			"wallet: ", "0x9d78…61F1", "You paid|100 USDC on Ethereum", "Recipient|0x5aAe…eAed")),
		isSent(once("allowance in place", "usdc", "transactions: 1")),
		isSent(once("reset", "usdt", "transactions: 3")),
		isSent(once("native", "eth", "transactions: 1", "value: 0x6f05b59d3b20000")),
		isSent(does("batch", "transactions: 0", "batch: 0x095ea7b3,0x2ad529b5b3443dd5a054790e84a9ab76a2cd229d")),
		isSent(does("shield", "before: true", "transactions: 2")),
		does("switch", "label: Switch to Ethereum and swap", "transactions: 2", "status: Sent"),
		isSent(does("unknown network", "told: Your wallet does not know Ethereum.", "wrong: Enter the address of a node.",
			"transactions: 2", addsEthereum, `"rpcUrls":["https://node.example"],"blockExplorerUrls":["https://explorer.example"]`)),
		fails("switch refused", 0, "You rejected the switch to Ethereum.|"+
			"The swap is sent on Ethereum: switch your wallet to it, then try again. Nothing was sent."),
		fails("not switched", 0,
			"Your wallet is not on Ethereum.|Switch it to Ethereum, then try again. The swap was not sent."),
		fails("chain changes", 1, "Your wallet is not on Ethereum."),
		fails("no account", 0, "The wallet gave no account.|"+
			"It may be locked: unlock it, choose an account, then try again. Nothing was sent."),
		fails("account gone", 0, "The wallet has disconnected the account."),
		once("swap refused", "usdc", "alert: You rejected the request in your wallet.|The approval was sent and stands.",
			"transactions: 2\n", "send: on, Swap 100 USDC: 1 signature in Test wallet", "focus: send-button"),
		fails("too little", 0, "The account has too little USDC.|"),
		fails("no contract", 0,
			"There is no contract at 0x2ad529b5b3443dd5a054790e84a9ab76a2cd229d on chain 1: funds sent there are lost."),
		fails("no words", 0, "The wallet failed"),
		does("silent node", "alert: Your wallet cannot confirm that these contracts exist.|Sign only if you know ",
			"0x2ad529b5b3443dd5a054790e84a9ab76a2cd229d", "1 of 2: sign the approval in Test wallet.", "leaving: asks",
			"Not your connected account"),
		does("closed wallet", "waits: Confirm in your wallet…, Connect your account in your wallet.",
			"alert: You stopped waiting for the wallet.", "send: on, Swap 100 USDC: Up to 2 signatures in Test wallet",
			"asked: 1", "focus: send-button"),
	)
}

// neverTwice: wallets that misbehave after they were asked to pay. Whatever they do, and whatever the visitor presses, one
// swap is paid once.
func neverTwice(t *testing.T, w *world) {
	does := inGroup("never twice")
	pays := func(payments int, r row) row {
		r.want = append(r.want, "alert: ", fmt.Sprintf("payments: %d\n", payments), "send: none")
		return r
	}
	misbehaves := func(name string, payments int, want ...string) row {
		return pays(payments, row{name: name, script: "never twice: misbehaves", args: []any{name}, want: want})
	}
	const unclear = "status: We do not know whether it was sent|"
	w.check(t,
		misbehaves("request expires", 1, unclear+"Your wallet says: Request expired.", "leaving: asks"),
		misbehaves("swap after an approval", 2, unclear+"Your wallet says: nonce too low."),
		misbehaves("batch is silent", 1, "status: Sent|"),
		misbehaves("batch is pending", 1, "status: Sent|"),
		misbehaves("batch without receipts", 1, "status: Sent|"),
		misbehaves("batch fails", 1, "told: The batch failed.", "status: Failed"),
		misbehaves("batch in part", 1, "told: Only part of the batch was executed."),
		pays(1, does("visitor does other things", "status: Sent")),
		pays(1, does("visitor stops waiting", unclear, "leaving: asks", "focus: answer")),
		pays(1, does("hash comes late", "status: Sent", "leaving: free")),
		does("late refusal", "before: true", "sure: false", "alert: You rejected the request in your wallet.|", "Nothing was sent",
			"transactions: 1\n", "send: none"),
		does("what is pinned changes", "alert: This quote does not pass the checks any more.", "transactions: 1\n"),
		does("refused, then signed", "status: Sent", "transactions: 2\n"),
		does("too little money", "alert: The wallet says that the account has too little for amount and gas.|"+
			"Add funds or send less. Nothing was sent.", "send: on", "transactions: 1\n", "heard: true"),
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
	play[int](t, w, "two tabs: first asks")
	// The second may not ask for the same, until the first has its hash.
	refused := play[string](t, other, "two tabs: second asks")
	wantWords(t, refused, "Already being sent, here or in another tab.", "0")
	first := play[string](t, w, "two tabs: first signs")
	play[bool](t, other, "two tabs: second asks again")
	passed := play[string](t, other, "two tabs: first is mined")
	wantWords(t, passed, "We do not know whether it was sent")
	second := play[string](t, other, "two tabs: second is mined")
	wantWords(t, first, fmt.Sprintf("swap=0x%064x", 0xa0))
	wantWords(t, second, fmt.Sprintf("swap=0x%064x", 0xa1))
}

// accounts: the connected account, its changes, and what the gateway knows of it.
func accounts(t *testing.T, w *world) {
	const mine = "0x9d7877ec33Cf3397d79A3E06D4a5cb373b7961F1"
	does := inGroup("account")
	fills := func(name, recipient, hint string) row {
		return row{name: name, script: "account: fills", args: []any{name, hint}, want: []string{`"recipient":"` + recipient + `"`}}
	}
	changed := func(name, event string, value any, recipient string, want ...string) row {
		want = append(want, "send: none", "listeners: 1,1", "status: none")
		return row{name: name, script: "account: changes", args: []any{event, value, recipient}, want: want}
	}
	allowance := func(name, form, actual, want string) row {
		alter := func(body string) string {
			return allowanceOf.ReplaceAllString(body, `"allowance":{"actual":"`+actual+`"`)
		}
		return row{
			name: name, stays: true, script: "account: quote", args: []any{form},
			want:    []string{"send: on, Swap 100 " + want + " in Test wallet"},
			answers: map[string]http.HandlerFunc{"/v3/swap/quote": func(rw http.ResponseWriter, r *http.Request) { w.pass(rw, r, alter) }},
		}
	}
	dryRun := func(name, want string) row {
		return row{name: name, stays: true, script: "account: dry run", args: []any{name}, want: []string{want, "send: on"}}
	}
	w.check(t,
		fills("delegated account", mine, "Your account, on PulseChain"),
		fills("contract", "", "Your account is a contract. It may not exist on PulseChain."),
		fills("typed before", alice, "An address on PulseChain"),
		fills("from a link", alice, "Not typed here"),
		does("another destination and back", "private: none", `"recipient":"`+mine, "ticks: none", "Your connected account"),
		does("refused", "alert: You rejected the request in your wallet.", "wallet: Connect Test wallet"),
		does("locked", "told: Confirm in Test wallet.", "alert: The wallet gave no account.|It may be locked",
			"focus: Connect Test wallet"),
		changed("another account", "accountsChanged", []string{alice}, alice,
			"alert: Your wallet switched to account 0x5aAe…eAed.|Get a new quote.", "wallet: ", "0x5aAe…eAed"),
		changed("no account", "accountsChanged", []string{}, "",
			"alert: Your wallet disconnected.|Get a new quote.", "wallet: Connect Test wallet"),
		changed("another network", "chainChanged", "0x7a69", mine,
			"alert: Your wallet switched to chain 31337.|Get a new quote.", "chain 31337"),
		does("no change", "send: on"),
		does("balance", "wallet: ", "0x0000…11ce", "Test wallet", "Ethereum", "Disconnect",
			`"amount":"25000","recipient":"0x00000000000000000000000000000000000a11ce"`,
			"balance: Balance 123,456,789,012,345,678,901,234… USDC"),
		allowance("no approval", "usdc", "0", "USDC: 2 signatures"),
		allowance("approval in place", "usdc", "100000000", "USDC: 1 signature"),
		allowance("reset not needed", "usdt", "0", "USDT: 2 signatures"),
		allowance("reset", "usdt", "1", "USDT: 3 signatures"),
		dryRun("succeeds", "Simulation|Succeeds, 123,456 gas"),
		dryRun("would fail", "Simulation: transaction 1 would fail: paused."),
		dryRun("without the event", "Simulation: the contract would not do what you asked for."),
		dryRun("no gas", "Insufficient ETH for gas"),
		does("too little", "your account has 99.999999 USDC, and 100 USDC are needed.", "send: off").onSamePage(),
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
	balance := func(name, amount string, simulates bool, want ...string) row {
		return row{name: name, stays: true, answers: has(amount, simulates), script: "gas: balance", want: want}
	}
	quote := func(name, amount, want string, never ...string) row {
		return row{
			name: name, stays: true, answers: has(ether, true), script: "gas: quote", args: []any{amount},
			want: []string{want}, never: append(never, "Succeeds"),
		}
	}
	w.check(t,
		// 67,250 gas at 1 gwei, and half more, are 0.000100875 ETH.
		row{name: "an ether", answers: has(ether, true), script: "gas: most", want: []string{
			"balance: Balance 1 ETH", "max: 0.999899125",
			"Network fee|up to 0.000068 ETH|Estimated time|about 13 s|Simulation|Succeeds, 46,000 gas",
		}},
		quote("too little for gas", "0.99999", "Insufficient ETH for gas"),
		quote("too little", "1.5", "your account has 1 ETH, and 1.5 ETH are needed.", "for gas: your"),
		balance("no dry run", ether, false, "Balance 1 ETH (gas comes off it)", "max: none"),
		balance("the minimum", "10000000000000000", true, "(too little for gas and the minimum)"),
		balance("less", "1", true, "(below the minimum)"),
		balance("more than the maximum", "123456789012345678901234567890", true, "max: 20\n"),
	)
}

// recipients: nothing can be signed for a recipient or a partner that came from outside until the visitor has confirmed
// it. What the visitor typed needs no word.
func recipients(t *testing.T, w *world) {
	does := inGroup("recipient")
	comes := func(name, at string, want ...string) row {
		return row{
			name: name, at: at, script: "recipient: comes", args: []any{name},
			want: append(want, "All 11 checks passed in your browser"),
		}
	}
	asks := func(name, at string) row {
		return comes(name, at, "ticks: meant\n", "send: off", "browser. Confirm the recipient below.", "hint: Not typed here")
	}
	trusts := func(name, at string) row { return comes(name, at, "ticks: none", "send: on") }
	w.check(t,
		asks("link", link),
		asks("link of the API", "?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369&recipient="+alice),
		asks("pasted URL", ""),
		asks("history", ""),
		asks("link, other form", link),
		trusts("link, typed anew", link),
		trusts("typed", ""),
		does("confirmed", "asked: 0", "label: I have checked this recipient: "+alice+" on PulseChain", "confirmed: false true",
			"withdrawn: true false", "redrawn: false true", "transactions: 1", "status: Sent").startingAt(link),
		does("partner of a link", "label: I have checked this partner, which gets a fee of 0.25 %: "+partner,
			"Confirm the recipient and partner below.", "left: true", "Confirm the partner below.", "both: false", "send: off",
			"asked: 0").startingAt(link+"&integrator="+partner),
		does("unshield of a link", "before: false", "Calls for a RAILGUN wallet", "focus: meant\n").
			startingAt(strings.Replace(link, "USDC@1", "USDC@69696969", 1)),
	)
	// The whole recipient is above the button, in groups of four, on the narrowest phone.
	emulate(t, w, "light", 360, 780)
	w.check(t,
		does("whole address", "groups: 0x 5aAe b605 3F3E 94C9 b9A0 9f33 6694 35E7 Ef1B eAed", "heard: "+alice+" true",
			"seen: true", "Check that this address is yours"),
		does("whole private address", "groups: 0zk1 qyxu rtdv", "seen: true", "A private address"),
		does("one's own", "Your connected account").onSamePage(),
		does("another's", "Not your connected account").onSamePage(),
	)
	emulate(t, w, "light", 1200, 900)
	// What was typed or confirmed in this tab is not a stranger's after a reload.
	for _, tt := range []struct{ name, at, ticks string }{
		{"typed", "", "none"}, {"typed, not asked", "", "none"},
		{"confirmed", link, "none"}, {"confirmed and undone", link, "meant"},
	} {
		t.Run("reload, "+tt.name, func(t *testing.T) {
			w.open(t, "developers") // an entry of its own
			w.open(t, tt.at)
			play[bool](t, w, "recipient: before a reload", tt.name)
			act(t, w, chromedp.Reload())
			w.check(t, does("after a reload", "ticks: "+tt.ticks+"\n").onSamePage())
		})
	}
}

// realKeys uses real keys and the browser's clipboard, which no other group does. Only what was typed into an empty field
// needs no confirmation.
func realKeys(t *testing.T, w *world) {
	keys := inGroup("keys")
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
		play[bool](t, w, "keys: form", tt.clipboard)
		if tt.clipboard != "" {
			act(t, w, into("tx"), key("selectAll"), key("copy"))
		}
		act(t, w, tt.do...)
		send := map[bool]string{true: "send: on", false: "send: off"}[tt.ticks == "none"]
		w.check(t, row{
			name: tt.name, stays: true, script: "keys: asks",
			want: []string{`"recipient":"` + alice, "ticks: " + tt.ticks + "\n", send},
		})
	}
	// The whole swap without a mouse.
	w.open(t, "")
	play[bool](t, w, "keys: wallet")
	act(t, w, into("amount"), types("100"), into("recipient"), types(alice), types("\r"))
	w.check(t, keys("quoted", "focus: answer").onSamePage())
	play[bool](t, w, "keys: folds")
	act(t, w, types("\t"), types("\r"))
	w.check(t, keys("sent", "transactions: 1").onSamePage())
}

// clocks: a quote that has expired cannot be sent. It is renewed while somebody looks at it, or before the swap is asked
// for; and while the wallet is open, the page says what that means.
func clocks(t *testing.T, w *world) {
	does := inGroup("clock")
	otherwise := func(name, alert string) row {
		return row{name: name, script: "clock: renewed otherwise", args: []any{name}, want: []string{"alert: " + alert}}
	}
	w.check(t,
		does("renewed", "asked: 1 0", "focus: send-button", "send: on", "Expires in "),
		otherwise("renewed, altered", "This quote is not what you asked for."),
		otherwise("renewed, a higher rate", "The quote has changed.|You now receive 99.2 USDC."),
		does("while signing",
			"approval: This quote has expired. The approval pays nothing. This page gets a new quote before it asks for the swap.",
			"then: This quote has expired while you were signing.|The approval was sent, the swap was not. Review the new quote",
			"renewed: Expires in ",
			"swap: This quote has expired. If you sign now, the swap is still sent, at the fees in force when it arrives.",
			"address: /#swap=0xbbbb", "transactions: 2", "heard: 1,1,1,1"),
		does("refused after the end", "refused: You rejected the request in your wallet.", "alert: ", "send: on"),
		does("ended before anything was asked",
			"words: This quote has expired. This page gets a new quote before it asks for the swap.",
			"alert: This quote has expired.|Nothing was sent. Review the new quote", "transactions: 0", "send: on"),
	)
}

// manyWallets: whoever floods the page with wallets does not hide the real one, and names are what they look like.
func manyWallets(t *testing.T, w *world) {
	does := inGroup("wallets")
	injected := func(name string) row {
		return does(name, "injected: on, Swap 100 USDC: Up to 2 signatures in Browser walletConnect Browser wallet",
			"alert: You rejected the request in your wallet.", "wallet: Connect Real\n", "signatures in Real")
	}
	w.check(t,
		does("flood", "flooded: 20\n", "choice: ", "Real (org.real)", "late: Late,"),
		does("names", "alert: You rejected", "one: Wallet 3,Wallet 0\n", "asked: 0\n", "ksaMateM MetaMask !", "Unnamed wallet",
			`Alike (io.m\u{435}tamask)`),
		does("thief", "stolen: 0", "Test wallet", "transactions: 2", "status: Sent"),
		injected("window.ethereum"),
		injected("window.ethereum, late"),
		does("none", "wallet: No wallet detected", "No wallet detected. Install or unlock one in this browser. Look again"),
	)
	emulate(t, w, "light", 390, 844)
	here := w.url + "/?from=USDC%401&to=USDC%40369&amount=100&recipient=" + alice
	w.check(t, does("none on a phone", "wallet: Open in wallet", "Open this page in your wallet app, or copy its link there.",
		"copied: "+here,
		"apps: https://link.metamask.io/dapp/"+strings.TrimPrefix(here, "http://")+",https://go.cb-w.com/dapp?cb_url="+url.QueryEscape(here),
		"https://link.trustwallet.com/open_url?coin_id=60&url="+url.QueryEscape(here)))
}

// cards: what a quote shows of the way of the money, in words that people use.
func cards(t *testing.T, w *world) {
	does := inGroup("card")
	fields := []string{"dstChainId", "recipientType", "integratorId", "maxFee", "hookData", "validForSeconds", "arrival.", "simulationReason",
		"issuerFee", "DIRECT", "CCTP", " undefined"}
	routed := func(name string, want ...string) row {
		want = append(want, "caution: ", "Risk: The contracts guarantee no minimum", "Decoded bytes|Chain|", "|Coins sent along|")
		return row{name: name, script: "card: route", args: []any{name}, want: want, never: fields}
	}
	w.check(t,
		routed("pool", "legs: none", "route: You 100 USDC on Ethereum✓ Checked: what you sign pays this pool and names the recipient. → "+
			"Pool 0x2AD5…229d Trusted: the operator acts on what it was paid. → "+
			"Operator takes the feeTrusted: the operator pays out on PulseChain. → Recipient 99.7 USDC on PulseChain\n"),
		routed("burn", "|Minted on|Base (6)|", "|Destination chain|PulseChain (369)|", "The issuer's fee: at most 0.156 USDC.",
			"route: You 100 USDC on Linea✓ Checked: what you sign burns it, and names receiver and recipient. → Issuer of USDC ",
			"Trusted: the issuer mints it on Base for this receiver. → Operator’s receiver ",
			"Trusted: the operator pays out on PulseChain. → Recipient 99.45 USDC on PulseChain"),
		routed("shield", "✓ Checked: what you sign pays this pool. →", "the operator shields the payout. → RAILGUN on Ethereum ",
			"Trusted: this page cannot see whom the encrypted note pays. → Recipient 99.25125 USDC on RAILGUN"),
		routed("unshield", "route: Private balance 100.250626 USDC in RAILGUNTrusted: your RAILGUN wallet takes it out. → Your calls "),
		routed("two swaps", "legs: This signature You pay 100 USDC on Ethereum Total fee 0.3 USDC (0.3 %)",
			"; Later, on PulseChain You pay ≈ 99.7 USDC on PulseChain Total fee 0.5 % Network fee paid in PLS",
			"In the end, on Arbitrum One|≈ 99.2015 USDC (estimate)|Both swaps|Total fee 0.8 %, about 26 s"),
		routed("too little for the second", "Too little for the second swap: it takes 10 USDC or more."),
		does("waiting", "bones: true", "told: Getting a quote…\n", "left: 0", "99.7 USDC"),
		does("tiny fee", "fee: less than 0.000001… ETH; All digits: 0.00000000013", "Network fee|0.00000000013 ETH"),
	)
	w.open(t, link)
	play[bool](t, w, "card: quoted")
	emulateMedia(t, w, "print", "prefers-color-scheme", "light")
	paper := play[string](t, w, "card: paper")
	wantWords(t, paper, "99.7 USDC", "100 USDC on Ethereum", "0.3 USDC (0.3 %)", "Risk:", "Valid until 2", "Route",
		"0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d")
	for _, word := range []string{"Expires in", "Swap 100", "signature", "I have checked", "Copy"} {
		if strings.Contains(paper, word) {
			t.Errorf("a printed quote says %q", word)
		}
	}
}
