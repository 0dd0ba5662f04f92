package quote

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/safego"
)

// Details explain a quote and how to use it.
type Details struct {
	Request      *Request // as it was decoded
	Call         calldata.Call
	Hook         []calldata.Argument // of a burn, nil for others
	Transactions []Transaction       // to send in this order; nil for unshielding, whose call a wallet wraps
	Arrival      Arrival
	ValidUntil   time.Time
	ValidFor     int64          // the same in seconds from now
	IssuerFee    *fee.IssuerFee // of a burn, nil for others
	MaxFee       uint256.Int    // that the issuer may take for a burn, as the calldata says
	Registry     chain.Address  // of the integrator, zero for none
	Checks       *Holding       // what the sender has; nil if the request does not say who sends, or with Unchecked
	Unchecked    string         // why there are no checks, in a sentence for the caller
	Recipient    *RecipientCode // with Checks; nil for a 0zk address
	Simulation   *Simulation    // nil if the request does not ask for one, or with Unsimulated
	Unsimulated  string         // why there is no simulation, in a sentence for the caller
}

// Arrival is what the recipient receives in the end.
type Arrival struct {
	Amount   uint256.Int // the quote's DestAmount after RAILGUN's fee
	Railgun  fee.BPS     // RAILGUN's fee on a shielded amount
	Deducted uint256.Int // the same as an amount
	Seconds  uint32      // how long it usually takes, 0 for unknown
	Unshield uint256.Int // what to withdraw from the privacy pool so that the swap has its amount, 0 for none
}

// RecipientCode reports on which chains of a swap the recipient is a contract; nil if no
// endpoint answers. A contract that exists only on the source cannot use what arrives.
type RecipientCode struct {
	Source, Destination *bool
}

// Accounts reads the balances of an account and simulates its transactions, for a caller.
// The text of an error is for the client to read.
type Accounts interface {
	Read(
		ctx context.Context, caller netip.Prefix, token *chain.Token, owner, spender common.Address,
	) (Holding, error)
	HasCode(ctx context.Context, caller netip.Prefix, network chain.ID, account common.Address) (bool, error)
	// Simulate runs what from would send. holding is what it has, nil if unknown.
	Simulate(
		ctx context.Context, caller netip.Prefix, network chain.ID, from common.Address,
		holding *Holding, transactions []Transaction,
	) (*Simulation, error)
}

// Holding is what an account has.
type Holding struct {
	Native    uint256.Int // of the chain's own coin
	Balance   uint256.Int // of the token
	Allowance uint256.Int // how much of it the spender may take; 0 for the native coin
	CheckedAt time.Time
}

// Transaction is one to sign.
type Transaction struct {
	To    chain.Address
	Data  []byte
	Value *uint256.Int
}

// Simulation is what transactions would do, in order, on the state of the latest block.
type Simulation struct {
	BlockNumber uint64
	Calls       []CallResult
	HasLogs     bool        // false if the node could only estimate, and returned no logs
	GasPrice    uint256.Int // high enough for the next blocks, too
	Native      uint256.Int // what the account has of the chain's own coin

	// The engine adds these.
	Event  *bool       // whether the contract emits the event of this swap; nil if unknown
	Needed uint256.Int // coins with which every transaction can be sent: value, and the gas that each may take
}

// CallResult is the outcome of one transaction.
type CallResult struct {
	GasUsed  uint64 // 0 if it failed and the node does not say
	GasLimit uint64 // enough for the transaction, unless it fails
	Error    string // why it failed, as a sentence; empty if it did not
	Logs     []calldata.Log
}

// explain adds the details to q. It decodes the calldata, so that the details describe what
// the calldata does and not what it should do.
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
		d.IssuerFee = &q.issuerFee
		d.MaxFee.SetBytes(call.Argument("maxFee"))
	}
	if req.Integrator != (calldata.IntegratorID{}) {
		d.Registry = e.parts.Deployment.Registry(q.Fee.ChainID)
	}
	q.Details = d
	if q.Pair.Src.Private() {
		// The funds leave the privacy pool in a transaction that only the wallet can make.
		d.Unchecked = "The swap is paid from the privacy pool, not from this account"
		d.Unsimulated = "The wallet wraps an unshielding swap in its own private transaction, " +
			"which cannot be simulated without the wallet"
		return nil
	}
	if req.From != nil {
		e.check(ctx, req, q)
	}
	d.Transactions = transactions(q, d.Checks)
	if req.Simulate {
		d.Simulation, d.Unsimulated = e.simulate(ctx, q)
	}
	return nil
}

// check reads the sender's account and, concurrently, on which chains the recipient is a
// contract. The quote is valid without these.
func (e *Engine) check(ctx context.Context, req *Request, q *Quote) {
	const what = "reading the code of a recipient"
	d := q.Details
	var codes safego.Group
	if req.Recipient.Private == nil {
		d.Recipient = new(RecipientCode)
		codes.Go(nil, what, func() {
			d.Recipient.Source = e.hasCode(ctx, req, q.Pair.Src.Network())
		})
		codes.Go(nil, what, func() {
			d.Recipient.Destination = e.hasCode(ctx, req, q.Pair.Dst.Network())
		})
	}
	holding, err := e.parts.Accounts.Read(ctx, req.Caller, &q.Pair.SrcToken, *req.From, q.To.Address)
	if err == nil {
		d.Checks = &holding
	} else {
		d.Unchecked = err.Error()
	}
	codes.Wait()
}

// hasCode reports whether the recipient is a contract; nil if no endpoint answers.
func (e *Engine) hasCode(ctx context.Context, req *Request, network chain.ID) *bool {
	has, err := e.parts.Accounts.HasCode(ctx, req.Caller, network, req.Recipient.EVM)
	if err != nil {
		return nil
	}
	return &has
}

// arrival computes what is left after RAILGUN's fee.
func (e *Engine) arrival(q *Quote) Arrival {
	a := Arrival{Amount: q.DestAmount, Seconds: e.parts.Deployment.Seconds(q.Pair)}
	rates := e.parts.Deployment.Railgun
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

// validity is until when a quote is valid, and for how many seconds: the TTL, or less if the
// integrator's data expires before, but at least half of the TTL. The issuer's fee does not
// expire: it is refreshed every minute, and an old one stays in use.
func (e *Engine) validity(q *Quote) (until time.Time, seconds int64) {
	now := e.parts.Now().UTC()
	valid := e.parts.TTL
	if end := q.Fee.Partner.GoodUntil; !end.IsZero() {
		half := (e.parts.TTL/2 + time.Second - 1).Truncate(time.Second)
		valid = min(valid, max(end.Sub(now), half+time.Second)) // until loses up to a second
	}
	seconds = int64(valid / time.Second)
	return now.Truncate(time.Second).Add(time.Duration(seconds) * time.Second), seconds
}

// transactions are those to send. Without checks, the allowance is unknown, and they work for
// any. Checks are never cached, so they may omit an approval.
func transactions(q *Quote, checks *Holding) []Transaction {
	main := Transaction{To: q.To, Data: q.Calldata, Value: &q.Value}
	if q.Approval == nil || checks != nil && !checks.Allowance.Lt(&q.SrcAmount) {
		return []Transaction{main}
	}
	approve := func(calldata []byte) Transaction {
		return Transaction{To: q.Pair.SrcToken.Address, Data: calldata, Value: new(uint256.Int)}
	}
	list := make([]Transaction, 0, 3)
	if q.Pair.SrcToken.ResetsAllowance() && (checks == nil || !checks.Allowance.IsZero()) {
		list = append(list, approve(calldata.Approve(q.To.Address, new(uint256.Int))))
	}
	return append(list, approve(q.Approval), main)
}

// simulate runs the transactions on the chain. The quote is valid without, so a failure is
// only reported.
func (e *Engine) simulate(ctx context.Context, q *Quote) (*Simulation, string) {
	d := q.Details
	src := q.Pair.Src.Network()
	s, err := e.parts.Accounts.Simulate(ctx, d.Request.Caller, src, *d.Request.From, d.Checks, d.Transactions)
	if err != nil {
		return nil, err.Error()
	}
	s.Needed = q.Value
	var gas uint256.Int
	for _, c := range s.Calls {
		gas.AddUint64(&gas, c.GasLimit)
	}
	s.Needed.Add(&s.Needed, gas.Mul(&gas, &s.GasPrice))
	// A pool of a deployment that does not settle in the documented way may emit
	// another event.
	if s.HasLogs && (q.Pair.Route == chain.CCTPInbound || e.parts.Deployment.Tracked()) {
		main := &s.Calls[len(s.Calls)-1]
		emitted := slices.ContainsFunc(main.Logs, func(log calldata.Log) bool {
			return log.Address == q.To.Address && d.Call.Emitted(*d.Request.From, log)
		})
		s.Event = &emitted
		if !emitted && main.Error == "" {
			main.Error = "The call succeeds, but the contract does not emit the event of this swap"
		}
	}
	return s, ""
}
