package gateway_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/web"
)

// Integrators of golden.Core: one in good standing, one switched off, one that
// is not registered.
const (
	partner      = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
	inactive     = "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB"
	unregistered = "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"
)

// TestFindings asks old versions and reads what the current one would make of
// the same queries.
func TestFindings(t *testing.T) {
	seen := &events{}
	gw := mount(t, setup{observers: []event.Observer{seen}})
	const asked = someQuote + "&recipient=" + somebody
	tests := []struct {
		name, version, query string
		want                 event.Finding
	}{
		{"the same request", "v1", asked, event.Finding{Outcome: event.SameMoney}},
		{"the same request", "v3legacy", asked, event.Finding{Outcome: event.SameMoney}},
		{"no recipient", "v1", someQuote, event.Finding{Outcome: event.Refused, Code: fault.MissingParameter, Param: "recipient"}},
		{"a zero recipient", "v1", someQuote + "&recipient=0x" + strings.Repeat("0", 40),
			event.Finding{Outcome: event.Refused, Code: fault.InvalidRecipient, Param: "recipient"}},
		{"an integrator that is ignored", "v1", asked + "&integratorId=" + partner, event.Finding{Outcome: event.DifferentMoney, Param: "integratorId"}},
		{"an integrator that is ignored", "v3legacy", asked + "&integratorId=" + partner, event.Finding{Outcome: event.DifferentMoney, Param: "integratorId"}},
		{"an integrator that cannot be read", "v1", asked + "&integratorId=partner", event.Finding{Outcome: event.Refused, Code: fault.InvalidIntegrator, Param: "integratorId"}},
		{"an error is not compared", "v1", asked + "&amount=1", event.Finding{}},
	}
	for _, m := range modules() {
		for _, tt := range tests {
			if tt.version != m.Name {
				continue
			}
			t.Run(m.Name+": "+tt.name, func(t *testing.T) {
				ask(gw, quotePath(m)+tt.query)
				if got := seen.last(); got.Finding != tt.want || got.Version != m.Name {
					t.Errorf("got %+v of %s, want %+v", got.Finding, got.Version, tt.want)
				}
			})
		}
	}
	ask(gw, quotePath(current())+asked)
	if got := seen.last(); got.Finding != (event.Finding{}) || got.Pair == nil {
		t.Errorf("the current version is compared with itself: %+v", got)
	}
}

// TestFindingsAreTrue holds the comparison to what the current version really
// answers: for every request that an old version answers, the same Request is
// the same transaction and the same money, a refusal is the very refusal, and
// different money is a different answer.
func TestFindingsAreTrue(t *testing.T) {
	old, current, known := oldVersions(t), current(), learn(t)
	seen := &events{}
	gw := mount(t, setup{observers: []event.Observer{seen}})
	pairs := chain.Pairs()
	found := map[event.Outcome]int{}
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(old).Draw(t, "version")
		query := drawQuery(t, &pairs[rapid.IntRange(0, len(pairs)-1).Draw(t, "pair")])
		status, before := answerOf(t, gw, m, known[m.Name], query)
		if status != http.StatusOK {
			return
		}
		finding := seen.last().Finding
		found[finding.Outcome]++
		status, after := answerOf(t, gw, current, known[current.Name], query)
		same := status == http.StatusOK && after.facts == before.facts
		switch finding.Outcome {
		case event.SameMoney:
			if !same {
				t.Fatalf("%s?%s is called the same, and %s answers %d %+v instead of %+v", quotePath(m), query, current.Name, status, after, before)
			}
		case event.DifferentMoney:
			if same {
				t.Fatalf("%s?%s is called different, and %s answers the same", quotePath(m), query, current.Name)
			}
		case event.Refused:
			if status != http.StatusBadRequest || after.Code != finding.Code || after.Param != finding.Param {
				t.Fatalf("%s?%s should be refused as %+v, and %s answers %d %s %s", quotePath(m), query, finding, current.Name, status, after.Code, after.Param)
			}
		default:
			t.Fatalf("%s?%s was answered and not compared", quotePath(m), query)
		}
	})
	if testing.Short() {
		return // too few requests to come across every outcome
	}
	for _, outcome := range []event.Outcome{event.SameMoney, event.DifferentMoney, event.Refused} {
		if found[outcome] == 0 {
			t.Errorf("no request was found %s: %v", outcome, found)
		}
	}
}

// drawQuery draws a request over a pair, as sloppy as clients of an old version
// can be.
func drawQuery(t *rapid.T, p *chain.Pair) string {
	hundredths := rapid.IntRange(10_00, 25_000_00) // of a token: the limits of a stablecoin
	if p.SrcToken.Symbol == chain.ETH || p.SrcToken.Symbol == chain.WETH {
		hundredths = rapid.IntRange(1, 20_00)
	}
	amount := strconv.Itoa(hundredths.Draw(t, "hundredths")) + strings.Repeat("0", int(p.SrcToken.Decimals)-2)
	name := func(token *chain.Token, label string) string {
		return rapid.SampledFrom([]string{token.Symbol, strings.ToLower(token.Symbol), token.Address.String(), strings.ToLower(token.Address.String())}).Draw(t, label)
	}
	q := url.Values{
		"srcToken": {name(&p.SrcToken, "srcToken")}, "dstToken": {name(&p.DstToken, "dstToken")}, "amount": {amount},
		"srcChain": {p.Src.String()}, "dstChain": {p.Dst.String()},
	}
	recipients := []string{somebody, strings.ToLower(somebody), "", "0x" + strings.Repeat("0", 40)}
	if p.Dst.Private() {
		recipients = []string{private}
	}
	optional := func(name string, values ...string) {
		if i := rapid.IntRange(-1, len(values)-1).Draw(t, name); i >= 0 {
			q.Set(name, values[i])
		}
	}
	if recipient := rapid.SampledFrom(recipients).Draw(t, "recipient"); recipient != "" {
		q.Set("recipient", recipient)
	}
	optional("recipientType", "0", "2", strconv.Itoa(rapid.IntRange(0, 9).Draw(t, "digit")))
	optional("integratorId", partner, inactive, unregistered, "0x", "partner")
	optional("slippage", "1", "")
	return q.Encode()
}

// gist is what two answers are compared by.
type gist struct {
	facts
	Code  fault.Code
	Param string
}

func answerOf(t *rapid.T, h http.Handler, m web.Module, known words, query string) (status int, got gist) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", quotePath(m)+"?"+query, nil))
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("not JSON: %s", w.Body)
	}
	got.facts = known.read(w.Body.Bytes())
	got.Calldata = golden.MaskNote(got.Calldata)
	return w.Code, got
}
