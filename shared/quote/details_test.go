package quote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
)

var (
	noon  = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	alice = common.HexToAddress("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
)

// wallet returns what one account holds and what its transactions do, or an error.
type wallet struct {
	holding    quote.Holding
	simulation quote.Simulation
	err        error
	asked      int
	tried      []quote.Transaction
	known      *quote.Holding // what it had read before
	mu         sync.Mutex
	looked     []string // whether there is code
	callers    []netip.Prefix
}

func (w *wallet) note(caller netip.Prefix) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.callers = append(w.callers, caller)
}

func (w *wallet) Simulate(_ context.Context, caller netip.Prefix, _ chain.ID, _ common.Address, known *quote.Holding, calls []quote.Transaction) (*quote.Simulation, error) {
	w.note(caller)
	w.tried, w.known = calls, known
	simulation := w.simulation // the engine completes what it is given
	simulation.Calls = slices.Clone(simulation.Calls)
	return &simulation, w.err
}

// HasCode is that of a contract on Ethereum alone. BNB Chain has no endpoint.
func (w *wallet) HasCode(_ context.Context, caller netip.Prefix, network chain.ID, account common.Address) (bool, error) {
	w.note(caller)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked = append(w.looked, fmt.Sprintf("%s %d", account.Hex()[:6], network))
	if network == 56 {
		return false, errors.New("no endpoint")
	}
	return network == 1, nil
}

func (w *wallet) Read(_ context.Context, caller netip.Prefix, _ *chain.Token, _, _ common.Address) (quote.Holding, error) {
	w.note(caller)
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

// TestDetailsOfEveryPair: the details agree with the quote they explain, and nothing is read
// that the request does not need.
func TestDetailsOfEveryPair(t *testing.T) {
	d := chain.Reference()
	w := &wallet{}
	engine := quote.NewEngine(quote.Parts{Deployment: d, IssuerFees: &fees{}, Accounts: w, TTL: time.Minute, Now: func() time.Time { return noon }})
	for _, p := range chain.Pairs() {
		q := mustQuote(t, engine, detailed(t, &p))
		got := q.Details
		if p.Src.Private() {
			if got.Transactions != nil {
				t.Errorf("%d to %d: there are transactions to send, though only a private one keeps the secret", p.Src, p.Dst)
			}
		} else if last := got.Transactions[len(got.Transactions)-1]; last.To != q.To || !bytes.Equal(last.Data, q.Calldata) || !last.Value.Eq(&q.Value) {
			t.Errorf("%d to %d: the last transaction is not the quote's", p.Src, p.Dst)
		}
		if !got.ValidUntil.Equal(noon.Add(time.Minute)) || got.ValidFor != 60 {
			t.Errorf("%d to %d: valid until %s, for %d s", p.Src, p.Dst, got.ValidUntil, got.ValidFor)
		}
		wantFunction := "swap(uint256,uint256,bytes,uint8,address,bytes32)"
		if p.Route == chain.CCTPInbound {
			wantFunction = "depositForBurnWithHook(uint256,uint32,bytes32,address,bytes32,uint256,uint32,bytes)"
		}
		if got.Call.Function != wantFunction || (got.Hook != nil) != (p.Route == chain.CCTPInbound) || (got.IssuerFee != nil) != (got.Hook != nil) {
			t.Errorf("%d to %d: got %s, hook %v, issuer fee %v", p.Src, p.Dst, got.Call.Function, got.Hook, got.IssuerFee)
		}
		if got.Registry != (chain.Address{}) {
			t.Errorf("%d to %d: got the registry %s of no integrator", p.Src, p.Dst, got.Registry)
		}
		checkArrival(t, &p, q)
	}
	if w.asked != 0 {
		t.Errorf("an account was read %d times for requests that name none", w.asked)
	}
}

// TestRecipientCode: with the account, and only then, both chains are queried about a recipient
// that is an EVM address: the underlying network of a virtual ID, and the chain on which a
// swap ends.
func TestRecipientCode(t *testing.T) {
	yes, no := new(true), new(false)
	for _, tt := range []struct {
		src, dst chain.ID
		from     bool
		fails    bool
		want     *quote.RecipientCode
	}{
		{1, 369, true, false, &quote.RecipientCode{Source: yes, Destination: no}},
		{369, 1, true, false, &quote.RecipientCode{Source: no, Destination: yes}},
		{369, 56, true, false, &quote.RecipientCode{Source: no}},
		{56, 369, true, true, &quote.RecipientCode{Destination: no}}, // the account cannot be read
		{10, 369, true, false, &quote.RecipientCode{Source: no, Destination: no}},
		{369, 10, true, false, &quote.RecipientCode{Source: no, Destination: no}}, // by a forwarding burn on 8453
		{1, chain.PrivacyEthereum, true, false, nil},
		{chain.PrivacyEthereum, 1, true, false, nil}, // nothing is checked
		{1, 369, false, false, nil},
	} {
		w := &wallet{}
		if tt.fails {
			w.err = errors.New("not now")
		}
		parts := quote.Parts{Deployment: chain.Reference(), IssuerFees: &fees{}, Accounts: w, TTL: time.Minute}
		req := detailed(t, findPair(t, tt.src, "USDC", tt.dst, "USDC"))
		if tt.from {
			req.From = &alice
		}
		d := mustQuote(t, quote.NewEngine(parts), req).Details
		if !reflect.DeepEqual(d.Recipient, tt.want) {
			t.Errorf("%d to %d, from %t: got %+v, want %+v", tt.src, tt.dst, tt.from, d.Recipient, tt.want)
		}
		var looked []string
		if tt.want != nil {
			for _, network := range []chain.ID{tt.src.Network(), tt.dst.Network()} {
				looked = append(looked, fmt.Sprintf("%s %d", req.Recipient.EVM.Hex()[:6], network))
			}
		}
		slices.Sort(w.looked)
		slices.Sort(looked)
		if !slices.Equal(w.looked, looked) {
			t.Errorf("%d to %d, from %t: asked for the code of %v, want %v", tt.src, tt.dst, tt.from, w.looked, looked)
		}
	}
}

// TestCaller: every read of nodes names the caller's network.
func TestCaller(t *testing.T) {
	w := &wallet{simulation: quote.Simulation{Calls: []quote.CallResult{{}, {}}}}
	r := &registry{}
	parts := quote.Parts{Deployment: chain.Reference(), IssuerFees: &fees{}, Integrators: r, Accounts: w, TTL: time.Minute}
	req := detailed(t, findPair(t, 1, "USDC", 369, "USDC"))
	req.From = &alice
	req.Simulate = true
	req.Integrator = calldata.IntegratorID{12: 0xfb, 31: 7}
	req.Caller = netip.MustParsePrefix("203.0.113.0/24")
	mustQuote(t, quote.NewEngine(parts), req)
	if want := slices.Repeat([]netip.Prefix{req.Caller}, 4); r.caller != req.Caller || !slices.Equal(w.callers, want) {
		t.Errorf("got %v and %v, want %v in all of 5 questions", r.caller, w.callers, req.Caller)
	}
}

// TestDetailsNameTheRegistry: it is that of the chain that pays.
func TestDetailsNameTheRegistry(t *testing.T) {
	d := chain.Reference()
	parts := quote.Parts{Deployment: d, IssuerFees: &fees{}, Integrators: &registry{}, Accounts: &wallet{}, TTL: time.Minute}
	req := detailed(t, findPair(t, 1, "USDC", 369, "USDC"))
	req.Integrator = calldata.IntegratorID{12: 0xfb, 31: 7}
	q := mustQuote(t, quote.NewEngine(parts), req)
	if got := q.Details.Registry; got != d.Registry(369) || got == (chain.Address{}) {
		t.Errorf("got the registry %s, want %s", got, d.Registry(369))
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
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
		d := q.Details
		if (d.Checks != nil) != (tt.checked && tt.err == nil) || (d.Unchecked != "") != (tt.err != nil) {
			t.Errorf("%s: got checks %v and reason %q", name, d.Checks, d.Unchecked)
		}
	}
}

// TestValidity: a quote is valid for the TTL, or for as long as the registry's answer, but at
// least for half of the TTL, whatever the clock shows and however old the answer is.
func TestValidity(t *testing.T) {
	burn := findPair(t, 137, "USDC", 369, "USDC")
	partner := calldata.IntegratorID{12: 0xfb, 31: 7}
	for name, tt := range map[string]struct {
		named    bool
		registry time.Duration // how long its answer counts; 0 for ever
		ttl      time.Duration
		want     int64
	}{
		"the operator's time":             {ttl: time.Minute, want: 60},
		"a registry's answer for ever":    {named: true, ttl: time.Minute, want: 60},
		"for longer than the time":        {named: true, registry: time.Hour, ttl: time.Minute, want: 60},
		"for most of the time":            {named: true, registry: 45 * time.Second, ttl: time.Minute, want: 45},
		"for a part of a second more":     {named: true, registry: 45*time.Second + 999*time.Millisecond, ttl: time.Minute, want: 45},
		"for half a second":               {named: true, registry: time.Second / 2, ttl: time.Minute, want: 31},
		"no more":                         {named: true, registry: -time.Hour, ttl: time.Minute, want: 31},
		"no more, and a time that is odd": {named: true, registry: -time.Hour, ttl: 5 * time.Second, want: 4},
		"not that of another request":     {registry: time.Second, ttl: time.Minute, want: 60},
	} {
		for _, clock := range []time.Duration{0, time.Millisecond, time.Second - 1} {
			now := noon.Add(clock)
			known := &registry{}
			if tt.registry != 0 {
				known.until = now.Add(tt.registry)
			}
			engine := quote.NewEngine(quote.Parts{
				Deployment: chain.Reference(), IssuerFees: &fees{}, Integrators: known, TTL: tt.ttl, Now: func() time.Time { return now },
			})
			req := detailed(t, burn)
			if tt.named {
				req.Integrator = partner
			}
			q := mustQuote(t, engine, req)
			got := q.Details
			if got.ValidFor != tt.want || !got.ValidUntil.Equal(noon.Add(time.Duration(tt.want)*time.Second)) {
				t.Errorf("%s: at %v valid for %d s until %s, want %d s", name, clock, got.ValidFor, got.ValidUntil, tt.want)
			}
			if left := got.ValidUntil.Sub(now); left < tt.ttl/2 || left > tt.ttl {
				t.Errorf("%s: at %v valid for %v more, want between half of %v and all of it", name, clock, left, tt.ttl)
			}
		}
	}
}

// TestSimulationJudgesTheCalls: the simulated calls are those to send, the coins cover value
// and gas of all of them, and the event counts only if the right contract emits it for this
// call.
func TestSimulationJudgesTheCalls(t *testing.T) {
	usdc, ether, out := findPair(t, 1, "USDC", 369, "USDC"), findPair(t, 1, "ETH", 369, "WETH"), findPair(t, chain.PrivacyEthereum, "USDC", 369, "USDC")
	simulated := func(p *chain.Pair, w *wallet, d *chain.Deployment) *quote.Quote {
		t.Helper()
		engine := quote.NewEngine(quote.Parts{Deployment: d, IssuerFees: &fees{}, Accounts: w, TTL: time.Minute})
		req := detailed(t, p)
		req.From, req.Simulate = &alice, true
		q := mustQuote(t, engine, req)
		return q
	}
	two := quote.Simulation{BlockNumber: 7, Calls: []quote.CallResult{{GasUsed: 30_000, GasLimit: 40_000}, {GasUsed: 40_000, GasLimit: 60_000}}, HasLogs: true, GasPrice: *uint256.NewInt(3)}
	w := &wallet{simulation: two}
	q := simulated(usdc, w, chain.Reference())
	if w.known == nil || w.known != q.Details.Checks {
		t.Error("what was read of the account is read again")
	}
	// Without its event, the main call has failed, though it does not revert.
	const noEvent = "The call succeeds, but the contract does not emit the event of this swap"
	if calls := q.Details.Simulation.Calls; calls[0].Error != "" || calls[1].Error != noEvent {
		t.Errorf("got the errors %q and %q, want one of the main call", calls[0].Error, calls[1].Error)
	}
	if len(w.tried) != 2 || &w.tried[0] != &q.Details.Transactions[0] || q.Details.Simulation.Needed.Uint64() != 300_000 || *q.Details.Simulation.Event {
		t.Errorf("tried %d calls, needs %s, event %v; want both calls, 300000 and no event", len(w.tried), q.Details.Simulation.Needed.Dec(), *q.Details.Simulation.Event)
	}
	w = &wallet{simulation: quote.Simulation{Calls: []quote.CallResult{{GasUsed: 70, GasLimit: 100}}, GasPrice: *uint256.NewInt(5)}}
	q = simulated(ether, w, chain.Reference())
	if want := new(uint256.Int).AddUint64(&q.Value, 500); !q.Details.Simulation.Needed.Eq(want) || q.Details.Simulation.Event != nil {
		t.Errorf("needs %s, want %s; an estimate tells no event", q.Details.Simulation.Needed.Dec(), want.Dec())
	}
	// The event counts from the contract that is called, and with the amount that is swapped.
	for name, tt := range map[string]struct {
		address common.Address
		amount  int64
		want    bool
	}{
		"the pool's":         {q.To.Address, 0, true},
		"another contract's": {alice, 0, false},
		"of another amount":  {q.To.Address, 1, false},
	} {
		amount := new(big.Int).Add(q.SrcAmount.ToBig(), big.NewInt(tt.amount))
		event := contracts.PoolABI.Events["Swap"]
		data, err := event.Inputs.NonIndexed().Pack(big.NewInt(369), amount, alice[:], uint8(0), ether.DstToken.Address.Address, [32]byte{})
		if err != nil {
			t.Fatal(err)
		}
		log := calldata.Log{Address: tt.address, Topics: []common.Hash{event.ID, {}, common.BytesToHash(alice[:])}, Data: data}
		w = &wallet{simulation: quote.Simulation{Calls: []quote.CallResult{{Logs: []calldata.Log{{}, log}}}, HasLogs: true}}
		got := simulated(ether, w, chain.Reference()).Details.Simulation
		if got.Event == nil || *got.Event != tt.want || (got.Calls[0].Error == "") != tt.want {
			t.Errorf("%s: got %v and the error %q, want %t", name, got.Event, got.Calls[0].Error, tt.want)
		}
	}
	w = &wallet{err: errors.New("Nobody answers")}
	if d := simulated(usdc, w, chain.Reference()).Details; d.Simulation != nil || d.Unsimulated != "Nobody answers" || len(d.Transactions) != 2 {
		t.Errorf("got %v because %q with %d calls", d.Simulation, d.Unsimulated, len(d.Transactions))
	}
	w = &wallet{}
	if d := simulated(out, w, chain.Reference()).Details; d.Simulation != nil || d.Unsimulated == "" || d.Checks != nil || d.Unchecked == "" || w.tried != nil || w.asked != 0 {
		t.Errorf("unshielding: got %v because %q, checks %v because %q", d.Simulation, d.Unsimulated, d.Checks, d.Unchecked)
	}
}

// TestEventsOfUnknownPools: a deployment that settles in its own way may emit other events, so
// the events of its pools are not checked. The issuer's are the same everywhere.
func TestEventsOfUnknownPools(t *testing.T) {
	reference, err := os.ReadFile("../chain/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	d, err := chain.ParseDeployment(bytes.Replace(reference, []byte(`"tracking": "reference",`), nil, 1))
	if err != nil || d.Tracked() {
		t.Fatalf("got a deployment that is tracked, or %v", err)
	}
	w := &wallet{simulation: quote.Simulation{Calls: []quote.CallResult{{}}, HasLogs: true}}
	engine := quote.NewEngine(quote.Parts{Deployment: d, IssuerFees: &fees{}, Accounts: w, TTL: time.Minute})
	for source, judged := range map[chain.ID]bool{1: false, 137: true} {
		req := detailed(t, findPair(t, source, "USDC", 369, "USDC"))
		req.From, req.Simulate = &alice, true
		q := mustQuote(t, engine, req)
		if got := q.Details.Simulation.Event; (got != nil) != judged {
			t.Errorf("from chain %d: got the event %v, want it judged: %t", source, got, judged)
		}
	}
}

// TestDetailsMatchCalldata: the issuer's fee and the arguments are those of the calldata.
func TestDetailsMatchCalldata(t *testing.T) {
	engine := quote.NewEngine(quote.Parts{Deployment: chain.Reference(), IssuerFees: &fees{}, TTL: time.Minute})
	q := mustQuote(t, engine, detailed(t, findPair(t, 137, "USDC", 369, "USDC")))
	const word = 32
	maxFee := new(uint256.Int).SetBytes(q.Calldata[4+5*word : 4+6*word])
	if got := q.Details.MaxFee; !got.Eq(maxFee) || maxFee.Uint64() != 1926 { // ceil(ceil(12345678 × 1.3 / 10000) × 1.2)
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
