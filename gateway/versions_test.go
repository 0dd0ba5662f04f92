package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

// BenchmarkQuote times a quote of every version for each kind of route, without a connection.
func BenchmarkQuote(b *testing.B) {
	gw := mount(b, setup{})
	kinds := []struct {
		name     string
		src, dst chain.ID
	}{{"direct", 1, 369}, {"burn", 137, 369}, {"shield", 369, chain.PrivacyEthereum}, {"unshield", chain.PrivacyEthereum, 369}}
	for _, m := range modules() {
		for _, kind := range kinds {
			pairs := chain.Pairs()
			i := slices.IndexFunc(pairs, func(p chain.Pair) bool { return p.Src == kind.src && p.Dst == kind.dst })
			target := quotePath(m) + "?" + pairQuery(pairs[i]).Encode()
			b.Run(m.Name+"/"+kind.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					w := httptest.NewRecorder()
					gw.ServeHTTP(w, newRequest(http.MethodGet, target))
					if w.Code != http.StatusOK {
						b.Fatal(w.Code, w.Body)
					}
				}
			})
		}
	}
}

// FuzzQuery sends any query to every version. Whatever it holds, the answer is
// JSON: a quote with everything it must have, or an error that says what is wrong.
func FuzzQuery(f *testing.F) {
	for _, p := range chain.Pairs() {
		f.Add(pairQuery(p).Encode())
	}
	f.Add("srcToken=USDC&srcToken=USDC")
	f.Add("amount=%00&recipientType=2;x=%zz")
	gw, versions := mount(f, setup{}), modules()
	f.Fuzz(func(t *testing.T, query string) {
		for _, m := range versions {
			r := newRequest(http.MethodGet, quotePath(m))
			r.URL.RawQuery = query
			w := send(gw, r)
			_, unreadable := url.ParseQuery(query)
			switch {
			case !json.Valid(w.Body.Bytes()):
				t.Fatalf("%s: not JSON: %s", m.Name, w.Body)
			case w.Code == 200 && (unreadable != nil || w.quoted() == facts{}):
				t.Fatalf("%s: an incomplete quote, or one of a query that cannot be read (%v): %s", m.Name, unreadable, w.Body)
			case w.Code == 200:
			case w.Code != 400 && w.Code != 503 || w.Fault.Error == "" || w.Fault.Code == "":
				t.Fatalf("%s: got %d %s", m.Name, w.Code, w.Body)
			}
		}
	})
}

// TestEveryVersionReplaysItsGoldens makes sure that no version is served
// without goldens, which are replayed in the version's own package.
func TestEveryVersionReplaysItsGoldens(t *testing.T) {
	for _, m := range modules() {
		source, err := os.ReadFile("../" + m.Name + "/golden_test.go")
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(source), `golden.Replay(t, "`+m.Name+`"`) {
			t.Errorf("the tests of %s do not replay its goldens", m.Name)
		}
	}
}

// TestEveryVersionHasWordsForEveryFault holds each dialect to be total: a status, and a
// string under "error". Its contract lists every code that a client can meet, and no other.
func TestEveryVersionHasWordsForEveryFault(t *testing.T) {
	gw := mount(t, setup{})
	allowed := []int{400, 401, 404, 405, 410, 429, 500, 501, 503}
	ofIntegrators := []fault.Code{
		fault.InvalidIntegrator, fault.IntegratorUnregistered, fault.IntegratorInactive,
		fault.IntegratorFeeTooHigh, fault.IntegratorUnverified,
	}
	ofStatus := []fault.Code{fault.StatusUnavailable, fault.ChainUnavailable}
	reasons := []any{
		"ZERO", "CHECKSUM", "NAME", "CONTRACT", "TOKEN", "RESERVED", "PRIVATE_ON_PUBLIC", "PUBLIC_ON_PRIVATE", "MALFORMED",
	}
	for _, m := range modules() {
		contract := golden.ReadContract(t, gw, m.Name).Doc.Components
		var without []fault.Code
		if contract.Parameters["Integrator"] == nil {
			without = append(without, ofIntegrators...)
		}
		if contract.Schemas["Status"] == nil {
			without = append(without, ofStatus...)
		}
		if contract.Schemas["MyVersions"] == nil {
			without = append(without, fault.UsageUnavailable)
		}
		listed := contract.Schemas["KnownErrorCode"].Value.Enum
		for _, code := range fault.Codes() {
			if !slices.Contains(without, code) && !slices.Contains(listed, any(string(code))) {
				t.Errorf("%s: the contract does not list %s", m.Name, code)
			}
			status, body := m.MapFault(fault.New(code, "A sentence"), "id-1")
			var w reply
			text, err := json.Marshal(body)
			if err == nil {
				err = json.Unmarshal(text, &w.Fault)
			}
			if err != nil || !slices.Contains(allowed, status) || w.Fault.Error != "A sentence" ||
				w.Fault.Code != string(code) || w.Fault.RequestID != "id-1" {
				t.Errorf("%s: %s is %d %s", m.Name, code, status, text)
			}
		}
		for _, code := range listed {
			if !slices.Contains(fault.Codes(), fault.Code(code.(string))) {
				t.Errorf("%s: the contract lists %s, which does not exist", m.Name, code)
			}
		}
		if got := contract.Schemas["RecipientReason"].Value.Enum; !slices.Equal(got, reasons) {
			t.Errorf("%s: the contract lists the reasons %v, want %v", m.Name, got, reasons)
		}
	}
}

// TestOldVersionsSayHowToLeave: the letters to clients print the way to the current
// version, whichever that is: which path to call, and what else to do.
func TestOldVersionsSayHowToLeave(t *testing.T) {
	moves := gateway.Moves(modules())
	for _, m := range modules() {
		steps := moves[m.Name]
		switch {
		case m.Name == gateway.Current && len(steps) > 0:
			t.Errorf("the current version tells its clients to leave: %q", steps)
		case m.Name != gateway.Current &&
			(len(steps) < 2 || !strings.HasPrefix(steps[0], "Call /"+gateway.Current+"/swap/quote instead of /")):
			t.Errorf("%s does not say how to leave it: %q", m.Name, steps)
		}
	}
}

// TestVersionsKeepTheContract validates the document of all versions, with a plan in
// force and without one.
func TestVersionsKeepTheContract(t *testing.T) {
	for _, cfg := range []gateway.Config{{}, planOf(t, oldVersions(t)[0].Name, "203.0.113.0/24")} {
		gw := mount(t, setup{Config: cfg})
		r := newRequest(http.MethodGet, "/versions")
		w := send(gw, r)
		golden.ReadContract(t, gw, gateway.Current).Check(t, r, w.ResponseRecorder)
		var listed []string
		for _, v := range read[struct {
			Versions []struct{ Name, Contract string }
		}](t, w).Versions {
			listed = append(listed, v.Name)
			if v.Contract != "/"+v.Name+"/openapi.yaml" {
				t.Errorf("got %+v", v)
			}
		}
		if w.Code != http.StatusOK || !slices.Equal(listed, gateway.Names(modules())) {
			t.Errorf("got %d %q", w.Code, listed)
		}
	}
}

// TestParameters holds contract file, decoder and warning of each version to the same list:
// a parameter in the file is read, since it may not be given twice, and is not named in the
// warning. Any other is named, and not read.
func TestParameters(t *testing.T) {
	gw := mount(t, setup{})
	queryOf := map[string][]string{} // the parameters of each version
	var all []string
	for _, m := range modules() {
		operation := golden.ReadContract(t, gw, m.Name).Doc.Paths.Find(quotePath(m)).Get
		for _, p := range operation.Parameters {
			if p.Value.In == "query" {
				queryOf[m.Name] = append(queryOf[m.Name], p.Value.Name)
			}
		}
		all = append(all, queryOf[m.Name]...)
	}
	all = append(all, "slippage", "IntegratorId")
	for _, m := range modules() {
		for _, name := range all {
			w := ask(gw, quotePath(m)+goodQuote+"&"+name+"=a&"+name+"=b")
			warning := w.Header().Get("Request-Warning")
			if !slices.Contains(queryOf[m.Name], name) {
				if want := "Unknown parameters were ignored: " + name; w.Code != http.StatusOK || warning != want {
					t.Errorf("%s: got %d and the warning %q, want %q", m.Name, w.Code, warning, want)
				}
				continue
			}
			if w.Code != http.StatusBadRequest || w.Fault.Param != name || warning != "" {
				t.Errorf("%s: %s twice: got %d %s and the warning %q", m.Name, name, w.Code, w.Body, warning)
			}
		}
	}
}

// TestRevisions: on the path that v3 and the earlier v3 share, a name that is none of theirs
// is refused, in the format that the host has without one. Elsewhere the header means nothing.
func TestRevisions(t *testing.T) {
	const shared, old = "/v3/swap/quote", "/v3legacy/swap/quote"
	const host, oldHost = "http://gateway.example", "http://legacy.example"
	seen := &events{}
	config := gateway.Config{LegacyHosts: []string{"legacy.example"}}
	gw := mount(t, setup{Config: config, observers: []event.Observer{seen}})
	for _, tt := range []struct {
		host, path string
		revisions  []string
		version    string
		refused    bool
	}{
		{host, shared, nil, "v3", false},
		{host, shared, []string{""}, "v3", false},
		{host, shared, []string{"v3"}, "v3", false},
		{host, shared, []string{"Current"}, "v3", false},
		{host, shared, []string{"LEGACY"}, "v3legacy", false},
		{host, shared, []string{"lagacy"}, "v3", true},
		{host, shared, []string{"v3legacy"}, "v3", true},
		{host, shared, []string{"legacy, legacy"}, "v3", true},
		{host, shared, []string{"legacy", "legacy"}, "v3", true},
		{host, shared, []string{"", "legacy"}, "v3", true},
		{oldHost, shared, nil, "v3legacy", false},
		{oldHost, shared, []string{""}, "v3legacy", false},
		{oldHost, shared, []string{"v3"}, "v3", false},
		{oldHost, shared, []string{"legacy"}, "v3legacy", false},
		{oldHost, shared, []string{"2019"}, "v3legacy", true},
		{oldHost, shared, []string{"v3", "v3"}, "v3legacy", true},
		{host, old, []string{"2019"}, "v3legacy", false},
		{host, old, []string{"v3", "v3"}, "v3legacy", false},
		{host, "/v1/quote", []string{"legacy"}, "v1", false},
	} {
		r := newRequest(http.MethodGet, tt.host+tt.path+goodQuote)
		r.Header["Api-Revision"] = tt.revisions
		w := send(gw, r)
		what := fmt.Sprintf("%s%s with %q", tt.host, tt.path, tt.revisions)
		if got := seen.last().Version; got != tt.version {
			t.Errorf("%s: got %s, want %s", what, got, tt.version)
		}
		switch {
		case !tt.refused && w.Code != http.StatusOK:
			t.Errorf("%s: got %d %s", what, w.Code, w.Body)
		case tt.refused && (w.Code != http.StatusBadRequest || w.Fault.Code != string(fault.InvalidParameter) ||
			w.Fault.Param != "API-Revision"):
			t.Errorf("%s: got %d %s, want it refused", what, w.Code, w.Body)
		}
	}
}

// TestPartialDeployments asks every version of a deployment that lacks pools for every pair: what is served is quoted,
// and everything else is unsupported, in quotes and listings alike.
func TestPartialDeployments(t *testing.T) {
	d := golden.Partial(t)
	gw := golden.GatewayOf(t, d)
	served := d.Pairs()
	if len(served) < 13 {
		t.Fatalf("got %d pairs, want 13 at least: USDC, ETH, USDT and USD1 on their chains", len(served))
	}
	for _, m := range modules() {
		quotes := 0
		for _, p := range chain.Pairs() {
			w := ask(gw, quotePath(m)+"?"+pairQuery(p).Encode())
			if w.Code == http.StatusOK {
				quotes++
			}
			unknown := m.Name == "v1" && w.Fault.Code == "UNSUPPORTED_CHAIN" // it has fewer chains
			switch isServed := slices.Contains(served, p); {
			case unknown && strings.HasSuffix(w.Fault.Error, "; supported chain IDs are 1, 56, 369, 8453"):
			case isServed && w.Code == http.StatusOK:
			case !isServed && w.Code == http.StatusBadRequest && w.Fault.Code == "UNSUPPORTED_PAIR" &&
				strings.HasPrefix(w.Fault.Error, "Unsupported swap pair: "):
			default:
				t.Errorf("%s, %s on %d to %s on %d: got %d %s", m.Name, p.SrcToken.Symbol, p.Src, p.DstToken.Symbol, p.Dst, w.Code, w.Body)
			}
			for _, a := range w.Fault.Alternatives {
				if !slices.ContainsFunc(served, func(s chain.Pair) bool {
					return s.Src == p.Src && s.SrcToken == p.SrcToken && s.Dst.String() == a.DstChain && s.DstToken.Symbol == a.DstToken
				}) {
					t.Errorf("%s, %s on %d: the alternative %v is not served", m.Name, p.SrcToken.Symbol, p.Src, a)
				}
			}
		}
		if quotes == 0 {
			t.Errorf("%s quotes nothing", m.Name)
		}
	}
	type listing struct {
		Data       []struct{ ChainID chain.ID } // of routers
		Settlement map[string]any
		Chains     []struct { // of pairs
			ChainID  chain.ID
			Explorer string
			RPCURLs  []string
		}
		Tokens, Pairs []any
	}
	list := func(target string) listing {
		version, _, _ := strings.Cut(target[1:], "/")
		r := newRequest(http.MethodGet, target)
		w := send(gw, r)
		golden.ReadContract(t, gw, version).Check(t, r, w.ResponseRecorder)
		return read[listing](t, w)
	}
	for _, target := range []string{"/v3/app/routers", "/v3legacy/app/routers"} {
		l := list(target)
		if _, has := l.Settlement["receiver"]; len(l.Data) < 10 || has || l.Settlement["domain"] != 6.0 {
			t.Errorf("%s: got %+v", target, l)
		}
	}
	pairs := list("/v3/app/pairs")
	if len(pairs.Chains) != 5 || len(pairs.Tokens) != 10 || len(pairs.Pairs) != len(served) {
		t.Errorf("got %d chains, %d tokens and %d pairs, want 5, 10 and %d",
			len(pairs.Chains), len(pairs.Tokens), len(pairs.Pairs), len(served))
	}
	for _, row := range pairs.Chains {
		if network, _ := chain.FindNetwork(row.ChainID); row.Explorer != network.Explorer || row.Explorer == "" {
			t.Errorf("chain %s: got the explorer %q, want %q", row.ChainID, row.Explorer, network.Explorer)
		}
		if isHub := row.ChainID == chain.Hub; isHub && !slices.Equal(row.RPCURLs, golden.Nodes) || !isHub && row.RPCURLs != nil {
			t.Errorf("chain %s: got the nodes %q", row.ChainID, row.RPCURLs)
		}
	}
	w := ask(gw, "/v3/swap/quote?"+strings.Replace(pairQuery(served[0]).Encode(), "srcChain=1&", "srcChain=5&", 1))
	const want = "Chain 5 is not supported; supported chain IDs are 1, 56, 369, 4663, 8453"
	if w.Code != http.StatusBadRequest || !strings.HasSuffix(w.Fault.Error, want) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// TestFindings asks old versions and reads what the current one would make of
// the same queries.
func TestFindings(t *testing.T) {
	seen := &events{}
	gw := mount(t, setup{observers: []event.Observer{seen}})
	tests := []struct {
		name, version, query string
		want                 event.Finding
	}{
		{"the same request", "v1", goodQuote, event.Finding{Outcome: event.SameMoney}},
		{"the same request", "v3legacy", goodQuote, event.Finding{Outcome: event.SameMoney}},
		{"no recipient", "v1", someQuote, event.Finding{Outcome: event.Refused, Code: fault.MissingParameter, Param: "recipient"}},
		{"a zero recipient", "v1", someQuote + "&recipient=0x" + strings.Repeat("0", 40),
			event.Finding{Outcome: event.Refused, Code: fault.InvalidRecipient, Param: "recipient"}},
		{"an integrator that is ignored", "v1", goodQuote + "&integratorId=" + partner, event.Finding{Outcome: event.DifferentMoney, Param: "integratorId"}},
		{"an integrator that is ignored", "v3legacy", goodQuote + "&integratorId=" + partner, event.Finding{Outcome: event.DifferentMoney, Param: "integratorId"}},
		{"an integrator that cannot be read", "v1", goodQuote + "&integratorId=partner", event.Finding{Outcome: event.Refused, Code: fault.InvalidIntegrator, Param: "integratorId"}},
		{"an error is not compared", "v1", goodQuote + "&amount=1", event.Finding{}},
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
	ask(gw, quotePath(current())+goodQuote)
	if got := seen.last(); got.Finding != (event.Finding{}) || got.Pair == nil {
		t.Errorf("the current version is compared with itself: %+v", got)
	}
}

// TestFindingsAreTrue holds the comparison to what the current version really answers:
// for every request that an old version answers, the same Request is the same transaction
// and the same money, a refusal is the very refusal, and different money is a different
// answer.
func TestFindingsAreTrue(t *testing.T) {
	old, current := oldVersions(t), current()
	seen := &events{}
	gw := mount(t, setup{observers: []event.Observer{seen}})
	pairs := chain.Pairs()
	found := map[event.Outcome]int{}
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(old).Draw(t, "version")
		query := "?" + drawQuery(t, &pairs[rapid.IntRange(0, len(pairs)-1).Draw(t, "pair")])
		before := ask(gw, quotePath(m)+query)
		if before.Code != http.StatusOK {
			return
		}
		asked := before.quoted()
		finding := seen.last().Finding
		found[finding.Outcome]++
		after := ask(gw, quotePath(current)+query)
		same := after.Code == http.StatusOK && after.quoted() == asked
		refused := after.Code == http.StatusBadRequest && after.Fault.Code == string(finding.Code) && after.Fault.Param == finding.Param
		if want := map[event.Outcome]bool{
			event.SameMoney: same, event.DifferentMoney: !same, event.Refused: refused,
		}; !want[finding.Outcome] || asked == (facts{}) {
			t.Fatalf("%s%s is found %+v, and %s answers %d %s", quotePath(m), query, finding, current.Name, after.Code, after.Body)
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

// TestLegacyHosts are names that a Host header can have: what no request can match is a mistake.
func TestLegacyHosts(t *testing.T) {
	valid := []string{"old.example", "OLD.example", "203.0.113.5", "gateway", "my_gateway-2", "xn--bcher-kva.example"}
	if err := (&gateway.Config{LegacyHosts: valid}).Validate(); err != nil {
		t.Error(err)
	}
	invalid := []string{
		"", "*", "*.example", "old.*", "https://old.example", "old.example:8080", "old.example/v3", "old.example.", ".example",
		"old..example", "-old.example", "old example", "bücher.example", "[::1]", "old.example\n", "?ld.example",
		strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 127),
	}
	err := (&gateway.Config{LegacyHosts: invalid}).Validate()
	lines := strings.Split(fmt.Sprint(err), "\n")
	for i, host := range invalid {
		if len(lines) != len(invalid) || !strings.HasPrefix(lines[i], fmt.Sprintf("LEGACY_HOSTS: %q is not a host name", host)) {
			t.Fatalf("got %q, want a problem of each of %q", lines, invalid)
		}
	}
}
