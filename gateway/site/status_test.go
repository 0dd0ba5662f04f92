package site_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

var (
	hash   = "0x" + strings.Repeat("a", 64)
	payout = "0x" + strings.Repeat("b", 64)
	byLink = "#swap=" + hash + "&chain=1&token=USDC"

	settling = onItsWay(0, 90)
	quick    = strings.Replace(settling, "3600", "1", 1) // is asked for again at once
	settled  = fmt.Sprintf(`{"state": "SETTLED", "final": true, "settlement": {"txHash": %q}}`, payout)
)

const pending = `{"state": "PENDING", "nextCheckSeconds": 3600}`

// onItsWay is a swap that was sent a while ago, and usually takes some seconds.
func onItsWay(since time.Duration, usually int) string {
	const status = `{"state": "SETTLING", "nextCheckSeconds": 3600, "expectedSeconds": %d, "source": {"timestamp": %q}}`
	return fmt.Sprintf(status, usually, -since)
}

// statuses follows a swap that was sent from here through what a gateway may say of it. What is not about this swap is
// not believed, and a second payment needs a look into the wallet. v3/client is tested with every lie.
func statuses(t *testing.T, w *world) {
	sent := func(name, ready string, answers []string, want ...string) row {
		return row{name: name, statuses: answers, script: "sends, and is told", args: []any{ready}, want: append(want, "Recipient|0x5aAe…eAed")}
	}
	followed := func(name, ready, answer string, want ...string) row {
		return sent(name, ready, []string{answer}, append(want, "100 USDC on Ethereum", "Transaction|0xaaaa", "send: none", "address: /#swap=0xaaaa")...)
	}
	// What the page shows then is in the note of the script: at the end it shows the form again.
	unsure := func(name, ready, answer string, want ...string) row {
		want = append(want, "Amount|100 USDC on Ethereum", "Transaction|0xaaaa", "new swap: needs a look", "leaving: free", "|send: none", "|address: /#swap=0xaaaa")
		r := sent(name, ready, []string{answer}, want...)
		r.never = []string{"You paid"}
		return r
	}
	arrives := sent("settled", "Complete", []string{
		`{"state": "NOT_FOUND"}`, `{"state": "PENDING"}`, "503", `{"state": "SETTLING", "burn": {"attestationState": "pending"}}`,
		`{"state": "SETTLED"}`, `{"state": "SETTLING"}`, settled,
	}, "status: 99.7 USDC arrived on PulseChain|Complete", "title: ✓ 99.7 USDC arrived", "steps: none", "You paid|100 USDC on Ethereum",
		"Total fee|0.3 USDC (0.3 %)", "Sent|2026-11-15 12:00:00 UTC|Arrived|2026-11-15 12:01:05 UTC|Time taken|1 min 5 s", "Transaction|0xaaaa",
		"Payout|0xbbbb…bbbb Copy", "Link|This page", "buttons: New swap (primary), Print receipt", "leaving: free", "send: none")
	arrives.never = []string{"as reported by"} // the quote says what was paid, and the client has compared it
	w.check(t,
		arrives,
		followed("shielded", "Complete", `{"state": "SETTLED", "final": true, "settlement": {"amount": "99700000", "arrived": "99450750"}}`,
			"Paid out|99.7 USDC|Arrived|99.45075 USDC after RAILGUN’s fee", "title: ✓ 99.45075 USDC arrived"),
		followed("not final", "not final", `{"state": "SETTLED", "reason": "What was paid out is not what was swapped.", "nextCheckSeconds": 3600}`,
			"The payout is not final yet. What was paid out is not what was swapped.", "✓Settled: done", "title: … 99.7 USDC arrived"),
		followed("settling", "The pool is empty.", `{"state": "SETTLING", "reason": "The pool is empty.", "contact": "help@example.org",
			"nextCheckSeconds": 3600, "swaps": [{"swap": {"dstChain": "369", "dstToken": "0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07",
			"recipient": "`+alice+`", "recipientType": 0, "amount": "7"}}, {}]}`,
			"✓Sent: done ✓Confirmed: done ●Settled: now", "title: … On its way", "You paid|100 USDC", "Payout|Not yet", "Contact|help@example.org",
			"Swaps|2 in this transaction", "buttons: New swap\n"),
		followed("not seen", "No node has seen", `{"state": "NOT_FOUND", "nextCheckSeconds": 3600}`, "title: … Sent", "●Confirmed: now", "Payout|Not yet"),
		followed("not offered", "cannot follow", "501", "This gateway cannot follow swaps on ", "✓Sent: done Confirmed: later", "title: … Sent",
			"Payout|Not known"),
		unsure("failed", "failed on", `{"state": "FAILED", "final": true, "reason": "paused"}`, "|status: Failed|", "|title: ✗ Failed",
			"alert: The transaction failed on the chain.|", "The chain says: paused", "✓Sent: done ✗Confirmed: failed Settled: later", "Payout|None",
			"I have checked in my wallet that this swap failed and paid nothing."),
		unsure("not a swap", "finds no swap", `{"state": "NOT_A_SWAP", "final": true}`, "|status: Not a swap|", "|title: ✗ Not a swap",
			"alert: The gateway finds no swap in this transaction.|", "|steps: none", "Payout|None"),
	)
	const notSent = "I have checked in my wallet that this swap was not sent."
	for _, lie := range []struct{ name, answer, told string }{
		{"failed before it was sent", `{"state": "FAILED", "final": true, "source": {"blockNumber": 100}}`,
			"source.blockNumber is 100, but it was sent after block 100."},
		{"settled before it was sent", `{"state": "SETTLED", "final": true, "source": {"blockNumber": 99}}`, "source.blockNumber is 99"},
		{"another swap", `{"state": "SETTLED", "final": true, "swap": {"amount": "100000001"}}`,
			`swap.amount is "100000001", but must be "100000000".`},
		{"odd types", `{"state": "SETTLED", "settlement": {"txHash": 7, "amount": {"a": 1}}, "nextCheckSeconds": "x"}`,
			"settlement.txHash is 7, but must be a hash"},
	} {
		w.check(t, unsure(lie.name, "does not match", lie.answer, "|status: Status does not match|", "|title: ? Status does not match",
			"✓Sent: done ?Confirmed: unknown Settled: later", lie.told, "Payout|Not known", notSent))
	}
}

// links: a swap is found again by its address, by the field, and by whoever gets the link.
func links(t *testing.T, w *world) {
	const endpoint = `{"error": "The status is unknown: chain 56, on which the swap is paid out, has no RPC endpoint configured",
		"code": "CHAIN_UNAVAILABLE", "requestId": "r"}`
	opened := func(name, at, answer, ready string, want ...string) row {
		return row{
			name: name, at: at, statuses: []string{answer}, script: "opens", args: []any{ready}, want: append(want, "Transaction|0xaaaa…aaaa", "send: none"),
		}
	}
	none := func(at string) row { return row{name: at, at: at, want: []string{"status: none", "send: none"}} }
	noEndpoint := opened("no endpoint", byLink, "", "cannot follow", "status: Status unknown|This gateway cannot follow swaps on BNB Smart Chain.")
	noEndpoint.statuses = nil
	noEndpoint.answers = map[string]http.HandlerFunc{"/v3/swap/status": replies(503, endpoint)}
	const byGateway = "Amount and recipient as reported by the gateway: this page has no quote to compare them with."
	byTx := "?chain=1&tx=" + hash
	viaHub := "?chain=1&then=USDC%4042161&tx=" + hash
	w.check(t,
		opened("bookmark", byTx, settling, "On its way", "status: On its way|", "●Settled: now", "title: … On its way", "card: Swap from Ethereum|",
			"You paid|100 USDC or USDT on Ethereum|Recipient|0x5aAe…eAed", "Payout|Not yet", byGateway, "https://explorer.example/tx/"+hash),
		opened("receipt", byLink, settled, "Complete", "status: 99.7 USDC arrived on PulseChain", "You paid|100 USDC on Ethereum",
			"Recipient|0x5aAe…eAed", "Total fee|0.3 USDC (0.3 %)", "Time taken|1 min 5 s", "Payout|0xbbbb", byGateway,
			"https://explorer.example/tx/"+hash, "https://pulse.example/tx/"+payout),
		opened("receipt without a payout", byLink, `{"state": "SETTLED", "final": true}`, "Complete", "Payout|See the recipient’s account",
			"https://pulse.example/address/"+alice),
		opened("private note", byLink, `{"state": "SETTLING", "nextCheckSeconds": 3600, "swap": {"recipientType": 2, "recipient": "`+payout+`"}}`,
			"On its way", "Recipient|0xbbbb…bbbb Copy (key of the private note)"),
		opened("made-up token", strings.Replace(byLink, "USDC", "DAI", 1), settling, "On its way", "You paid|100 USDC or USDT on Ethereum"),
		opened("unknown token", byLink, `{"state": "SETTLING", "nextCheckSeconds": 3600, "swap": {"dstToken": "`+partner+`"}}`, "On its way",
			"Amount|Not known|Recipient|0x5aAe…eAed"),
		opened("pending", byLink, pending, "Waiting", "✓Sent: done ●Confirmed: now", "Amount|Not known|Recipient|Not known", "Payout|Not yet",
			"s elapsed.|"),
		opened("made-up hash", byLink, `{"state": "NOT_FOUND", "nextCheckSeconds": 3600}`, "Not found", "title: ? Not found",
			"status: Not found|No node of Ethereum knows this transaction. Check the hash and the chain.",
			"steps: Sent: later Confirmed: later Settled: later", "Amount|Not known|Recipient|Not known", "Payout|Not known"),
		opened("not a swap", byLink, `{"state": "NOT_A_SWAP", "final": true}`, "Not a swap", "alert: The gateway finds no swap in this transaction.|", "status: Not a swap",
			"title: ✗ Not a swap", "steps: none", "Payout|None", "buttons: New swap"),
		opened("failed", byLink, `{"state": "FAILED", "final": true}`, "Failed", "alert: The transaction failed", "title: ✗ Failed", "buttons: New swap"),
		opened("not followed", byLink, "501", "cannot follow", "status: Status unknown|This gateway cannot follow swaps on Ethereum.",
			"steps: Sent: later", "Payout|Not known"),
		noEndpoint,
		none("?chain=1&tx=0x12"), none("?chain=2&tx="+hash), none("?chain=constructor&tx="+hash),
		row{
			name: "field", statuses: []string{settled}, script: "tracks by the field", want: []string{
				"wrong: A transaction hash is 0x and 64 hexadecimal digits.tx", "Swap from Base|", "Transaction|0xaaaa…aaaa Copy", "hash: #swap=" + hash + "&chain=8453",
				"status: none", "address: /?from=", "title: Quote gateway", "focus: amount",
			},
		},
		opened("first of two swaps", viaHub, settling, "On its way",
			"Swap 1 of 2. Still to do: the swap from PulseChain to Arbitrum One. You sign it here once this one has arrived. It needs PLS on PulseChain for gas."),
		opened("first of two is done", viaHub, settled, "Complete: swap 1 of 2", "Swap 1 of 2. Still to do: the swap from PulseChain to Arbitrum One. Sign it now.",
			"buttons: Continue to Arbitrum One (primary), New swap, Print receipt"),
		row{
			name: "second swap", at: viaHub, statuses: []string{settled}, script: "signs the second swap",
			want: []string{`"from":"USDC@369","to":"USDC@42161","amount":"99.7"`, "address: /?from=USDC%40369&to=USDC%4042161", "focus: amount"},
		},
	)
	overdue(t, w, opened)
}

// overdue: from twice the usual time on, the page says what that means, what to do and whom to ask, until it is over.
func overdue(t *testing.T, w *world, opened func(name, at, answer, ready string, want ...string) row) {
	const advice = "Do not send it again. The swap continues without this page: keep its link, and check later."
	late := onItsWay(31*time.Minute+5*time.Second, 13)
	with := func(status, more string) string { return strings.Replace(status, "{", "{"+more+",", 1) }
	const mail = `"contact": "help@example.org"`
	silent := opened("overdue, and silent", byLink, strings.Replace(late, "3600", "1", 1), "cannot tell how far it is", "status: On its way|The gateway does not answer.",
		"title: ⚠ On its way", advice)
	silent.script = "opens, and the gateway falls silent"
	listed := opened("overdue, contact of the listing", "?contact"+byLink, late, "Taking longer", "to the operator: https://help.example.")
	listed.answers = map[string]http.HandlerFunc{"/": func(rw http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding")
		w.pass(rw, r, func(page string) string {
			return strings.Replace(page, `"deployment":"example"`, `"deployment":"example","contact":"https://help.example"`, 1)
		})
	}}
	final := opened("arrived late", byLink, with(late, `"final": true, "settlement": {}`), "Complete", "title: ✓ 99.7 USDC arrived")
	final.statuses[0] = strings.Replace(final.statuses[0], "SETTLING", "SETTLED", 1)
	failed := opened("failed late", byLink, with(late, `"final": true`), "Failed", "alert: The transaction failed", "title: ✗ Failed")
	failed.statuses[0] = strings.Replace(failed.statuses[0], "SETTLING", "FAILED", 1)
	failed.never = []string{"Taking longer"}
	final.never = failed.never
	w.check(t,
		opened("overdue", byLink, with(late, mail), "Taking longer", "status: Not arrived yet|Waiting for the payout on PulseChain.",
			"title: ⚠ Not arrived yet", "✓Confirmed: done !Settled: overdue", "Taking longer than usual: 31 min, usually 13 s.",
			"The payment is confirmed on Ethereum. The payout on PulseChain is missing. "+advice,
			"If nothing arrives, send the transaction hash to the operator: help@example.org.", "links: mailto:help@example.org",
			"You paid|100 USDC on Ethereum", "Payout|Not yet"),
		opened("overdue, not confirmed", byLink, strings.Replace(late, "SETTLING", "PENDING", 1), "Taking longer", "status: Not confirmed yet|",
			"✓Sent: done !Confirmed: overdue", "Ethereum has not confirmed the transaction yet. Check in your wallet whether it is pending.",
			"to the operator: example."),
		silent, listed, final, failed,
		row{
			name: "time", at: byLink, statuses: []string{`{"state": "SETTLING", "nextCheckSeconds": 3600, "expectedSeconds": 90}`}, script: "waits", want: []string{
				"early: 1 min 15 s elapsed, usually 1 min 30 s.\n", "at twice the time: Taking longer than usual: 3 min, usually 1 min 30 s.",
				"late: Taking longer than usual: 2 h 5 min, usually 1 min 30 s.",
			},
		},
	)
}

// histories: each quote and each sent swap is an entry of the history, and nothing is stored.
func histories(t *testing.T, w *world) {
	w.check(t,
		row{name: "back", statuses: []string{settling}, script: "goes back", want: []string{
			"entries: 2\n", "You paid|100 USDC on Ethereum", "You have sent this swap.", "New swapfalse\n", "stored: 0", "transactions: 2\n",
		}},
		row{name: "back while signing", statuses: []string{settling}, script: "goes back while signing", want: []string{
			"during: Confirm in your wallet", "You paid|100 USDC", "transactions: 1\n",
		}},
	)
}
