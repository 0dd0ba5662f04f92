package client

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/v3/client/internal/call"
	"github.com/quotegate/quotegate/v3/client/internal/known"
)

// checkDetails compares everything in the details that follows from the request, and the shape of all else.
func (c *check) checkDetails() {
	d := c.quote.Details
	if d == nil {
		return
	}
	c.checkUnderstood(d.Request)
	explained, err := call.Explain(c.method(), c.result.Main.Data)
	if err != nil {
		c.problem("details.call: %w", err)
	}
	c.compare("details.call.function", d.Call.Function, c.method().Sig)
	c.compareWords("details.call.arguments", d.Call.Arguments, explained.Arguments)
	c.compareWords("details.call.hook", d.Call.Hook, explained.Hook)
	c.checkSendCalls(d)
	if d.Contract != "" {
		c.problem("details.contract: got %.30q: a contract that the swap needs does not exist", d.Contract)
	}
	c.checkArrival(d.Arrival)
	c.checkIssuerFee(d.IssuerFee)
	c.checkRegistry(d.Integrator)
	c.checkAccount(d.Checks)
	c.checkSimulation(d.Simulation)
}

func (c *check) checkUnderstood(got DetailsRequest) {
	kind, recipient := uint64(toAddress), fmt.Sprintf("0x%x", c.recipient)
	if c.pair.Shields {
		kind = toPrivate
		recipient = c.request.Recipient
	}
	c.compare("details.request.srcChain", got.SrcChain, decimal(c.pair.SrcChain))
	c.compareAddress("details.request.srcToken", got.SrcToken, c.pair.SrcToken.Address)
	c.compare("details.request.dstChain", got.DstChain, decimal(c.pair.DstChain))
	c.compareAddress("details.request.dstToken", got.DstToken, c.pair.DstToken.Address)
	c.compare("details.request.amount", got.Amount, c.request.Amount)
	c.compare("details.request.recipient", lower(got.Recipient), recipient)
	c.compare("details.request.integratorId", lower(got.IntegratorID), integratorText(c.request))
	c.compare("details.request.recipientType", got.RecipientType, kind)
}

// checkSendCalls holds the gateway's batch against the calls that are built here.
func (c *check) checkSendCalls(d *Details) {
	got := d.SendCalls
	// An older gateway gives sendCalls for a swap out of a privacy pool, in place of unshield.
	hasCalls := !c.pair.Unshields || got != nil && !d.Unshield
	c.isThere("details.unshield", d.Unshield, !hasCalls, "a swap out of a privacy pool")
	if !c.isThere("details.sendCalls", got != nil, hasCalls, "a swap that a public account can send") {
		return
	}
	c.compare("details.sendCalls.version", got.Version, "2.0.0")
	c.compare("details.sendCalls.chainId", got.ChainID, fmt.Sprintf("0x%x", c.pair.SrcToken.ChainID))
	c.compare("details.sendCalls.atomicRequired", got.AtomicRequired, false)
	if c.request.From == (common.Address{}) {
		c.compare("details.sendCalls.from", got.From, "")
	} else {
		c.compareAddress("details.sendCalls.from", got.From, c.request.From)
	}
	c.compareCalls(got.Calls)
}

// compareCalls: the gateway leaves an approval out only where it says that the allowance is enough, and adds a reset
// as it likes. If the allowance is not enough, the main call fails.
func (c *check) compareCalls(got []SendCall) {
	want := []Call{c.approval(c.request.Amount), c.result.Main}
	stated := c.statedAllowance()
	switch {
	case c.pair.SrcToken.Native() || len(got) == 1 && stated != nil && stated.Cmp(c.request.Amount) >= 0:
		want = []Call{c.result.Main}
	case len(got) == 3:
		want = slices.Insert(want, 0, c.approval(new(big.Int)))
	}
	if len(got) != len(want) {
		c.problem("details.sendCalls.calls: %d calls, want %d", len(got), len(want))
		return
	}
	for i, call := range want {
		at := fmt.Sprintf("details.sendCalls.calls.%d.", i)
		c.compareAddress(at+"to", got[i].To, call.To)
		c.compare(at+"data", lower(got[i].Data), fmt.Sprintf("0x%x", call.Data))
		c.compare(at+"value", got[i].Value, fmt.Sprintf("0x%x", call.Value))
	}
}

// mostDeductions is more than anybody takes.
const mostDeductions = 9

// checkArrival works out what arrives at the rates of others that the answer states: only they know them.
func (c *check) checkArrival(got Arrival) {
	if !c.pair.Shields && len(got.Deductions) > 0 || len(got.Deductions) > mostDeductions {
		c.problem("details.arrival.deductions: there are %d", len(got.Deductions))
		return
	}
	arrives := new(big.Int).Set(c.result.Dest)
	for i, deduction := range got.Deductions {
		bps, ok := deduction.Percentage.BPS()
		if !ok {
			c.problem("details.arrival.deductions.%d.percentage: got %.30q", i, deduction.Percentage)
			return
		}
		taken := part(c.result.Dest, bps)
		c.compare(fmt.Sprintf("details.arrival.deductions.%d.amount", i), deduction.Amount, taken)
		arrives.Sub(arrives, taken)
	}
	if arrives.Sign() < 0 {
		c.problem("details.arrival.deductions: they take more than there is")
		return
	}
	c.compare("details.arrival.amount", got.Amount, arrives)
	c.result.Arrives = arrives

	amount, out := c.request.Amount, got.UnshieldAmount.Int()
	switch {
	case !c.pair.Unshields:
		c.compare("details.arrival.unshieldAmount", got.UnshieldAmount, "")
	case out == nil || out.Cmp(amount) < 0 || times(out, 100).Cmp(times(amount, 101)) > 0:
		c.problem("details.arrival.unshieldAmount: got %.100q, want %s or up to 1 %% more", got.UnshieldAmount, amount)
	}
}

func times(n *big.Int, factor int64) *big.Int { return new(big.Int).Mul(n, big.NewInt(factor)) }

func (c *check) checkIssuerFee(got *IssuerFee) {
	if c.isThere("details.issuerFee", got != nil, c.result.MaxFee != nil, "a burn") {
		c.compare("details.issuerFee.maxFee", got.MaxFee, c.result.MaxFee)
	}
}

func (c *check) checkRegistry(got *RegistryReading) {
	if !c.isThere("details.integrator", got != nil, c.request.Integrator != common.Address{}, "an integrator") {
		return
	}
	c.compare("details.integrator.chainId", got.ChainID, c.pair.FeeChain)
	if _, err := known.ReadAddress(got.Registry); err != nil {
		c.problem("details.integrator.registry: %.60q %w", got.Registry, err)
	}
}

func (c *check) checkAccount(got *Checks) {
	if got == nil {
		return
	}
	if c.request.From == (common.Address{}) {
		c.problem("details.checks: no account was given")
		return
	}
	c.compare("details.checks.balance.needed", got.Balance.Needed, c.request.Amount)
	if c.isThere("details.checks.allowance", got.Allowance != nil, !c.pair.SrcToken.Native(), "a token") {
		c.compare("details.checks.allowance.needed", got.Allowance.Needed, c.request.Amount)
	}
}

// checkSimulation sees to it that what the types promise is there. What it says, nobody can check.
func (c *check) checkSimulation(got *Simulation) {
	if got == nil {
		return
	}
	if !c.request.Simulate {
		c.problem("details.simulation: not requested")
		return
	}
	for i, call := range got.Calls {
		if !slices.Contains([]string{"SUCCESS", "FAILED", "UNPROVEN"}, call.Status) {
			c.problem("details.simulation.calls.%d.status: got %.30q", i, call.Status)
		}
	}
}
