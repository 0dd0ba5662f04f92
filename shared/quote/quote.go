// Package quote is the core that all versions share: it turns a Request into a Quote. It has
// no notion of versions, HTTP or JSON. A version expresses its differences in the Request, and
// maps the Quote to its own JSON.
package quote

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/railgun"
	"github.com/quotegate/quotegate/shared/setting"
)

// Config sets how long a quote is valid.
type Config struct {
	TTL time.Duration `env:"QUOTE_TTL, default=60s" min:"5s" max:"1h"`
}

// Validate checks the limits of the settings.
func (c Config) Validate() error { return setting.Check(c) }

// Request asks for a swap of an amount of one token to a token on another chain.
type Request struct {
	SrcChain, DstChain chain.ID
	SrcToken, DstToken string      // symbol or address, as the caller wrote it
	Amount             uint256.Int // of the source token, in its smallest unit
	Recipient          Recipient
	Integrator         calldata.IntegratorID // zero for none

	Caller   netip.Prefix    // the caller's network, for fair use of the nodes; zero if unknown
	Details  bool            // also explain the quote
	From     *common.Address // who will send it, nil if unknown; only with Details
	Simulate bool            // also simulate the transactions; only with From
}

// Difference is the first part in which two requests differ, and 0 if they are for the same
// quote. Tokens are compared as text. The caller and the details do not change a quote, so
// they are not compared.
func (r *Request) Difference(other *Request) fault.Role {
	switch {
	case r.SrcChain != other.SrcChain:
		return fault.SourceChain
	case r.DstChain != other.DstChain:
		return fault.DestinationChain
	case r.SrcToken != other.SrcToken:
		return fault.SourceToken
	case r.DstToken != other.DstToken:
		return fault.DestinationToken
	case r.Amount != other.Amount:
		return fault.Amount
	case !r.Recipient.same(other.Recipient):
		return fault.Recipient
	case r.Integrator != other.Integrator:
		return fault.Integrator
	}
	return 0
}

// Quote is a swap that can be signed: the two transactions and their result.
type Quote struct {
	Pair       *chain.Pair
	To         chain.Address // the contract that receives the source transaction
	SrcAmount  uint256.Int   // in the source token's smallest unit
	DestAmount uint256.Int   // after the fees, in the destination token's smallest unit
	Fee        Fee
	Approval   []byte // calldata that approves To to spend SrcAmount; nil for a native source token
	Calldata   []byte
	Value      uint256.Int // native value to send, zero for an ERC-20 source
	Details    *Details    // nil if the request did not ask for them
	Missing    *Contract   // a contract that the swap needs and that is known not to exist; or nil

	issuerFee fee.IssuerFee // of a burn
}

// Contract is a contract that a swap needs.
type Contract struct {
	Network chain.ID
	Address common.Address
}

// Fee is what the swap costs, in the destination token's smallest unit.
type Fee struct {
	fee.Split
	ChainID     chain.ID // the network of the pool that pays out
	ProtocolBPS fee.BPS
	Partner     Partner // zero for none
}

// Partner is a registered, active integrator as its registry returns it.
type Partner struct {
	ID        calldata.IntegratorID
	Wallet    chain.Address // always the address in the ID
	FeeBPS    uint16
	CheckedAt time.Time // when the registry was read

	// GoodUntil is when quotes with this partner expire: half of a quote's TTL after the
	// answer leaves the cache.
	GoodUntil time.Time
}

// IssuerFees returns the issuer's fee of a burn. It never blocks and never fails.
type IssuerFees interface {
	Of(source chain.ID) fee.IssuerFee
}

// Integrators verifies a partner in the registry of a network, for a caller.
type Integrators interface {
	Lookup(ctx context.Context, caller netip.Prefix, network chain.ID, id calldata.IntegratorID) (Partner, error)
}

type Parts struct {
	Deployment  *chain.Deployment
	IssuerFees  IssuerFees
	Integrators Integrators
	Accounts    Accounts
	// Missing reports whether a network is known to have no contract at an address. Nil if
	// nothing is known.
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

// Quote answers a request. The calldata does what the caller requested, or Quote returns an
// error.
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
	q.Missing = e.missing(q)
	return q, nil
}

// missing is the first contract on the way of a swap that does not exist, or nil. A native
// coin is never missing.
func (e *Engine) missing(q *Quote) *Contract {
	d := e.parts.Deployment
	src, dst := q.Pair.Src.Network(), q.Pair.Dst.Network()
	needed := make([]Contract, 0, 6)
	needed = append(needed, Contract{src, q.To.Address}, Contract{src, q.Pair.SrcToken.Address.Address})
	if q.Pair.Route == chain.CCTPInbound {
		needed = append(needed, Contract{d.Settlement.ChainID, d.Settlement.Receiver.Address})
	}
	if payout, ok := d.Payout(q.Pair.Dst, q.Pair.DstToken.Address.Address); ok {
		needed = append(needed, Contract{payout.Network, payout.Pool}, Contract{payout.Network, payout.Token})
	}
	needed = append(needed, Contract{dst, q.Pair.DstToken.Address.Address})
	for _, c := range needed {
		if e.parts.Missing(c.Network, c.Address) {
			found := c
			return &found
		}
	}
	return nil
}

// price checks the amount and subtracts the fees.
func (e *Engine) price(ctx context.Context, req *Request, q *Quote) error {
	if err := fee.CheckLimits(&q.Pair.SrcToken, &req.Amount); err != nil {
		return fault.About(fault.Amount, err)
	}
	q.Fee.ChainID = e.parts.Deployment.FeeChain(q.Pair.Dst)
	q.Fee.ProtocolBPS = fee.Protocol(q.Pair.Src, q.Pair.Dst)
	if req.Integrator != (calldata.IntegratorID{}) {
		partner, err := e.parts.Integrators.Lookup(ctx, req.Caller, q.Fee.ChainID, req.Integrator)
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

// encodeBurn encodes a burn that only the receiver on the settlement chain can forward to the
// hub.
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

// Recipient receives the money: an EVM account, or the owner of a 0zk address.
type Recipient struct {
	EVM     common.Address
	Private *railgun.Address // nil for an account
}

func (r Recipient) Zero() bool { return r == Recipient{} }

func (r Recipient) same(other Recipient) bool {
	if r.Private == nil || other.Private == nil {
		return r == other
	}
	return r.EVM == other.EVM && r.Private.Equal(*other.Private)
}

// RecipientType is the type of recipient that a caller declares.
type RecipientType uint8

const (
	AnyRecipient     RecipientType = calldata.RecipientEVM // a 0zk address is private whatever the type
	PrivateRecipient RecipientType = calldata.RecipientPrivate
)

// ParseRecipientType reads the number of a type from a request.
func ParseRecipientType(text string) (RecipientType, error) {
	switch text {
	case "0":
		return AnyRecipient, nil
	case "2":
		return PrivateRecipient, nil
	}
	return 0, fault.New(fault.InvalidParameter,
		"The recipientType must be 0, for an EVM address, or 2, for a 0zk… address")
}

// Parse parses a recipient of this type: an EVM address or a raw 0zk address. It accepts the
// zero address, for callers that do not know the recipient yet.
func (t RecipientType) Parse(text string) (Recipient, error) {
	if railgun.LooksLikeAddress(text) {
		address, err := railgun.ParseAddress(text)
		if err != nil {
			return Recipient{}, err
		}
		return Recipient{Private: &address}, nil
	}
	if strings.TrimSpace(text) != text {
		return Recipient{}, fault.BadRecipient(fault.Malformed,
			"The recipient has a leading or trailing space: send the address alone")
	}
	address, err := chain.ParseAddress(text)
	switch {
	case err != nil && strings.Contains(text, "."):
		return Recipient{}, fault.BadRecipient(fault.Name,
			"The recipient looks like a name, and names are not resolved: send the 0x… address")
	case errors.Is(err, chain.ErrChecksum):
		return Recipient{}, fault.BadRecipient(fault.Checksum, "The recipient %v", err)
	case err != nil:
		return Recipient{}, fault.BadRecipient(fault.Malformed, "The recipient %v", err)
	}
	if t == PrivateRecipient {
		return Recipient{}, fault.BadRecipient(fault.PublicOnPrivate,
			"A recipient of type 2 must be a raw 0zk… address; an EVM address is type 0")
	}
	return Recipient{EVM: address}, nil
}

// payableOn checks that a recipient can be paid at a destination.
func (r Recipient) payableOn(dst chain.ID) error {
	var err error
	switch {
	case dst.Private() && r.Private == nil:
		err = fault.BadRecipient(fault.PublicOnPrivate,
			"Chain %s is a privacy pool: the recipient must be a raw 0zk… address", dst)
	case dst.Private():
		err = r.Private.PayableOn(uint64(dst.Network()))
	case r.Private != nil:
		err = fault.BadRecipient(fault.PrivateOnPublic,
			"Chain %s is public: the recipient must be an EVM address, not a 0zk… address", dst)
	}
	return fault.About(fault.Recipient, err)
}

// canOwn checks that an account could move the funds it receives. The zero address passes: it
// means that the recipient is not known yet.
func (r Recipient) canOwn(d *chain.Deployment) error {
	if r.Private != nil || r.Zero() {
		return nil
	}
	reason, what := d.Unpayable(r.EVM, chain.AnyChain)
	if reason == "" {
		return nil
	}
	return fault.About(fault.Recipient, fault.BadRecipient(reason,
		"The recipient %s is %s: funds sent there are lost. Send an account address", r.EVM.Hex(), what))
}

// encode returns the recipient's bytes in calldata, and their type. For a private recipient
// that is a fresh note, different every time; for an account, the bytes are those of r.
func (r *Recipient) encode() ([]byte, uint8, error) {
	if r.Private == nil {
		return r.EVM[:], calldata.RecipientEVM, nil
	}
	note, err := railgun.NewNote(*r.Private)
	if err != nil {
		return nil, 0, err
	}
	return note.Recipient(), calldata.RecipientPrivate, nil
}
