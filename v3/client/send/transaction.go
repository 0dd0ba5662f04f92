package send

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/quotegate/quotegate/v3/client"
)

// sign makes a transaction of a call. It pays up to twice the present base fee, and has a quarter more gas than it
// seems to need.
func (s Sender) sign(ctx context.Context, w *Swap, what string, call client.Call) (*Step, error) {
	message := ethereum.CallMsg{From: w.From, To: &call.To, Value: call.Value, Data: call.Data}
	gas, err := s.Backend.EstimateGas(ctx, message)
	if err != nil {
		return nil, wouldFail(ctx, what, err)
	}
	nonce, err := s.Backend.PendingNonceAt(ctx, w.From)
	if err != nil {
		return nil, unavailable(what+": asking for the nonce", err)
	}
	if n := len(w.Steps); n > 0 {
		nonce = max(nonce, w.Steps[n-1].Nonce+1) // the node may lag behind
	}
	tip, err := s.Backend.SuggestGasTipCap(ctx)
	if err != nil {
		return nil, unavailable(what+": asking for the tip", err)
	}
	head, err := s.Backend.HeaderByNumber(ctx, nil)
	if err != nil {
		return nil, unavailable(what+": asking for the base fee", err)
	}
	if head.BaseFee == nil {
		return nil, failure(WrongChain, "%s: the chain has no base fee", what)
	}
	price := new(big.Int).Add(tip, new(big.Int).Lsh(head.BaseFee, 1))
	gas += gas / 4
	if err := s.affordable(what, gas, price); err != nil {
		return nil, err
	}
	if w.expired() {
		return nil, expired(what)
	}
	tx, err := s.signed(ctx, types.NewTx(&types.DynamicFeeTx{
		ChainID:   new(big.Int).SetUint64(w.ChainID),
		Nonce:     nonce,
		GasTipCap: tip,
		GasFeeCap: price,
		Gas:       gas,
		To:        &call.To,
		Value:     call.Value,
		Data:      call.Data,
	}))
	if err != nil {
		return nil, err
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return nil, failure(NotSigned, "%s: %w", what, err)
	}
	return &Step{What: what, Hash: tx.Hash(), Nonce: nonce, Block: head.Number.Uint64(), Raw: raw}, nil
}

// affordable refuses gas at a price that could cost more than MaxGas: a node may suggest anything.
func (s Sender) affordable(what string, gas uint64, price *big.Int) error {
	cost := new(big.Int).Mul(new(big.Int).SetUint64(gas), price)
	if cost.Cmp(s.MaxGas) > 0 {
		return failure(GasTooHigh, "%s: not signed: its gas could cost %s coins at the node's price, "+
			"and the most allowed is %s", what, client.FormatAmount(cost, 18), client.FormatAmount(s.MaxGas, 18))
	}
	return nil
}

// failures is how often in a row the node may fail while a transaction is waited for.
const failures = 5

// finish takes a step into a block, under whatever hash. A fresh step was not given to the node before.
func (s Sender) finish(ctx context.Context, w *Swap, i int, fresh bool) (*types.Receipt, error) {
	step := &w.Steps[i]
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(step.Raw); err != nil {
		return nil, unconfirmed(step, fmt.Errorf("the stored step cannot be read: %w", err))
	}
	missing := fresh
	if !fresh {
		next, err := s.Backend.NonceAt(ctx, w.From, nil)
		if err != nil {
			return nil, unconfirmed(step, err)
		}
		missing = next <= step.Nonce && !s.has(ctx, step.Hash)
	}
	if missing && w.expired() {
		if fresh {
			return nil, s.forget(w, expired(step.What))
		}
		if step.What != SwapStep {
			return nil, expired(step.What)
		}
		missing = false
		s.tell("%s: the quote has expired, so the transaction is not sent again, only watched for", step.What)
	}
	if missing {
		if err := s.give(ctx, w, step, tx, fresh); err != nil {
			return nil, err
		}
	}
	receipt, err := s.wait(ctx, w, step, tx)
	if err != nil {
		return nil, err
	}
	if receipt.Status != types.ReceiptStatusSuccessful {
		return nil, failure(Reverted, "%s: transaction %s reverted in block %s",
			step.What, step.Hash, receipt.BlockNumber)
	}
	s.tell("%s: in block %s, %d gas", step.What, receipt.BlockNumber, receipt.GasUsed)
	return receipt, nil
}

// wait asks for the receipt of a step until there is one.
func (s Sender) wait(ctx context.Context, w *Swap, step *Step, tx *types.Transaction) (*types.Receipt, error) {
	failed := 0
	for asked := 1; ; asked++ {
		receipt, err := s.look(ctx, w, step, tx)
		var final *Error
		switch {
		case errors.As(err, &final):
			return nil, err
		case receipt != nil:
			return receipt, nil
		case err != nil:
			failed++
		default:
			failed = 0
			s.tell("%s: waiting for a block, asked %d times", step.What, asked)
		}
		if failed == failures {
			return nil, unconfirmed(step, err)
		}
		s.pause(ctx)
		if ctx.Err() != nil {
			return nil, unconfirmed(step, context.Cause(ctx))
		}
	}
}

func (s Sender) pause(ctx context.Context) {
	poll := s.Poll
	if poll == 0 {
		poll = time.Second
	}
	timer := time.NewTimer(poll)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// unconfirmed is the error of a step that may be in a block, or may come into one.
func unconfirmed(step *Step, err error) *Error {
	if step.What == SwapStep {
		return failure(Unknown, "the outcome of the swap is unknown: transaction %s: %w", step.Hash, err)
	}
	return unavailable(fmt.Sprintf("%s: transaction %s was sent, and is not confirmed", step.What, step.Hash), err)
}

// give submits a signed transaction. A fresh one that the node refuses is forgotten.
func (s Sender) give(ctx context.Context, w *Swap, step *Step, tx *types.Transaction, fresh bool) error {
	s.tell("%s: sending %s", step.What, tx.Hash())
	err := s.Backend.SendTransaction(ctx, tx)
	switch {
	case err == nil:
		return nil
	case s.has(ctx, tx.Hash()):
		s.tell("%s: the node has it, though it says: %v", step.What, err)
		return nil
	case says(err, used) || !fresh && says(err, taken):
		return nil // look tells whose transaction it is
	case fresh && says(err, refusals):
		return s.forget(w,
			failure(NotTaken, "%s: the node did not take transaction %s: %w", step.What, tx.Hash(), err))
	}
	return unconfirmed(step, fmt.Errorf("the node did not take it: %w", err)) // it may have it, or have passed it on
}

// forget takes back the last step, which no node has, and gives why.
func (s Sender) forget(w *Swap, why *Error) error {
	w.Steps = w.Steps[:len(w.Steps)-1]
	if err := s.save(w); err != nil {
		return errors.Join(why, err)
	}
	return why
}

// has tells whether the node knows a transaction.
func (s Sender) has(ctx context.Context, hash common.Hash) bool {
	_, _, err := s.Backend.TransactionByHash(ctx, hash)
	return err == nil
}

// refusals are the words of nodes that have not taken a transaction and have not passed it on. After any other error
// the transaction may be on its way.
var refusals = []string{
	"nonce too high", "insufficient funds", "underpriced", "intrinsic gas too low",
	"exceeds block gas limit", "less than block base fee", "exceeds the configured cap", "invalid sender",
	"invalid chain id", "not supported", "oversized data",
}

// used are the words of nodes that have the nonce in a block. A node behind a proxy may say so of this transaction.
var used = []string{"nonce too low"}

// taken are the words of nodes that wait for the transaction, or for another with its nonce.
var taken = []string{"already known", "replacement transaction underpriced"}

// says tells whether an error is an answer of the node with any of the words.
func says(err error, words []string) bool {
	var answer rpc.Error
	if !errors.As(err, &answer) {
		return false
	}
	text := strings.ToLower(answer.Error())
	return slices.ContainsFunc(words, func(known string) bool { return strings.Contains(text, known) })
}

// look gives the receipt of a step, nil if it is in no block yet. If another transaction has its nonce and does the
// same, that one is followed.
func (s Sender) look(ctx context.Context, w *Swap, step *Step, tx *types.Transaction) (*types.Receipt, error) {
	receipt, err := s.Backend.TransactionReceipt(ctx, step.Hash)
	if !errors.Is(err, ethereum.NotFound) {
		return receipt, err
	}
	next, err := s.Backend.NonceAt(ctx, w.From, nil)
	if err != nil || next <= step.Nonce {
		return nil, err
	}
	other, err := s.find(ctx, w, step)
	if err != nil || other == nil || other.Hash() == step.Hash {
		return nil, err
	}
	if !sameCall(tx, other) {
		return nil, failure(Replaced, "%s: not sent: a different transaction, %s, used its nonce %d",
			step.What, other.Hash(), step.Nonce)
	}
	s.tell("%s: replaced by %s", step.What, other.Hash())
	step.Hash = other.Hash()
	if err := s.save(w); err != nil {
		s.tell("warning: %v", err) // it is found again
	}
	return nil, nil
}

func sameCall(a, b *types.Transaction) bool {
	sameTarget := b.To() != nil && *a.To() == *b.To()
	return sameTarget && a.Value().Cmp(b.Value()) == 0 && bytes.Equal(a.Data(), b.Data())
}

// find gives the transaction in a block that has the account and nonce of a step; nil if the node does not show it.
func (s Sender) find(ctx context.Context, w *Swap, step *Step) (*types.Transaction, error) {
	head, err := s.Backend.HeaderByNumber(ctx, nil)
	if err != nil {
		return nil, err
	}
	first, last := step.Block, head.Number.Uint64()
	if last <= first {
		return nil, nil
	}
	var failed error
	n := sort.Search(int(last-first), func(n int) bool { // the first block that uses the nonce
		next, err := s.Backend.NonceAt(ctx, w.From, new(big.Int).SetUint64(first+uint64(n)))
		failed = errors.Join(failed, err)
		return next > step.Nonce
	})
	if failed != nil {
		return nil, failed
	}
	all, err := s.transactions(ctx, new(big.Int).SetUint64(first+uint64(n)))
	if err != nil {
		return nil, err
	}
	signer := types.LatestSignerForChainID(new(big.Int).SetUint64(w.ChainID))
	for _, tx := range all {
		if tx.Nonce() != step.Nonce {
			continue
		}
		if from, err := types.Sender(signer, tx); err == nil && from == w.From {
			return tx, nil
		}
	}
	return nil, nil
}

// transactions gives those of a block. Rollups have some that go-ethereum cannot decode: then each is asked for alone.
func (s Sender) transactions(ctx context.Context, number *big.Int) ([]*types.Transaction, error) {
	block, err := s.Backend.BlockByNumber(ctx, number)
	if err == nil {
		return block.Transactions(), nil
	}
	if !errors.Is(err, types.ErrTxTypeNotSupported) {
		return nil, err
	}
	head, err := s.Backend.HeaderByNumber(ctx, number)
	if err != nil {
		return nil, err
	}
	count, err := s.Backend.TransactionCount(ctx, head.Hash())
	if err != nil {
		return nil, err
	}
	var all []*types.Transaction
	for i := range count {
		tx, err := s.Backend.TransactionInBlock(ctx, head.Hash(), i)
		if err != nil && !errors.Is(err, types.ErrTxTypeNotSupported) {
			return nil, err
		}
		if err == nil {
			all = append(all, tx)
		}
	}
	return all, nil
}
