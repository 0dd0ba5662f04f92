package v3_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

const usdt = "0xdac17f958d2ee523a2206206994597c13d831ec7"

// judgeOther wants a quote refused with the right words, or accepted with the right calls.
func judgeOther(t *testing.T, o *otherKnown, got verifyReport) {
	t.Helper()
	if o.says != "" {
		wantRefused(t, o.name, got, o.says)
		return
	}
	var functions []string
	for _, call := range got.Calls {
		functions = append(functions, call.Data[:10])
	}
	if !got.OK || !strings.Contains(strings.Join(got.Unchecked, "\n"), o.unchecked) || o.functions != nil && !slices.Equal(functions, o.functions) {
		t.Errorf("%s: got %v with calls %v and unchecked %q, want it accepted with %v and %q", o.name, got.Problems, functions, got.Unchecked, o.functions, o.unchecked)
	}
}

// readOthers makes what else may be known: a listing of a later release, a wrong one, routers beside it, an allowance.
func readOthers(t *testing.T, input *verifyInput) []otherKnown {
	t.Helper()
	var compact bytes.Buffer
	if err := json.Compact(&compact, input.Pairs); err != nil {
		t.Fatal(err)
	}
	quote := func(name string) (map[string]string, json.RawMessage) {
		i := slices.IndexFunc(input.Quotes, func(q verifyQuote) bool { return q.Name == name })
		return maps.Clone(input.Quotes[i].Request), input.Quotes[i].Quote
	}
	listing := func(edits ...string) map[string]any {
		text := compact.String()
		for i := 0; i < len(edits); i += 2 {
			if !strings.Contains(text, edits[i]) {
				t.Fatalf("the listing has no %s", edits[i])
			}
			text = strings.ReplaceAll(text, edits[i], edits[i+1])
		}
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		return map[string]any{"listing": value}
	}
	with := func(known map[string]any, name string, value any) map[string]any {
		known[name] = value
		return known
	}
	request, plain := quote("direct")
	tether, tetherQuote := quote("direct-usdt")
	const (
		pair          = `"srcChain":1,"srcToken":"USDC","dstChain":369,"dstToken":"USDC","type":"DIRECT","protocolFee":0.3`
		usdc, router  = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d"
		evil          = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
		approve, swap = "0x095ea7b3", "0x095ff22d"
	)
	changed := func(old, new string) map[string]any { return listing(pair, strings.Replace(pair, old, new, 1)) }
	// A chain that this version does not know, and its token: the quote says so everywhere.
	newRequest := maps.Clone(request)
	newRequest["srcChain"] = "5042"
	newQuote := strings.NewReplacer(`"chainId": 1`+"\n", `"chainId": 5042`+"\n", usdc, evil, strings.ToLower(usdc), evil).Replace(string(plain))
	newPair := `{` + strings.Replace(pair, `"srcChain":1`, `"srcChain":5042`, 1) + `,"feeChainId":369,"to":"` + router + `"}`
	newToken := `{"chainId":5042,"symbol":"USDC","address":"` + evil + `","decimals":6,"minAmount":"10000000","maxAmount":"25000000000"}`
	newListing := listing(`"chains":[`, `"chains":[{"chainId":5042,"name":"New"},`, `"tokens":[`, `"tokens":[`+newToken+",", `"pairs":[`, `"pairs":[`+newPair+",")
	reviewed := []any{map[string]any{"chainId": 1, "symbol": "USDC", "token": usdc, "router": evil}}
	return []otherKnown{
		{name: "the true listing", Known: listing(), Request: request, Quote: plain, functions: []string{approve, swap}},
		{name: "a new chain", Known: newListing, Request: newRequest, Quote: json.RawMessage(newQuote), unchecked: `The address of "USDC" on chain 5042, ` + evil},
		{name: "other limits", Known: listing(`"maxAmount":"25000000000"`, `"maxAmount":"1000"`, `"minAmount":"10000000"`, `"minAmount":"1"`), Request: request, Quote: plain, says: "but must be 1 to 1000."},
		{name: "another fee", Known: changed("0.3", "0.2"), Request: request, Quote: plain, says: "The fee would be different. Quote: 0.3 · expected: 0.2 (fee.protocol.percentage)"},
		{name: "a fee of 2 %", Known: changed("0.3", "2"), Request: request, Quote: plain, says: "a fee of at most 1 %"},
		{name: "a new kind of route", Known: changed("DIRECT", "TELEPORT"), Request: request, Quote: plain, says: `does not know routes of type "TELEPORT": use a newer one.`},
		{name: "a pair that is gone", Known: changed("369", "56"), Request: request, Quote: plain, says: "request must have a supported pair"},
		{name: "a pair that is there twice", Known: listing("{"+pair, `{`+pair+`,"feeChainId":369,"to":"`+evil+`"},{`+pair), Request: request, Quote: plain, says: `The listing must have one row for "USDC" on chain 1 to "USDC" on chain 369`},
		{name: "another address of a known token", Known: listing(usdc, evil), Request: request, Quote: plain, says: "The listing must have " + strings.ToLower(usdc) + " with 6 decimals for USDC on chain 1."},
		{name: "another contract", Known: listing(router, evil), Request: request, Quote: plain, says: "You would pay a different contract. Quote: 0x2ad5…229d · expected: 0xfb69…d359 (to)"},
		{name: "reviewed routers win", Known: with(listing(), "routers", reviewed), Request: request, Quote: plain, says: "You would pay a different contract. Quote: 0x2ad5…229d · expected: 0xfb69…d359 (to)"},
		{name: "nothing known", Known: map[string]any{}, Request: request, Quote: plain, says: "routers must have one row"},
		{name: "USDT without a reading", Known: listing(), Request: tether, Quote: tetherQuote, functions: []string{approve, approve, swap}},
		{name: "USDT, nothing allowed", Known: with(listing(), "allowance", "0"), Request: tether, Quote: tetherQuote, functions: []string{approve, swap}},
		{name: "USDT, a little allowed", Known: with(listing(), "allowance", "1"), Request: tether, Quote: tetherQuote, functions: []string{approve, approve, swap}},
		{name: "USDT, enough allowed", Known: with(listing(), "allowance", "25000000000"), Request: tether, Quote: tetherQuote, functions: []string{swap}},
		{name: "an allowance in words", Known: with(listing(), "allowance", "much"), Request: tether, Quote: tetherQuote, functions: []string{approve, approve, swap}},
	}
}
