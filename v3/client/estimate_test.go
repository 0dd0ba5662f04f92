package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/v3/client"
)

// An estimateCase is one of testdata/client/estimate.json.
type estimateCase struct {
	Name    string
	Request struct {
		SrcToken, DstToken   string
		SrcChain, DstChain   uint64
		Amount, DestAmount   client.Amount
		IntegratorPercentage client.Percentage
	}
	Want struct{ SrcAmount, DestAmount, Protocol, Integrator client.Amount }

	Code                 string
	MinAmount, MaxAmount client.Amount
}

// TestEstimateCases runs the cases of testdata/client/estimate.json, which a test in JavaScript runs too.
func TestEstimateCases(t *testing.T) {
	data, err := os.ReadFile("../../testdata/client/estimate.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Listing json.RawMessage
		Cases   []estimateCase
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	listing, err := client.ParseListing(file.Listing)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		r := c.Request
		bps, _ := r.IntegratorPercentage.BPS()
		got, err := listing.Estimate(client.EstimateRequest{
			SrcChain: r.SrcChain, SrcToken: r.SrcToken, DstChain: r.DstChain, DstToken: r.DstToken,
			Amount: r.Amount.Int(), Dest: r.DestAmount.Int(), IntegratorBPS: bps,
		})
		if c.Code != "" {
			var refusal *client.Error
			if !errors.As(err, &refusal) || refusal.Code != c.Code ||
				refusal.MinAmount != c.MinAmount || refusal.MaxAmount != c.MaxAmount {
				t.Errorf("%s: got %v and %v, want %s with %s to %s", c.Name, got, err, c.Code, c.MinAmount, c.MaxAmount)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		said := fmt.Sprint(got.Amount, got.Dest, got.Protocol, got.Integrator)
		want := fmt.Sprint(c.Want.SrcAmount.Int(), c.Want.DestAmount.Int(), c.Want.Protocol.Int(), c.Want.Integrator.Int())
		if said != want {
			t.Errorf("%s: got %s, want %s", c.Name, said, want)
		}
	}
	if len(file.Cases) < 80 {
		t.Errorf("the file has %d cases", len(file.Cases))
	}
}

// referencePairs are those of the reference deployment, as a gateway lists them.
func referencePairs(t *testing.T, gateway http.Handler) (*client.Listing, []*client.Pair) {
	t.Helper()
	answer := httptest.NewRecorder()
	gateway.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/v3/app/pairs", nil))
	listing, err := client.ParseListing(answer.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var pairs []*client.Pair
	for _, row := range listing.Pairs {
		pair, err := listing.Find(row.SrcChain, row.SrcToken, row.DstChain, row.DstToken)
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, pair)
	}
	if len(pairs) == 0 {
		t.Fatal("the gateway lists no pairs")
	}
	return listing, pairs
}

// TestEstimateIsTheQuote holds estimates for every pair against the quotes of a gateway.
func TestEstimateIsTheQuote(t *testing.T) {
	const (
		address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
		private = "0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s860w8vyalll36xdq7w3" +
			"9djr40dhrdafqpdmhpa"
		partner    = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
		partnerBPS = 25
	)
	gateway := golden.Gateway(t)
	listing, pairs := referencePairs(t, gateway)
	random := rand.New(rand.NewPCG(1, 2))
	for _, p := range pairs {
		recipient := address
		if p.Shields {
			recipient = private
		}
		between := new(big.Int).Sub(p.Max, p.Min)
		between.Mul(between, big.NewInt(random.Int64N(1e9))).Quo(between, big.NewInt(1e9))
		for i, amount := range []*big.Int{p.Min, p.Max, between.Add(between, p.Min)} {
			r := client.EstimateRequest{
				SrcChain: p.SrcChain, SrcToken: p.SrcToken.Symbol, DstChain: p.DstChain, DstToken: p.DstToken.Symbol, Amount: amount,
			}
			query := url.Values{
				"srcToken": {r.SrcToken}, "srcChain": {fmt.Sprint(r.SrcChain)},
				"dstToken": {r.DstToken}, "dstChain": {fmt.Sprint(r.DstChain)},
				"amount": {amount.String()}, "recipient": {recipient},
			}
			if i > 0 {
				query.Set("integratorId", partner)
				r.IntegratorBPS = partnerBPS
			}
			answer := httptest.NewRecorder()
			gateway.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/v3/swap/quote?"+query.Encode(), nil))
			var quote client.Quote
			if err := json.Unmarshal(answer.Body.Bytes(), &quote); err != nil || answer.Code != http.StatusOK {
				t.Fatalf("%s: got %d and %v", query, answer.Code, err)
			}
			got, err := listing.Estimate(r)
			if err != nil {
				t.Fatal(err)
			}
			said := fmt.Sprint(got.Amount, got.Dest, got.Protocol, got.Integrator)
			want := fmt.Sprint(quote.SrcAmount.Int(), quote.DestAmount.Int(),
				quote.Fee.Protocol.Amount.Int(), quote.Fee.Integrator.Amount.Int())
			if said != want {
				t.Errorf("%s: got %s, want %s", query, said, want)
			}
		}
	}
}

// TestEstimateProperties holds estimates for every pair against the arithmetic of the service, at any rate, and the
// smallest amount for what is wanted against its neighbour.
func TestEstimateProperties(t *testing.T) {
	listing, pairs := referencePairs(t, golden.Gateway(t))
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(pairs).Draw(t, "pair")
		bps := rapid.Int64Range(0, 1000).Draw(t, "integrator")
		share := rapid.Int64Range(0, 1e15).Draw(t, "share of the limits")
		dust := rapid.Int64Range(0, 1e6).Draw(t, "dust")
		amount := new(big.Int).Sub(p.Max, p.Min)
		amount.Mul(amount, big.NewInt(share)).Quo(amount, big.NewInt(1e15))
		amount.Add(amount, p.Min).Add(amount, big.NewInt(dust))
		if amount.Cmp(p.Max) > 0 {
			amount.Set(p.Max)
		}
		ask := func(amount, dest *big.Int) (*client.Estimate, error) {
			return listing.Estimate(client.EstimateRequest{
				SrcChain: p.SrcChain, SrcToken: p.SrcToken.Symbol, DstChain: p.DstChain, DstToken: p.DstToken.Symbol,
				Amount: amount, Dest: dest, IntegratorBPS: bps,
			})
		}
		got, err := ask(amount, nil)
		if err != nil {
			t.Fatal(err)
		}
		gross := fee.Convert(uint256.MustFromBig(amount), p.SrcToken.Decimals, p.DstToken.Decimals)
		want := fee.Divide(&gross, fee.BPS(p.FeeBPS), fee.BPS(bps))
		if fmt.Sprint(got.Dest, got.Protocol, got.Integrator) !=
			fmt.Sprint(want.Net.ToBig(), want.Protocol.ToBig(), want.Integrator.ToBig()) {
			t.Fatalf("got %v, want %v", got, want)
		}

		wanted := new(big.Int).Add(got.Dest, big.NewInt(rapid.Int64Range(-2, 2).Draw(t, "more")))
		inverse, err := ask(nil, wanted)
		var refusal *client.Error
		if errors.As(err, &refusal) && refusal.Code == client.AmountOutOfRange {
			least, err := ask(p.Min, nil)
			if err != nil {
				t.Fatal(err)
			}
			if wanted.Cmp(got.Dest) <= 0 && wanted.Cmp(least.Dest) >= 0 {
				t.Fatalf("%s is refused, which %s pays out", wanted, amount)
			}
			return
		}
		if err != nil || inverse.Dest.Cmp(wanted) < 0 {
			t.Fatalf("got %v and %v, want at least %s", inverse, err, wanted)
		}
		below := new(big.Int).Sub(inverse.Amount, big.NewInt(1))
		if below.Cmp(p.Min) < 0 {
			return
		}
		less, err := ask(below, nil)
		if err != nil || less.Dest.Cmp(wanted) >= 0 {
			t.Fatalf("%s is enough for %s, and one less is too: %v, %v", inverse.Amount, wanted, less, err)
		}
		if wanted.Cmp(got.Dest) <= 0 && inverse.Amount.Cmp(amount) > 0 {
			t.Fatalf("%s is enough for %s, and the smallest is said to be %s", amount, wanted, inverse.Amount)
		}
	})
}

// TestEstimateOfABadListing: what contradicts itself gives no numbers.
func TestEstimateOfABadListing(t *testing.T) {
	bad := &client.Listing{Tokens: []client.ListedToken{{ChainID: 1, Symbol: "USDC", Address: common.Address{1}.Hex()}}}
	_, err := bad.Estimate(client.EstimateRequest{SrcChain: 1, SrcToken: "USDC", Amount: big.NewInt(1)})
	var refusal *client.Error
	if !errors.As(err, &refusal) || refusal.Code != client.Unverified {
		t.Errorf("got %v, want UNVERIFIED", err)
	}
}
