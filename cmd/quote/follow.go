package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"regexp"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

var errTimeUp = errors.New("the time is up")

// follow tells of a transaction until it has come to an end or the time is up.
func (o *options) follow(
	ctx context.Context, src chain.ID, tx common.Hash, q *client.Checked, stderr io.Writer,
) (*client.Status, error) {
	limit := time.Duration(o.wait)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeUp)
	defer cancel()
	fmt.Fprintf(stderr, "Following %s on %s, for %s at most:\n", tx, name(src.Network()), limit)
	sent := client.Sent{SrcChain: uint64(src), Hash: tx, Quote: q}
	status, err := swap.Follow(ctx, o.gateway, sent, func(what string) { fmt.Fprintf(stderr, "  %s\n", what) })
	if err != nil {
		return nil, o.unknown(src, tx, err)
	}
	return status, nil
}

// unknown says of a swap that may still arrive what to do.
func (o *options) unknown(src chain.ID, tx common.Hash, err error) error {
	var refusal *client.Error
	refused := errors.As(err, &refusal)
	if refused && (refusal.Status == http.StatusNotImplemented || refusal.Status == http.StatusNotFound) {
		return fmt.Errorf("%w\nThis gateway cannot follow swaps. That says nothing about this one: "+
			"see transaction %s on %s, and the balance of its recipient", err, tx, name(src.Network()))
	}
	return fmt.Errorf("%w\nThat does not mean that the money is lost: it may arrive at any time, "+
		"so do not send it again. Ask again with:\n  %s", err, o.askAgain(src, tx))
}

// askAgain is how to ask about a transaction later.
func (o *options) askAgain(src chain.ID, tx common.Hash) string {
	return fmt.Sprintf("quote -gateway %s -status %s -from %s -wait", o.url, tx, src.Network())
}

// followSent follows a swap that was sent just now.
func followSent(ctx context.Context, o *options, q *swap.Checked, tx common.Hash, r *result, stderr io.Writer) error {
	status, err := o.follow(ctx, o.swap.Src, tx, q.Checked, stderr)
	if err != nil {
		return err
	}
	r.Status = status.Raw
	switch status.State {
	case client.Failed:
		failed := errors.New("the swap failed, though the node of -rpc said that it had not: " +
			"compare the two before you send it again")
		return coded{failed, status.State, exitRefused}
	case client.NotASwap:
		return o.unknown(o.swap.Src, tx, fmt.Errorf("%w: the gateway sees no swap in the transaction", swap.ErrUnknown))
	}
	if short := status.Short(q.Checked); short != nil {
		fmt.Fprintf(stderr, "Less was paid out than the quote said: %s instead of %s.\n",
			swap.Money(new(big.Int).Sub(q.Dest, short), o.swap.DstToken), swap.Money(q.Dest, o.swap.DstToken))
		return nil
	}
	fmt.Fprintf(stderr, "Settled: %s on %s, says the gateway.\n",
		swap.Money(q.Arrives, o.swap.DstToken), name(o.swap.Dst))
	return nil
}

// tellStatus asks about a transaction, once or until it has come to an end, and prints the answer.
func tellStatus(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	var status *client.Status
	var err error
	if o.wait != 0 {
		status, err = o.follow(ctx, o.src, *o.status, nil, stderr)
	} else {
		status, err = o.askOnce(ctx)
	}
	if err != nil {
		return err
	}
	if o.json {
		err = o.print(stdout, status.Raw)
	} else {
		showStatus(stdout, status)
	}
	switch status.State {
	case client.Settled:
		return err
	case client.Failed, client.NotASwap:
		return fmt.Errorf("the transaction swapped nothing (%s)", status.State)
	}
	return fmt.Errorf("%w yet: it is %s", swap.ErrUnknown, status.State)
}

// askOnce asks about the transaction that was named.
func (o *options) askOnce(ctx context.Context) (*client.Status, error) {
	status, err := o.gateway.Status(ctx, client.Sent{SrcChain: uint64(o.src), Hash: *o.status})
	if err != nil {
		return nil, o.unknown(o.src, *o.status, fmt.Errorf("%w: %w", swap.ErrUnknown, err))
	}
	return status, nil
}

// showStatus prints what a gateway says of a transaction.
func showStatus(w io.Writer, s *client.Status) {
	fmt.Fprintln(w, s)
	if n := len(s.Swaps); n > 1 {
		fmt.Fprintf(w, "  The transaction has %d swaps: this is the state of the one that is least far. "+
			"-json shows all; the first is:\n", n)
	}
	if s.Swap == nil {
		return
	}
	dst, err := chain.ParseID(s.Swap.DstChain)
	if err != nil {
		return
	}
	token, err := chain.FindToken(dst, s.Swap.DstToken)
	if err != nil {
		return
	}
	what := token.Symbol
	if s.Settlement != nil {
		if amount := s.Settlement.Amount.Int(); amount != nil {
			what = swap.Money(amount, *token)
		}
	}
	fmt.Fprintf(w, "  %s on %s for %s\n", what, name(dst), recipientText(s.Swap.Recipient))
}

var recipients = regexp.MustCompile("^0x[0-9a-fA-F]{1,128}$")

// recipientText is a recipient as it can be copied. Whatever else a gateway says is quoted.
func recipientText(text string) string {
	if recipients.MatchString(text) {
		return text
	}
	return fmt.Sprintf("%.100q", text)
}
