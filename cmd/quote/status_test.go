package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
)

const (
	sentTx    = "0x8a17a5b4c2d3e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f"
	settledTx = "0x1111111111111111111111111111111111111111111111111111111111111111"
)

// What the gateway says of wish, where it was sent and where it was settled.
const (
	wished  = `,"swap":{"dstChain":"369","dstToken":"0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07","recipient":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed","recipientType":0,"amount":"123456789"}`
	settled = wished + `,"settlement":{"chainId":369,"txHash":"` + settledTx + `","amount":"123086419","arrived":"123086419","timestamp":"2026-11-15T15:00:00Z"}`

	oneSettled = `{"state":"SETTLED","final":true` + settled + `}`
)

var validUntil = regexp.MustCompile(`"validUntil":"[^"]*"`)

// quotesServed counts them. Quotes that end at the same time are the same swap, which is sent once.
var quotesServed atomic.Int64

// another serves quotes of which each is another swap.
func another(gateway http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		gateway.ServeHTTP(answer, r)
		ends := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC).Add(time.Duration(quotesServed.Add(1)) * time.Second)
		other := []byte(fmt.Sprintf(`"validUntil":%q`, ends.Format(time.RFC3339)))
		_, _ = w.Write(validUntil.ReplaceAll(answer.Body.Bytes(), other))
	}
}

// serveStatus serves the answer to wish, the listing, and one status after the other of whatever is asked for; the last
// one again and again. A status is "STATE final" and more fields, or the code of a refusal.
func serveStatus(t *testing.T, statuses ...string) string {
	t.Helper()
	var asked atomic.Int64
	mux := http.NewServeMux()
	gateway := realGateway(t)
	mux.Handle("/", gateway)
	mux.HandleFunc("/v3/swap/quote", another(gateway))
	mux.HandleFunc("/v3/swap/status", func(w http.ResponseWriter, r *http.Request) {
		status := statuses[min(int(asked.Add(1)), len(statuses))-1]
		state, more, _ := strings.Cut(status, ",")
		if code := 0; !strings.Contains(state, " ") {
			if _, err := fmt.Sscan(state, &code); err != nil {
				t.Error(err)
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, `{"error":"The pools of this deployment cannot be followed","code":"STATUS_UNAVAILABLE","requestId":"7"}`)
			return
		}
		if more != "" {
			more = "," + more
		}
		state, final, _ := strings.Cut(state, " ")
		if state != "NOT_FOUND" && state != "PENDING" && !strings.Contains(more, `"source"`) {
			more += `,"source":{"blockNumber":12,"confirmations":9,"timestamp":"2026-11-15T14:59:00Z"}`
		}
		if state == "SETTLED" && !strings.Contains(more, `"settlement"`) {
			more += `,"settlement":{"chainId":369,"amount":"123086419","arrived":"123086419"}`
		}
		fmt.Fprintf(w, `{"state":%q,"final":%s,"srcChain":%q,"txHash":%q,"nextCheckSeconds":0%s}`,
			state, final, r.URL.Query().Get("srcChain"), r.URL.Query().Get("txHash"), more)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func TestStatus(t *testing.T) {
	tests := map[string]struct {
		statuses []string
		args     []string
		code     int
		out, err []string
	}{
		"settled": {[]string{"SETTLED true" + settled}, nil, 0, []string{
			"SETTLED: paid out with " + settledTx + " on chain 369\n", `123.086419 USDC on PulseChain (369) for 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed`,
		}, nil},
		"settled, as it came": {[]string{"SETTLED true" + settled}, []string{"-json"}, 0, []string{`{"state":"SETTLED","final":true,"srcChain":"1","txHash":"` + sentTx + `"`}, nil},
		"on its way":          {[]string{"SETTLING false" + wished}, nil, 4, []string{"SETTLING: paid for, not paid out yet\n  USDC on PulseChain"}, []string{"the outcome of the swap is unknown yet: it is SETTLING"}},
		"two swaps":           {[]string{"SETTLED true" + settled + `,"swaps":[` + oneSettled + `,` + oneSettled + `]`}, nil, 0, []string{"The transaction has 2 swaps", "123.086419 USDC"}, nil},
		"unknown":             {[]string{"NOT_FOUND false"}, nil, 4, []string{"NOT_FOUND: no node"}, []string{"it is NOT_FOUND"}},
		"reverted":            {[]string{"FAILED true"}, nil, 1, []string{"FAILED: the transaction reverted"}, []string{"swapped nothing (FAILED)"}},
		"something else":      {[]string{"NOT_A_SWAP true"}, nil, 1, []string{"NOT_A_SWAP: "}, []string{"swapped nothing (NOT_A_SWAP)"}},
		"not offered":         {[]string{"501"}, nil, 4, nil, []string{`"The pools of this deployment cannot be followed" ("STATUS_UNAVAILABLE"`, "do not send it again. See transaction " + sentTx + " on Ethereum (1)"}},
		"refused":             {[]string{"429"}, nil, 4, nil, []string{"or ask again with:\n  quote status -gateway http", " -chain 1 " + sentTx + " -wait"}},
		"said twice":          {[]string{`SETTLED true,"txHash":"` + settledTx + `"`}, nil, 4, nil, []string{"it is about transaction " + settledTx}},
		"a lie":               {[]string{"DONE true"}, nil, 4, nil, []string{"do not trust the gateway's answer"}},
		"followed":            {[]string{"PENDING false", "SETTLED true" + settled}, []string{"-wait"}, 0, []string{"SETTLED: paid out"}, []string{"Following " + sentTx + " on Ethereum (1), for 30m0s at most:", "  PENDING: not in a block yet\n  SETTLED: paid out"}},
		"followed too long":   {[]string{"PENDING false"}, []string{"-wait", "1ms"}, 4, nil, []string{"for 1ms at most", "the time is up", "do not send it again"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			args := with([]string{"status", "-gateway", serveStatus(t, test.statuses...), "-chain", "1"}, test.args...)
			code, stdout, stderr := call(t, nil, with(args, sentTx)...)
			if code != test.code || (stdout == "") != (test.out == nil) {
				t.Errorf("got exit code %d, want %d, and %q", code, test.code, stdout)
			}
			contains(t, "the output", stdout, test.out...)
			contains(t, "the error", stderr, test.err...)
		})
	}
	code, stdout, _ := call(t, nil, "status", sentTx, "-chain", "69696969", "-gateway", serveStatus(t, "SETTLED true"+settled), "-json")
	if code != 0 || !strings.Contains(stdout, `"srcChain":"1"`) {
		t.Errorf("got exit code %d and %s for a privacy route, want its network to be asked", code, stdout)
	}
}

// What is sent is followed. One JSON object has the quote, what was sent and what became of it, also after a failure.
func TestExecutesAndWaits(t *testing.T) {
	chain, key := startEthereum(t)
	env := map[string]string{"QUOTE_KEY": hex.EncodeToString(crypto.FromECDSA(key))}
	anotherSwap := "SETTLED true" + strings.Replace(settled, "123456789", "1", 1)
	for _, test := range []struct {
		statuses []string
		wait     string // how long
		poor     bool   // there are no tokens to swap
		code     int
		sent     string
		state    string // in the JSON
		says     []string
	}{
		{[]string{"PENDING false" + wished, "SETTLED true" + settled}, "1h", false, 0, "approval, swap", "SETTLED", []string{
			"for 1h0m0s at most:\n  PENDING: not in a block yet\n  SETTLED: paid out with " + settledTx + " on chain 369\n" +
				"Settled: 123.086419 USDC on PulseChain (369), says the gateway.",
		}},
		{[]string{"501"}, "", false, 0, "approval, swap", "", []string{"To follow it: quote status -gateway http", " -chain 1 0x"}},
		{nil, "", true, 1, "", "", []string{"not sent: the account has 0 of the token", "123456789 are needed"}},
		{[]string{"SETTLED true" + strings.Replace(settled, "123086419", "123000000", 1)}, "1h", false, 0, "approval, swap", "SETTLED",
			[]string{"Less was paid out than the quote said: 123 USDC instead of 123.086419 USDC."}},
		{[]string{anotherSwap}, "1h", false, 4, "approval, swap", "",
			[]string{"do not trust the gateway's answer", `swap.amount: got "1", want "123456789"`}},
		{[]string{"SETTLING false" + wished}, "1ms", false, 4, "approval, swap", "", []string{
			"the time is up", "it may arrive at any time, so do not send it again", "ask again with:\n  quote status -gateway",
		}},
		{[]string{"501"}, "1h", false, 4, "approval, swap", "", []string{
			"Sent. 123.086419 USDC will arrive", `cannot be followed" ("STATUS_UNAVAILABLE"`,
		}},
		{[]string{"NOT_A_SWAP true"}, "1h", false, 4, "approval, swap", "NOT_A_SWAP",
			[]string{"the gateway sees no swap in the transaction"}},
		{[]string{"FAILED true"}, "1h", false, 1, "approval, swap", "FAILED",
			[]string{"swapped nothing (FAILED), says the gateway: before you send it again"}},
	} {
		if !test.poor {
			mintUSDC(t, chain, key)
		}
		args := with(wish, "-json", "-execute", "-gateway", serveStatus(t, test.statuses...), "-rpc", chain.URL())
		if test.wait != "" {
			args = with(args, "-wait", test.wait)
		}
		code, stdout, stderr := call(t, env, args...)
		contains(t, "the progress", stderr, test.says...)
		var o struct {
			Quote        struct{ DestAmount string }
			Transactions []struct{ What, Hash string }
			Status       struct{ State, TxHash string }
			Error        string
		}
		decoder := json.NewDecoder(strings.NewReader(stdout))
		if err := decoder.Decode(&o); err != nil || decoder.More() || o.Quote.DestAmount != "123086419" {
			t.Fatalf("%q: got %v: %s", test.says, err, stdout)
		}
		var sent []string
		last := ""
		for _, tx := range o.Transactions {
			sent = append(sent, tx.What)
			last = tx.Hash
		}
		if code != test.code || strings.Join(sent, ", ") != test.sent || o.Status.State != test.state ||
			o.Status.TxHash != "" && o.Status.TxHash != last || (o.Error == "") != (test.code == 0) {
			t.Errorf("%q: got exit code %d and %+v", test.says, code, o)
		}
	}
}

// TestNodeFailsAfterSending: the node takes the swap and answers with an error. It is told as unknown, and with -wait the
// gateway is asked what became of it. It is never sent again.
func TestNodeFailsAfterSending(t *testing.T) {
	chain, key := startEthereum(t)
	env := map[string]string{"QUOTE_KEY": hex.EncodeToString(crypto.FromECDSA(key))}
	mintUSDC(t, chain, key)
	me := crypto.PubkeyToAddress(key.PublicKey)
	approve, err := contracts.TokenABI.Pack("approve", pool, big.NewInt(1e12))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chain.Send(t.Context(), key, usdc, nil, approve); err != nil {
		t.Fatal(err)
	}
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		res, err := http.Post(chain.URL(), "application/json", bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		if bytes.Contains(body, []byte("eth_sendRawTransaction")) || bytes.Contains(body, []byte("eth_getTransactionByHash")) {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, res.Body)
	}))
	defer node.Close()
	for i, test := range []struct {
		statuses []string
		wait     []string
		code     int
		says     string
	}{
		{[]string{"501"}, nil, 4, "the outcome of the swap is unknown"},
		{[]string{"SETTLED true" + settled}, []string{"-wait"}, 0, "Settled: 123.086419 USDC"},
		{[]string{"NOT_FOUND false"}, []string{"-wait", "1ms"}, 4, "do not send it again"},
	} {
		before, err := chain.Client().NonceAt(t.Context(), me, nil)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			mintUSDC(t, chain, key)
			before++
		}
		code, _, stderr := call(t, env, with(with(wish, "-execute", "-rpc", node.URL, "-gateway", serveStatus(t, test.statuses...)), test.wait...)...)
		if code != test.code {
			t.Errorf("%v: got exit code %d, want %d", test.wait, code, test.code)
		}
		contains(t, "the progress", stderr, test.says, "do not send it again", "swap: sending 0x")
		if after, err := chain.Client().NonceAt(t.Context(), me, nil); err != nil || after != before+1 {
			t.Errorf("%d transactions were sent (%v), want one", after-before, err)
		}
	}
}
