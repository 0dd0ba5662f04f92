package site_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/network"
)

const link = "?from=USDC@1&to=USDC@369&amount=100&recipient=" + alice

// opens is what the short form has of a browser: the page loads, asks and checks.
func opens(t *testing.T, w *world) {
	w.check(t, row{
		do: `
			await quote(usdc);
			const files = performance.getEntriesByType('resource').filter(({ name }) => new URL(name).pathname.endsWith('.js'));
			note('files', files.length < 18 ? 'few' : files.map(({ name }) => name));`,
		want: []string{
			"status: You receive on PulseChain|99.7 USDC", "checks: 11 passed", "files: few", "wallet: No wallet detected",
		},
		never: []string{"Reference deployment"},
	}, row{
		name: "button", stays: true,
		do: "wallet(); await until(sendButton);", want: []string{"checks: 11 passed", "send: on, Swap 100 USDC"},
	})
}

// referenceSignsNothing: the page of the reference deployment shows quotes and what was recomputed. It says before the
// form that nothing is signed here, and finds no wallet.
func referenceSignsNothing(t *testing.T, w *world) {
	const finish = `
		await quoted();
		wallet();
		window.ethereum = { request: async () => [] };
		dispatchEvent(new Event('ethereum#initialized'));
		note('banner', $('reference').innerText);
		note('above', Boolean($('reference').compareDocumentPosition($('form')) & Node.DOCUMENT_POSITION_FOLLOWING));
		note('asked', calls.length);
		note('signs', buttons().map(({ textContent }) => textContent).filter((words) => /Sign|Connect|Swap /.test(words)));`
	want := []string{
		"banner: Reference deployment: its contracts exist only on local test chains, so quotes cannot be signed here. " +
			"To try a swap, run make devnet.", "above: true",
		"asked: 0", "signs: none", "send: none", "this quote cannot be signed here", "wallet: View only",
		"checks: 11 passed", "Checked in your browser: 11 of 11", "Expires in",
	}
	never := []string{"Calls for a RAILGUN wallet", "No wallet", "Quote-Warning", "must not be signed"}
	w.check(t,
		row{name: "form", do: "wallet(); await quote(eth);" + finish, want: want, never: never},
		row{name: "link", at: link, do: finish, want: want, never: never},
		row{name: "unshield", do: "await quote({ ...usdc, from: 'USDC@69696969' });" + finish, want: want, never: never},
		row{
			name: "a lie", do: "alter('/v3/swap/quote', 'destAmount', '1'); await quote(usdc);",
			want: []string{
				"alert: This quote is not what you asked for. It cannot be sent.|The gateway itself warns: \"This quote must not",
				`A different amount would arrive. Quote: 1 · expected: 99700000 (destAmount)`, "send: none",
			},
		},
	)
	for _, size := range sizes {
		emulate(t, w, "light", size[0], size[1])
		w.check(t, row{
			name: fmt.Sprint("banner at ", size[0]),
			do:   "note('fits', $('ask').getBoundingClientRect().bottom <= innerHeight);", want: []string{"fits: true"},
		})
	}
}

// forms: the choices, what they lead to before anything is asked, and what the form refuses.
func forms(t *testing.T, w *world) {
	on := func(name, do string, want ...string) row { return row{name: name, stays: true, do: do, want: want} }
	wrong := func(name, form, focus, alert string) row {
		return on(name, "await quote({ ...usdc, "+form+" });", "alert: "+alert, "focus: "+focus+"\n", "status: none")
	}
	w.check(t,
		on("order", "note('chains', [...$('from-chain').options].map((option) => option.textContent).join());",
			"chains: Ethereum,Base,BNB Smart Chain,PulseChain,Arbitrum", "RAILGUN (Ethereum),RAILGUN (BNB Smart Chain)"),
		on("one destination", "pick('from', 'USDC@10');", "to: From OP Mainnet, USDC can only go to PulseChain, and on from there."),
		on("flip", "fill({ from: 'WETH@369', to: 'ETH@8453', amount: '1' }); $('flip').click();",
			`"from":"ETH@8453","to":"WETH@369","amount":"1"`),
		on("flip to the nearest", "fill(usdt); $('flip').click();", `"from":"USDC@369","to":"USDC@1"`),
		on("estimate", "fill(usdc); await until(() => $('estimate').textContent !== '0');", "estimate: ≈ 99.7\n", "terms: Fee 0.3 % · about 13 s · Network fee in ETH"),
		on("estimate of other decimals", "fill({ ...usdc, from: 'USDC@56', amount: '1000.5' });", "estimate: ≈ 997.4985\n", "in BNB"),
		on("estimate of a shield", "fill({ from: 'DAI@56', to: 'USDC@69696969', amount: '100' });", "estimate: ≈ 99.25125\n", "Fee 0.5 %"),
		on("estimate below the minimum", "fill({ ...usdc, amount: '1' });", "estimate: 0\n"),
		on("two swaps", "fill({ ...usdc, to: 'USDC@42161' });", "estimate: ≈ 99.2015\n",
			"to: Two swaps, via PulseChain.", "you need PLS on PulseChain for gas", "hint: Your own address on PulseChain",
			"terms: Total fee 0.8 % · about 26 s · Network fee in ETH and PLS", "said: Two swaps"),
		on("quote of the first of two", "await quote();", "You receive on PulseChain|99.7 USDC", "then=USDC%4042161",
			"Both swaps, to Arbitrum One|Total fee 0.8 %, about 26 s", "Second swap|needs PLS on PulseChain for gas"),
		on("another choice forgets the second", "named('←').click(); type('to-chain', '69696969');", "to: none"),
		on("pasted URL of the API", "paste('amount', 'https://gateway.example/v3/swap/quote' + byQuery);",
			`"amount":"100"`, "said: The amount was in the smallest unit of the token."),
		on("pasted amount of the API", "paste('amount', 'amount=200000000');", `"amount":"200"`),

		wrong("nothing", "amount: ''", "amount", "Enter an amount in USDC"),
		wrong("a word", "amount: 'much'", "amount", "Enter an amount in USDC"),
		wrong("an exponent", "amount: '1e3'", "amount", "Enter an amount in USDC"),
		wrong("a sign", "amount: '-100'", "amount", "Enter an amount in USDC"),
		wrong("a comma", "amount: '1,5'", "amount", "Enter 1.5 with a decimal point instead of the comma."),
		wrong("thousands", "amount: '1,000'", "amount", "Enter 1000 without commas"),
		wrong("too little", "amount: '9.999999'", "amount", "Below the minimum: a swap takes 10 to 25,000 USDC"),
		wrong("too much", "...eth, amount: '20.000000000000000001'", "amount", "Above the maximum: a swap takes 0.01 to 20 ETH"),
		wrong("too many decimals", "amount: '10.0000001'", "amount", "USDC has 6 decimals on this chain: enter at most 6 digits"),
		wrong("no recipient", "recipient: ''", "recipient", "Enter an address: 0x and 40 hexadecimal digits"),
		wrong("a private recipient", "recipient: hidden", "recipient", "Enter an address"),
		wrong("a public recipient", "to: 'USDC@69696969'", "recipient", "Enter a private address, which begins with 0zk."),
		wrong("a partner in words", "integrator: 'me'", "integrator", "Enter the address of the partner’s wallet"),
		wrong("refused by the gateway", "recipient: alice.replace('Ae', 'aE')", "recipient", ""),
		wrong("refused partner", "integrator: '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb'", "integrator", ""),
		on("all at once", `
			await quote({ ...usdc, amount: 'x', recipient: 'y', integrator: 'z' });
			note('errors', [...document.querySelectorAll('.error')].filter((one) => one.checkVisibility()).map((one) => one.innerText));
			type('amount', '100');
			note('corrected', $('amount').getAttribute('aria-invalid') + $('amount-error').textContent);`,
			"alert: Enter an amount", "errors: Enter an amount in USDC, such as 100 or 0.5.,Enter an address", "corrected: null\n"),
		on("zeros and spaces", "await quote({ ...usdc, amount: '0010.50', recipient: ' ' + alice + ' ' });", "You pay|10.5 USDC"),
		on("a change drops the answer", "type('amount', '11');", "status: none", "send: none"),
		row{name: "cannot be reached", at: "?from=USDC@10&to=WETH@1&amount=1", want: []string{`"to":"USDC@1"`, "terms: Total fee"}},
	)
	w.check(t, row{name: "marks", do: marks, want: []string{"marks: none"}})
}

// marks finds tokens and chains of the listing without a drawing of their own.
const marks = `
	const { tokens, chains, networks } = JSON.parse($('listing').textContent);
	const ids = Object.keys(chains).filter((id) => !(id in networks)).map((id) => 'c' + id);
	const drawings = new Map();
	const missing = [...new Set(tokens.map(([, symbol]) => symbol)), ...ids, 'private'].filter((id) => {
		const drawn = document.querySelector('g#' + id)?.innerHTML;
		const isOwn = drawn && !drawings.has(drawn);
		drawings.set(drawn, id);
		return !isOwn;
	});
	pick('from', 'USDT@1');
	for (const [mark, name] of [['from-mark', '#USDT'], ['from-chain-mark', '#c1']]) {
		if ($(mark).firstChild.getAttribute('href') !== name || !$(mark).getBBox().width) missing.push(mark);
	}
	note('marks', missing);`

// quotes asks for each kind of pair, and wants the answer in words. What is altered is refused: v3/client is tested with
// every alteration, and here it is seen that the page believes its client.
func quotes(t *testing.T, w *world) {
	kind := func(name, form string, want ...string) row {
		want = append(want, "checks: 11 passed", "Checked in your browser: 11 of 11", "|Total fee|",
			"The contracts guarantee no minimum and give no refund: the payout depends on the operator.")
		return row{name: name, stays: true, do: "await quote({ ...usdc, " + form + " });", want: want}
	}
	lie := func(name, target, path, value, alert string) row {
		return row{
			name: name, stays: true, do: "wallet(); alter('" + target + "', '" + path + "', " + value + "); await quote(usdc); restore();",
			want: []string{
				"alert: This quote is not what you asked for. It cannot be sent.|" + alert, "Do not sign this quote anywhere",
				"send: none", "focus: alert",
			},
		}
	}
	w.check(t,
		kind("into the hub", "", "99.7 USDC", "0.3 USDC (0.3 %)", "Route DIRECT", "Expires in ",
			"Allow 0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d to take 100 USDC", "Pay 100 USDC into the pool 0x2AD5", "on PulseChain to "+alice),
		kind("native", "from: 'ETH@8453', to: 'WETH@369', amount: '0.5'", "0.4985 WETH", "You pay|0.5 ETH on Base"),
		kind("burn", "from: 'USDC@59144', amount: '123.456789'", "CCTP_INBOUND",
			"Burn 123.456789 USDC at the issuer's contract", "up to 0.192", "paid by the service"),
		kind("decimals", "from: 'USDC@56', amount: '123.456789012345678901'", "123.086419 USDC", "0.37037 USDC"),
		kind("reset", "from: 'USDT@1', amount: '20'", "19.94 USDC", "Set the allowance to zero first"),
		kind("shield", "from: 'DAI@56', to: 'USDC@69696969', recipient: hidden", "99.25125 USDC", "0.24875 USDC (0.25 %) of 99.5 USDC",
			"whoever can open the encrypted note", "only the owner of the 0zk address can open it", "A private address"),
		kind("unshield", "from: 'USDC@69696969'", "Leaves RAILGUN|100.250626 USDC", "Send this from your RAILGUN wallet.",
			"start a private transaction that unshields 100.250626 USDC", "Calls for a RAILGUN wallet"),
		kind("partner", "integrator: partner", "99.45 USDC", "0.25 USDC (0.25 %) to 0xfB69…d359", "only its registry on chain 369 can tell"),
		row{
			name: "all digits", stays: true, want: []string{"1.228395050672839506 ETH"},
			do: "await quote({ ...usdc, from: 'WETH@369', to: 'ETH@8453', amount: '1.234567890123456789' }); document.querySelector('#answer .digits').click();",
		},
		lie("another contract", "/v3/swap/quote", "to", "partner", "You would pay a different contract. Quote: 0xfb69…d359 · expected: 0x2ad5…229d (to)"),
		lie("another amount", "/v3/swap/quote", "destAmount", "'99700001'", "A different amount would arrive. Quote: 99700001 · expected: 99700000 (destAmount)"),
		lie("other bytes", "/v3/swap/quote", "methodParameters.calldata", "'0x'", ""),
		row{
			name: "warned of", stays: true, do: "wallet(); await quote(usdc);",
			answers: map[string]http.HandlerFunc{"/v3/swap/quote": func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Quote-Warning", "This quote must not be signed: today is Sunday")
				w.pass(rw, r, strings.TrimSpace)
			}},
			want: []string{
				"alert: This quote must not be signed. It cannot be sent.|The gateway itself warns: " +
					`"This quote must not be signed: today is Sunday".`, "The gateway warns of it.", "checks: 11 passed", "send: none",
			},
		},
		lie("odd dry run", "/v3/swap/quote", "details.simulation", "{ calls: 7, native: [] }", "details.simulation.blockNumber is left out"),
	)
}

// pins: a quote is checked against what the visitor has pinned, from then on, and never against less.
func pins(t *testing.T, w *world) {
	file, err := os.ReadFile("../../shared/chain/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	reference := string(file)
	_, routers := ask(t, w.gateway, "GET", "/v3/app/routers")
	_, pairs := ask(t, w.gateway, "GET", "/v3/app/pairs")
	swapped := strings.NewReplacer("0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d", partner)
	const mustBe = "You would pay a different contract. Quote: 0x2ad5…229d · expected: 0xfb69…d359 (to)"
	pin := func(name, file, form, alert string) row {
		want := []string{"alert: This quote is not what you asked for", alert, "send: none"}
		if alert == "" {
			want = []string{"against ", "pinned"}
		}
		return row{
			name: name, stays: true, args: []any{file}, want: want,
			do: "await pinned(args[0]); await quote({ ...usdc, from: '" + form + "' });",
		}
	}
	w.check(t,
		pin("deployment file", reference, "USDC@1", ""),
		pin("deployment file, burn", reference, "USDC@10", ""),
		pin("routers", routers, "USDC@1", ""),
		pin("pairs", pairs, "USDC@1", ""),
		pin("other pairs", swapped.Replace(pairs), "USDC@1", mustBe),
		pin("other deployment", swapped.Replace(reference), "USDC@1", mustBe),
		pin("other deployment, burn", strings.Replace(reference, "0x25b3", "0x25b4", 1), "USDC@10", "at byte 13 (details.call.arguments.mintRecipient)"),
		pin("no JSON", "<script>alert(1)</script>", "USDC@1", "routers must have one row"),
		pin("no pools", `{"pools": [], "settlement": {}}`, "USDC@1", "routers must have one row"),
		pin("nested", strings.Repeat("[", 100_000), "USDC@1", "routers must have one row"),
		row{
			name: "dropped, and emptied", args: []any{swapped.Replace(reference)},
			do: `
				const dataTransfer = new DataTransfer();
				dataTransfer.items.add(new File([args[0]], 'deployment.json'));
				$('pin').dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
				await until(() => $('pin-hint').textContent.startsWith('Pinned'));
				await quote(usdc);
				note('dropped', alertText());
				type('pin', '');
				await quoted();`,
			want: []string{"dropped: This quote is not what you asked for", "Checked against this gateway’s contract list."},
		},
		row{
			name: "pinned while it is asked for", want: []string{"alert: This quote is not", mustBe, "send: none"},
			answers: map[string]http.HandlerFunc{"/v3/swap/quote": func(rw http.ResponseWriter, r *http.Request) {
				run[bool](t, w, "await pinned(args[0]); return true;", swapped.Replace(reference))
				w.pass(rw, r, strings.TrimSpace)
			}},
			do: "fill(usdc); $('ask').click(); await until(() => alertText() || sendButton());",
		},
	)
}

// gatewayErrors: what fails is said where it happens, with what to do. What a body may be is tested in v3/client.
func gatewayErrors(t *testing.T, w *world) {
	const limited = `{"error": "Too many requests", "code": "RATE_LIMITED", "requestId": "abc123"}`
	fails := func(name, path string, handle http.HandlerFunc, want ...string) row {
		return row{
			name: name, stays: true, answers: map[string]http.HandlerFunc{path: handle}, do: "await quote(usdc);",
			want: append(want, "send: none", `"amount":"100"`),
		}
	}
	again := func(name string, handle http.HandlerFunc, want string) row {
		last := fails(name, "/v3/swap/quote", handle, "alert: "+want, "|Try again", "focus: alert", "told: "+want, "Retrying in 1 seconds.")
		last.do = `
			fill(usdc);
			$('ask').click();
			note('told', await until(() => statusText().includes('Retrying in') && statusText()));
			await until(alertText);`
		return last
	}
	var asked atomic.Int32
	w.check(t,
		fails("listing", "/v3/app/pairs", replies(200, `{"pairs": 7, "settlement": "x"}`), "alert: ", "listing.pairs is 7, but must be a list."),
		again("limited", replies(429, limited), "Too many requests."),
		row{name: "try again", stays: true, do: "await press('Try again'); await quoted();", want: []string{"99.7 USDC"}},
		again("unavailable", replies(503, `{"error": "Not now", "code": "CHAIN_UNAVAILABLE", "requestId": "r"}`), "Not now."),
		row{
			name: "limited once", stays: true, do: "fill(usdc); $('ask').click(); await quoted();", want: []string{"99.7 USDC"},
			answers: map[string]http.HandlerFunc{"/v3/swap/quote": func(rw http.ResponseWriter, r *http.Request) {
				if asked.Add(1) == 1 {
					replies(429, limited)(rw, r)
					return
				}
				w.pass(rw, r, strings.TrimSpace)
			}},
		},
		fails("500", "/v3/swap/quote", replies(500, `{"error": "Something broke", "code": "INTERNAL", "requestId": "abc"}`),
			"alert: Something broke.|Retry in 1 seconds.|Code INTERNAL, request ID abc."),
		fails("gone", "/v3/swap/quote", hangUp, "alert: The gateway does not answer."),
		fails("proxy", "/v3/swap/quote", replies(502, "<html>Bad gateway</html>"), "alert: ", "status 502 and nothing that can be read"),
		fails("odd types", "/v3/swap/quote", replies(400, `{"error": {"toString": 1}, "code": [], "param": {"a": 1}}`), "alert: ", "status 400"),
		fails("no field", "/v3/swap/quote", replies(400, `{"error": "No", "code": "INVALID_PARAMETER", "param": "__proto__"}`), "alert: No."),
	)
}

// hostileText puts markup where the page shows what others wrote, and wants it to stay text.
func hostileText(t *testing.T, w *world) {
	const hostile = `"><img src=x onerror="window.hurt=1"><script>window.hurt=1</script><svg onload="window.hurt=1">`
	quoted, _ := json.Marshal(hostile)
	const safe = `
		const markup = document.querySelector('main img:not([src^="data:image/"]), main script, [onload]');
		note('hurt', Boolean(window.hurt || markup));`
	text := func(name, at, do string, answers map[string]http.HandlerFunc, want ...string) row {
		return row{name: name, at: at, answers: answers, args: []any{hostile}, do: do + safe, want: append(want, "hurt: false")}
	}
	of := func(path string, status int, body string) map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{path: replies(status, strings.ReplaceAll(body, "H", string(quoted)))}
	}
	const ask = "await quote(usdc); track(); await until(() => !statusText().includes('Loading'));"
	const answer = `{"error": H, "code": H, "requestId": H, "to": H, "srcToken": {"symbol": H, "address": H}, "route": {"type": H},
		"details": {"validUntil": H, "sendCalls": {"calls": [{"to": H, "data": H}]}}, "methodParameters": {"calldata": H}}`
	address := strings.ReplaceAll("?from=H&to=H&amount=H&recipient=H&integrator=H", "H", hostile)
	w.check(t,
		text("fields", "", "openAll(); await quote({ ...usdc, amount: args[0], recipient: args[0], integrator: args[0], pin: args[0] });",
			nil, "alert: Enter an amount"),
		text("address", address, "await until(alertText);", nil, "alert: Enter an amount"),
		text("quote", "", ask, of("/v3/swap/quote", 200, answer)),
		text("error", "", "await quote(usdc);", of("/v3/swap/quote", 400, answer), "alert: "),
		text("listing", "", ask, of("/v3/app/pairs", 200, `{"chains": [{"chainId": 1, "name": H}], "pairs": [{"srcChain": 1,
			"srcToken": "USDC", "dstChain": 369, "dstToken": H, "type": H, "to": H}], "settlement": {"receiver": H}, "client": H,
			"tokens": [{"chainId": 1, "symbol": "USDC", "address": H}]}`)),
		text("status", "", ask, of("/v3/swap/status", 200, `{"state": H, "reason": H, "contact": H, "burn": {"reason": H}, "error": H,
			"swap": {"dstChain": H, "dstToken": H, "recipient": H}, "settlement": {"txHash": H, "amount": H, "timestamp": H}}`)),
		text("versions", "developers", "await until(() => $('lives').innerText);", of("/versions", 200, `{"versions": [{"name": H,
			"state": H, "successor": H, "migration": "javascript:window.hurt=1", "deprecated": H, "brownouts": [{"from": H}]}, 7, null]}`)),
		text("wallet", "", `
			const request = async () => { throw { code: 1, message: args[0] }; };
			announce({ name: args[0], rdns: 'a', icon: 'javascript:window.hurt=1' }, { request });
			for (const detail of [null, 7, {}, { info: null }, { info: {}, provider: {} }]) {
				dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }));
			}
			for (const value of [args[0], -1]) {
				alter('/v3/swap/quote', 'details.arrival.seconds', value);
				await quote(usdc);
			}
			restore();
			await quote(usdc);
			await send();`, nil, "alert: The wallet failed", "onerror"),
	)
}

// addresses: what was asked for can be sent to a colleague, and nothing is kept anywhere else.
func addresses(t *testing.T, w *world) {
	w.check(t,
		row{
			name: "of a quote", do: "await quote({ from: 'DAI@56', to: 'USDC@69696969', amount: '12.5', recipient: hidden, integrator: partner });",
			want: []string{"address: /?from=DAI%4056&to=USDC%4069696969&amount=12.5&recipient=0zk1", "&integrator=" + partner, "stored: 0"},
		},
		row{
			name: "opened", at: "?from=DAI%4056&to=USDC%4069696969&amount=12.5&recipient=0zk1&integrator=" + partner,
			do:   "await until(alertText);",
			want: []string{`{"from":"DAI@56","to":"USDC@69696969","amount":"12.5","recipient":"0zk1","integrator":"` + partner, "alert: ", "stored: 0"},
		},
		row{
			name: "query of the API", at: "?srcToken=usdc&srcChain=1&dstToken=USDC&dstChain=369&amount=100000000&recipient=" + alice,
			do: "await quoted();", want: []string{"99.7 USDC", "You pay|100 USDC", "hint: Not typed here: you confirm it before signing."},
		},
		row{
			name: "folded", at: link, want: []string{"folded: 100 USDC on Ethereum → USDC on PulseChain, form false", "focus: amount", "form: {\"from\":\"USDC@1\""},
			do: `
				await quoted();
				note('folded', $('asked-words').innerText + ', form ' + $('form').checkVisibility());
				$('change').click();
				if (!$('form').checkVisibility() || $('asked').checkVisibility()) throw new Error('the form stays folded');`,
		},
	)
}

// offline: the page waits for a connection, and goes on where it stopped.
func offline(t *testing.T, w *world) {
	connect := func(on bool) {
		t.Helper()
		for _, path := range []string{"/v3/client/index.js", "/v3/swap/quote"} {
			w.answer(path, map[bool]http.HandlerFunc{true: nil, false: hangUp}[on])
		}
		call(t, w, network.OverrideNetworkState, network.OverrideNetworkStateParams{
			Offline: !on, DownloadThroughput: -1, UploadThroughput: -1,
		})
	}
	// None of the client is kept from before.
	call(t, w, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	w.answer("/v3/client/index.js", hangUp)
	w.open(t, "")
	wantWords(t, run[string](t, w, "fill(usdc); $('ask').click(); await status('retries automatically'); return see();"),
		"status: The gateway does not answer. This page retries automatically.", `"amount":"100"`, "alert: none")
	connect(false)
	wantWords(t, run[string](t, w, "await status('You are offline'); return see();"), "What you have typed stays")
	connect(true)
	wantWords(t, run[string](t, w, "await quoted(); return see();"), "99.7 USDC")
	connect(false)
	wantWords(t, run[string](t, w, "type('amount', '200'); $('ask').click(); await status('You are offline'); return see();"), `"amount":"200"`)
	connect(true)
	wantWords(t, run[string](t, w, "await quoted(); return see();"), "199.4 USDC")
}
