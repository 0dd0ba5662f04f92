package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/railgun"
	"github.com/quotegate/quotegate/v3/client"
)

// The demonstration pays somebody who has nothing.
const demoRecipient = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

// demoSwap is the swap that the demonstration makes, with a fee for the integrator.
func demoSwap(from, to, amount string) (*swap.Swap, error) {
	_, dst, err := swap.ParseEnd(to)
	if err != nil {
		return nil, err
	}
	recipient := demoRecipient
	if dst.Private() {
		recipient = reference.PrivateRecipient
	}
	s, err := swap.NewSwap(from, to, amount, recipient, reference.Integrator.Wallet.Hex())
	return &s, err
}

// demonstrate takes one swap from the question to the money, and tells of each step.
func (d *devnet) demonstrate(ctx context.Context, s swap.Swap) error {
	d.line("\nA swap, from the question to the money: %s on %s to %s on %s.",
		swap.Money(s.Amount, s.SrcToken), name(s.Src), s.DstToken.Symbol, name(s.Dst))
	quote, err := d.ask(ctx, s)
	if err != nil {
		return err
	}
	receipt, err := d.execute(ctx, quote)
	if err != nil {
		return err
	}
	if err := d.follow(ctx, quote, receipt.TxHash); err != nil {
		return err
	}
	payout, err := d.settled(ctx, s, receipt.TxHash)
	if err != nil {
		return err
	}
	return d.paid(ctx, payout, quote)
}

// ask gets a quote and checks it.
func (d *devnet) ask(ctx context.Context, s swap.Swap) (*swap.Checked, error) {
	gateway, err := swap.Dial(d.gateway.URL(), d.chains.Deployment)
	if err != nil {
		return nil, err
	}
	address, err := gateway.QuoteURL(s.Request())
	if err != nil {
		return nil, err
	}
	d.line("\n1. Ask the gateway.\n   GET %s", address)
	know := swap.Knowledge{Deployment: d.chains.Deployment, ViewingKey: &reference.PrivateViewingKey}
	checked, err := swap.Ask(ctx, gateway, s, know)
	if err != nil {
		return nil, err
	}
	q := checked.Quote
	d.line("   It says: send the call to %s (%s), and %s arrive.", q.To, q.Route.Type, q.DestAmount)
	d.line("\n2. Check the answer, as a wallet should: contract, calldata, approval and amounts.")
	d.explain(checked)
	return checked, nil
}

// explain says who gets what, and what RAILGUN takes beside.
func (d *devnet) explain(q *swap.Checked) {
	token := q.Swap.DstToken
	d.line("   It is what was asked for: %s for the recipient, %s for the protocol, %s for the integrator.",
		swap.Money(q.Dest, token), swap.Money(q.Protocol, token), swap.Money(q.Integrator, token))
	if q.Swap.Src.Private() {
		d.line("   A wallet unshields %s.", q.ToUnshield())
	}
	if q.Swap.Dst.Private() {
		d.line("   %s arrives in the pool: %s.",
			swap.Money(q.Arrives, token), swap.LessRailgun(q.Dest, token, q.Railgun.ShieldBPS))
		d.line("   %s", swap.RailgunWait)
	}
	for _, what := range q.Unchecked {
		d.line("   Not checked: %s.", what)
	}
}

// execute signs and sends, over JSON-RPC as a wallet does.
func (d *devnet) execute(ctx context.Context, q *swap.Checked) (*types.Receipt, error) {
	node := d.chains.Chain(q.Swap.Src).URL()
	d.line("\n3. Sign and send, on %s.", name(q.Swap.Src))
	connection, err := ethclient.DialContext(ctx, node)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	progress := func(what string) { d.line("   %s", what) }
	return swap.Execute(ctx, connection, reference.User.Key, q, progress)
}

// followLimit is much longer than a settlement takes here.
const followLimit = time.Minute

// follow asks the gateway what becomes of the swap until it is settled. A gateway that cannot tell is no failure: the
// operator tells what became of the swap.
func (d *devnet) follow(ctx context.Context, q *swap.Checked, tx common.Hash) error {
	gateway, err := swap.Dial(d.gateway.URL(), d.chains.Deployment)
	if err != nil {
		return err
	}
	d.line("\n4. Follow it.\n   GET %s", gateway.StatusURL(uint64(q.Swap.Src), tx))
	ctx, cancel := context.WithTimeout(ctx, followLimit)
	defer cancel()
	progress := func(what string) { d.line("   %s", what) }
	status, err := swap.Follow(ctx, gateway, client.Sent{Hash: tx, Quote: q.Checked}, progress)
	var refusal *client.Error
	switch {
	case errors.As(err, &refusal) && refusal.Code == client.Unverified:
		return err
	case errors.As(err, &refusal):
		d.line("   This gateway does not follow swaps, so the operator has to tell: %v", refusal)
	case err != nil:
		d.line("   The gateway does not tell yet: %v", err)
	case status.State != client.Settled:
		return fmt.Errorf("the gateway says: %s", status)
	case status.Short(q.Checked) != nil:
		short := swap.Money(status.Short(q.Checked), q.Swap.DstToken)
		return fmt.Errorf("the gateway says that %s less was paid out than it quoted", short)
	}
	if err != nil {
		return nil // there is no status
	}
	if took, ok := status.Took(); ok {
		d.line("   It took %s here, from the block of the swap to that of the payout.", took)
	}
	return nil
}

// settled waits for the operator, and says how the money got there.
func (d *devnet) settled(ctx context.Context, s swap.Swap, tx common.Hash) (*reference.Payout, error) {
	d.line("\n5. How it got there: the operator sees what the chain was told, and settles.")
	var report reference.Report
	if err := d.waiting("   ", func() (err error) {
		report, err = d.await(ctx, tx)
		return err
	}); err != nil {
		return nil, err
	}
	if report.Err != nil {
		return nil, report.Err
	}
	p := report.Payout
	if p.Delivery != nil {
		d.line("   The issuer attests the burn and takes %s, which the service pays.",
			swap.Money(p.Delivery.Fee, s.SrcToken))
		d.line("   The receiver on %s checks the attestation, mints the rest and reads the hook.",
			name(d.chains.Deployment.Settlement.ChainID))
	}
	d.line("   The pool %s on %s pays the fees and the rest.", p.Pool, name(p.Network))
	switch {
	case p.Mint != nil:
		d.line("   It burns the rest in the same transaction, and the issuer mints it on %s.", name(p.DstChain))
	case p.RecipientType != 0:
		d.line("   The rest is shielded, in a note that only the recipient can open.")
	}
	return p, nil
}

// paid shows what everyone got, and wants it to be what the quote said.
func (d *devnet) paid(ctx context.Context, p *reference.Payout, q *swap.Checked) error {
	d.line("\n6. The money.")
	fees := q.Swap.DstToken // the token of the fees
	last := p.Receipt       // where the recipient is paid
	if p.Mint != nil {
		usdc, _ := chain.FindToken(p.Network, chain.USDC)
		fees = *usdc
		last = p.Mint
	}
	if q.Swap.Dst.Private() {
		if err := d.opened(p, q); err != nil {
			return err
		}
	} else {
		recipient := common.HexToAddress(q.Swap.Recipient)
		if err := d.got(ctx, "recipient", q.Swap.DstToken, recipient, last, q.Dest); err != nil {
			return err
		}
	}
	if err := d.got(ctx, "treasury", fees, reference.Treasury, p.Receipt, q.Protocol); err != nil {
		return err
	}
	return d.got(ctx, "integrator", fees, reference.Integrator.Wallet, p.Receipt, q.Integrator)
}

// got wants somebody to have got so much.
func (d *devnet) got(
	ctx context.Context, whose string, token chain.Token, holder common.Address, receipt *types.Receipt, want *big.Int,
) error {
	got, err := d.chains.Change(ctx, token, holder, receipt)
	if err != nil {
		return err
	}
	if got.Cmp(want) != 0 {
		return fmt.Errorf("the %s got %s, and the quote said %s",
			whose, swap.Money(got, token), swap.Money(want, token))
	}
	d.line("   %-10s  got %s on %s, as the quote said", whose, swap.Money(got, token), name(token.ChainID))
	return nil
}

// opened wants the recipient to be able to open and spend the note.
func (d *devnet) opened(p *reference.Payout, q *swap.Checked) error {
	note, err := reference.FindShielded(p.Receipt)
	if err != nil {
		return err
	}
	owner, err := railgun.ParseAddress(q.Swap.Recipient)
	if err != nil {
		return err
	}
	random, err := railgun.Open(reference.PrivateViewingKey, note.Note)
	if err != nil {
		return err
	}
	gross := new(big.Int).Add(note.Value, note.Fee)
	if owner.NPK(random) != note.NPK || note.Value.Cmp(q.Arrives) != 0 || gross.Cmp(q.Dest) != 0 {
		return errors.New("the note is not the one that the quote said")
	}
	token := q.Swap.DstToken
	d.line("   recipient   opens a note of %s on %s, which is %s as the quote said less RAILGUN's own fee of %s",
		swap.Money(note.Value, token), name(q.Swap.Dst), swap.Money(q.Dest, token), swap.Money(note.Fee, token))
	return nil
}

// name is what people call a chain.
func name(id chain.ID) string {
	network, _ := chain.FindNetwork(id)
	if id.Private() {
		return "the privacy pool on " + network.Name
	}
	return network.Name
}
