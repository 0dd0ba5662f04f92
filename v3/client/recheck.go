package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
)

// Client is whose Quote gave the quote; nil if it is not of this process, as after JSON.
func (q *Checked) Client() *Client { return q.origin }

// Recheck holds a quote, which may come from JSON, against its request once more: against what is pinned, or the
// gateway's listing. An error with the code Unverified says that it was altered, or does not pass any more.
func (c *Client) Recheck(ctx context.Context, q *Checked) error {
	k, err := c.known(ctx)
	if err != nil {
		return err
	}
	return q.Recheck(k)
}

// Recheck is Client.Recheck against what is known.
func (q *Checked) Recheck(k Known) error {
	if q.Warning != "" {
		return warned(q.Warning, q, nil)
	}
	answer, err := json.Marshal(q.Quote)
	if err != nil {
		return unverified(refusedQuote, err)
	}
	k.Allowance = big.NewInt(1) // less than any amount: Calls are all that may be needed
	again, err := Verify(q.Request, answer, k)
	if err == nil && q.OwnNote {
		if len(q.Main.Data) < noteAt {
			return unverified(refusedQuote, errAltered)
		}
		again, err = again.WithNote(q.Main.Data[noteAt:])
	}
	if err != nil {
		return err
	}
	isOther := func(call Call) bool {
		return !slices.ContainsFunc(again.Calls, func(needed Call) bool { return isSame(call, needed) })
	}
	if slices.ContainsFunc(q.Calls, isOther) || !isSame(q.signed(), again.signed()) {
		return unverified(refusedQuote, errAltered)
	}
	return nil
}

var errAltered = errors.New("it was altered after it was checked")

// signed is what somebody signs, and what comes of it.
func (q *Checked) signed() []any {
	return []any{
		q.Pair, q.Main, q.Approval, q.Dest, q.Protocol, q.Integrator, q.Arrives, q.MaxFee, q.Sufficient,
	}
}

// isSame compares values as they are in JSON.
func isSame(a, b any) bool {
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}
