package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/cmd/devnet/localnet"
	"github.com/quotegate/quotegate/cmd/internal/cli"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
)

// The swap of testdata/v3/direct.http.
var wish = []string{"-from", "USDC@1", "-to", "USDC@369", "-amount", "123.456789", "-recipient", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}

// startGateway serves a real gateway, whose quotes are altered on their way.
func startGateway(t *testing.T, alter func(string) string) string {
	t.Helper()
	return alterGateway(t, func(r *http.Request) {}, alter)
}

// theGateway is one for all tests.
var theGateway = sync.OnceValues(func() (http.Handler, error) {
	return golden.New(context.Background(), nil)
})

func realGateway(t *testing.T) http.Handler {
	t.Helper()
	g, err := theGateway()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// alterGateway serves a real gateway, whose questions and quotes are altered on their way.
func alterGateway(t *testing.T, question func(*http.Request), quote func(string) string) string {
	t.Helper()
	gateway := realGateway(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/quote") {
			gateway.ServeHTTP(w, r)
			return
		}
		question(r)
		r.Header.Del("Accept-Encoding")
		answer := httptest.NewRecorder()
		gateway.ServeHTTP(answer, r)
		w.WriteHeader(answer.Code)
		_, _ = io.WriteString(w, quote(answer.Body.String()))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func truth(answer string) string { return answer }

// run calls the command as a shell does.
func call(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var out, side bytes.Buffer
	code = run(t.Context(), args, func(name string) string { return env[name] }, &out, &side)
	return code, out.String(), side.String()
}

func with(args []string, more ...string) []string {
	return append(append([]string{}, args...), more...)
}

func contains(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing from %s:\n%s", w, what, text)
		}
	}
}

// A person reads what was worked out again, and nothing is claimed of what the answer alone states.
func TestPrintsForAPerson(t *testing.T) {
	gateway := startGateway(t, truth)
	for _, test := range []struct{ args, says []string }{
		{nil, []string{
			"123.456789 USDC on Ethereum (1) to USDC on PulseChain (369)",
			"arrives         123.086419 USDC, for 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
			"protocol fee    0.37037 USDC",
			"approve         123.456789 USDC for " + pool.Hex(),
			"send            a pool's swap, 260 bytes, to " + pool.Hex() + " with no value",
			`Checked: the contract is that of deployment "reference"; calldata, approval, value, limits, fees and amounts are`,
		}},
		{[]string{"-from", "ETH@1", "-to", "WETH@369", "-amount", "1.5"}, []string{" with 1.5 ETH\n"}},
		{[]string{"-from", "USDC@59144"}, []string{"Not checked:\n  - what arrives: ", "\n  - the issuer's fee: at most maxFee"}},
		{[]string{"-amount", "100", "-integrator", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"}, []string{
			"\n  - the integrator's fee of 0.25 %",
		}},
	} {
		code, stdout, stderr := call(t, nil, with(with(wish, test.args...), "-gateway", gateway)...)
		if code != 0 || stderr != "" {
			t.Errorf("%q: got exit code %d and %s", test.args, code, stderr)
		}
		contains(t, "the output", stdout, test.says...)
	}
}

// TestPrintsJSON: what is printed is what was checked, and nothing else is.
func TestPrintsJSON(t *testing.T) {
	answered := ""
	gateway := startGateway(t, func(answer string) string { answered = answer; return answer })
	code, stdout, stderr := call(t, nil, with(wish, "-json", "-gateway", gateway)...)
	var got, want any
	if err := errors.Join(json.Unmarshal([]byte(stdout), &got), json.Unmarshal([]byte(answered), &want)); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	if code != 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("got exit code %d, %s and\n%s, want the fields of the answer\n%s", code, stderr, stdout, answered)
	}
	for name, alter := range map[string]func(string) string{
		"another amount": func(answer string) string { return strings.Replace(answer, "123086419", "123086418", 1) },
		"another batch": func(answer string) string {
			return strings.Replace(answer, `"calls":[{"to":"0xA0b86991`, `"calls":[{"to":"0xA0b86992`, 1)
		},
	} {
		code, stdout, stderr := call(t, nil, with(wish, "-json", "-gateway", startGateway(t, alter))...)
		if code != 1 || !strings.Contains(stdout, `"code":"UNVERIFIED"`) || strings.Contains(stdout, "calldata") {
			t.Errorf("%s: got exit code %d, %q and %s, want 1 and nothing to sign", name, code, stdout, stderr)
		}
	}
	for _, more := range []string{
		`"note": "0xfB69"`, `"calls": [{"to": "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"}]`, `"TO": "0xfB69"`, `"to": "0xfB69"`,
	} {
		code, stdout, _ := call(t, nil, with(wish, "-json", "-gateway", startGateway(t, func(answer string) string {
			return strings.Replace(answer, `{`, `{`+more+`,`, 1)
		}))...)
		if code != 0 || strings.Contains(stdout, `0xfB69`) {
			t.Errorf("%s: got exit code %d and %s, want what was not checked to be left out", more, code, stdout)
		}
	}
}

// A gateway's texts move no cursor and paint nothing.
func TestTerminalEscapesAreText(t *testing.T) {
	gateway := refuse(t, 400, `{"error": "all\u001b[2J is \u009b1mwell\r\u202e!", "code": "A\u0007", "requestId": "1"}`)
	code, _, stderr := call(t, nil, with(wish, "-gateway", gateway)...)
	if code != 1 || strings.ContainsFunc(stderr, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		t.Errorf("got exit code %d and %q", code, stderr)
	}
	contains(t, "the error", stderr, "\"all\ufffd[2J is \ufffd1mwell\ufffd\ufffd!\" (\"A\ufffd\"")
}

// TestPrintsTheSimulation: the gateway's dry run is told as the gateway's word.
func TestPrintsTheSimulation(t *testing.T) {
	const little = "0x00000000000000000000000000000000000a11ce"
	code, stdout, stderr := call(t, nil, with(wish, "-from", "USDT@1", "-amount", "100", "-simulate", little, "-gateway", startGateway(t, truth))...)
	if code != 0 {
		t.Fatalf("got exit code %d and %s", code, stderr)
	}
	contains(t, "the output", stdout, "The gateway has tried the transactions of 0x00000000000000000000000000000000000A11cE on the state of block 123:\n  SUCCESS, 46000 gas\n",
		`  FAILED: The contract says: "balance" too low, 46000 gas`, "Value and gas: 0.00020175 ETH; the account has 0 ETH.")
	_, stdout, _ = call(t, nil, with(wish, "-amount", "100", "-simulate", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "-gateway", startGateway(t, truth))...)
	contains(t, "the output", stdout, "Not simulated: Simulation needs an RPC endpoint, and none is configured for chain 1")
	_, stdout, _ = call(t, nil, with(wish, "-json", "-from", "USDT@1", "-amount", "100", "-simulate", little, "-gateway", startGateway(t, truth))...)
	contains(t, "the JSON", stdout, `"simulation":{"blockNumber":123,`)
}

// Every mistake in the call is named before anything is asked, without its secrets.
func TestUsage(t *testing.T) {
	const secret = "98d73e68c883296c50eff2e1a307236bba3361d5f182c5ea7ef3cc643577e242"
	execute := with(wish, "-execute", "-rpc", "http://127.0.0.1:1")
	status := []string{"status", sentTx, "-chain", "1"}
	for _, test := range []struct {
		key, viewingKey string
		args            []string
		says            string
	}{
		{"", "", nil, "-from, -to, -amount and -recipient are required: see quote -h"},
		{"", "", with(wish, "-x"), "flag provided but not defined: -x"},
		{"", "", with(wish, "now"), `"now" is not a flag`},
		{"", "", with(wish, "-gateway", "127.0.0.1:8080"), "-gateway: \"127.0.0.1:8080\" is not the address of a gateway"},
		{"", "", with(wish, "-to", "USDC@10"), "Unsupported swap pair"},
		{"", "", with(wish, "-deployment", "no-such-file"), "no-such-file"},
		{"", "", with(wish, "-simulate", "alice"), "-simulate: the account"},
		{"", "", with(wish, "-wait"), "-wait requires -execute; to track a swap that was sent, use quote status -wait"},
		{secret, "", with(execute, "-max-fee", "0.05 ETH"), "-max-fee: \"0.05 ETH\" is not an amount"},
		{"", "", with(wish, "-integrator", "me"), "-integrator: the wallet is not an EVM address"},
		{secret, "", with(wish, "-execute"), "-execute requires -rpc"},
		{"", "", execute, "-execute requires a private key in QUOTE_KEY"},
		{secret[2:], "", execute, "QUOTE_KEY: invalid length, need 256 bits"},
		{strings.Repeat("0", 64), "", execute, "QUOTE_KEY: invalid private key"},
		{"", secret + "zz", wish, "QUOTE_VIEWING_KEY is not 32 bytes"},
		{"", "", []string{"now"}, `"now" is not a command: see quote help`},
		{"", "", []string{"help", "now"}, `no help on "now"`},
		{"", "", []string{"-status", sentTx, "-from", "1"}, "-status is now a command: quote status -chain 1 0x…"},
		{"", "", []string{"-from", "1", "--status=" + sentTx}, "-status is now a command: quote status -chain 1 0x…"},
		{"", "", []string{"-gateway", "http://127.0.0.1:1", "-pairs"}, "-pairs is now a command: quote pairs"},
		{"", "", []string{"pairs", "USDC"}, `"USDC" is not a flag`},
		{"", "", []string{"pairs", "-from", "USDC@1"}, "not defined: -from: see quote pairs -h"},
		{"", "", []string{"status", "-chain", "1"}, "one transaction is required"},
		{"", "", []string{"status", "-chain", "1", "-wait"}, "one transaction is required"},
		{"", "", with(status, sentTx), "one transaction is required"},
		{"", "", []string{"status", "0x12", "-chain", "1"}, "is not the hash of a transaction"},
		{"", "", status[:2], "-chain is required"},
		{"", "", with(status, "-chain", "mainnet"), "-chain: "},
		{"", "", with(status, "-from", "1"), "not defined: -from: see quote status -h"},
		{"", "", with(status, "-wait=soon"), `for flag -wait: parse error`},
		{"", "", with(status, "-wait", "soon"), `invalid value "soon" for flag -wait`},
	} {
		env := map[string]string{"QUOTE_KEY": test.key, "QUOTE_VIEWING_KEY": test.viewingKey}
		code, stdout, stderr := call(t, env, test.args...)
		if code != 2 || stdout != "" || strings.Contains(stderr, secret[2:20]) {
			t.Errorf("%q: got exit code %d, %q and %s, want 2 and no secret", test.args, code, stdout, stderr)
		}
		contains(t, "the error", stderr, test.says)
	}
}

// Help is the same however it is asked for, and tells of every flag.
func TestHelp(t *testing.T) {
	var first string
	for _, args := range [][]string{{"help"}, {"-h"}, {"--help"}, with(wish, "-wait", "-h")} {
		code, stdout, stderr := call(t, nil, args...)
		if first == "" {
			first = stdout
		}
		if code != 0 || stderr != "" || stdout != first {
			t.Errorf("%q: got exit code %d, %q and\n%s", args, code, stderr, stdout)
		}
	}
	contains(t, "the help", first, "Usage: quote -from TOKEN@CHAIN", "QUOTE_KEY", "quote version", "-wait duration")
	for _, c := range commands {
		var texts []string
		for _, args := range [][]string{{c.name, "-h"}, {"help", c.name}} {
			args = slices.DeleteFunc(args, func(arg string) bool { return arg == "" })
			code, stdout, stderr := call(t, nil, args...)
			if code != 0 || stderr != "" {
				t.Errorf("%q: got exit code %d and %s", args, code, stderr)
			}
			texts = append(texts, stdout)
		}
		if texts[0] != texts[1] || strings.Contains(texts[0], "{flags}") {
			t.Errorf("%q: got two helps:\n%s\n---\n%s", c.name, texts[0], texts[1])
		}
		usage, rest, _ := strings.Cut(texts[0], "\nFlags:\n\n")
		contains(t, "the usage", usage, strings.TrimSpace("Usage: quote "+c.name))
		contains(t, "the rest", rest, "\nExit codes:\n  0  ")
		c.flagSet(new(options)).VisitAll(func(f *flag.Flag) { contains(t, "the flags", "\n"+rest, "\n  -"+f.Name) })
	}
	_, gas, _ := call(t, nil, "help", "gas")
	contains(t, "the gas bounds", gas, "at most:\n  0.05 ETH on Ethereum\n", "\n  50000 PLS on PulseChain\n")
	for _, args := range [][]string{{"version"}, {"--version"}} {
		if code, stdout, _ := call(t, nil, args...); code != 0 || stdout != cli.Version("quote")+"\n" {
			t.Errorf("%q: got exit code %d and %q", args, code, stdout)
		}
	}
}

// The token and the pool of wish.
var (
	usdc = common.HexToAddress("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
	pool = common.HexToAddress("0x2AD529b5B3443Dd5a054790E84A9aB76A2cD229d")
)

// startEthereum runs a chain with the token and the pool of wish, and somebody with coins.
func startEthereum(t *testing.T) (*localnet.Chain, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	me := crypto.PubkeyToAddress(key.PublicKey)
	chain, err := localnet.Start(localnet.Spec{ID: 1, Alloc: types.GenesisAlloc{
		me:   {Balance: new(big.Int).Exp(big.NewInt(10), big.NewInt(20), nil)},
		usdc: contracts.Token(me, "USDC", 6),
		pool: contracts.Pool(me, usdc, me, common.Address{}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := chain.Close(); err != nil {
			t.Error(err)
		}
	})
	return chain, key
}

// mintUSDC gives somebody what wish takes.
func mintUSDC(t *testing.T, chain *localnet.Chain, key *ecdsa.PrivateKey) {
	t.Helper()
	mint, err := contracts.TokenABI.Pack("mint", crypto.PubkeyToAddress(key.PublicKey), big.NewInt(123456789))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chain.Send(t.Context(), key, usdc, nil, mint); err != nil {
		t.Fatal(err)
	}
}

// TestExecutes signs and sends on a chain with the pool of the quote.
func TestExecutes(t *testing.T) {
	chain, key := startEthereum(t)
	me := crypto.PubkeyToAddress(key.PublicKey)
	env := map[string]string{"QUOTE_KEY": "0x" + hex.EncodeToString(crypto.FromECDSA(key))}
	args := with(wish, "-gateway", startGateway(t, truth), "-execute", "-rpc", chain.URL())

	// This chain has no pool for coins.
	code, stdout, _ := call(t, env, with(args, "-from", "ETH@1", "-to", "WETH@369", "-amount", "1.5", "-json")...)
	if code != 1 {
		t.Errorf("got exit code %d without a contract, want 1", code)
	}
	contains(t, "the object", stdout, `"transactions":[]`, `"error":"not sent: there is no contract at 0xD98c74c52e2bb6641982271AE856fF685F8726AA on chain 1`)

	mintUSDC(t, chain, key)
	code, _, stderr := call(t, env, with(args, "-max-fee", "0.000000000000000001")...)
	if code != 1 {
		t.Errorf("got exit code %d with gas dearer than -max-fee, want 1", code)
	}
	contains(t, "the error", stderr, "approval: not signed: its gas could cost 0.0", "and the most allowed is 0.000000000000000001 (GAS_TOO_HIGH)")

	code, stdout, stderr = call(t, env, args...)
	if code != 0 {
		t.Fatalf("got exit code %d and %s", code, stderr)
	}
	contains(t, "the output", stdout, "arrives")
	contains(t, "the progress", stderr, "Executing as "+me.Hex()+" on Ethereum (1), with gas of at most 0.05 ETH for each transaction:",
		"swap: sending 0x", "swap: in block 3", "Sent. 123.086419 USDC will arrive on PulseChain (369).")
	balance, err := contracts.TokenABI.Pack("balanceOf", pool)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := chain.Client().CallContract(t.Context(), ethereum.CallMsg{To: &usdc, Data: balance}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := new(big.Int).SetBytes(answer); got.Int64() != 123456789 {
		t.Errorf("the pool has %s, want 123456789", got)
	}
}
