package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/testkit/browser"
)

// wallet swaps with the test wallet in a browser, and runs the snippets of the page and of the documentation.
func (w *world) wallet(t *testing.T) {
	stopped, err := w.net.Operate(t.Context(), func(r reference.Report) {
		if r.Err != nil {
			t.Errorf("the operator did not settle %s on chain %s: %v", r.Tx, r.Network, r.Err)
		}
		w.report(r.Tx) <- r
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stopped)
	address := startPage(t, w.url, w.net)
	tab := browser.Open(t, address+"/")
	w.clickSwaps(t, tab)
	t.Run("React", func(t *testing.T) {
		t.Parallel()
		w.renderReact(t, tab)
	})
	w.runSnippets(t, slices.Concat(pageSnippets(t, tab, address, w.newRecipient()), w.docSnippets(t)))
}

// clickSwaps swaps on the page, each time in a tab of its own. No two swaps share an allowance, or the page's storage.
func (w *world) clickSwaps(t *testing.T, first *browser.Page) {
	for _, test := range []struct {
		from, to, amount, arrives string
		followed                  bool // until the page says that it is complete
	}{
		{"USDC@1", "USDC@369", "100", "99700000", true},
		{"USDT@1", "USDC@369", "100", "99700000", false},
		{"ETH@8453", "WETH@369", "0.1", "99700000000000000", false},
		{"USDC@10", "USDC@369", "100", "99700000", true},
		{"USDC@369", "USDC@42161", "100", "99500000", false},
		{"DAI@56", "USDC@69696969", "100", "99500000", false},
	} {
		t.Run("page, "+test.from+" to "+test.to, func(t *testing.T) {
			t.Parallel()
			address := startPage(t, w.url, w.net)
			tab := first.Tab(t, address+"/")
			s := w.newSwap(t, pairOf(t, test.from, test.to), test.amount)
			until := "#swap=0x"
			if test.followed {
				until = "Complete"
			}
			hash := clickThrough(t, tab, s, test.amount, until)
			payout := w.wantPayout(t, hash)
			equal(t, "what the operator paid", payout.Settlement.Amount, test.arrives)
			if !s.Dst.Private() {
				w.wantBalance(t, s.DstToken, s.Recipient, test.arrives)
			}
		})
	}
}

// startPage serves the page until the test ends, and says where.
func startPage(t *testing.T, gateway string, chains *reference.Net) string {
	t.Helper()
	server, err := servePage("", gateway, chains)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return "http://" + server.Addr
}

// report is where the operator's report on a transaction arrives.
func (w *world) report(tx common.Hash) chan reference.Report {
	c, _ := w.reports.LoadOrStore(tx, make(chan reference.Report, 1))
	return c.(chan reference.Report)
}

// wantPayout waits until the operator has paid the swap of a transaction.
func (w *world) wantPayout(t *testing.T, tx common.Hash) *reference.Payout {
	t.Helper()
	select {
	case report := <-w.report(tx):
		if report.Err != nil {
			t.Fatal(report.Err)
		}
		return report.Payout
	case <-time.After(patience):
		t.Fatalf("the operator has not paid %s", tx)
		return nil
	}
}

// clickThrough fills in the form, asks, sends, waits until the page says something, and gives the hash of the swap.
func clickThrough(t *testing.T, tab *browser.Page, s swap.Swap, amount, until string) common.Hash {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab.Context(), patience)
	defer cancel()
	do := func(steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, steps...); err != nil {
			said, _ := chromedp.Run(tab.Context(), chromedp.Evaluate[string]("document.querySelector('#result').innerText"))
			t.Fatalf("%v; the page says:\n%s", err, said)
		}
	}
	for _, choice := range []struct{ id, value string }{
		{"from-chain", s.Src.String()},
		{"from-token", s.SrcToken.Symbol},
		{"to-chain", s.Dst.String()},
		{"to-token", s.DstToken.Symbol},
	} {
		chosen, err := inPage(ctx, fmt.Sprintf("choose(%q, %q)", choice.id, choice.value))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, choice.id, chosen, choice.value)
	}
	do(
		chromedp.SendKeys(chromedp.CSS("#amount"), amount),
		chromedp.SendKeys(chromedp.CSS("#recipient"), s.Recipient),
		chromedp.Click(chromedp.CSS("#ask")),
		chromedp.WaitVisible(chromedp.CSS("#send-button")),
	)
	if s.Dst.Private() {
		do(chromedp.Click(chromedp.CSS("#consent")))
	}
	do(chromedp.Click(chromedp.CSS("#send-button")))
	said, err := inPage(ctx, fmt.Sprintf("outcome(%q)", until))
	if err != nil || strings.HasPrefix(said, "ALERT") {
		t.Fatalf("%v, and the page says: %s", err, said)
	}
	hash, _, _ := strings.Cut(strings.TrimPrefix(said, "#swap="), "&")
	return common.HexToHash(hash)
}

//go:embed testdata/page.js
var pageScripts string

// inPage calls a function of testdata/page.js in the page.
func inPage(ctx context.Context, call string) (string, error) {
	script := pageScripts + "quotegate." + call
	return chromedp.Run(ctx, chromedp.Evaluate[string](script, chromedp.EvalAwaitPromise))
}

// pageSnippets are those that the page for developers shows, of a token and of a coin.
func pageSnippets(t *testing.T, tab *browser.Page, page string, recipient common.Address) (all []snippet) {
	t.Helper()
	for _, of := range []struct{ name, from, to, amount string }{
		{"client", "USDC@1", "USDC@369", "100"},
		{"viem", "USDC@1", "USDC@369", "100"},
		{"viem", "ETH@4663", "WETH@369", "0.5"},
	} {
		address := fmt.Sprintf("%s/developers?recipient=%s&from=%s&to=%s&amount=%s",
			page, recipient, of.from, of.to, of.amount)
		if err := chromedp.Do(tab.Context(), chromedp.Navigate(address)); err != nil {
			t.Fatal(err)
		}
		source, err := inPage(tab.Context(), fmt.Sprintf("snippet(%q)", of.name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, snippet{"page, " + of.name, source, pairOf(t, of.from, of.to).SrcToken})
	}
	return all
}

// TestPage: the page has the wallet, and all else is as the gateway says it. The chains' own tests send transactions.
func TestPage(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		fmt.Fprintf(w, "<head></head>%s", r.URL.Path)
	}))
	defer server.Close()
	address := startPage(t, server.URL, &reference.Net{})
	for _, test := range []struct {
		method, path string
		status       int
		words        string
	}{
		{"GET", "/", 200, `<script src="/devnet/wallet.js" defer></script></head>/`},
		{"GET", "/v3/swap/quote", 200, "<head></head>/v3/swap/quote"},
		{"GET", "/devnet/wallet.js", 200, reference.User.Address.Hex()},
		{"POST", "/devnet/rpc/2", 404, "no such chain"},
		{"POST", "/devnet/rpc/69696969", 404, "no such chain"},
	} {
		req, err := http.NewRequest(test.method, address+test.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != test.status || !strings.Contains(string(body), test.words) {
			t.Errorf("%s: got %d %s (%v), want %d and %q", test.path, res.StatusCode, body, err, test.status, test.words)
		}
	}
}
