// Package account reads an account on a chain: what it has of a token and of the
// chain's own coin, how much a contract may spend, and what transactions that it
// would send would do.
//
// Every reading is made for one request and kept for no other: an approval that is
// left out because of an old reading makes the swap revert. Readings are made in
// bounded time, through the endpoints of the chain, in the lane of wallets. A
// request costs a node at most three round trips: one for what the account has,
// one for the simulation, and one for an estimate where the node cannot simulate.
// When something cannot be read, the error is a sentence for the client and holds
// nothing of the cause, which the endpoints' own log has.
package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

// Holding is what an account has.
type Holding struct {
	Native    uint256.Int // of the chain's own coin
	Balance   uint256.Int // of the token
	Allowance uint256.Int // how much of it the spender may take; 0 for the native coin
	CheckedAt time.Time
}

// Reader reads accounts. It is safe for concurrent use.
type Reader struct {
	client *rpc.Client
	now    func() time.Time
}

// New reads through a client. now is nil for time.Now.
func New(client *rpc.Client, now func() time.Time) *Reader {
	if now == nil {
		now = time.Now
	}
	return &Reader{client, now}
}

// Read reads what owner has of a token, and how much of that spender may take.
func (r *Reader) Read(ctx context.Context, token *chain.Token, owner, spender common.Address) (Holding, error) {
	holding := Holding{CheckedAt: r.now()}
	err := r.client.Ask(ctx, token.ChainID, rpc.Wallets, func(ctx context.Context, e *rpc.Endpoint) error {
		return holding.read(ctx, e, token, owner, spender)
	})
	if err != nil {
		return Holding{}, explain(err, token.ChainID)
	}
	return holding, nil
}

func (h *Holding) read(ctx context.Context, e *rpc.Endpoint, token *chain.Token, owner, spender common.Address) error {
	var native hexutil.U256
	var balance, allowance hexutil.Bytes
	reads := []rpc.Read{rpc.ReadBalance(owner, &native)}
	if !token.Native() {
		reads = append(reads,
			rpc.ReadContract(token.Address.Address, calldata.BalanceOf(owner), &balance),
			rpc.ReadContract(token.Address.Address, calldata.Allowance(owner, spender), &allowance))
	}
	if err := e.ReadAll(ctx, reads...); err != nil {
		return err
	}
	h.Native = uint256.Int(native)
	if token.Native() {
		h.Balance = h.Native
		return nil
	}
	const word = 32
	if len(balance) != word || len(allowance) != word {
		return &rpc.Failure{Reason: rpc.Undecodable, Text: "the token's answer is not one number"}
	}
	h.Balance.SetBytes(balance)
	h.Allowance.SetBytes(allowance)
	return nil
}

// reason is an error that is a sentence for the client.
type reason string

func (r reason) Error() string { return string(r) }

// explain says why nothing was read.
func explain(err error, network chain.ID) reason {
	switch failureOf(err) {
	case rpc.Unconfigured:
		return reason(fmt.Sprintf("This service has no RPC endpoint for chain %s, so balance and allowance are not checked", network))
	case rpc.Reverted:
		return reason(fmt.Sprintf("The token contract on chain %s refused to tell balance and allowance", network))
	}
	return reason(fmt.Sprintf("Balance and allowance could not be read on chain %s just now; ask again, or check them yourself", network))
}

func failureOf(err error) rpc.Reason {
	if f := (*rpc.Failure)(nil); errors.As(err, &f) {
		return f.Reason
	}
	return ""
}
