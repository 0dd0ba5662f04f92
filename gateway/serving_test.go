package gateway_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/chain"
)

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
			status, body := get(t, gw, quotePath(m)+"?"+pairQuery(p).Encode())
			var answer struct {
				Error, Code  string
				Alternatives []struct{ DstChain, DstToken string }
			}
			if err := json.Unmarshal(body, &answer); err != nil {
				t.Fatal(err)
			}
			if status == http.StatusOK {
				quotes++
			}
			unknown := m.Name == "v1" && answer.Code == "UNSUPPORTED_CHAIN" // it has fewer chains
			switch isServed := slices.Contains(served, p); {
			case unknown && strings.HasSuffix(answer.Error, "; supported chain IDs are 1, 56, 369, 8453"):
			case isServed && status == http.StatusOK:
			case !isServed && status == http.StatusBadRequest && answer.Code == "UNSUPPORTED_PAIR" &&
				strings.HasPrefix(answer.Error, "Unsupported swap pair: "):
			default:
				t.Errorf("%s, %s on %d to %s on %d: got %d %s", m.Name, p.SrcToken.Symbol, p.Src, p.DstToken.Symbol, p.Dst, status, body)
			}
			for _, a := range answer.Alternatives {
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
	for _, target := range []string{"/v3/app/routers", "/v3legacy/app/routers"} {
		body := wantContract(t, gw, target)
		var listing struct {
			Data       []struct{ ChainID chain.ID }
			Settlement map[string]any
		}
		if err := json.Unmarshal(body, &listing); err != nil {
			t.Fatal(err)
		}
		if _, has := listing.Settlement["receiver"]; len(listing.Data) < 10 || has || listing.Settlement["domain"] != 6.0 {
			t.Errorf("%s: got %s", target, body)
		}
	}
	body := wantContract(t, gw, "/v3/app/pairs")
	var listing struct {
		Chains []struct {
			ChainID  chain.ID
			Explorer string
		}
		Tokens []struct {
			ChainID chain.ID
			Symbol  string
		}
		Pairs []struct {
			SrcChain, DstChain chain.ID
			SrcToken, DstToken string
		}
	}
	if err := json.Unmarshal(body, &listing); err != nil {
		t.Fatal(err)
	}
	if len(listing.Chains) != 5 || len(listing.Tokens) != 10 || len(listing.Pairs) != len(served) {
		t.Errorf("got %d chains, %d tokens and %d pairs, want 5, 10 and %d", len(listing.Chains), len(listing.Tokens), len(listing.Pairs), len(served))
	}
	for _, row := range listing.Chains {
		if network, _ := chain.FindNetwork(row.ChainID); row.Explorer != network.Explorer || row.Explorer == "" {
			t.Errorf("chain %s: got the explorer %q, want %q", row.ChainID, row.Explorer, network.Explorer)
		}
	}
	status, body := get(t, gw, "/v3/swap/quote?"+strings.Replace(pairQuery(served[0]).Encode(), "srcChain=1&", "srcChain=5&", 1))
	if status != http.StatusBadRequest || !strings.Contains(string(body), "Chain 5 is not supported; supported chain IDs are 1, 56, 369, 4663, 8453\"") {
		t.Errorf("got %d %s", status, body)
	}
}

// wantContract asks for a listing, and wants the version's contract file to allow it.
func wantContract(t *testing.T, gw *gateway.Gateway, target string) []byte {
	t.Helper()
	version, _, _ := strings.Cut(target[1:], "/")
	r, w := httptest.NewRequest(http.MethodGet, target, nil), httptest.NewRecorder()
	gw.ServeHTTP(w, r)
	golden.ReadContract(t, gw, version).Check(t, r, w)
	return w.Body.Bytes()
}
