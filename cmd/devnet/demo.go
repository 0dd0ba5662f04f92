package main

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// The demonstration pays somebody who has nothing.
const demoRecipient = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

// demoSwap is the swap that the demonstration makes, with a fee for the integrator.
func demoSwap(from, to, amount string) (swap.Swap, error) {
	s, err := swap.NewSwap(from, to, amount, demoRecipient)
	if err != nil {
		return s, err
	}
	if s.Dst.Private() {
		s.Recipient = reference.PrivateRecipient
	}
	s.Integrator = reference.Integrator.Wallet
	return s, nil
}

// demonstrate takes one swap from the question to the money, and tells of each step.
func (d *devnet) demonstrate(ctx context.Context, s swap.Swap) error {
	d.line("\nA swap, from the question to the money: %s on %s to %s on %s.",
		swap.Money(s.Amount, s.SrcToken), s.Src.Name(), s.DstToken.Symbol, s.Dst.Name())
	gateway, err := swap.Dial(d.gateway.URL(), d.chains.Deployment)
	if err != nil {
		return err
	}
	q, err := d.ask(ctx, gateway, s)
	if err != nil {
		return err
	}
	d.line("\n3. Sign and send, on %s.", s.Src.Name())
	node, err := ethclient.DialContext(ctx, d.chains.Chain(s.Src).URL()) // over JSON-RPC, as a wallet does
	if err != nil {
		return err
	}
	defer node.Close()
	receipt, err := swap.Execute(ctx, node, reference.User.Key, q, d.indented)
	if err != nil {
		return err
	}
	if err := d.follow(ctx, gateway, q, receipt.TxHash); err != nil {
		return err
	}
	report, err := d.await(ctx, receipt.TxHash)
	if err != nil {
		return err
	}
	return d.paid(ctx, report.Payout, q)
}

func (d *devnet) indented(what string) { d.line("   %s", what) }

// ask gets a quote, checks it, and says who gets what.
func (d *devnet) ask(ctx context.Context, gateway *client.Client, s swap.Swap) (*swap.Checked, error) {
	address, err := gateway.QuoteURL(s.Request())
	if err != nil {
		return nil, err
	}
	d.line("\n1. Ask the gateway.\n   GET %s", address)
	q, err := swap.Ask(ctx, gateway, s, &reference.PrivateViewingKey)
	if err != nil {
		return nil, err
	}
	d.line("   It says: send the call to %s (%s), and %s arrive.", q.Quote.To, q.Quote.Route.Type, q.Quote.DestAmount)
	d.line("\n2. Check the answer, as a wallet should: contract, calldata, approval and amounts.")
	d.line("   It is what was asked for: %s for the recipient, %s for the protocol, %s for the integrator.",
		swap.Money(q.Dest, s.DstToken), swap.Money(q.Protocol, s.DstToken), swap.Money(q.Integrator, s.DstToken))
	if s.Dst.Private() {
		d.line("   After RAILGUN's fee, %s arrives in the pool. %s",
			swap.Money(q.Arrives, s.DstToken), swap.ShieldNotice)
	}
	for _, what := range q.Unchecked {
		d.line("   Not checked: %s.", what)
	}
	return q, nil
}

// follow asks the gateway what becomes of the swap until it is settled.
func (d *devnet) follow(ctx context.Context, gateway *client.Client, q *swap.Checked, tx common.Hash) error {
	d.line("\n4. Follow it.\n   GET %s", gateway.StatusURL(uint64(q.Swap.Src), tx))
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // much longer than a settlement takes here
	defer cancel()
	status, err := swap.Follow(ctx, gateway, client.Sent{Hash: tx, Quote: q.Checked}, d.indented)
	if err != nil {
		return err
	}
	if status.State != client.Settled || status.Short(q.Checked) != nil {
		return fmt.Errorf("the gateway says: %s, %s", status, status.Raw)
	}
	return nil
}

// paid shows who paid and what everyone got, and wants it to be what the quote said.
func (d *devnet) paid(ctx context.Context, p *reference.Payout, q *swap.Checked) error {
	d.line("\n5. Check the payout: the operator saw the swap on chain and paid it out.")
	d.line("   The pool %s on %s paid the fees and the rest.", p.Pool, p.Network.Name())
	last := p.Receipt
	if p.Mint != nil {
		d.line("   It burnt the rest in the same transaction, and the issuer minted it on %s.", p.DstChain.Name())
		last = p.Mint
	}
	recipient := common.HexToAddress(q.Swap.Recipient)
	if q.Swap.Dst.Private() {
		network, _ := chain.FindNetwork(q.Swap.Dst)
		recipient = network.Railgun.Proxy.Address // which holds the money of all notes
	}
	for _, part := range []struct {
		who     string
		holder  common.Address
		token   chain.Token
		receipt *types.Receipt
		want    *big.Int
	}{
		{"recipient", recipient, q.Swap.DstToken, last, q.Arrives},
		{"treasury", reference.Treasury, p.Token, p.Receipt, q.Protocol},
		{"integrator", reference.Integrator.Wallet, p.Token, p.Receipt, q.Integrator},
	} {
		change, err := d.chains.Change(ctx, part.token, part.holder, part.receipt)
		if err != nil {
			return err
		}
		got, want := swap.Money(change, part.token), swap.Money(part.want, part.token)
		if got != want {
			return fmt.Errorf("the %s got %s, and the quote said %s", part.who, got, want)
		}
		d.line("   %-10s  got %s on %s, as the quote said", part.who, got, part.token.ChainID.Name())
	}
	return nil
}
