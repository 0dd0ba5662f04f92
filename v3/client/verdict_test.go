package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// A verdictCase is an answer that both clients judge. It is JSON for testdata/client/verdict.mjs.
type verdictCase struct {
	name    string
	sent    Sent
	want    Request
	isRight bool // both must accept it
	isWrong bool // both must refuse it

	Kind    string            `json:"kind"` // quote, listing, routers, status or error
	Request map[string]any    `json:"request,omitempty"`
	Quote   string            `json:"quote,omitempty"` // the golden beside an altered listing, or that was signed
	Body    string            `json:"body"`
	Asked   map[string]string `json:"asked,omitempty"` // of a status
	Since   uint64            `json:"since,omitempty"`
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// A verdict is what a client says of a case.
type verdict struct {
	OK       bool          `json:"ok"`
	Code     string        `json:"code,omitempty"`
	Calls    []verdictCall `json:"calls,omitempty"`
	Warnings []string      `json:"warnings,omitempty"`
	Quoted   []string      `json:"quoted,omitempty"` // what stands in quotation marks in what is not checked
	Short    string        `json:"short,omitempty"`

	Status       int           `json:"status,omitempty"`
	Param        string        `json:"param,omitempty"`
	Reason       string        `json:"reason,omitempty"`
	MinAmount    string        `json:"minAmount,omitempty"`
	MaxAmount    string        `json:"maxAmount,omitempty"`
	Successor    string        `json:"successor,omitempty"`
	Until        string        `json:"until,omitempty"`
	Alternatives []Alternative `json:"alternatives,omitempty"`
	RetryAfter   float64       `json:"retryAfter,omitempty"`
	Passing      bool          `json:"passing,omitempty"`
}

type verdictCall struct {
	ChainID string `json:"chainId"`
	To      string `json:"to"`
	Data    string `json:"data"`
	Value   string `json:"value"`
}

func (v verdict) String() string {
	if v.OK {
		return fmt.Sprintf("accepted, %d calls, warnings %q, quoted %q, short %q", len(v.Calls), v.Warnings, v.Quoted, v.Short)
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// TestOneVerdict alters answers of every kind, and wants the Go client and the JavaScript client to accept the same
// ones, and to report the same of what they refuse.
func TestOneVerdict(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it compares thousands of verdicts; make test-all runs it")
	}
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("CI is set, and there is no Node.js: install the package nodejs")
		}
		t.Skip("SKIPPED, NOT TESTED: install the package nodejs")
	}
	listing := shortListing(t)
	var cases []verdictCase
	cases = append(cases, quoteCases(t)...)
	cases = append(cases, chosenCases(t)...)
	cases = append(cases, listingCases(t, listing)...)
	cases = append(cases, statusCases(t)...)
	cases = append(cases, errorCases(t)...)

	quotes := map[string]string{}
	for _, c := range cases {
		if c.Quote != "" && quotes[c.Quote] == "" {
			quotes[c.Quote] = string(read(t, c.Quote).body)
		}
	}
	theirs := nodeVerdicts(t, node, listing, quotes, cases)
	judge := newJudge(t, listing, quotes)
	ours := make([]verdict, len(cases))
	for i, c := range cases {
		ours[i] = judge.verdict(t, c)
	}
	accepted := map[string]int{}
	shown := 0
	for i, want := range theirs() {
		if ours[i].OK {
			accepted[cases[i].Kind]++
		} else if cases[i].isRight {
			t.Errorf("%s: Go refuses it: %s", cases[i].name, ours[i])
		}
		if ours[i].OK && cases[i].isWrong {
			t.Errorf("%s: Go accepts it", cases[i].name)
		}
		if reflect.DeepEqual(ours[i], want) {
			continue
		}
		if shown++; shown <= 40 {
			t.Errorf("%s: Go says %s, JavaScript %s", cases[i].name, ours[i], want)
		}
	}
	if shown > 40 {
		t.Errorf("and %d more", shown-40)
	}
	t.Logf("%d answers, of which both accept %v", len(cases), accepted)
	if len(cases) < 20_000 {
		t.Errorf("only %d answers were judged", len(cases))
	}
}

// nodeVerdicts has the JavaScript client judge all cases in one process, beside the caller. The function waits for it.
func nodeVerdicts(
	t *testing.T, node string, listing []byte, quotes map[string]string, cases []verdictCase,
) func() []verdict {
	t.Helper()
	folder := t.TempDir()
	input, output := filepath.Join(folder, "cases.json"), filepath.Join(folder, "verdicts.json")
	lines := [][]byte{marshal(t, map[string]any{"listing": string(listing), "quotes": quotes})}
	for _, c := range cases {
		lines = append(lines, marshal(t, c))
	}
	if err := os.WriteFile(input, bytes.Join(lines, []byte("\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	module, err := filepath.Abs("npm/index.js")
	if err != nil {
		t.Fatal(err)
	}
	script := goldens + "client/verdict.mjs"
	var printed bytes.Buffer
	cmd := exec.CommandContext(t.Context(), node, "--no-warnings", script, module, input, output)
	cmd.Stdout = &printed
	cmd.Stderr = &printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() (verdicts []verdict) {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, &printed)
		}
		data, err := os.ReadFile(output)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &verdicts); err != nil {
			t.Fatal(err)
		}
		if len(verdicts) != len(cases) {
			t.Fatalf("%d verdicts for %d cases", len(verdicts), len(cases))
		}
		return verdicts
	}
}

// A judge gives the verdicts of the Go client.
type judge struct {
	listing string
	quotes  map[string]string
	client  *Client // keeps the listing
	current verdictCase
}

func newJudge(t *testing.T, listing []byte, quotes map[string]string) *judge {
	j := &judge{listing: string(listing), quotes: quotes}
	j.client = j.newClient(t)
	return j
}

func (j *judge) newClient(t *testing.T, options ...Option) *Client {
	client, err := New("https://gateway.example", append(options, WithHTTP(&http.Client{Transport: j}))...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// RoundTrip answers as the gateway of the current case.
func (j *judge) RoundTrip(r *http.Request) (*http.Response, error) {
	c := j.current
	status, body, header := max(c.Status, 200), c.Body, http.Header{}
	for name, value := range c.Headers {
		header.Set(name, value)
	}
	if c.Kind == "listing" || c.Kind == "routers" {
		body = j.quotes[c.Quote]
	}
	if strings.Contains(r.URL.Path, "/app/pairs") {
		status, body, header = 200, j.listing, http.Header{"Cache-Control": {"max-age=86400"}}
		if c.Kind == "listing" {
			body = c.Body
		}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
}

var quotations = regexp.MustCompile(`"[^"]*"`)

func (j *judge) verdict(t *testing.T, c verdictCase) verdict {
	j.current = c
	client := j.client
	switch c.Kind {
	case "listing":
		client = j.newClient(t)
	case "routers":
		routers, err := ParseRouters([]byte(c.Body))
		if err != nil {
			return c.refused(err)
		}
		client = j.newClient(t, WithPinned(Pinned{Routers: routers}))
		client.kept = j.client.kept
	case "status", "error":
		s, err := client.Status(t.Context(), c.sent)
		if err != nil {
			return c.refused(err)
		}
		v := verdict{OK: true}
		if c.sent.Quote != nil {
			if short := s.Short(c.sent.Quote); short != nil {
				v.Short = short.String()
			}
		}
		return v
	}
	checked, err := client.Quote(t.Context(), c.want)
	if err != nil {
		return c.refused(err)
	}
	v := verdict{OK: true, Calls: verdictCalls(checked), Warnings: checked.Warnings}
	v.Quoted = quotations.FindAllString(strings.Join(checked.Unchecked, " "), -1)
	slices.Sort(v.Quoted)
	return v
}

func verdictCalls(checked *Checked) (calls []verdictCall) {
	for _, call := range append(slices.Clone(checked.Calls), checked.Wrap...) {
		calls = append(calls, verdictCall{
			ChainID: hexutil.EncodeUint64(call.ChainID), To: strings.ToLower(call.To.Hex()),
			Data: hexutil.Encode(call.Data), Value: hexutil.EncodeBig(call.Value),
		})
	}
	return calls
}

func (c verdictCase) refused(err error) verdict {
	e, isOurs := err.(*Error)
	if !isOurs {
		return verdict{Code: err.Error()}
	}
	v := verdict{Code: e.Code}
	if e.Checked != nil {
		v.Calls = verdictCalls(e.Checked)
	}
	if c.Kind != "error" {
		return v
	}
	v.Status, v.Param, v.Reason = e.Status, e.Param, e.Reason
	v.MinAmount, v.MaxAmount = string(e.MinAmount), string(e.MaxAmount)
	v.Successor, v.Until, v.Alternatives = e.Successor, e.Until, e.Alternatives
	v.RetryAfter = e.RetryAfter.Seconds()
	v.Passing = e.Temporary()
	return v
}

// shortListing is the gateway's listing with fewer rows, so that thousands of copies can be judged.
func shortListing(t *testing.T) []byte {
	t.Helper()
	listing := decode(t, bodyOf(t, "pairs")).(map[string]any)
	kept := func(row any, fields ...string) bool {
		used := []string{"1", "10", "137", "369", "42161", "69696969", "USDC", "USDT", "ETH", "WETH"}
		return !slices.ContainsFunc(fields, func(field string) bool {
			return !slices.Contains(used, fmt.Sprint(row.(map[string]any)[field]))
		})
	}
	for name, fields := range map[string][]string{
		"chains": {"chainId"}, "tokens": {"chainId", "symbol"}, "pairs": {"srcChain", "srcToken", "dstChain", "dstToken"},
	} {
		rows := listing[name].([]any)
		listing[name] = slices.DeleteFunc(rows, func(row any) bool { return !kept(row, fields...) })
	}
	ethereum := listing["chains"].([]any)[0].(map[string]any)
	ethereum["explorer"] = "https://etherscan.io"
	ethereum["rpcUrls"] = []any{"https://rpc.example.org/eth", "http://localhost:8545"}
	return marshal(t, listing)
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// query is a request as the JavaScript client takes it.
func (r Request) query() map[string]any {
	q := map[string]any{
		"srcChain": decimal(r.SrcChain), "srcToken": r.SrcToken, "dstChain": decimal(r.DstChain), "dstToken": r.DstToken,
		"amount": r.Amount.String(), "recipient": r.Recipient,
	}
	if r.Integrator != (common.Address{}) {
		q["integratorId"] = r.Integrator.Hex()
	}
	if r.From != (common.Address{}) {
		q["from"] = r.From.Hex()
	}
	if r.Simulate {
		q["simulate"] = true
	}
	return q
}

func quoteCases(t *testing.T) (cases []verdictCase) {
	for _, name := range []string{
		"details", "details-native", "details-burn-partner", "details-shield", "details-unshield", "details-partner",
		"from-allowed-enough", "simulation-fails", "simulation-no-endpoint",
	} {
		g := read(t, name)
		altered := alterations(t, g.body)
		altered["as it is"] = string(g.body)
		for what, body := range altered {
			cases = append(cases, verdictCase{
				name: name + ", " + what, Kind: "quote", want: g.request, Request: g.request.query(), Body: body,
				isRight: what == "as it is",
			})
		}
	}
	cases = append(cases, recipientCases(t)...)
	return append(cases, warnedCases(t)...)
}

// recipientCases are quotes that pay addresses which nobody owns, and the two beside the system contracts, as a gateway
// would quote them that did not look.
func recipientCases(t *testing.T) (cases []verdictCase) {
	g := read(t, "details")
	digits := func(address string) string { return strings.ToLower(address[2:]) }
	add := func(recipient string, isWrong bool) {
		pay := strings.NewReplacer(g.request.Recipient, recipient, digits(g.request.Recipient), digits(recipient))
		request := g.request
		request.Recipient = recipient
		cases = append(cases, verdictCase{
			name: "to " + recipient, Kind: "quote", want: request, Request: request.query(),
			Body: pay.Replace(string(g.body)), isWrong: isWrong, isRight: !isWrong,
		})
	}
	for _, address := range unpayable() {
		add(address, true)
	}
	add("0x41ffFffffFfFffFFFFFfffFFFfFFffFfFffFfffF", false)
	add("0x4200000000000000000000000000000000000800", false)
	return cases
}

// warnedCases are quotes of which the gateway itself warns, right and wrong ones.
func warnedCases(t *testing.T) (cases []verdictCase) {
	for _, name := range []string{"details", "details-native", "details-burn-partner", "details-unshield"} {
		g := read(t, name)
		for what, body := range map[string][]byte{
			"right":              g.body,
			"another amount":     edit{Path: "destAmount", Set: json.RawMessage(`"1"`)}.apply(t, g.body),
			"without details":    edit{Path: "details", Drop: true}.apply(t, g.body),
			"without its amount": edit{Path: "destAmount", Drop: true}.apply(t, g.body),
		} {
			cases = append(cases, verdictCase{
				name: name + ", warned of, " + what, Kind: "quote", want: g.request, Request: g.request.query(),
				Body: string(body), Headers: map[string]string{"Quote-Warning": "do not sign"},
			})
		}
	}
	return cases
}

// chosenCases are quotes that differ from what was asked for in one point, beside what alterations change.
func chosenCases(t *testing.T) (cases []verdictCase) {
	add := func(name, golden string, body []byte, change func(*Request), headers map[string]string) {
		g := read(t, golden)
		if body == nil {
			body = g.body
		}
		if change != nil {
			change(&g.request)
		}
		cases = append(cases, verdictCase{
			name: name, Kind: "quote", want: g.request, Request: g.request.query(), Body: string(body), Headers: headers,
		})
	}
	set := func(golden, path, value string) []byte {
		return edit{Path: path, Set: json.RawMessage(value)}.apply(t, read(t, golden).body)
	}
	for name, at := range map[string]struct{ golden, path string }{
		"a contract":               {"details", "details.contract"},
		"the integrator of nobody": {"details", "fee.integrator.id"},
		"nothing to unshield":      {"details", "details.unshield"},
		"calls beside unshield":    {"details-unshield", "details.sendCalls"},
		"a hook of a swap":         {"details", "details.call.hook"},
		"the sender":               {"details", "details.sendCalls.from"},
		"one argument more":        {"details", "details.call.arguments.more"},
		"one field of a hook more": {"details-burn", "details.call.hook.more"},
		"an argument":              {"details", "details.call.arguments.amount"},
		"a simulation":             {"details", "details.simulation"},
		"a reason":                 {"details", "details.reason"},
		"seconds":                  {"details", "details.arrival.seconds"},
		"a registry":               {"details", "details.integrator"},
		"the fee of a burn":        {"details", "details.issuerFee"},
		"checks":                   {"details", "details.checks"},
		"code of the recipient":    {"from-allowed-enough", "details.checks.recipient"},
		"more of a token":          {"details", "srcToken.more"},
	} {
		for _, value := range []string{
			"null", `""`, `"nothing"`, `"undefined"`, "false", "true", "0", "1", "{}", "[]", `{"nothing":null}`,
			`{"source":true,"destination":false}`, `{"source":false,"destination":true}`, `{"source":true,"destination":true}`,
			`{"source":null,"destination":true}`, `{"source":"true"}`,
		} {
			add(name+": "+value, at.golden, set(at.golden, at.path, value), nil, nil)
		}
	}
	for _, milli := range []int64{0, 1, 2, 250, 249, 1000, 10_000, 100_000} {
		burn := read(t, "details-burn")
		least, most := maxFees(burn.request.SrcChain, burn.request.Amount)
		for name, bound := range map[string]*big.Int{"least": least, "most": most} {
			for _, more := range []int64{-1, 0, 1} {
				fee := new(big.Int).Div(new(big.Int).Mul(bound, big.NewInt(milli)), big.NewInt(1000))
				fee.Add(fee, big.NewInt(more))
				if fee.Sign() < 0 {
					continue
				}
				add(fmt.Sprintf("%d thousandths of the %s maxFee, and %d", milli, name, more), "details-burn",
					allMaxFees(t, burn.body, fee), nil, nil)
			}
		}
	}
	private := read(t, "details-shield").request.Recipient
	for name, recipient := range map[string]string{
		"capitals": strings.ToUpper(private), "one capital": strings.ToUpper(private[:1]) + private[1:],
		"a capital prefix": strings.ToUpper(private[:4]) + private[4:], "small and capital": private[:9] + strings.ToUpper(private[9:]),
	} {
		add("a 0zk address in "+name, "details-shield", nil, func(r *Request) { r.Recipient = recipient }, nil)
	}
	add("a byte order mark", "details", append([]byte("\ufeff"), read(t, "details").body...), nil, nil)
	for _, text := range []string{
		"ignored: slippage", strings.Repeat("long-", 50), `"quoted"`, "with\ttab", "x", strings.Repeat("y", 60),
		strings.Repeat("z", 59) + `"!`,
	} {
		add("warned of a slip: "+text, "details", nil, nil, map[string]string{"Request-Warning": text})
		add("warned: "+text, "details", nil, nil, map[string]string{"Quote-Warning": text})
	}
	return cases
}

// allMaxFees changes the maxFee of a burn wherever it stands.
func allMaxFees(t *testing.T, body []byte, fee *big.Int) []byte {
	t.Helper()
	q := &Quote{}
	if err := decodeBody(body, q); err != nil {
		t.Fatal(err)
	}
	old := q.Details.IssuerFee.MaxFee
	word := func(n *big.Int) string { return strings.TrimPrefix(common.BigToHash(n).Hex(), "0x") }
	return []byte(strings.NewReplacer(word(old.Int()), word(fee), fmt.Sprintf("%q", old), fmt.Sprintf("%q", fee.String())).
		Replace(string(body)))
}

func listingCases(t *testing.T, listing []byte) (cases []verdictCase) {
	g := read(t, "details")
	for urls, isRight := range nodes {
		cases = append(cases, verdictCase{
			name: "listing with the nodes " + urls, Kind: "listing", want: g.request, Request: g.request.query(),
			Quote: "details", isRight: isRight, isWrong: !isRight,
			Body: string(edit{Path: "chains.0.rpcUrls", Set: json.RawMessage(urls)}.apply(t, listing)),
		})
	}
	for _, name := range []string{"details", "details-burn", "details-shield"} {
		g := read(t, name)
		for what, body := range alterations(t, listing) {
			cases = append(cases, verdictCase{
				name: "listing, " + name + ", " + what, Kind: "listing", want: g.request, Request: g.request.query(),
				Quote: name, Body: body,
			})
		}
		routers := decode(t, bodyOf(t, "routers")).(map[string]any)
		routers["data"] = slices.DeleteFunc(routers["data"].([]any), func(row any) bool {
			return !slices.Contains([]string{"1", "42161"}, fmt.Sprint(row.(map[string]any)["chainId"]))
		})
		for what, body := range alterations(t, marshal(t, routers)) {
			if !strings.HasPrefix(body, "{") {
				continue // the option's own types exclude it
			}
			cases = append(cases, verdictCase{
				name: "routers, " + name + ", " + what, Kind: "routers", want: g.request, Request: g.request.query(),
				Quote: name, Body: body,
			})
		}
	}
	return cases
}

func statusCases(t *testing.T) (cases []verdictCase) {
	for _, name := range []string{
		"status-settled", "status-pending", "status-failed", "status-not-a-swap", "status-not-found", "status-short",
		"status-shielded", "status-two-swaps", "status-many-swaps", "status-onward-no-hash", "status-burn-delayed",
		"status-odd-swap",
	} {
		g, s := read(t, "details"), &Status{}
		body := bodyOf(t, name)
		if err := decodeBody(body, s); err != nil {
			t.Fatal(name, err)
		}
		sent := Sent{SrcChain: mustNumber(t, s.SrcChain), Hash: common.HexToHash(string(s.TxHash))}
		asked := map[string]string{"srcChain": s.SrcChain, "txHash": string(s.TxHash)}
		checked, err := Verify(g.request, g.body, listed(t))
		if err != nil {
			t.Fatal(err)
		}
		// The swap that was signed is the first of the golden, and on its chain.
		own := strings.NewReplacer(swapOf(t, body), swapOf(t, bodyOf(t, "status-settled")),
			fmt.Sprintf(`"srcChain":%q`, s.SrcChain), `"srcChain":"1"`)
		for what, altered := range alterations(t, body) {
			c := verdictCase{name: name + ", " + what, Kind: "status", sent: sent, Asked: asked, Body: altered}
			cases = append(cases, c)
			c.name += ", signed"
			c.sent.Quote = checked
			c.sent.SrcChain = 0
			c.sent.Since, c.Since = 20999999, 20999999
			c.Asked = map[string]string{"txHash": asked["txHash"]}
			c.Quote = "details"
			c.Body = own.Replace(altered)
			cases = append(cases, c)
		}
	}
	return cases
}

// swapOf is the first swap of a status, written without spaces.
func swapOf(t *testing.T, body []byte) string {
	found := regexp.MustCompile(`"swap":(\{[^}]*\})`).FindStringSubmatch(string(marshal(t, decode(t, body))))
	if found == nil {
		return "no swap"
	}
	return found[1]
}

func mustNumber(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func errorCases(t *testing.T) (cases []verdictCase) {
	hash := common.Hash{1}
	sent := Sent{SrcChain: 1, Hash: hash}
	asked := map[string]string{"srcChain": "1", "txHash": hash.Hex()}
	add := func(name, body string, status int, headers map[string]string) {
		cases = append(cases, verdictCase{
			name: name, Kind: "error", sent: sent, Asked: asked, Body: body, Status: status, Headers: headers,
		})
	}
	for _, name := range []string{
		"error-amount-below-minimum", "error-amount-above-maximum", "error-pair-public-to-public",
		"error-recipient-checksum", "error-recipient-pool", "status-error-no-endpoint",
	} {
		for what, body := range alterations(t, bodyOf(t, name)) {
			add(name+", "+what, body, 400, nil)
		}
	}
	known := string(bodyOf(t, "error-amount-below-minimum"))
	for status := 400; status < 600; status++ {
		add(fmt.Sprint(status), known, status, nil)
		add(fmt.Sprint(status, " of a proxy"), "<html>", status, nil)
	}
	for _, text := range []string{"0", "7", "-1", "1.5", "x", "99999999999", "Sun, 15 Nov 2026 12:00:10 GMT"} {
		headers := map[string]string{"Retry-After": text, "Date": "Sun, 15 Nov 2026 12:00:00 GMT"}
		add("Retry-After: "+text, known, 429, headers)
	}
	for _, body := range []string{"", "[]", "null", "1", `"x"`, "{", strings.Repeat(" ", 1_000_001) + "{}"} {
		add(fmt.Sprintf("body %.10q", body), body, 200, nil)
		add(fmt.Sprintf("body %.10q", body), body, 503, nil)
	}
	return cases
}

// alterations are an answer with one thing changed, by what was changed. The answer itself is among them.
func alterations(t *testing.T, body []byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	root := decode(t, body)
	write := func(what string) { all[what] = strings.ReplaceAll(string(marshal(t, root)), "(again)", "") }
	extend := func(path string, value any) {
		node, isObject := value.(map[string]any)
		if !isObject {
			return
		}
		node["extra"] = map[string]any{"to": "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"}
		write(path + " with more")
		delete(node, "extra")
		for _, key := range slices.Sorted(maps.Keys(node)) {
			writeTwice(node, key, func(what string) { write(path + "." + what) })
		}
		swapNeighbours(node, func(what string) { write(path + what) })
	}
	write("unchanged")
	extend("", root)
	walk("", root, func(p place) {
		for what, value := range others(p.value) {
			p.set(value)
			write(p.path + " " + what)
		}
		p.drop()
		write(p.path + " dropped")
		p.set(p.value)
		extend(p.path, p.value)
	})
	return all
}

// writeTwice has a field in another case of its first letter, and twice.
func writeTwice(node map[string]any, key string, write func(string)) {
	old, capital, again := node[key], strings.ToUpper(key[:1])+key[1:], key+"(again)"
	delete(node, key)
	node[capital] = old
	write(key + " in another case")
	delete(node, capital)
	for name, twice := range map[string]any{"empty": "", "the same": old, "a list": []any{old}} {
		node[key] = old
		node[again] = twice
		write(key + " again, " + name)
		node[key] = twice
		node[again] = old
		write(key + " before it, " + name)
		delete(node, again)
	}
	node[key] = old
}

// swapNeighbours exchanges two values of an object at a time.
func swapNeighbours(node map[string]any, write func(string)) {
	keys := slices.Sorted(maps.Keys(node))
	for i := range len(keys) - 1 {
		a, b := keys[i], keys[i+1]
		node[a], node[b] = node[b], node[a]
		write("." + a + " for " + b)
		node[a], node[b] = node[b], node[a]
	}
}

// others are values to put in the place of one.
func others(old any) map[string]any {
	all := map[string]any{
		"null": nil, "empty": "", "a word": "x", "zero": 0, "one": 1, "minus one": -1, "a fraction": 1.5,
		"a huge number": json.RawMessage("9007199254740993"), "true": true, "false": false,
		"an empty list": []any{}, "an empty object": map[string]any{}, "in a list": []any{old},
		"in an object": map[string]any{"value": old}, "a script": "javascript:alert(1)", "a state": "SETTLED",
	}
	switch old := old.(type) {
	case json.Number:
		all["with exponent"] = json.RawMessage(old + "e0")
		all["as text"] = old.String()
		all["more"] = json.RawMessage("1" + old)
		all["negative"] = json.RawMessage("-" + old)
	case string:
		all["in capitals"] = strings.ToUpper(old)
		all["in small letters"] = strings.ToLower(old)
		all["longer"] = old + "0"
		all["shorter"] = old[:max(len(old)-1, 0)]
		all["with a space"] = " " + old
		all["with a zero before"] = "0" + old
		all["as a number"] = json.RawMessage(numberOr(old, "7"))
		all["very long"] = old + strings.Repeat("0", 2048)
		all["of another year"] = strings.Replace(old, "2026-", "2027-", 1)
		all["with a fraction"] = strings.Replace(old, "Z", ".5Z", 1)
		all["with an offset"] = strings.Replace(old, "Z", "+00:00", 1)
		all["another day"] = strings.Replace(old, "-11-15", "-02-30", 1)
		all["another digit"] = strings.Replace(old, "1", "2", 1)
		all["in words"] = "November 15, 2026"
		all["nothing"] = "nothing"
		all["undefined"] = "undefined"
		all["a greater version"] = "2.0"
		all["a version in hexadecimal"] = "0x2"
		all["half a character"] = json.RawMessage(`"\ud800"`)
		all["signed by somebody"] = "\u202e\"VERIFIED\u200b BY\nAUDITOR\U0001F600, whose name is so long that nobody reads all of it"
	case []any:
		if len(old) > 0 {
			all["with the first again"] = append(slices.Clone(old), old[0])
			all["without the first"] = old[1:]
			all["with null"] = append(slices.Clone(old), nil)
			all["with its last only"] = old[len(old)-1:]
		}
	}
	return all
}

func numberOr(text, other string) string {
	if digits(text) && (text == "0" || text[0] != '0') {
		return text
	}
	return other
}
