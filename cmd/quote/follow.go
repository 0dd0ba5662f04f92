package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

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
	return fmt.Sprintf("quote -gateway %s -status %s -from %s -wait", o.url, sent.Hash, source(sent))
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
func (o *options) tellStatus(ctx context.Context) (err error) {
	var status *client.Status
	if o.wait != 0 {
		status, err = o.follow(ctx, o.sent)
	} else if status, err = o.gateway.Status(ctx, o.sent); err != nil {
		err = o.unknown(o.sent, fmt.Errorf("%w: %w", swap.ErrUnknown, err))
	}
	if err != nil {
		return err
	}
	if !o.json {
		showStatus(o.stdout, status)
	} else if err := o.print(status.Raw); err != nil {
		return err
	}
	return outcome(status)
}
