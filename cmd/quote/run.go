package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/gofrs/flock"

	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
	"github.com/quotegate/quotegate/v3/client/send"
)

// run asks, checks, prints and, if it should, executes.
func run(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	known := swap.Knowledge{Deployment: o.deployment, ViewingKey: o.viewingKey}
	checked, err := swap.Ask(ctx, o.gateway, o.swap, known)
	if err != nil {
		return err
	}
	sends := o.execute && !o.swap.Src.Private()
	problem := o.problem(checked)
	switch {
	case o.json && sends: // one object, when all is done
		showUnchecked(stderr, checked)
	case o.json:
		if err := o.printQuote(stdout, checked.Quote, problem); err != nil {
			return err
		}
		showUnchecked(stderr, checked)
	default:
		show(stdout, checked, o.deployment.Name)
		showSimulation(stdout, o, checked.Quote.Details)
		if o.swap.Src.Private() {
			offer(checked, stdout)
		}
	}
	if sends {
		return executeAndTell(ctx, o, checked, stdout, stderr)
	}
	return problem
}

// problem is why a checked quote is not what was asked for all the same.
func (o *options) problem(q *swap.Checked) error {
	switch {
	case o.execute && o.swap.Src.Private():
		return errPrivate
	case q.OwnNote && !o.execute:
		return errNote
	}
	return nil
}

func (o *options) printQuote(w io.Writer, q *client.Quote, problem error) error {
	if problem == nil {
		return o.print(w, q)
	}
	f, _ := describe(problem)
	return o.print(w, result{Quote: q, failure: f})
}

// A result is a quote and what came of it, for a program to read.
type result struct {
	Quote        *client.Quote     `json:"quote"`
	Transactions []sentTransaction `json:"transactions,omitzero"` // in the order in which they were given to the node
	Status       json.RawMessage   `json:"status,omitempty"`
	*failure                       // nil if there is none
}

type sentTransaction struct {
	What string      `json:"what"` // reset of the allowance, approval or swap
	Hash common.Hash `json:"hash"`
}

// executeAndTell prints what came of it as one JSON object, also if it failed: what was sent has to be known.
func executeAndTell(ctx context.Context, o *options, checked *swap.Checked, stdout, stderr io.Writer) error {
	r := &result{Quote: checked.Quote, Transactions: []sentTransaction{}}
	err := execute(ctx, o, checked, r, stderr)
	if !o.json {
		return err
	}
	if err != nil {
		r.failure, _ = describe(err)
	}
	if failed := o.print(stdout, r); err == nil {
		return failed
	}
	return err
}

// offer gives the bytes of an unshielding swap to somebody who wraps them.
func offer(q *swap.Checked, stdout io.Writer) {
	fmt.Fprintln(stdout, "\nA RAILGUN wallet must wrap this in its private transaction. "+
		"Sent from a public account, it is an ordinary swap at another fee and without privacy:")
	for _, t := range []*client.Call{q.Approval, &q.Main} {
		fmt.Fprintf(stdout, "  to     %s\n  data   0x%x\n  value  %s\n", t.To, t.Data, t.Value)
	}
}

// errPrivate is about a swap that only a RAILGUN wallet can send.
var errPrivate = errors.New("not sent: -execute signs for a public account, and this swap starts in a privacy pool; " +
	"give the bytes to a RAILGUN wallet")

// showSimulation prints what the gateway says that the transactions would do.
func showSimulation(w io.Writer, o *options, d *client.Details) {
	if d == nil || o.swap.Sender == (common.Address{}) {
		return
	}
	s := d.Simulation
	if s == nil {
		fmt.Fprintf(w, "\nNot simulated: %s.\n", d.SimulationReason)
		return
	}
	fmt.Fprintf(w, "\nThe gateway has tried the transactions of %s on the state of block %d:\n",
		o.swap.Sender, s.BlockNumber)
	for i, c := range s.Calls {
		result := c.Status
		if c.Error != "" {
			result += ": " + c.Error
		}
		fmt.Fprintf(w, "  %d. %s, %d gas\n", i+1, result, c.GasUsed)
	}
	switch {
	case s.Event == nil:
		fmt.Fprintln(w, "  The node could not show whether the contract would do this swap.")
	case *s.Event:
		fmt.Fprintln(w, "  The contract would tell of this very swap.")
	default:
		fmt.Fprintln(w, "  The contract would not tell of this swap.")
	}
	has, needs := s.Native.Actual.Int(), s.Native.Needed.Int()
	if has != nil && needs != nil {
		fmt.Fprintf(w, "  Value and gas: %s; the account has %s.\n",
			swap.FormatCoins(needs, o.swap.Src), swap.FormatCoins(has, o.swap.Src))
	}
}

// patience waits for a gateway as long as a person would.
var patience = client.WithTimeout(30 * time.Second)

// errNote is about an answer that somebody may sign elsewhere.
var errNote = coded{
	errors.New("the note in the answer is not checked, so do not sign the answer as it is: " +
		"set QUOTE_VIEWING_KEY to have it opened, or use -execute, which signs a note of its own"),
	noteCode, exitRefused,
}

// execute signs and sends, and tells of it on the side.
func execute(ctx context.Context, o *options, checked *swap.Checked, r *result, stderr io.Writer) error {
	connection, err := ethclient.DialContext(ctx, o.rpc)
	if err != nil {
		return coded{fmt.Errorf("-rpc: %w", err), send.NodeUnavailable, exitLater}
	}
	defer connection.Close()
	fmt.Fprintf(stderr, "Executing as %s on %s, with gas of at most %s for each transaction:\n",
		crypto.PubkeyToAddress(o.key.PublicKey), name(o.swap.Src), swap.FormatCoins(o.maxFee, o.swap.Src))
	if checked.OwnNote {
		fmt.Fprintf(stderr, "  The note was made here for %s; the one in the answer is not used.\n", o.swap.Recipient)
	}
	receipt, err := sendOnce(ctx, o, checked, connection, r, stderr)
	var failed *send.Error
	if errors.As(err, &failed) && failed.Code == send.Unknown {
		return unclear(ctx, o, checked, r, err, stderr)
	}
	if err != nil {
		return err
	}
	arrives := swap.Money(checked.Arrives, o.swap.DstToken)
	if o.swap.Dst.Private() {
		less := swap.LessRailgun(checked.Dest, o.swap.DstToken, checked.Railgun.ShieldBPS)
		fmt.Fprintf(stderr, "Sent. %s will arrive in %s: %s. %s\n", arrives, name(o.swap.Dst), less, swap.RailgunWait)
	} else {
		fmt.Fprintf(stderr, "Sent. %s will arrive on %s.\n", arrives, name(o.swap.Dst))
	}
	if o.wait == 0 {
		fmt.Fprintf(stderr, "To follow it: %s\n", o.askAgain(o.swap.Src, receipt.TxHash))
		return nil
	}
	return followSent(ctx, o, checked, receipt.TxHash, r, stderr)
}

// sendOnce sends the swap while no other command sends for the account.
func sendOnce(
	ctx context.Context, o *options, checked *swap.Checked, node send.Backend, r *result, stderr io.Writer,
) (*types.Receipt, error) {
	progress := func(what string) { fmt.Fprintf(stderr, "  %s\n", what) }
	sender := send.Sender{Backend: node, Account: send.Key(o.key), MaxGas: o.maxFee, Progress: progress}
	w, err := send.New(checked.Checked)
	if err != nil {
		return nil, err
	}
	release, err := lockAccount(ctx, sender.Account.Address(), w.ChainID)
	if err != nil {
		return nil, err
	}
	defer release()
	receipt, err := sender.Send(ctx, w)
	for _, step := range w.Steps {
		r.Transactions = append(r.Transactions, sentTransaction{step.What, step.Hash})
	}
	return receipt, err
}

// lockAccount waits until no other command sends for the account. The lock is a file in the user's cache directory,
// and ends with the process.
func lockAccount(ctx context.Context, account common.Address, chainID uint64) (release func(), err error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	dir = filepath.Join(dir, "quotegate")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	file := flock.New(filepath.Join(dir, fmt.Sprintf("%d-%s.lock", chainID, account)))
	if _, err := file.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return nil, coded{fmt.Errorf("another command sends for %s: %w", account, err), send.Busy, exitLater}
	}
	return func() { _ = file.Close() }, nil
}

// unclear goes on after the node took the swap, perhaps, and failed. The swap is not sent again; its fate can be
// asked for.
func unclear(ctx context.Context, o *options, checked *swap.Checked, r *result, err error, stderr io.Writer) error {
	tx := r.Transactions[len(r.Transactions)-1].Hash
	if o.wait == 0 {
		return o.unknown(o.swap.Src, tx, err)
	}
	fmt.Fprintf(stderr, "%v\nIt may have been sent, so do not send it again. The gateway can tell:\n", err)
	return followSent(ctx, o, checked, tx, r, stderr)
}

// show prints a quote for a person.
func show(w io.Writer, q *swap.Checked, deployment string) {
	s := q.Swap
	fmt.Fprintf(w, "%s on %s to %s on %s\n\n",
		swap.Money(s.Amount, s.SrcToken), name(s.Src), s.DstToken.Symbol, name(s.Dst))
	showAmounts(w, q)
	fmt.Fprintln(w)
	showCalls(w, q)
	fmt.Fprintf(w, "\nChecked: the contract is the listed one and that of deployment %q.\n", deployment)
	showChecks(w, q)
	showUnchecked(w, q)
}

// liner prints lines with a word in front.
func liner(w io.Writer) func(what, format string, args ...any) {
	return func(what, format string, args ...any) {
		fmt.Fprintf(w, "  %-15s %s\n", what, fmt.Sprintf(format, args...))
	}
}

// showAmounts says what arrives, and who takes what.
func showAmounts(w io.Writer, q *swap.Checked) {
	s := q.Swap
	line := liner(w)
	if s.Src.Private() {
		line("unshield", "%s", q.ToUnshield())
	}
	if s.Dst.Private() {
		less := swap.LessRailgun(q.Dest, s.DstToken, q.Railgun.ShieldBPS)
		line("arrives", "%s in the pool: %s, for %s", swap.Money(q.Arrives, s.DstToken), less, s.Recipient)
		line("", swap.RailgunWait)
	} else {
		line("arrives", "%s, for %s", swap.Money(q.Arrives, s.DstToken), s.Recipient)
	}
	line("protocol fee", "%s", swap.Money(q.Protocol, s.DstToken))
	if s.Integrator != (common.Address{}) {
		line("integrator fee", "%s, for %s", swap.Money(q.Integrator, s.DstToken), s.Integrator)
	}
	if q.MaxFee != nil {
		line("issuer's fee", "up to %s, which the service pays", swap.Money(q.MaxFee, s.SrcToken))
	}
}

// showCalls says what is to be signed.
func showCalls(w io.Writer, q *swap.Checked) {
	s := q.Swap
	line := liner(w)
	if q.Approval != nil {
		line("approve", "%s for %s, unless it is allowed already", swap.Money(s.Amount, s.SrcToken), q.Main.To)
	}
	what := "a pool's swap"
	if s.Route == chain.CCTPInbound {
		what = "the issuer's burn"
	}
	value := "no value"
	if q.Main.Value.Sign() > 0 {
		value = swap.Money(q.Main.Value, s.SrcToken)
	}
	line("send", "%s, %d bytes, to %s with %s", what, len(q.Main.Data), q.Main.To, value)
}

// showChecks says what was worked out again, opened or held within bounds.
func showChecks(w io.Writer, q *swap.Checked) {
	s := q.Swap
	calldata := "calldata"
	fees := "fees and amounts"
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
}

func showUnchecked(w io.Writer, q *swap.Checked) {
	for _, what := range q.Unchecked {
		fmt.Fprintf(w, "Not checked: %s.\n", what)
	}
}
