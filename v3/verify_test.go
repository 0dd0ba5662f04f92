package v3_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/fee"
)

// verifyInput is what testdata/verify/run.mjs reads.
type verifyInput struct {
	Listing     json.RawMessage `json:"listing"` // of routers
	Pairs       json.RawMessage `json:"pairs"`
	Now         time.Time       `json:"now"`
	Quotes      []verifyQuote   `json:"quotes"`
	Alterations []alteration    `json:"alterations"`
	Requests    []otherRequest  `json:"requests"`
	Calldata    []string        `json:"calldata"`
	Lies        []string        `json:"lies"`        // the quotes that are altered digit by digit
	ListingLies []string        `json:"listingLies"` // the quotes whose listing is altered in the same way
	Hostile     []string        `json:"hostile"`     // the quotes in which every value is replaced by hostile ones

	Others   []otherKnown     `json:"others"`
	Listings []alteredListing `json:"listings"`

	decoded []decodedCall // what Calldata must decode to
}

// otherKnown is a quote checked against something else than the true listings.
type otherKnown struct {
	Known   map[string]any    `json:"known"`
	Request map[string]string `json:"request"`
	Quote   json.RawMessage   `json:"quote"`

	name, says string   // a problem; if none, it is accepted
	unchecked  string   // and this is said
	functions  []string // of the calls
}

type verifyQuote struct {
	Name    string            `json:"name"`
	Request map[string]string `json:"request"`
	Quote   json.RawMessage   `json:"quote"`
}

// alteration of a quote or of the router listing. The Go client has the same, in v3/client.
type alteration struct {
	Name string          `json:"name"`
	Of   string          `json:"of"`
	Base string          `json:"base"`
	Edit json.RawMessage `json:"edit"`
	Says []string        `json:"says"` // all problems, in both languages
	JS   string          `json:"js"`   // or what one of this client's must say, of an answer that has another form
}

// alteredListing is a case of testdata/verify/listings.json, which says what the fields mean. The Go client has the same.
type alteredListing struct {
	Name    string            `json:"name"`
	Of      string            `json:"of"`
	Base    string            `json:"base"`
	Listing json.RawMessage   `json:"listing"`
	Quote   json.RawMessage   `json:"quote,omitempty"`
	Ask     map[string]string `json:"ask,omitempty"`
	Want    string            `json:"want"`
	JS      string            `json:"js"`
}

// otherRequest is a request that a quote was not given for.
type otherRequest struct {
	Name   string            `json:"name"`
	Base   string            `json:"base"`
	Change map[string]string `json:"change"`

	says string
}

type decodedCall struct {
	Function  string            `json:"function"`
	Arguments map[string]string `json:"arguments"`
	Hook      map[string]string `json:"hook"`
}

// verifyOutput is what run.mjs makes of its input.
type verifyOutput struct {
	Pairs                         []verifyPair
	Quotes, Alterations, Requests map[string]verifyReport
	Others                        []verifyReport
	Listings                      map[string]struct {
		Reports []verifyReport
		Calls   []verifyCall // with the true listing
	}
	Decoded           []decodedCall
	Lies, ListingLies map[string]struct {
		Told   int
		Passed []string
	}
	Hostility map[string]struct {
		Tried int
		Wrong []string
	}
}

type verifyReport struct {
	OK, Expired                  bool
	Problems, Unchecked, Checked []string
	Calls, Wrap                  []verifyCall
	SendCalls                    *struct {
		ChainID string
		Calls   []verifyCall
	}
}

type verifyCall struct{ ChainID, To, Data, Value string }

type verifyPair struct {
	SrcChain, DstChain chain.ID
	SrcToken, DstToken verifyToken
	Type               string
	Fee                json.Number
	Min, Max           string
}

type verifyToken struct {
	Address, Symbol string
	Decimals        uint8
	ChainID         chain.ID
}

// TestVerify runs verify.js on its own, as somebody does who copies the file. The browser runs it in gateway/site.
func TestVerify(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it checks every alteration in Node; make test-all runs it")
	}
	needNode(t)
	t.Parallel() // beside what TestClient waits for
	input := readVerifyInput(t)
	folder := t.TempDir()
	writeFile(t, folder, "verify.mjs", readFile(t, "client/npm/verify.js"))
	writeFile(t, folder, "run.mjs", readFile(t, "../testdata/verify/run.mjs"))
	writeFile(t, folder, "input.json", []byte(marshal(t, input)))
	cmd := exec.CommandContext(t.Context(), "node", "run.mjs")
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	judge(t, input, out)
}

// readVerifyInput collects the cases: every quote on record, with details and without, and what is altered in them.
func readVerifyInput(t *testing.T) verifyInput {
	t.Helper()
	input := verifyInput{Now: time.Date(2026, time.November, 15, 12, 0, 1, 0, time.UTC)}
	files, err := filepath.Glob("../testdata/v3/*.http")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".http")
		request, body := readExchange(t, path)
		switch {
		case name == "routers":
			input.Listing = body
		case name == "pairs":
			input.Pairs = body
		case request["amount"] != "" && body != nil:
			input.Quotes = append(input.Quotes, verifyQuote{name, request, body})
		}
	}

	input.Quotes = append(input.Quotes, everyPair(t)...)
	var details struct {
		Quotes []struct {
			Name, Golden, From string
			Details            json.RawMessage
		}
		Alterations []alteration
	}
	decodeFile(t, "../testdata/verify/details.json", &details)
	for _, d := range details.Quotes {
		request, body := readExchange(t, "../testdata/v3/"+d.Golden+".http")
		if d.From != "" {
			request["from"] = d.From
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(body, &fields); err != nil {
			t.Fatal(err)
		}
		fields["details"] = d.Details
		if body, err = json.Marshal(fields); err != nil {
			t.Fatal(err)
		}
		input.Quotes = append(input.Quotes, verifyQuote{"details/" + d.Name, request, body})
	}
	for _, a := range details.Alterations {
		a.Name = "details/" + a.Name
		a.Of = "quote"
		a.Base = "details/" + a.Base
		input.Alterations = append(input.Alterations, a)
	}
	var alterations []alteration
	decodeFile(t, "../testdata/verify/alterations.json", &alterations)
	input.Alterations = append(input.Alterations, alterations...)
	input.Hostile = []string{"details/dry run", "details/burn with an integrator"}
	// One quote of each kind of route.
	input.ListingLies = []string{
		"details/native", "details/burn with an integrator", "details/shielding", "details/unshielding",
	}
	input.Lies = append(input.ListingLies, "direct", "integrator-address", "details/reset", "details/dry run")
	input.Requests = otherRequests
	input.Calldata, input.decoded = readVectors(t)
	input.Others = readOthers(t, &input)
	var listings struct{ Cases []alteredListing }
	decodeFile(t, "../testdata/verify/listings.json", &listings)
	input.Listings = listings.Cases
	return input
}

// everyPair is a quote of each pair.
func everyPair(t *testing.T) (quotes []verifyQuote) {
	t.Helper()
	gw := golden.Gateway(t)
	for _, p := range chain.Pairs() {
		least, _ := fee.Limits(&p.SrcToken)
		request := map[string]string{
			"srcToken": p.SrcToken.Symbol, "dstToken": p.DstToken.Symbol, "amount": least.Dec()[:1] + "2345678" + least.Dec()[8:],
			"srcChain": p.Src.String(), "dstChain": p.Dst.String(), "recipient": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
		}
		if p.Dst.Private() {
			request["recipient"] = "0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s860w8vyalll36xdq7w39djr40dhrdafqpdmhpa"
		}
		query := url.Values{}
		for name, value := range request {
			query.Set(name, value)
		}
		w := httptest.NewRecorder()
		gw.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v3/swap/quote?"+query.Encode(), nil))
		name := fmt.Sprintf("%s on %s to %s on %s", p.SrcToken.Symbol, p.Src, p.DstToken.Symbol, p.Dst)
		quotes = append(quotes, verifyQuote{name, request, w.Body.Bytes()})
	}
	return quotes
}

// otherRequests are all to be refused.
var otherRequests = []otherRequest{
	{"another amount", "direct", map[string]string{"amount": "123456788"}, "You would pay a different amount. Quote: 123456789 · yours: 123456788 (srcAmount)"},
	{"another destination", "outbound", map[string]string{"dstChain": "8453"}, "The money would arrive on a different chain. Quote: 1 · yours: 8453 (destToken.chainId)"},
	{"another token", "direct", map[string]string{"srcToken": "USDT"}, "You would pay with a different token. Quote: USDC · yours: USDT (srcToken.symbol)"},
	{"another recipient", "direct", map[string]string{"recipient": "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"}, "The money would go to someone else. Quote: 0x5aae…eaed · yours: 0xfb69…d359 (methodParameters.calldata.arguments.recipient)"},
	{"an integrator", "direct", map[string]string{"integratorId": "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"}, "The integrator's fee would go to someone else. Quote: left out · expected: "},
	{"another integrator", "integrator-address", map[string]string{"integratorId": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}, "The integrator's fee would go to someone else. Quote: 0xfb69…d359 · expected: 0x5aae…eaed (fee.integrator.address)"},
	{"no such pair", "direct", map[string]string{"dstChain": "10"}, "request must have a supported pair"},
	{"chain in hexadecimal", "direct", map[string]string{"srcChain": "0x1"}, "request must have a supported pair"},
	{"no amount", "direct", map[string]string{"amount": ""}, `request.amount is "", but must be 10000000 to 25000000000.`},
	{"amount with a fraction", "direct", map[string]string{"amount": "10.5"}, `request.amount is "10.5`},
	{"amount below the least", "direct", map[string]string{"amount": "9999999"}, `request.amount is "9999999`},
	{"amount above the most", "native", map[string]string{"amount": "20000000000000000001"}, `request.amount is "20000000000000000001`},
	{"recipient: zero", "direct", map[string]string{"recipient": "0x0000000000000000000000000000000000000000"}, "request.recipient"},
	{"recipient: below 0x10000", "direct", map[string]string{"recipient": "0x000000000000000000000000000000000000ffff"}, "request.recipient"},
	{"recipient: native sentinel", "direct", map[string]string{"recipient": "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"}, "request.recipient"},
	{"recipient: destination token", "direct", map[string]string{"recipient": "0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07"}, "request.recipient"},
	{"recipient: a router", "direct", map[string]string{"recipient": "0x4D7eD8Dac5a922CEffC95795b6196Ab8E74B80E5"}, "request.recipient"},
	{"recipient: the receiver", "direct", map[string]string{"recipient": "0x25b3Af079309a5477760AC0405107952d11c8fd9"}, "request.recipient"},
	{"recipient: short", "direct", map[string]string{"recipient": "0x12"}, "request.recipient"},
	{"recipient: 0zk on a public chain", "direct", map[string]string{"recipient": "0zk1" + strings.Repeat("q", 123)}, "request.recipient"},
	{"recipient: EVM in a pool", "shield", map[string]string{"recipient": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}, "request.recipient must be a 0zk address"},
	{"recipient type 2 on a public chain", "direct", map[string]string{"recipientType": "2"}, "request.recipientType"},
	{"integrator: zero", "direct", map[string]string{"integratorId": "0x0000000000000000000000000000000000000000"}, "request.integratorId"},
	{"integrator: not padded with zeros", "direct", map[string]string{"integratorId": "0x01" + strings.Repeat("0", 22) + "fB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"}, "request.integratorId"},
}

// judge holds what verify.js said against what it should have said.
func judge(t *testing.T, input verifyInput, data []byte) {
	t.Helper()
	var got verifyOutput
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	for _, q := range input.Quotes {
		judgeQuote(t, q, got.Quotes[q.Name], input.Now)
	}
	for _, a := range input.Alterations {
		report := got.Alterations[a.Name]
		wantRefused(t, a.Name, report, cmp.Or(a.JS, strings.Join(a.Says, "\n")))
		if a.Says != nil && !slices.Equal(report.Problems, a.Says) {
			t.Errorf("%s: got %q, want %q", a.Name, report.Problems, a.Says)
		}
	}
	for _, r := range input.Requests {
		wantRefused(t, "request: "+r.Name, got.Requests[r.Name], r.says)
	}
	for name, lies := range got.Lies {
		if lies.Told < 250 || len(lies.Passed) != 0 {
			t.Errorf("%s: of %d lies these pass: %q", name, lies.Told, lies.Passed)
		}
	}
	for name, lies := range got.ListingLies {
		if lies.Told < 250 || len(lies.Passed) != 0 {
			t.Errorf("listing of %s: of %d lies these pass: %q", name, lies.Told, lies.Passed)
		}
	}
	for name, hostility := range got.Hostility {
		if hostility.Tried < 1000 || len(hostility.Wrong) != 0 {
			t.Errorf("%s: of %d hostile inputs these go wrong: %.2000q", name, hostility.Tried, hostility.Wrong)
		}
	}
	told := []int{len(got.Lies), len(got.ListingLies), len(got.Hostility)}
	if want := []int{len(input.Lies), len(input.ListingLies), len(input.Hostile)}; !slices.Equal(told, want) {
		t.Errorf("got lies, lies in listings and hostile values in %d quotes, want %d", told, want)
	}
	if r := got.Requests["no amount"]; !strings.Contains(strings.Join(r.Unchecked, " "), "no minimum") {
		t.Errorf("of a request that is refused, unchecked says %q", r.Unchecked)
	}
	for _, l := range input.Listings {
		altered := got.Listings[l.Name]
		for _, report := range altered.Reports {
			judgeListing(t, &l, report, altered.Calls)
		}
		if len(altered.Reports) == 0 || len(altered.Calls) == 0 {
			t.Errorf("listing: %s: nothing was checked", l.Name)
		}
	}
	for i, o := range input.Others {
		judgeOther(t, &o, got.Others[i])
	}
	judgePairs(t, got.Pairs)
	if g, w := fmt.Sprintf("%q", got.Decoded), fmt.Sprintf("%q", input.decoded); g != w {
		t.Errorf("the calldata vectors decode to\n%s\nwant\n%s", g, w)
	}
}

// judgeQuote wants a quote accepted, and its own transactions given.
func judgeQuote(t *testing.T, q verifyQuote, got verifyReport, now time.Time) {
	t.Helper()
	var quote struct {
		To, SrcAmount    string
		Approval         *struct{ Token, Calldata string }
		MethodParameters struct{ Calldata, Value string }
		Details          *struct {
			ValidUntil time.Time
			Checks     *struct{ Allowance struct{ Actual string } }
		}
	}
	if err := json.Unmarshal(q.Quote, &quote); err != nil {
		t.Fatal(err)
	}
	checked := []string{"limits", "contract", "route", "tokens", "fees", "amounts", "calldata", "value", "approval"}
	if quote.Details != nil {
		checked = append(checked, "sendCalls", "details")
	}
	if !got.OK || len(got.Problems) != 0 || !slices.Equal(got.Checked, checked) {
		t.Errorf("%s: got %v, checked %q, want it accepted after checking %q", q.Name, got.Problems, got.Checked, checked)
	}
	private := func(id string) bool { return id == "69696969" || id == "96969696" }
	network := map[string]string{"69696969": "1", "96969696": "56"}
	id, err := strconv.ParseUint(cmp.Or(network[q.Request["srcChain"]], q.Request["srcChain"]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	main := verifyCall{fmt.Sprintf("0x%x", id), strings.ToLower(quote.To), quote.MethodParameters.Calldata, quote.MethodParameters.Value}
	calls := []verifyCall{main}
	if a := quote.Approval; a != nil {
		approval := verifyCall{main.ChainID, strings.ToLower(a.Token), a.Calldata, "0x0"}
		reset := approval
		reset.Data = approval.Data[:len(approval.Data)-64] + strings.Repeat("0", 64)
		allowed := ""
		if quote.Details != nil && quote.Details.Checks != nil {
			allowed = quote.Details.Checks.Allowance.Actual
		}
		switch enough := cmp.Or(cmp.Compare(len(allowed), len(quote.SrcAmount)), strings.Compare(allowed, quote.SrcAmount)) >= 0; {
		case enough:
		case approval.To == usdt && allowed != "0":
			calls = []verifyCall{reset, approval, main}
		default:
			calls = []verifyCall{approval, main}
		}
	}
	if unshields := private(q.Request["srcChain"]); unshields {
		if got.SendCalls != nil || len(got.Calls) != 0 {
			t.Errorf("%s: it can be sent from a public account: %+v", q.Name, got)
		}
		got.Calls = got.Wrap
	} else if s := got.SendCalls; len(got.Wrap) != 0 || s == nil || s.ChainID != main.ChainID || len(s.Calls) != len(calls) || s.Calls[len(calls)-1].Data != main.Data {
		t.Errorf("%s: got sendCalls %+v", q.Name, s)
	}
	if !slices.Equal(got.Calls, calls) {
		t.Errorf("%s: got calls %v, want %v", q.Name, got.Calls, calls)
	}
	unchecked := strings.Join(got.Unchecked, "\n")
	for words, want := range map[string]bool{
		"the contracts enforce no minimum and no deadline, and give no refund": true,
		"only the owner of the 0zk address can open it":                        private(q.Request["dstChain"]),
		"RAILGUN's own fee": private(q.Request["srcChain"]) || private(q.Request["dstChain"]),
		"The integrator's fee of 0.25 %: only its registry on chain": q.Request["integratorId"] != "",
		"The issuer's fee: at most maxFee":                           strings.HasPrefix(quote.MethodParameters.Calldata, "0x779b432d"),
		"only the chain can tell":                                    q.Request["from"] != "" && quote.Details != nil,
	} {
		if strings.Contains(unchecked, words) != want {
			t.Errorf("%s: unchecked is %q, want %q in it: %v", q.Name, unchecked, words, want)
		}
	}
	if want := quote.Details != nil && now.After(quote.Details.ValidUntil); got.Expired != want {
		t.Errorf("%s: got expired %v, want %v", q.Name, got.Expired, want)
	}
}

func judgeListing(t *testing.T, l *alteredListing, got verifyReport, calls []verifyCall) {
	t.Helper()
	switch l.Want {
	case "refused":
		if got.OK || len(got.Calls)+len(got.Wrap) != 0 || !strings.Contains(strings.Join(got.Problems, "\n"), l.JS) {
			t.Errorf("listing: %s: got ok %v, %d calls and %q, want a problem that says %q", l.Name, got.OK, len(got.Calls), got.Problems, l.JS)
		}
	case "harmless":
		if !got.OK || !slices.Equal(got.Calls, calls) {
			t.Errorf("listing: %s: got %v with calls %v, want %v", l.Name, got.Problems, got.Calls, calls)
		}
	default:
		t.Errorf("listing: %s wants %q", l.Name, l.Want)
	}
}

func wantRefused(t *testing.T, name string, got verifyReport, says string) {
	t.Helper()
	if got.OK || len(got.Calls) != 0 || says == "" || !strings.Contains(strings.Join(got.Problems, "\n"), says) {
		t.Errorf("%s: got ok %v, %d calls and %q, want a problem that says %q", name, got.OK, len(got.Calls), got.Problems, says)
	}
}

// judgePairs compares the tables with those that the service quotes from.
func judgePairs(t *testing.T, got []verifyPair) {
	t.Helper()
	var want []verifyPair
	for _, p := range chain.Pairs() {
		route := "DIRECT"
		if p.Route == chain.CCTPInbound {
			route = "CCTP_INBOUND"
		}
		limits := fault.From(fee.CheckLimits(&p.SrcToken, new(uint256.Int)))
		want = append(want, verifyPair{
			p.Src, p.Dst, mapToken(p.SrcToken), mapToken(p.DstToken), route,
			json.Number(fee.Protocol(p.Src, p.Dst).AppendPercent(nil)), limits.MinAmount, limits.MaxAmount,
		})
	}
	for _, p := range got {
		if !slices.Contains(want, p) {
			t.Errorf("%+v is not a pair of the service", p)
		}
	}
	for _, p := range want {
		if !slices.Contains(got, p) {
			t.Errorf("the pair %+v is missing", p)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d pairs, want %d", len(got), len(want))
	}
}

func mapToken(t chain.Token) verifyToken {
	return verifyToken{strings.ToLower(t.Address.String()), t.Symbol, t.Decimals, t.ChainID}
}

// needNode skips a test where there is no Node.js. In CI it fails instead.
func needNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no node on this machine, and in CI the client must be tested; install the package nodejs")
		}
		t.Skip("SKIPPED, NOT TESTED: there is no node on this machine; install the package nodejs to test the client")
	}
}

// TestVerifySize keeps the file small enough to be read before it is copied.
func TestVerifySize(t *testing.T) {
	if got := len(readFile(t, "client/npm/verify.js")); got > 37_500 {
		t.Errorf("verify.js has %d bytes, want at most 37500", got)
	}
}
