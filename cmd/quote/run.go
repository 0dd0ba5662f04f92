package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/gofrs/flock"

	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
	"github.com/quotegate/quotegate/v3/client/send"
)

// quote asks, checks, prints and, if it should, executes.
func (o *options) quote(ctx context.Context) (any, error) {
	q, err := swap.Ask(ctx, o.gateway, o.swap, o.viewingKey)
	if err != nil {
		return nil, err
	}
	for _, what := range q.Warnings {
		o.say("Warning: %s.", what)
	}
	if o.json {
		o.say("Not checked:")
		for _, what := range q.Unchecked {
			o.sayIndented("- " + what)
		}
	} else if err := o.show(q); err != nil {
		return nil, err
	}
	r := &result{Quote: q.Quote}
	switch {
	case o.execute && o.swap.Src.Private():
		return r, errors.New("not sent: -execute signs for a public account, and this swap starts in a privacy pool; " +
			"give the bytes to a RAILGUN wallet")
	case o.execute:
		return r, o.sendAndFollow(ctx, q, r)
	case q.OwnNote: // somebody may sign the answer elsewhere
		err := errors.New("the note in the answer is not checked, so do not sign the answer as it is: " +
			"set QUOTE_VIEWING_KEY to have it opened, or use -execute, which signs a note of its own")
		return r, coded{err, noteCode, exitRefused}
	}
	return q.Quote, nil
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

// sendAndFollow signs and sends, and tells of it on the side. A swap that the node may have taken before it failed is
// not sent again; the gateway can tell what became of it.
func (o *options) sendAndFollow(ctx context.Context, q *swap.Checked, r *result) error {
	w, err := o.send(ctx, q)
	r.Transactions = []sentTransaction{}
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
		o.maxFee, _ = send.MaxGas(w.ChainID)
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

// follow tells of a transaction until it has come to an end or the time is up.
func (o *options) follow(ctx context.Context, sent client.Sent) (*client.Status, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.wait, errors.New("the time is up"))
	defer cancel()
	o.say("Following %s on %s, for %s at most:", sent.Hash, name(source(sent)), o.wait)
	status, err := swap.Follow(ctx, o.gateway, sent, o.sayIndented)
	if err != nil {
		return nil, o.unknown(sent, err)
	}
	return status, nil
}

// source is the network of a transaction.
func source(sent client.Sent) chain.ID { return chain.ID(sent.SrcChain).Network() }

// unknown says of a swap that may still arrive what to do. Not every gateway can follow swaps.
func (o *options) unknown(sent client.Sent, err error) error {
	return fmt.Errorf("%w\nThat does not mean that the money is lost: it may arrive at any time, so do not send it "+
		"again. See transaction %s on %s and the balance of its recipient, or ask again with:\n  %s",
		err, sent.Hash, name(source(sent)), o.askAgain(sent))
}

// askAgain is how to ask about a transaction later.
func (o *options) askAgain(sent client.Sent) string {
	return fmt.Sprintf("quote status -gateway %s -chain %s %s -wait", o.url, source(sent), sent.Hash)
}

// followSent follows a swap that was sent just now.
func (o *options) followSent(ctx context.Context, sent client.Sent, r *result) error {
	status, err := o.follow(ctx, sent)
	if err != nil {
		return err
	}
	r.Status = status.Raw
	if status.State == client.NotASwap { // it was one
		return o.unknown(sent, fmt.Errorf("%w: the gateway sees no swap in the transaction", swap.ErrUnknown))
	}
	if err := outcome(status); err != nil {
		return err
	}
	token := o.swap.DstToken
	if short := status.Short(sent.Quote); short != nil {
		o.say("Less was paid out than the quote said: %s instead of %s.",
			swap.Money(new(big.Int).Sub(sent.Quote.Dest, short), token), swap.Money(sent.Quote.Dest, token))
		return nil
	}
	o.say("Settled: %s on %s, says the gateway.", swap.Money(sent.Quote.Arrives, token), name(o.swap.Dst))
	return nil
}

// outcome is nil for a swap that is settled, and the error of every other status.
func outcome(s *client.Status) error {
	switch s.State {
	case client.Settled:
		return nil
	case client.Failed, client.NotASwap:
		nothing := fmt.Errorf("the transaction swapped nothing (%s), says the gateway: "+
			"before you send it again, make sure that your node says so too", s.State)
		return coded{nothing, s.State, exitRefused}
	}
	return fmt.Errorf("%w yet: it is %s", swap.ErrUnknown, s.State)
}

// tellStatus asks about a transaction, once or until it has come to an end, and prints the answer.
func (o *options) tellStatus(ctx context.Context) (any, error) {
	var status *client.Status
	var err error
	if o.wait != 0 {
		status, err = o.follow(ctx, o.sent)
	} else if status, err = o.gateway.Status(ctx, o.sent); err != nil {
		err = o.unknown(o.sent, fmt.Errorf("%w: %w", swap.ErrUnknown, err))
	}
	if err != nil {
		return nil, err
	}
	if !o.json {
		showStatus(o.stdout, status)
	}
	return status.Raw, outcome(status)
}
