package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// refuse serves a gateway that answers every quote with a status and a body, and says to come back in 17 seconds.
func refuse(t *testing.T, status int, body string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/", realGateway(t))
	mux.HandleFunc("/v3/swap/quote", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "17")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// refusal is an error of a gateway.
// warn is a gateway that is right, and warns of its quotes.
func warn(t *testing.T, warning string) string {
	t.Helper()
	gateway := realGateway(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/quote") {
			w.Header().Set("Quote-Warning", warning)
		}
		gateway.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func refusal(code string) string {
	return fmt.Sprintf(`{"error":"No","code":%q,"requestId":"7"}`, code)
}

// TestFailures: a script learns from the exit code what to do, and from the JSON why.
func TestFailures(t *testing.T) {
	const nobody = "http://127.0.0.1:1"
	answer, err := os.ReadFile("../../testdata/v3/error-pair-same-chain.http")
	if err != nil {
		t.Fatal(err)
	}
	_, noPair, _ := strings.Cut(string(answer), "\n{")
	lie := func(answer string) string { return strings.Replace(answer, "123086419", "123086418", 1) }
	steal := strings.NewReplacer("5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "fb6916095ca1df60bb79ce92ce3ea74c37c5d359").Replace
	env := map[string]string{"QUOTE_KEY": strings.Repeat("1", 64)}
	reviewed := strings.NewReplacer(pool.Hex(), "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", `"name": "reference"`, `"name": "mine"`)
	mine := filepath.Join(t.TempDir(), "mine.json")
	if err := os.WriteFile(mine, []byte(reviewed.Replace(string(chain.ReferenceFile()))), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		gateway string
		args    []string
		exit    int
		code    string
		says    []string // in the JSON
	}{
		"amount": {startGateway(t, truth), with(wish, "-amount", "1"), 1, client.AmountOutOfRange, []string{
			`"param":"amount"`, `"minAmount":"10000000"`, `"maxAmount":"25000000000"`,
		}},
		"pair": {refuse(t, 400, "{"+noPair), wish, 1, client.UnsupportedPair, []string{
			`"alternatives":[{"dstChain":"369","dstToken":"USDC"},`,
		}},
		"another service": {refuse(t, 404, "<html>"), wish, 1, client.Unreadable, nil},
		"recipient": {startGateway(t, truth), with(wish, "-recipient", pool.Hex()), 1, client.InvalidRecipient, []string{
			`"param":"recipient"`, `"reason":"CONTRACT"`,
		}},
		"a lie": {startGateway(t, lie), wish, 1, client.Unverified, []string{
			`"problems":["A different amount would arrive. Quote: 123086418 · expected: 123086419 (destAmount)"`,
		}},
		"another recipient": {startGateway(t, steal), wish, 1, client.Unverified, []string{
			`"problems":["The money would go to someone else. Quote: 0xfb69…d359 · yours: 0x5aae…eaed (details.call.arguments.recipient)"`,
			`yours: 0x5aae…eaed (methodParameters.calldata.arguments.recipient)"`,
		}},
		"a warning": {warn(t, "This quote must not be signed: not today"), with(wish, "-execute", "-rpc", nobody), 1, client.Unverified, []string{
			`{"error":"do not sign this quote: it matches the request, but carries a warning:\nthe gateway itself warns: `,
			`"problems":["the gateway itself warns: \"This quote must not be signed: not today\""]}`,
		}},
		"other contracts": {startGateway(t, truth), with(wish, "-deployment", mine), 1, client.Unverified, []string{
			`"You would pay a different contract. Quote: 0x2ad5…229d · expected: 0xfb69…d359 (to)"`,
		}},
		"no such pair": {nobody, with(wish, "-to", "USDC@10"), 2, client.UnsupportedPair, []string{
			`"alternatives":[{"dstChain":"369","dstToken":"USDC"},`, "Unsupported swap pair: USDC on chain 1 to USDC on chain 10",
		}},
		"usage":             {nobody, with(wish, "-x"), 2, "USAGE", []string{"-x: see quote -h"}},
		"rate limit":        {refuse(t, 429, refusal("RATE_LIMITED")), wish, 3, client.RateLimited, []string{`"retryAfter":17`}},
		"chain unavailable": {refuse(t, 503, refusal("CHAIN_UNAVAILABLE")), wish, 3, client.ChainUnavailable, nil},
		"no gateway":        {nobody, wish, 3, client.Unreachable, nil},
		"no listing":        {nobody, []string{"pairs"}, 3, client.Unreachable, nil},
		"no node": {startGateway(t, truth), with(wish, "-execute", "-rpc", nobody), 3, "NODE_UNAVAILABLE",
			[]string{`{"quote":{"to":"0x`, `"transactions":[]`}},
		"status, no gateway": {nobody, []string{"status", sentTx, "-chain", "1"}, 4, client.Unreachable, nil},
	} {
		t.Run(name, func(t *testing.T) {
			exit, stdout, stderr := call(t, env, with(test.args, "-json", "-gateway", test.gateway)...)
			var f struct{ Error, Code string }
			if err := json.Unmarshal([]byte(stdout), &f); err != nil {
				t.Fatalf("%v: %s", err, stdout)
			}
			if exit != test.exit || f.Code != test.code || !strings.Contains(stderr, f.Error) {
				t.Errorf("got exit code %d, %+v and %s, want %d and %s", exit, f, stderr, test.exit, test.code)
			}
			contains(t, "the JSON", stdout, test.says...)
			plain, stdout, _ := call(t, env, with(test.args, "-gateway", test.gateway)...)
			if plain != test.exit || strings.Contains(stdout, `"code"`) {
				t.Errorf("without -json: got exit code %d and %s", plain, stdout)
			}
		})
	}
}

func TestPairs(t *testing.T) {
	gateway := startGateway(t, truth)
	code, stdout, stderr := call(t, nil, "pairs", "-gateway", gateway)
	if code != 0 || stderr != "" {
		t.Errorf("got exit code %d and %s", code, stderr)
	}
	rows := strings.Fields(stdout)
	contains(t, "the table", strings.Join(rows, " "), "FROM CHAIN TO CHAIN FEE MIN MAX",
		"USDC@1 Ethereum USDC@369 PulseChain 0.3 % 10 25000", "ETH@1 Ethereum WETH@369 PulseChain 0.3 % 0.01 20")
	code, stdout, _ = call(t, nil, "pairs", "-json", "-gateway", gateway)
	listing, err := client.ParseListing([]byte(stdout))
	if code != 0 || err != nil || len(listing.Pairs) == 0 {
		t.Errorf("got exit code %d and %v", code, err)
	}
}

// TestLockAccount: two commands do not send for one account on one chain at once.
func TestLockAccount(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	me := common.Address{1}
	release, err := lockAccount(t.Context(), me, 1)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := lockAccount(t.Context(), me, 10)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere()
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = lockAccount(short, me, 1)
	if f, exit := describe(err); f.Code != "BUSY" || exit != 3 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v and exit code %d, want BUSY and 3", err, exit)
	}
	release()
	again, err := lockAccount(t.Context(), me, 1)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
