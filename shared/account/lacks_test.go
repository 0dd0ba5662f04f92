package account_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/account"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// refusal is how a provider refuses a method: an HTTP status, or a JSON-RPC error.
type refusal struct {
	status int
	body   string // with the ID for %s
}

// refusals are those of real providers.
var refusals = map[string]refusal{
	"forbidden":     {403, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32052,"message":"API key is not allowed to access method"}}`},
	"no such path":  {404, `<html>404 page not found</html>`},
	"not this one":  {405, `Method Not Allowed`},
	"server error":  {500, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"Internal error"}}`},
	"not there":     {501, ``},
	"unavailable":   {503, `upstream connect error or disconnect/reset before headers`},
	"geth":          {200, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"the method does not exist/is not available"}}`},
	"Alchemy":       {200, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"Unsupported method: eth_simulateV1"}}`},
	"free plans":    {200, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32004,"message":"This call is not included in your plan"}}`},
	"an allow list": {200, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"rpc method is not whitelisted"}}`},
}

// refusing is a provider in front of a node that refuses methods. One in a batch by
// HTTP status refuses all of it.
func refusing(inner http.Handler, how refusal, methods ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		refused := false
		for _, m := range methods {
			refused = refused || strings.Contains(string(body), `"`+m+`"`)
		}
		if !refused {
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			inner.ServeHTTP(w, r)
			return
		}
		var call struct{ ID json.RawMessage }
		_ = json.Unmarshal(body, &call) // a batch has none
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(how.status)
		text := how.body
		if strings.Contains(text, "%s") {
			text = fmt.Sprintf(text, call.ID)
		}
		io.WriteString(w, text)
	})
}

// two are two endpoints of one chain, and the requests that they receive.
type two struct {
	*account.Reader
	meters [2]*node.Meter
	now    time.Time
}

func (s *swaps) behind(t *testing.T, providers ...http.Handler) *two {
	t.Helper()
	w := &two{now: s.now}
	var urls []rpc.SecretURL
	for i, p := range providers {
		w.meters[i] = &node.Meter{Node: p}
		urls = append(urls, rpc.SecretURL(node.NewFront(t, w.meters[i]).SecretURL()))
	}
	w.Reader = newReader(t, func() time.Time { return w.now }, urls...)
	return w
}

// ask reads an account and simulates its calls, as a quote does, and counts the calls and
// requests that this takes.
func (w *two) ask(t *testing.T, s *swaps, token *chain.Token, calls ...quote.Transaction) (got *quote.Simulation, asked, requests int) {
	t.Helper()
	holding, err := w.Read(t.Context(), netip.Prefix{}, token, s.evm.Operator, usdcPool)
	if err != nil {
		t.Fatalf("the readings no longer work: %v", err)
	}
	got, _ = w.Simulate(t.Context(), netip.Prefix{}, 1, s.evm.Operator, &holding, calls)
	for _, m := range w.meters {
		if m != nil {
			c, r := m.Read()
			asked, requests = asked+c, requests+r
		}
	}
	return got, asked, requests
}

// TestNodesThatCannotSimulate: a provider that refuses a method is not skipped for it, and the
// refusal costs little.
func TestNodesThatCannotSimulate(t *testing.T) {
	s := newSwaps(t)
	s.send(s.usdc, "mint", s.evm.Operator, big.NewInt(1000))
	ether := token(t, 1, chain.ETH)
	for name, how := range refusals {
		t.Run(name, func(t *testing.T) {
			neither := refusing(s.evm, how, "eth_simulateV1", "eth_estimateGas")
			w := s.behind(t, neither, neither)
			approval := []quote.Transaction{approve(s.usdc, usdcPool, 100), swap(usdcPool, 100, 0)}
			for again, want := range []int{7, 5, 5} {
				if got, asked, _ := w.ask(t, s, &s.usdc, approval...); got != nil || asked != want {
					t.Errorf("time %d: got %v for %d calls, want nothing for %d", again+1, got, asked, want)
				}
			}

			w = s.behind(t, neither, neither)
			if got, asked, _ := w.ask(t, s, ether, swap(etherPool, 5, 5)); got != nil || asked > 8 {
				t.Errorf("one call: got %v for %d calls, want nothing for 8 at most", got, asked)
			}

			estimates := s.behind(t, refusing(s.evm, how, "eth_simulateV1"))
			got, asked, _ := estimates.ask(t, s, ether, swap(etherPool, 5, 5))
			if got == nil || got.HasLogs || got.Calls[0].GasLimit <= got.Calls[0].GasUsed || asked != 7 {
				t.Errorf("got %+v for %d calls, want an estimate for 7", got, asked)
			}

			second := s.behind(t, refusing(s.evm, how, "eth_simulateV1"), s.evm)
			for again, most := range []int{10, 8, 8} {
				if got, asked, _ := second.ask(t, s, &s.usdc, approval...); got == nil || !got.HasLogs || asked > most {
					t.Errorf("the second simulates, time %d: got %v for %d calls, want at most %d", again+1, got, asked, most)
				}
			}
		})
	}
}

// TestCallsOfASimulation counts the calls of a simulation on a node that supports everything.
func TestCallsOfASimulation(t *testing.T) {
	s := newSwaps(t)
	s.send(s.usdc, "mint", s.evm.Operator, big.NewInt(1000))
	w := s.behind(t, s.evm, s.evm)
	for again, want := range [][2]int{{8, 4}, {7, 3}} {
		got, asked, requests := w.ask(t, s, &s.usdc, approve(s.usdc, usdcPool, 100), swap(usdcPool, 100, 0))
		if got == nil || asked != want[0] || requests != want[1] {
			t.Errorf("time %d: %d calls in %d requests, want %d in %d", again+1, asked, requests, want[0], want[1])
		}
	}
}
