package swap

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// erc20 is what is asked of a token.
var erc20 = parseABI(`[
 {"type":"function","name":"approve","inputs":[{"type":"address","name":"spender"},{"type":"uint256","name":"amount"}]},
 {"type":"function","name":"allowance","stateMutability":"view","inputs":[{"type":"address","name":"owner"},
  {"type":"address","name":"spender"}],"outputs":[{"type":"uint256","name":""}]}]`)

func parseABI(text string) abi.ABI {
	parsed, err := abi.JSON(strings.NewReader(text))
	if err != nil {
		panic("the interface of a token: " + err.Error())
	}
	return parsed
}

func pack(method string, args ...any) []byte {
	data, err := erc20.Pack(method, args...)
	if err != nil {
		panic("encoding " + method + ": " + err.Error())
	}
	return data
}

// A Sender signs transactions with one key and sends them to one chain.
type Sender struct {
	Node *ethclient.Client
	Key  *ecdsa.PrivateKey

	// MaxGas is the most that the gas of one transaction may cost, in the smallest unit of the chain's coin; nil
	// for DefaultMaxGas. A dearer transaction is not signed. Where a chain also charges for publishing a
	// transaction's bytes elsewhere, as rollups do, no transaction can bound that charge, and neither does this.
	MaxGas *big.Int

	Poll     time.Duration // how often to ask for a receipt; 0 for every second
	Progress func(string)  // told what happens, as it happens; nil for nobody

	// OnSend is told the hash of every transaction before it is given to the node; nil for nobody.
	OnSend func(what string, hash common.Hash)
}

// Execute sends the transactions of a quote in their order, and waits for each to be in a block. It gives the
// receipt of the last. The error of a transaction that was sent names its hash. It is ErrUnknown if the swap may be
// in a block, or may come into one, and ErrNoContract if there is no contract where it would pay.
func (s Sender) Execute(ctx context.Context, q *Checked) (*types.Receipt, error) {
	id, err := s.Node.ChainID(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the node for its chain: %w", err)
	}
	if want := q.Swap.Src.Network(); id.Cmp(new(big.Int).SetUint64(uint64(want))) != 0 {
		return nil, fmt.Errorf("the node serves chain %s, and the swap starts on chain %s", id, want)
	}
	if err := s.needContracts(ctx, q); err != nil {
		return nil, err
	}
	if q.Approval != nil {
		if err := s.approve(ctx, id, q); err != nil {
			return nil, err
		}
	}
	receipt, err := s.send(ctx, id, "swap", q.Main)
	var unconfirmed *unconfirmed
	if errors.As(err, &unconfirmed) {
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return receipt, err
}

// An unconfirmed transaction was given to a node, which has not said that it is in a block, or that it never will be.
type unconfirmed struct{ cause error }

func (u *unconfirmed) Error() string { return u.cause.Error() }
func (u *unconfirmed) Unwrap() error { return u.cause }

// approve lets the target take the amount, if it may not yet.
func (s Sender) approve(ctx context.Context, chainID *big.Int, q *Checked) error {
	me, token, spender := crypto.PubkeyToAddress(s.Key.PublicKey), q.Approval.To, q.Main.To
	answer, err := s.Node.CallContract(ctx, ethereum.CallMsg{To: &token, Data: pack("allowance", me, spender)}, nil)
	if err != nil {
		return fmt.Errorf("asking for the allowance: %w", err)
	}
	var allowance *big.Int
	if err := erc20.UnpackIntoInterface(&allowance, "allowance", answer); err != nil {
		return fmt.Errorf("asking for the allowance: %w", err)
	}
	if allowance.Cmp(q.Swap.Amount) >= 0 {
		s.tell("the allowance is enough already")
		return nil
	}
	if allowance.Sign() > 0 {
		// Some tokens, USDT on Ethereum among them, change an allowance only from zero. Others are spared the way.
		approval := ethereum.CallMsg{From: me, To: &token, Data: q.Approval.Data}
		if _, err := s.Node.EstimateGas(ctx, approval); err != nil {
			reset := client.Call{To: token, Value: new(big.Int), Data: pack("approve", spender, new(big.Int))}
			if _, err := s.send(ctx, chainID, "reset of the allowance", reset); err != nil {
				return err
			}
		}
	}
	_, err = s.send(ctx, chainID, "approval", *q.Approval)
	return err
}

func (s Sender) send(ctx context.Context, chainID *big.Int, what string, t client.Call) (*types.Receipt, error) {
	tx, err := s.sign(ctx, chainID, t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	s.tell(fmt.Sprintf("%s: sending %s", what, tx.Hash()))
	if s.OnSend != nil {
		s.OnSend(what, tx.Hash())
	}
	if err := s.Node.SendTransaction(ctx, tx); err != nil {
		if !s.hasIt(ctx, tx.Hash()) {
			if !refused(err) {
				err = &unconfirmed{err} // the node may have it, or have passed it on
			}
			return nil, fmt.Errorf("%s: the node did not take transaction %s: %w", what, tx.Hash(), err)
		}
		s.tell(fmt.Sprintf("%s: the node has it, though it says: %v", what, err))
	}
	receipt, err := s.wait(ctx, what, tx.Hash())
	if err != nil {
		return nil, fmt.Errorf("%s: transaction %s was sent, but %w", what, tx.Hash(), &unconfirmed{err})
	}
	if receipt.Status != types.ReceiptStatusSuccessful {
		return nil, fmt.Errorf("%s: transaction %s reverted in block %s", what, tx.Hash(), receipt.BlockNumber)
	}
	s.tell(fmt.Sprintf("%s: in block %s, %d gas", what, receipt.BlockNumber, receipt.GasUsed))
	return receipt, nil
}

// hasIt tells whether the node knows a transaction that it did not say it took.
func (s Sender) hasIt(ctx context.Context, hash common.Hash) bool {
	_, _, err := s.Node.TransactionByHash(ctx, hash)
	return err == nil
}

// refusals are the words of nodes that have not taken a transaction and have not passed it on. Whatever else a node
// says, the transaction may be on its way: a node may fail after it sent it.
var refusals = []string{
	"nonce too low", "nonce too high", "insufficient funds", "underpriced", "intrinsic gas too low",
	"exceeds block gas limit", "less than block base fee", "exceeds the configured cap", "invalid sender",
	"invalid chain id", "not supported", "oversized data",
}

// refused tells whether an error is a node's own word that it has not taken a transaction.
func refused(err error) bool {
	var answer rpc.Error
	if !errors.As(err, &answer) {
		return false
	}
	words := strings.ToLower(answer.Error())
	return slices.ContainsFunc(refusals, func(known string) bool { return strings.Contains(words, known) })
}

// sign makes a transaction of it that pays twice the present base fee, if it must, and has a quarter more gas than it
// seems to need.
func (s Sender) sign(ctx context.Context, chainID *big.Int, t client.Call) (*types.Transaction, error) {
	from := crypto.PubkeyToAddress(s.Key.PublicKey)
	gas, err := s.Node.EstimateGas(ctx, ethereum.CallMsg{From: from, To: &t.To, Value: t.Value, Data: t.Data})
	if err != nil {
		return nil, fmt.Errorf("it would fail: %w", err)
	}
	nonce, err := s.Node.PendingNonceAt(ctx, from)
	if err != nil {
		return nil, err
	}
	tip, err := s.Node.SuggestGasTipCap(ctx)
	if err != nil {
		return nil, err
	}
	head, err := s.Node.HeaderByNumber(ctx, nil)
	if err != nil {
		return nil, err
	}
	if head.BaseFee == nil {
		return nil, errors.New("the chain has no base fee: it is too old for these transactions")
	}
	price := new(big.Int).Add(tip, new(big.Int).Lsh(head.BaseFee, 1))
	gas += gas / 4
	if err := s.affordable(chainID, gas, price); err != nil {
		return nil, err
	}
	return types.SignNewTx(s.Key, types.LatestSignerForChainID(chainID), &types.DynamicFeeTx{
		ChainID:   chainID,
		Nonce:     nonce,
		GasTipCap: tip,
		GasFeeCap: price,
		Gas:       gas,
		To:        &t.To,
		Value:     t.Value,
		Data:      t.Data,
	})
}

// affordable refuses so much gas at such a price if it could cost more than MaxGas: a node may suggest anything.
func (s Sender) affordable(chainID *big.Int, gas uint64, price *big.Int) error {
	id := chain.ID(chainID.Uint64())
	most := s.MaxGas
	if most == nil {
		most = DefaultMaxGas(id)
	}
	cost := new(big.Int).Mul(new(big.Int).SetUint64(gas), price)
	if cost.Cmp(most) > 0 {
		return fmt.Errorf("not signed: at the node's price its gas could cost %s, and the most allowed is %s",
			FormatCoins(cost, id), FormatCoins(most, id))
	}
	return nil
}

// wait asks for the receipt until there is one.
func (s Sender) wait(ctx context.Context, what string, hash common.Hash) (*types.Receipt, error) {
	poll := s.Poll
	if poll == 0 {
		poll = time.Second
	}
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for asked := 1; ; asked++ {
		receipt, err := s.Node.TransactionReceipt(ctx, hash)
		if err == nil {
			return receipt, nil
		}
		if !errors.Is(err, ethereum.NotFound) {
			return nil, fmt.Errorf("its receipt cannot be had: %w", err)
		}
		s.tell(fmt.Sprintf("%s: waiting for a block, asked %d times", what, asked))
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("nobody waited for its block: %w", context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

func (s Sender) tell(what string) {
	if s.Progress != nil {
		s.Progress(what)
	}
}
