package send

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/v3/client"
)

// verify refuses a swap that is not what was quoted, and a quote that is not what was checked or that the account
// cannot pay as far as the gateway has read.
func (s Sender) verify(ctx context.Context, w *Swap) error {
	isGiven := s.Client != nil || s.Listing != nil
	if w.Quote != nil && w.Quote.Warning != "" {
		return failure(Unverified, "not sent: the gateway itself warns of the quote: %.60q", w.Quote.Warning)
	}
	if s.Unverified && !isGiven {
		return insufficient(w.Quote)
	}
	quoted, err := New(w.Quote)
	if err != nil {
		return err
	}
	switch {
	case s.Client != nil:
		err = s.Client.Recheck(ctx, w.Quote)
	case s.Listing != nil:
		err = w.Quote.Recheck(client.Known{Listing: s.Listing})
	default:
		err = w.Quote.Client().Recheck(ctx, w.Quote)
	}
	var refusal *client.Error
	switch {
	case err == nil:
	case !errors.As(err, &refusal) || refusal.Temporary():
		return failure(NotChecked, "not sent: the quote could not be checked: %w", err)
	default:
		return failure(Unverified, "not sent: %w", err)
	}
	if !w.isSame(quoted) {
		return failure(Unverified, "not sent: the swap is not that of its quote")
	}
	return insufficient(w.Quote)
}

// isSame tells whether two swaps send the same.
func (w *Swap) isSame(other *Swap) bool {
	sent := func(w *Swap) string { return encode(w.ChainID, w.Amount, w.Approval, w.Main) }
	return sent(w) == sent(other)
}

func encode(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic(err) // numbers, addresses and bytes have a form
	}
	return string(text)
}

// insufficient refuses what the account could not pay, or what would fail, when the gateway looked.
func insufficient(q *client.Checked) error {
	switch {
	case q == nil || q.Sufficient == nil || *q.Sufficient:
		return nil
	case q.Quote.Details.Lacking():
		return failure(TooLittle, "not sent: the account had too few tokens or coins when the quote was made")
	}
	return failure(WouldFail, "not sent: the simulation of the quote has failed")
}

// needFunds refuses a swap if the account lacks the amount, the value, or any coin for gas.
func (s Sender) needFunds(ctx context.Context, w *Swap) error {
	if w.Approval != nil {
		tokens, err := s.number(ctx, w, "the balance", "0x70a08231", w.From) // balanceOf(address)
		if err != nil {
			return err
		}
		if tokens.Cmp(w.Amount) < 0 {
			const text = "not sent: the account has %s of the token, in its smallest unit, and %s are needed"
			return failure(TooLittle, text, tokens, w.Amount)
		}
	}
	coins, err := s.Backend.BalanceAt(ctx, w.From, nil)
	if err != nil {
		return unavailable("asking for the coins of the account", err)
	}
	if coins.Cmp(w.Main.Value) <= 0 {
		return failure(TooLittle, "not sent: the account has %s coins, and more than %s are needed, to pay for gas too",
			client.FormatAmount(coins, 18), client.FormatAmount(w.Main.Value, 18))
	}
	return nil
}

// content is what a payment is known by: a copy that was read from JSON is the same one. The approval pays nothing.
func (w *Swap) content(account common.Address) string {
	request, ends := client.Request{}, encode(w.Expires.UTC())
	if q := w.Quote; q != nil {
		request = q.Request
		request.From = common.Address{}
		request.Simulate = false
		if q.Quote != nil && q.Quote.Details != nil {
			ends = string(q.Quote.Details.ValidUntil)
		}
	}
	return encode(account, w.ChainID, request, w.Main, ends)
}
