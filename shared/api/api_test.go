package api

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/version"
)

type quoter func(*quote.Request) (*quote.Quote, error)

func (f quoter) Quote(_ context.Context, req *quote.Request) (*quote.Quote, error) { return f(req) }

var example = &chain.Deployment{Name: "example"}

// TestHandle: a request that cannot be decoded is not quoted, and a failed quote sends nothing.
func TestHandle(t *testing.T) {
	unreadable, unquoted := errors.New("unreadable"), errors.New("unquoted")
	for name, tt := range map[string]struct {
		decode, quote, want error
		asked               bool
		body                string
	}{
		"a quote":                  {asked: true, body: "{\"a\":1}\n"},
		"a request not understood": {decode: unreadable, want: unreadable},
		"a quote that fails":       {quote: unquoted, want: unquoted, asked: true},
	} {
		t.Run(name, func(t *testing.T) {
			asked := false
			v := Quotes{
				Deployment: example,
				Quoter: quoter(func(*quote.Request) (*quote.Quote, error) {
					asked = true
					return &quote.Quote{}, tt.quote
				}),
				Read: func(*chain.Deployment, Query) (quote.Request, error) { return quote.Request{}, tt.decode },
				Warn: func(Query, quote.Recipient) string { return "do not" },
				Map: func(*quote.Quote) *Body {
					b := NewBody()
					b.Number("a", 1)
					return b
				},
			}
			w := httptest.NewRecorder()
			err := v.Handle(w, &version.Request{Request: httptest.NewRequest("GET", "/?a=1", nil)})
			if err != tt.want || asked != tt.asked || w.Body.String() != tt.body {
				t.Errorf("got %v, asked %t and %q, want %v, %t and %q", err, asked, w.Body, tt.want, tt.asked, tt.body)
			}
			if warned := w.Header().Get(quoteWarning) != ""; warned != (err == nil) {
				t.Errorf("got a warning: %t", warned)
			}
		})
	}
}

// TestWarning: one header has every reason why a quote must not be signed.
func TestWarning(t *testing.T) {
	const (
		lost      = "the recipient is the zero address"
		local     = "This quote must not be signed: the contracts of the reference deployment exist only on local test chains"
		noneThere = "This quote must not be signed: chain 1 has no contract at 0x0000000000000000000000000000000000000001"
	)
	missing := &quote.Contract{Network: 1, Address: common.BigToAddress(common.Big1)}
	for name, tt := range map[string]struct {
		deployment string
		missing    *quote.Contract
		warn       string
		want       string
	}{
		"may be signed":          {"example", nil, "", ""},
		"the devnet":             {"devnet", nil, "", ""},
		"no contract":            {"example", missing, "", noneThere},
		"lost":                   {"example", nil, lost, lost},
		"no contract, lost":      {"example", missing, lost, noneThere + "; " + lost},
		"reference":              {"reference", nil, "", local},
		"reference, no contract": {"reference", missing, "", local},
		"reference, lost":        {"reference", nil, lost, local + "; " + lost},
	} {
		v := Quotes{
			Deployment: &chain.Deployment{Name: tt.deployment},
			Warn:       func(Query, quote.Recipient) string { return tt.warn },
		}
		got := v.warning(Query{}, &quote.Request{}, &quote.Quote{Missing: tt.missing})
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestAlternatives: the error for an unsupported pair lists the destinations of its token.
func TestAlternatives(t *testing.T) {
	e := fault.New(fault.UnsupportedPair, "No such pair")
	status, body := MapFault(e, "r1")
	if p := body.(problem); status != 400 || p.Error != "No such pair" || p.Alternatives != nil || p.RequestID != "r1" {
		t.Errorf("got %d and %+v", status, p)
	}
	e.Alternatives = []fault.Alternative{{Chain: "369", Token: "USDC"}, {Chain: "1", Token: "ETH"}}
	_, body = MapFault(e, "r1")
	p := body.(problem)
	if want := "No such pair; from there it can go to USDC on 369, ETH on 1"; p.Error != want || len(p.Alternatives) != 2 {
		t.Errorf("got %q and %v, want %q", p.Error, p.Alternatives, want)
	}
}

// TestCodesAreListed wants every code in the table of docs/reference.md, in a row with its status.
func TestCodesAreListed(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range fault.Codes() {
		status, _ := MapFault(fault.New(code, "x"), "")
		row := regexp.MustCompile(fmt.Sprintf("(?m)^\\| %d \\| [^|]*`%s`", status, code))
		if !row.Match(page) {
			t.Errorf("docs/reference.md has no row with %d and %s", status, code)
		}
	}
}
