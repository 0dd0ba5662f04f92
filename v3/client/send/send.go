// Package send approves, signs and sends a checked quote, and waits for its block.
//
//	swap, err := send.New(checked)
//	maxGas, ok := send.MaxGas(swap.ChainID)
//	sender := send.Sender{Client: c, Backend: node, Account: send.Key(key), MaxGas: maxGas, Save: save}
//	receipt, err := sender.Send(ctx, swap)
//
// Nothing is sent twice: Save stores every signed transaction before it goes to the
// node, and calling Send again with the stored Swap, or a copy, resubmits the same bytes.
// Send locks the account and chain within this process; do not use one account in several
// processes. Nothing is signed but a quote that passes the checks.
package send

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/v3/client"
	"github.com/quotegate/quotegate/v3/client/internal/call"
)

// A Backend is a node of the chain to send on. *ethclient.Client is one, and so is the client of go-ethereum's
// simulated backend.
type Backend interface {
	ChainID(ctx context.Context) (*big.Int, error)
	CodeAt(ctx context.Context, address common.Address, block *big.Int) ([]byte, error)
	CallContract(ctx context.Context, call ethereum.CallMsg, block *big.Int) ([]byte, error)
	NonceAt(ctx context.Context, account common.Address, block *big.Int) (uint64, error)
	PendingNonceAt(ctx context.Context, account common.Address) (uint64, error)
	EstimateGas(ctx context.Context, call ethereum.CallMsg) (uint64, error)
	SuggestGasTipCap(ctx context.Context) (*big.Int, error)
	HeaderByNumber(ctx context.Context, number *big.Int) (*types.Header, error)
	BalanceAt(ctx context.Context, account common.Address, block *big.Int) (*big.Int, error)
	BlockByNumber(ctx context.Context, number *big.Int) (*types.Block, error)
	SendTransaction(ctx context.Context, tx *types.Transaction) error
	TransactionByHash(ctx context.Context, hash common.Hash) (tx *types.Transaction, pending bool, err error)
	TransactionReceipt(ctx context.Context, hash common.Hash) (*types.Receipt, error)
	TransactionCount(ctx context.Context, block common.Hash) (uint, error)
	TransactionInBlock(ctx context.Context, block common.Hash, index uint) (*types.Transaction, error)
}

// A Sender sends swaps of one account. It may be used by many goroutines.
type Sender struct {
	Backend Backend
	Account Account

	// Client or Listing is what a quote is checked against before anything is signed. Without both, the client whose
	// Quote gave it is asked; a Swap that comes from JSON is refused, unless Unverified lets it pass unchecked.
	Client     *client.Client
	Listing    *client.Listing
	Unverified bool

	// MaxGas is the most that the gas of one transaction may cost, in wei. It is required; the function MaxGas has a
	// bound for every chain. A rollup's charge for publishing data comes on top and cannot be bounded.
	MaxGas *big.Int

	// Save stores a Swap. It is called before each transaction is sent, and when the Swap changes. If it fails,
	// nothing is sent. Without it, a swap cannot be resumed after a crash.
	Save func(*Swap) error

	Progress func(string)  // is told what happens; may be nil
	Poll     time.Duration // how often to ask for a receipt; 0 for every second
}

// A Swap is a quote and the transactions that were signed for it. It is plain JSON.
type Swap struct {
	ChainID  uint64         `json:"chainId"`
	From     common.Address `json:"from"`   // set by the first Send
	Amount   *big.Int       `json:"amount"` // of the source token
	Approval *client.Call   `json:"approval,omitempty"`
	Main     client.Call    `json:"main"`
	Expires  time.Time      `json:"expires,omitzero"`
	Steps    []Step         `json:"steps"` // in the order they were signed

	Quote *client.Checked `json:"quote,omitempty"` // what all but From and Steps follows from: give it to Follow
}

// What a Step does.
const (
	ResetStep    = "reset of the allowance" // to zero, for tokens such as USDT
	ApprovalStep = "approval"
	SwapStep     = "swap"
)

// A Step is a signed transaction.
type Step struct {
	What  string        `json:"what"`
	Hash  common.Hash   `json:"hash"` // of the transaction that is followed; a sped-up one has another
	Nonce uint64        `json:"nonce"`
	Block uint64        `json:"block"` // the latest when it was signed
	Raw   hexutil.Bytes `json:"raw"`   // as it was signed first
}

// New prepares a checked quote. Nothing is sent yet.
func New(q *client.Checked) (*Swap, error) {
	switch {
	case q == nil:
		return nil, failure(InvalidRequest, "there is no quote")
	case len(q.Calls) == 0:
		return nil, failure(InvalidRequest, "a swap out of a privacy pool is for a RAILGUN wallet to wrap")
	}
	return &Swap{
		ChainID:  q.Main.ChainID,
		Amount:   q.Request.Amount,
		Approval: q.Approval,
		Main:     q.Main,
		Expires:  q.Expires,
		Quote:    q,
	}, nil
}

// Send takes a swap to the end: it sends what was not sent yet, and gives the receipt of the swap's transaction. It
// may be called again with the same swap, or a copy, after any error. After the quote has expired, it signs and
// broadcasts nothing, and only watches for what may be out. Its errors are *Error. A receipt is of the latest block,
// which can still change: client.Follow tells when a swap is final.
func (s Sender) Send(ctx context.Context, w *Swap) (*types.Receipt, error) {
	receipt, err := s.sendOnce(ctx, w)
	var e *Error
	if errors.As(err, &e) && !e.settled() && w.paying() {
		err = failure(Unknown, "the outcome of the swap is unknown: %w", err)
	}
	return receipt, err
}

// sendOnce runs a swap while no other of the account runs.
func (s Sender) sendOnce(ctx context.Context, w *Swap) (*types.Receipt, error) {
	switch {
	case w == nil:
		return nil, failure(InvalidRequest, "there is no swap")
	case isNil(s.Account):
		return nil, failure(InvalidRequest, "Sender.Account is missing")
	}
	release, err := lock(ctx, s.Account.Address(), w.ChainID)
	if err != nil {
		return nil, err
	}
	defer release()
	p := payments.begin(w.content(s.Account.Address()), w.Expires, time.Now())
	defer func() { payments.end(p, w.Steps) }()
	isCopy := len(p.steps) > 0 && len(p.steps) >= len(w.Steps) && encode(p.steps) != encode(w.Steps)
	if isCopy {
		w.From = s.Account.Address()
		w.Steps = slices.Clone(p.steps)
		if err := s.save(w); err != nil {
			return nil, err
		}
	}
	if err := s.needParts(w); err != nil {
		return nil, err
	}
	return s.run(ctx, w)
}

// needParts refuses a swap that cannot be sent with what the Sender has.
func (s Sender) needParts(w *Swap) error {
	isOwn := w.Quote != nil && w.Quote.Client() != nil
	isChecked := isOwn || s.Client != nil || s.Listing != nil || s.Unverified
	switch {
	case isNil(s.Backend):
		return failure(InvalidRequest, "Sender.Backend is missing")
	case w.paying(): // nothing more is signed
		return nil
	case s.MaxGas == nil:
		return failure(InvalidRequest, "Sender.MaxGas is missing")
	case !isChecked:
		return failure(InvalidRequest, "the quote is not from Client.Quote of this process: "+
			"set Sender.Client or Sender.Listing to check it against")
	}
	return nil
}

// isNil tells whether there is no value, or only its type.
func isNil(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// paying tells whether the swap itself was signed.
func (w *Swap) paying() bool {
	isSwap := func(step Step) bool { return step.What == SwapStep }
	return w != nil && slices.ContainsFunc(w.Steps, isSwap)
}

func (w *Swap) expired() bool { return !w.Expires.IsZero() && time.Now().After(w.Expires) }

func expired(what string) *Error {
	return failure(Expired, "%s: not sent: the quote has expired; ask for a new one", what)
}

func (s Sender) run(ctx context.Context, w *Swap) (*types.Receipt, error) {
	if err := s.checkSides(ctx, w); err != nil {
		return nil, err
	}
	if !w.paying() {
		if err := s.verify(ctx, w); err != nil {
			return nil, err
		}
	}
	for i := range w.Steps {
		receipt, err := s.finish(ctx, w, i, false)
		if err != nil || w.Steps[i].What == SwapStep {
			return receipt, err
		}
	}
	if err := s.needContracts(ctx, w); err != nil {
		return nil, err
	}
	if err := s.needFunds(ctx, w); err != nil {
		return nil, err
	}
	before := len(w.Steps)
	if err := s.approve(ctx, w); err != nil {
		return nil, err
	}
	if len(w.Steps) > before { // what is pinned, and what the account has, may have changed
		if err := s.verify(ctx, w); err != nil {
			return nil, err
		}
		if err := s.needFunds(ctx, w); err != nil {
			return nil, err
		}
	}
	return s.send(ctx, w, SwapStep, w.Main)
}

// checkSides refuses a node of another chain, and a swap that another account has begun.
func (s Sender) checkSides(ctx context.Context, w *Swap) error {
	id, err := s.Backend.ChainID(ctx)
	if err != nil {
		return unavailable("asking the node for its chain", err)
	}
	if id.Cmp(new(big.Int).SetUint64(w.ChainID)) != 0 {
		return failure(WrongChain, "the node serves chain %s, and the swap starts on chain %d", id, w.ChainID)
	}
	me := s.Account.Address()
	if len(w.Steps) > 0 && w.From != me {
		return failure(WrongAccount, "the swap was begun by %s, and the account is %s", w.From, me)
	}
	w.From = me
	return nil
}

// approve lets the target take the amount, if it may not yet. It approves once.
func (s Sender) approve(ctx context.Context, w *Swap) error {
	if w.Approval == nil || len(w.Steps) > 0 && w.Steps[len(w.Steps)-1].What == ApprovalStep {
		return nil
	}
	token := w.Approval.To
	allowance, err := s.allowance(ctx, w)
	if err != nil {
		return err
	}
	if allowance.Cmp(w.Amount) >= 0 {
		s.tell("the allowance is sufficient")
		return nil
	}
	if allowance.Sign() > 0 {
		// Some tokens, such as USDT on Ethereum, change an allowance only from zero.
		approval := ethereum.CallMsg{From: w.From, To: &token, Data: w.Approval.Data}
		_, err := s.Backend.EstimateGas(ctx, approval)
		if err != nil && !reverts(err) {
			return wouldFail(ctx, ApprovalStep, err)
		}
		if err != nil {
			nothing := call.Encode(call.Approve, w.Main.To, new(big.Int))
			reset := client.Call{To: token, Value: new(big.Int), Data: nothing}
			if _, err := s.send(ctx, w, ResetStep, reset); err != nil {
				return err
			}
		}
	}
	_, err = s.send(ctx, w, ApprovalStep, *w.Approval)
	return err
}

func (s Sender) allowance(ctx context.Context, w *Swap) (*big.Int, error) {
	const selector = "0xdd62ed3e" // allowance(address owner, address spender)
	return s.number(ctx, w, "the allowance", selector, w.From, w.Main.To)
}

// number is what the token says of accounts.
func (s Sender) number(
	ctx context.Context, w *Swap, what, selector string, accounts ...common.Address,
) (*big.Int, error) {
	question := common.FromHex(selector)
	for _, account := range accounts {
		question = append(question, common.LeftPadBytes(account[:], 32)...)
	}
	answer, err := s.Backend.CallContract(ctx, ethereum.CallMsg{To: &w.Approval.To, Data: question}, nil)
	if err != nil {
		return nil, unavailable("asking for "+what, err)
	}
	if len(answer) != 32 {
		return nil, failure(WouldFail, "asking for %s: the token answers %d bytes, want 32", what, len(answer))
	}
	return new(big.Int).SetBytes(answer), nil
}

// send signs a call, stores it as the next step, and takes it into a block.
func (s Sender) send(ctx context.Context, w *Swap, what string, call client.Call) (*types.Receipt, error) {
	step, err := s.sign(ctx, w, what, call)
	if err != nil {
		return nil, err
	}
	w.Steps = append(w.Steps, *step)
	if err := s.save(w); err != nil {
		w.Steps = w.Steps[:len(w.Steps)-1]
		return nil, err
	}
	return s.finish(ctx, w, len(w.Steps)-1, true)
}

func (s Sender) save(w *Swap) error {
	if s.Save == nil {
		return nil
	}
	if err := s.Save(w); err != nil {
		return failure(NotSaved, "the swap could not be stored: %w", err)
	}
	return nil
}

func (s Sender) tell(format string, args ...any) {
	if s.Progress != nil {
		s.Progress(fmt.Sprintf(format, args...))
	}
}

type lockKey struct {
	account common.Address
	chainID uint64
}

// locks has a channel of one place for each lockKey.
var locks sync.Map

// lock waits until no other swap of the account is being sent on the chain.
func lock(ctx context.Context, account common.Address, chainID uint64) (release func(), err error) {
	value, _ := locks.LoadOrStore(lockKey{account, chainID}, make(chan struct{}, 1))
	place := value.(chan struct{})
	select {
	case place <- struct{}{}:
		return func() { <-place }, nil
	case <-ctx.Done():
		return nil, failure(Busy, "another swap of %s is being sent: %w", account, context.Cause(ctx))
	}
}

// An Account signs the transactions of one address: with a private key, a keystore, a key service.
type Account interface {
	Address() common.Address
	SignTx(ctx context.Context, tx *types.Transaction, chainID *big.Int) (*types.Transaction, error)
}

// Key is the account of a private key.
func Key(key *ecdsa.PrivateKey) Account {
	if key == nil {
		return nil
	}
	return privateKey{key}
}

type privateKey struct{ key *ecdsa.PrivateKey }

func (k privateKey) Address() common.Address { return crypto.PubkeyToAddress(k.key.PublicKey) }

func (k privateKey) SignTx(_ context.Context, tx *types.Transaction, id *big.Int) (*types.Transaction, error) {
	return types.SignTx(tx, types.LatestSignerForChainID(id), k.key)
}

// signed has the account sign a transaction, and refuses another one in its place.
func (s Sender) signed(ctx context.Context, tx *types.Transaction) (*types.Transaction, error) {
	id := tx.ChainId()
	signer := types.LatestSignerForChainID(id)
	signed, err := s.Account.SignTx(ctx, tx, id)
	if err != nil {
		return nil, failure(NotSigned, "the account did not sign: %w", err)
	}
	from, err := types.Sender(signer, signed)
	if err != nil || from != s.Account.Address() || signer.Hash(signed) != signer.Hash(tx) {
		return nil, failure(NotSigned, "the account signed a different transaction")
	}
	return signed, nil
}

// codeWait is how long the node may take to give the code of one address.
const codeWait = 5 * time.Second

// needContracts refuses a swap that would pay or approve an address without a contract. If the node does not answer,
// coins are not paid; tokens are, after a warning. What the sender is does not matter.
func (s Sender) needContracts(ctx context.Context, w *Swap) error {
	addresses := []common.Address{w.Main.To} // the spender of the approval, too
	if w.Approval != nil {
		addresses = append(addresses, w.Approval.To)
	}
	for _, address := range addresses {
		code, err := s.codeAt(ctx, address)
		switch {
		case ctx.Err() != nil:
			return unavailable("asking the node for contracts", context.Cause(ctx))
		case err != nil && w.Main.Value.Sign() > 0:
			return failure(ContractUnknown, "not sent: the node does not say whether there is a contract at %s: %w",
				address, err)
		case err != nil:
			s.tell("warning: the node does not say whether there is a contract at %s: %v", address, err)
		case len(code) == 0 || bytes.HasPrefix(code, types.DelegationPrefix): // an EIP-7702 account is no contract
			return failure(NoContract, "not sent: there is no contract at %s on chain %d, and what is sent there is "+
				"lost; do not pay this quote anywhere", address, w.ChainID)
		}
	}
	return nil
}

func (s Sender) codeAt(ctx context.Context, address common.Address) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, codeWait)
	defer cancel()
	return s.Backend.CodeAt(ctx, address, nil)
}
