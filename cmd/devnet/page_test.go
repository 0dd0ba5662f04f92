package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/browser"
)

// page swaps on the devnet as a visitor does: by clicks on the gateway's page, with the test wallet.
func (w *world) page(t *testing.T) {
	proxy, told := w.servePage(t)
	tab := browser.Open(t, proxy.address+"/")
	t.Cleanup(func() {
		for _, problem := range tab.Close() {
			if !strings.Contains(problem, "Failed to load resource") { // a gateway that follows no swaps
				t.Error(problem)
			}
		}
	})
	for _, swap := range []struct {
		from, to string
		dst      chain.ID
		arrives  string
		followed bool // until the page says that it has arrived for good
	}{
		{"USDC@1", "USDC@369", 369, "99700000", true},
		{"USDT@1", "USDC@369", 369, "99700000", false},
		{"ETH@8453", "WETH@369", 369, "99700000000000000", false},
		{"USDC@10", "USDC@369", 369, "99700000", true},
		{"USDC@369", "USDC@42161", 42161, "99500000", false},
		{"DAI@56", "USDC@69696969", 69696969, "99500000", false},
	} {
		t.Run(swap.from+" to "+swap.to, func(t *testing.T) {
			recipient, amount := w.newRecipient().Hex(), "100"
			if swap.dst.Private() {
				recipient = reference.PrivateRecipient
			}
			if strings.HasPrefix(swap.from, "ETH") {
				amount = "0.1"
			}
			until := "#swap=0x"
			if swap.followed {
				until = "Complete"
			}
			hash := clickThrough(t, tab, proxy.address, swap.from, swap.to, amount, recipient, until)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			report, err := told.wait(ctx, hash)
			if err != nil || report.Err != nil {
				t.Fatal(err, report.Err)
			}
			if got := report.Payout.Settlement.Amount; got.String() != swap.arrives {
				t.Errorf("the operator paid %s, want %s", got, swap.arrives)
			}
			if swap.dst.Private() {
				return
			}
			token, err := chain.FindToken(swap.dst, report.Payout.DstToken.Hex())
			if err != nil {
				t.Fatal(err)
			}
			got, err := w.net.Balance(t.Context(), *token, common.HexToAddress(recipient), nil)
			if err != nil || got.String() != swap.arrives {
				t.Errorf("the recipient has %s (%v), want %s", got, err, swap.arrives)
			}
		})
	}
}

// printed is a snippet of the page for developers.
const printed = `(async () => {
	while (!document.getElementById('snippet-%[1]s')) await new Promise((done) => setTimeout(done, 20));
	return document.getElementById('snippet-%[1]s').textContent;
})()`

// pageSnippets are those that the page shows, of a token and of a coin.
func (w *world) pageSnippets(t *testing.T, proxy *pageProxy) (all []snippet) {
	t.Helper()
	address := proxy.address + "/developers?recipient=" + w.newRecipient().Hex()
	tab := browser.Open(t, address+"&from=USDC@1&to=USDC@369&amount=100")
	read := func(name string) {
		t.Helper()
		source, err := chromedp.Run(tab.Context(), chromedp.Evaluate[string](fmt.Sprintf(printed, name), chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, snippet{"page, " + name, source})
	}
	read("client")
	read("viem")
	if err := chromedp.Do(tab.Context(), chromedp.Navigate(address+"&from=ETH@4663&to=WETH@369&amount=0.5")); err != nil {
		t.Fatal(err)
	}
	read("viem")
	tab.Close()
	return all
}

// clickThrough fills in the form, asks, sends, waits until the page says something, and gives the hash of the swap.
func clickThrough(t *testing.T, tab *browser.Page, address, from, to, amount, recipient, until string) common.Hash {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab.Context(), 2*time.Minute)
	defer cancel()
	do := func(steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, steps...); err != nil {
			said, _ := chromedp.Run(tab.Context(), chromedp.Evaluate[string]("document.querySelector('#result').innerText"))
			t.Fatalf("%v; the page says:\n%s", err, said)
		}
	}
	choose := func(side, key string) {
		t.Helper()
		token, id, _ := strings.Cut(key, "@")
		for _, choice := range [][2]string{{side + "-chain", id}, {side + "-token", token}} {
			script := fmt.Sprintf("{ const select = document.getElementById(%q); select.value = %q; for (const name of ['input', 'change']) select.dispatchEvent(new Event(name, { bubbles: true })); } 1", choice[0], choice[1])
			if _, err := chromedp.Run(ctx, chromedp.Evaluate[int](script)); err != nil {
				t.Fatal(err)
			}
		}
	}
	do(chromedp.Navigate(address + "/"))
	choose("from", from)
	choose("to", to)
	do(chromedp.SendKeys(chromedp.CSS("#amount"), amount), chromedp.SendKeys(chromedp.CSS("#recipient"), recipient), chromedp.Click(chromedp.CSS("#ask")), chromedp.WaitVisible(chromedp.CSS("#send-button")))
	if strings.HasPrefix(recipient, "0zk") {
		do(chromedp.Click(chromedp.CSS("#consent")))
	}
	do(chromedp.Click(chromedp.CSS("#send-button")))
	said, err := chromedp.Run(ctx, chromedp.Evaluate[string](fmt.Sprintf(`(async () => {
		for (;;) {
			const [alert, card] = [document.querySelector('[role=alert]').innerText, document.getElementById('card').innerText];
			if (alert) return 'ALERT ' + alert;
			if ((card + location.hash).includes(%q)) return location.hash;
			await new Promise((done) => setTimeout(done, 50));
		}
	})()`, until), chromedp.EvalAwaitPromise))
	if err != nil || strings.HasPrefix(said, "ALERT") {
		t.Fatalf("%v, and the page says: %s", err, said)
	}
	hash, _, _ := strings.Cut(strings.TrimPrefix(said, "#swap="), "&")
	return common.HexToHash(hash)
}

// TestPageProxy: other origins cannot use the wallet, and it signs for nobody but the user.
func TestPageProxy(t *testing.T) {
	gateway := http.NewServeMux()
	gateway.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Etag", `"x"`)
		fmt.Fprintf(w, "<head></head>%s", r.URL.Path)
	})
	server := httptest.NewServer(gateway)
	defer server.Close()
	proxy, err := servePage("", server.URL, &reference.Net{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := proxy.close(); err != nil {
			t.Error(err)
		}
	}()
	send := `{"id": 1, "method": "eth_sendTransaction", "params": [%s]}`
	for name, tt := range map[string]struct {
		method, path, body, origin string
		status                     int
		words                      string
	}{
		"the page":             {"GET", "/", "", "", 200, `<script src="/devnet/wallet.js" defer></script></head>/`},
		"another path":         {"GET", "/v3/swap/quote", "", "", 200, "<head></head>/v3/swap/quote"},
		"the wallet":           {"GET", "/devnet/wallet.js", "", "", 200, reference.User.Address.Hex()},
		"another origin":       {"POST", "/devnet/rpc/1", "{}", "https://evil.example", 403, ""},
		"no such chain":        {"POST", "/devnet/rpc/2", "{}", "", 404, "no such chain"},
		"a privacy pool":       {"POST", "/devnet/rpc/69696969", "{}", "", 404, "no such chain"},
		"somebody else":        {"POST", "/devnet/rpc/1", fmt.Sprintf(send, `{"from": "0x0000000000000000000000000000000000000001"}`), "", 200, "has no key of"},
		"another chain":        {"POST", "/devnet/rpc/1", fmt.Sprintf(send, `{"from": "`+reference.User.Address.Hex()+`", "chainId": "0x38"}`), "", 200, "is for chain 56"},
		"no transaction":       {"POST", "/devnet/rpc/1", fmt.Sprintf(send, ""), "", 200, "one transaction is expected"},
		"an odd transaction":   {"POST", "/devnet/rpc/1", fmt.Sprintf(send, "7"), "", 200, "error"},
		"more than any wallet": {"POST", "/devnet/rpc/1", strings.Repeat(" ", 1<<20+1), "", 400, "too large"},
	} {
		req, err := http.NewRequest(tt.method, proxy.address+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if tt.origin != "" {
			req.Header.Set("Origin", tt.origin)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != tt.status || !strings.Contains(string(body), tt.words) {
			t.Errorf("%s: got %d %s (%v), want %d and %q", name, res.StatusCode, body, err, tt.status, tt.words)
		}
	}
}

// browsersMayAsk asks a chain as a page of another origin does.
func (w *world) browsersMayAsk(t *testing.T) {
	req, err := http.NewRequest("POST", w.net.Chain(1).URL(), strings.NewReader(`{"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", "https://wallet.example")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct{ Result string }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.Result != "0x1" || res.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("got %+v (%v) with %v, want the chain ID for any origin", answer, err, res.Header)
	}
}
