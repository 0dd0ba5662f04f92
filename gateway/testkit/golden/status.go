package golden

import (
	"bytes"
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/status"
)

// tracker answers from memory: the last byte of a transaction's hash says what
// became of it. The chain of all others cannot be asked. The real one is tested on
// real chains in its own package.
type tracker struct{}

func (tracker) Ready() bool                { return true }
func (tracker) Untracked() []chain.ID      { return nil }
func (tracker) SingleEndpoint() []chain.ID { return nil }

var (
	statusRecipient = common.HexToAddress("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
	statusPaid      = common.HexToHash("0x2222222222222222222222222222222222222222222222222222222222222222")
	statusNonce     = common.HexToHash("0x3333333333333333333333333333333333333333333333333333333333333333")
)

func (tracker) Status(_ context.Context, req status.Request) (*status.Status, error) {
	if req.Tx[31] == 0xff {
		return nil, fault.New(fault.StatusUnavailable, "Swaps of this deployment cannot be tracked: "+
			"it does not declare how its pools settle. Check the transaction on chain %s, or contact the operator",
			req.Chain.Network())
	}
	if s, ok := statuses()[req.Tx[31]]; ok {
		return s, nil
	}
	e := fault.New(fault.ChainUnavailable, "The status is unknown: chain %s, of the transaction, "+
		"has no RPC endpoint configured", req.Chain.Network())
	e.Role, e.RetryAfter = fault.SourceChain, time.Minute
	return nil, e
}

func statuses() map[byte]*status.Status {
	token := func(id chain.ID, symbol string) common.Address {
		t, err := chain.FindToken(id, symbol)
		if err != nil {
			panic(err) // the tables have it
		}
		return t.Address.Address
	}
	usdc := calldata.Swap{
		DstChainID: 369, Amount: *uint256.NewInt(100_000_000),
		Recipient: statusRecipient[:], DstToken: token(369, chain.USDC),
	}
	partnered := usdc
	copy(partnered.IntegratorID[12:], partner[:])
	shield := calldata.Swap{
		DstChainID: uint64(chain.PrivacyEthereum), Amount: *uint256.NewInt(100_000_000),
		Recipient: bytes.Repeat([]byte{0x44}, 160), RecipientType: calldata.RecipientPrivate,
		DstToken: token(1, chain.USDC),
	}
	onward := usdc
	onward.DstChainID, onward.DstToken = 10, token(10, chain.USDC)
	odd := usdc
	odd.DstChainID, odd.DstTooLarge = 0, new(uint256.Int).SetAllOne()
	odd.RecipientType, odd.Recipient = 7, []byte{0xab, 0xcd}
	source := func(confirmations uint64) *status.Source {
		return &status.Source{Block: 21_000_000, Confirmations: confirmations, Time: noon.Add(-time.Minute)}
	}
	const noPool = "No pool of this deployment pays that token on that chain. Contact the operator"
	paid := func(id chain.ID, amount uint64) *status.Settlement {
		return &status.Settlement{
			ChainID: id, TxHash: statusPaid, Time: noon,
			Amount: *uint256.NewInt(amount), Arrived: *uint256.NewInt(amount),
		}
	}
	shielded := paid(1, 99_500_000)
	shielded.Arrived = *uint256.NewInt(99_251_250) // RAILGUN has taken a quarter of a percent
	shielded.Note = common.BytesToHash(shield.Recipient[:32])
	minted := paid(10, 99_500_000)
	minted.TxHash = common.Hash{}
	minted.Time = time.Time{}
	short := paid(369, 9_970_000)
	short.Short = &status.Short{Swapped: *uint256.NewInt(100_000_000), Paid: *uint256.NewInt(10_000_000)}
	const isShort = "The payout and its fees do not add up to the swapped amount. Contact the operator"
	one := func(s status.Swap, seconds uint32) []status.Swap {
		s.Seconds = seconds
		return []status.Swap{s}
	}
	const block = 12 * time.Second
	return map[byte]*status.Status{
		0x01: {State: status.NotFound, Next: 5 * time.Second},
		0x02: {State: status.Pending, Swaps: one(status.Swap{State: status.Pending, Swap: usdc}, 90), Next: block},
		0x03: {State: status.Pending, Source: source(3), Next: time.Minute, Swaps: one(status.Swap{
			State: status.Pending, Swap: partnered}, 90)},
		0x04: {State: status.Failed, Final: true, Reason: "value is not the amount", Source: source(12),
			Swaps: one(status.Swap{State: status.Failed, Swap: usdc}, 0)},
		0x05: {State: status.NotASwap, Final: true, Source: source(12)},
		0x06: {State: status.Settling, Source: source(12), Next: 10 * time.Second, Swaps: one(status.Swap{
			State: status.Settling, Swap: usdc,
			Burn: &status.Burn{Domain: 2, State: cctp.Waiting, Reason: "insufficient_fee"}}, 60)},
		0x07: {State: status.Settled, Final: true, Source: source(12), Swaps: one(status.Swap{
			State: status.Settled, Final: true, Swap: usdc, Settlement: paid(369, 99_700_000)}, 90)},
		0x08: {State: status.Settled, Source: source(12), Next: block, Swaps: one(status.Swap{
			State: status.Settled, Swap: shield, Settlement: shielded}, 0)},
		0x09: {State: status.Settling, Source: source(12), Next: 10 * time.Second, Swaps: []status.Swap{
			{State: status.Settled, Final: true, Swap: usdc, Settlement: paid(369, 99_700_000)},
			{State: status.Settling, Swap: partnered},
		}},
		0x12: {State: status.Settled, Source: source(12), Next: time.Minute, Swaps: []status.Swap{
			{State: status.Settled, Final: true, Swap: partnered, Settlement: paid(369, 99_450_000)},
			{State: status.Settled, Swap: usdc, Settlement: short, Reason: isShort},
		}},
		0x0d: {State: status.Settling, Source: source(12), Omitted: 3, Next: 10 * time.Second, Swaps: []status.Swap{
			{State: status.Settling, Swap: usdc, Reason: noPool},
			{State: status.Settled, Final: true, Swap: partnered, Settlement: paid(369, 99_450_000), Seconds: 90},
		}},
		0x0a: {State: status.Settling, Source: source(12), Next: 10 * time.Second, Swaps: one(status.Swap{
			State: status.Settling, Swap: usdc,
			Reason: "The pool on chain 369 reports that it settled this swap in block 1, " +
				"but no node returns that event. Contact the operator"}, 0)},
		0x0e: {State: status.Settling, Source: source(12), Next: 10 * time.Second, Swaps: one(status.Swap{
			State: status.Settling, Unread: true,
			Reason: "The burn is for this service, but its hook data cannot be decoded. Contact the operator"}, 0)},
		0x0f: {State: status.Settling, Source: source(12), Next: 10 * time.Second, Swaps: one(status.Swap{
			State: status.Settling, Swap: odd, Reason: noPool}, 0)},
		0x0b: {State: status.Settling, Source: source(12), Next: 5 * time.Second, Swaps: one(status.Swap{
			State: status.Settling, Swap: onward,
			Burn: &status.Burn{Domain: 6, State: cctp.Unknown,
				Reason: "The issuer's view is unknown: the issuer's service is not configured"}}, 0)},
		0x0c: {State: status.Settled, Final: true, Source: source(12), Swaps: one(status.Swap{
			State: status.Settled, Final: true, Swap: onward,
			Burn:       &status.Burn{Domain: 6, State: cctp.Complete, Nonce: statusNonce},
			Settlement: paid(10, 99_500_000)}, 0)},
		0x10: {State: status.Settled, Final: true, Source: source(12), Swaps: one(status.Swap{
			State: status.Settled, Final: true, Swap: onward,
			Burn:       &status.Burn{Domain: 6, State: cctp.Complete, Nonce: statusNonce},
			Settlement: minted}, 0)},
		0x11: {State: status.Settled, Source: source(12), Next: time.Minute, Swaps: one(status.Swap{
			State: status.Settled, Swap: usdc, Settlement: short,
			Reason: isShort}, 90)},
	}
}
