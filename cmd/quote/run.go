package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
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
	checked, err := wallet.Check(o.swap, quote, wallet.Knowledge{Deployment: o.deployment, Listing: listing, ViewingKey: o.viewingKey})
	if err != nil {
		return fmt.Errorf("do not sign this quote:\n%w", err)
	}
	if o.json {
		text, err := json.Marshal(quote) // the fields that were checked, and no others
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%s\n", text)
		showUnchecked(stderr, checked)
	} else {
		show(stdout, checked, o.deployment.Name)
		showSimulation(stdout, o, quote.Details)
	}
	switch {
	case o.swap.Src.Private():
		return offer(o, checked, stdout)
	case o.execute:
		return execute(ctx, o, checked, stderr)
	case checked.OwnNote:
		return errNote
	}
	return nil
}

// offer gives the bytes of an unshielding swap to somebody who wraps them, and sends nothing.
func offer(o *options, q *wallet.Checked, stdout io.Writer) error {
	if !o.json {
		fmt.Fprintln(stdout, "\nA RAILGUN wallet must wrap this in its private transaction. Sent from a public account, it is an ordinary swap at another fee and without privacy:")
		for _, t := range []*wallet.Transaction{q.Approval, &q.Main} {
			fmt.Fprintf(stdout, "  to     %s\n  data   0x%x\n  value  %s\n", t.To, t.Data, t.Value)
		}
	}
	if o.execute {
		return errors.New("not sent: -execute signs for a public account, and this swap starts in a privacy pool; give the bytes to a RAILGUN wallet")
	}
	return nil
}

// showSimulation prints what the gateway says that the transactions would do.
func showSimulation(w io.Writer, o *options, d *wallet.Details) {
	if d == nil {
		return
	}
	s := d.Simulation
	if s == nil {
		fmt.Fprintf(w, "\nNot simulated: %s.\n", d.SimulationReason)
		return
	}
	fmt.Fprintf(w, "\nThe gateway has tried the transactions of %s on the state of block %s:\n", o.swap.Sender, s.BlockNumber)
	for i, c := range s.Calls {
		result := c.Status
		if c.Error != "" {
			result += ": " + c.Error
		}
		fmt.Fprintf(w, "  %d. %s, %s gas\n", i+1, result, c.GasUsed)
	}
	switch {
	case s.Event == nil:
		fmt.Fprintln(w, "  Whether the contract would tell of this swap is not known.")
	case *s.Event:
		fmt.Fprintln(w, "  The contract would tell of this very swap.")
	default:
		fmt.Fprintln(w, "  The contract would not tell of this swap.")
	}
	has, _ := new(big.Int).SetString(string(s.Native.Actual), 10)
	needs, _ := new(big.Int).SetString(string(s.Native.Needed), 10)
	if has != nil && needs != nil {
		fmt.Fprintf(w, "  Value and gas: %s; the account has %s.\n", wallet.FormatCoins(needs, o.swap.Src), wallet.FormatCoins(has, o.swap.Src))
	}
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
