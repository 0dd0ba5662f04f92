package quote_test

import (
	"bytes"
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/quote"
)

const private = "0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s860w8vyalll36xdq7w39djr40dhrdafqpdmhpa"

// request moves 12.345678… of a token over a pair.
func request(t *testing.T, p *chain.Pair) *quote.Request {
	t.Helper()
	to := "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	if p.Dst.Private() {
		to = private
	}
	recipient, err := quote.AnyRecipient.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	amount := uint256.NewInt(12_345_678)
	for range p.SrcToken.Decimals - 6 {
		amount.Mul(amount, uint256.NewInt(10))
	}
	return &quote.Request{
		SrcChain: p.Src, DstChain: p.Dst, SrcToken: p.SrcToken.Symbol, DstToken: p.DstToken.Symbol,
		Amount: *amount, Recipient: recipient,
	}
}

func mustQuote(t *testing.T, engine *quote.Engine, req *quote.Request) *quote.Quote {
	t.Helper()
	q, err := engine.Quote(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// registry records the network of a lookup.
type registry struct {
	asked  []chain.ID
	caller netip.Prefix
	until  time.Time
}

func (r *registry) Lookup(_ context.Context, caller netip.Prefix, network chain.ID, id calldata.IntegratorID) (quote.Partner, error) {
	r.asked = append(r.asked, network)
	r.caller = caller
	return quote.Partner{ID: id, Wallet: chain.NewAddress(common.BytesToAddress(id[:])), FeeBPS: 100, GoodUntil: r.until}, nil
}

// fees records the source of a lookup.
type fees struct {
	asked []chain.ID
}

func (f *fees) Of(source chain.ID) fee.IssuerFee {
	f.asked = append(f.asked, source)
	return fee.IssuerFee{Source: source, Rate: fee.FromMilliBPS(1300), Origin: fee.BuiltIn}
}

// TestQuotesReadOnlyWhatTheyNeed: a direct quote without an integrator reads only memory, a
// burn reads the fee of its source, and a partner is looked up on the chain where the fee is
// paid.
func TestQuotesReadOnlyWhatTheyNeed(t *testing.T) {
	d := chain.Reference()
	for _, p := range chain.Pairs() {
		r, f := &registry{}, &fees{}
		engine := quote.NewEngine(quote.Parts{Deployment: d, IssuerFees: f, Integrators: r})
		req := request(t, &p)
		plain := mustQuote(t, engine, req)
		if plain.Details != nil {
			t.Errorf("%d to %d: a request that asks for no details gets them", p.Src, p.Dst)
		}
		if burn := p.Route == chain.CCTPInbound; len(r.asked) != 0 || len(f.asked) != 0 != burn || burn && f.asked[0] != p.Src {
			t.Errorf("%d to %d: asked the registry of %v and for the fee of %v", p.Src, p.Dst, r.asked, f.asked)
		}

		req.Integrator = calldata.IntegratorID{12: 0xfb, 31: 7}
		named := mustQuote(t, engine, req)
		if len(r.asked) != 1 || r.asked[0] != named.Fee.ChainID || named.Fee.ChainID != d.FeeChain(p.Dst) {
			t.Errorf("%d to %d: asked the registry of %v, want that of %d", p.Src, p.Dst, r.asked, d.FeeChain(p.Dst))
		}
		if !named.DestAmount.Lt(&plain.DestAmount) || !bytes.Contains(named.Calldata, req.Integrator[:]) || bytes.Contains(plain.Calldata, req.Integrator[:]) {
			t.Errorf("%d to %d: the integrator is not in the money and the calldata, or was there before it was named", p.Src, p.Dst)
		}
	}
}

// TestMissingContracts: a quote reports a missing contract if it needs it, and only then.
// Every contract is written as its chain, and a router's source.
func TestMissingContracts(t *testing.T) {
	d := chain.Reference()
	router := func(id chain.ID, symbol string) quote.Contract {
		for _, row := range d.Routers() {
			if row.ChainID == id && row.Token.Symbol == symbol {
				return quote.Contract{Network: id.Network(), Address: row.Router.Address}
			}
		}
		t.Fatalf("no router of %s on %s", symbol, id)
		return quote.Contract{}
	}
	token := func(id chain.ID, symbol string) quote.Contract {
		found, err := chain.FindToken(id, symbol)
		if err != nil {
			t.Fatal(err)
		}
		return quote.Contract{Network: id.Network(), Address: found.Address.Address}
	}
	native := contracts.Native
	receiver := quote.Contract{Network: d.Settlement.ChainID, Address: d.Settlement.Receiver.Address}
	privacy := chain.PrivacyEthereum
	type contracts = []quote.Contract
	for _, c := range []struct {
		src    chain.ID
		symbol string
		dst    chain.ID
		paid   string
		needs  contracts
	}{
		{1, "USDC", 369, "USDC", contracts{router(1, "USDC"), token(1, "USDC"), router(369, "USDC"), token(369, "USDC")}},
		{1, "ETH", 369, "WETH", contracts{router(1, "ETH"), router(369, "WETH"), token(369, "WETH")}},
		{369, "WETH", 1, "ETH", contracts{router(369, "WETH"), token(369, "WETH"), router(1, "ETH")}},
		{10, "USDC", 369, "USDC", contracts{
			router(10, "USDC"), token(10, "USDC"), receiver, router(369, "USDC"), token(369, "USDC"),
		}},
		{369, "USDC", 10, "USDC", contracts{
			router(369, "USDC"), token(369, "USDC"), router(8453, "USDC"), token(8453, "USDC"), token(10, "USDC"),
		}},
		{8453, "USDC", privacy, "USDC", contracts{
			router(8453, "USDC"), token(8453, "USDC"), router(privacy, "USDC"), token(1, "USDC"),
		}},
		{privacy, "USDC", 8453, "USDC", contracts{
			router(privacy, "USDC"), token(1, "USDC"), router(8453, "USDC"), token(8453, "USDC"),
		}},
	} {
		req := request(t, findPair(t, c.src, c.symbol, c.dst, c.paid))
		asked := map[quote.Contract]bool{}
		missing := quote.Contract{}
		isMissing := func(network chain.ID, address common.Address) bool {
			place := quote.Contract{Network: network, Address: address}
			if address != native {
				asked[place] = true
			}
			return place == missing
		}
		engine := quote.NewEngine(quote.Parts{Deployment: d, IssuerFees: &fees{}, Missing: isMissing})
		if q := mustQuote(t, engine, req); q.Missing != nil {
			t.Errorf("%s to %s: %v is missing", c.src, c.dst, q.Missing)
		}
		for place := range asked {
			if !slices.Contains(c.needs, place) {
				t.Errorf("%s to %s: asked about %v", c.src, c.dst, place)
			}
		}
		for _, missing = range c.needs {
			if q := mustQuote(t, engine, req); q.Missing == nil || *q.Missing != missing {
				t.Errorf("%s to %s: got %v, want %v missing", c.src, c.dst, q.Missing, missing)
			}
		}
	}
}

// TestImplausibleIssuerFee: if the rate is 0 and the issuer has reported an implausible fee,
// there is no quote.
func TestImplausibleIssuerFee(t *testing.T) {
	engine := quote.NewEngine(quote.Parts{Deployment: chain.Reference(), IssuerFees: tooHigh{}})
	_, err := engine.Quote(t.Context(), request(t, findPair(t, 1329, "USDC", 369, "USDC")))
	f := fault.From(err)
	if f.Code != fault.IssuerFeeTooHigh || f.RetryAfter != time.Minute || !strings.Contains(f.Message, "chain 1329") {
		t.Errorf("got %v", err)
	}
}

type tooHigh struct{}

func (tooHigh) Of(source chain.ID) fee.IssuerFee { return fee.IssuerFee{Source: source, TooHigh: true} }

// TestShieldNotesAreFresh: no word of a note is used twice.
func TestShieldNotesAreFresh(t *testing.T) {
	engine := quote.NewEngine(quote.Parts{Deployment: chain.Reference()})
	pair := findPair(t, 369, "USDC", chain.PrivacyEthereum, "USDC")
	seen := map[string]bool{}
	for range 20 {
		q := mustQuote(t, engine, request(t, pair))
		for word := range slices.Chunk(q.Calldata[len(q.Calldata)-160:], 32) {
			if seen[string(word)] {
				t.Fatalf("a word of a note was seen before: %x", word)
			}
			seen[string(word)] = true
		}
	}
}

// TestInvalidRequestsReadNothing: a mistake is found before any call.
func TestInvalidRequestsReadNothing(t *testing.T) {
	r, f := &registry{}, &fees{}
	engine := quote.NewEngine(quote.Parts{Deployment: chain.Reference(), IssuerFees: f, Integrators: r})
	pair := findPair(t, 137, "USDC", 369, "USDC")
	for _, tt := range []struct {
		code  fault.Code
		role  fault.Role
		spoil func(*quote.Request)
	}{
		{fault.UnsupportedPair, fault.DestinationChain, func(req *quote.Request) { req.DstChain = 8453 }},
		{fault.UnsupportedToken, fault.SourceToken, func(req *quote.Request) { req.SrcToken = "DAI" }},
		{fault.UnsupportedToken, fault.DestinationToken, func(req *quote.Request) { req.DstToken = "DAI" }},
		{fault.AmountOutOfRange, fault.Amount, func(req *quote.Request) { req.Amount = *uint256.NewInt(1) }},
		{fault.InvalidRecipient, fault.Recipient, func(req *quote.Request) { req.Recipient, _ = quote.AnyRecipient.Parse(private) }},
	} {
		req := request(t, pair)
		req.Integrator = calldata.IntegratorID{12: 0xfb, 31: 7}
		tt.spoil(req)
		_, err := engine.Quote(t.Context(), req)
		if e := fault.From(err); e.Code != tt.code || e.Role != tt.role {
			t.Errorf("got %v about role %d, want %s about %d", err, e.Role, tt.code, tt.role)
		}
	}
	if len(r.asked)+len(f.asked) != 0 {
		t.Errorf("asked the registry of %v and for the fee of %v", r.asked, f.asked)
	}
}

// TestRecipientsThatCannotOwnMoneyAreRefused: each with its own reason.
func TestRecipientsThatCannotOwnMoneyAreRefused(t *testing.T) {
	pair := findPair(t, 137, "USDC", 369, "USDC")
	d := chain.Reference()
	engine := quote.NewEngine(quote.Parts{Deployment: d, IssuerFees: &fees{}})
	for name, tt := range map[string]struct {
		address common.Address
		says    string // empty: it is paid
		reason  fault.Reason
	}{
		"an account":            {common.HexToAddress("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"), "", ""},
		"a burn address":        {common.HexToAddress("0x000000000000000000000000000000000000dEaD"), "burn address", fault.Reserved},
		"the highest address":   {common.HexToAddress("0xffffffffffffffffffffffffffffffffffffffff"), "burn address", fault.Reserved},
		"a wrapped coin":        {common.HexToAddress("0x4200000000000000000000000000000000000006"), "contract of WETH on chain 10", fault.Token},
		"a system contract":     {common.HexToAddress("0x4200000000000000000000000000000000000010"), "system contract of OP Stack", fault.Contract},
		"the destination token": {pair.DstToken.Address.Address, "contract of USDC on chain 369", fault.Token},
		"the receiver":          {d.Settlement.Receiver.Address, "the receiver of burns on chain 8453", fault.Contract},
		"zero, as v1 asks":      {common.Address{}, "", ""},
	} {
		req := request(t, pair)
		req.Recipient = quote.Recipient{EVM: tt.address}
		_, err := engine.Quote(t.Context(), req)
		if tt.says == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if e := fault.From(err); tt.says != "" && (e.Code != fault.InvalidRecipient || e.Reason != tt.reason || e.Role != fault.Recipient || !strings.Contains(e.Message, tt.says)) {
			t.Errorf("%s: got %v for %s, want it refused as %q for %s", name, err, e.Reason, tt.says, tt.reason)
		}
	}
}
