package site_test

import (
	"net/http"
	"strings"
	"testing"
)

var (
	hash   = "0x" + strings.Repeat("a", 64)
	payout = "0x" + strings.Repeat("b", 64)
	byLink = "#swap=" + hash + "&chain=1&token=USDC"
)

const (
	settling  = `{"state": "SETTLING", "nextCheckSeconds": 3600, "expectedSeconds": 90}`
	settled   = `{"state": "SETTLED", "final": true, "settlement": {"txHash": "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}}`
	pending   = `{"state": "PENDING", "nextCheckSeconds": 3600}`
	onItsWay  = "steps: ✓Sent: done ✓Confirmed: done ●Settled: now"
	hasFailed = "steps: ✓Sent: done ✗Confirmed: failed ○Settled: later"
	mismatch  = "status: Status does not match|"
	notSent   = "I have checked in my wallet that this swap was not sent."
)

// statuses follows a swap that was sent from here through what a gateway may say of it. What is not about this swap is
// not believed, and a second payment needs a look into the wallet. v3/client is tested with every lie.
func statuses(t *testing.T, w *world) {
	sent := func(name string, answers []string, ready string, want ...string) row {
		want = append(want, "send: none", "address: /#swap=0xaaaa")
		return row{
			name: name, statuses: answers, args: []any{ready}, want: want,
			do: `
				wallet({ does: { eth_blockNumber: () => '0x64', eth_getBlockByNumber: () => null } });
				await quote(usdc);
				sendButton().click();
				await until(() => (alertText() + cardText()).includes(args[0]));
				if (!$('sure')) return see();
				note('new swap', named('New swap').disabled);
				const seen = see();
				$('ask').click();
				if (payments() !== 2 || sendButton()) throw new Error('it can be sent again');
				$('sure').click();
				named('New swap').click();
				await until(() => !statusText());
				return seen;`,
		}
	}
	one := func(answer string) []string { return []string{answer} }
	w.check(t,
		sent("settled", []string{`{"state": "NOT_FOUND"}`, `{"state": "PENDING"}`, "503", `{"state": "SETTLING", "burn": {"attestationState": "pending"}}`,
			`{"state": "SETTLED"}`, `{"state": "SETTLING"}`, settled}, "Complete",
			"status: 99.7 USDC arrived on PulseChain|✓ Complete", "title: ✓ 99.7 USDC arrived", "steps: none", "You paid|100 USDC on Ethereum",
			"Total fee|0.3 USDC (0.3 %)", "Sent|2026-11-15 12:00:00 UTC|Arrived|2026-11-15 12:01:05 UTC|Time taken|1 min 5 s",
			"Transaction|0xaaaa", "Payout|0xbbbb…bbbb", "Link|This receipt", "leaving: free"),
		sent("shielded", one(`{"state": "SETTLED", "final": true, "settlement": {"amount": "99700000", "arrived": "99450750"}}`), "Complete",
			"Paid out|99.7 USDC|Arrived|99.45075 USDC after RAILGUN’s fee", "title: ✓ 99.45075 USDC arrived"),
		sent("not final", one(`{"state": "SETTLED", "reason": "What was paid out is not what was swapped.", "nextCheckSeconds": 3600}`), "not final",
			"The payout is not final yet. What was paid out is not what was swapped.", "✓Settled: done", "title: … 99.7 USDC arrived"),
		sent("settling", one(`{"state": "SETTLING", "reason": "The pool is empty.", "contact": "help@example.org", "nextCheckSeconds": 3600,
			"swaps": [{"swap": {"dstChain": "369", "dstToken": "0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07", "recipient": "`+alice+`", "recipientType": 0, "amount": "7"}}, {}]}`),
			"The pool is empty.", onItsWay, "title: … On its way", "Contact|help@example.org", "Swaps|2 in this transaction"),
		sent("failed", []string{`{"state": "PENDING"}`, `{"state": "FAILED", "final": true, "reason": "paused"}`}, "failed on",
			"alert: The transaction failed on the chain.|", "The chain says: paused", hasFailed, "title: ✗ Failed", "new swap: true",
			"I have checked in my wallet that this swap failed and paid nothing."),
		sent("not a swap", one(`{"state": "NOT_A_SWAP", "final": true}`), "not a swap", "alert: This transaction is not a swap.", hasFailed),
		sent("not offered", one("404"), "cannot follow", "This gateway cannot follow swaps on ", "●Confirmed: now", "title: … Sent"),
		sent("failed before it was sent", one(`{"state": "FAILED", "final": true, "source": {"blockNumber": 100}}`), "does not match",
			mismatch, "source.blockNumber is 100, but it was sent after block 100.", notSent, "new swap: true", "leaving: free"),
		sent("settled before it was sent", one(`{"state": "SETTLED", "final": true, "source": {"blockNumber": 99}}`), "does not match", mismatch, notSent),
		sent("another swap", one(`{"state": "SETTLED", "final": true, "swap": {"amount": "100000001"}}`), "does not match",
			mismatch, `swap.amount is "100000001", but must be "100000000".`, notSent, "new swap: true"),
		sent("odd types", one(`{"state": "SETTLED", "settlement": {"txHash": 7, "amount": {"a": 1}}, "nextCheckSeconds": "x"}`), "does not match",
			mismatch, "settlement.txHash is 7, but must be a hash", "○Confirmed: later"),
	)
}

// links: a swap is found again by its address, by the field, and by whoever gets the link.
func links(t *testing.T, w *world) {
	const endpoint = `{"error": "The status is unknown: chain 56, on which the swap is paid out, has no RPC endpoint configured",
		"code": "CHAIN_UNAVAILABLE", "requestId": "r"}`
	opened := func(name, at, answer, ready string, want ...string) row {
		return row{
			name: name, at: at, statuses: []string{answer}, args: []any{ready}, want: append(want, "send: none"),
			do: `
				await until(() => cardText().includes(args[0]));
				note('links', [...document.querySelectorAll('#rest a')].map((link) => link.href));`,
		}
	}
	none := func(at string) row { return row{name: at, at: at, want: []string{"status: none", "send: none"}} }
	noEndpoint := opened("no endpoint", byLink, "", "cannot follow", "status: Status unknown|This gateway cannot follow swaps on BNB Smart Chain.")
	noEndpoint.statuses = nil
	noEndpoint.answers = map[string]http.HandlerFunc{"/v3/swap/status": replies(503, endpoint)}
	w.check(t,
		opened("bookmark", "?chain=1&tx="+hash, settling, "On its way", "status: On its way|", onItsWay, "title: … On its way",
			"card: Swap from Ethereum|", "Transaction|0xaaaa…aaaa", "links: https://explorer.example/tx/"+hash),
		opened("receipt", byLink, settled, "Complete", "status: 99.7 USDC arrived on PulseChain", "You paid|100 USDC on Ethereum",
			"Total fee|0.3 USDC (0.3 %)", "Time taken|1 min 5 s", "Payout|0xbbbb", "links: https://explorer.example/tx/"+hash+",https://pulse.example/tx/"+payout),
		opened("receipt without a payout", byLink, `{"state": "SETTLED", "final": true}`, "Complete", "Payout|See the recipient’s account",
			"https://pulse.example/address/"+alice),
		opened("made-up hash", byLink, `{"state": "NOT_FOUND", "nextCheckSeconds": 3600}`, "Not found",
			"status: Not found|No node of Ethereum knows this transaction. Check the hash and the chain."),
		opened("not followed", byLink, "501", "cannot follow", "status: Status unknown|This gateway cannot follow swaps on Ethereum."),
		noEndpoint,
		none("?chain=1&tx=0x12"), none("?chain=2&tx="+hash), none("?chain=constructor&tx="+hash),
		row{
			name: "no token in the link", at: "?chain=1&tx=" + hash, statuses: []string{settled}, do: "await status('Complete');", never: []string{"You paid"},
		},
		row{
			name: "field", statuses: []string{settled}, do: `
				$('track').open = true;
				$('tx').value = '0x12';
				named('Track').click();
				note('wrong', alertText() + document.activeElement.id);
				track('8453');
				await status('Complete');
				note('card', cardText());
				note('hash', location.hash);
				named('New swap').click();`,
			want: []string{
				"wrong: A transaction hash is 0x and 64 hexadecimal digits.tx", "Transaction|0xaaaa…aaaa Copy on Base", "hash: #swap=" + hash + "&chain=8453",
				"status: none", "address: /?from=", "title: Quote gateway", "focus: amount",
			},
		},
		row{
			name: "second swap", at: "?chain=1&then=USDC%4042161&tx=" + hash, statuses: []string{settled}, do: "await press('Continue to Arbitrum One');",
			want: []string{`"from":"USDC@369","to":"USDC@42161","amount":"99.7"`, "address: /?from=USDC%40369&to=USDC%4042161", "focus: amount"},
		},
		row{
			name: "time", at: byLink, statuses: []string{settling}, do: `
				const since = Date.parse('2026-11-15T12:00:00Z');
				const elapsed = (seconds, words) => {
					Date.now = () => since + seconds * 1000;
					return until(() => $('elapsed')?.textContent.startsWith(words) && $('elapsed').textContent);
				};
				note('early', await elapsed(75, '1 min 15 s'));
				note('late', await elapsed(7500, '2 h 5 min'));`,
			want: []string{"early: 1 min 15 s elapsed, usually about 2 min.\n", "late: 2 h 5 min elapsed", "Taking longer than usual.", "keep its link"},
		},
		row{
			name: "no stated time", at: byLink, statuses: []string{pending}, do: "note('time', await until(() => $('elapsed')?.textContent));",
			want: []string{"s elapsed.\n"}, never: []string{"usually"},
		},
	)
}

// histories: each quote and each sent swap is an entry of the history, and nothing is stored.
func histories(t *testing.T, w *world) {
	w.check(t,
		row{
			name: "back", statuses: []string{settling}, do: `
				const back = async (ready) => { history.back(); await until(ready); };
				wallet();
				const start = history.length;
				await quote(usdc);
				await quote({ amount: '200' });
				await quote({ amount: '200' });
				note('entries', history.length - start);
				await back(() => location.search.includes('amount=100') && statusText().includes('99.7'));
				await until(sendButton);
				for (const box of document.querySelectorAll('#send input[type=checkbox]')) box.click();
				sendButton().click();
				await status('On its way');
				const swap = location.hash;
				named('New swap').click();
				note('fresh', location.href + statusText());
				await back(() => location.hash === swap && statusText().includes('On its way'));
				note('found', cardText());
				await back(() => location.search.includes('amount=100') && named('Show status'));
				note('sent', cardText() + Boolean(sendButton()));
				named('Show status').click();
				await until(() => location.hash === swap && statusText().includes('On its way'));`,
			want: []string{
				"entries: 2\n", "You paid|100 USDC on Ethereum", "You have sent this swap.", "New swapfalse\n", "stored: 0", "transactions: 2\n",
			},
		},
		row{
			name: "back while signing", statuses: []string{settling}, do: `
				let release;
				const held = new Promise((done) => { release = () => done(hash()); });
				wallet({ allowance: '0xffffffffff', does: { eth_sendTransaction: () => held } });
				await quote({ ...usdc, amount: '300' });
				await quote(usdc);
				sendButton().click();
				await until(payments);
				const returned = new Promise((done) => addEventListener('popstate', done, { once: true }));
				history.back();
				await returned;
				await until(() => location.search.includes('amount=100'));
				note('during', $('send-button').textContent);
				release();
				await until(isSwap);`,
			want: []string{"during: Confirm in your wallet", "You paid|100 USDC", "transactions: 1\n"},
		},
	)
}
