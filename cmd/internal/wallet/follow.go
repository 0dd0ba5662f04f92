package wallet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
)

// How soon a gateway is asked again, whatever it says.
const (
	soonest     = time.Second
	latest      = time.Minute
	longestRest = 5 * time.Minute // where it asks to be left alone
)

// ErrUnknown is the error of a swap that was sent and may have arrived or may still arrive: it must not be sent again.
var ErrUnknown = errors.New("what became of the swap is not known")

// A Follower asks a gateway what becomes of a transaction, until that is final.
type Follower struct {
	Gateway  Gateway
	Progress func(string) // told of every change; nil for nobody

	pause func(context.Context, time.Duration) error // nil to wait as long as it says
}

// Follow gives the status of a transaction on src once it is final. The quote is what was signed, nil if that is not
// known.
//
// A gateway that does not answer, or refuses for now, is asked again until ctx ends. When ctx ends while the swap has come
// to an end that is not final, Follow gives that. All its errors are ErrUnknown.
func (f Follower) Follow(ctx context.Context, src chain.ID, tx common.Hash, q *Checked) (*Status, error) {
	var last *Status
	told := ""
	tell := func(what string) {
		if what != told && f.Progress != nil {
			f.Progress(what)
		}
		told = what
	}
	for failures := 0; ; {
		status, err := f.ask(ctx, src, tx, q)
		var wait time.Duration
		switch {
		case err == nil:
			last, failures = status, 0
			tell(status.String())
			if status.Ended() && status.Final {
				return status, nil
			}
			wait = time.Duration(max(soonest.Seconds(), min(status.NextCheckSeconds, latest.Seconds())) * float64(time.Second))
		case !temporary(err):
			return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
		case ctx.Err() == nil:
			failures++
			wait = retryAfter(err, failures)
			tell(fmt.Sprintf("no answer for now: %v", err))
		}
		if f.wait(ctx, wait) == nil {
			continue
		}
		if last != nil && last.Ended() {
			return last, nil
		}
		return last, fmt.Errorf("%w: %w", ErrUnknown, context.Cause(ctx))
	}
}

// ask gets one status and checks it.
func (f Follower) ask(ctx context.Context, src chain.ID, tx common.Hash, q *Checked) (*Status, error) {
	status, err := f.Gateway.Status(ctx, src, tx)
	if err == nil && q != nil {
		err = status.Check(q)
	}
	return status, err
}

// temporary tells whether an error may be gone when the gateway is asked again.
func temporary(err error) bool {
	var untrue *Untrue
	var refusal *Refusal
	switch {
	case errors.As(err, &untrue):
		return false
	case errors.As(err, &refusal):
		return refusal.Status == http.StatusTooManyRequests || refusal.Status >= 500 && refusal.Status != http.StatusNotImplemented
	}
	return true
}

// retryAfter is how long to leave a gateway alone that has not answered so many times in a row: as long as it says, or
// longer each time.
func retryAfter(err error, failures int) time.Duration {
	var refusal *Refusal
	if errors.As(err, &refusal) && refusal.RetryAfter > 0 {
		return min(refusal.RetryAfter, longestRest)
	}
	return soonest << min(failures, 5)
}

// wait gives an error once ctx has ended.
func (f Follower) wait(ctx context.Context, d time.Duration) error {
	if f.pause != nil {
		return f.pause(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Ended tells whether the state is one that a swap stays in, once it is final.
func (s *Status) Ended() bool { return s.State == Settled || s.State == Failed || s.State == NotASwap }

// String says for a person how far a swap is. It changes only when that changes.
func (s *Status) String() string {
	text := s.State + ": " + s.words()
	if s.Ended() && !s.Final {
		text += "; not final yet"
	}
	return text
}

func (s *Status) words() string {
	switch s.State {
	case NotFound:
		return "no node of the gateway knows the transaction yet"
	case Pending:
		if s.Source != nil && s.Source.BlockNumber != "" {
			return fmt.Sprintf("in block %s, waiting for more blocks on top", s.Source.BlockNumber)
		}
		return "not in a block yet"
	case Failed:
		if s.Reason != "" {
			return fmt.Sprintf("the transaction reverted, and swapped nothing: %.200q", s.Reason)
		}
		return "the transaction reverted, and swapped nothing"
	case NotASwap:
		return "the transaction swapped nothing through the contracts of this gateway"
	case Settled:
		if s.Settlement == nil || s.Settlement.TxHash == "" {
			return "paid out"
		}
		return fmt.Sprintf("paid out with %s on chain %s", s.Settlement.TxHash, s.Settlement.ChainID)
	}
	text := "paid for, not paid out yet" + s.Burn.words()
	if s.Reason != "" {
		text += fmt.Sprintf("; the gateway says: %.200q", s.Reason)
	}
	return text
}

func (b *StatusBurn) words() string {
	switch {
	case b == nil:
		return ""
	case b.Attested:
		return "; the issuer has attested the burn"
	case b.Reason != "":
		return fmt.Sprintf("; the issuer has not attested the burn: %.60q, %.200q", b.AttestationState, b.Reason)
	}
	return fmt.Sprintf("; the issuer has not attested the burn: %.60q", b.AttestationState)
}
