package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/gofrs/flock"

	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/v3/client"
	"github.com/quotegate/quotegate/v3/client/send"
)

// errPrivate is about a swap that only a RAILGUN wallet can send.
var errPrivate = errors.New("not sent: -execute signs for a public account, and this swap starts in a privacy pool; " +
	"give the bytes to a RAILGUN wallet")

// errNote is about an answer that somebody may sign elsewhere.
var errNote = coded{
	errors.New("the note in the answer is not checked, so do not sign the answer as it is: " +
		"set QUOTE_VIEWING_KEY to have it opened, or use -execute, which signs a note of its own"),
	noteCode, exitRefused,
}

// quote asks, checks, prints and, if it should, executes.
func (o *options) quote(ctx context.Context) error {
	q, err := swap.Ask(ctx, o.gateway, o.swap, o.viewingKey)
	if err != nil {
		return err
	}
	if o.json {
		showUnchecked(o.stderr, q)
	} else {
		o.show(q)
	}
	var problem error // why a checked quote is not what was asked for all the same
	switch {
	case o.execute && o.swap.Src.Private():
		problem = errPrivate
	case o.execute:
		return o.executeAndTell(ctx, q)
	case q.OwnNote:
		problem = errNote
	}
	if !o.json {
		return problem
	}
	if problem == nil {
		return o.print(q.Quote)
	}
	f, _ := describe(problem)
	return errors.Join(problem, o.print(result{Quote: q.Quote, failure: f}))
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
func (o *options) executeAndTell(ctx context.Context, q *swap.Checked) error {
	r := &result{Quote: q.Quote, Transactions: []sentTransaction{}}
	err := o.sendAndFollow(ctx, q, r)
	if !o.json {
		return err
	}
	if err != nil {
		r.failure, _ = describe(err)
	}
	return errors.Join(err, o.print(r))
}

// sendAndFollow signs and sends, and tells of it on the side. A swap that the node may have taken before it failed is
// not sent again; the gateway can tell what became of it.
func (o *options) sendAndFollow(ctx context.Context, q *swap.Checked, r *result) error {
	w, err := o.send(ctx, q)
	for _, step := range w.Steps {
		r.Transactions = append(r.Transactions, sentTransaction{step.What, step.Hash})
	}
	var failed *send.Error
	isUnknown := errors.As(err, &failed) && failed.Code == send.Unknown
	if err != nil && !isUnknown {
		return err
	}
	sent := client.Sent{SrcChain: uint64(o.swap.Src), Hash: w.Steps[len(w.Steps)-1].Hash, Quote: q.Checked}
	switch {
	case isUnknown && o.wait == 0:
		return o.unknown(sent, err)
	case isUnknown:
		o.say("%v\nIt may have been sent, so do not send it again. The gateway can tell:", err)
	default:
		o.say("Sent. %s will arrive on %s.", swap.Money(q.Arrives, o.swap.DstToken), name(o.swap.Dst))
	}
	if o.wait == 0 {
		o.say("To follow it: %s", o.askAgain(sent))
		return nil
	}
	return o.followSent(ctx, sent, r)
}

// send sends the swap while no other command sends for the account. It gives the swap also after an error.
func (o *options) send(ctx context.Context, q *swap.Checked) (*send.Swap, error) {
	w, err := send.New(q.Checked)
	if err != nil {
		return &send.Swap{}, err
	}
	node, err := ethclient.DialContext(ctx, o.rpc)
	if err != nil {
		return w, coded{fmt.Errorf("-rpc: %w", err), send.NodeUnavailable, exitLater}
	}
	defer node.Close()
	if o.maxFee == nil {
		o.maxFee = swap.DefaultMaxGas(o.swap.Src)
	}
	sender := send.Sender{Backend: node, Account: send.Key(o.key), MaxGas: o.maxFee, Progress: o.sayIndented}
	account := sender.Account.Address()
	o.say("Executing as %s on %s, with gas of at most %s for each transaction:",
		account, name(o.swap.Src), swap.FormatCoins(o.maxFee, o.swap.Src))
	if q.OwnNote {
		o.say("  The note was made here for %s; the one in the answer is not used.", o.swap.Recipient)
	}
	release, err := lockAccount(ctx, account, w.ChainID)
	if err != nil {
		return w, err
	}
	defer release()
	_, err = sender.Send(ctx, w)
	return w, err
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
