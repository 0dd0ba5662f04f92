package swap

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
	"github.com/quotegate/quotegate/v3/client/send"
)

// DefaultMaxGas is the most that the gas of one transaction may cost on the network of id, in the smallest unit of its
// coin, unless somebody chooses another bound.
func DefaultMaxGas(id chain.ID) *big.Int {
	network, _ := chain.FindNetwork(id)
	most, err := client.ParseAmount(network.MostGas, chain.CoinDecimals)
	if err != nil {
		return new(big.Int) // an unknown network: nothing may be sent there
	}
	return most
}

// Execute sends a checked quote with a key, within the gas bound of its chain. It also sends a swap that starts in a
// privacy pool, from a public account: the devnet has no RAILGUN wallet.
func Execute(
	ctx context.Context, node send.Backend, key *ecdsa.PrivateKey, q *Checked, progress func(string),
) (*types.Receipt, error) {
	sender := send.Sender{
		Backend:  node,
		Account:  send.Key(key),
		MaxGas:   DefaultMaxGas(q.Swap.Src),
		Progress: progress,
	}
	return sender.Send(ctx, &send.Swap{
		ChainID:  q.Main.ChainID,
		Amount:   q.Swap.Amount,
		Approval: q.Approval,
		Main:     q.Main,
	})
}

// ErrUnknown is the error of a swap that was sent and may have arrived or may still arrive: it must not be sent again.
var ErrUnknown = errors.New("the outcome of the swap is unknown")

// Follow gives the status of a transaction once it is final, and tells of every change.
//
// When ctx ends while the swap has come to an end that is not final, Follow gives that. All its errors are ErrUnknown.
func Follow(ctx context.Context, c *client.Client, sent client.Sent, tell func(string)) (*client.Status, error) {
	told := ""
	say := func(what string) {
		if what != told {
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
