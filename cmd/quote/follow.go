package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/internal/wallet"
	"github.com/quotegate/quotegate/shared/chain"
)

var errTimeUp = errors.New("the time is up")

// follow tells of a transaction until it has come to an end or the time is up.
func (o *options) follow(ctx context.Context, src chain.ID, tx common.Hash, q *wallet.Checked, stderr io.Writer) (*wallet.Status, error) {
	limit := time.Duration(o.wait)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeUp)
	defer cancel()
	fmt.Fprintf(stderr, "Following %s on %s, for %s at most:\n", tx, name(src.Network()), limit)
	follower := wallet.Follower{Gateway: o.gateway, Progress: func(what string) { fmt.Fprintf(stderr, "  %s\n", what) }}
	status, err := follower.Follow(ctx, src, tx, q)
	if err != nil {
		return nil, o.unknown(src, tx, err)
	}
	return status, nil
}

// unknown says of a swap that may still arrive what to do.
func (o *options) unknown(src chain.ID, tx common.Hash, err error) error {
	var refusal *wallet.Refusal
	unavailable := errors.As(err, &refusal) && (refusal.Status == http.StatusNotImplemented || refusal.Status == http.StatusNotFound)
	if unavailable {
		return fmt.Errorf("%w\nThis gateway cannot follow swaps. That says nothing about this one: see transaction %s on %s, and the balance of its recipient",
			err, tx, name(src.Network()))
	}
	return fmt.Errorf("%w\nThat does not mean that the money is lost: it may arrive at any time, so do not send it again. Ask again with:\n  %s",
		err, o.askAgain(src, tx))
}

// askAgain is how to ask about a transaction later.
func (o *options) askAgain(src chain.ID, tx common.Hash) string {
	return fmt.Sprintf("quote -gateway %s -status %s -from %s -wait", o.gateway.URL, tx, src.Network())
}

// followSent follows a swap that was sent just now.
func followSent(ctx context.Context, o *options, q *wallet.Checked, tx common.Hash, stderr io.Writer) error {
	status, err := o.follow(ctx, o.swap.Src, tx, q, stderr)
	if err != nil {
		return err
	}
	switch status.State {
	case wallet.Failed:
		return errors.New("the swap failed, though the node of -rpc said that it had not: compare the two before you send it again")
	case wallet.NotASwap:
		return o.unknown(o.swap.Src, tx, fmt.Errorf("%w: the gateway sees no swap in the transaction", wallet.ErrUnknown))
	}
	if short := status.Short(q); short != nil {
		fmt.Fprintf(stderr, "Less was paid out than the quote said: %s instead of %s.\n",
			wallet.Money(new(big.Int).Sub(q.Dest, short), o.swap.DstToken), wallet.Money(q.Dest, o.swap.DstToken))
		return nil
	}
	fmt.Fprintf(stderr, "Settled: %s on %s, says the gateway.\n", wallet.Money(q.Arrives, o.swap.DstToken), name(o.swap.Dst))
	return nil
}

// tellStatus asks about a transaction, once or until it has come to an end, and prints the answer.
func tellStatus(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	o.gateway.HTTP = newClient()
	var status *wallet.Status
	var err error
	if o.wait != 0 {
		status, err = o.follow(ctx, o.src, *o.status, nil, stderr)
	} else if status, err = o.gateway.Status(ctx, o.src, *o.status); err != nil {
		err = o.unknown(o.src, *o.status, fmt.Errorf("%w: %w", wallet.ErrUnknown, err))
	}
	if err != nil {
		return err
	}
	if o.json {
		fmt.Fprintf(stdout, "%s\n", status.Raw)
	} else {
		showStatus(stdout, status)
	}
	switch status.State {
	case wallet.Settled:
		return nil
	case wallet.Failed, wallet.NotASwap:
		return fmt.Errorf("the transaction swapped nothing (%s)", status.State)
	}
	return fmt.Errorf("%w yet: it is %s", wallet.ErrUnknown, status.State)
}

// showStatus prints what a gateway says of a transaction.
func showStatus(w io.Writer, s *wallet.Status) {
	fmt.Fprintln(w, s)
	if n := len(s.Swaps); n > 1 {
		fmt.Fprintf(w, "  The transaction has %d swaps: this is the state of the one that is least far. -json shows all; the first is:\n", n)
	}
	if s.Swap == nil {
		return
	}
	dst, err := chain.ParseID(string(s.Swap.DstChain))
	if err != nil {
		return
	}
	token, err := chain.FindToken(dst, s.Swap.DstToken)
	if err != nil {
		return
	}
	what := token.Symbol
	if s.Settlement != nil {
		if amount, ok := new(big.Int).SetString(string(s.Settlement.Amount), 10); ok {
			what = wallet.Money(amount, *token)
		}
	}
	fmt.Fprintf(w, "  %s on %s for %.100q\n", what, name(dst), s.Swap.Recipient)
}
