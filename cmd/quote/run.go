package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/quotegate/quotegate/cmd/internal/wallet"
	"github.com/quotegate/quotegate/shared/chain"
)

// run asks, checks, prints and, if it should, executes.
func run(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	o.gateway.HTTP = newClient()
	listing, err := o.gateway.Listing(ctx)
	if err != nil {
		return err
	}
	if err := o.swap.CheckRecipient(o.deployment, listing); err != nil {
		return err
	}
	quote, err := o.gateway.Quote(ctx, o.version, o.swap)
	if err != nil {
		return err
	}
	if o.json {
		fmt.Fprintf(stdout, "%s\n", quote.Raw)
	}
	checked, err := wallet.Check(o.swap, quote, wallet.Knowledge{Deployment: o.deployment, Listing: listing, ViewingKey: o.viewingKey})
	if err != nil {
		return fmt.Errorf("do not sign this quote:\n%w", err)
	}
	if o.json {
		showUnchecked(stderr, checked)
	} else {
		show(stdout, checked, o.deployment.Name)
	}
	switch {
	case o.execute:
		return execute(ctx, o, checked, stderr)
	case checked.OwnNote:
		return errNote
	}
	return nil
}

// newClient waits for a gateway as long as a person would.
func newClient() *http.Client { return &http.Client{Timeout: 30 * time.Second} }

// errNote is about an answer that somebody may sign elsewhere.
var errNote = errors.New("the note in the answer is not checked, so do not sign the answer as it is: " +
	"set QUOTE_VIEWING_KEY to have it opened, or use -execute, which signs a note of its own")

// execute signs and sends, and tells of it on the side.
func execute(ctx context.Context, o *options, checked *wallet.Checked, stderr io.Writer) error {
	client, err := ethclient.DialContext(ctx, o.rpc)
	if err != nil {
		return fmt.Errorf("-rpc: %w", err)
	}
	defer client.Close()
	fmt.Fprintf(stderr, "Executing as %s on %s, with gas of at most %s for each transaction:\n",
		crypto.PubkeyToAddress(o.key.PublicKey), name(o.swap.Src), wallet.FormatCoins(o.maxFee, o.swap.Src))
	if checked.OwnNote {
		fmt.Fprintf(stderr, "  The note was made here for %s; the one in the answer is not used.\n", o.swap.Recipient)
	}
	sender := wallet.Sender{Node: client, Key: o.key, MaxGas: o.maxFee, Progress: func(what string) { fmt.Fprintf(stderr, "  %s\n", what) }}
	receipt, err := sender.Execute(ctx, checked)
	if err != nil {
		return err
	}
	arrives := wallet.Money(checked.Arrives, o.swap.DstToken)
	if o.swap.Dst.Private() {
		fmt.Fprintf(stderr, "Sent. %s will arrive in %s: %s. %s\n", arrives, name(o.swap.Dst), wallet.LessRailgun(checked.Dest, o.swap.DstToken, checked.Railgun.ShieldBPS), wallet.RailgunWait)
	} else {
		fmt.Fprintf(stderr, "Sent. %s will arrive on %s.\n", arrives, name(o.swap.Dst))
	}
	if o.wait == 0 {
		fmt.Fprintf(stderr, "To follow it: %s\n", o.askAgain(o.swap.Src, receipt.TxHash))
		return nil
	}
	return followSent(ctx, o, checked, receipt.TxHash, stderr)
}

// show prints a quote for a person.
func show(w io.Writer, q *wallet.Checked, deployment string) {
	s := q.Swap
	line := func(what, format string, args ...any) {
		fmt.Fprintf(w, "  %-15s %s\n", what, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(w, "%s on %s to %s on %s\n\n", wallet.Money(s.Amount, s.SrcToken), name(s.Src), s.DstToken.Symbol, name(s.Dst))
	if s.Src.Private() {
		line("unshield", "%s", q.ToUnshield())
	}
	if s.Dst.Private() {
		line("arrives", "%s in the pool: %s, for %s", wallet.Money(q.Arrives, s.DstToken), wallet.LessRailgun(q.Dest, s.DstToken, q.Railgun.ShieldBPS), s.Recipient)
		line("", wallet.RailgunWait)
	} else {
		line("arrives", "%s, for %s", wallet.Money(q.Arrives, s.DstToken), s.Recipient)
	}
	line("protocol fee", "%s", wallet.Money(q.Protocol, s.DstToken))
	if s.Integrator != (common.Address{}) {
		line("integrator fee", "%s, for %s", wallet.Money(q.Integrator, s.DstToken), s.Integrator)
	}
	if q.MaxFee != nil {
		line("issuer's fee", "up to %s, which the service pays", wallet.Money(q.MaxFee, s.SrcToken))
	}
	fmt.Fprintln(w)
	if q.Approval != nil {
		line("approve", "%s for %s, unless it is allowed already", wallet.Money(s.Amount, s.SrcToken), q.Main.To)
	}
	what := "a pool's swap"
	if s.Route == chain.CCTPInbound {
		what = "the issuer's burn"
	}
	value := "no value"
	if q.Main.Value.Sign() > 0 {
		value = wallet.Money(q.Main.Value, s.SrcToken)
	}
	line("send", "%s, %d bytes, to %s with %s", what, len(q.Main.Data), q.Main.To, value)
	fmt.Fprintf(w, "\nChecked: the contract is the listed one and that of deployment %q.\n", deployment)
	calldata, fees := "calldata", "fees and amounts"
	if s.Dst.Private() {
		calldata = "calldata except its note"
	}
	if q.MaxFee != nil {
		calldata = "calldata except maxFee"
	}
	if s.Integrator != (common.Address{}) {
		fees = "the protocol fee"
	}
	fmt.Fprintf(w, "Worked out again and the same: %s, approval, value, limits, %s.\n", calldata, fees)
	if s.Dst.Private() && !q.OwnNote {
		fmt.Fprintln(w, "Opened with the viewing key: the note. The recipient can spend it.")
	}
	if q.MaxFee != nil {
		fmt.Fprintln(w, "Within its bound of 1.2 % of the amount: maxFee, the most the issuer may take.")
	}
	showUnchecked(w, q)
}

func showUnchecked(w io.Writer, q *wallet.Checked) {
	for _, what := range q.Unchecked {
		fmt.Fprintf(w, "Not checked: %s.\n", what)
	}
}
