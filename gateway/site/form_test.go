package site_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/shared/testkit/browser"
)

const link = "?from=USDC@1&to=USDC@369&amount=100&recipient=" + alice

// A form is what is filled in instead of 100 USDC from Ethereum to PulseChain, for alice. A recipient may be named as in
// helpers.js.
type form map[string]string

// on is a row that goes on with the page of the row before.
func on(name, script string, args []any, want ...string) row {
	return row{name: name, stays: true, script: script, args: args, want: want}
}

func with(args ...any) []any { return args }

// opens is what the short form has of a browser: the page loads, asks and checks.
func opens(t *testing.T, w *world) {
	first := row{script: "loads, asks and checks", never: []string{"Reference deployment"}, want: []string{
		"status: You receive on PulseChain|99.7 USDC", "checks: 11 passed", "files: few", "wallet: No wallet detected",
	}}
	w.check(t, first, on("button", "meets a wallet", nil, "checks: 11 passed", "send: on, Swap 100 USDC"))
}

// referenceSignsNothing: the page of the reference deployment shows quotes and what was recomputed. It says before the
// form that nothing is signed here, and finds no wallet.
func referenceSignsNothing(t *testing.T, w *world) {
	shows := func(name, at string, args ...any) row {
		return row{
			name: name, at: at, script: "shows what cannot be signed", args: args,
			want: []string{
				"banner: Reference deployment: quotes are checked here, not signed. To swap on local chains, run make devnet",
				"above: true", "asked: 0", "signs: none", "send: none", "this quote cannot be signed here",
				"wallet: View only", "checks: 11 passed", "All 11 checks passed in your browser", "Expires in",
			},
			never: []string{"Calls for a RAILGUN wallet", "No wallet", "Quote-Warning", "must not be signed"},
		}
	}
	w.check(t,
		shows("form", "", form{"from": "ETH@1", "to": "WETH@369", "amount": "0.5"}),
		shows("link", link),
		shows("unshield", "", form{"from": "USDC@69696969"}),
		row{
			name: "a lie", script: "asks and hears a lie", args: with("destAmount", "1"),
			want: []string{
				"alert: This quote is not what you asked for. It cannot be sent.|The gateway itself warns: \"This quote must not",
				"A different amount would arrive.|Quote: 1|Expected: 99700000", "send: none",
			},
		},
	)
	for _, size := range sizes {
		emulate(t, w, "light", size[0], size[1])
		w.check(t, row{name: fmt.Sprint("banner at ", size[0]), script: "fits", want: []string{"button: true"}})
	}
}

// forms: the choices, what they lead to before anything is asked, and what the form refuses.
func forms(t *testing.T, w *world) {
	filled := func(name string, f form, want ...string) row { return on(name, "fill", with(f), want...) }
	wrong := func(name string, f form, focus, alert string) row {
		return on(name, "quote", with(f), "alert: "+alert, "focus: "+focus+"\n", "status: none")
	}
	amount := func(typed string) form { return form{"amount": typed} }
	const ether = "Enter an amount in ETH, not in dollars."
	w.check(t,
		on("order", "chains", nil,
			"chains: Ethereum,Base,BNB Smart Chain,PulseChain,Arbitrum", "RAILGUN (Ethereum),RAILGUN (BNB Smart Chain)"),
		filled("one destination", form{"from": "USDC@10"},
			"to: From OP Mainnet, USDC can only go to PulseChain, and on from there."),
		on("estimate", "estimate", with(form{}),
			"estimate: ≈ 99.7\n", "terms: Fee 0.3 %|0.3 USDC|Time|about 13 s|Gas paid in|ETH\n"),
		filled("estimate of other decimals", form{"from": "USDC@56", "amount": "1000.5"},
			"estimate: ≈ 997.4985\n", "|3.0015 USDC|", "|BNB\n"),
		filled("a fee of many digits", form{"amount": "1234.56789"}, "|≈ 3.71 USDC|"),
		filled("estimate of a shield", form{"from": "DAI@56", "to": "USDC@69696969"},
			"estimate: ≈ 99.25125\n", "terms: Total fee 0.75 %|0.74875 USDC|"),
		filled("below the minimum", amount("1"), "estimate: —\n", "terms: Fee 0.3 %|—|", "limits: The minimum is 10 USDC."),
		filled("above the maximum", amount("25000.1"), "estimate: —\n", "limits: The maximum is 25,000 USDC."),
		filled("no amount", amount(""), "estimate: —\n", "terms: Fee 0.3 %|—|", "limits: 10 to 25,000 USDC"),
		filled("with its symbol", amount("100 usdc"), "estimate: ≈ 99.7\n"),
		filled("in dollars", amount("$ 100"), "estimate: ≈ 99.7\n"),
		filled("with spaces", amount("1 000.5 USDC"), "estimate: ≈ 997.4985\n"),
		filled("too little for a second swap", form{"to": "USDC@42161", "amount": "10"},
			"estimate: —\n", "limits: Too little for the second swap."),
		filled("two swaps", form{"to": "USDC@42161"}, "estimate: ≈ 99.2015\n",
			"to: Two swaps, via PulseChain.", "you need PLS on PulseChain for gas", "hint: Your own address on PulseChain",
			"terms: Total fee 0.8 %|0.7985 USDC|Time|about 26 s|Gas paid in|ETH and PLS\n", "said: Two swaps"),
		on("quote of the first of two", "ask", nil, "You receive on PulseChain|99.7 USDC", "then=USDC%4042161",
			"In the end, on Arbitrum One|≈ 99.2015 USDC (estimate)|Both swaps|Total fee 0.8 %, about 26 s",
			"paid in PLS: have some on PulseChain"),
		on("another choice forgets the second", "forgets the second swap", nil, "to: none"),
		on("pasted URL of the API", "pastes", with("https://gateway.example/v3/swap/quote"+byQuery),
			`"amount":"100"`, "said: The amount was in the smallest unit of the token."),
		on("pasted amount of the API", "pastes", with("amount=200000000"), `"amount":"200"`),
		on("flip", "flip", with(form{"from": "WETH@369", "to": "ETH@8453", "amount": "1"}),
			`"from":"ETH@8453","to":"WETH@369","amount":"1"`),
		on("flip to the nearest", "flip", with(form{"from": "USDT@1", "to": "USDC@369"}), `"from":"USDC@369","to":"USDC@1"`),
		on("flip every pair", "flips every pair", nil, "wrong: none"),
		on("next step", "presses on", nil,
			"said: Enter an amount, amount, Enter an amount, amount, Enter a recipient, recipient both, Review swap", "alert: "),

		wrong("nothing", amount(""), "amount", "Enter an amount in USDC"),
		wrong("a word", amount("much"), "amount", "Enter an amount in USDC"),
		wrong("an exponent", amount("1e3"), "amount", "Enter an amount in USDC"),
		wrong("a sign", amount("-100"), "amount", "Enter an amount in USDC"),
		wrong("another token", amount("100 usdt"), "amount", "Enter an amount in USDC"),
		wrong("dollars of Ether", form{"from": "ETH@1", "to": "WETH@369", "amount": "$1"}, "amount", ether),
		wrong("a comma", amount("1,5"), "amount", "Enter 1.5 with a decimal point instead of the comma."),
		wrong("thousands", amount("$1,000"), "amount", "Enter 1000 without commas"),
		wrong("spaces elsewhere", amount("1 00"), "amount", "Enter an amount in USDC"),
		wrong("too little", amount("9.999999"), "amount", "The minimum is 10 USDC."),
		wrong("too much", form{"from": "ETH@1", "to": "WETH@369", "amount": "20.000000000000000001"},
			"amount", "The maximum is 20 ETH."),
		wrong("too many decimals", amount("10.0000001"),
			"amount", "USDC has 6 decimals on this chain: enter at most 6 digits"),
		wrong("no recipient", form{"recipient": ""}, "recipient", "Enter an address: 0x and 40 hexadecimal digits"),
		wrong("a private recipient", form{"recipient": "hidden"}, "recipient", "Enter an address"),
		wrong("a public recipient", form{"to": "USDC@69696969"},
			"recipient", "Enter a private address, which begins with 0zk."),
		wrong("a typo", form{"recipient": typo}, "recipient", "This address has a typo. Copy it again from your wallet."),
		wrong("a partner with a typo", form{"integrator": typo}, "integrator", "This address has a typo."),
		wrong("a partner in words", form{"integrator": "me"}, "integrator", "Enter the address of the partner’s wallet"),
		wrong("refused by the gateway", form{"recipient": "0x000000000000000000000000000000000000dead"}, "recipient", ""),
		wrong("refused partner", form{"integrator": "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"}, "integrator", ""),
		on("all at once", "refuses all at once", nil, "alert: Enter an amount",
			"errors: Enter an amount in USDC, such as 100 or 0.5.,Enter an address", "corrected: null\n"),
		on("zeros and spaces", "quote", with(form{"amount": "0010.50", "recipient": " " + alice + " "}),
			"You pay|10.5 USDC"),
		on("a change drops the answer", "type", with("amount", "11"), "status: none", "send: none"),
		row{name: "cannot be reached", at: "?from=USDC@10&to=WETH@1&amount=1", want: []string{`"to":"USDC@1"`, "terms: Total fee"}},
		row{name: "marks", script: "marks", want: []string{"marks: none"}},
		row{name: "track", at: "#track", script: "opens Track", want: []string{
			"by link: true tx\n", "escaped: false Track\n", "pressed: true Track\n", "elsewhere: false Track\n",
		}},
		row{name: "tracked", script: "tracks and closes", want: []string{"wrong: true", "tracked: false", "address: /#swap=0xa"}},
	)
	checksums(t, w)
	screens(t, w)
}

const (
	typo    = "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" // alice with one letter in the other case
	byQuery = "?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369&recipient=" + alice
)

// checksums compares what the form says of addresses with go-ethereum.
func checksums(t *testing.T, w *world) {
	t.Helper()
	var whole, broken []string
	for i := range 300 {
		address := common.BytesToAddress(crypto.Keccak256([]byte{byte(i), byte(i >> 8)})).Hex()
		digits := address[2:]
		whole = append(whole, address, "0x"+strings.ToLower(digits), "0x"+strings.ToUpper(digits))
		letter := strings.IndexAny(digits, "abcdef")
		other := digits[:letter] + strings.ToUpper(digits[letter:letter+1]) + digits[letter+1:]
		if strings.ToUpper(digits) != other {
			broken = append(broken, "0x"+other)
		}
	}
	w.open(t, "")
	if got := play[[]string](t, w, "mistyped", whole); len(got) > 0 {
		t.Errorf("the form calls these mistyped: %v", got)
	}
	if got := play[[]string](t, w, "mistyped", broken); !slices.Equal(got, broken) || len(broken) < 290 {
		t.Errorf("the form calls %d of %d addresses mistyped", len(got), len(broken))
	}
}

// screens: nothing is cut or moves on phones, the page fits a laptop, and what is drawn is seen in light and dark.
func screens(t *testing.T, w *world) {
	t.Helper()
	for _, width := range []int64{320, 360, 390, 430} {
		emulate(t, w, "light", width, 844)
		at := func(name, script string, args []any, want ...string) row {
			return row{name: fmt.Sprint(name, " at ", width), script: script, args: args, want: want}
		}
		w.check(t,
			at("whole", "cuts nothing", nil, "cut: none", "figure: true"),
			at("wallet", "shortens its wallet", with("W"), "wrong: none"),
			at("long wallet", "shortens its wallet", with("long"), "wrong: none"),
			at("still", "stays still", with("369"), "tops: 1\n"),
			at("still and private", "stays still", with("69696969"), "tops: 1\n"),
		)
	}
	emulate(t, w, "light", 1440, 900)
	w.check(t,
		row{name: "fits a laptop", script: "fits", want: []string{"button: true", "page: true", "figure: 38.4px"}},
		row{name: "still", script: "stays still", args: with("69696969"), want: []string{"tops: 1\n"}},
	)
	for _, scheme := range []string{"light", "dark"} {
		emulate(t, w, scheme, 1440, 900)
		w.check(t, row{name: "contrast in " + scheme, script: "contrast", want: []string{"low: none", "measured: true", "alert: "}})
	}
}

// quotes asks for each kind of pair, and wants the answer in words. What is altered is refused: v3/client is tested with
// every alteration, and here it is seen that the page believes its client.
func quotes(t *testing.T, w *world) {
	kind := func(name string, f form, want ...string) row {
		return on(name, "quote", with(f), append(want, "checks: 11 passed", "All 11 checks passed in your browser", "|Total fee|",
			"The contracts guarantee no minimum and give no refund: the payout depends on the operator.")...)
	}
	lie := func(name, path string, value any, alert string) row {
		return on(name, "asks and hears a lie", with(path, value), "send: none", "focus: alert",
			"alert: This quote is not what you asked for. It cannot be sent.|"+alert, "|Do not sign this quote anywhere.")
	}
	warns := on("warned of", "asks with a wallet", nil,
		"alert: This quote must not be signed. It cannot be sent.|The gateway itself warns: "+
			`"This quote must not be signed: today is Sunday".|Do not sign this quote anywhere.`, "checks: 11 passed", "send: none")
	warns.answers = map[string]http.HandlerFunc{"/v3/swap/quote": func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Quote-Warning", "This quote must not be signed: today is Sunday")
		w.pass(rw, r, strings.TrimSpace)
	}}
	w.check(t,
		kind("into the hub", nil, "99.7 USDC", "0.3 USDC (0.3 %)", "Pool 0x2AD5…229d", "Expires in ",
			"Allow 0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d to take 100 USDC", "Pay 100 USDC into the pool 0x2AD5",
			"on PulseChain to "+alice),
		kind("native", form{"from": "ETH@8453", "to": "WETH@369", "amount": "0.5"}, "0.4985 WETH", "You pay|0.5 ETH on Base"),
		kind("burn", form{"from": "USDC@59144", "amount": "123.456789"}, "Issuer of USDC",
			"Burn 123.456789 USDC at the issuer's contract", "up to 0.192", "paid by the service"),
		kind("decimals", form{"from": "USDC@56", "amount": "123.456789012345678901"}, "123.086419 USDC", "0.37037 USDC"),
		kind("reset", form{"from": "USDT@1", "amount": "20"}, "19.94 USDC", "Set the allowance to zero first"),
		kind("shield", form{"from": "DAI@56", "to": "USDC@69696969", "recipient": "hidden"},
			"99.25125 USDC", "0.24875 USDC (0.25 %) of 99.5 USDC", "whoever can open the encrypted note",
			"only the owner of the 0zk address can open it", "A private address"),
		kind("unshield", form{"from": "USDC@69696969"}, "Leaves RAILGUN|100.250626 USDC",
			"Send this from your RAILGUN wallet.", "start a private transaction that unshields 100.250626 USDC",
			"Calls for a RAILGUN wallet"),
		kind("partner", form{"integrator": "partner"}, "99.45 USDC", "0.25 USDC (0.25 %) to 0xfB69…d359",
			"only its registry on PulseChain can tell"),
		on("all digits", "shows all digits", with(form{"from": "WETH@369", "to": "ETH@8453", "amount": "1.234567890123456789"}),
			"1.228395050672839506 ETH"),
		lie("another contract", "to", partner,
			"You would pay a different contract.|Quote: 0xfb69…d359|Expected: 0x2ad5…229d"),
		lie("another amount", "destAmount", "99700001",
			"A different amount would arrive.|Quote: 99700001|Expected: 99700000"),
		lie("other bytes", "methodParameters.calldata", "0x",
			"The transaction would do something else.|Quote: 0x ends|Expected: 0x095ff22d0000000000…, at byte 0"),
		lie("a list", "to", []string{"<b>"},
			`You would pay a different contract.|Quote: a list|Expected: "0x2ad529b5b3443dd5a054790e84a9ab76a2cd229d"`),
		lie("a symbol that hides", "destToken.symbol", strings.Repeat("USD\u0421\u202e<b>\" · yours: ", 100),
			"You would receive a different token.|Quote: \"USD��<b>� � yours: U…\"|Yours: \"USDC\""),
		on("another recipient, wherever it stands", "asks and is robbed", nil,
			"alert: This quote is not what you asked for. It cannot be sent.|The money would go to someone else.|"+
				"Quote: 0xfb69…d359|Yours: 0x5aae…eaed|Do not sign this quote anywhere.|Fields",
			"fields: details.call.arguments.recipient|details.sendCalls.calls.1.data.arguments.recipient|"+
				"methodParameters.calldata.arguments.recipient"),
		on("odd dry run", "asks and hears a lie", with("details.simulation", map[string]any{"calls": 7, "native": []any{}}),
			"send: none", "focus: alert", "alert: This quote is not what you asked for.",
			"details.simulation.blockNumber is left out"),
		warns,
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
	const mustBe = "You would pay a different contract.|Quote: 0x2ad5…229d|Expected: 0xfb69…d359"
	pin := func(name, file, from, alert string) row {
		want := []string{"alert: This quote is not what you asked for", alert, "send: none"}
		if alert == "" {
			want = []string{"against ", "pinned"}
		}
		return on(name, "pins and asks", with(file, from), want...)
	}
	w.check(t,
		pin("deployment file", reference, "USDC@1", ""),
		pin("deployment file, burn", reference, "USDC@10", ""),
		pin("routers", routers, "USDC@1", ""),
		pin("pairs", pairs, "USDC@1", ""),
		pin("other pairs", swapped.Replace(pairs), "USDC@1", mustBe),
		pin("other deployment", swapped.Replace(reference), "USDC@1", mustBe),
		pin("other deployment, burn", strings.Replace(reference, "0x25b3", "0x25b4", 1), "USDC@10",
			"The money would go to someone else.|Quote: 0x25b3…8fd9|Expected: 0x25b4…8fd9"),
		pin("no JSON", "<script>alert(1)</script>", "USDC@1", "routers must have one row"),
		pin("no pools", `{"pools": [], "settlement": {}}`, "USDC@1", "routers must have one row"),
		pin("nested", strings.Repeat("[", 100_000), "USDC@1", "routers must have one row"),
		row{
			name: "dropped, and emptied", script: "drops a file and empties it", args: with(swapped.Replace(reference)),
			want: []string{"dropped: This quote is not what you asked for", "Checked against this gateway’s contract list."},
		},
		row{
			name: "pinned while it is asked for", script: "asks until it is refused",
			want: []string{"alert: This quote is not", mustBe, "send: none"},
			answers: map[string]http.HandlerFunc{"/v3/swap/quote": func(rw http.ResponseWriter, r *http.Request) {
				play[bool](t, w, "pin", swapped.Replace(reference))
				w.pass(rw, r, strings.TrimSpace)
			}},
		},
	)
}

// gatewayErrors: what fails is said where it happens, with what to do. What a body may be is tested in v3/client.
func gatewayErrors(t *testing.T, w *world) {
	const limited = `{"error": "Rate limit exceeded: 30 quotes per minute. Retry in 1 second.", "code": "RATE_LIMITED",
		"requestId": "abc123"}`
	const tooMany = "Too many quotes from your internet connection."
	answers := func(r row, path string, handle http.HandlerFunc) row {
		r.answers = map[string]http.HandlerFunc{path: handle}
		return r
	}
	fails := func(name, path string, handle http.HandlerFunc, want ...string) row {
		want = append(want, "send: none", `"amount":"100"`)
		return answers(on(name, "quote", nil, want...), path, handle)
	}
	again := func(name string, handle http.HandlerFunc, title, sentence string) row {
		return answers(on(name, "asks, waits and is told", nil, "alert: "+title+"|"+sentence, "|Try again\n", "focus: alert",
			"told: "+title, "Retrying in 1 seconds.", "send: none", `"amount":"100"`), "/v3/swap/quote", handle)
	}
	var asked atomic.Int32
	once := func(rw http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			replies(429, limited)(rw, r)
			return
		}
		w.pass(rw, r, strings.TrimSpace)
	}
	quote := func(name string, status int, body string, want ...string) row {
		return fails(name, "/v3/swap/quote", replies(status, body), want...)
	}
	w.check(t,
		fails("listing", "/v3/app/pairs", replies(200, `{"pairs": 7, "settlement": "x"}`),
			"alert: ", "listing.pairs is 7, but must be a list."),
		again("limited", replies(429, limited), tooMany, "Try again in 1 s."),
		on("try again", "tries again", nil, "99.7 USDC"),
		again("limited by a proxy", replies(429, "slow down"), "Too many requests from your internet connection.", ""),
		again("unavailable", replies(503, `{"error": "Not now", "code": "CHAIN_UNAVAILABLE", "requestId": "r"}`), "Not now.", ""),
		answers(on("limited once", "asks until there is a quote", nil, "99.7 USDC"), "/v3/swap/quote", once),
		quote("500", 500, `{"error": "Something broke", "code": "INTERNAL", "requestId": "abc"}`,
			"alert: Something broke.|Try again in 1 s.|Code INTERNAL, request ID abc."),
		fails("gone", "/v3/swap/quote", hangUp, "alert: The gateway does not answer."),
		quote("proxy", 502, "<html>Bad gateway</html>", "alert: ", "status 502 and nothing that can be read"),
		quote("odd types", 400, `{"error": {"toString": 1}, "code": [], "param": {"a": 1}}`, "alert: ", "status 400"),
		quote("no field", 400, `{"error": "No", "code": "INVALID_PARAMETER", "param": "__proto__"}`, "alert: No."),
	)
}

// hostileText puts markup where the page shows what others wrote, and wants it to stay text.
func hostileText(t *testing.T, w *world) {
	const hostile = `"><img src=x onerror="window.hurt=1"><script>window.hurt=1</script><svg onload="window.hurt=1">`
	quoted, _ := json.Marshal(hostile)
	text := func(name, at, place string, answers map[string]http.HandlerFunc, want ...string) row {
		return row{
			name: name, at: at, answers: answers, script: "reads markup", args: with(place, hostile),
			want: append(want, "hurt: false"),
		}
	}
	of := func(path string, status int, body string) map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{path: replies(status, strings.ReplaceAll(body, "H", string(quoted)))}
	}
	const answer = `{"error": H, "code": H, "requestId": H, "to": H, "srcToken": {"symbol": H, "address": H}, "route": {"type": H},
		"details": {"validUntil": H, "sendCalls": {"calls": [{"to": H, "data": H}]}}, "methodParameters": {"calldata": H}}`
	address := strings.ReplaceAll("?from=H&to=H&amount=H&recipient=H&integrator=H", "H", hostile)
	w.check(t,
		text("fields", "", "fields", nil, "alert: Enter an amount"),
		text("address", address, "address", nil, "alert: Enter an amount"),
		text("quote", "", "answer", of("/v3/swap/quote", 200, answer)),
		text("error", "", "error", of("/v3/swap/quote", 400, answer), "alert: "),
		text("listing", "", "answer", of("/v3/app/pairs", 200, `{"chains": [{"chainId": 1, "name": H}], "pairs": [{"srcChain": 1,
			"srcToken": "USDC", "dstChain": 369, "dstToken": H, "type": H, "to": H}], "settlement": {"receiver": H}, "client": H,
			"tokens": [{"chainId": 1, "symbol": "USDC", "address": H}]}`)),
		text("status", "", "answer", of("/v3/swap/status", 200, `{"state": H, "reason": H, "contact": H, "burn": {"reason": H},
			"error": H, "swap": {"dstChain": H, "dstToken": H, "recipient": H},
			"settlement": {"txHash": H, "amount": H, "timestamp": H}}`)),
		text("versions", "developers", "versions", of("/versions", 200, `{"versions": [{"name": H, "state": H, "successor": H,
			"migration": "javascript:window.hurt=1", "deprecated": H, "brownouts": [{"from": H}]}, 7, null]}`)),
		text("wallet", "", "wallet", nil, "alert: The wallet failed", "onerror"),
	)
}

// addresses: what was asked for can be sent to a colleague, and nothing is kept anywhere else.
func addresses(t *testing.T, w *world) {
	const shield = "?from=DAI%4056&to=USDC%4069696969&amount=12.5&recipient=0zk1"
	asked := form{"from": "DAI@56", "to": "USDC@69696969", "amount": "12.5", "recipient": "hidden", "integrator": partner}
	w.check(t,
		row{
			name: "of a quote", script: "quote", args: with(asked),
			want: []string{"address: /" + shield, "&integrator=" + partner, "stored: 0"},
		},
		row{
			name: "opened", at: shield + "&integrator=" + partner, script: "alert",
			want: []string{
				`{"from":"DAI@56","to":"USDC@69696969","amount":"12.5","recipient":"0zk1","integrator":"` + partner, "alert: ",
				"stored: 0",
			},
		},
		row{
			name: "query of the API", at: byQuery, script: "quoted",
			want: []string{"99.7 USDC", "You pay|100 USDC", "hint: Not typed here: you confirm it before signing."},
		},
		row{
			name: "folded", at: link, script: "folds the form",
			want: []string{
				"folded: 100 USDC on Ethereum → USDC on PulseChain, form false", "focus: amount", `form: {"from":"USDC@1"`,
			},
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
		browser.Call(t, w.page, network.OverrideNetworkState, network.OverrideNetworkStateParams{
			Offline: !on, DownloadThroughput: -1, UploadThroughput: -1,
		})
	}
	sees := func(args []any, want ...string) {
		t.Helper()
		wantWords(t, play[string](t, w, "sees while offline", args...), want...)
	}
	// None of the client is kept from before.
	browser.Call(t, w.page, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	w.answer("/v3/client/index.js", hangUp)
	w.open(t, "")
	sees(with("retries automatically", "100"), "status: The gateway does not answer. This page retries automatically.",
		`"amount":"100"`, "alert: none")
	connect(false)
	sees(with("You are offline"), "What you have typed stays")
	connect(true)
	sees(with("You receive"), "99.7 USDC")
	connect(false)
	sees(with("You are offline", "200"), `"amount":"200"`)
	connect(true)
	sees(with("You receive"), "199.4 USDC")
}
