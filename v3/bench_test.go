package v3

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/web"
)

const (
	somebody = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	private  = "0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s860w8vyalll36xdq7w39djr40dhrdafqpdmhpa"
)

func newHandler(b *testing.B) handler {
	b.Helper()
	deployment := chain.Reference()
	fees, err := cctp.New(cctp.Config{}, deployment.Settlement, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(fees.Close)
	return handler{quoter: quote.NewEngine(deployment, fees, nil)}
}

func target(srcChain, dstChain, recipient string) string {
	return "/v3/swap/quote?" + url.Values{
		"srcToken": {"USDC"}, "dstToken": {"USDC"}, "amount": {"100000000"},
		"srcChain": {srcChain}, "dstChain": {dstChain}, "recipient": {recipient},
	}.Encode()
}

// sink is a response that costs nothing.
type sink struct{ header http.Header }

func (s sink) Header() http.Header         { return s.header }
func (s sink) Write(b []byte) (int, error) { return len(b), nil }
func (s sink) WriteHeader(int)             {}

// BenchmarkQuote is a whole answer: decode, quote, map, encode.
func BenchmarkQuote(b *testing.B) {
	h := newHandler(b)
	for _, kind := range []struct{ name, src, dst, recipient string }{
		{"direct", "1", "369", somebody},
		{"burn", "137", "369", somebody},
		{"shield", "369", "69696969", private},
	} {
		b.Run(kind.name, func(b *testing.B) {
			r := httptest.NewRequest("GET", target(kind.src, kind.dst, kind.recipient), nil)
			w := sink{http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				if err := h.quote(w, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSteps is the same answer step by step, for a direct pair.
func BenchmarkSteps(b *testing.B) {
	h := newHandler(b)
	r := httptest.NewRequest("GET", target("1", "369", somebody), nil)
	query := web.ParseQuery(r)
	req, err := decodeQuote(&query)
	if err != nil {
		b.Fatal(err)
	}
	q, err := h.quoter.Quote(b.Context(), &req)
	if err != nil {
		b.Fatal(err)
	}
	steps := []struct {
		name string
		do   func() error
	}{
		{"decode", func() error { query := web.ParseQuery(r); _, err := decodeQuote(&query); return err }},
		{"quote", func() error { _, err := h.quoter.Quote(b.Context(), &req); return err }},
		{"map and encode", func() error { return mapQuote(q).Send(sink{http.Header{}}) }},
	}
	for _, step := range steps {
		b.Run(step.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := step.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
