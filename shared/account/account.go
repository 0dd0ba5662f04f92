// Package account reads what an account has on a chain: the balance of a token,
// and how much of it a contract may spend.
//
// Both are read in one round trip, in bounded time, through the endpoints of the
// chain. An answer is kept for about a block, in bounded memory. When it cannot
// be read, the error is a sentence for the client and holds nothing of the cause,
// which the endpoints' own log has.
package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

// Holding is what an account has of a token.
type Holding struct {
	Balance   uint256.Int
	Allowance uint256.Int // how much of it the spender may take; 0 for the native coin
}

// Reader reads holdings. It is safe for concurrent use.
type Reader struct {
	client *rpc.Client
	now    func() time.Time
	cache  *lru.Cache[question, answer]
}

type question struct {
	network               chain.ID
	token, owner, spender common.Address
}

type answer struct {
	holding Holding
	until   time.Time
}

// maxAnswers bounds the cache, to about a megabyte.
const maxAnswers = 4096

// New reads through a client. now is nil for time.Now.
func New(client *rpc.Client, now func() time.Time) *Reader {
	if now == nil {
		now = time.Now
	}
	cache, err := lru.New[question, answer](maxAnswers)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &Reader{client, now, cache}
}

// Read reads what owner has of a token, and how much of that spender may take.
func (r *Reader) Read(ctx context.Context, token *chain.Token, owner, spender common.Address) (Holding, error) {
	q := question{token.ChainID, token.Address.Address, owner, spender}
	asked := r.now()
	if known, ok := r.cache.Get(q); ok && asked.Before(known.until) {
		return known.holding, nil
	}
	var holding Holding
	err := r.client.Ask(ctx, q.network, rpc.Wallets, func(ctx context.Context, e *rpc.Endpoint) (err error) {
		if token.Native() {
			holding, err = readNative(ctx, e, owner)
		} else {
			holding, err = readToken(ctx, e, &q)
		}
		return err
	})
	if err != nil {
		return Holding{}, explain(err, q.network)
	}
	r.cache.Add(q, answer{holding, asked.Add(q.network.BlockTime())})
	return holding, nil
}

func readNative(ctx context.Context, e *rpc.Endpoint, owner common.Address) (Holding, error) {
	var balance hexutil.U256
	reads := []rpc.Read{rpc.ReadBalance(owner, &balance)}
	if err := e.ReadAll(ctx, reads); err != nil {
		return Holding{}, err
	}
	return Holding{Balance: uint256.Int(balance)}, nil
}

func readToken(ctx context.Context, e *rpc.Endpoint, q *question) (h Holding, err error) {
	var balance, allowance hexutil.Bytes
	reads := []rpc.Read{
		rpc.ReadContract(q.token, calldata.BalanceOf(q.owner), &balance),
		rpc.ReadContract(q.token, calldata.Allowance(q.owner, q.spender), &allowance),
	}
	if err := e.ReadAll(ctx, reads); err != nil {
		return h, err
	}
	const word = 32
	if len(balance) != word || len(allowance) != word {
		return h, &rpc.Failure{Reason: rpc.Undecodable, Text: "the token's answer is not one number"}
	}
	h.Balance.SetBytes(balance)
	h.Allowance.SetBytes(allowance)
	return h, nil
}

// reason is an error that is a sentence for the client.
type reason string

func (r reason) Error() string { return string(r) }

// explain says why nothing was read.
func explain(err error, network chain.ID) reason {
	var f *rpc.Failure
	errors.As(err, &f)
	switch {
	case f == nil:
	case f.Reason == rpc.Unconfigured:
		return reason(fmt.Sprintf("This service has no RPC endpoint for chain %s, so balance and allowance are not checked", network))
	case f.Reason == rpc.Reverted:
		return reason(fmt.Sprintf("The token contract on chain %s refused to tell balance and allowance", network))
	}
	return reason(fmt.Sprintf("Balance and allowance could not be read on chain %s just now; ask again, or check them yourself", network))
}
