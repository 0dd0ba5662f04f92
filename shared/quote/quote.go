// Package quote is the core that all versions share: it turns a Request into a
// Quote. It knows no version, no HTTP and no JSON. A version expresses what it
// does differently in the Request, and maps the Quote to its own JSON.
package quote

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/account"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/setting"
)

// Config says how long the operator stands by a quote.
type Config struct {
	TTL time.Duration `env:"QUOTE_TTL, default=60s" min:"5s" max:"1h"`
}

// Validate reports a time that no wallet or no operator could live with.
func (c Config) Validate() error { return setting.Check(c) }

// Request asks for a swap of an amount of one token to a token on another chain.
type Request struct {
	SrcChain, DstChain chain.ID
	SrcToken, DstToken string      // symbol or address, as the caller wrote it
	Amount             uint256.Int // of the source token, in its smallest unit
	Recipient          Recipient
	Integrator         integrator.ID // zero for none

	Details  bool            // also explain the quote
	From     *common.Address // who will send it, nil for unknown; only with Details
	Simulate bool            // also try the transactions on the chain; only with From
}

// Same reports whether two requests ask for the same quote and, if not, the
// first part in which they differ. Tokens are compared as text. Details change
// nothing about a quote, so they are not compared.
func (r *Request) Same(other *Request) (same bool, differs fault.Role) {
	switch {
	case r.SrcChain != other.SrcChain:
		return false, fault.SourceChain
	case r.DstChain != other.DstChain:
		return false, fault.DestinationChain
	case r.SrcToken != other.SrcToken:
		return false, fault.SourceToken
	case r.DstToken != other.DstToken:
		return false, fault.DestinationToken
	case r.Amount != other.Amount:
		return false, fault.Amount
	case !r.Recipient.same(other.Recipient):
		return false, fault.Recipient
	case r.Integrator != other.Integrator:
		return false, fault.Integrator
	}
	return true, 0
}

// Quote is a swap that can be signed: the two transactions and their result.
type Quote struct {
	Pair       *chain.Pair
	To         chain.Address // the contract that receives the source transaction
	SrcAmount  uint256.Int   // in the source token's smallest unit
	DestAmount uint256.Int   // what is left after the fees, in the destination token's
	Fee        Fee
	Approval   []byte // the calldata that lets To spend SrcAmount of the source token, nil if that is native
	Calldata   []byte
	Value      uint256.Int // native value to send, zero for an ERC-20 source
	Details    *Details    // nil if the request did not ask for them
	Missing    *Contract   // a contract that the swap needs and that does not exist; nil if none is known

	issuerFee cctp.State // of a burn
}

// Contract is one that a swap needs on a network.
type Contract struct {
	Network chain.ID
	Address common.Address
}

// Fee is what the swap costs, in the destination token's smallest unit.
type Fee struct {
	fee.Split
	ChainID     chain.ID // the network of the pool that pays out
	ProtocolBPS fee.BPS
	Partner     integrator.Partner // zero for none
}

// IssuerFees knows what a burn costs. It never waits and never fails.
type IssuerFees interface {
	Of(source chain.ID) cctp.State
}

// Integrators verifies a partner in the registry of a network.
type Integrators interface {
	Lookup(ctx context.Context, network chain.ID, id integrator.ID) (integrator.Partner, error)
}

// Accounts reads the balances of an account and simulates its transactions.
// The text of an error is for the client to read.
type Accounts interface {
	Read(ctx context.Context, token *chain.Token, owner, spender common.Address) (account.Holding, error)
	HasCode(ctx context.Context, network chain.ID, account common.Address) (bool, error)
	Simulate(
		ctx context.Context, network chain.ID, from common.Address, holding *account.Holding, calls []account.Call,
	) (*account.Simulation, error)
}

type Parts struct {
	Deployment  *chain.Deployment
	IssuerFees  IssuerFees
	Integrators Integrators
	Accounts    Accounts
	// Missing is true if it is known that a network has no contract at an address. Nil
	// if nothing is known of the networks.
	Missing func(network chain.ID, address common.Address) bool
	TTL     time.Duration    // how long a quote is valid at most
	Now     func() time.Time // nil for time.Now
}

// Engine quotes swaps on one deployment. It is safe for concurrent use.
type Engine struct{ parts Parts }

func NewEngine(parts Parts) *Engine {
	if parts.Now == nil {
		parts.Now = time.Now
	}
	if parts.Missing == nil {
		parts.Missing = func(chain.ID, common.Address) bool { return false }
	}
	return &Engine{parts}
}

// Quote answers a request. The calldata does what the caller asked for, or Quote
// returns an error.
func (e *Engine) Quote(ctx context.Context, req *Request) (*Quote, error) {
	q, err := e.resolve(req)
	if err != nil {
		return nil, err
	}
	if err := e.price(ctx, req, q); err != nil {
		return nil, err
	}
	if err := e.encode(req, q); err != nil {
		return nil, err
	}
	if req.Details {
		if err := e.explain(ctx, req, q); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// resolve finds the pair and its contract, and checks that the recipient can be
// paid at the destination.
func (e *Engine) resolve(req *Request) (*Quote, error) {
	pair, err := e.parts.Deployment.FindPair(req.SrcChain, req.SrcToken, req.DstChain, req.DstToken)
	if err != nil {
		return nil, err
	}
	if err := req.Recipient.payableOn(pair.Dst); err != nil {
		return nil, err
	}
	if err := req.Recipient.canOwn(e.parts.Deployment); err != nil {
		return nil, err
	}
	q := &Quote{Pair: pair, To: e.parts.Deployment.Target(pair), SrcAmount: req.Amount}
	needed := e.needed(q)
	missing := slices.IndexFunc(needed, func(c Contract) bool { return e.parts.Missing(c.Network, c.Address) })
	if missing >= 0 {
		q.Missing = &needed[missing]
	}
	return q, nil
}

// needed are the contracts that a swap needs, as it passes through them. A native coin
// among them is never missing.
func (e *Engine) needed(q *Quote) []Contract {
	src, dst := q.Pair.Src.Network(), q.Pair.Dst.Network()
	list := make([]Contract, 0, 6)
	list = append(list, Contract{src, q.To.Address}, Contract{src, q.Pair.SrcToken.Address.Address})
	if q.Pair.Route == chain.CCTPInbound {
		settlement := e.parts.Deployment.Settlement
		list = append(list, Contract{settlement.ChainID, settlement.Receiver.Address})
	}
	if payout, ok := e.parts.Deployment.Payout(q.Pair.Dst, q.Pair.DstToken.Address.Address); ok {
		list = append(list, Contract{payout.Network, payout.Pools[0]}, Contract{payout.Network, payout.Token})
	}
	return append(list, Contract{dst, q.Pair.DstToken.Address.Address})
}

// price checks the amount and subtracts the fees.
func (e *Engine) price(ctx context.Context, req *Request, q *Quote) error {
	if err := fee.CheckLimits(&q.Pair.SrcToken, &req.Amount); err != nil {
		return fault.About(fault.Amount, err)
	}
	q.Fee.ChainID = e.parts.Deployment.FeeChain(q.Pair.Dst)
	q.Fee.ProtocolBPS = fee.Protocol(q.Pair.Src, q.Pair.Dst)
	if req.Integrator != (integrator.ID{}) {
		partner, err := e.parts.Integrators.Lookup(ctx, q.Fee.ChainID, req.Integrator)
		if err != nil {
			return fault.About(fault.Integrator, err)
		}
		q.Fee.Partner = partner
	}
	gross := fee.Convert(&req.Amount, q.Pair.SrcToken.Decimals, q.Pair.DstToken.Decimals)
	q.Fee.Split = fee.Divide(&gross, q.Fee.ProtocolBPS, fee.BPS(q.Fee.Partner.FeeBPS))
	q.DestAmount = q.Fee.Net
	return nil
}

// encode adds the calldata of both transactions to q.
func (e *Engine) encode(req *Request, q *Quote) error {
	recipient, kind, err := req.Recipient.encode()
	if err != nil {
		return err
	}
	swap := calldata.Swap{
		DstChainID:    uint64(q.Pair.Dst),
		Amount:        req.Amount,
		Recipient:     recipient,
		RecipientType: kind,
		DstToken:      q.Pair.DstToken.Address.Address,
		IntegratorID:  req.Integrator,
	}
	if q.Pair.Route == chain.CCTPInbound {
		err = e.encodeBurn(q, &swap)
	} else {
		q.Calldata = swap.Encode()
	}
	if err != nil {
		return err
	}
	if q.Pair.SrcToken.Native() {
		q.Value = req.Amount
	} else {
		q.Approval = calldata.Approve(q.To.Address, &req.Amount)
	}
	return nil
}

// encodeBurn encodes a burn that only the receiver on the settlement chain can
// send on to the hub.
func (e *Engine) encodeBurn(q *Quote, swap *calldata.Swap) error {
	q.issuerFee = e.parts.IssuerFees.Of(q.Pair.Src)
	if q.issuerFee.TooHigh {
		const text = "The issuer reports an implausible transfer fee for chain %s, " +
			"and no earlier one is known. Try again later"
		err := fault.New(fault.IssuerFeeTooHigh, text, q.Pair.Src)
		err.RetryAfter = time.Minute
		return err
	}
	maxFee, err := q.issuerFee.Rate.MaxFee(&swap.Amount)
	if err != nil {
		return fault.About(fault.Amount, err)
	}
	burn := calldata.Burn{
		Swap:              *swap,
		DestinationDomain: e.parts.Deployment.Settlement.Domain,
		Receiver:          e.parts.Deployment.Settlement.Receiver.Address,
		BurnToken:         q.Pair.SrcToken.Address.Address,
		MaxFee:            maxFee,
	}
	q.Calldata = burn.Encode()
	return nil
}

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
	Recipient    *RecipientCode   // with Checks; nil for a 0zk address
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

// RecipientCode tells on which side of a swap the recipient is a contract; nil where no
// endpoint answers. One that exists on the source alone cannot use what arrives.
type RecipientCode struct {
	Source, Destination *bool
}

// Simulation is what the transactions would do now.
type Simulation struct {
	account.Simulation
	Event  *bool       // whether the contract's event says what was asked for; nil if that cannot be told
	Needed uint256.Int // coins with which every transaction can be sent: value, and the gas that each may take
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
		d.Registry = e.parts.Deployment.Registry(q.Fee.ChainID)
	}
	q.Details = d
	if q.Pair.Src.Private() {
		// The money comes out of the privacy pool, in a transaction that only the wallet can make.
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
		d.Simulation, d.Unsimulated = e.simulate(ctx, q, *req.From)
	}
	return nil
}

// check reads the sender's account and, at the same time, on which sides the recipient is a
// contract. The quote is good without.
func (e *Engine) check(ctx context.Context, req *Request, q *Quote) {
	const what = "reading the code of a recipient"
	d := q.Details
	var codes safego.Group
	if req.Recipient.Private == nil {
		d.Recipient = new(RecipientCode)
		codes.Go(nil, what, func() {
			d.Recipient.Source = e.hasCode(ctx, q.Pair.Src.Network(), req.Recipient.EVM)
		})
		codes.Go(nil, what, func() {
			d.Recipient.Destination = e.hasCode(ctx, q.Pair.Dst.Network(), req.Recipient.EVM)
		})
	}
	holding, err := e.parts.Accounts.Read(ctx, &q.Pair.SrcToken, *req.From, q.To.Address)
	if err == nil {
		d.Checks = &holding
	} else {
		d.Unchecked = err.Error()
	}
	codes.Wait()
}

// hasCode is nil if no endpoint answers.
func (e *Engine) hasCode(ctx context.Context, network chain.ID, account common.Address) *bool {
	has, err := e.parts.Accounts.HasCode(ctx, network, account)
	if err != nil {
		return nil
	}
	return &has
}

// arrival works out what is left once RAILGUN has taken its part.
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

// validity is until when the operator stands by a quote, and for how many seconds.
// That is the TTL, or less if what is known of the integrator ends before, but
// never less than half of the TTL. The issuer's fee has no end: it is looked up
// again every minute, and an old one serves on.
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
	found, err := e.parts.Accounts.Simulate(ctx, q.Pair.Src.Network(), from, d.Checks, d.Transactions)
	if err != nil {
		return nil, err.Error()
	}
	s := &Simulation{Simulation: *found, Needed: q.Value}
	var gas uint256.Int
	for _, c := range s.Calls {
		gas.AddUint64(&gas, c.GasLimit)
	}
	s.Needed.Add(&s.Needed, gas.Mul(&gas, &s.GasPrice))
	// A pool of a deployment that does not settle in the documented way may emit
	// another event.
	if s.HasLogs && (q.Pair.Route == chain.CCTPInbound || e.parts.Deployment.Tracked()) {
		s.Event = new(false)
		for _, log := range s.Calls[len(s.Calls)-1].Logs {
			*s.Event = *s.Event || log.Address == q.To.Address && d.Call.Emitted(from, log.Topics, log.Data)
		}
		if main := &s.Calls[len(s.Calls)-1]; !*s.Event && main.Error == "" {
			main.Error = "The call succeeds, but the contract does not emit the event of this swap"
		}
	}
	return s, ""
}
