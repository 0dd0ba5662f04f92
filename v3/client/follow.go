package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// How soon a gateway is asked again, whatever it says.
const (
	soonest = time.Second
	latest  = time.Hour
)

// Follow gives each status of a transaction, and ends when one is final. It waits as long as the gateway asks for. A
// gateway that does not answer, or refuses for now, is asked again until ctx ends.
//
// An error is the last that it gives: ctx has ended, or the gateway says what must not be believed, or refuses for
// good. None of them says that the swap failed: do not send it again.
func (c *Client) Follow(ctx context.Context, sent Sent) iter.Seq2[*Status, error] {
	return c.follow(ctx, sent, pause)
}

func (c *Client) follow(
	ctx context.Context, sent Sent, pause func(context.Context, time.Duration) error,
) iter.Seq2[*Status, error] {
	return func(yield func(*Status, error) bool) {
		for failures := 0; ; {
			wait := time.Duration(0)
			var refusal *Error
			status, err := c.Status(ctx, sent)
			switch {
			case err == nil:
				failures = 0
				if !yield(status, nil) {
					return
				}
				if status.Ended() && status.Final {
					return
				}
				wait = status.nextCheck()
			case ctx.Err() != nil || !errors.As(err, &refusal) || !refusal.Temporary():
				yield(nil, err)
				return
			default:
				failures++
				wait = refusal.rest(failures)
				if sent.OnRetry != nil {
					sent.OnRetry(err, wait)
				}
			}
			if err := pause(ctx, wait); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

func (s *Status) nextCheck() time.Duration {
	return max(soonest, time.Duration(min(s.NextCheckSeconds, uint64(latest.Seconds())))*time.Second)
}

// rest is how long to leave a gateway alone that has not answered so many times in a row: as long as it says, or longer
// each time.
func (e *Error) rest(failures int) time.Duration {
	if e.RetryAfter > 0 {
		return max(soonest, min(e.RetryAfter, latest))
	}
	return soonest << min(failures, 5)
}

// pause waits, or gives an error once ctx has ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("the swap was not followed to its end: %w", context.Cause(ctx))
	case <-timer.C:
		return nil
	}
}
