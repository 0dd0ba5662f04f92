package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/browser"
	"github.com/quotegate/quotegate/shared/testkit/npm"
	"github.com/quotegate/quotegate/shared/testkit/pages"
)

// printedLine is a line of a snippet that says in a comment what it prints.
var printedLine = regexp.MustCompile(`console\.log\(.*\) // (.+)`)

// wantPrinted runs a snippet that sends nothing, and wants it to print what its comments say.
func wantPrinted(t *testing.T, source string, run func(...string) (string, error)) {
	t.Helper()
	lines := printedLine.FindAllStringSubmatch(source, -1)
	out, err := run()
	if err != nil || len(lines) == 0 {
		t.Fatalf("%v, and %d lines say what they print\n%s", err, len(lines), out)
	}
	rest := out
	for _, line := range lines {
		_, after, found := strings.Cut(rest, line[1])
		if !found {
			t.Errorf("it does not print %q:\n%s", line[1], out)
		}
		rest = after
	}
}

// runStored runs the recipe that stores its steps with a wallet of each kind: every time it pays once. A tab that is
// closed as soon as the swap was sent leaves enough for the next one to follow it.
func (w *world) runStored(t *testing.T, folder, file string, s snippet) {
	for name, c := range map[string]struct {
		wallet string // what the wallet is told to be
		want   string // printed by the tab that sends
		sent   int    // transactions
		isOpen bool   // the tab, until the end
	}{
		"one by one":    {sent: 2, isOpen: true},
		"batch":         {wallet: "BATCHES=1", want: "BATCH 2", sent: 2, isOpen: true},
		"unknown chain": {wallet: "FORGETFUL=1", want: "ADDED 0x1 Ethereum https://rpc.example.org", sent: 2, isOpen: true},
		"closed":        {wallet: "CLOSED=1", sent: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storage := "STORAGE=" + filepath.Join(t.TempDir(), "storage.json")
			run := w.newTab(t, folder, file, s)
			out, err := run(storage, c.wallet)
			sent := sentLine.FindAllStringSubmatch(out, -1)
			if err != nil || len(sent) != c.sent || !strings.Contains(out, c.want) {
				t.Fatalf("%v, %d transactions\n%s", err, len(sent), out)
			}
			if !c.isOpen {
				if strings.Contains(out, "SETTLED") {
					t.Errorf("the tab was not closed:\n%s", out)
				}
				if out, err = run(storage, "CHAIN=1"); err != nil || sentLine.MatchString(out) {
					t.Errorf("the second tab: %v\n%s", err, out)
				}
			}
			if !strings.Contains(out, "SETTLED") || strings.Contains(out, "less than quoted") {
				t.Errorf("the swap was not followed to its end:\n%s", out)
			}
			w.wantPayout(t, common.HexToHash(sent[len(sent)-1][1]))
		})
	}
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		storage := filepath.Join(t.TempDir(), "storage.json")
		out, err := w.newTab(t, folder, file, s)("STUBBORN=1", "STORAGE="+storage)
		if err == nil || sentLine.MatchString(out) {
			t.Errorf("a wallet on another chain sends: %v\n%s", err, out)
		}
		if left, err := os.ReadFile(storage); err != nil || string(left) != "[]" {
			t.Errorf("what was not sent is still stored: %s, %v", left, err)
		}
	})
}

// newContract deploys a contract that does nothing, on one chain only, and gives its address.
func (w *world) newContract(t *testing.T, on chain.ID) string {
	t.Helper()
	key := w.newAccount(t, chain.Token{ChainID: on, Address: chain.Native}, nil).Key
	node := w.net.Chain(on).Client()
	id, err := node.ChainID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(id), &types.LegacyTx{
		GasPrice: big.NewInt(2 * params.GWei), Gas: 100_000, Data: common.FromHex("0x60015ff3"), // returns STOP
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := node.SendTransaction(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	return crypto.CreateAddress(crypto.PubkeyToAddress(key.PublicKey), 0).Hex()
}

// A front is what the React recipe takes for its gateway. Its quotes expire after two seconds; those of one amount are
// never answered, and those of another only at the second attempt.
type front struct {
	http.Handler
	mu        sync.Mutex
	asked     map[string]int // quotes, by amount
	cancelled chan string    // amounts of requests that were cancelled
}

const (
	silentAmount = "200000000"
	flakyAmount  = "400000000"
)

var validity = regexp.MustCompile(`"validForSeconds":\s*\d+`)

func newFront(t *testing.T, gateway string, script []byte) *front {
	t.Helper()
	target, err := url.Parse(gateway)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{asked: map[string]int{}, cancelled: make(chan string, 1)}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = shorten
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `<!DOCTYPE html><link rel="icon" href="data:,"><body></body><script src="/recipe.js"></script>`)
	})
	mux.HandleFunc("GET /recipe.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write(script)
	})
	mux.HandleFunc("GET /v3/swap/quote", func(w http.ResponseWriter, r *http.Request) {
		amount := r.URL.Query().Get("amount")
		switch attempt := f.count(amount); {
		case amount == silentAmount:
			<-r.Context().Done()
			f.cancelled <- amount
		case amount == flakyAmount && attempt == 1:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusBadGateway)
		default:
			proxy.ServeHTTP(w, r)
		}
	})
	mux.Handle("/", proxy)
	f.Handler = mux
	return f
}

// count counts a request, and says how many there were for this amount.
func (f *front) count(amount string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[amount]++
	return f.asked[amount]
}

func (f *front) countOf(amount string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[amount]
}

// shorten makes a quote expire soon.
func shorten(res *http.Response) error {
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	body = validity.ReplaceAll(body, []byte(`"validForSeconds":2`))
	res.Body = io.NopCloser(bytes.NewReader(body))
	res.Header.Set("Content-Length", strconv.Itoa(len(body)))
	res.ContentLength = int64(len(body))
	return nil
}

// renderReact compiles the recipe for React and runs it in a browser: it shows a quote and its successor, aborts what is
// not needed any more, retries what may pass, and shows the error of what does not.
func (w *world) renderReact(t *testing.T, first *browser.Page) {
	blocks, err := pages.Find("../..", "docs/integrate.md", "tsx")
	if err != nil || len(blocks) != 1 {
		t.Fatalf("docs/integrate.md has %d blocks for React, %v", len(blocks), err)
	}
	folder := npm.Consumer(t)
	harness, err := os.ReadFile("../../testdata/client/react.mjs")
	if err != nil {
		t.Fatal(err)
	}
	recipe := strings.ReplaceAll(blocks[0].Text, "'http://localhost:8080'", "location.origin")
	for name, source := range map[string][]byte{"quote.tsx": []byte(recipe), "react.mjs": harness} {
		if err := os.WriteFile(filepath.Join(folder, name), source, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	compile(t, folder, "quote.tsx")
	if out, err := npm.Run(t, folder, "node_modules/.bin/esbuild", "--bundle", "--format=iife", "--jsx=automatic",
		"--log-level=error", "--outfile=recipe.js", "react.mjs"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	script, err := os.ReadFile(filepath.Join(folder, "recipe.js"))
	if err != nil {
		t.Fatal(err)
	}
	f := newFront(t, w.url, script)
	server := httptest.NewServer(f)
	defer server.Close()
	tab := first.Tab(t, server.URL+"/")

	showQuote(t, tab, "100000000", "99.7 USDC")
	showQuote(t, tab, silentAmount, "Loading")
	showQuote(t, tab, "300000000", "299.1 USDC")
	select {
	case amount := <-f.cancelled:
		equal(t, "cancelled amount", amount, silentAmount)
	case <-time.After(patience):
		t.Error("the request for an amount that was replaced is not aborted")
	}
	for start := time.Now(); f.countOf("300000000") < 3; time.Sleep(50 * time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatal("a quote that has expired is not replaced")
		}
	}
	showQuote(t, tab, flakyAmount, "398.8 USDC")
	showQuote(t, tab, "1", "AMOUNT_OUT_OF_RANGE")
	for amount, want := range map[string]int{"100000000": 1, silentAmount: 1, "1": 1} {
		equal(t, "requests of "+amount, f.countOf(amount), want)
	}
	for _, problem := range tab.Close() {
		if !strings.Contains(problem, "status of 502") && !strings.Contains(problem, "status of 400") {
			t.Error(problem)
		}
	}
}

// showQuote has the page show the quote of an amount, and waits for a text.
func showQuote(t *testing.T, tab *browser.Page, amount, want string) {
	t.Helper()
	request, err := json.Marshal(map[string]any{
		"srcToken": "USDC", "dstToken": "USDC", "amount": amount, "srcChain": 1, "dstChain": 369,
		"recipient": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(tab.Context(), patience)
	defer cancel()
	script := "show(" + string(request) + "); document.body.innerText"
	shown := ""
	for {
		text, err := chromedp.Run(ctx, chromedp.Evaluate[string](script))
		if err != nil {
			t.Fatalf("%v: it shows %q, want %s", err, shown, want)
		}
		shown = text
		if strings.Contains(text, want) {
			return
		}
		script = "document.body.innerText"
		time.Sleep(20 * time.Millisecond)
	}
}
