package quote

import (
	"context"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/account"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/integrator"
)

// Details explain a quote, and say what to do with it.
type Details struct {
	Request      *Request // as it was understood
	Call         calldata.Call
	Hook         []calldata.Argument // of a burn, nil for others
	Transactions []account.Call      // to send in this order; nil for unshielding, whose call a wallet wraps
	Arrival      Arrival
	ValidUntil   time.Time
	ValidFor     int64            // the same in seconds from now
	IssuerFee    *IssuerFee       // of a burn, nil for others
	Registry     chain.Address    // that the integrator was found in, zero for none
	Checks       *account.Holding // what the sender has; nil if the request does not say who sends, or with Unchecked
	Unchecked    string           // why there are no checks, in a sentence for the caller
	Simulation   *Simulation      // nil if the request does not ask for one, or with Unsimulated
	Unsimulated  string           // why there is no simulation, in a sentence for the caller
}

// Arrival is what the recipient gets in the end.
type Arrival struct {
	Amount   uint256.Int // what is left of the quote's DestAmount
	Railgun  fee.BPS     // what RAILGUN takes of a shielded amount
	Deducted uint256.Int // the same as an amount
	Seconds  uint32      // how long it usually takes, 0 for unknown
	Unshield uint256.Int // what to take out of the privacy pool so that the swap has its amount, 0 for none
}

// IssuerFee is what the issuer may take for a burn.
type IssuerFee struct {
	cctp.State
	MaxFee uint256.Int // as the calldata says
}

// Simulation is what the transactions would do now.
type Simulation struct {
	account.Simulation
	Event  *bool       // whether the contract's event says what was asked for; nil if that cannot be told
	Needed uint256.Int // coins for value and gas
}

// explain adds the details to q. It reads the calldata that is sent, so that it
// tells what the calldata does and not what it should do.
func (e *Engine) explain(ctx context.Context, req *Request, q *Quote) error {
	call, err := calldata.Decode(q.Calldata)
	if err != nil {
		return fmt.Errorf("the calldata of a quote is wrong: %w", err)
	}
	d := &Details{Request: req, Call: call, Arrival: e.arrival(q)}
	d.ValidUntil, d.ValidFor = e.validity(q)
	if q.Pair.Route == chain.CCTPInbound {
		if d.Hook, err = calldata.DecodeHook(call.Argument("hookData")); err != nil {
			return fmt.Errorf("the calldata of a burn is wrong: %w", err)
		}
		d.IssuerFee = &IssuerFee{State: q.issuerFee}
		d.IssuerFee.MaxFee.SetBytes(call.Argument("maxFee"))
	}
	if req.Integrator != (integrator.ID{}) {
		d.Registry = e.Deployment.Registry(q.Fee.ChainID)
	}
	q.Details = d
	if q.Pair.Src.Private() { // the money comes out of the privacy pool, in a transaction that only the wallet can make
		d.Unchecked = "The swap is paid for from the privacy pool, so what this account has does not matter"
		d.Unsimulated = "A wallet wraps the call of an unshielding swap in its own private transaction, which cannot be tried without the wallet"
		return nil
	}
	if req.From != nil {
		holding, err := e.Accounts.Read(ctx, &q.Pair.SrcToken, *req.From, q.To.Address)
		if err == nil {
			d.Checks = &holding
		} else {
			d.Unchecked = err.Error() // the quote is good without
		}
	}
	d.Transactions = transactions(q, d.Checks)
	if req.Simulate {
		d.Simulation, d.Unsimulated = e.simulate(ctx, q, *req.From)
	}
	return nil
}

// arrival works out what is left once RAILGUN has taken its part.
func (e *Engine) arrival(q *Quote) Arrival {
	a := Arrival{Amount: q.DestAmount, Seconds: e.Deployment.Seconds(q.Pair)}
	rates := e.Deployment.Railgun
	if q.Pair.Dst.Private() {
		a.Railgun = fee.BPS(rates.ShieldBPS)
		a.Deducted = a.Railgun.Of(&q.DestAmount)
		a.Amount.Sub(&q.DestAmount, &a.Deducted)
	}
	if q.Pair.Src.Private() {
		a.Unshield = fee.BPS(rates.UnshieldBPS).Before(&q.SrcAmount)
	}
	return a
}

// validity is until when the operator stands by a quote, and for how many seconds.
// That is the TTL, or less if what is known of the integrator ends before, but
// never less than half of the TTL. The issuer's fee has no end: it is looked up
// again every minute, and an old one serves on.
func (e *Engine) validity(q *Quote) (until time.Time, seconds int64) {
	now := e.Now().UTC()
	valid := e.TTL
	if end := q.Fee.Partner.GoodUntil; !end.IsZero() {
		half := (e.TTL/2 + time.Second - 1).Truncate(time.Second)
		valid = min(valid, max(end.Sub(now), half+time.Second)) // until loses up to a second
	}
	seconds = int64(valid / time.Second)
	return now.Truncate(time.Second).Add(time.Duration(seconds) * time.Second), seconds
}

// transactions are those to send. Without checks, the allowance is unknown, and
// they are right for any. Checks are made for this very request, so they may leave
// an approval out.
func transactions(q *Quote, checks *account.Holding) []account.Call {
	main := account.Call{To: q.To, Data: q.Calldata, Value: &q.Value}
	if q.Approval == nil || checks != nil && !checks.Allowance.Lt(&q.SrcAmount) {
		return []account.Call{main}
	}
	approve := func(calldata []byte) account.Call {
		return account.Call{To: q.Pair.SrcToken.Address, Data: calldata, Value: new(uint256.Int)}
	}
	list := make([]account.Call, 0, 3)
	if q.Pair.SrcToken.ResetsAllowance() && (checks == nil || !checks.Allowance.IsZero()) {
		list = append(list, approve(calldata.Approve(q.To.Address, new(uint256.Int))))
	}
	return append(list, approve(q.Approval), main)
}

// simulate tries the transactions on the chain. The quote is good without, so a
// failure is only told.
func (e *Engine) simulate(ctx context.Context, q *Quote, from common.Address) (*Simulation, string) {
	d := q.Details
	found, err := e.Accounts.Simulate(ctx, q.Pair.Src.Network(), from, d.Transactions)
	if err != nil {
		return nil, err.Error()
	}
	s := &Simulation{Simulation: *found, Needed: q.Value}
	var gas uint256.Int
	for _, c := range s.Calls {
		gas.AddUint64(&gas, c.GasUsed)
	}
	s.Needed.Add(&s.Needed, gas.Mul(&gas, &s.GasPrice))
	// A pool of a deployment that does not settle in the documented way may emit
	// another event.
	if s.HasLogs && (q.Pair.Route == chain.CCTPInbound || e.Deployment.Tracked()) {
		s.Event = new(false)
		for _, log := range s.Calls[len(s.Calls)-1].Logs {
			*s.Event = *s.Event || log.Address == q.To.Address && d.Call.Emitted(from, log.Topics, log.Data)
		}
	}
	return s, ""
}
