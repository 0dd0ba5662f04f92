package client

import (
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/v3/client/internal/call"
	"github.com/quotegate/quotegate/v3/client/internal/known"
)

const (
	wholeBPS             = 10_000 // 100 %
	highestIntegratorBPS = 1000   // the most that an integrator may take, 10 %
	mostDeductions       = 9      // more than anybody takes

	toAddress    = 0
	toPrivate    = 2
	fastFinality = 1000

	noteSize = 160
	noteAt   = 4 + 7*32 // in a swap: six words, then the length of the bytes
)

// buildCalls builds the transactions. It takes from the answer only what nobody else can make: a shield note, and a
// burn's maxFee within its bound.
func (c *check) buildCalls() {
	method, build := call.Swap, c.swapArguments
	if c.pair.Type == CCTPInbound {
		method, build = call.Burn, c.burnArguments
	}
	theirs, _ := decodeCall(c.answer.MethodParameters.Calldata) // another function has no such arguments
	ours := build(theirs.Arguments)
	c.call = explain(method, ours)

	token := c.pair.SrcToken
	c.result.Main = Call{token.ChainID, c.to, new(big.Int), call.Encode(method, ours...)}
	if token.Native() {
		c.result.Main.Value.Set(c.request.Amount)
	} else {
		approval := c.approval(c.request.Amount)
		c.result.Approval = &approval
	}
	if c.pair.Unshields {
		c.result.Wrap = c.neededCalls()
	} else {
		c.result.Calls = c.neededCalls()
	}
}

func explain(method *abi.Method, args []any) DecodedCall {
	arguments, hook := call.Explain(method, args)
	return DecodedCall{Function: method.Sig, Arguments: arguments, Hook: hook}
}

func (c *check) swapArguments(theirs map[string]string) []any {
	recipient, kind := c.recipient, uint8(toAddress)
	if c.pair.Shields {
		recipient = make([]byte, noteSize)
		copy(recipient, common.FromHex(theirs["recipient"]))
		kind = toPrivate
	}
	dstChain := new(big.Int).SetUint64(c.pair.DstChain)
	return []any{dstChain, c.request.Amount, recipient, kind, c.pair.DstToken.Address, c.request.integratorID()}
}

func (c *check) burnArguments(theirs map[string]string) []any {
	fee, isNumber := new(big.Int).SetString(theirs["maxFee"], 10)
	least, most := maxFees(c.pair.SrcChain, c.request.Amount)
	switch {
	case !isNumber || fee.Cmp(least) < 0:
		fee = least
	case fee.Cmp(most) > 0:
		fee = most
	}
	c.result.MaxFee = fee
	chain := common.BigToHash(new(big.Int).SetUint64(c.pair.DstChain))
	id := c.request.integratorID()
	hook := slices.Concat(chain[:], c.pair.DstToken.Address[:], id[:], []byte{toAddress}, c.recipient)
	receiver := [32]byte(common.BytesToHash(c.receiver[:]))
	return []any{
		c.request.Amount, c.domain, receiver, c.pair.SrcToken.Address, receiver, fee, uint32(fastFinality), hook,
	}
}

// maxFees are the bounds of what the issuer may take of a burn: a quarter of its fee that is known, without which it
// would deliver the burn late or never; and the highest fee that is taken for one, 1 %, and a fifth of that.
func maxFees(srcChain uint64, amount *big.Int) (least, most *big.Int) {
	fee := quoUp(new(big.Int).Mul(amount, big.NewInt(known.FastFees[srcChain])), big.NewInt(10_000_000))
	highest := quoUp(amount, big.NewInt(100))
	return quoUp(fee, big.NewInt(4)), quoUp(highest.Mul(highest, big.NewInt(6)), big.NewInt(5))
}

// quoUp divides, and rounds up.
func quoUp(n, by *big.Int) *big.Int {
	up, rest := new(big.Int).QuoRem(n, by, new(big.Int))
	if rest.Sign() > 0 {
		up.Add(up, big.NewInt(1))
	}
	return up
}

// approval lets the target take so much of the source token.
func (c *check) approval(amount *big.Int) Call {
	token := c.pair.SrcToken
	return Call{token.ChainID, token.Address, new(big.Int), call.Encode(call.Approve, c.to, amount)}
}

// calls are approvals of so much, one after the other, and the main call.
func (c *check) calls(approvals ...*big.Int) (calls []Call) {
	for _, amount := range approvals {
		calls = append(calls, c.approval(amount))
	}
	return append(calls, c.result.Main)
}

// neededCalls are the calls to send at the allowance that the caller has read, or else that the gateway states. Without
// one, all that may be needed are there: what is not needed does no harm.
func (c *check) neededCalls() []Call {
	amount, allowance := c.request.Amount, c.known.Allowance
	if allowance == nil {
		allowance = c.statedAllowance()
	}
	// This token changes an allowance only from zero or to zero.
	needsReset := c.pair.SrcToken.ChainID == 1 && c.pair.SrcToken.Symbol == "USDT"
	switch {
	case c.pair.SrcToken.Native() || allowance != nil && allowance.Cmp(amount) >= 0:
		return c.calls()
	case needsReset && (allowance == nil || allowance.Sign() > 0):
		return c.calls(new(big.Int), amount)
	}
	return c.calls(amount)
}

// statedAllowance is what the gateway says of the account; nil if it does not.
func (c *check) statedAllowance() *big.Int {
	if !c.request.hasFrom() {
		return nil
	}
	checks := valueOf(valueOf(c.answer.Details).Checks)
	return valueOf(checks.Allowance).Actual.Int()
}

// expect builds the quote that there must be. It starts from nothing, so a value of the answer passes only if it is
// worked out here, or copied here because nobody can check it. nameUnchecked tells of those.
func (c *check) expect() *Quote {
	fee := c.expectFee()
	main := c.result.Main
	want := &Quote{
		To:               c.to.Hex(),
		SrcToken:         c.pair.SrcToken.inQuote(),
		DestToken:        c.pair.DstToken.inQuote(),
		SrcAmount:        amountOf(c.request.Amount),
		DestAmount:       amountOf(c.result.Dest),
		Fee:              fee,
		MethodParameters: Payload{Calldata: hexutil.Encode(main.Data), Value: hexutil.EncodeBig(main.Value)},
		Route:            Route{Type: c.pair.Type},
	}
	if approval := c.result.Approval; approval != nil {
		want.Approval = &Approval{
			Token:    approval.To.Hex(),
			Spender:  c.to.Hex(),
			Amount:   want.SrcAmount,
			Calldata: hexutil.Encode(approval.Data),
		}
	}
	if c.answer.Details != nil {
		want.Details = c.expectDetails(c.answer.Details)
	}
	return want
}

func (t TokenOn) inQuote() Token {
	return Token{Address: t.Address.Hex(), Symbol: t.Symbol, Decimals: t.Decimals, ChainID: t.ChainID}
}

// expectFee works out what the fees must be, and what is left. The integrator's rate is known to its registry; here it
// is only kept within its bound.
func (c *check) expectFee() Fee {
	p := c.pair
	var integrator IntegratorFee
	var rate int64
	if c.request.hasIntegrator() {
		rate, _ = c.integratorRate()
		integrator.ID = c.request.integratorText()
		integrator.Address = c.request.Integrator.Hex()
	}
	result := c.result
	parts := p.divide(c.request.Amount, rate)
	result.Protocol = parts.protocol
	result.Integrator = parts.integrator
	total := new(big.Int).Add(result.Protocol, result.Integrator)
	result.Dest = parts.dest
	result.Arrives = result.Dest

	integrator.Percentage = percentageOf(rate)
	integrator.Amount = amountOf(result.Integrator)
	return Fee{
		ChainID:    p.FeeChain,
		Token:      "destination",
		Protocol:   FeePart{Percentage: percentageOf(p.FeeBPS), Amount: amountOf(result.Protocol)},
		Integrator: integrator,
		Total:      TotalFee{Amount: amountOf(total)},
	}
}

// integratorRate is what the answer states, and 0 for what cannot be one.
func (c *check) integratorRate() (rate int64, isRate bool) {
	rate, isRate = c.answer.Fee.Integrator.Percentage.BPS()
	if !isRate || rate > highestIntegratorBPS {
		return 0, false
	}
	return rate, true
}

// sayRanges puts words where several values are right and the answer has none of them.
func (c *check) sayRanges(want any) {
	if _, isRate := c.integratorRate(); !isRate && c.request.hasIntegrator() {
		setField(want, "fee.integrator.percentage", inWords("from 0 to 10"))
	}
	if details := c.answer.Details; details != nil && c.pair.Unshields && !c.isEnough(details.Arrival.UnshieldAmount) {
		words := inWords(c.request.Amount.String() + " or up to 1 % more")
		setField(want, "details.arrival.unshieldAmount", words)
	}
}

func part(amount *big.Int, bps int64) *big.Int {
	fee := new(big.Int).Mul(amount, big.NewInt(bps))
	return fee.Quo(fee, big.NewInt(wholeBPS))
}

func (c *check) expectDetails(got *Details) *Details {
	want := &Details{
		Request:         c.expectRequest(),
		Call:            c.call,
		Unshield:        c.pair.Unshields,
		Arrival:         c.expectArrival(got.Arrival),
		ValidUntil:      got.ValidUntil,
		ValidForSeconds: got.ValidForSeconds,
	}
	if !c.pair.Unshields {
		want.SendCalls = c.expectSendCalls(valueOf(got.SendCalls))
	}
	if c.result.MaxFee != nil {
		stated := valueOf(got.IssuerFee)
		maxFee := amountOf(c.result.MaxFee)
		want.IssuerFee = &IssuerFee{Percentage: stated.Percentage, Origin: stated.Origin, MaxFee: maxFee}
	}
	if c.request.hasIntegrator() {
		read := valueOf(got.Integrator)
		want.Integrator = &RegistryReading{Registry: read.Registry, ChainID: c.pair.FeeChain, CheckedAt: read.CheckedAt}
		if _, err := known.ReadAddress(read.Registry); err != nil {
			c.add("details.integrator.registry: got %s, want an address", quoted(read.Registry))
		}
	}
	if c.request.hasFrom() && got.Checks != nil {
		want.Checks = c.expectChecks(got.Checks)
	}
	c.checkSimulation(got.Simulation)
	return want
}

func (c *check) expectRequest() DetailsRequest {
	want := DetailsRequest{
		SrcChain:      decimal(c.pair.SrcChain),
		SrcToken:      c.pair.SrcToken.Address.Hex(),
		DstChain:      decimal(c.pair.DstChain),
		DstToken:      c.pair.DstToken.Address.Hex(),
		Amount:        amountOf(c.request.Amount),
		Recipient:     c.request.Recipient,
		RecipientType: toAddress,
		IntegratorID:  c.request.integratorText(),
	}
	if c.pair.Shields {
		want.Recipient = c.private
		want.RecipientType = toPrivate
	}
	return want
}

// expectSendCalls: the gateway leaves an approval out only where it says that the allowance is enough, and adds a reset
// as it likes. If the allowance is not enough, the main call fails.
func (c *check) expectSendCalls(got SendCalls) *SendCalls {
	amount, stated := c.request.Amount, c.statedAllowance()
	calls := c.calls(amount)
	switch {
	case c.pair.SrcToken.Native() || len(got.Calls) == 1 && stated != nil && stated.Cmp(amount) >= 0:
		calls = c.calls()
	case len(got.Calls) == 3:
		calls = c.calls(new(big.Int), amount)
	}
	want := &SendCalls{Version: "2.0.0", ChainID: hexutil.EncodeUint64(c.pair.SrcToken.ChainID)}
	if c.request.hasFrom() {
		want.From = c.request.From.Hex()
	}
	for _, call := range calls {
		data, value := hexutil.Encode(call.Data), hexutil.EncodeBig(call.Value)
		want.Calls = append(want.Calls, SendCall{To: call.To.Hex(), Data: data, Value: value})
	}
	return want
}

// expectArrival works out what arrives at the rates of others that the answer states: only they know them.
func (c *check) expectArrival(got Arrival) Arrival {
	want := Arrival{Deductions: []Deduction{}}
	arrives := new(big.Int).Set(c.result.Dest)
	for _, stated := range got.Deductions[:min(len(got.Deductions), mostDeductions)] {
		if !c.pair.Shields {
			break
		}
		rate, _ := stated.Percentage.BPS() // 0 for what is not a rate, which then differs
		taken := part(c.result.Dest, rate)
		arrives.Sub(arrives, taken)
		want.Deductions = append(want.Deductions,
			Deduction{By: stated.By, Percentage: percentageOf(rate), Amount: amountOf(taken)})
	}
	want.Amount = amountOf(arrives)
	c.result.Arrives = arrives
	if c.pair.Unshields {
		want.UnshieldAmount = c.expectUnshield(got.UnshieldAmount)
	}
	return want
}

// expectUnshield lets up to 1 % more than the amount be unshielded, for RAILGUN's fee.
func (c *check) expectUnshield(got Amount) Amount {
	if c.isEnough(got) {
		return got
	}
	return amountOf(c.request.Amount)
}

func (c *check) isEnough(unshielded Amount) bool {
	least, out := c.request.Amount, unshielded.Int()
	most := new(big.Int).Add(least, part(least, 100))
	return out != nil && out.Cmp(least) >= 0 && out.Cmp(most) <= 0
}

func (c *check) expectChecks(got *Checks) *Checks {
	needed := amountOf(c.request.Amount)
	want := &Checks{
		Native:    got.Native,
		Balance:   Check{Actual: got.Balance.Actual, Needed: needed},
		Recipient: got.Recipient,
		CheckedAt: got.CheckedAt,
	}
	if !c.pair.SrcToken.Native() {
		want.Allowance = &Check{Actual: valueOf(got.Allowance).Actual, Needed: needed}
	}
	return want
}

// checkSimulation sees to it that what the types promise is there. What it says, nobody can check.
func (c *check) checkSimulation(got *Simulation) {
	for i, call := range valueOf(got).Calls {
		if !slices.Contains([]string{"SUCCESS", "FAILED", "UNPROVEN"}, call.Status) {
			c.add("details.simulation.calls.%d.status: got %s", i, quoted(call.Status))
		}
	}
}

// valueOf is what a pointer points to, or the zero value.
func valueOf[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}
