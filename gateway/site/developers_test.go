package site_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// developers: the requests for a program, what an older request becomes in v3 without a call of the older version, the
// life of each version, and the calls of one's own key, which is sent once, in a header, and kept nowhere.
func developers(t *testing.T, w *world) {
	const query = "?srcToken=USDC&dstToken=USDC&amount=123456789012345678901&srcChain=56&dstChain=369"
	const key = "qg_0123456789012345678901234567890123456789012"
	counts := func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the page calls %s with %v, which counts as a use of an older version", r.RequestURI, r.Header)
		panic(http.ErrAbortHandler)
	}
	onlyV3 := map[string]http.HandlerFunc{
		"/v1/quote": counts, "/swap/v1/quote": counts, "/v3legacy/swap/quote": counts,
		"/v3/swap/quote": func(rw http.ResponseWriter, r *http.Request) {
			if r.Header.Get("API-Revision") != "v3" { // a legacy host would take it for the earlier v3
				counts(rw, r)
			}
			w.pass(rw, r, func(body string) string { return body })
		},
	}
	moves := func(name, url string, want ...string) row {
		return row{
			name: name, stays: true, args: []any{url}, want: want, answers: onlyV3,
			do: `
				$('moved').replaceChildren();
				$('old').value = args[0];
				$('move-form').querySelector('button').click();
				await until(() => alertText() || $('moved').innerText);
				note('offers', $('moved').innerText.includes('New URL'));`,
		}
	}
	var asked atomic.Int32
	mine := func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("API-Key") != key {
			replies(401, `{"error": "only a key proves whose they are", "code": "UNKNOWN_KEY", "requestId": "1"}`)(rw, r)
			return
		}
		fmt.Fprint(rw, ownVersions)
	}
	curl := "curl '" + w.url + "/v3/swap/quote?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369&recipient=" + alice + "&include=details'"
	// Deleting a version takes its rows away: what is served is asked for.
	w.open(t, "developers")
	served := strings.Join(run[[]string](t, w, "return JSON.parse($('listing').textContent).versions;"), " ") + " "
	if strings.Contains(served, "v1 ") {
		w.check(t,
			moves("v1", "https://old.example/v1/quote"+query+"&recipient="+alice, "this page contacts no other host", "offers: true",
				"/v3/swap/quote"+query, "Both versions pay the same amount", "Response of v3: 200",
				"fee.amount\tfee.protocol.amount|370370\tthe unit: it was in the source token", "route.swaps.0.pool\tto|0x17De1fC"),
			moves("no recipient", "/swap/v1/quote"+query, "v3 rejects this request:", "Always send recipient", "Response of v3: 400", "offers: false"),
			moves("partner", "/v1/quote"+query+"&recipient="+alice+"&integratorId="+partner, "v3 pays 308641 less, in the destination token’s smallest unit: the partner’s fee", "v3 does not ignore integratorId"),
		)
	}
	if strings.Contains(served, "v3legacy ") {
		w.check(t, moves("earlier v3", "/v3/swap/quote"+query+"&recipient="+alice, "Response of v3: 200", "Both versions pay", "Remove the header"))
	}
	gone := moves("gone", "/v1/quote?a=b", "alert: The gateway does not answer.")
	gone.answers = map[string]http.HandlerFunc{"/v3/swap/quote": hangUp}
	w.check(t,
		moves("another path", "/constructor", "alert: This is not the path of a quote", "offers: false"),
		moves("another scheme", "javascript:alert(1)", "alert: This is not the path of a quote"),
		moves("no URL", "https://", "alert: This is not a URL."),
		gone,
		row{
			name: "rehearsal", at: "developers", do: "await press('Rehearse retired'); await until(() => document.querySelector('.life pre'));",
			want: []string{"v3 active", "No sunset planned.", "GET /v3/swap/quote", "HTTP 410", "VERSION_RETIRED", "api-rehearse: retired"},
		},
		row{
			name: "plan", at: "developers", answers: map[string]http.HandlerFunc{"/versions": replies(200, plan)},
			do: "await until(() => $('lives').innerText); note('shapes', document.querySelectorAll('.life svg rect').length);",
			want: []string{
				"2026-09-01 00:00 UTC: deprecated", "2027-01-12 14:00 UTC: brownout until 2027-01-12 14:15 UTC: 25 % of clients get 410",
				"2027-03-01 00:00 UTC: sunset: every client gets 410", "Use /v3/swap/quote instead. Migration guide", "UTC: now", "shapes: 6",
			},
		},
		row{
			name: "own calls", at: "developers", args: []any{key}, answers: map[string]http.HandlerFunc{"/versions/mine": mine},
			do: `
				const show = async (key, ready) => {
					$('own-key').value = key;
					$('own-form').querySelector('button').click();
					await until(() => $('lives').innerText.includes(ready));
				};
				await until(() => $('own-key'));
				await show('', 'Enter your API key');
				await show('qg_wrong', 'only a key proves');
				await show(args[0], 'You are Harbour');
				note('kept', (location.href + document.documentElement.outerHTML).includes(args[0]));`,
			want: []string{
				"You are Harbour.", "15 calls served, 3 refused and 1 with errors within 90 days", "The next brownout, 2027-01-12 14:00 UTC, includes you.",
				"3 calls would be refused by v3, because recipient is missing.", "v3legacy: active|No call within 90 days", "You are exempt from brownouts",
				"kept: false", "stored: 0",
			},
		},
		row{
			name: "requests", at: "developers" + link, do: `
				let copied;
				Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { copied = text; } }, configurable: true });
				document.querySelector('[aria-label="Copy curl"]').click();
				await until(() => copied);
				note('copied', copied + ', ' + $('said').textContent);
				Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true });
				document.querySelector('[aria-label="Copy client"]').click();
				await until(() => named('Select and copy'));
				for (const { href } of $('contracts').querySelectorAll('a')) if (!(await fetch(href)).ok) throw new Error(href);`,
			want: []string{
				"copied: " + curl + ", Copied curl", `amount: "100000000"`, "await client.quote({", "wallet.sendTransaction({ account, chain,",
				"wallet.switchChain({ id: chain.id })",
			},
		},
	)
	if times := asked.Load(); times != 2 {
		t.Errorf("the page asked %d times, want once for each key", times)
	}
}

const plan = `{"versions": [
	{"name": "v3", "state": "active", "brownouts": [], "contract": "/v3/openapi.yaml", "gate": null},
	{"name": "v1", "state": "deprecated", "deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z",
	 "successor": "/v3/swap/quote", "migration": "https://example.org/migrate", "contract": "/v1/openapi.yaml", "gate": null,
	 "brownouts": [{"from": "2027-01-12T14:00:00Z", "to": "2027-01-12T14:15:00Z", "share": 0.25},
	  {"from": "2027-02-16T14:00:00Z", "to": "2027-02-16T18:00:00Z", "share": 1}]}]}`

const ownVersions = `{"client": "Harbour", "versions": [
	{"name": "v1", "state": "deprecated", "exempt": false,
	 "window": {"from": "2027-01-12T14:00:00Z", "to": "2027-01-12T14:15:00Z", "share": 0.25, "refused": true},
	 "days": [{"day": "2027-01-04", "served": 12, "refused": 3, "failed": 1}, {"day": "2027-01-05", "served": 3, "refused": 0, "failed": 0}],
	 "findings": [{"outcome": "refused", "code": "MISSING_PARAMETER", "param": "recipient", "calls": 3,
	  "says": "3 calls would be refused by v3, because recipient is missing."}]},
	{"name": "v3legacy", "state": "active", "exempt": true, "window": null, "days": [], "findings": []}, 7, null]}`
