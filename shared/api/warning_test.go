package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
)

func TestWarn(t *testing.T) {
	const unknown = "Unknown parameters were ignored: "
	const empty = "Empty parameters were ignored: integratorId"
	withIntegrator := append(slices.Clone(Params), integratorParam)
	for query, want := range map[string]string{
		"": "",
		"srcToken=1&dstToken=2&amount=3&srcChain=4&dstChain=5&recipient=6&recipientType=0&integratorId=8": "",
		"amount=":                           "",
		"integratorID=1":                    unknown + "integratorID",
		"integratorId=":                     empty,
		"integratorId":                      empty,
		"integratorId=&a=1":                 unknown + "a. " + empty,
		"AMOUNT=1&amount=2":                 unknown + "AMOUNT",
		"b=1&amount=2&a=&c":                 unknown + "b, a, c",
		"b=1&a=1&b=2":                       unknown + "b, a",
		"b=1&fromAddress=1&a=1&slippage=1":  unknown + "slippage, fromAddress, b, a",
		"slippage=&slippage=1":              unknown + "slippage",
		"a&b&c&d&e&f&slippage":              unknown + "slippage, a, b, c, d",
		"&&=1&a=1&":                         unknown + "a",
		"%61mount=1&%62=1":                  unknown + "b",
		"a,b=1&c%22=1&d%0D%0AX: 1=1&e+e=1":  unknown + "a%2Cb, c%22, d%0D%0AX%3A+1, e+e",
		"%E2%80%AE=1&a%00=1&a[]=1&%C3%BC=1": unknown + "%E2%80%AE, a%00, a%5B%5D, %C3%BC",
		"a=%zz":                             "", // it is refused
		strings.Repeat("x", 32) + "=1":      unknown + strings.Repeat("x", 32),
		strings.Repeat("x", 5000) + "=1":    unknown + strings.Repeat("x", 32),
		strings.Repeat("x", 29) + "%00x=1":  unknown + strings.Repeat("x", 29) + "%00",
		strings.Repeat("x", 30) + "%00x=1":  unknown + strings.Repeat("x", 30),
		strings.Repeat("x", 31) + "%00x=1":  unknown + strings.Repeat("x", 31),
		strings.Repeat("y=1&", 300):         unknown + "y",
	} {
		h := http.Header{}
		queryOf(query, withIntegrator).warn(h)
		if got := strings.Join(h.Values(requestWarning), "\n"); got != want {
			t.Errorf("%.60s: got %q, want %q", query, got, want)
		}
	}
	h := http.Header{}
	queryOf("integratorId=", Params).warn(h)
	if got, want := h.Get(requestWarning), unknown+"integratorId"; got != want {
		t.Errorf("a version without integrators: got %q, want %q", got, want)
	}
}

// TestOnly: what a table lacks is not read, so that a decoder and the warning agree.
func TestOnly(t *testing.T) {
	q := queryOf(usdc+"&recipient="+wallet+"&integratorId="+wallet+"&integratorId=2", Params)
	if id, err := q.Integrator(); id != (calldata.IntegratorID{}) || err != nil || q.Has("integratorId") {
		t.Errorf("got %v and %v of a parameter that is not known", id, err)
	}
	if req, err := DecodeSwap(q, chain.ParseID); err != nil || req.Recipient.EVM.Hex() != wallet {
		t.Errorf("got %+v and %v, want the others read", req, err)
	}
	if _, err := queryOf("a=%zz", nil).find("b"); err == nil {
		t.Error("a query that cannot be read is no error")
	}
}

// FuzzWarn holds what a warning repeats to what a header may carry.
func FuzzWarn(f *testing.F) {
	f.Add("integratorID")
	f.Add("amoun\nt")
	f.Add(strings.Repeat("ü", 20))
	f.Fuzz(func(t *testing.T, name string) {
		h := http.Header{}
		queryOf(url.QueryEscape(name)+"=1", Params).warn(h)
		shown, warned := strings.CutPrefix(h.Get(requestWarning), "Unknown parameters were ignored: ")
		if warned == (name == "" || slices.Contains(Params, name)) || len(shown) > maxName ||
			strings.ContainsFunc(shown, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`,;:"'`, r) }) {
			t.Errorf("%q: got %q", name, h)
		}
		start, err := url.QueryUnescape(shown)
		if err != nil || !strings.HasPrefix(name, start) {
			t.Errorf("%q: got %q, %v", name, start, err)
		}
	})
}
