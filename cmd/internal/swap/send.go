package swap

import (
	"context"
	"crypto/ecdsa"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/v3/client/send"
)

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
