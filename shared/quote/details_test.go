package quote_test

import (
	"bytes"
	"context"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/account"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/quote"
)

var (
	noon  = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	alice = common.HexToAddress("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
)

// wallet answers what one account holds, or why that is not known.
type wallet struct {
	holding account.Holding
	err     error
	asked   int
}

func (w *wallet) Read(context.Context, *chain.Token, common.Address, common.Address) (account.Holding, error) {
	w.asked++
	return w.holding, w.err
}

func detailed(t *testing.T, p *chain.Pair) *quote.Request {
	req := request(t, p)
	req.Details = true
	return req
}

func findPair(t *testing.T, src chain.ID, srcToken string, dst chain.ID, dstToken string) *chain.Pair {
	t.Helper()
	p, err := chain.FindPair(src, srcToken, dst, dstToken)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDetailsOfEveryPair: the details agree with the quote they explain, and
// nobody is asked what the request does not need.
func TestDetailsOfEveryPair(t *testing.T) {
	d := chain.Reference()
	w := &wallet{}
	engine := quote.NewEngine(quote.Parts{Deployment: d, IssuerFees: &fees{}, Accounts: w, TTL: time.Minute, Now: func() time.Time { return noon }})
	for _, p := range chain.Pairs() {
		q, err := engine.Quote(t.Context(), detailed(t, &p))
		if err != nil {
			t.Fatal(err)
		}
		got := q.Details
		last := got.Transactions[len(got.Transactions)-1]
		if last.To != q.To || !bytes.Equal(last.Data, q.Calldata) || !last.Value.Eq(&q.Value) {
			t.Errorf("%d to %d: the last transaction is not the quote's", p.Src, p.Dst)
		}
		if !got.ValidUntil.Equal(noon.Add(time.Minute)) {
			t.Errorf("%d to %d: valid until %s", p.Src, p.Dst, got.ValidUntil)
		}
		wantFunction := "swap(uint256,uint256,bytes,uint8,address,bytes32)"
		if p.Route == chain.CCTPInbound {
			wantFunction = "depositForBurnWithHook(uint256,uint32,bytes32,address,bytes32,uint256,uint32,bytes)"
		}
		if got.Call.Function != wantFunction || (got.Hook != nil) != (p.Route == chain.CCTPInbound) || (got.IssuerFee != nil) != (got.Hook != nil) {
			t.Errorf("%d to %d: got %s, hook %v, issuer fee %v", p.Src, p.Dst, got.Call.Function, got.Hook, got.IssuerFee)
		}
		checkArrival(t, &p, q)
	}
	if w.asked != 0 {
		t.Errorf("an account was read %d times for requests that name none", w.asked)
	}
}

// checkArrival works with other arithmetic: RAILGUN takes 25 of 10,000.
func checkArrival(t *testing.T, p *chain.Pair, q *quote.Quote) {
	t.Helper()
	a := q.Details.Arrival
	left := func(n *big.Int) *big.Int {
		part := new(big.Int).Mul(n, big.NewInt(25))
		return new(big.Int).Sub(n, part.Quo(part, big.NewInt(10_000)))
	}
	want := q.DestAmount.ToBig()
	if p.Dst.Private() {
		want = left(want)
	}
	if a.Amount.ToBig().Cmp(want) != 0 {
		t.Errorf("%d to %d: %s arrives, want %s", p.Src, p.Dst, a.Amount.Dec(), want)
	}
	if !p.Src.Private() {
		if !a.Unshield.IsZero() {
			t.Errorf("%d to %d: unshield %s of a public balance", p.Src, p.Dst, a.Unshield.Dec())
		}
		return
	}
	enough, less := a.Unshield.ToBig(), new(big.Int).Sub(a.Unshield.ToBig(), big.NewInt(1))
	if left(enough).Cmp(q.SrcAmount.ToBig()) < 0 || left(less).Cmp(q.SrcAmount.ToBig()) >= 0 {
		t.Errorf("%d to %d: unshield %s leaves %s and one less %s, want the least that leaves %s", p.Src, p.Dst, enough, left(enough), left(less), q.SrcAmount.Dec())
	}
}

func TestTransactionsFitTheAllowance(t *testing.T) {
	amount := uint256.NewInt(12_345_678)
	less := uint256.NewInt(12_345_677)
	usdt := findPair(t, 1, "USDT", 369, "USDC")
	usdc := findPair(t, 1, "USDC", 369, "USDC")
	ether := findPair(t, 1, "ETH", 369, "WETH")
	for name, tt := range map[string]struct {
		pair    *chain.Pair
		checked bool
		err     error
		allowed *uint256.Int
		want    []string
	}{
		"nobody named":                   {pair: usdc, want: []string{"approve", "main"}},
		"nothing allowed":                {pair: usdc, checked: true, allowed: new(uint256.Int), want: []string{"approve", "main"}},
		"a unit too little":              {pair: usdc, checked: true, allowed: less, want: []string{"approve", "main"}},
		"just enough":                    {pair: usdc, checked: true, allowed: amount, want: []string{"main"}},
		"nobody answers":                 {pair: usdc, checked: true, err: errors.New("down"), want: []string{"approve", "main"}},
		"reset, nobody named":            {pair: usdt, want: []string{"reset", "approve", "main"}},
		"reset, nothing allowed":         {pair: usdt, checked: true, allowed: new(uint256.Int), want: []string{"approve", "main"}},
		"reset, an allowance stands":     {pair: usdt, checked: true, allowed: less, want: []string{"reset", "approve", "main"}},
		"reset, just enough":             {pair: usdt, checked: true, allowed: amount, want: []string{"main"}},
		"reset, nobody answers":          {pair: usdt, checked: true, err: errors.New("down"), want: []string{"reset", "approve", "main"}},
		"the native coin":                {pair: ether, want: []string{"main"}},
		"the native coin, somebody's":    {pair: ether, checked: true, allowed: new(uint256.Int), want: []string{"main"}},
		"the native coin, who is silent": {pair: ether, checked: true, err: errors.New("down"), want: []string{"main"}},
	} {
		w := &wallet{err: tt.err}
		if tt.allowed != nil {
			w.holding.Allowance = *tt.allowed
		}
		engine := quote.NewEngine(quote.Parts{Deployment: chain.Reference(), IssuerFees: &fees{}, Accounts: w, TTL: time.Minute})
		req := detailed(t, tt.pair)
		if tt.checked {
			req.From = &alice
		}
		q, err := engine.Quote(t.Context(), req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		known := map[string]string{
			string(calldata.Approve(q.To.Address, new(uint256.Int))): "reset",
			string(calldata.Approve(q.To.Address, &q.SrcAmount)):     "approve",
			string(q.Calldata): "main",
		}
		var got []string
		for _, tx := range q.Details.Transactions {
			what := known[string(tx.Data)]
			got = append(got, what)
			if what != "main" && (tx.To != tt.pair.SrcToken.Address || !tx.Value.IsZero()) {
				t.Errorf("%s: %s goes to %s with value %s", name, what, tx.To, tx.Value.Dec())
			}
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
			continue
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%s: got %v, want %v", name, got, tt.want)
			}
		}
		d := q.Details
		if (d.Checks != nil) != (tt.checked && tt.err == nil) || (d.Unchecked != "") != (tt.err != nil) {
			t.Errorf("%s: got checks %v and reason %q", name, d.Checks, d.Unchecked)
		}
	}
}

// TestValidUntilIsNeverPastTheFees: it ends with the TTL, with what is known of
// the integrator, or with the issuer's fee, whichever is first.
func TestValidUntilIsNeverPastTheFees(t *testing.T) {
	burn := findPair(t, 137, "USDC", 369, "USDC")
	partner := integrator.ID{12: 0xfb, 31: 7}
	for name, tt := range map[string]struct {
		registry, issuer time.Time
		named            bool
		want             time.Duration
	}{
		"the operator's time":            {want: time.Minute},
		"fees that never end":            {named: true, want: time.Minute},
		"the registry's answer is older": {named: true, registry: noon.Add(20 * time.Second), want: 20 * time.Second},
		"not that of another request":    {registry: noon.Add(20 * time.Second), want: time.Minute},
		"the issuer's fee is older":      {issuer: noon.Add(30 * time.Second), want: 30 * time.Second},
		"both, the registry's first":     {named: true, registry: noon.Add(10 * time.Second), issuer: noon.Add(30 * time.Second), want: 10 * time.Second},
		"both, the issuer's first":       {named: true, registry: noon.Add(40 * time.Second), issuer: noon.Add(30 * time.Second), want: 30 * time.Second},
		"a part of a second is cut":      {issuer: noon.Add(1999 * time.Millisecond), want: time.Second},
	} {
		engine := quote.NewEngine(quote.Parts{
			Deployment: chain.Reference(), IssuerFees: &fees{until: tt.issuer}, Integrators: &registry{until: tt.registry},
			TTL: time.Minute, Now: func() time.Time { return noon },
		})
		req := detailed(t, burn)
		if tt.named {
			req.Integrator = partner
		}
		q, err := engine.Quote(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Details.ValidUntil.Sub(noon); got != tt.want {
			t.Errorf("%s: valid for %v, want %v", name, got, tt.want)
		}
	}
}

// TestDetailsTellTheBytes: the issuer's fee and the arguments are those of the
// calldata.
func TestDetailsTellTheBytes(t *testing.T) {
	engine := quote.NewEngine(quote.Parts{Deployment: chain.Reference(), IssuerFees: &fees{}, TTL: time.Minute})
	q, err := engine.Quote(t.Context(), detailed(t, findPair(t, 137, "USDC", 369, "USDC")))
	if err != nil {
		t.Fatal(err)
	}
	const word = 32
	maxFee := new(uint256.Int).SetBytes(q.Calldata[4+5*word : 4+6*word])
	if got := q.Details.IssuerFee.MaxFee; !got.Eq(maxFee) || maxFee.Uint64() != 1926 { // ceil(ceil(12345678 × 1.3 / 10000) × 1.2)
		t.Errorf("got a maxFee of %s, the calldata has %s", got.Dec(), maxFee.Dec())
	}
	if got := q.Details.Hook[4]; got.Name != "recipient" || !bytes.Equal(got.Data, alice[:]) {
		t.Errorf("got the hook's field %s with %x", got.Name, got.Data)
	}
}

func TestConfig(t *testing.T) {
	for ttl, ok := range map[time.Duration]bool{
		0: false, 4 * time.Second: false, 5 * time.Second: true, time.Minute: true, time.Hour: true, time.Hour + 1: false,
	} {
		if err := (quote.Config{TTL: ttl}).Validate(); (err == nil) != ok {
			t.Errorf("%v: got %v", ttl, err)
		}
	}
}
