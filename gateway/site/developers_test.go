package site_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quotegate/quotegate/shared/testkit/npm"
)

// developers: the requests for a program and the answer, what an older request becomes in v3 without a call of the older
// version, the plan of each version, and the calls of one's own key, which is sent once, in a header, and kept nowhere.
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
		return row{name: name, stays: true, script: "compare a URL", args: []any{url}, want: want, answers: onlyV3}
	}
	example := func(version string, want ...string) row {
		return row{
			name: "example of " + version, at: "developers", script: "compare an example", args: []any{version}, answers: onlyV3,
			want: append(want, "offers: true", "recipient=0x1234567890AbcdEF1234567890aBcdef12345678", "Response of v3: 200"),
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
	// Deleting a version takes its rows away: what is served is asked for.
	w.open(t, "developers")
	served := play[[]string](t, w, "served versions")
	if slices.Contains(served, "v1") {
		w.check(t,
			moves("v1", "https://old.example/v1/quote"+query+"&recipient="+alice, "this page contacts no other host", "offers: true",
				"/v3/swap/quote"+query, "Both versions pay the same amount", "Response of v3: 200",
				"fee.amount\tfee.protocol.amount|370370\tthe unit: it was in the source token", "route.swaps.0.pool\tto|0x17De1fC",
				`// moved from fee.amount, other unit "amount"`, `// moved from route.swaps.0.pool "to"`, `// new "approval"`, `// new "total"`),
			moves("no recipient", "/swap/v1/quote"+query, "v3 rejects this request:", "Always send recipient", "Response of v3: 400",
				"offers: false", "marks: none"),
			moves("partner", "/v1/quote"+query+"&recipient="+alice+"&integratorId="+partner,
				"v3 pays 308641 less, in the destination token’s smallest unit: the partner’s fee", "v3 does not ignore integratorId"),
			example("v1", "old: /v1/quote?srcToken=USDC"),
		)
	}
	if slices.Contains(served, "v3legacy") {
		w.check(t,
			moves("earlier v3", "/v3/swap/quote"+query+"&recipient="+alice, "Response of v3: 200", "Both versions pay", "Remove the header",
				`// moved from fee.amount "amount"`, `// new "integrator"`),
			example("v3legacy", "old: /v3legacy/swap/quote?srcToken=USDC"),
		)
	}
	gone := moves("gone", "/v1/quote?a=b", "alert: The gateway does not answer.")
	gone.answers = map[string]http.HandlerFunc{"/v3/swap/quote": hangUp}
	w.check(t,
		moves("another path", "/constructor", "alert: This is not the path of a quote", "offers: false"),
		moves("another scheme", "javascript:alert(1)", "alert: This is not the path of a quote"),
		moves("no URL", "https://", "alert: This is not a URL."),
		gone,
		row{
			name: "rehearsal", at: "developers", script: "rehearse", args: []any{"retired"},
			want: []string{"v3 active", "No sunset planned.", "GET /v3/swap/quote", "HTTP 410", "VERSION_RETIRED", "api-rehearse: retired"},
		},
		row{
			name: "own calls", at: "developers", script: "own calls", args: []any{key},
			answers: map[string]http.HandlerFunc{"/versions/mine": mine},
			want: []string{
				"You are Harbour.", "15 calls served, 3 refused and 1 with errors within 90 days",
				"The next brownout, 2027-01-12 14:00 UTC, includes you.", "3 calls would be refused by v3, because recipient is missing.",
				"v3legacy active|No call within 90 days", "You are exempt from brownouts", "v2 retired|No call within 90 days|Every call gets 410.",
				"kept: false", "stored: 0",
			},
		},
		row{name: "links", at: "developers", script: "links"},
		row{
			name: "tabs", at: "developers" + link, script: "tabs",
			want: []string{"keys: curl client viem Go curl Go", "clicked: import", "200 from this gateway", "100 USDC on Ethereum to USDC on PulseChain."},
		},
		row{
			name: "answer", at: "developers", script: "answered", answers: onlyV3,
			want: []string{"The recipient is an example: replace it.", "200 from this gateway", `"destAmount": "9970000"`},
		},
		row{
			name: "refused answer", at: "developers?from=USDC@1&to=USDC@369&recipient=0x" + strings.Repeat("0", 40), script: "answered",
			want: []string{"Refused: 400 INVALID_RECIPIENT", `"reason": "ZERO"`},
		},
		row{
			name: "no answer", at: "developers", script: "answered", answers: map[string]http.HandlerFunc{"/v3/swap/quote": hangUp},
			want: []string{"The gateway does not answer."},
		},
	)
	if times := asked.Load(); times != 2 {
		t.Errorf("the page asked %d times, want once for each key", times)
	}
	w.checkWidths(t)
	w.runSnippets(t)
}

// checkWidths: at every width, all can be read, and little moves while the page is filled.
func (w *world) checkWidths(t *testing.T) {
	for width, places := range map[int64][]string{
		1440: {"response: beside", "contents: beside"}, 820: {"response: below", "contents: above"}, 320: {"response: below", "contents: above"},
	} {
		emulate(t, w, "light", width, 900)
		plans := map[string]http.HandlerFunc{"/versions": replies(200, plans)}
		w.check(t,
			row{name: fmt.Sprint("shifts at ", width), at: "developers", script: "shifts", want: []string{"shifts: little"}, answers: plans},
			row{
				name: fmt.Sprint("code at ", width), stays: true, script: "code and contents", never: []string{"broken:"},
				want: append(places, "codes: pre auto 0, pre auto 0", "targets: 6", "sideways: false"),
			},
			row{
				name: fmt.Sprint("plans at ", width), at: "developers", script: "plans", answers: plans, never: []string{"unreadable:"},
				want: []string{
					"v3: tag active, 2 rehearsals, No sunset planned.", "labels of v3: none",
					"v1: tag deprecated, 2 rehearsals, Served until 2027-03-01 00:00 UTC.",
					"2026-09-01 00:00 UTC: deprecated", "2027-03-01 00:00 UTC: sunset: every client gets 410",
					"2027-01-12 14:00 UTC: brownout until 2027-01-12 14:15 UTC: 25\u00a0% of clients get 410", "UTC: today",
					"Use /v3/swap/quote instead. Migration guide", "deprecated 2026-09-01", "brownout 2027-01-12", "sunset 2027-03-01",
					"v4: tag brownout, 2 rehearsals, A brownout is open until 2036-09-01 14:00 UTC: 50\u00a0% of clients get 410.", "planned sunset: every client gets 410, then or later",
					"v5: tag held, 2 rehearsals, The planned sunset, 2026-10-01 00:00 UTC, has passed. Still served; may end any day.",
					"2026-10-01 00:00 UTC: planned sunset, held back: clients are still served",
					"v2: tag retired, 0 rehearsals, Every call gets 410 since 2002-01-01 00:00 UTC.",
					"deprecated 2001-01-01, brownout 2001-10-05, sunset 2002-01-01\n",
				},
			},
		)
	}
}

// runSnippets has the examples do what they say, as they are printed; the tests of the devnet sign with that for viem.
func (w *world) runSnippets(t *testing.T) {
	consumer := npm.Consumer(t)
	for _, tt := range []struct{ name, address, arrives string }{
		{"given", link + "&integrator=" + partner, "99450000"},
		{"shielding, by example", "?from=ETH@1&to=WETH@69696969", ""},
		{"unshielding", "?from=USDC@69696969&to=USDC@1&amount=100&recipient=" + alice, ""},
	} {
		w.reset()
		w.open(t, "developers"+tt.address)
		printed := play[map[string]string](t, w, "snippets")
		files := map[string]string{"curl": "snippet.sh", "client": "snippet.mjs", "go": "snippet.go"}
		for name, command := range map[string][]string{
			"curl": {"sh", "-e"}, "client": {"node"}, "go": {"go", "run"},
		} {
			t.Run(name+", "+tt.name, func(t *testing.T) {
				file := filepath.Join(consumer, files[name])
				if err := os.WriteFile(file, []byte(printed[name]), 0o600); err != nil {
					t.Fatal(err)
				}
				out, err := exec.CommandContext(t.Context(), command[0], append(command[1:], file)...).CombinedOutput()
				if err != nil || !strings.Contains(string(out), tt.arrives) || strings.Contains(string(out), `"error"`) {
					t.Errorf("%v, want %s to arrive:\n%s\n%s", err, tt.arrives, printed[name], out)
				}
			})
		}
	}
}

// plans has a version in each state. Dates that do not pass are long ago.
const plans = `{"versions": [
	{"name": "v3", "state": "active", "brownouts": [], "contract": "/v3/openapi.yaml", "gate": null},
	{"name": "v1", "state": "deprecated", "deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z",
	 "successor": "/v3/swap/quote", "migration": "https://example.org/migrate", "contract": "/v1/openapi.yaml", "gate": null,
	 "brownouts": [{"from": "2027-01-12T14:00:00Z", "to": "2027-01-12T14:15:00Z", "share": 0.25},
	  {"from": "2027-02-16T14:00:00Z", "to": "2027-02-16T18:00:00Z", "share": 1}]},
	{"name": "v4", "state": "brownout", "deprecated": "2026-09-01T00:00:00Z", "sunset": "2036-10-01T00:00:00Z",
	 "successor": "/v3/swap/quote", "gate": {"holds": true},
	 "brownouts": [{"from": "2026-11-01T14:00:00Z", "to": "2036-09-01T14:00:00Z", "share": 0.5}]},
	{"name": "v5", "state": "held", "deprecated": "2026-01-01T00:00:00Z", "sunset": "2026-10-01T00:00:00Z",
	 "successor": "/v3/swap/quote", "gate": {"holds": true},
	 "brownouts": [{"from": "2026-09-14T14:00:00Z", "to": "2026-09-14T14:15:00Z", "share": 0.25},
	  {"from": "2026-09-16T14:00:00Z", "to": "2026-09-16T18:00:00Z", "share": 1}]},
	{"name": "v2", "state": "retired", "deprecated": "2001-01-01T00:00:00Z", "sunset": "2002-01-01T00:00:00Z",
	 "successor": "/v3/swap/quote",
	 "brownouts": [{"from": "2001-10-01T00:00:00Z", "to": "2001-10-01T01:00:00Z", "share": 0.1},
	  {"from": "2001-10-02T00:00:00Z", "to": "2001-10-02T01:00:00Z", "share": 0.25},
	  {"from": "2001-10-03T00:00:00Z", "to": "2001-10-03T01:00:00Z", "share": 0.5},
	  {"from": "2001-10-04T00:00:00Z", "to": "2001-10-04T01:00:00Z", "share": 0.5},
	  {"from": "2001-10-05T00:00:00Z", "to": "2001-10-05T01:00:00Z", "share": 1}]}]}`

const ownVersions = `{"client": "Harbour", "versions": [
	{"name": "v1", "state": "deprecated", "exempt": false,
	 "window": {"from": "2027-01-12T14:00:00Z", "to": "2027-01-12T14:15:00Z", "share": 0.25, "refused": true},
	 "days": [{"day": "2027-01-04", "served": 12, "refused": 3, "failed": 1}, {"day": "2027-01-05", "served": 3, "refused": 0, "failed": 0}],
	 "findings": [{"outcome": "refused", "code": "MISSING_PARAMETER", "param": "recipient", "calls": 3,
	  "says": "3 calls would be refused by v3, because recipient is missing."}]},
	{"name": "v3legacy", "state": "active", "exempt": true, "window": null, "days": [], "findings": []},
	{"name": "v2", "state": "retired", "exempt": true, "window": null, "days": [], "findings": []}, 7, null]}`
