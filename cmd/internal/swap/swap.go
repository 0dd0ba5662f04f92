// Package swap is what the commands do around the client: it reads a swap as a person types it, pins the contracts of a
// reviewed deployment, opens or replaces a shield note, and follows what was sent.
package swap

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
	"github.com/quotegate/quotegate/v3/client/send"
)

// A Swap is what somebody wants. The gateway refuses a recipient that cannot own money, and so does the client.
type Swap struct {
	*chain.Pair
	Amount     *big.Int       // of the source token, in its smallest unit
	Recipient  string         // an EVM address, or a 0zk address for a privacy pool
	Integrator common.Address // zero for none
	Sender     common.Address // whose transactions the gateway shall simulate; zero for nobody's
}

// parseEnd reads one end of a swap, such as USDC@1.
func parseEnd(text string) (token string, id chain.ID, err error) {
	token, number, ok := strings.Cut(text, "@")
	if !ok || token == "" {
		return "", 0, fmt.Errorf("%q is not a token and a chain, such as USDC@1", text)
	}
	if id, err = chain.ParseID(number); err != nil {
		return "", 0, fmt.Errorf("%q: %w", text, err)
	}
	return token, id, nil
}

// NewSwap reads what a person typed: both ends, and an amount in whole tokens such as 100 or 0.5.
func NewSwap(from, to, amount, recipient string) (Swap, error) {
	s := Swap{Recipient: recipient}
	srcToken, src, err := parseEnd(from)
	if err != nil {
		return s, err
	}
	dstToken, dst, err := parseEnd(to)
	if err != nil {
		return s, err
	}
	if s.Pair, err = chain.FindPair(src, srcToken, dst, dstToken); err != nil {
		return s, err
	}
	s.Amount, err = client.ParseAmount(amount, s.SrcToken.Decimals)
	return s, err
}

// Request asks for the swap.
func (s Swap) Request() client.Request {
	return client.Request{
		SrcChain: uint64(s.Src), SrcToken: s.SrcToken.Symbol, DstChain: uint64(s.Dst), DstToken: s.DstToken.Symbol,
		Amount: s.Amount, Recipient: s.Recipient, Integrator: s.Integrator,
		From: s.Sender, Simulate: s.Sender != common.Address{},
	}
}

// Money is an amount of a token as people write it.
func Money(amount *big.Int, token chain.Token) string {
	return client.FormatAmount(amount, token.Decimals) + " " + token.Symbol
}

// FormatCoins writes an amount of the own coin of id's network, such as 0.05 ETH.
func FormatCoins(amount *big.Int, id chain.ID) string {
	network, _ := chain.FindNetwork(id)
	return client.FormatAmount(amount, chain.CoinDecimals) + " " + network.Coin
}

// Execute sends a checked quote with a key, within the gas bound of its chain. It also sends a swap that starts in a
// privacy pool, from a public account: the devnet has no RAILGUN wallet.
func Execute(
	ctx context.Context, node send.Backend, key *ecdsa.PrivateKey, q *Checked, progress func(string),
) (*types.Receipt, error) {
	maxGas, _ := send.MaxGas(q.Main.ChainID)
	sender := send.Sender{
		Backend:    node,
		Account:    send.Key(key),
		MaxGas:     maxGas,
		Progress:   progress,
		Unverified: q.Swap.Src.Private(), // the check gives no calls for a public account
	}
	return sender.Send(ctx, &send.Swap{
		ChainID:  q.Main.ChainID,
		Amount:   q.Swap.Amount,
		Approval: q.Approval,
		Main:     q.Main,
		Quote:    q.Checked,
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
