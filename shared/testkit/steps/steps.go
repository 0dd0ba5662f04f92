// Package steps times the answer of a version step by step. It is for the
// benchmarks of the versions, which have their steps to themselves.
package steps

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/wire"
)

const (
	account = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	private = "0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6" +
		"fe3z53la0e0u4w4enlgfrctv75s860w8vyalll36xdq7w39djr40dhrdafqpdmhpa"
)

// kinds are one route of each kind.
var kinds = []struct{ name, src, dst, recipient string }{
	{"direct", "1", "369", account},
	{"burn", "137", "369", account},
	{"shield", "369", "69696969", private},
	{"unshield", "69696969", "369", account},
}

// Version is how a version reads a request and words a quote.
type Version struct {
	Decode func(*chain.Deployment, *wire.Query) (quote.Request, error)
	Map    func(*quote.Quote) *wire.Body
}

// Benchmark times decode, quote and map of every kind of route, and all three
// together. A query is allocated here, where no front door has parsed it.
func (v Version) Benchmark(b *testing.B) {
	deployment := chain.Reference()
	fees, err := cctp.New(cctp.Config{}, deployment.Settlement, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer fees.Close()
	engine := quote.NewEngine(quote.Parts{Deployment: deployment, IssuerFees: fees, TTL: time.Minute})
	for _, kind := range kinds {
		r := httptest.NewRequest(http.MethodGet, "/?"+url.Values{
			"srcToken": {"USDC"}, "dstToken": {"USDC"}, "amount": {"100000000"},
			"srcChain": {kind.src}, "dstChain": {kind.dst}, "recipient": {kind.recipient},
		}.Encode(), nil)
		var req quote.Request
		var q *quote.Quote
		decode := func() error {
			req, err = v.Decode(deployment, wire.QueryOf(r))
			return err
		}
		price := func() error {
			q, err = engine.Quote(b.Context(), &req)
			return err
		}
		write := func() error { return v.Map(q).Send(nobody{}) }
		for _, step := range []struct {
			name string
			do   []func() error
		}{
			{"decode", []func() error{decode}},
			{"quote", []func() error{price}},
			{"map", []func() error{write}},
			{"all", []func() error{decode, price, write}},
		} {
			b.Run(kind.name+"/"+step.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					for _, do := range step.do {
						if err := do(); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}

// nobody takes an answer at no cost.
type nobody struct{}

func (nobody) Header() http.Header         { return http.Header{} }
func (nobody) Write(b []byte) (int, error) { return len(b), nil }
func (nobody) WriteHeader(int)             {}
