package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"testing"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
)

type quoter func(*quote.Request) (*quote.Quote, error)

func (f quoter) Quote(_ context.Context, req *quote.Request) (*quote.Quote, error) { return f(req) }

// TestHandle: what cannot be read is not quoted, what cannot be quoted is not answered,
// and a quote that must not be signed says so.
func TestHandle(t *testing.T) {
	unreadable, unquoted := errors.New("unreadable"), errors.New("unquoted")
	warn := func(text string) func(*Query, quote.Recipient) string {
		return func(*Query, quote.Recipient) string { return text }
	}
	for name, tt := range map[string]struct {
		decode, quote, want error
		warn                func(*Query, quote.Recipient) string
		asked               bool
		body                string
		warnings            []string
	}{
		"a quote":                  {asked: true, body: "{\"a\":1}\n"},
		"one that may be signed":   {warn: warn(""), asked: true, body: "{\"a\":1}\n"},
		"one that must not be":     {warn: warn("do not"), asked: true, body: "{\"a\":1}\n", warnings: []string{"do not"}},
		"a request not understood": {decode: unreadable, want: unreadable, warn: warn("do not")},
		"a quote that fails":       {quote: unquoted, want: unquoted, warn: warn("do not"), asked: true},
	} {
		t.Run(name, func(t *testing.T) {
			asked := false
			v := Quotes{
				Quoter: quoter(func(*quote.Request) (*quote.Quote, error) {
					asked = true
					return &quote.Quote{}, tt.quote
				}),
				Read: func(*chain.Deployment, *Query) (quote.Request, error) { return quote.Request{}, tt.decode },
				Warn: tt.warn,
				Map: func(*quote.Quote) *Body {
					b := NewBody()
					b.Number("a", 1)
					return b
				},
			}
			w := httptest.NewRecorder()
			err := v.Handle(w, httptest.NewRequest("GET", "/?a=1", nil))
			warnings := w.Header().Values(QuoteWarning)
			if err != tt.want || asked != tt.asked || w.Body.String() != tt.body {
				t.Errorf("got %v, asked %t and %q, want %v, %t and %q", err, asked, w.Body, tt.want, tt.asked, tt.body)
			}
			if len(warnings) != len(tt.warnings) || len(warnings) == 1 && warnings[0] != tt.warnings[0] {
				t.Errorf("got the warnings %q, want %q", warnings, tt.warnings)
			}
		})
	}
}

// TestAlternatives: who asked for a pair that is none reads where the token can go.
func TestAlternatives(t *testing.T) {
	e := fault.New(fault.UnsupportedPair, "No such pair")
	status, body := MapFault(e, "r1")
	if p := body.(Problem); status != 400 || p.Error != "No such pair" || p.Alternatives != nil || p.RequestID != "r1" {
		t.Errorf("got %d and %+v", status, p)
	}
	e.Alternatives = []fault.Alternative{{Chain: "369", Token: "USDC"}, {Chain: "1", Token: "ETH"}}
	_, body = MapFault(e, "r1")
	p := body.(Problem)
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
