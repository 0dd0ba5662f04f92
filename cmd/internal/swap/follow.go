package swap

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quotegate/quotegate/v3/client"
)

// ErrUnknown is the error of a swap that was sent and may have arrived or may still arrive: it must not be sent again.
var ErrUnknown = errors.New("the outcome of the swap is unknown")

// Follow gives the status of a transaction once it is final, and tells of every change; tell may be nil.
//
// When ctx ends while the swap has come to an end that is not final, Follow gives that. All its errors are ErrUnknown.
func Follow(ctx context.Context, c *client.Client, sent client.Sent, tell func(string)) (*client.Status, error) {
	told := ""
	say := func(what string) {
		if what != told && tell != nil {
			tell(what)
		}
		told = what
	}
	sent.OnRetry = func(err error, _ time.Duration) { say(fmt.Sprintf("no answer for now: %v", err)) }
	var last *client.Status
	for status, err := range c.Follow(ctx, sent) {
		switch {
		case err == nil:
			last = status
			say(status.String())
		case ctx.Err() != nil && last != nil && last.Ended():
			return last, nil
		default:
			return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
		}
	}
	return last, nil
}
