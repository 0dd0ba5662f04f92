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
	Transactions []Transaction       // to send in this order
	Arrival      Arrival
	ValidUntil   time.Time
	IssuerFee    *IssuerFee    // of a burn, nil for others
	Registry     chain.Address // that the integrator was found in, zero for none
	Checks       *Checks       // nil if the request does not say who sends, or with Unchecked
	Unchecked    string        // why there are no checks, in a sentence for the caller
}

// Transaction is one to sign.
type Transaction struct {
	To    chain.Address
	Data  []byte
	Value *uint256.Int
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
	Rate   cctp.Rate
	Origin cctp.Origin
	MaxFee uint256.Int // as the calldata says
}

// Checks compare what the sender has with what the swap needs.
type Checks struct {
	account.Holding
	Needed         uint256.Int
	NeedsAllowance bool // false for the native coin
}

// explain adds the details to q. It reads the calldata that is sent, so that it
// tells what the calldata does and not what it should do.
func (e *Engine) explain(ctx context.Context, req *Request, q *Quote) error {
	call, err := calldata.Decode(q.Calldata)
	if err != nil {
		return fmt.Errorf("the calldata of a quote is wrong: %w", err)
	}
	d := &Details{Request: req, Call: call, Arrival: e.arrival(q), ValidUntil: e.validUntil(q)}
	if q.Pair.Route == chain.CCTPInbound {
		if d.Hook, err = calldata.DecodeHook(call.Argument("hookData")); err != nil {
			return fmt.Errorf("the calldata of a burn is wrong: %w", err)
		}
		d.IssuerFee = &IssuerFee{Rate: q.issuerFee.Rate, Origin: q.issuerFee.Origin}
		d.IssuerFee.MaxFee.SetBytes(call.Argument("maxFee"))
	}
	if req.Integrator != (integrator.ID{}) {
		d.Registry = e.Deployment.Registry(q.Fee.ChainID)
	}
	if req.From != nil {
		d.Checks, d.Unchecked = e.check(ctx, q, *req.From)
	}
	d.Transactions = transactions(q, d.Checks)
	q.Details = d
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

// validUntil is how long the same request gives the same money: no longer than
// the fees count that the quote was made with.
func (e *Engine) validUntil(q *Quote) time.Time {
	until := e.Now().Add(e.TTL)
	for _, end := range []time.Time{q.Fee.Partner.GoodUntil, q.issuerFee.Until} {
		if !end.IsZero() && end.Before(until) {
			until = end
		}
	}
	return until.UTC().Truncate(time.Second)
}

// check reads what the sender has. The quote is good without, so a failure is
// only told.
func (e *Engine) check(ctx context.Context, q *Quote, from common.Address) (*Checks, string) {
	holding, err := e.Accounts.Read(ctx, &q.Pair.SrcToken, from, q.To.Address)
	if err != nil {
		return nil, err.Error()
	}
	return &Checks{Holding: holding, Needed: q.SrcAmount, NeedsAllowance: !q.Pair.SrcToken.Native()}, ""
}

// transactions are those to send. Without checks, the allowance is unknown, and
// they are right for any.
func transactions(q *Quote, checks *Checks) []Transaction {
	main := Transaction{q.To, q.Calldata, &q.Value}
	if q.Approval.Calldata == nil || checks != nil && !checks.Allowance.Lt(&q.SrcAmount) {
		return []Transaction{main}
	}
	approve := func(calldata []byte) Transaction {
		return Transaction{q.Approval.Token, calldata, new(uint256.Int)}
	}
	list := make([]Transaction, 0, 3)
	if q.Pair.SrcToken.ResetsAllowance() && (checks == nil || !checks.Allowance.IsZero()) {
		list = append(list, approve(calldata.Approve(q.Approval.Spender.Address, new(uint256.Int))))
	}
	return append(list, approve(q.Approval.Calldata), main)
}
