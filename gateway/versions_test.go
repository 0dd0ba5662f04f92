package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/wire"
)

const (
	somebody = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	private  = "0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s860w8vyalll36xdq7w39djr40dhrdafqpdmhpa"
)

// quotePath is where a version quotes: the first route of every module.
func quotePath(m web.Module) string { return m.Routes[0].Path }

// pairQuery is a request that moves an uneven amount over a pair.
func pairQuery(p chain.Pair) url.Values {
	amount := "1234567" + strings.Repeat("8", int(p.SrcToken.Decimals)-5) // 12.34… of a token
	recipient := somebody
	if p.Dst.Private() {
		recipient = private
	}
	return url.Values{
		"srcToken": {p.SrcToken.Symbol}, "dstToken": {p.DstToken.Symbol}, "amount": {amount},
		"srcChain": {p.Src.String()}, "dstChain": {p.Dst.String()}, "recipient": {recipient},
	}
}

func get(t *testing.T, h http.Handler, target string) (int, []byte) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
	return w.Code, w.Body.Bytes()
}

// TestAllVersionsAgree runs every pair through every version: the same request is the
// same transaction and the same money, whatever the words. An old version need not know
// every chain.
func TestAllVersionsAgree(t *testing.T) {
	gw, versions, known := newGateway(t), modules(), learn(t)
	for _, p := range chain.Pairs() {
		t.Run(fmt.Sprintf("%s on %d to %s on %d", p.SrcToken.Symbol, p.Src, p.DstToken.Symbol, p.Dst), func(t *testing.T) {
			want := facts{}
			for _, m := range versions {
				status, body := get(t, gw, quotePath(m)+"?"+pairQuery(p).Encode())
				refused := status == http.StatusBadRequest && strings.Contains(string(body), `"`+string(fault.UnsupportedChain)+`"`)
				if refused && m.Name != gateway.Current {
					continue
				}
				if status != http.StatusOK {
					t.Errorf("%s: got %d %s", m.Name, status, body)
					continue
				}
				got := known[m.Name].read(body)
				got.Calldata = golden.MaskNote(got.Calldata)
				if want == (facts{}) {
					want = got
				}
				if got != want {
					t.Errorf("%s: got %+v, want %+v", m.Name, got, want)
				}
			}
		})
	}
}

// TestEveryVersionReplaysItsGoldens makes sure that no version is served
// without goldens, which are replayed in the version's own package.
func TestEveryVersionReplaysItsGoldens(t *testing.T) {
	for _, m := range modules() {
		source, err := os.ReadFile("../" + m.Name + "/golden_test.go")
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(source), `golden.Replay(t, "`+m.Name+`"`) {
			t.Errorf("the tests of %s do not replay its goldens", m.Name)
		}
	}
}

// TestRouterListingMatchesEveryQuote is the check a careful client makes.
func TestRouterListingMatchesEveryQuote(t *testing.T) {
	gw := newGateway(t)
	_, body := get(t, gw, "/v3/app/routers")
	var listing struct {
		Data []struct {
			ChainID               chain.ID
			Symbol, Token, Router string
		}
	}
	if err := json.Unmarshal(body, &listing); err != nil {
		t.Fatal(err)
	}
	for _, p := range chain.Pairs() {
		_, body := get(t, gw, "/v3/swap/quote?"+pairQuery(p).Encode())
		var quote struct {
			To       string
			SrcToken struct{ Address, Symbol string }
		}
		if err := json.Unmarshal(body, &quote); err != nil {
			t.Fatal(err)
		}
		rows := 0
		for _, row := range listing.Data {
			if row.ChainID == p.Src && row.Token == quote.SrcToken.Address {
				rows++
				if row.Router != quote.To || row.Symbol != quote.SrcToken.Symbol {
					t.Errorf("%s on %d: the listing says %s, the quote %s", p.SrcToken.Symbol, p.Src, row.Router, quote.To)
				}
			}
		}
		if rows != 1 {
			t.Errorf("%s on %d: got %d rows, want 1", p.SrcToken.Symbol, p.Src, rows)
		}
	}
}

// TestEveryVersionHasWordsForEveryFault holds each dialect to be total: a
// status, and a string under "error".
func TestEveryVersionHasWordsForEveryFault(t *testing.T) {
	allowed := []int{400, 401, 404, 405, 410, 429, 500, 501, 503}
	for _, m := range modules() {
		for _, code := range fault.Codes() {
			status, body := m.MapFault(fault.New(code, "A sentence"), "id-1")
			if !slices.Contains(allowed, status) {
				t.Errorf("%s: %s has status %d", m.Name, code, status)
			}
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			var read struct {
				Error     string
				Code      fault.Code
				RequestID string
			}
			if err := json.Unmarshal(text, &read); err != nil || read.Error != "A sentence" || read.Code != code || read.RequestID != "id-1" {
				t.Errorf("%s: %s reads %s", m.Name, code, text)
			}
		}
	}
}

// TestSymbolsFoldASCIIOnly: a name that only looks like a symbol, or that Unicode folds to one, is no token in any version.
func TestSymbolsFoldASCIIOnly(t *testing.T) {
	gw := newGateway(t)
	pair, err := chain.FindPair(1, "USDC", chain.Hub, "USDC")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"USDC", "usdc", "Usdc", "uSdC"} {
		query := pairQuery(*pair)
		query.Set("srcToken", name)
		query.Set("dstToken", name)
		for _, m := range modules() {
			if status, body := get(t, gw, quotePath(m)+"?"+query.Encode()); status != http.StatusOK {
				t.Errorf("%s, %q: got %d %s, want a quote", m.Name, name, status, body)
			}
		}
	}
	for _, name := range []string{"u\u017fdc", "U\u017fDC", "\u0405SDC", "USD\u0421", "USDC\u200b", "US\u00adDC", "USDC ", " USDC", "ＵＳＤＣ", "USDC\x00"} {
		for _, param := range []string{"srcToken", "dstToken"} {
			query := pairQuery(*pair)
			query.Set(param, name)
			for _, m := range modules() {
				status, body := get(t, gw, quotePath(m)+"?"+query.Encode())
				if status != http.StatusBadRequest || !strings.Contains(string(body), string(fault.UnsupportedToken)) {
					t.Errorf("%s, %s=%q: got %d %s, want it refused", m.Name, param, name, status, body)
				}
			}
		}
	}
}

// TestOldVersionsSayHowToLeave: the letters to clients print the way to the current
// version, whichever that is: which path to call, and what else to do.
func TestOldVersionsSayHowToLeave(t *testing.T) {
	moves := gateway.Moves(modules())
	for _, m := range modules() {
		steps := moves[m.Name]
		switch {
		case m.Name == gateway.Current && len(steps) > 0:
			t.Errorf("the current version tells its clients to leave: %q", steps)
		case m.Name != gateway.Current &&
			(len(steps) < 2 || !strings.HasPrefix(steps[0], "Call /"+gateway.Current+"/swap/quote instead of /")):
			t.Errorf("%s does not say how to leave it: %q", m.Name, steps)
		}
	}
}

// TestVersionsKeepTheContract validates the document of all versions, with a
// plan in force and without one.
func TestVersionsKeepTheContract(t *testing.T) {
	for name, cfg := range map[string]gateway.Config{"no plan": {}, "a plan": {LifecycleFile: writePlan(t, old(t).Name)}} {
		t.Run(name, func(t *testing.T) {
			gw := mount(t, setup{Config: cfg})
			r := httptest.NewRequest("GET", "/versions", nil)
			w := httptest.NewRecorder()
			gw.ServeHTTP(w, r)
			golden.ReadContract(t, gw, gateway.Current).Check(t, r, w)
			var document struct {
				Versions []struct{ Name, Contract string }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil || w.Code != http.StatusOK {
				t.Errorf("got %d, %v", w.Code, err)
			}
			var listed []string
			for _, v := range document.Versions {
				listed = append(listed, v.Name)
				if v.Contract != "/"+v.Name+"/openapi.yaml" {
					t.Errorf("got %+v", v)
				}
			}
			if !slices.Equal(listed, gateway.Names(modules())) {
				t.Errorf("got %q", listed)
			}
		})
	}
}

// TestContractsListEveryCode makes sure that a client generated from the
// contract knows every code it can meet.
func TestContractsListEveryCode(t *testing.T) {
	gw := newGateway(t)
	ofIntegrators := []fault.Code{
		fault.InvalidIntegrator, fault.IntegratorUnregistered, fault.IntegratorInactive,
		fault.IntegratorFeeTooHigh, fault.IntegratorUnverified,
	}
	ofStatus := []fault.Code{fault.StatusUnavailable, fault.ChainUnavailable}
	for _, m := range modules() {
		contract := golden.ReadContract(t, gw, m.Name).Doc.Components
		schemas := contract.Schemas
		var without []fault.Code
		if contract.Parameters["Integrator"] == nil {
			without = append(without, ofIntegrators...)
		}
		if contract.Schemas["Status"] == nil {
			without = append(without, ofStatus...)
		}
		listed := schemas["KnownErrorCode"].Value.Enum
		for _, code := range fault.Codes() {
			if slices.Contains(without, code) {
				continue
			}
			if !slices.Contains(listed, any(string(code))) {
				t.Errorf("%s: the contract does not list %s", m.Name, code)
			}
		}
		for _, code := range listed {
			if !slices.Contains(fault.Codes(), fault.Code(code.(string))) {
				t.Errorf("%s: the contract lists %s, which does not exist", m.Name, code)
			}
		}
		reasons := []any{
			"ZERO", "CHECKSUM", "NAME", "CONTRACT", "TOKEN", "RESERVED", "PRIVATE_ON_PUBLIC", "PUBLIC_ON_PRIVATE", "MALFORMED",
		}
		if got := schemas["RecipientReason"].Value.Enum; !slices.Equal(got, reasons) {
			t.Errorf("%s: the contract lists the reasons %v, want %v", m.Name, got, reasons)
		}
	}
}

// asked is a core that notes what it is asked, and answers nothing.
type asked struct{ request *quote.Request }

func (a *asked) Quote(_ context.Context, req *quote.Request) (*quote.Quote, error) {
	a.request = req
	return nil, errors.New("no answer")
}

// TestModulesDecodeAsTheirHandlersDo sends the query of every golden to all
// routes that quote, and to Decode: both come to the same request, or to the
// same error.
func TestModulesDecodeAsTheirHandlersDo(t *testing.T) {
	core := &asked{}
	for _, m := range gateway.Modules(api.Service{Deployment: chain.Reference(), Engine: core}) {
		files, err := filepath.Glob("../testdata/" + m.Name + "/*.http")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no goldens (%v)", m.Name, err)
		}
		requests, refusals := 0, 0
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			line, _, _ := strings.Cut(string(data), "\n")
			_, query, _ := strings.Cut(line, "?")
			for _, route := range m.Routes {
				if !route.Quotes {
					continue
				}
				core.request = nil
				request := &http.Request{URL: &url.URL{RawQuery: query}}
				handled := route.Handle(httptest.NewRecorder(), request)
				decoded, err := m.Decode(request)
				if err != nil {
					refusals++
					got, want := fault.From(err), fault.From(handled)
					if core.request != nil || got.Code != want.Code || got.Message != want.Message || wire.Param(got) != wire.Param(want) {
						t.Errorf("%s: decoded to %v, handled to %v", file, err, handled)
					}
				} else if core.request == nil {
					t.Errorf("%s: decoded, but handled to %v", file, handled)
				} else if same, role := decoded.Same(core.request); !same {
					t.Errorf("%s: decoded and handled differ in the %s", file, wire.Name(role))
				} else {
					requests++
				}
			}
		}
		if requests == 0 || refusals == 0 {
			t.Errorf("%s: %d requests and %d refusals compared, want some of each", m.Name, requests, refusals)
		}
	}
}
